//! Every mechanism at its best setting for a given epsilon.
//!
//! Mechanisms with one parameter are calibrated: the least noise, or the largest rate, whose proven
//! cost fits. For SHIELD the best of a table of polynomials counts, each with the smallest offset
//! that fits. The table was found by searches on votes like the paper's; `tune` may find better
//! ones for other votes.

use rayon::prelude::*;

use super::exponential::{Rate, exponential_moments};
use super::{Mechanism, classes_of};
use crate::histogram::Histogram;
use crate::parameters::{Classes, Epsilon, Offset, Sampling, Voters};
use crate::polynomial::Polynomial;
use crate::privacy::data_independent::{self, DataIndependent};
use crate::privacy::noisy_argmax::{Noise, NoisyArgmax};
use crate::privacy::skellam::{self, Sensitivity};
use crate::privacy::{Usage, calibrate};
use crate::setting::Setting;
use crate::shared_noise::SharedNoise;
use crate::votes::Labels;

/// Polynomials worth trying, from few rounds to many.
pub const POLYNOMIALS: [&str; 7] = [
    "X",
    "2X^3+3X^2+X",
    "8X^4+6X^3+4X^2+X",
    "12X^5+23X^4+20X^3+8X^2+X",
    "9X^5+24X^4+22X^3+8X^2+X",
    "X^7+X^6+16X^5+17X^4+20X^3+8X^2+X",
    "34X^8+2X^4+27X^3+X",
];

/// Offsets that are tried, in this order.
const OFFSETS: [u32; 18] = [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30, 50, 80, 120, 200, 400, 1000];

/// A setting of SHIELD that fits a budget, and how good it is.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The setting.
    pub setting: Setting,
    /// Its proven cost.
    pub epsilon: Epsilon,
    /// The share of right labels, or of labels that equal the majority's.
    pub right: f64,
}

/// The share of right labels of a mechanism; of labels that equal the majority's without the truth.
pub fn right(mechanism: &Mechanism, histograms: &[Histogram], labels: Option<&Labels>) -> f64 {
    let accuracy = mechanism.accuracy(histograms, labels);
    let samples = histograms.len().max(1) as f64;
    accuracy.correct_labels.map_or(accuracy.argmax, |correct| correct / samples)
}

/// For each polynomial of the table, the smallest offset whose cost fits, best first.
pub fn shield_within(
    budget: Epsilon,
    histograms: &[Histogram],
    labels: Option<&Labels>,
    usage: Usage,
) -> Vec<Candidate> {
    let classes = classes_of(histograms);
    let voters = data_independent::voters(histograms);
    let fitting = |text: &&str| {
        let polynomial: Polynomial = text.parse().ok()?;
        let setting = |dummies: u32| {
            let offset = Offset::new(dummies).ok()?;
            let sampling = Sampling::default();
            Some(Setting { polynomial: polynomial.clone(), offset, sampling })
        };
        let cost = |setting: &Setting| worst(setting, classes, &voters, usage);
        // The cost falls as dummies are added, as far as is known; what is returned was checked.
        let fits = |&dummies: &u32| setting(dummies).is_some_and(|s| cost(&s) <= budget);
        let first = OFFSETS.partition_point(|dummies| !fits(dummies));
        let setting = setting(*OFFSETS.get(first)?)?;
        let epsilon = cost(&setting);
        let right = right(&Mechanism::Shield(setting.clone()), histograms, labels);
        (epsilon <= budget).then_some(Candidate { setting, epsilon, right })
    };
    let mut found: Vec<Candidate> = POLYNOMIALS.par_iter().filter_map(fitting).collect();
    found.sort_by(|a, b| b.right.total_cmp(&a.right));
    found
}

fn worst(setting: &Setting, classes: Classes, voters: &[Voters], usage: Usage) -> Epsilon {
    let cost = |&voters: &Voters| DataIndependent::new(setting, classes, voters).epsilon(usage);
    let costs = voters.iter().map(cost);
    costs.fold(Epsilon::ZERO, |a, b| if a >= b { a } else { b })
}

/// The other mechanisms, each with the parameter that fits the budget; those that cannot fit are
/// left out.
pub fn others_within(
    budget: Epsilon,
    histograms: &[Histogram],
    teachers: u32,
    usage: Usage,
) -> Vec<Mechanism> {
    let classes = classes_of(histograms);
    let fits = |mechanism: &Mechanism| {
        Voters::new(teachers.max(1))
            .is_ok_and(|voters| mechanism.proven(classes, voters, usage).epsilon() <= budget)
    };
    // Noise that suffices by moments; tight composition allows a little less.
    let lnmax = calibrate::noise_within(budget, usage, NoisyArgmax::Laplace).map(Noise::get);
    let gnmax = calibrate::noise_within(budget, usage, NoisyArgmax::Gaussian).map(Noise::get);
    let shared = |scale: f64| {
        let noise = SharedNoise::new(Noise::new(scale).ok()?, teachers, 0).ok()?;
        Some(Mechanism::NoisyArgmax(noise))
    };
    let vote = Sensitivity::Vote;
    let skellam = skellam::deviation_within(budget, usage, teachers, 0, classes.count(), vote);
    let laplace = |scale: f64| Noise::new(scale).ok().map(Mechanism::Lnmax);
    let gaussian = |sigma: f64| Noise::new(sigma).ok().map(Mechanism::Gnmax);
    let flip = |scale: f64| Rate::new(1.0 / scale).ok().map(Mechanism::PermuteAndFlip);
    let exponential = |scale: f64| Rate::new(1.0 / scale).ok().map(Mechanism::Exponential);
    // The exponential mechanism's range lets it do with half the scale, by moments.
    let by_moments = |scale: f64| {
        Rate::new(1.0 / scale).is_ok_and(|rate| exponential_moments(rate, usage) <= budget)
    };
    let mut start = lnmax;
    while start.is_some_and(|scale| by_moments(scale * 0.95)) {
        start = start.map(|scale| scale * 0.95);
    }
    [
        least(lnmax, laplace, &fits),
        least(gnmax, gaussian, &fits),
        least(lnmax.map(|scale| scale * 1.0001), shared, &fits),
        skellam.map(Mechanism::NoisyArgmax),
        least(start, exponential, &fits),
        least(lnmax, flip, &fits),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The mechanism with the smallest parameter that fits, not far below one that does.
fn least(
    enough: Option<f64>,
    mechanism: impl Fn(f64) -> Option<Mechanism>,
    fits: &impl Fn(&Mechanism) -> bool,
) -> Option<Mechanism> {
    let mut enough = enough?;
    let mut found = mechanism(enough).filter(|mechanism| fits(mechanism))?;
    let mut too_little = 0.75 * enough;
    for _ in 0..7 {
        let next = f64::midpoint(too_little, enough);
        match mechanism(next).filter(|mechanism| fits(mechanism)) {
            Some(fitting) => (enough, found) = (next, fitting),
            None => too_little = next,
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared_noise::NoiseFamily;
    use crate::synthetic;

    #[test]
    fn everything_fits_its_budget_and_hardly_more() {
        let (votes, truth) = synthetic::votes(40, Classes::new(4).unwrap(), 20, 7).unwrap();
        let histograms: Vec<Histogram> = votes.histograms().collect();
        let usage = Usage::default();
        let budget = Epsilon::new(4.0).unwrap();
        let others = others_within(budget, &histograms, 40, usage);
        let names: Vec<&str> = others.iter().map(Mechanism::name).collect();
        let shared = ["noisy-argmax", "noisy-argmax"];
        let expected =
            [&["lnmax", "gnmax"], &shared[..], &["exponential", "permute-and-flip"]].concat();
        assert_eq!(names, expected);
        let law = |place: usize| others[place].description().noise_law;
        assert_eq!((law(2), law(3)), (Some(NoiseFamily::Laplace), Some(NoiseFamily::Skellam)));
        for mechanism in &others {
            let cost = mechanism.proven_for(&histograms, usage).epsilon();
            assert!(cost <= budget && cost.get() > 3.8, "{mechanism:?}: {cost}");
        }
        let shield = shield_within(budget, &histograms, Some(&truth), usage);
        assert!(!shield.is_empty());
        for candidate in &shield {
            assert!(candidate.epsilon <= budget && candidate.right <= shield[0].right);
        }
    }
}
