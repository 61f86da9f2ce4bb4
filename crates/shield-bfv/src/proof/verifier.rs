//! The verifier's side.

use rayon::prelude::*;

use super::{LARGEST, Proof, REPETITIONS, Statement, digest, exponents, round, settled, turned};
use crate::ring::{Coefficients, Poly, limb};

impl Statement<'_> {
    /// Whether the proof is right: bounded work, whatever the proof is.
    pub(crate) fn accepts(&self, proof: &Proof) -> bool {
        let (ring, n) = (self.ring, self.ring.degree());
        let in_form = proof.answers.len() == self.ciphertexts.len() * REPETITIONS
            && proof.answers.iter().all(|answer| answer.u.len() == n && answer.m.len() == n);
        if !in_form {
            return false;
        }
        let ciphertexts: Vec<[Poly<Coefficients>; 2]> = self
            .ciphertexts
            .par_iter()
            .map(|c| c.parts.clone().map(|part| ring.backward(part)))
            .collect();
        let exponents = exponents(&proof.challenge, n);
        let commitments: Option<Vec<[u8; 32]>> = (0..proof.answers.len())
            .into_par_iter()
            .map(|i| {
                let c = &ciphertexts[i / REPETITIONS];
                self.commitment(c, exponents[i % REPETITIONS], &proof.answers[i])
            })
            .collect();
        commitments.is_some_and(|commitments| self.challenge(&commitments) == proof.challenge)
    }

    /// The commitment that the answer to `X^exponent` is right for, if it is within the bounds.
    fn commitment(
        &self,
        c: &[Poly<Coefficients>; 2],
        exponent: usize,
        answer: &super::Answer,
    ) -> Option<[u8; 32]> {
        let (ring, n) = (self.ring, self.ring.degree());
        let u: Vec<i64> = answer.u.iter().map(|&x| i64::from(x)).collect();
        let m: Vec<u64> = answer.m.iter().map(|&x| u64::from(x)).collect();
        if u.iter().any(|x| x.abs() > LARGEST) {
            return None;
        }
        let mut parts = self.image(&u, &m);
        // X^N is -1: to add X^(exponent + N) c is to take X^exponent c away.
        let opposite = (exponent + n) % (2 * n);
        for (part, c) in parts.iter_mut().zip(c) {
            for ((to, from), ntt) in part.iter_mut().zip(c.iter()).zip(ring.q()) {
                let q = ntt.modulus();
                let turned: Vec<u64> = turned(from, opposite, |x| q.sub(0, x)).collect();
                limb::add(q, to, &turned);
            }
            let first = ring.q()[0].modulus();
            if !part.limb(0).iter().all(|&residue| settled(first, residue)) {
                return None;
            }
            round(ring, part);
        }
        Some(digest(&parts))
    }
}
