//! The prover's side: masks, commitments, answers.

use rand::{CryptoRng, RngCore, SeedableRng};
use rand_chacha::ChaCha20Rng;
use rayon::prelude::*;
use zeroize::{Zeroize, Zeroizing};

use super::{
    Answer, LARGEST, MASK, Proof, REPETITIONS, Statement, centred, digest, exponents, round,
    settled, turned,
};
use crate::ring::{Context, PLAINTEXT};
use crate::scheme::{Ciphertext, EncryptionKey, Randomness, SecretValues, below, plaintext_slots};

/// What a ciphertext was made of: as secret as the vote.
pub(crate) struct Opening {
    randomness: Randomness,
    /// Coefficients of the message modulo t.
    message: Zeroizing<Vec<u64>>,
}

impl Opening {
    /// An encryption of some slots, and what it was made of.
    pub(crate) fn encrypt<R: RngCore + CryptoRng>(
        ring: &Context,
        key: &EncryptionKey,
        slots: Vec<u64>,
        rng: &mut R,
    ) -> (Ciphertext, Self) {
        let randomness = Randomness::draw(ring.degree(), rng);
        let mut message = Zeroizing::new(slots);
        ring.encode(&mut message);
        let opening = Self { randomness, message };
        (opening.ciphertext(ring, key), opening)
    }

    /// The ciphertext that it opens.
    pub(super) fn ciphertext(&self, ring: &Context, key: &EncryptionKey) -> Ciphertext {
        let mut ciphertext = key.zero_from(ring, ring.limbs(), &self.randomness);
        ciphertext.add_scaled(ring, &SecretValues(ring.scaled(&self.message, ring.limbs())).0);
        ciphertext
    }
}

/// The masks of one repetition, and the commitment to them.
struct Masks {
    u: Zeroizing<Vec<i64>>,
    m: Zeroizing<Vec<u64>>,
    /// Both parts of the commitment modulo the first prime.
    first: [Zeroizing<Vec<u64>>; 2],
    commitment: [u8; 32],
}

impl Masks {
    fn draw(statement: &Statement<'_>, seed: &[u8; 32]) -> Self {
        let mut rng = ChaCha20Rng::from_seed(*seed);
        let (ring, n) = (statement.ring, statement.ring.degree());
        let width = 2 * MASK.cast_unsigned() + 1;
        let u: Vec<i64> = (0..n).map(|_| below(width, &mut rng).cast_signed() - MASK).collect();
        let (u, mut m) = (Zeroizing::new(u), Zeroizing::new(vec![0; n]));
        plaintext_slots(&mut m, &mut rng);
        let mut parts = statement.image(&u, &m);
        let first = parts.each_ref().map(|part| Zeroizing::new(part.limb(0).to_vec()));
        for part in &mut parts {
            round(ring, part);
        }
        let commitment = digest(&parts);
        for part in &mut parts {
            part.data_mut().zeroize();
        }
        Self { u, m, first, commitment }
    }

    /// The answer to `X^exponent`, and whether it may be sent. The work is the same if not.
    fn answer(&self, ring: &Context, opening: &Opening, exponent: usize) -> (Answer, bool) {
        let (n, t) = (ring.degree(), PLAINTEXT.cast_signed());
        let minus = |x: i64| -x;
        let mut sound = true;
        let mut u = Vec::with_capacity(n);
        for (mask, own) in self.u.iter().zip(turned(&opening.randomness.u, exponent, minus)) {
            let answer = mask + own;
            sound &= answer.abs() <= LARGEST;
            u.push(answer as i32);
        }
        let message: Vec<i64> = opening.message.iter().map(|&m| centred(m)).collect();
        let message = Zeroizing::new(message);
        let mut m = Vec::with_capacity(n);
        let mut wraps = Zeroizing::new(Vec::with_capacity(n));
        for (&mask, own) in self.m.iter().zip(turned(&message, exponent, minus)) {
            let sum = centred(mask) + own;
            let residue = (sum + 2 * t).cast_unsigned() % PLAINTEXT;
            m.push(residue as u32);
            wraps.push((sum - centred(residue)) / t);
        }
        let q = ring.q()[0].modulus();
        let [e0, e1] = opening.randomness.e.each_ref().map(|e| turned(e, exponent, minus));
        let mut settles = |residue: u64, change: i64| {
            sound &= settled(q, q.add(residue, q.signed(change)));
        };
        for ((&residue, error), wrap) in self.first[0].iter().zip(e0).zip(wraps.iter()) {
            settles(residue, wrap - error);
        }
        for (&residue, error) in self.first[1].iter().zip(e1) {
            settles(residue, -error);
        }
        (Answer { u, m }, sound)
    }
}

impl Statement<'_> {
    /// The proof, from what each ciphertext was made of.
    pub(crate) fn prove<R: RngCore + CryptoRng>(&self, openings: &[Opening], rng: &mut R) -> Proof {
        debug_assert_eq!(openings.len(), self.ciphertexts.len());
        loop {
            if let (proof, true) = self.attempt(openings, rng) {
                return proof;
            }
        }
    }

    /// A proof, and whether it may be sent.
    pub(super) fn attempt<R: RngCore + CryptoRng>(
        &self,
        openings: &[Opening],
        rng: &mut R,
    ) -> (Proof, bool) {
        let count = openings.len() * REPETITIONS;
        let mut seeds = Zeroizing::new(vec![[0; 32]; count]);
        for seed in seeds.iter_mut() {
            rng.fill_bytes(seed);
        }
        let masks: Vec<Masks> = seeds.par_iter().map(|seed| Masks::draw(self, seed)).collect();
        let commitments: Vec<[u8; 32]> = masks.iter().map(|masks| masks.commitment).collect();
        let challenge = self.challenge(&commitments);
        let exponents = exponents(&challenge, self.ring.degree());
        let answer = |(i, masks): (usize, &Masks)| {
            masks.answer(self.ring, &openings[i / REPETITIONS], exponents[i % REPETITIONS])
        };
        // All of them, even if one cannot be sent.
        let (answers, sound): (Vec<Answer>, Vec<bool>) =
            masks.par_iter().enumerate().map(answer).unzip();
        (Proof { challenge, answers }, sound.iter().all(|&sound| sound))
    }
}

/// Right answers of one repetition to two challenges under one commitment, with the challenges:
/// what the soundness proof's extractor is given.
#[cfg(test)]
pub(super) fn two_answers<R: RngCore + CryptoRng>(
    statement: &Statement<'_>,
    opening: &Opening,
    rng: &mut R,
) -> ([Answer; 2], [usize; 2]) {
    let n = statement.ring.degree();
    loop {
        let mut seed = [0; 32];
        rng.fill_bytes(&mut seed);
        let masks = Masks::draw(statement, &seed);
        let exponents = [0; 2].map(|_| below(2 * n as u64, rng) as usize);
        let found = exponents.map(|i| masks.answer(statement.ring, opening, i));
        if exponents[0] != exponents[1] && found.iter().all(|(_, sound)| *sound) {
            return (found.map(|(answer, _)| answer), exponents);
        }
    }
}

#[cfg(test)]
impl Opening {
    pub(super) fn coefficients_of_u(&self) -> Vec<i64> {
        self.randomness.u.to_vec()
    }

    /// The same with another u.
    pub(super) fn with_u(&self, u: Vec<i64>) -> Self {
        let e = self.randomness.e.clone();
        let randomness = Randomness { u: Zeroizing::new(u), e };
        Self { randomness, message: self.message.clone() }
    }

    /// The same with an error more.
    pub(super) fn longer(&self, error: &[i64]) -> Self {
        let Randomness { u, e: [e0, e1] } = &self.randomness;
        let e0 = Zeroizing::new(e0.iter().zip(error).map(|(a, b)| a + b).collect());
        let randomness = Randomness { u: u.clone(), e: [e0, e1.clone()] };
        Self { randomness, message: self.message.clone() }
    }
}
