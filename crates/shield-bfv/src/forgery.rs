//! Ballots that are no votes and releases that are none, for tests of everything that finds them.

use rand::{CryptoRng, RngCore};
use shield_core::engine::Engine;
use shield_core::votes::Vote;

use crate::ballot::BfvBallot;
use crate::engine::BfvEngine;
use crate::error::BfvError;
use crate::keys::PublicKey;
use crate::layout::Coding;
use crate::release::Release;
use crate::scheme::{plaintext_slots, times};

/// What a cheat adds to a slot: neither a bit before nor after.
const ADDED: u64 = 7;

impl BfvEngine {
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

    /// A release that no aggregation makes: whoever decrypts it reads the votes of one ballot.
    pub fn oracle<R: RngCore + CryptoRng>(
        &self,
        key: &PublicKey,
        ballot: &BfvBallot,
        rng: &mut R,
    ) -> Release {
        let (context, layout) = (self.context(), self.plan().layout());
        let value = match layout.coding() {
            Coding::OneHot => self.plan().order().success(),
            Coding::PackedBits | Coding::BitsAcross => u64::from(self.plan().order().get()),
        };
        let mut shown = vec![0; context.degree()];
        let mut junk = || {
            let mut slots = vec![0; context.degree()];
            plaintext_slots(&mut slots, rng);
            slots
        };
        let mut hidden: Vec<Vec<u64>> =
            (0..self.plan().released_ciphertexts()).map(|_| junk()).collect();
        for sample in 0..layout.samples() {
            for &place in self.places().slots(0, sample) {
                shown[place as usize] = value;
                for hidden in &mut hidden[..layout.planes()] {
                    hidden[place as usize] = 0;
                }
            }
        }
        let mut ciphertexts = Vec::new();
        for (index, hidden) in hidden.into_iter().enumerate() {
            let mut c = match ballot.ciphertexts.get(index) {
                Some(own) => times(context, own, shown.clone()),
                None => key.key.zero(context, context.limbs(), rng),
            };
            c.add_slots(context, hidden);
            c.drop_to(context, 1);
            ciphertexts.push(c);
        }
        Release { ciphertexts, batch: ballot.batch, key: ballot.key }
    }
}
