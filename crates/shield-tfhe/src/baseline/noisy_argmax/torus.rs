//! Numbers of the torus, their encryptions with linear combinations, and tables over it.
//!
//! A number x of the torus stands as the integer x 2^64: 1 is a full turn.

use crate::transform::DEGREE;

/// A number of the torus as an integer, rounded.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in 0..2^64")]
pub(super) fn torus(x: f64) -> u64 {
    // Parts of 2^-53 are exact in a float; nothing here needs more.
    let turns = x - x.floor();
    ((turns * libm::exp2(53.0)).round() as u64) << 11
}

/// An encryption of a number of the torus under the student's key: N words of mask, then the body.
#[derive(Clone)]
pub(super) struct Lwe(pub(super) Vec<u64>);

impl Lwe {
    /// A number that everybody knows.
    pub(super) fn known(number: u64) -> Self {
        let mut words = vec![0; DEGREE + 1];
        words[DEGREE] = number;
        Self(words)
    }

    /// Adds a number that everybody knows.
    pub(super) fn shift(&mut self, number: u64) {
        self.0[DEGREE] = self.0[DEGREE].wrapping_add(number);
    }

    /// Adds a whole multiple of another encryption.
    pub(super) fn add_multiple(&mut self, factor: i64, other: &Self) {
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word = word.wrapping_add(other.wrapping_mul(factor.cast_unsigned()));
        }
    }

    /// A whole multiple.
    pub(super) fn times(&self, factor: i64) -> Self {
        let mut multiple = Self::known(0);
        multiple.add_multiple(factor, self);
        multiple
    }

    /// The difference of two.
    pub(super) fn minus(&self, other: &Self) -> Self {
        let mut difference = self.clone();
        difference.add_multiple(-1, other);
        difference
    }
}

/// A table over half the torus, [-1/4, 1/4). What a table says at x + 1/2 is minus what it says at
/// x, always.
pub(super) struct Table(pub(super) Vec<u64>);

impl Table {
    /// The table of a function from [-1/4, 1/4) to the torus.
    ///
    /// Entry i of the ring's polynomial answers for the positions from i to i + 1 of the 2N parts:
    /// the crate rounds down, after it has taken half a part off.
    pub(super) fn new(f: impl Fn(f64) -> f64) -> Self {
        let entry = |i: usize| {
            let position = (i as f64 + 0.5) / (2 * DEGREE) as f64;
            if i < DEGREE / 2 { torus(f(position)) } else { torus(-f(position - 0.5)) }
        };
        Self((0..DEGREE).map(entry).collect())
    }
}

#[cfg(test)]
impl Table {
    /// What the table says at a place of the torus, in turns from -1/2 to 1/2: for tests without
    /// noise.
    pub(super) fn read(&self, x: f64) -> f64 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0..2N")]
        let part = ((x - x.floor()) * (2 * DEGREE) as f64) as usize % (2 * DEGREE);
        let says = self.0[part % DEGREE].cast_signed() as f64 * libm::exp2(-64.0);
        if part < DEGREE { says } else { -says }
    }
}
