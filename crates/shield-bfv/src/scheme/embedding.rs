//! The canonical embedding: a polynomial's values at the complex roots of X^n + 1.
//!
//! Its norm, the largest absolute value, is multiplicative where the norm of the coefficients is
//! not, so the noise analysis is written in it ([`crate::noise`]).

use std::f64::consts::PI;

use zeroize::Zeroize;

/// The largest absolute value at a root of X^n + 1.
pub(crate) fn norm(coefficients: &[f64]) -> f64 {
    let n = coefficients.len();
    let bits = n.trailing_zeros();
    // Twisted by half a step, the values at odd powers are a cyclic Fourier transform.
    let mut values = vec![(0.0, 0.0); n];
    for (i, &c) in coefficients.iter().enumerate() {
        let (sin, cos) = (PI * i as f64 / n as f64).sin_cos();
        values[i.reverse_bits() >> (usize::BITS - bits)] = (c * cos, c * sin);
    }
    let mut half = 1;
    while half < n {
        for group in values.chunks_exact_mut(2 * half) {
            let (left, right) = group.split_at_mut(half);
            for (i, (x, y)) in left.iter_mut().zip(right).enumerate() {
                let (sin, cos) = (PI * i as f64 / half as f64).sin_cos();
                let turned = (y.0 * cos - y.1 * sin, y.0 * sin + y.1 * cos);
                *y = (x.0 - turned.0, x.1 - turned.1);
                *x = (x.0 + turned.0, x.1 + turned.1);
            }
        }
        half *= 2;
    }
    let largest = values.iter().map(|(re, im)| re.hypot(*im)).fold(0.0, f64::max);
    values.zeroize();
    largest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_definition() {
        let coefficients: Vec<f64> = (0..16).map(|i| f64::from((i * 7 + 3) % 11) - 5.0).collect();
        let at = |k: usize| {
            let (re, im) = coefficients.iter().enumerate().fold((0.0, 0.0), |(re, im), (i, c)| {
                let (sin, cos) = (PI * ((2 * k + 1) * i) as f64 / 16.0).sin_cos();
                (re + c * cos, im + c * sin)
            });
            f64::hypot(re, im)
        };
        let expected = (0..16).map(at).fold(0.0, f64::max);
        assert!((norm(&coefficients) - expected).abs() < 1e-9);
    }
}
