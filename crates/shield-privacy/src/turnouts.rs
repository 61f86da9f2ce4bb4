//! One bound for a whole range of turnouts.
//!
//! Where teachers abstain here and there, every sample of an election has its own number of voters,
//! and thousands of numbers would each need a proof of their own. This module proves one figure for
//! all numbers of voters from n_a to n_b.
//!
//! # The proof
//!
//! Draws are with replacement, so a class with c of M entries has phi_p(c) = (c/M)^p: only shares
//! count. Take a pair of neighbours with n voters, n_a <= n <= n_b, in an urn of M = n + wK
//! entries, and multiply every count by s = M_b/M, which is between 1 and M_b/M_a. Nothing of the
//! output laws changes. What is left is a pair in an urn of M_b entries whose counts are real
//! numbers, of at least s w and so of at least w, and whose move takes s entries instead of 1 from
//! the loser to the gainer. Real counts are what the proof in
//! [`data_independent`](super::data_independent) is about. A move of s entries changes it here:
//!
//! - *Orientation.* c_loser - s >= c_gainer, hence c_loser - 1 >= c_gainer: cells keep their shape.
//! - *What the move adds to u_p.* phi_p is convex, so phi(c) - phi(c - s) is concave in s and at
//!   most s (phi(c) - phi(c - 1)), and at least phi(c) - phi(c - 1); phi(c + s) - phi(c) is convex
//!   in s and at least s (phi(c + 1) - phi(c)), and at most its value at the largest s. So d_p is
//!   at most s times what it is for a move of one entry, and at least what the loser gives up with
//!   one entry minus what the gainer gets with the most. It is not negative, by the orientation.
//! - *Ratios.* phi(c)/phi(c - s) of the loser and phi(c + s)/phi(c) of the gainer are largest for
//!   the fewest entries and the longest move; both keep s w dummies, so neither is above (1 +
//!   1/w)^p. The loser's weights, phi_p(c - s) B'_p, lean most to high degrees for the shortest
//!   move.
//! - *Masses.* After the move the loser has at most phi(c - 1), the gainer at most phi(c + s) with
//!   the longest move and at least phi(c + 1).
//!
//! Everything else speaks of u_p and d_p alone. Small cells are not tried one by one, for real
//! counts are never few. What the bound has too much of is about s^2: losses are proportional to
//! the move, and moments to their squares.
//!
//! Without replacement, and for the exponential operator, chances do not scale: there is no range.

use super::data_independent::DataIndependent;
use super::price::LogMoment;
use super::rounds::Rounds;
use shield_core::parameters::{Classes, Voters};
use shield_core::setting::Setting;

/// The worst case over all histograms of all numbers of voters of a range.
#[derive(Clone, Debug)]
pub struct Turnouts(DataIndependent);

impl Turnouts {
    /// The worst case over all histograms of `fewest` to `most` votes. `None` if the mechanism has
    /// no such bound, or if the range is empty.
    pub fn new(setting: &Setting, classes: Classes, fewest: Voters, most: Voters) -> Option<Self> {
        let (fewest, most) = (fewest.count(), most.count());
        if fewest > most {
            return None;
        }
        let rounds = Rounds::of_turnouts(setting, classes, fewest, most)?;
        Some(Self(DataIndependent::of_rounds(rounds)))
    }

    /// The figure by moments; tight composition tries real pairs, which a range has none of.
    pub(crate) fn figure(self) -> DataIndependent {
        self.0
    }

    /// ln E[(P/Q)^l] is at most this, for every pair of neighbours; `order` is rounded to a grid
    /// first, and the order used is returned beside the bound.
    pub fn log_moment(&mut self, order: f64) -> (f64, LogMoment) {
        self.0.log_moment(order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shield_core::parameters::{Offset, Sampling};

    fn setting(polynomial: &str, offset: u32) -> Setting {
        Setting {
            polynomial: polynomial.parse().unwrap(),
            offset: Offset::new(offset).unwrap(),
            sampling: Sampling::WithReplacement,
        }
    }

    fn voters(count: u32) -> Voters {
        Voters::new(count).unwrap()
    }

    /// The bound is above every turnout's own figure, at both ends and in between, and not by much.
    #[test]
    fn a_range_covers_each_of_its_turnouts() {
        for (polynomial, offset, classes, fewest, most) in [
            ("1000X^8+X", 5, 3, 1, 4),
            ("1000X^8+X", 5, 3, 4, 10),
            ("8X^4+6X^3+4X^2+X", 1, 3, 10, 12),
            ("8X^4+6X^3+4X^2+X", 5, 10, 90, 100),
            ("4X^6+3X^3", 2, 4, 30, 31),
        ] {
            let setting = setting(polynomial, offset);
            let classes = Classes::new(classes).unwrap();
            for order in [0.5, 4.0, 20.0] {
                let range = Turnouts::new(&setting, classes, voters(fewest), voters(most));
                let (at, bound) = range.unwrap().log_moment(order);
                let bound = bound.get();
                let mut largest: f64 = 0.0;
                for count in fewest..=most {
                    let mut one = DataIndependent::new(&setting, classes, voters(count));
                    let (same, moment) = one.log_moment(order);
                    let moment = moment.get();
                    assert!((same / at - 1.0).abs() < 1e-12);
                    // Its own bound is within a percent of a pair that exists.
                    assert!(bound >= moment / 1.01, "{polynomial} {count} of {fewest}..{most}");
                    largest = largest.max(moment);
                }
                let size = |count: u32| f64::from(count + offset * classes.count() as u32);
                let stretch = size(most) / size(fewest);
                let loose = bound / largest;
                println!("{polynomial} {fewest}..={most} {order}: {stretch:.3} {loose:.3}");
                assert!(loose < stretch.powf(3.0 + order / 2.0) * 1.05, "{loose} {stretch}");
            }
        }
    }

    #[test]
    fn one_turnout_is_a_range_and_without_replacement_there_is_none() {
        let (setting, classes) = (setting("8X^4+6X^3+4X^2+X", 5), Classes::new(4).unwrap());
        let alone = DataIndependent::new(&setting, classes, voters(40)).log_moment(3.0);
        let range = Turnouts::new(&setting, classes, voters(40), voters(40));
        assert_eq!(range.unwrap().log_moment(3.0), alone);
        let drawn = Setting { sampling: Sampling::WithoutReplacement, ..setting };
        assert!(Turnouts::new(&drawn, classes, voters(40), voters(41)).is_none());
        assert!(Turnouts::new(&drawn, classes, voters(41), voters(40)).is_none());
    }
}
