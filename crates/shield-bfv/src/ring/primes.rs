//! The primes of the engine: found, not listed, and always the same.

use super::modulus::Modulus;

/// Is `p`, odd and below 2^51, prime? Miller and Rabin's test with bases that leave no doubt below
/// 2^64.
pub(crate) fn is_prime(p: u64) -> bool {
    let m = Modulus::new(p);
    let twos = (p - 1).trailing_zeros();
    [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37].iter().all(|&base| {
        if p.is_multiple_of(base) {
            return p == base;
        }
        let mut x = m.pow(base, (p - 1) >> twos);
        if x == 1 || x == p - 1 {
            return true;
        }
        (1..twos).any(|_| {
            x = m.mul(x, x);
            x == p - 1
        })
    })
}

/// The largest primes below `2^bits` that are one modulo `step` and not in `but`, in decreasing
/// order.
pub(crate) fn largest(bits: u32, step: u64, count: usize, but: &[u64]) -> Vec<u64> {
    let start = ((1 << bits) - 2) / step;
    (1..=start)
        .rev()
        .map(|k| k * step + 1)
        .filter(|p| !but.contains(p) && is_prime(*p))
        .take(count)
        .collect()
}
