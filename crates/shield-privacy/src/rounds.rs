//! What one round, and one term of rounds, does to an urn: the pieces of every privacy figure.
//!
//! A class with c of the urn's M entries makes a round of degree p unanimous with probability
//! phi_p(c) = (c/M)^p, or the ratio of falling factorials where a round draws without replacement;
//! the paper's exponential operator has e^(-lambda (M - c)) (1 - e^(-lambda c)) with a rate lambda
//! in place of the degree.
//! With u_p the probability that a round of degree p is *not* unanimous, a term of a rounds gives
//! class c the share
//!
//! ```text
//! phi_p(c) * G_a(u_p) * (product of u_q^a_q over the higher degrees q),
//! G_a(u) = 1 + u + ... + u^(a-1)
//! ```
//!
//! Privacy lives in small differences, so nothing here is computed as one minus something: u_p is
//! a sum over the classes of (c/M)(1 - phi_p(c)/(c/M)), and every step of phi_p has a closed form.
//! Counts are real numbers, because the proven bound relaxes the bystanders' counts.

use crate::moments::{LawPair, Outcome};
use shield_core::parameters::{Classes, Sampling};
use shield_core::polynomial::Term;
use shield_core::setting::Setting;

/// The rounds of a mechanism over an urn of known size. Classes are known by their entries:
/// votes and dummies together.
#[derive(Clone, Debug)]
pub(crate) struct Rounds {
    /// Terms in increasing degree: the lowest degree is the last to run. Where entries are drawn
    /// one by one, degrees count rates, from 2 up.
    pub(crate) terms: Vec<Term>,
    /// Entries in the urn, M = n + wK.
    pub(crate) size: f64,
    /// Votes in the urn, n.
    pub(crate) voters: u32,
    /// Dummies of each class, w.
    pub(crate) offset: u32,
    /// Classes, K.
    pub(crate) classes: usize,
    /// The most entries that a move takes from one class to another. More than 1 where these rounds
    /// speak for several numbers of voters at once; counts are then real numbers.
    pub(crate) stretch: f64,
    draw: Draw,
}

/// What a round draws.
#[derive(Clone, Debug)]
enum Draw {
    /// As many entries as its degree.
    Degree(Sampling),
    /// Every entry on its own, a Poisson number of times: the paper's exponential operator. The
    /// rates, lowest first; rounds of degree d have the rate number d - 2, so that none is taken
    /// for a round of degree 1, which never fails.
    Poisson(Vec<f64>),
}

impl Rounds {
    pub(crate) fn new(setting: &Setting, classes: Classes, voters: u32) -> Self {
        let mut terms = setting.polynomial.terms().to_vec();
        terms.reverse();
        let offset = setting.offset.dummies();
        let size = f64::from(voters) + f64::from(offset) * classes.count() as f64;
        Self {
            terms,
            size,
            voters,
            offset,
            classes: classes.count(),
            stretch: 1.0,
            draw: Draw::Degree(setting.sampling),
        }
    }

    /// Rounds that speak for every number of voters of a range, as
    /// [`turnouts`](crate::turnouts) proves. `None` where rounds draw without replacement:
    /// their chances do not scale.
    pub(crate) fn of_turnouts(
        setting: &Setting,
        classes: Classes,
        fewest: u32,
        most: u32,
    ) -> Option<Self> {
        let smallest = Self::new(setting, classes, fewest).size;
        let rounds = Self::new(setting, classes, most);
        let scales = matches!(rounds.draw, Draw::Degree(Sampling::WithReplacement));
        scales.then(|| Self { stretch: rounds.size / smallest, ..rounds })
    }

    /// Rounds that draw every entry a Poisson number of times: pairs of rate and rounds, the
    /// lowest rate first.
    pub(crate) fn poisson(
        schedule: &[(f64, u32)],
        offset: u32,
        classes: Classes,
        voters: u32,
    ) -> Self {
        let terms = (2..).zip(schedule).map(|(degree, &(_, rounds))| Term { degree, rounds });
        let size = f64::from(voters) + f64::from(offset) * classes.count() as f64;
        let draw = Draw::Poisson(schedule.iter().map(|&(rate, _)| rate).collect());
        let classes = classes.count();
        Self { terms: terms.collect(), size, voters, offset, classes, stretch: 1.0, draw }
    }

    /// ln phi_p(c).
    pub(crate) fn log_unanimous(&self, degree: u32, entries: f64) -> f64 {
        if entries <= 0.0 {
            return f64::NEG_INFINITY;
        }
        match &self.draw {
            Draw::Poisson(rates) => {
                let rate = rates[degree as usize - 2];
                -rate * (self.size - entries) + (-(-rate * entries).exp_m1()).ln()
            }
            Draw::Degree(Sampling::WithReplacement) => {
                f64::from(degree) * (entries / self.size).ln()
            }
            Draw::Degree(Sampling::WithoutReplacement) => {
                if entries <= f64::from(degree - 1) {
                    return f64::NEG_INFINITY;
                }
                let draws = (0..degree).map(f64::from);
                draws.map(|taken| ((entries - taken) / (self.size - taken)).ln()).sum()
            }
        }
    }

    /// 1 - phi_p(c)/(c/M): the chance that a round which first drew this class is not unanimous.
    pub(crate) fn miss(&self, degree: u32, entries: f64) -> f64 {
        let missing = self.size - entries;
        let log_hit = match &self.draw {
            Draw::Poisson(_) if entries <= 0.0 => {
                // The limit of (e^(rate c) - 1) / c, which is the rate.
                let log_first = self.log_unanimous(degree, 1e-9) + 1e9f64.ln();
                log_first + self.size.ln()
            }
            Draw::Poisson(_) => {
                self.log_unanimous(degree, entries) - (-missing / self.size).ln_1p()
            }
            Draw::Degree(Sampling::WithReplacement) => {
                f64::from(degree - 1) * (-missing / self.size).ln_1p()
            }
            Draw::Degree(Sampling::WithoutReplacement) => {
                if entries <= f64::from(degree - 1) {
                    return if degree == 1 { 0.0 } else { 1.0 };
                }
                let draws = (1..degree).map(f64::from);
                draws.map(|taken| (-missing / (self.size - taken)).ln_1p()).sum()
            }
        };
        -f64::exp_m1(log_hit)
    }

    /// phi_p(c) - phi_p(c - 1), for a whole number c of at least 1.
    pub(crate) fn step(&self, degree: u32, entries: f64) -> f64 {
        match &self.draw {
            Draw::Poisson(rates) => {
                let rate = rates[degree as usize - 2];
                -(-rate * (self.size - entries)).exp() * (-rate).exp_m1()
            }
            Draw::Degree(Sampling::WithReplacement) => {
                let log_shrink = f64::from(degree) * (-1.0 / entries).ln_1p();
                -self.log_unanimous(degree, entries).exp() * log_shrink.exp_m1()
            }
            // (c)_p - (c-1)_p = p (c-1)_(p-1).
            Draw::Degree(Sampling::WithoutReplacement) => {
                if entries < f64::from(degree) {
                    return 0.0;
                }
                let draws = (1..degree).map(f64::from);
                let rest: f64 =
                    draws.map(|taken| (entries - taken) / (self.size - taken)).product();
                f64::from(degree) / self.size * rest
            }
        }
    }

    /// phi_p(c) - phi_p(c - s) for the largest move s.
    pub(crate) fn longest_step(&self, degree: u32, entries: f64) -> f64 {
        if self.stretch <= 1.0 {
            return self.step(degree, entries);
        }
        let log_shrink = f64::from(degree) * (-self.stretch / entries).ln_1p();
        -self.log_unanimous(degree, entries).exp() * log_shrink.exp_m1()
    }

    /// ln(phi_p(c) / phi_p(c - s)) for the largest move s, with c at least s, and a whole number
    /// where s is 1; infinite where c - s entries cannot be unanimous.
    pub(crate) fn log_step_ratio(&self, degree: u32, entries: f64) -> f64 {
        let lost = match &self.draw {
            Draw::Poisson(rates) => {
                let rate = rates[degree as usize - 2];
                let drawn = |entries: f64| (-(-rate * entries).exp_m1()).ln();
                return rate + drawn(entries) - drawn(entries - 1.0);
            }
            Draw::Degree(Sampling::WithReplacement) => {
                // The class keeps its dummies, which are as stretched as the move.
                let most = (1.0 / f64::from(self.offset)).ln_1p();
                let log_ratio = -(-self.stretch / entries).ln_1p();
                let log_ratio = if self.stretch > 1.0 { log_ratio.min(most) } else { log_ratio };
                return f64::from(degree) * log_ratio;
            }
            Draw::Degree(Sampling::WithoutReplacement) => f64::from(degree),
        };
        if entries > lost { -(-lost / entries).ln_1p() } else { f64::INFINITY }
    }

    /// The output law of an urn, given as groups of (entries, number of classes with that many).
    /// Logarithms: one for each group (of a single class in it), and that of "no label".
    fn law(&self, groups: &[(f64, f64)]) -> Law {
        let mut law = Law { classes: vec![f64::NEG_INFINITY; groups.len()], failure: 0.0 };
        for term in self.terms.iter().rev() {
            let unlucky: f64 = groups
                .iter()
                .map(|&(entries, copies)| {
                    copies * (entries / self.size) * self.miss(term.degree, entries)
                })
                .sum();
            let log_gain = geometric(term.rounds, unlucky).sum.ln() + law.failure;
            for (log, &(entries, _)) in law.classes.iter_mut().zip(groups) {
                *log = log_add(*log, self.log_unanimous(term.degree, entries) + log_gain);
            }
            law.failure += f64::from(term.rounds) * unlucky.ln();
            if law.failure == f64::NEG_INFINITY {
                break;
            }
        }
        law
    }

    /// The output laws before and after an entry of the first group, which is one class, goes to
    /// the second, which is another.
    pub(crate) fn laws_of_move(&self, mut groups: Vec<(f64, f64)>) -> LawPair {
        let before = self.law(&groups);
        (groups[0].0, groups[1].0) = (groups[0].0 - 1.0, groups[1].0 + 1.0);
        let after = self.law(&groups);
        let classes = before.classes.iter().zip(&after.classes).zip(&groups);
        let classes =
            classes.map(|((&log_p, &log_q), &(_, copies))| Outcome { log_p, log_q, copies });
        let failure = Outcome { log_p: before.failure, log_q: after.failure, copies: 1.0 };
        LawPair::new(classes.chain([failure]))
    }
}

/// The output law of grouped classes, as natural logarithms.
#[derive(Clone, Debug)]
struct Law {
    /// Of one class of each group.
    classes: Vec<f64>,
    /// Of "no label".
    failure: f64,
}

/// ln(e^a + e^b).
fn log_add(a: f64, b: f64) -> f64 {
    let (high, low) = if a >= b { (a, b) } else { (b, a) };
    if low == f64::NEG_INFINITY { high } else { high + (low - high).exp().ln_1p() }
}

/// G_a(u) = 1 + u + ... + u^(a-1) and its derivative.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Geometric {
    pub(crate) sum: f64,
    pub(crate) slope: f64,
}

/// [`Geometric`] for 0 <= u <= 1, by doubling over the bits of a: only positive numbers are added,
/// so the relative error is a few units in the last place, where (1 - u^a)/(1 - u) would lose
/// everything near u = 1.
pub(crate) fn geometric(rounds: u32, u: f64) -> Geometric {
    let (mut sum, mut slope, mut power, mut power_slope) = (0.0, 0.0, 1.0, 0.0);
    for bit in (0..u32::BITS - rounds.leading_zeros()).rev() {
        slope = slope * (1.0 + power) + sum * power_slope;
        sum *= 1.0 + power;
        power_slope *= 2.0 * power;
        power *= power;
        if rounds >> bit & 1 == 1 {
            sum += power;
            slope += power_slope;
            power_slope = power_slope * u + power;
            power *= u;
        }
    }
    Geometric { sum, slope }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shield_core::distribution::OutputDistribution;
    use shield_core::parameters::Offset;

    #[test]
    fn geometric_sums_by_hand() {
        for rounds in [1, 2, 3, 7, 8, 100] {
            for u in [0.0, 0.1, 0.5, 0.999, 1.0] {
                let sum: f64 = (0..rounds).map(|j| f64::powi(u, j)).sum();
                let slope: f64 = (1..rounds).map(|j| f64::from(j) * f64::powi(u, j - 1)).sum();
                let found = geometric(rounds.try_into().unwrap(), u);
                assert!((found.sum - sum).abs() <= 1e-12 * sum, "{rounds} {u}");
                assert!((found.slope - slope).abs() <= 1e-12 * slope, "{rounds} {u}");
            }
        }
    }

    #[test]
    fn the_grouped_law_is_the_law() {
        for sampling in [Sampling::WithReplacement, Sampling::WithoutReplacement] {
            for polynomial in ["X", "3X^2", "8X^4+6X^3+4X^2+X", "500X^9+2X^5", "4000X^64+X"] {
                let setting = Setting {
                    polynomial: polynomial.parse().unwrap(),
                    offset: Offset::new(2).unwrap(),
                    sampling,
                };
                let counts = [40, 3, 3, 0, 0, 0, 17];
                let rounds = Rounds::new(&setting, Classes::new(7).unwrap(), 63);
                let groups = [(42.0, 1.0), (5.0, 2.0), (2.0, 3.0), (19.0, 1.0)];
                let law = rounds.law(&groups);
                let reference = OutputDistribution::of_counts(&setting, &counts);
                for (group, class) in [(0, 0), (1, 1), (2, 3), (3, 6)] {
                    let (found, expected) = (law.classes[group], reference.log_classes()[class]);
                    let same = found == expected || (found - expected).abs() < 1e-10;
                    assert!(same, "{polynomial} {sampling} {found} {expected}");
                }
                let same = law.failure == reference.log_failure()
                    || (law.failure - reference.log_failure()).abs() < 1e-10;
                assert!(same, "{polynomial} {sampling}");
            }
        }
    }

    #[test]
    fn rounds_of_single_draws_have_what_the_proof_needs() {
        let rounds = Rounds::poisson(&[(0.01, 3), (0.2, 5)], 2, Classes::new(5).unwrap(), 40);
        let size: f64 = 50.0;
        for (degree, rate) in [(2, 0.01), (3, 0.2f64)] {
            let phi = |c: f64| (-rate * (size - c)).exp() * (1.0 - (-rate * c).exp());
            let mut last = [0.0; 2];
            for entries in (3..=50).map(f64::from) {
                let step = phi(entries) - phi(entries - 1.0);
                assert!((rounds.step(degree, entries) - step).abs() < 1e-14);
                let ratio = rounds.log_step_ratio(degree, entries).exp();
                assert!((ratio / (phi(entries) / phi(entries - 1.0)) - 1.0).abs() < 1e-12);
                let hit = phi(entries) * size / entries;
                assert!((rounds.miss(degree, entries) - (1.0 - hit)).abs() < 1e-13);
                // Convex, and so is what is left of it after a division by c.
                assert!(step >= last[0] && hit >= last[1]);
                last = [step, hit];
            }
        }
        // Higher rates like larger classes.
        let lean = |c| rounds.log_unanimous(3, c) - rounds.log_unanimous(2, c);
        assert!((3..50).map(f64::from).all(|c| lean(c + 1.0) > lean(c)));
        assert_eq!(rounds.log_step_ratio(2, 1.0), f64::INFINITY);
    }

    #[test]
    fn a_step_is_a_difference() {
        for sampling in [Sampling::WithReplacement, Sampling::WithoutReplacement] {
            let setting = Setting { sampling, offset: Offset::PAPER, ..Setting::default() };
            let rounds = Rounds::new(&setting, Classes::new(10).unwrap(), 90);
            for degree in 1..6 {
                for entries in [1.0, 2.0, 4.0, 5.0, 6.0, 50.0, 100.0] {
                    let phi = |c| rounds.log_unanimous(degree, c).exp();
                    let difference = phi(entries) - phi(entries - 1.0);
                    assert!((rounds.step(degree, entries) - difference).abs() < 1e-15);
                    let ratio = rounds.log_step_ratio(degree, entries).exp();
                    if phi(entries - 1.0) > 0.0 {
                        assert!((ratio - phi(entries) / phi(entries - 1.0)).abs() < 1e-9 * ratio);
                    } else {
                        assert!(ratio.is_infinite());
                    }
                    let miss = 1.0 - phi(entries) / (entries / 100.0);
                    assert!((rounds.miss(degree, entries) - miss).abs() < 1e-13);
                }
            }
        }
    }
}
