//! The ballot: one teacher's votes on one batch, in one ciphertext.
//!
//! The vote on a sample is one-hot over the sample's run; an abstention is all zero, and the
//! sample's urn does not hold the teacher. With several groups the votes are repeated in each. (The
//! paper sends a ciphertext a teacher and sample.)

use std::fmt;

use rand::{CryptoRng, RngCore};
use shield::backend::{Ballot, Presence};
use shield::votes::Vote;

use crate::keys::{KeyId, PublicKey};
use crate::layout::{Layout, Places};
use crate::ring::Context;
use crate::scheme::Ciphertext;

/// One teacher's votes on one batch, encrypted.
#[derive(Clone)]
pub struct BfvBallot {
    pub(crate) ciphertext: Ciphertext,
    pub(crate) presence: Presence,
    pub(crate) batch: usize,
    pub(crate) key: KeyId,
    /// The checksum of its bytes: two ballots have the same only if they are the same.
    pub(crate) digest: [u8; 32],
}

impl Ballot for BfvBallot {
    fn presence(&self) -> &Presence {
        &self.presence
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
    let mut slots = vec![0; context.degree()];
    for group in 0..layout.groups() {
        for (sample, vote) in votes.iter().enumerate() {
            let chosen = vote.map_or(usize::MAX, shield::Class::index);
            for (class, &place) in places.classes(group, sample).iter().enumerate() {
                slots[place as usize] = u64::from(class == chosen);
            }
        }
    }
    let mut ciphertext = key.key.zero(context, context.limbs(), rng);
    ciphertext.add_slots(context, slots);
    let presence = Presence::new(votes.iter().map(Option::is_some));
    BfvBallot { ciphertext, presence, batch, key: key.id, digest: [0; 32] }
}
