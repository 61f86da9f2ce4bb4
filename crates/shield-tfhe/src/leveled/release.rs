//! What the server hands to the student for one sample, and how the student reads it.

use std::fmt;

use shield::framing::MadeFor;
use shield::{Class, Classes, Label};

use super::keys::SecretKey;
use super::plan::Plan;

/// Bits of a released coefficient.
pub(crate) const BITS: u32 = 20;

/// The encrypted label of one sample.
#[derive(Clone, PartialEq, Eq)]
pub struct Release {
    /// The mask's coefficients, then those of the body that hold the label: the upper 20 bits of
    /// each.
    pub(crate) words: Vec<u32>,
    pub(crate) made_for: MadeFor,
}

impl fmt::Debug for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Release")
            .field("batch", &self.made_for.batch)
            .field("key", &self.made_for.key)
            .finish_non_exhaustive()
    }
}

impl Release {
    /// Keeps the upper bits, rounded.
    pub(crate) fn rounded(mask: &[u64], body: &[u64], made_for: MadeFor) -> Self {
        let shift = 64 - BITS;
        let rounded = |word: &u64| {
            let upper = word.wrapping_add(1 << (shift - 1)) >> shift;
            u32::try_from(upper).expect("20 bits")
        };
        Self { words: mask.iter().chain(body).map(rounded).collect(), made_for }
    }

    /// The phases of the label's coefficients.
    pub(crate) fn phases(&self, key: &SecretKey) -> Vec<u64> {
        let words: Vec<u64> = self.words.iter().map(|&w| u64::from(w) << (64 - BITS)).collect();
        let (mask, body) = words.split_at(super::ring::DEGREE);
        key.phases(mask, body)
    }
}

/// The label: each coefficient's phase is near 0 or near 2^63. `None` if that is no label of an
/// election.
pub(crate) fn label(plan: &Plan, classes: Classes, phases: &[u64]) -> Option<Label> {
    let bit = |phase: &u64| phase.wrapping_add(1 << 62) >> 63;
    let (class, flag) = phases.split_at(plan.bits());
    let class = class.iter().rev().fold(0, |class, phase| class << 1 | bit(phase));
    let class = Class(u16::try_from(class).expect("at most 10 bits"));
    if flag.iter().any(|phase| bit(phase) == 1) {
        (class.0 == 0).then_some(None)
    } else {
        classes.contains(class).then_some(Some(class))
    }
}
