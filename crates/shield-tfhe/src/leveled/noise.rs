//! How much noise the circuit adds: a bound on the variance of each coefficient.
//!
//! # What is modelled
//!
//! As in the BFV engine: ciphertexts are uniform to anyone without the key, and that is how their
//! digits, what rounding discards and what truncation discards enter here, independent of
//! everything else. (Rounding favours no side even where coefficients are multiples of a power of
//! two: `ring::even`.) Errors are what they are: fresh, centred and independent. So noise is a sum
//! of centred terms of which no two are correlated, and variances add up. The tests compare every
//! stage's variance with a measured one.
//!
//! # The terms
//!
//! With N = 2048 coefficients, errors of variance v, a secret with h coefficients that are not
//! zero, a public key whose errors' squares add up to m N v at most, l levels of base B:
//!
//! | what | variance of a coefficient |
//! |---|---|
//! | row: `e u + e2 - e1 s` | R = v (m N / 2 + 1 + h) + (1 + h) 2^32 / 12: the second part is truncation |
//! | product: digits times rows | 2 l N (B^2 + 2) / 12 R |
//! | product: what the digits leave out, times (1, -s) and the bit | (1 + h) (2^64 / B^l)^2 / 12 |
//! | product: the transform, of mask and body | (1 + h) F, F = (2^64 2^-50.5)^2 2 l N (B^2 + 2) / 144 |
//! | class: B / 2 times a row for each of k bits | k B^2 / 4 R |
//! | re-randomisation | v (m N / 2 + 1 + h) |
//!
//! The transform's error: a product's coefficients, before they are reduced modulo 1, have a mean
//! square of `2 l N (B^2 + 2) / 144`, and floating point with its 53 bits was measured to be off by
//! less than 2^-51 of its root. The bound takes 2^-50.5. Like every error of a mask it counts h
//! times.
//!
//! # Adding up
//!
//! Let P be a product's variance. In a round of p distinct teachers and one bit, of the products'
//! errors p reach the result (`rounds`): the factor of each other one is 0, whatever the bits. What
//! y carried is multiplied by 0 or 1. If the round succeeds, y = c - out brings -out along, and the
//! sum `out + y` loses the noise of out; if it fails, the noise of c is multiplied by zero. So at
//! the end there is the noise of one class, and at most p P for each bit and round:
//!
//! `V = k B^2 / 4 R + k P (sum of p over the rounds of degree p >= 2) + re-randomisation`
//!
//! A dummy among the draws takes one product per teacher and bit: less. So does a teacher drawn
//! twice.

use super::parameters::{MOST_ERROR, MOST_ONES, TRUNCATED_BITS};
use super::ring::{DEGREE, Gadget};
use super::sampling::ERROR_VARIANCE;

const N: f64 = DEGREE as f64;

/// Variances of a coefficient, stage by stage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stages {
    pub(crate) row: f64,
    pub(crate) product: f64,
    pub(crate) class: f64,
    pub(crate) released: f64,
}

/// A fresh encryption of zero.
pub(crate) fn fresh() -> f64 {
    ERROR_VARIANCE * (MOST_ERROR * N / 2.0 + 1.0 + MOST_ONES as f64)
}

/// A coefficient that is rounded to a multiple of 2^bits, times (1, -s).
fn rounding(bits: f64) -> f64 {
    (1.0 + MOST_ONES as f64) * 4_f64.powf(bits) / 12.0
}

/// A row of a ballot: fresh, and truncated.
fn row() -> f64 {
    fresh() + rounding(f64::from(TRUNCATED_BITS))
}

/// What an external product adds.
fn product(gadget: Gadget, row: f64) -> f64 {
    let base = 2_f64.powi(i32::try_from(gadget.base_log).unwrap_or(i32::MAX));
    let digits = gadget.levels as f64 * N * (base * base + 2.0) / 12.0;
    let left_out = rounding(64.0 - (gadget.levels * gadget.base_log) as f64);
    digits * 2.0 * row + left_out + (1.0 + MOST_ONES as f64) * transform(2.0 * digits)
}

/// The error of a transform, of a mask or of a body: F, for the sum of the squares of the digits.
fn transform(digits: f64) -> f64 {
    4_f64.powf(64.0 - 50.5) * digits / 12.0
}

/// All stages of a sample whose rounds of degree two and more draw `draws` votes, with classes of
/// `bits` bits.
pub(crate) fn stages(gadget: Gadget, bits: usize, draws: usize) -> Stages {
    let row = row();
    let product = product(gadget, row);
    let base = 2_f64.powi(i32::try_from(gadget.base_log).unwrap_or(i32::MAX));
    let class = bits as f64 * base * base / 4.0 * row;
    let released = class + (bits * draws) as f64 * product + fresh();
    Stages { row, product, class, released }
}
