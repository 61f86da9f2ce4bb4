//! From a sum of ballots to digits.
//!
//! A count c (with its noise, and moved up so that it is not negative) is below 16^D and encrypted
//! as c 2^-(4D+1) of a turn: D digits of four bits below an empty bit. Times 2^(4(D-1-j)), digit j
//! stands on steps of 1/32; the bit above it on 1/2; what is above that has turned full circle; and
//! the digits below it are a fraction of a step. From the lowest digit up:
//!
//! 1. Take digit j-1 off, which was found before. The rest below is less than 2^-9 of a turn; half
//!    of that is taken off, so that at most 2^-10 is left on either side.
//! 2. Look up the sign: the bit on 1/2. Take it off. (The highest digit has an empty bit there.)
//! 3. Look up the digit, now on 16 steps of half the torus.
//!
//! Two lookups a digit, one for the highest; the margin of each is half a step less 2^-10, 1/64 -
//! 1/1024. Digits come out on steps of 1/512: what step 1 needs, and what leaves the tournament
//! four doublings.

use super::lookup::Lookup;
use super::torus::{Lwe, Table, torus};

/// Values of a digit.
pub(super) const BASE: usize = 16;
/// The step that digits are stored on, in turns.
pub(super) const STORED: f64 = 1.0 / 512.0;
/// The step that digits are looked up on.
pub(super) const STEP: f64 = 1.0 / 32.0;
/// What moves 16 steps of half the torus to where tables are defined.
pub(super) const CENTRE: f64 = 1.0 / 64.0 - 0.25;

/// The tables for digits.
pub(super) struct DigitTables {
    sign: Table,
    store: Table,
}

impl DigitTables {
    pub(super) fn new() -> Self {
        Self { sign: Table::new(|_| 0.25), store: Table::new(|x| digit(x) * STORED) }
    }

    /// The digits of a count, lowest first, on steps of [`STORED`].
    pub(super) fn digits(&self, lookup: &mut Lookup, count: &Lwe, digits: usize) -> Vec<Lwe> {
        let mut found: Vec<Lwe> = Vec::with_capacity(digits);
        for j in 0..digits {
            let mut rest = count.times(1 << (4 * (digits - 1 - j)));
            if let Some(below) = found.last() {
                rest.add_multiple(-1, below);
            }
            if j > 1 {
                rest.shift(torus(-STORED / 2.0));
            }
            rest.shift(torus(CENTRE));
            if j + 1 < digits {
                // 1/4 where the bit is 0, -1/4 where it is 1.
                let sign = lookup.look_up(&self.sign, &rest);
                rest.add_multiple(1, &sign);
                rest.shift(torus(-0.25));
            }
            found.push(lookup.look_up(&self.store, &rest));
        }
        found
    }

    /// A digit on steps of [`STEP`], stored anew.
    pub(super) fn refresh(&self, lookup: &mut Lookup, digit: &Lwe) -> Lwe {
        let mut input = digit.clone();
        input.shift(torus(CENTRE));
        lookup.look_up(&self.store, &input)
    }
}

/// The digit that stands at a place of a table.
pub(super) fn digit(x: f64) -> f64 {
    ((x + 0.25) / STEP).floor().clamp(0.0, BASE as f64 - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All counts of three digits, without encryption: what the lookups read and say.
    #[test]
    fn every_count_of_three_digits() {
        let tables = DigitTables::new();
        let noise = 1.0 / 64.0 - 1.0 / 1024.0 - 1.0 / 4096.0;
        for count in 0..4_096_u32 {
            let turns = f64::from(count) * libm::exp2(-13.0);
            let mut below: Option<f64> = None;
            for j in 0..3 {
                let mut rest = turns * libm::exp2(f64::from(4 * (2 - j))) + CENTRE;
                rest -= below.unwrap_or(0.0);
                if j > 1 {
                    rest -= STORED / 2.0;
                }
                for noise in [-noise, 0.0, noise] {
                    let sign = if j < 2 { tables.sign.read(rest + noise) - 0.25 } else { 0.0 };
                    let found = tables.store.read(rest + sign + noise);
                    let digit = f64::from(count >> (4 * j) & 15);
                    assert!((found - digit * STORED).abs() < 1e-12, "{count}, digit {j}");
                }
                below = Some(f64::from(count >> (4 * j) & 15) * STORED);
            }
        }
    }
}
