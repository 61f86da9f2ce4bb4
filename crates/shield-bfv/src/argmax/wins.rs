//! Wins and the masked reveal: the student sees who won, and nothing else.
//!
//! # Construction
//!
//! Let L_k be the sum of the signs of class k over its K - 1 comparisons, +1 for each that it wins.
//! Comparisons with ties broken by the class's number are those of a strict order, so exactly one
//! class, the label, has L = K - 1, and the L of the others are K - 3, K - 5, ..., -(K - 1) in
//! some order. Slot k of a sample's run is released as
//!
//! ```text
//! r_k (K - 1 - L_k)      with r_k uniform modulo t and not 0, fresh for every slot
//! ```
//!
//! and the other slots of a run as 0. It is linear in the signs.
//!
//! # What the student sees
//!
//! **Claim.** Given the label of a sample, its slots are: 0 at the label and in the slots beyond
//! the classes, and independent uniform residues other than 0 elsewhere. **Proof.** K - 1 - L_k is
//! 0 for the label. For every other class it is one of 2, 4, ..., 2 (K - 1), none of which is 0
//! modulo the prime t; times r_k, uniform among the residues that are not 0, it is uniform among
//! them, whatever it was, and the r_k are independent. [] So neither margins nor the order of the
//! others show: the slots can be simulated from the label. That the rest of a ciphertext can,
//! [`crate::flooding`] proves, with the noise bound of the plan. Where a difference was out of
//! range (a chance below 2^-50 per sample, by noise), signs are arbitrary residues and a sample may
//! show no 0, or several. That is more than a label, though a function of noisy counts: the price
//! of a label pays for the chance ([`SHOWN`](shield_privacy::shared_argmax::SHOWN)). A teacher who
//! sends counts out of range makes it certain; then the price of the noisy counts holds.
//!
//! # Moving
//!
//! Comparison c is in slot j of evaluation i, and must get to the slots of its two classes. A sum
//! of moved and masked ciphertexts, by the distance s = j - k of the move, is the linear map that
//! does it; moves are composed of b single steps and g leaps of about sqrt(P) each, s = g leap + b:
//!
//! ```text
//! sum over g of leap^g ( sum over i, b of mask_(i,g,b) step^b (signs_i) )
//! ```
//!
//! The outer sum is Horner's scheme, so two rotation keys serve everything.

use rand::{CryptoRng, RngCore};

use super::pairing::Pairing;
use crate::noise::{Noise, Ring};
use crate::ring::{Buffer, Context, PLAINTEXT};
use crate::scheme::Ciphertext;

/// One entry of the linear map: from a slot of an evaluation to a class's slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    /// The class, and its slot.
    class: usize,
    /// Whether a sign of +1 is a win.
    win: bool,
}

/// The entries with one move of one evaluation.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Diagonal {
    evaluation: usize,
    leaps: usize,
    steps: usize,
    entries: Vec<Entry>,
}

/// The moves of one pairing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Steps {
    run: usize,
    /// Steps in a leap: a power of two.
    leap: usize,
    diagonals: Vec<Diagonal>,
}

impl Steps {
    pub(crate) fn new(pairing: &Pairing) -> Self {
        let run = pairing.run();
        let leap = 1 << run.ilog2().div_ceil(2);
        let mut diagonals: Vec<Diagonal> = Vec::new();
        for (evaluation, comparisons) in pairing.evaluations().iter().enumerate() {
            let mut by_move: Vec<Vec<Entry>> = vec![Vec::new(); run];
            for c in comparisons {
                for (class, win) in [(c.first, true), (c.second, false)] {
                    by_move[(c.slot + run - class) % run].push(Entry { class, win });
                }
            }
            let filled = by_move.into_iter().enumerate().filter(|(_, entries)| !entries.is_empty());
            diagonals.extend(filled.map(|(by, entries)| Diagonal {
                evaluation,
                leaps: by / leap,
                steps: by % leap,
                entries,
            }));
        }
        Self { run, leap, diagonals }
    }

    /// Steps in a leap.
    pub(crate) fn leap(&self) -> usize {
        self.leap
    }

    /// Plaintexts that signs are multiplied with.
    pub(crate) fn masks(&self) -> usize {
        self.diagonals.len()
    }

    /// The most leaps of a move.
    pub(crate) fn leaps(&self) -> usize {
        self.diagonals.iter().map(|d| d.leaps).max().unwrap_or(0)
    }

    /// The most single steps of a move.
    pub(crate) fn most_steps(&self) -> usize {
        self.diagonals.iter().map(|d| d.steps).max().unwrap_or(0)
    }

    /// Rotations of a batch.
    pub(crate) fn rotations(&self, evaluations: usize) -> usize {
        evaluations * self.most_steps() + self.leaps()
    }

    /// The bound after all moves and masks, from that of a sign.
    pub(crate) fn noise(&self, ring: Ring, sign: Noise) -> Noise {
        let stepped = (0..self.most_steps()).fold(sign, |e, _| ring.rotation(e));
        let none = Noise::new(0.0, sign.limbs());
        let masked = ring.masked(none, stepped, self.masks());
        let leapt = (0..self.leaps()).fold(masked, |e, _| ring.rotation(e));
        Noise::new(leapt.bound() + ring.wrap(), sign.limbs())
    }

    /// Adds every masked diagonal with so many leaps, of one evaluation's stepped signs, to `sum`.
    ///
    /// `mask` has r at the slot of each class, sample by sample; `places` the place of each slot.
    pub(crate) fn add(
        &self,
        context: &Context,
        sum: &mut Ciphertext,
        stepped: &[Vec<Ciphertext>],
        leaps: usize,
        masks: &Masks,
    ) {
        for diagonal in self.diagonals.iter().filter(|diagonal| diagonal.leaps == leaps) {
            let source = &stepped[diagonal.evaluation][diagonal.steps];
            let mut slots = Buffer::zeroed(context.degree());
            for (sample, r) in masks.values.chunks_exact(masks.classes).enumerate() {
                for entry in &diagonal.entries {
                    // Where the value stands before the leaps bring it to its class's slot.
                    let before = (entry.class + leaps * self.leap) % self.run;
                    let place = masks.places[sample * self.run + before];
                    let r = r[entry.class];
                    slots[place as usize] = if entry.win { (PLAINTEXT - r) % PLAINTEXT } else { r };
                }
            }
            sum.add_times(context, source, slots);
        }
    }
}

/// The factors r of a batch.
pub(crate) struct Masks<'a> {
    /// For each sample, each class.
    pub(crate) values: Vec<u64>,
    pub(crate) classes: usize,
    /// For each sample, the place of each slot of its run.
    pub(crate) places: &'a [u32],
}

/// Uniform residues modulo t that are not 0.
pub(crate) fn nonzero<R: RngCore + CryptoRng>(count: usize, rng: &mut R) -> Vec<u64> {
    // t - 1 = 2^16, so the low bits of a word are uniform: no draw is refused.
    (0..count).map(|_| u64::from(rng.next_u32()) % (PLAINTEXT - 1) + 1).collect()
}
