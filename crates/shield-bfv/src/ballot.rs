//! The ballot: one teacher's votes on one batch, in one ciphertext, or in one for each bit of a
//! class.
//!
//! The vote on a sample is the code of its class ([`crate::layout`]) in the sample's run; an
//! abstention is all zero, and the sample's urn does not hold the teacher. With several groups the
//! votes are repeated in each. (The paper sends a ciphertext per teacher and sample.)

use std::fmt;

use rand::{CryptoRng, RngCore};
use shield_core::engine::{Ballot, Envelope, Presence};
use shield_core::framing::MadeFor;
use shield_core::votes::Vote;

use crate::keys::{KeyId, PublicKey};
use crate::layout::{Layout, Places};
use crate::ring::Context;
use crate::scheme::Ciphertext;

/// One teacher's votes on one batch, encrypted.
#[derive(Clone)]
pub struct BfvBallot {
    /// One for each plane of the layout.
    pub(crate) ciphertexts: Vec<Ciphertext>,
    pub(crate) presence: Presence,
    pub(crate) batch: usize,
    pub(crate) key: KeyId,
    /// The checksum of its bytes: two ballots have the same only if they are the same.
    pub(crate) digest: [u8; 32],
}

impl BfvBallot {
    pub(crate) fn new(ciphertexts: Vec<Ciphertext>, envelope: Envelope) -> Self {
        let Envelope { presence, made_for: MadeFor { batch, key }, digest } = envelope;
        Self { ciphertexts, presence, batch, key, digest }
    }
}

impl Ballot for BfvBallot {
    fn presence(&self) -> &Presence {
        &self.presence
    }

    fn made_for(&self) -> MadeFor {
        MadeFor { batch: self.batch, key: self.key }
    }
}

impl fmt::Debug for BfvBallot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BfvBallot")
            .field("batch", &self.batch)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

/// Encrypts votes that have been checked to be classes. The work is the same whatever they are. The
/// digest is left to whoever knows the bytes.
pub(crate) fn encrypt<R: RngCore + CryptoRng>(
    context: &Context,
    layout: &Layout,
    places: &Places,
    key: &PublicKey,
    batch: usize,
    votes: &[Vote],
    rng: &mut R,
) -> BfvBallot {
    let plane = |plane: usize, rng: &mut R| {
        let mut slots = vec![0; context.degree()];
        for group in 0..layout.groups() {
            for (sample, vote) in votes.iter().enumerate() {
                for (slot, &place) in places.slots(group, sample).iter().enumerate() {
                    let one = vote.is_some_and(|class| layout.is_one(class.index(), plane, slot));
                    slots[place as usize] = u64::from(one);
                }
            }
        }
        let mut ciphertext = key.key.zero(context, context.limbs(), rng);
        ciphertext.add_slots(context, slots);
        ciphertext
    };
    let ciphertexts = (0..layout.planes()).map(|number| plane(number, rng)).collect();
    let presence = Presence::new(votes.iter().map(Option::is_some));
    BfvBallot { ciphertexts, presence, batch, key: key.id, digest: [0; 32] }
}
