//! From digits to the class that has the largest.
//!
//! Classes meet in pairs, neighbours first, and the winner goes on; of equals the lower class does.
//! A match of a against b, a the lower class:
//!
//! 1. For each digit, the sign of a_i - b_i, which is in -15..=15 steps of 1/32: -1, 0 or 1. (The
//!    sign is odd, as a table of the whole torus must be.)
//! 2. a wins if the sum of 2^i sign_i is not negative: one more lookup, `w = 1/4` if so and -1/4 if
//!    not. Up to four digits the sum is at most 15 steps of 1/32 away from 0.
//! 3. Every digit of the winner, of count and of class. What a table says half a turn further is
//!    minus what it says here, so a digit d looked up at d + 1/4 - w is d or -d; with u for a and
//!    u' for b, looked up at b + 1/4 + w, `u + a + u' + b` is twice the winner's.
//!
//! So a digit of the winner costs two lookups and stands on steps twice as far apart. Digits start
//! on 1/512; after four matches they stand on 1/32 and are looked up once more, to start again. Who
//! has no opponent is doubled. The last match chooses the class alone. All margins are half a step,
//! 1/64.

use super::digits::{BASE, CENTRE, DigitTables, STEP, STORED, digit};
use super::lookup::Lookup;
use super::torus::{Lwe, Table, torus};

/// Doublings from [`STORED`] to [`STEP`].
pub(super) const DOUBLINGS: usize = 4;

/// Who is still in: its count and its class, in digits.
struct Candidate {
    count: Vec<Lwe>,
    class: Vec<Lwe>,
}

/// The tables of a match.
pub(super) struct Tournament {
    digits: DigitTables,
    sign: Table,
    wins: Table,
    /// How a digit is chosen after so many doublings.
    choose: [Table; DOUBLINGS],
}

impl Tournament {
    pub(super) fn new() -> Self {
        let sign = |x: f64| {
            if x.abs() < STEP / 2.0 { 0.0 } else { STEP.copysign(x) }
        };
        let choose = |doubled: i32| {
            let step = STORED * libm::exp2(f64::from(doubled));
            Table::new(move |x| digit(x) * step)
        };
        Self {
            digits: DigitTables::new(),
            sign: Table::new(sign),
            wins: Table::new(|_| 0.25),
            choose: [choose(0), choose(1), choose(2), choose(3)],
        }
    }

    /// The class with the largest count, the lowest of several: its digits on steps of [`STEP`],
    /// lowest first.
    ///
    /// `digits` is how many a count has, `names` how many a class has.
    pub(super) fn winner(
        &self,
        lookup: &mut Lookup,
        counts: &[Lwe],
        digits: usize,
        names: usize,
    ) -> Vec<Lwe> {
        let name = |class: usize| {
            let digit = move |i: usize| class / BASE.pow(u32::try_from(i).expect("a few")) % BASE;
            (0..names).map(|i| Lwe::known(torus(digit(i) as f64 * STORED))).collect()
        };
        let mut left: Vec<Candidate> = counts
            .iter()
            .enumerate()
            .map(|(class, count)| Candidate {
                count: self.digits.digits(lookup, count, digits),
                class: name(class),
            })
            .collect();
        let mut doubled = 0;
        while left.len() > 1 {
            if doubled == DOUBLINGS {
                for candidate in &mut left {
                    self.refresh(lookup, candidate);
                }
                doubled = 0;
            }
            let last = left.len() == 2;
            let mut waiting = left.into_iter();
            left = Vec::new();
            while let Some(a) = waiting.next() {
                left.push(match waiting.next() {
                    Some(b) => self.play(lookup, &a, &b, doubled, last),
                    None => a.doubled(),
                });
            }
            doubled += 1;
        }
        let winner = left.pop().expect("at least two classes");
        winner.class.iter().map(|digit| digit.times(1 << (DOUBLINGS - doubled))).collect()
    }

    fn play(
        &self,
        lookup: &mut Lookup,
        a: &Candidate,
        b: &Candidate,
        doubled: usize,
        last: bool,
    ) -> Candidate {
        let to_step = 1 << (DOUBLINGS - doubled);
        // Sums from 0 to 15 steps are read where the table answers 1/4, half a step inside;
        // negative ones half a step outside.
        let mut sum = Lwe::known(torus(CENTRE));
        for (i, (a, b)) in a.count.iter().zip(&b.count).enumerate() {
            let sign = lookup.look_up(&self.sign, &a.minus(b).times(to_step));
            sum.add_multiple(1 << i, &sign);
        }
        let wins = lookup.look_up(&self.wins, &sum);
        let mut choose = |a: &Lwe, b: &Lwe| {
            let mut chosen = a.clone();
            chosen.add_multiple(1, b);
            for (digit, side) in [(a, -1), (b, 1)] {
                let mut input = digit.times(to_step);
                input.shift(torus(CENTRE + 0.25));
                input.add_multiple(side, &wins);
                chosen.add_multiple(1, &lookup.look_up(&self.choose[doubled], &input));
            }
            chosen
        };
        let mut all = |a: &[Lwe], b: &[Lwe]| a.iter().zip(b).map(|(a, b)| choose(a, b)).collect();
        let class = all(&a.class, &b.class);
        let count = if last { Vec::new() } else { all(&a.count, &b.count) };
        Candidate { count, class }
    }

    fn refresh(&self, lookup: &mut Lookup, candidate: &mut Candidate) {
        for digit in candidate.count.iter_mut().chain(&mut candidate.class) {
            *digit = self.digits.refresh(lookup, digit);
        }
    }
}

impl Candidate {
    fn doubled(self) -> Self {
        let double = |digits: Vec<Lwe>| digits.iter().map(|digit| digit.times(2)).collect();
        Self { count: double(self.count), class: double(self.class) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn equal(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-12, "{a} {b}");
    }

    /// Noise up to just inside of half a step.
    const NOISE: [f64; 3] = [-1.0 / 64.0 + 1.0 / 4096.0, 0.0, 1.0 / 64.0 - 1.0 / 4096.0];

    #[test]
    fn every_pair_of_digits() {
        let tables = Tournament::new();
        for noise in NOISE {
            for a in 0..16_i32 {
                for b in 0..16 {
                    let sign = f64::from((a - b).signum());
                    equal(tables.sign.read(f64::from(a - b) * STEP + noise), sign * STEP);
                }
                for (doubled, choose) in (0..).zip(&tables.choose) {
                    let says = f64::from(a) * STORED * libm::exp2(f64::from(doubled));
                    let x = f64::from(a) * STEP + CENTRE + noise;
                    equal(choose.read(x), says);
                    equal(choose.read(x + 0.5), -says);
                }
            }
        }
    }

    /// With digits of one, two, three and four signs, the sum decides as the highest sign that is
    /// not 0 does; a tie is won.
    #[test]
    fn every_combination_of_signs() {
        let tables = Tournament::new();
        for code in 0..81 {
            let signs: Vec<i32> = (0..4).map(|i| code / 3_i32.pow(i) % 3 - 1).collect();
            let decides = signs.iter().rev().find(|&&sign| sign != 0).copied().unwrap_or(0);
            let sum: i32 = signs.iter().zip(0..).map(|(sign, i)| sign << i).sum();
            let says = if decides >= 0 { 0.25 } else { -0.25 };
            for noise in NOISE {
                equal(tables.wins.read(f64::from(sum) * STEP + CENTRE + noise), says);
            }
        }
    }
}
