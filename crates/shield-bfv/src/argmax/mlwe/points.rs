//! The small ring Z_t[Z]/(Z^d + 1): t splits in it, so a polynomial is its values at d points.

use crate::ring::{Modulus, PLAINTEXT};

const T: u64 = PLAINTEXT;

/// A generator of the residues modulo t.
const GENERATOR: u64 = 3;

/// The odd powers of a root of unity of order 2d: the roots of Z^d + 1 modulo t.
#[derive(Clone, Debug)]
pub(crate) struct Points {
    degree: usize,
    /// Row i: the powers of point i.
    powers: Vec<u64>,
    /// Row i: what the value at point i adds to each coefficient.
    inverse: Vec<u64>,
}

impl Points {
    /// For a degree d that is a power of two and at most 2^15.
    pub(crate) fn new(degree: usize) -> Self {
        let t = Modulus::new(T);
        let root = t.pow(GENERATOR, (T - 1) / (2 * degree as u64));
        let scale = t.inv(degree as u64);
        let (mut powers, mut inverse) = (Vec::new(), Vec::new());
        for i in 0..degree as u64 {
            let point = t.pow(root, 2 * i + 1);
            let back = t.inv(point);
            powers.extend((0..degree as u64).map(|l| t.pow(point, l)));
            inverse.extend((0..degree as u64).map(|l| t.mul(t.pow(back, l), scale)));
        }
        Self { degree, powers, inverse }
    }

    /// d: coefficients, and points.
    pub(crate) fn degree(&self) -> usize {
        self.degree
    }

    /// The value at a point of the polynomial with these first coefficients.
    pub(crate) fn value(&self, point: usize, coefficients: &[u32]) -> u64 {
        let powers = &self.powers[point * self.degree..];
        coefficients.iter().zip(powers).map(|(&c, power)| u64::from(c) * power).sum::<u64>() % T
    }

    /// A coefficient of the polynomial with these values, all below t. The same instructions for
    /// all values.
    pub(crate) fn coefficient(&self, values: &[u64], number: usize) -> u64 {
        let terms = values.iter().enumerate().map(|(i, x)| x * self.weight(i, number));
        terms.sum::<u64>() % T
    }

    /// What one at a point adds to a coefficient.
    pub(crate) fn weight(&self, point: usize, coefficient: usize) -> u64 {
        self.inverse[point * self.degree + coefficient]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_coefficients_are_the_same_polynomial() {
        for degree in [16, 32, 64] {
            let points = Points::new(degree);
            let coefficients: Vec<u32> =
                (0..degree as u32).map(|l| (l * 7_919 + 5) % 65_537).collect();
            let values: Vec<u64> = (0..degree).map(|i| points.value(i, &coefficients)).collect();
            for (l, &c) in coefficients.iter().enumerate() {
                assert_eq!(points.coefficient(&values, l), u64::from(c));
            }
            // Z^d is -1 at every point.
            for i in 0..degree {
                let point = points.value(i, &[0, 1]);
                assert_eq!(Modulus::new(T).pow(point, degree as u64), T - 1);
            }
        }
    }
}
