//! Unanimity: from how often each class was drawn to whether all draws agreed on it.
//!
//! **One-hot classes.** The tally of a round of degree p gets the constant D - p, so that every
//! round of every degree asks the same of each slot: is it D? The answer is the polynomial with
//! roots 0, 1, ..., D - 1, which is D! at D: a constant factor that is never divided out. With Y =
//! C^2 - (D-1) C the roots pair up, `(C - i)(C - (D-1-i)) = Y + i (D-1-i)`.
//!
//! **Classes in bits.** The p draws of a round get weights that add up to D, each D/p rounded up or
//! down, so at least one. The tally of a bit is then 0 or D if all draws agree on the bit, and
//! between 1 and D - 1 if not, whatever the round's degree. With Y = C^2 - D C the polynomial h =
//! product over i = 1 .. D/2 of `Y + i (D - i) = (C - i)(C - (D-i))` is zero at 1, ..., D - 1 and
//! the same at 0 and D; all draws agree on the class if the product of h over the bits is not zero.
//! D is at least 2 here: with one draw there would be nothing between 0 and D, and rounds that
//! must fail need a value at which h is zero.
//!
//! D is a power of two, so the depth is log2 D, which is optimal. Between products the modulus is
//! switched down as far as the noise allows for free.

use crate::layout::Coding;
use crate::noise::{Noise, Ring};
use crate::ring::{Context, PLAINTEXT};
use crate::scheme::{Ciphertext, SwitchKey, multiply};

/// The common degree D that the rounds of a mechanism are raised to, a power of two, and what is
/// asked of each slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    degree: u32,
    question: Question,
}

/// What unanimity asks of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Question {
    /// Whether it is D.
    All,
    /// Whether it is 0 or D.
    AllOrNone,
}

impl Order {
    /// Largest degree that the engine evaluates.
    pub const MAX: u32 = 16;

    /// The order for rounds of at most this degree; `None` above [`Order::MAX`].
    pub fn new(degree: u32, coding: Coding) -> Option<Self> {
        let (question, least) = match coding {
            Coding::OneHot => (Question::All, 1),
            Coding::PackedBits | Coding::BitsAcross => (Question::AllOrNone, 2),
        };
        let raised = || Self { degree: degree.max(least).next_power_of_two(), question };
        (1..=Self::MAX).contains(&degree).then(raised)
    }

    /// D.
    pub fn get(self) -> u32 {
        self.degree
    }

    /// How often draw number `i` of a round of this degree counts.
    pub(crate) fn weight(self, degree: u32, i: usize) -> u32 {
        match self.question {
            Question::All => 1,
            Question::AllOrNone => {
                self.degree / degree + u32::from((i as u32) < self.degree % degree)
            }
        }
    }

    /// What the tally of a round of this degree gets in every slot.
    pub(crate) fn constant(self, degree: u32) -> u64 {
        match self.question {
            Question::All => u64::from(self.degree - degree),
            Question::AllOrNone => 0,
        }
    }

    /// The sum c and the product d of the roots of each pair, `Y + d` with `Y = C^2 - c C`.
    fn pairs(self) -> (i64, Vec<i64>) {
        let d = i64::from(self.degree);
        match self.question {
            Question::All => (d - 1, (0..d / 2).map(|i| i * (d - 1 - i)).collect()),
            Question::AllOrNone => (d, (1..=d / 2).map(|i| i * (d - i)).collect()),
        }
    }

    /// The polynomial at D, modulo the plaintext modulus.
    pub(crate) fn success(self) -> u64 {
        let d = u64::from(self.degree);
        let factors: Vec<u64> = match self.question {
            Question::All => (1..=d).collect(),
            Question::AllOrNone => (1..=d / 2).map(|i| i * (d - i)).collect(),
        };
        factors.into_iter().fold(1, |product, factor| product * factor % PLAINTEXT)
    }

    /// Products of ciphertexts for one evaluation.
    pub fn products(self) -> usize {
        match self.degree {
            1 => 0,
            2 => 1,
            4 => 2,
            8 => 3,
            _ => 5,
        }
    }

    /// Products in sequence.
    pub fn depth(self) -> u32 {
        self.degree.ilog2()
    }

    /// The bound on the noise of [`evaluate`], which it follows step by step, and the level of each
    /// product in sequence.
    pub(crate) fn noise(self, ring: Ring, tally: Noise) -> (Noise, Vec<usize>) {
        if self.degree == 1 {
            return (tally, Vec::new());
        }
        let (c, pairs) = self.pairs();
        let mut levels = Vec::new();
        let mut squared = |x: Noise| {
            let x = ring.before_product(x);
            levels.push(x.limbs());
            (ring.product(x, x), x)
        };
        let (square, tally) = squared(tally);
        let y = ring.combine(square, tally, c as f64);
        if self.degree == 2 {
            return (y, levels);
        }
        let largest = pairs.iter().copied().max().unwrap_or(0);
        let (square, y) = squared(y);
        let mut product = ring.combine(square, y, 2.0 * largest as f64);
        for _ in 2..self.depth() {
            product = squared(product).0;
        }
        (product, levels)
    }
}

/// The polynomial of the order, in every slot; `levels` are those of [`Order::noise`].
pub(crate) fn evaluate(
    context: &Context,
    key: &SwitchKey,
    mut tally: Ciphertext,
    order: Order,
    levels: &[usize],
) -> Ciphertext {
    let &[first, ref later @ ..] = levels else {
        return tally;
    };
    let (c, pairs) = order.pairs();
    tally.drop_to(context, first);
    let square = multiply(context, key, &tally, None);
    let mut y = quadratic(context, &square, &tally, -c, 0);
    let &[second, ref later @ ..] = later else {
        y.add_constant(context, pairs[0]);
        return y;
    };
    y.drop_to(context, second);
    let square = multiply(context, key, &y, None);
    // (Y + d_i)(Y + d_j) = Y^2 + (d_i + d_j) Y + d_i d_j: the first with the last, and so on.
    let mut factors: Vec<Ciphertext> = (0..pairs.len() / 2)
        .map(|i| {
            let (a, b) = (pairs[i], pairs[pairs.len() - 1 - i]);
            quadratic(context, &square, &y, a + b, a * b)
        })
        .collect();
    for &level in later {
        for factor in &mut factors {
            factor.drop_to(context, level);
        }
        factors = product_of_pairs(context, key, factors);
    }
    factors.swap_remove(0)
}

/// Neighbours multiplied; a last one without a neighbour stays as it is.
pub(crate) fn product_of_pairs(
    context: &Context,
    key: &SwitchKey,
    factors: Vec<Ciphertext>,
) -> Vec<Ciphertext> {
    let mut products = Vec::with_capacity(factors.len().div_ceil(2));
    let mut factors = factors.into_iter();
    while let Some(first) = factors.next() {
        products.push(match factors.next() {
            Some(second) => multiply(context, key, &first, Some(&second)),
            None => first,
        });
    }
    products
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The polynomial at `x`, by its pairs of roots.
    fn at(order: Order, x: i64) -> i64 {
        let (c, pairs) = order.pairs();
        let t = PLAINTEXT as i64;
        let y = x * x - c * x;
        pairs.iter().fold(1, |product, pair| product * ((y + pair) % t) % t).rem_euclid(t)
    }

    #[test]
    fn the_polynomial_answers_its_question() {
        for degree in 1..=Order::MAX {
            let one_hot = Order::new(degree, Coding::OneHot).expect("an order");
            let bits = Order::new(degree, Coding::PackedBits).expect("an order");
            let d = i64::from(bits.get());
            for x in 1..d {
                assert_eq!(at(bits, x), 0, "{degree} at {x}");
            }
            assert!(bits.success() != 0 && d >= 2);
            assert_eq!([at(bits, 0), at(bits, d)], [bits.success() as i64; 2]);
            if one_hot.get() > 1 {
                let d = i64::from(one_hot.get());
                assert!((0..d).all(|x| at(one_hot, x) == 0));
                assert_eq!(at(one_hot, d), one_hot.success() as i64);
            }
            let weights: Vec<u32> = (0..degree as usize).map(|i| bits.weight(degree, i)).collect();
            assert_eq!(weights.iter().sum::<u32>(), bits.get());
            assert!(weights.iter().all(|&weight| weight > 0));
        }
    }
}
