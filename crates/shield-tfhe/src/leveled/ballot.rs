//! The ballot: one teacher's vote on one sample, a GGSW ciphertext per bit of the class.
//!
//! A GGSW ciphertext of a bit b has, for each level l, two rows: fresh encryptions of zero with b
//! 2^64 / B^l added to the constant coefficient of the mask in one and of the body in the other.
//! The rows are made with the public key. (The paper encrypts each bit of a vote as an LWE
//! ciphertext, and pays a bootstrap for every gate.)
//!
//! **Truncation**: the lowest 16 bits of each coefficient are rounded away; a row's noise is far
//! above them (`super::noise` counts what that adds). 48 bits per coefficient is what is sent. Of
//! 32 bits, as tempting as they are, the rounding alone would be 2^14 times the noise of a row, and
//! no room to hide the draws would be left.
//!
//! The server needs rows transformed; that takes longer than a product, so it is done once, when a
//! ballot arrives or is first used (`LeveledBallot::ready`).

use std::fmt;
use std::sync::OnceLock;

use rand::{CryptoRng, RngCore};
use shield_core::Class;
use shield_core::engine::{Ballot, Presence};
use shield_core::framing::MadeFor;

use super::parameters::truncated;
use super::plan::Plan;
use super::ring::{DEGREE, Gadget, Ggsw, Glwe, Ring, glwe};
use super::zero_key::ZeroKey;

/// One teacher's vote on one sample, encrypted.
#[derive(Clone)]
pub struct LeveledBallot {
    /// The rows of each bit's GGSW ciphertext; none of an abstention.
    pub(crate) words: Vec<u64>,
    pub(crate) presence: Presence,
    pub(crate) made_for: MadeFor,
    ready: OnceLock<Ready>,
}

/// A vote as the server computes with it.
#[derive(Clone)]
pub(crate) struct Ready {
    /// The class, bit i as 2^63 b_i in coefficient i. It comes free from the rows of the bodies.
    pub(crate) class: Glwe,
    /// The bits, lowest first.
    pub(crate) bits: Vec<Ggsw>,
}

impl Ballot for LeveledBallot {
    fn presence(&self) -> &Presence {
        &self.presence
    }

    fn made_for(&self) -> MadeFor {
        self.made_for
    }
}

impl fmt::Debug for LeveledBallot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeveledBallot")
            .field("batch", &self.made_for.batch)
            .field("key", &self.made_for.key)
            .finish_non_exhaustive()
    }
}

impl LeveledBallot {
    pub(crate) fn new(words: Vec<u64>, presence: Presence, made_for: MadeFor) -> Self {
        Self { words, presence, made_for, ready: OnceLock::new() }
    }

    /// The vote as the server computes with it: transformed now, or when it was first asked for.
    pub(crate) fn ready(&self, plan: &Plan, ring: &mut Ring) -> &Ready {
        self.ready.get_or_init(|| Ready::new(plan.gadget(), &self.words, ring))
    }
}

impl Ready {
    fn new(gadget: Gadget, rows: &[u64], ring: &mut Ring) -> Self {
        let bits = rows.chunks_exact(gadget.words());
        let mut class = vec![0_u64; 2 * DEGREE];
        for (place, bit) in bits.clone().enumerate() {
            // The last row: level 1, body. It encrypts b 2^64 / B, and B / 2 times that is wanted.
            let row = &bit[bit.len() - 2 * DEGREE..];
            let factor = 1_u64 << (gadget.base_log - 1);
            for (sums, poly) in class.chunks_exact_mut(DEGREE).zip(row.chunks_exact(DEGREE)) {
                for (i, word) in poly.iter().enumerate() {
                    // Times X^place.
                    let (target, word) = match i + place {
                        target if target < DEGREE => (target, *word),
                        target => (target - DEGREE, word.wrapping_neg()),
                    };
                    sums[target] = sums[target].wrapping_add(word.wrapping_mul(factor));
                }
            }
        }
        Self { class: glwe(class), bits: bits.map(|bit| ring.transform(gadget, bit)).collect() }
    }
}

/// Encrypts a class. The work is the same whatever it is.
pub(crate) fn encrypt<R: RngCore + CryptoRng>(
    plan: &Plan,
    key: &ZeroKey,
    class: Class,
    ring: &mut Ring,
    rng: &mut R,
) -> Vec<u64> {
    let gadget = plan.gadget();
    let mut rows = Vec::with_capacity(plan.bits() * gadget.words());
    for bit in 0..plan.bits() {
        let bit = u64::from(class.0 >> bit & 1);
        for level in (1..=gadget.levels).rev() {
            for part in 0..2 {
                let mut row = key.encrypt_zero(ring, rng);
                let place = &mut row.as_mut()[part * DEGREE];
                *place = place.wrapping_add(bit.wrapping_mul(gadget.weight(level)));
                rows.extend(row.as_ref().iter().map(|&word| truncated(word)));
            }
        }
    }
    rows
}
