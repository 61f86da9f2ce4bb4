//! The sign of a difference, as a polynomial modulo t.
//!
//! For whole x with -R-1 <= x <= R let y = 2x + 1, which is odd and never 0. The sign of y, +1 for
//! x >= 0 and -1 otherwise, is an odd function on these 2R + 2 points, so it is y q(y^2) for the
//! one polynomial q of degree at most R that is 1/y at y^2, for y = 1, 3, ..., 2R+1. These squares
//! are distinct modulo t as long as 4R + 2 < t. q is found by Newton's interpolation.

use crate::ring::PLAINTEXT;

/// The largest R: all y and -y must differ modulo t.
pub(crate) const MAX_RANGE: usize = 16_383;

/// Coefficients, centred, of the odd powers of y: entry j is that of y^(2j+1), for j = 0..=R.
pub(crate) fn coefficients(range: usize) -> Vec<i64> {
    let t = PLAINTEXT;
    // Inverses of all residues, by 1/i = -(t/i) / (t mod i).
    let mut inverse = vec![0, 1];
    for i in 2..t {
        inverse.push((t - t / i) * inverse[(t % i) as usize] % t);
    }
    let inverse = |x: u64| inverse[x as usize];
    let odd = |i: usize| 2 * i as u64 + 1;
    let squares: Vec<u64> = (0..=range).map(|i| odd(i) * odd(i) % t).collect();
    // Divided differences, in place.
    let mut differences: Vec<u64> = (0..=range).map(|i| inverse(odd(i))).collect();
    for j in 1..=range {
        for i in (j..=range).rev() {
            let rise = (differences[i] + t - differences[i - 1]) % t;
            differences[i] = rise * inverse((squares[i] + t - squares[i - j]) % t) % t;
        }
    }
    // Horner's scheme: q = q (z - z_i) + d_i.
    let mut q = vec![0; range + 1];
    for i in (0..=range).rev() {
        for j in (0..=range - i).rev() {
            let shifted = if j > 0 { q[j - 1] } else { differences[i] };
            q[j] = (shifted + q[j] * (t - squares[i])) % t;
        }
    }
    let centred = |c: u64| {
        let (c, t) = (c.cast_signed(), t.cast_signed());
        if c > t / 2 { c - t } else { c }
    };
    q.into_iter().map(centred).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sign_of_the_range() {
        let t = PLAINTEXT.cast_signed();
        for range in [0, 1, 7, 127, 575] {
            let coefficients = coefficients(range);
            for x in -(range as i64) - 1..=range as i64 {
                let y = 2 * x + 1;
                let square = (y * y).rem_euclid(t);
                let q = coefficients.iter().rev().fold(0, |q, c| (q * square + c).rem_euclid(t));
                let sign = (q * y).rem_euclid(t);
                assert_eq!(sign, if x >= 0 { 1 } else { t - 1 }, "{x} of {range}");
            }
        }
    }
}
