//! The ballot: one teacher's votes on one batch, in one ciphertext, or in one for each bit of a
//! class.
//!
//! The vote on a sample is the code of its class ([`crate::layout`]) in the sample's run; an
//! abstention is all zero, and the sample's urn does not hold the teacher. With several groups the
//! votes are repeated in each. (The paper sends a ciphertext per teacher and sample.)
//!
//! A ballot with a proof holds half of its votes, modulo t: what is proven is that *twice* its
//! ciphertexts are short, and twice its ciphertexts are what the server adds up.

use std::fmt;

use rand::{CryptoRng, RngCore};
use shield_core::engine::{Ballot, BallotError, Envelope, Presence};
use shield_core::framing::{MadeFor, write_presence};
use shield_core::votes::Vote;

use crate::keys::KeyId;
use crate::layout::{Layout, Places};
use crate::proof::{Opening, Proof, Statement};
use crate::ring::{Context, PLAINTEXT};
use crate::scheme::{Ciphertext, EncryptionKey};

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
    /// Where the plan asks for one.
    pub(crate) proof: Option<Proof>,
}

impl BfvBallot {
    pub(crate) fn new(
        ciphertexts: Vec<Ciphertext>,
        envelope: Envelope,
        proof: Option<Proof>,
    ) -> Self {
        let Envelope { presence, made_for: MadeFor { batch, key }, digest } = envelope;
        Self { ciphertexts, presence, batch, key, digest, proof }
    }

    /// A ballot without a proof, before its bytes are known.
    pub(crate) fn unsealed(
        ciphertexts: Vec<Ciphertext>,
        votes: &[Vote],
        batch: usize,
        key: KeyId,
    ) -> Self {
        let presence = Presence::new(votes.iter().map(Option::is_some));
        Self { ciphertexts, presence, batch, key, digest: [0; 32], proof: None }
    }
}

/// What the proof of a ballot is bound to.
#[derive(Clone, Copy)]
pub(crate) struct Maker<'a> {
    /// The election, the engine and the plan.
    pub(crate) binding: &'a [u8; 32],
    /// The teacher's number.
    pub(crate) teacher: u32,
}

impl Maker<'_> {
    /// The bytes that a proof is bound to.
    fn about(self, batch: usize, key: KeyId, presence: &Presence) -> Vec<u8> {
        let mut about = self.binding.to_vec();
        about.extend(key.as_bytes());
        about.extend(self.teacher.to_le_bytes());
        about.extend((batch as u64).to_le_bytes());
        write_presence(&mut about, presence);
        about
    }
}

/// Gives a ballot the proof of what its ciphertexts were made of.
pub(crate) fn prove<R: RngCore + CryptoRng>(
    context: &Context,
    key: &EncryptionKey,
    maker: Maker<'_>,
    ballot: BfvBallot,
    openings: &[Opening],
    rng: &mut R,
) -> BfvBallot {
    let about = maker.about(ballot.batch, ballot.key, &ballot.presence);
    let ciphertexts = &ballot.ciphertexts[..];
    let statement = Statement { ring: context, key, about: &about, ciphertexts };
    let proof = Some(statement.prove(openings, rng));
    BfvBallot { proof, ..ballot }
}

/// Whether a ballot's proof is right, and the teacher's own.
pub(crate) fn is_proven(
    context: &Context,
    key: &EncryptionKey,
    maker: Maker<'_>,
    ballot: &BfvBallot,
) -> bool {
    let about = maker.about(ballot.batch, ballot.key, &ballot.presence);
    let ciphertexts = &ballot.ciphertexts[..];
    let statement = Statement { ring: context, key, about: &about, ciphertexts };
    ballot.proof.as_ref().is_some_and(|proof| statement.accepts(proof))
}

/// Refuses a ballot whose proof is not right, or not of this teacher.
pub(crate) fn check(
    context: &Context,
    key: &EncryptionKey,
    maker: Maker<'_>,
    ballot: &BfvBallot,
) -> Result<(), BallotError> {
    let fits =
        |c: &Ciphertext| c.limbs() == context.limbs() && c.parts[0].degree() == context.degree();
    let fits = ballot.ciphertexts.iter().all(fits) && key.parts[0].limbs() == context.limbs();
    let proven = fits && is_proven(context, key, maker, ballot);
    let Maker { teacher, .. } = maker;
    if proven { Ok(()) } else { Err(BallotError::Unproven { teacher }) }
}

/// Twice the ciphertexts of a ballot with a proof.
pub(crate) fn doubled(context: &Context, ciphertexts: &[Ciphertext]) -> Vec<Ciphertext> {
    let double = |c: &Ciphertext| {
        let mut sum = c.clone();
        sum.add(context, c);
        sum
    };
    ciphertexts.iter().map(double).collect()
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

/// One half modulo t.
pub(crate) const HALF: u64 = PLAINTEXT.div_ceil(2);

/// The slots of a ballot's ciphertexts: `one` where the code of a vote is one. Votes have been
/// checked to be classes. The work is the same whatever they are.
pub(crate) fn slots(layout: &Layout, places: &Places, votes: &[Vote], one: u64) -> Vec<Vec<u64>> {
    let plane = |plane: usize| {
        let mut slots = vec![0; layout.degree()];
        for group in 0..layout.groups() {
            for (sample, vote) in votes.iter().enumerate() {
                for (slot, &place) in places.slots(group, sample).iter().enumerate() {
                    let is = vote.is_some_and(|class| layout.is_one(class.index(), plane, slot));
                    slots[place as usize] = one * u64::from(is);
                }
            }
        }
        slots
    };
    (0..layout.planes()).map(plane).collect()
}
