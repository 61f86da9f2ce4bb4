//! Every mechanism at its best setting for a given epsilon.
//!
//! Mechanisms with one parameter are calibrated: the least noise, or the largest rate, whose proven
//! cost fits. For SHIELD the best of a table of polynomials counts, each with the smallest offsets
//! that may fit; the most accurate one whose proven cost does fit is taken. The table was found by
//! searches on synthetic votes with the profile of the paper's; `tune` may find better ones for
//! other votes.

mod others;

use rayon::prelude::*;

pub use others::{
    Composition, about_noise, confident_gnmax_for, noise_within, others_within, silent_argmax_for,
};

use super::{Mechanism, classes_of};
use crate::Usage;
use crate::attendance::Attendance;
use crate::data_independent::DataIndependent;
use crate::price::Proven;
use shield_core::Watch;
use shield_core::histogram::Histogram;
use shield_core::parameters::{Classes, Delta, Epsilon, Offset, Queries, Sampling, Voters};
use shield_core::polynomial::Polynomial;
use shield_core::setting::Setting;
use shield_core::votes::{Label, Labels};

/// Polynomials worth trying, from few rounds to many.
pub const POLYNOMIALS: [&str; 12] = [
    "X",
    "2X^3+3X^2+X",
    "8X^4+6X^3+4X^2+X",
    "12X^5+23X^4+20X^3+8X^2+X",
    "9X^5+24X^4+22X^3+8X^2+X",
    "X^7+X^6+16X^5+17X^4+20X^3+8X^2+X",
    "34X^8+2X^4+27X^3+X",
    "4X^10+4X^9+2X^6+5X^5+5X^4+10X^3+6X^2+X",
    "2X^10+10X^9+2X^8+4X^7+7X^6+8X^5+2X^4+14X^3+8X^2+X",
    "88X^6+58X^5+11X^4+53X^3+18X^2+X",
    "10X^8+9X^7+49X^6+66X^5+26X^4+50X^3+19X^2+X",
    "X^7+33X^6+46X^5+85X^4+53X^3+11X^2+X",
];

/// The best setting that is known for 250 teachers, 10 classes, 100 queries and a delta of 1e-5.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Known {
    /// What the labels may cost.
    pub budget: f64,
    /// The polynomial.
    pub polynomial: &'static str,
    /// Dummies of each class.
    pub offset: u32,
    /// The proven cost, rounded up.
    pub epsilon: f64,
}

impl Known {
    /// The setting.
    fn is(&self, setting: &Setting) -> bool {
        setting.offset.dummies() == self.offset
            && setting.sampling == Sampling::WithReplacement
            && self.polynomial.parse().is_ok_and(|own: Polynomial| own == setting.polynomial)
    }

    /// What the table knows of a setting: it was proven once, and need not be proven again.
    fn cost(
        setting: &Setting,
        classes: Classes,
        attendance: &Attendance,
        usage: Usage,
    ) -> Option<Proven> {
        let voters = attendance.only()?.count();
        let same = (classes.count(), voters) == (10, 250) && usage == Usage::default();
        let known = KNOWN.iter().find(|known| same && known.is(setting))?;
        Epsilon::new(known.epsilon).ok().map(|epsilon| Proven::new(epsilon, usage.delta))
    }
}

/// The best settings known for some budgets, with costs that were proven once, so that they need
/// not be proven again: the third by tight composition, the others by moments. All but the second
/// were found by climbs on a few hundred synthetic samples; docs/experiments.md judges them on
/// other votes.
pub const KNOWN: [Known; 4] = [
    Known { budget: 0.5, polynomial: POLYNOMIALS[7], offset: 40, epsilon: 0.4901 },
    Known { budget: 1.0, polynomial: POLYNOMIALS[6], offset: 12, epsilon: 0.9805 },
    Known { budget: 2.0, polynomial: POLYNOMIALS[10], offset: 4, epsilon: 1.9699 },
    Known { budget: 4.0, polynomial: POLYNOMIALS[11], offset: 1, epsilon: 3.2246 },
];

/// Offsets that are tried.
pub(crate) const OFFSETS: [u32; 32] = [
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 18, 20, 23, 26, 30, 35, 40, 50, 60, 80, 100,
    120, 150, 200, 300, 400, 600, 1000,
];

/// The most samples that candidates are ranked by.
const RANKED_BY: usize = 2000;
/// Tight composition states less than moments do, but hardly ever by more than this.
const TIGHTEST: f64 = 0.88;
/// How many settings are returned at most: the best, and some for whoever cannot use it.
const ENOUGH: usize = 3;
/// How many settings are composed tightly until one fits: it takes a minute where there are
/// hundreds of rounds.
const CLOSER_LOOKS: usize = 2;

/// The most rounds whose cost is proven here: more take minutes, so of those only the known count.
const PROVEN_ROUNDS: usize = 100;

/// A setting of SHIELD that fits a budget, and how good it is.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The setting.
    pub setting: Setting,
    /// Its cost.
    pub epsilon: Proven,
    /// The share of right labels, or of labels that equal the majority's.
    pub right: f64,
    /// The share of samples that get a label.
    pub answered: f64,
}

/// The share of right labels of a mechanism; of labels that equal the majority's without the truth.
pub fn right(mechanism: &Mechanism, histograms: &[Histogram], labels: Option<&Labels>) -> f64 {
    right_and_answered(mechanism, histograms, labels).0
}

/// The same, and the share of samples that get a label.
pub fn right_and_answered(
    mechanism: &Mechanism,
    histograms: &[Histogram],
    labels: Option<&Labels>,
) -> (f64, f64) {
    let accuracy = mechanism.accuracy(histograms, labels);
    let samples = histograms.len().max(1) as f64;
    let right = accuracy.correct_labels.map_or(accuracy.argmax, |correct| correct / samples);
    (right, 1.0 - accuracy.failure)
}

/// What a setting of SHIELD is chosen by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Aim {
    /// The most right labels, with a label for every sample.
    Right,
    /// The most right labels among those that are given, if at least this share of the samples gets
    /// one: polynomials without their rounds of low degree, which answer where the votes are clear.
    Precision(f64),
}

/// A few settings of SHIELD from the table of polynomials whose proven cost fits, best first; those
/// that are less accurate than the first are proven by moments alone.
pub fn shield_within(
    budget: Epsilon,
    histograms: &[Histogram],
    labels: Option<&Labels>,
    usage: Usage,
) -> Vec<Candidate> {
    let attendance = Attendance::of(histograms, usage.queries);
    let looks = (ENOUGH, CLOSER_LOOKS);
    candidates(looks, Aim::Right, budget, histograms, labels, (&attendance, usage))
}

/// The best of them that moments alone prove: in a moment, where tight composition takes long.
pub fn shield_by_moments(
    budget: Epsilon,
    histograms: &[Histogram],
    usage: Usage,
) -> Option<Candidate> {
    let attendance = Attendance::of(histograms, usage.queries);
    let found = candidates((1, 0), Aim::Right, budget, histograms, None, (&attendance, usage));
    found.into_iter().next()
}

/// The best of them, for either aim.
pub fn shield_for(
    aim: Aim,
    budget: Epsilon,
    histograms: &[Histogram],
    labels: Option<&Labels>,
    usage: Usage,
) -> Option<Candidate> {
    let attendance = Attendance::of(histograms, usage.queries);
    shield_planned(aim, Composition::Tight, budget, (histograms, labels), &attendance, usage.delta)
}

/// The best of them for samples of which only the turnout is known: how good it is, is measured on
/// other votes.
pub fn shield_planned(
    aim: Aim,
    composition: Composition,
    budget: Epsilon,
    (histograms, labels): (&[Histogram], Option<&Labels>),
    attendance: &Attendance,
    delta: Delta,
) -> Option<Candidate> {
    let looks = if composition == Composition::Tight { CLOSER_LOOKS } else { 0 };
    let usage = Usage { queries: Queries::new(attendance.samples()).ok()?, delta };
    let found = candidates((1, looks), aim, budget, histograms, labels, (attendance, usage));
    found.into_iter().next()
}

/// At most so many settings, of which so many are composed tightly.
fn candidates(
    (enough, mut closer_looks): (usize, usize),
    aim: Aim,
    budget: Epsilon,
    histograms: &[Histogram],
    labels: Option<&Labels>,
    (attendance, usage): (&Attendance, Usage),
) -> Vec<Candidate> {
    let classes = classes_of(histograms);
    let typical = attendance.typical();
    let (some, truth) = spread(histograms, labels);
    let estimate = |polynomial: &Polynomial| {
        affordable(polynomial, budget, classes, (attendance, &typical), usage)
    };
    let mut ranked: Vec<(f64, Setting)> = polynomials(aim)
        .par_iter()
        .flat_map_iter(estimate)
        .filter_map(|setting| {
            let mechanism = Mechanism::Shield(setting.clone());
            let (right, answered) = right_and_answered(&mechanism, &some, truth.as_ref());
            match aim {
                Aim::Right => Some((right, setting)),
                Aim::Precision(share) => (answered >= share).then(|| (right / answered, setting)),
            }
        })
        .collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut found: Vec<Candidate> = Vec::new();
    for (_, setting) in ranked {
        if found.len() == enough {
            break;
        }
        // One setting of each polynomial will do.
        if found.iter().any(|known| known.setting.polynomial == setting.polynomial) {
            continue;
        }
        let closely = found.is_empty() && closer_looks > 0;
        let mut looked = false;
        // Nothing where it is more than the budget.
        let mut cost = || {
            if let Some(known) = Known::cost(&setting, classes, attendance, usage) {
                return Some(known);
            }
            // A pair that costs too much by moments needs no proof that the worst one does.
            let suspect = suspected(&setting, classes, &typical, usage.delta);
            if suspect * if closely { TIGHTEST } else { 1.0 } > budget.get() {
                return None;
            }
            let mechanism = Mechanism::Shield(setting.clone());
            let moments = mechanism.by_moments_of(classes, attendance, usage.delta);
            let hopeless = moments.get() * TIGHTEST > budget.get();
            if moments <= budget || hopeless || !closely {
                return Some(moments);
            }
            looked = true;
            Some(mechanism.price(classes, attendance, usage.delta, &Watch::default()).price())
        };
        let epsilon = cost();
        closer_looks -= usize::from(looked);
        if let Some(epsilon) = epsilon.filter(|epsilon| *epsilon <= budget) {
            let mechanism = Mechanism::Shield(setting.clone());
            let (right, answered) = right_and_answered(&mechanism, histograms, labels);
            found.push(Candidate { setting, epsilon, right, answered });
        }
    }
    found
}

/// At most so many samples, evenly spread, with their labels.
pub(crate) fn spread(
    histograms: &[Histogram],
    labels: Option<&Labels>,
) -> (Vec<Histogram>, Option<Labels>) {
    let step = histograms.len().div_ceil(RANKED_BY).max(1);
    let some = histograms.iter().step_by(step).cloned().collect();
    let truth = labels.map(|labels| labels.as_slice().iter().step_by(step).copied().collect());
    (some, truth.and_then(|truth: Vec<Label>| Labels::new(truth).ok()))
}

/// The polynomials that an aim chooses from.
fn polynomials(aim: Aim) -> Vec<Polynomial> {
    let whole = POLYNOMIALS.iter().filter_map(|text| text.parse::<Polynomial>().ok());
    match aim {
        Aim::Right => whole.collect(),
        Aim::Precision(_) => {
            let without = |polynomial: Polynomial| {
                (2..6).filter_map(move |lowest| {
                    let terms = polynomial.terms().iter().copied();
                    Polynomial::new(terms.filter(|term| term.degree >= lowest)).ok()
                })
            };
            let mut all: Vec<Polynomial> = Vec::new();
            for polynomial in whole.flat_map(without) {
                if !all.contains(&polynomial) {
                    all.push(polynomial);
                }
            }
            all
        }
    }
}

/// What a setting costs at least, by moments: what the samples of the typical turnout do.
fn suspected(
    setting: &Setting,
    classes: Classes,
    typical: &[(Voters, Queries)],
    delta: Delta,
) -> f64 {
    let cost = |&(voters, queries): &(Voters, Queries)| {
        DataIndependent::new(setting, classes, voters).worst_suspect(Usage { queries, delta })
    };
    typical.iter().map(cost).fold(0.0, f64::max)
}

/// The settings of a polynomial that may fit: the smallest offsets whose worst pairs do not exceed
/// the budget, as far as tight composition could make up for it.
fn affordable(
    polynomial: &Polynomial,
    budget: Epsilon,
    classes: Classes,
    (attendance, typical): (&Attendance, &[(Voters, Queries)]),
    usage: Usage,
) -> Vec<Setting> {
    let setting = |dummies: u32| {
        let (polynomial, sampling) = (polynomial.clone(), Sampling::default());
        Offset::new(dummies).ok().map(|offset| Setting { polynomial, offset, sampling })
    };
    if polynomial.rounds().count() > PROVEN_ROUNDS {
        let fits = |setting: &Setting| {
            let cost = Known::cost(setting, classes, attendance, usage);
            cost.is_some_and(|cost| cost <= budget)
        };
        return OFFSETS.iter().filter_map(|&dummies| setting(dummies)).filter(fits).collect();
    }
    let cost = |dummies: u32| {
        setting(dummies).map_or(0.0, |setting| suspected(&setting, classes, typical, usage.delta))
    };
    // The cost falls as dummies are added, as far as is known; what is returned is proven later.
    let first = OFFSETS.partition_point(|&dummies| cost(dummies) * TIGHTEST > budget.get());
    let sure = OFFSETS.partition_point(|&dummies| cost(dummies) * 1.02 > budget.get());
    // Samples with few voters cost more than these: larger offsets may make up for them.
    let spare = if attendance.only().is_some() { 1 } else { 3 };
    let end = (sure + spare).min(OFFSETS.len()).max(first);
    OFFSETS[first..end].iter().filter_map(|&dummies| setting(dummies)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use shield_core::shared_noise::NoiseFamily;
    use shield_core::synthetic;

    #[test]
    fn everything_fits_its_budget_and_hardly_more() {
        let (votes, truth) = synthetic::votes(30, Classes::new(3).unwrap(), 20, 7).unwrap();
        let histograms: Vec<Histogram> = votes.histograms().collect();
        let usage = Usage::default();
        let budget = Epsilon::new(4.0).unwrap();
        let others = others_within(budget, &histograms, 30, usage);
        let names: Vec<&str> = others.iter().map(|other| other.0.name()).collect();
        let shared = ["noisy-argmax", "noisy-argmax"];
        let expected =
            [&["lnmax", "gnmax"], &shared[..], &["exponential", "permute-and-flip"]].concat();
        assert_eq!(names, expected);
        let law = |place: usize| others[place].0.description().noise_law;
        assert_eq!((law(2), law(3)), (Some(NoiseFamily::Laplace), Some(NoiseFamily::Skellam)));
        for (mechanism, price) in &others {
            let cost = mechanism.proven_for(&histograms, usage);
            assert!(cost <= budget && cost.get() > 3.8, "{mechanism:?}: {cost}");
            assert_eq!(cost, *price, "{mechanism:?}");
        }
        let shield = shield_within(budget, &histograms, Some(&truth), usage);
        assert!(!shield.is_empty());
        for candidate in &shield {
            assert!(candidate.epsilon <= budget && candidate.right <= shield[0].right + 1e-12);
            assert!(candidate.answered > 1.0 - 1e-12);
        }
    }

    #[test]
    fn confident_mechanisms_fit_their_budget_and_answer_as_often_as_asked() {
        let (votes, truth) = synthetic::votes(40, Classes::new(3).unwrap(), 40, 7).unwrap();
        let histograms: Vec<Histogram> = votes.histograms().collect();
        let (usage, budget) = (Usage::default(), Epsilon::new(6.0).unwrap());
        let labels = Some(&truth);
        let whole = &shield_within(budget, &histograms, labels, usage)[0];
        let sure = &shield_for(Aim::Precision(0.7), budget, &histograms, labels, usage).unwrap();
        assert!(sure.epsilon <= budget && (0.7..1.0).contains(&sure.answered), "{sure:?}");
        let precision = |found: &Candidate| found.right / found.answered;
        assert!(precision(sure) > precision(whole), "{sure:?} {whole:?}");
        let gnmax = confident_gnmax_for(0.7, budget, &histograms, labels, usage).unwrap();
        let cost = gnmax.proven_for(&histograms, usage);
        assert!(cost <= budget && cost.get() > 5.99, "{cost}");
        let (right, answered) = right_and_answered(&gnmax, &histograms, labels);
        assert!((0.7..0.72).contains(&answered) && right <= answered, "{right} {answered}");
    }

    /// The table states no less than what is proven.
    fn assert_proven(known: &Known) {
        let setting = Setting {
            polynomial: known.polynomial.parse().unwrap(),
            offset: Offset::new(known.offset).unwrap(),
            ..Setting::default()
        };
        let (classes, voters) = (Classes::new(10).unwrap(), Voters::new(250).unwrap());
        let mut figure = DataIndependent::new(&setting, classes, voters);
        let mut proven = figure.epsilon(Usage::default());
        if proven.get() > known.epsilon {
            proven = figure.exact(Usage::default());
        }
        assert!(proven.get() <= known.epsilon && known.epsilon <= known.budget, "{proven}");
    }

    #[test]
    fn the_best_known_settings_cost_what_the_table_says() {
        KNOWN[..2].iter().for_each(assert_proven);
    }

    #[test]
    #[ignore = "230 rounds take minutes of processor time"]
    fn the_longest_known_settings_cost_what_the_table_says() {
        KNOWN[2..].iter().for_each(assert_proven);
    }
}
