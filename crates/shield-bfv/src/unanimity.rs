//! Unanimity: from how often each class was drawn to whether all draws agreed on it.
//!
//! The tally of a round of degree p gets the constant D - p, so that every round of every degree
//! asks the same of each slot: is it D? The answer is the polynomial with roots 0, 1, ..., D - 1,
//! which is D! at D: a constant factor that is never divided out. With Y = C^2 - (D-1) C the roots
//! pair up, `(C - i)(C - (D-1-i)) = Y + i (D-1-i)`, and D is a power of two, so the depth is log2
//! D, which is optimal.

use crate::noise::{Noise, Ring};
use crate::ring::Context;
use crate::scheme::{Ciphertext, SwitchKey, multiply};

/// The common degree D that the rounds of a mechanism are raised to: a power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order(u32);

impl Order {
    /// Largest degree that the engine evaluates.
    pub const MAX: u32 = 16;

    /// The order for rounds of at most this degree; `None` above [`Order::MAX`].
    pub fn new(degree: u32) -> Option<Self> {
        (1..=Self::MAX).contains(&degree).then(|| Self(degree.next_power_of_two()))
    }

    /// D.
    pub fn get(self) -> u32 {
        self.0
    }

    /// What the polynomial is at D: D!, modulo the plaintext modulus.
    pub(crate) fn success(self) -> u64 {
        (1..=u64::from(self.0)).fold(1, |product, i| product * i % crate::ring::PLAINTEXT)
    }

    /// Products of ciphertexts for one evaluation.
    pub fn products(self) -> usize {
        match self.0 {
            1 => 0,
            2 => 1,
            4 => 2,
            8 => 3,
            _ => 5,
        }
    }

    /// The bound on the noise of [`evaluate`], which it follows step by step.
    pub(crate) fn noise(self, ring: Ring, tally: Noise) -> Noise {
        let d = f64::from(self.0);
        if self.0 == 1 {
            return tally;
        }
        let y = ring.combine(ring.product(tally, tally), tally, d - 1.0);
        if self.0 == 2 {
            return y;
        }
        // No pair of roots adds up to more than twice the largest, (D/2)(D/2 - 1).
        let pair = ring.combine(ring.product(y, y), y, d / 2.0 * (d - 2.0));
        match self.0 {
            4 => pair,
            8 => ring.product(pair, pair),
            _ => {
                let quartic = ring.product(pair, pair);
                ring.product(quartic, quartic)
            }
        }
    }

    /// Products in sequence.
    pub fn depth(self) -> u32 {
        self.0.ilog2()
    }
}

/// The polynomial with roots 0 to D - 1, in every slot.
pub(crate) fn evaluate(
    context: &Context,
    key: &SwitchKey,
    tally: Ciphertext,
    order: Order,
) -> Ciphertext {
    if order.0 == 1 {
        return tally;
    }
    // Y = C^2 - (D-1) C
    let y = quadratic(
        context,
        &multiply(context, key, &tally, None),
        &tally,
        1 - i64::from(order.0),
        0,
    );
    if order.0 == 2 {
        return y;
    }
    let square = multiply(context, key, &y, None);
    // (Y + c_i)(Y + c_j) = Y^2 + (c_i + c_j) Y + c_i c_j
    let root = |i: i64| i * (i64::from(order.0) - 1 - i);
    let pair =
        |i: i64, j: i64| quadratic(context, &square, &y, root(i) + root(j), root(i) * root(j));
    let product = |a: &Ciphertext, b: &Ciphertext| multiply(context, key, a, Some(b));
    match order.0 {
        4 => pair(0, 1),
        8 => product(&pair(0, 3), &pair(1, 2)),
        _ => product(&product(&pair(0, 7), &pair(1, 6)), &product(&pair(2, 5), &pair(3, 4))),
    }
}

/// `square + factor x + constant`.
fn quadratic(
    context: &Context,
    square: &Ciphertext,
    x: &Ciphertext,
    factor: i64,
    constant: i64,
) -> Ciphertext {
    let mut sum = x.clone();
    sum.scale(context, factor);
    sum.add(context, square);
    sum.add_constant(context, constant);
    sum
}
