//! Ballots of numbers: votes with their shares of the noise, with a proof or without.

use rand::{CryptoRng, RngCore};
use shield_core::engine::noisy_argmax::noisy_one_hot;
use shield_core::engine::{Engine, Presence};
use shield_core::votes::Vote;
use zeroize::Zeroizing;

use super::ArgmaxEngine;
use crate::argmax::error::ArgmaxError;
use crate::ballot::{self, BfvBallot, HALF, Maker};
use crate::keys::{KeyId, PublicKey};
use crate::proof::Opening;
use crate::ring::PLAINTEXT;
use crate::scheme::Ciphertext;

impl ArgmaxEngine {
    /// The slots of a ballot of numbers, one for each sample and class, that hold their noise
    /// already; times a factor.
    fn slots(&self, numbers: &[i64], factor: u64) -> Vec<u64> {
        let (classes, pairing) = (self.election().classes().count(), self.plan.pairing());
        let mut slots = vec![0; self.context.degree()];
        for (sample, numbers) in numbers.chunks_exact(classes).enumerate() {
            for (slot, &place) in self.places.slots(0, sample).iter().enumerate() {
                // Nobody votes for a threshold.
                let number = numbers.get(pairing.class(slot)).copied().unwrap_or(0);
                let residue = number.rem_euclid(PLAINTEXT.cast_signed()).cast_unsigned();
                slots[place as usize] = residue * factor % PLAINTEXT;
            }
        }
        slots
    }

    /// A ballot without a proof. Who abstains adds its share all the same, so everybody is present
    /// on every sample.
    fn unproven(&self, ciphertext: Ciphertext, key: KeyId, batch: usize) -> BfvBallot {
        let presence = Presence::new((0..self.batch(batch).len()).map(|_| true));
        let (ciphertexts, digest) = (vec![ciphertext], [0; 32]);
        BfvBallot { ciphertexts, presence, batch, key, digest, proof: None }
    }

    /// A ballot of numbers, without a proof.
    pub(crate) fn encrypt_numbers<R: RngCore + CryptoRng>(
        &self,
        key: &PublicKey,
        batch: usize,
        numbers: &[i64],
        rng: &mut R,
    ) -> BfvBallot {
        let mut ciphertext = key.key.zero(&self.context, self.context.limbs(), rng);
        ciphertext.add_slots(&self.context, self.slots(numbers, 1));
        self.unproven(ciphertext, key.id, batch)
    }

    /// A ballot of numbers with the proof of a teacher.
    pub(crate) fn prove_numbers<R: RngCore + CryptoRng>(
        &self,
        key: &PublicKey,
        batch: usize,
        teacher: u32,
        numbers: &[i64],
        rng: &mut R,
    ) -> BfvBallot {
        let (context, slots) = (&self.context, self.slots(numbers, HALF));
        let (ciphertext, opening) = Opening::encrypt(context, &key.key, slots, rng);
        let ballot = self.unproven(ciphertext, key.id, batch);
        let maker = Maker { binding: self.binding(), teacher };
        ballot::prove(context, &key.key, maker, ballot, &[opening], rng)
    }

    /// Votes with a share of the noise each, sample by sample and class by class.
    pub(in crate::argmax) fn noisy_votes<R: RngCore + CryptoRng>(
        &self,
        batch: usize,
        votes: &[Vote],
        rng: &mut R,
    ) -> Result<Zeroizing<Vec<i64>>, ArgmaxError> {
        self.setup.check_votes(batch, votes)?;
        Ok(Zeroizing::new(noisy_one_hot(self.election().classes(), votes, &self.shares, rng)))
    }

    /// The same of counts, which may sum to as much as the election's bound on every sample.
    pub(in crate::argmax) fn noisy_counts(
        &self,
        batch: usize,
        counts: &[Vec<u32>],
        mut rng: &mut dyn CryptoRng,
    ) -> Result<Zeroizing<Vec<i64>>, ArgmaxError> {
        // Whether there is such a batch, and one histogram for each of its samples.
        self.setup.check_votes(batch, &vec![None; counts.len()])?;
        let (classes, bound) = (self.election().classes().count(), self.sensitivity.bound());
        let mut numbers = Zeroizing::new(Vec::with_capacity(counts.len() * classes));
        for (sample, counts) in counts.iter().enumerate() {
            let bad = |found| Err(ArgmaxError::Counts { sample, found, classes, bound });
            if counts.len() != classes {
                return bad(format!("{} counts", counts.len()));
            }
            let sum: u64 = counts.iter().map(|&count| u64::from(count)).sum();
            if sum > u64::from(bound) {
                return bad("the counts sum to more than the bound".to_owned());
            }
            numbers
                .extend(counts.iter().map(|&count| i64::from(count) + self.shares.share(&mut rng)));
        }
        Ok(numbers)
    }
}
