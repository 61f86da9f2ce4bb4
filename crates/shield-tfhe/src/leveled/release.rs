//! What the server hands to the student for one sample, and how the student reads it.

use std::fmt;

use shield_core::framing::MadeFor;
use shield_core::{Class, Classes, Label, Seed};

use super::flooding;
use super::keys::{PublicKey, SecretKey};
use super::parameters::RELEASE_BITS;
use super::plan::Plan;
use super::ring::{DEGREE, Glwe, Ring, add};

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
    /// Re-randomises and floods the result, and rounds what is released of it.
    ///
    /// The randomness follows from the seed and from the result: a seed that met a second set of
    /// ballots would flood them differently.
    pub(crate) fn flooded(
        ring: &mut Ring,
        key: &PublicKey,
        mut result: Glwe,
        coefficients: usize,
        batch: usize,
        seed: &Seed,
    ) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("shield 2026 tfhe flooding v1");
        hasher.update(seed.as_bytes());
        hasher.update(key.id.as_bytes());
        for word in result.as_ref() {
            hasher.update(&word.to_le_bytes());
        }
        let bound = Seed::from_bytes(*hasher.finalize().as_bytes());
        let mut rng = bound.stream("shield 2026 tfhe flooding of one sample", batch as u64);
        let zero = key.zero.encrypt_zero(ring, &mut rng);
        add(&mut result, &zero);
        let (mask, body) = result.as_mut().split_at_mut(DEGREE);
        for word in &mut body[..coefficients] {
            *word = word.wrapping_add(flooding::flood(&mut rng));
        }
        Self::rounded(mask, &body[..coefficients], MadeFor { batch, key: key.id })
    }

    /// Keeps the upper bits, rounded.
    fn rounded(mask: &[u64], body: &[u64], made_for: MadeFor) -> Self {
        let shift = 64 - RELEASE_BITS;
        let rounded = |word: &u64| {
            let upper = word.wrapping_add(1 << (shift - 1)) >> shift;
            u32::try_from(upper).expect("20 bits")
        };
        Self { words: mask.iter().chain(body).map(rounded).collect(), made_for }
    }

    /// The phases of the label's coefficients.
    pub(crate) fn phases(&self, key: &SecretKey) -> Vec<u64> {
        let words: Vec<u64> =
            self.words.iter().map(|&w| u64::from(w) << (64 - RELEASE_BITS)).collect();
        let (mask, body) = words.split_at(DEGREE);
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

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    use super::*;
    use crate::leveled::tests::{Fixture, shape};

    #[test]
    fn mask_and_body_change_with_the_seed_and_with_the_result() {
        let mut ring = Ring::new();
        let mut rng = ChaCha20Rng::seed_from_u64(2);
        let shape = shape(3, 10, 1, "X^2+X");
        let fixture = Fixture::new(shape);
        let key = &fixture.keys.evaluation;
        let result = key.zero.encrypt_zero(&mut ring, &mut rng);
        let mut near = result.clone();
        near.as_mut()[2 * DEGREE - 1] ^= 1;
        let mut release = |result: &Glwe, seed| {
            Release::flooded(&mut ring, key, result.clone(), 4, 0, &Seed::from_number(seed)).words
        };
        let first = release(&result, 1);
        assert!(first == release(&result, 1));
        for other in [release(&result, 2), release(&near, 1)] {
            let same = |range: std::ops::Range<usize>| {
                first[range.clone()].iter().zip(&other[range]).filter(|(a, b)| a == b).count()
            };
            assert!(same(0..DEGREE) < 5 && same(DEGREE..DEGREE + 4) < 2);
        }
    }
}
