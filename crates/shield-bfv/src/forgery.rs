//! Ballots that are no votes, for tests of everything that finds them.

use rand::{CryptoRng, RngCore};
use shield::backend::Backend;
use shield::votes::Vote;

use crate::backend::BfvBackend;
use crate::ballot::BfvBallot;
use crate::error::BfvError;
use crate::keys::PublicKey;

/// What a cheat adds to a slot: neither a bit before nor after.
const ADDED: u64 = 7;

impl BfvBackend {
    /// A ballot that is a vote but on the `cheated` samples, counted from 0 within the batch: there
    /// something is added to the first slot of every run.
    pub fn forge<R: RngCore + CryptoRng>(
        &self,
        key: &PublicKey,
        batch: usize,
        votes: &[Vote],
        cheated: &[usize],
        rng: &mut R,
    ) -> Result<BfvBallot, BfvError> {
        let mut ballot = self.encrypt(key, batch, votes, rng)?;
        let context = self.context();
        for ciphertext in &mut ballot.ciphertexts {
            let mut slots = vec![0; context.degree()];
            for group in 0..self.plan().layout().groups() {
                for &sample in cheated {
                    slots[self.places().slots(group, sample)[0] as usize] = ADDED;
                }
            }
            ciphertext.add_slots(context, slots);
        }
        Ok(ballot)
    }

    /// A copy of a ballot that looks different: an encryption of zero is added. Whoever sees a
    /// ballot can make one; nothing in it tells it from a second vote.
    pub fn disguise<R: RngCore + CryptoRng>(
        &self,
        key: &PublicKey,
        ballot: &BfvBallot,
        rng: &mut R,
    ) -> BfvBallot {
        let mut copy = ballot.clone();
        for ciphertext in &mut copy.ciphertexts {
            let zero = key.key.zero(self.context(), ciphertext.limbs(), rng);
            ciphertext.add(self.context(), &zero);
        }
        copy
    }
}
