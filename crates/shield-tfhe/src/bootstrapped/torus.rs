//! Encryptions of one number of the torus with their linear combinations, and tables over it.

use super::parameters::{RING, torus};

/// An encryption of a number of the torus under the student's key: N words of mask, then the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lwe(pub(crate) Vec<u64>);

impl Lwe {
    /// A number that everybody knows.
    pub(crate) fn known(number: u64) -> Self {
        let mut words = vec![0; RING + 1];
        words[RING] = number;
        Self(words)
    }

    /// Adds a number that everybody knows.
    pub(crate) fn shift(&mut self, number: u64) {
        self.0[RING] = self.0[RING].wrapping_add(number);
    }

    /// Adds a whole multiple of another encryption.
    pub(crate) fn add_multiple(&mut self, factor: i64, other: &Self) {
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word = word.wrapping_add(other.wrapping_mul(factor.cast_unsigned()));
        }
    }

    /// A whole multiple.
    pub(crate) fn times(&self, factor: i64) -> Self {
        let mut multiple = Self::known(0);
        multiple.add_multiple(factor, self);
        multiple
    }

    /// The difference of two.
    pub(crate) fn minus(&self, other: &Self) -> Self {
        let mut difference = self.clone();
        difference.add_multiple(-1, other);
        difference
    }
}

/// A table over half the torus, [-1/4, 1/4). What a table says at x + 1/2 is minus what it says at
/// x, always.
#[derive(Clone, Debug)]
pub(crate) struct Table(pub(crate) Vec<u64>);

impl Table {
    /// The table of a function from [-1/4, 1/4) to the torus.
    ///
    /// Entry i of the ring's polynomial answers for the positions from i to i + 1 of the 2N parts:
    /// the crate rounds down, after it has taken half a part off.
    pub(crate) fn new(f: impl Fn(f64) -> f64) -> Self {
        let entry = |i: usize| {
            let position = (i as f64 + 0.5) / (2 * RING) as f64;
            if i < RING / 2 { torus(f(position)) } else { torus(-f(position - 0.5)) }
        };
        Self((0..RING).map(entry).collect())
    }

    /// `value` within `reach` of zero, nothing elsewhere.
    pub(crate) fn window(reach: f64, value: f64) -> Self {
        Self::new(|x| if x.abs() < reach { value } else { 0.0 })
    }
}

#[cfg(test)]
impl Table {
    /// What the table says at a place of the torus, in turns from -1/2 to 1/2: for tests without
    /// noise.
    pub(crate) fn read(&self, x: f64) -> f64 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0..2N")]
        let part = ((x - x.floor()) * (2 * RING) as f64) as usize % (2 * RING);
        let says = super::parameters::turns(self.0[part % RING]);
        if part < RING { says } else { -says }
    }
}
