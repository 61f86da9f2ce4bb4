//! The other mechanisms at their best setting for a given epsilon: the least noise or the largest
//! rate that fits, and thresholds.

use super::{right_and_answered, spread};
use crate::mechanism::{ArgmaxOfShares, ConfidentGnmax, Mechanism, Rate, classes_of, gaussian};
use crate::noisy_argmax::{Noise, pure_log_moment};
use crate::price::Proven;
use crate::shared_argmax::SharedArgmax;
use crate::{Usage, calibrate};
use shield_core::histogram::Histogram;
use shield_core::parameters::{Classes, Epsilon, Voters};
use shield_core::shared_noise::{NoiseFamily, SharedNoise};
use shield_core::votes::Labels;

/// Above so many labels PATE's mechanisms are priced by moments alone.
const MANY: u64 = 200;

/// The other mechanisms, each with the parameter that fits the budget and its price; those that
/// cannot fit are left out.
pub fn others_within(
    budget: Epsilon,
    histograms: &[Histogram],
    teachers: u32,
    usage: Usage,
) -> Vec<(Mechanism, Proven)> {
    let classes = classes_of(histograms);
    let Ok(voters) = Voters::new(teachers.max(1)) else { return Vec::new() };
    let price = |mechanism: &Mechanism| mechanism.proven(classes, voters, usage);
    let shared = |family| {
        let found =
            calibrate::shared_noise_within(budget, usage, family, teachers, 0, classes.count());
        found.map(|(noise, price)| (Mechanism::NoisyArgmax(noise.into()), price))
    };
    let flip = |scale: f64| Rate::new(1.0 / scale).ok().map(Mechanism::PermuteAndFlip);
    let exponential = |scale: f64| Rate::new(1.0 / scale).ok().map(Mechanism::Exponential);
    // A scale that suffices by moments, where 2/scale-privacy is all that is known.
    let scale = calibrate::noise_within(budget, |noise| {
        Proven::by_moments(usage, 0.0, |order| pure_log_moment(2.0 / noise.get(), order))
    });
    // A little more, since tight composition rounds up.
    let scale = scale.map(|scale| 1.001 * scale.get());
    // The exponential mechanism's range lets it do with half the scale, by moments.
    let by_moments = |scale: f64| {
        exponential(scale).is_some_and(|one| one.by_moments(classes, voters, usage) <= budget)
    };
    let mut start = scale;
    while start.is_some_and(|scale| by_moments(scale * 0.95)) {
        start = start.map(|scale| scale * 0.95);
    }
    let priced = |found: Option<Mechanism>| found.map(|found| (found.clone(), price(&found)));
    let ((laplace, skellam), (exponential, flip)) = rayon::join(
        || rayon::join(|| shared(NoiseFamily::Laplace), || shared(NoiseFamily::Skellam)),
        || {
            rayon::join(
                || priced(least(start, exponential, &|mechanism| price(mechanism) <= budget)),
                || priced(least(scale, flip, &|mechanism| price(mechanism) <= budget)),
            )
        },
    );
    // Noise of one party costs what the same noise in shares costs, but for the last digits.
    let pate = |kind: fn(Noise) -> Mechanism, shares: &Option<(Mechanism, Proven)>| {
        let near = shares.as_ref().and_then(|shares| shares.0.description().noise);
        // Many labels with real noise take long to compose tightly, which gains little by then.
        let many = usage.queries.count() > MANY;
        let composition = if many { Composition::Moments } else { Composition::Tight };
        noise_near(near, kind, composition, budget, usage)
    };
    let (lnmax, gnmax) =
        rayon::join(|| pate(Mechanism::Lnmax, &laplace), || pate(Mechanism::Gnmax, &skellam));
    [lnmax, gnmax, laplace, skellam, exponential, flip].into_iter().flatten().collect()
}

/// A noisy argmax that labels a share of the samples at least, with the noise of one that labels
/// all: a threshold changes no price. The largest whole threshold that does.
///
/// It is chosen on these votes, which is for comparisons alone: an election's threshold must be
/// known before anyone votes.
pub fn silent_argmax_for(
    share: f64,
    noise: &SharedNoise,
    histograms: &[Histogram],
) -> Option<Mechanism> {
    let (some, _) = spread(histograms, None);
    let shared = SharedArgmax::of_votes(noise, classes_of(histograms).count());
    let answered = |threshold: u32| {
        let answered = some.iter().map(|histogram| shared.answered(histogram, threshold));
        answered.sum::<f64>() / some.len().max(1) as f64
    };
    if answered(0) < share {
        return None;
    }
    let (mut enough, mut too_many) = (0, 2 * noise.teachers() + 10);
    while too_many - enough > 1 {
        let middle = u32::midpoint(enough, too_many);
        if answered(middle) >= share {
            enough = middle;
        } else {
            too_many = middle;
        }
    }
    let threshold = Some(enough);
    Some(Mechanism::NoisyArgmax(ArgmaxOfShares { noise: *noise, threshold }))
}

/// The deviation of Gaussian or Skellam noise whose labels cost about a budget: an estimate within
/// some percent, at once. Many labels cost what Gaussian noise with their Fisher information does
/// ([`label_only`](crate::label_only)).
pub fn about_noise(budget: Epsilon, usage: Usage) -> Option<f64> {
    const FISHER: f64 = 1.2796;
    gaussian::square_within(budget, usage).map(|square| (FISHER / square).sqrt())
}

/// How the prices of labels are added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Composition {
    /// By moments: in a moment.
    Moments,
    /// Tightly, which takes seconds.
    Tight,
}

/// The least noise of one of PATE's mechanisms that costs at most `budget`, with that cost; `None`
/// if no amount is enough.
pub fn noise_within(
    kind: fn(Noise) -> Mechanism,
    composition: Composition,
    budget: Epsilon,
    usage: Usage,
) -> Option<(Mechanism, Proven)> {
    noise_near(None, kind, composition, budget, usage)
}

/// The same, starting from an amount that should nearly do, if one is known.
fn noise_near(
    near: Option<f64>,
    kind: fn(Noise) -> Mechanism,
    composition: Composition,
    budget: Epsilon,
    usage: Usage,
) -> Option<(Mechanism, Proven)> {
    // The price of noise depends neither on the classes nor on how many vote.
    let (classes, voters) = (Classes::new(2).ok()?, Voters::new(1).ok()?);
    let infinite = Proven::infinite(usage.delta);
    let of_counts = |noise: Noise| kind(noise).of_counts(usage).unwrap_or(infinite);
    let enough = calibrate::noise_within(budget, of_counts)?;
    let usual = calibrate::expected_share(matches!(kind(enough), Mechanism::Lnmax(_)));
    let guess = near.map_or(usual, |near| (near / enough.get()).min(1.0));
    calibrate::less_noise(budget, enough.get(), guess, |amount| {
        let mechanism = kind(Noise::new(amount).ok()?);
        let price = match composition {
            Composition::Moments => mechanism.by_moments(classes, voters, usage),
            Composition::Tight => mechanism.proven(classes, voters, usage),
        };
        Some((mechanism, price))
    })
}

/// PATE's confident argmax with the most right labels among those that it gives, if it gives one to
/// at least a share of the samples.
///
/// Several ways to share the budget between question and answer are tried; the threshold follows
/// from the share.
pub fn confident_gnmax_for(
    share: f64,
    budget: Epsilon,
    histograms: &[Histogram],
    labels: Option<&Labels>,
    usage: Usage,
) -> Option<Mechanism> {
    let (some, truth) = spread(histograms, labels);
    let most = gaussian::square_within(budget, usage)?;
    let mut best: Option<(f64, Mechanism)> = None;
    for part in [0.05, 0.1, 0.2, 0.35, 0.5, 0.7] {
        // mu^2 = 1/check^2 + 2/answer^2.
        let check = Noise::new(1.0 / (part * most).sqrt()).ok()?;
        let answer = Noise::new((2.0 / ((1.0 - part) * most)).sqrt()).ok()?;
        let with = |threshold: f64| ConfidentGnmax { threshold, check, answer };
        let teachers = some.iter().map(Histogram::voters).max().unwrap_or(0) as f64;
        let (mut low, mut high) = (-teachers - 10.0 * check.get(), teachers + 10.0 * check.get());
        for _ in 0..16 {
            let middle = f64::midpoint(low, high);
            if with(middle).answered(&some) >= share {
                low = middle;
            } else {
                high = middle;
            }
        }
        let mechanism = Mechanism::ConfidentGnmax(with((low * 10.0).floor() / 10.0));
        let (right, answered) = right_and_answered(&mechanism, &some, truth.as_ref());
        let precision = right / answered.max(f64::MIN_POSITIVE);
        if best.as_ref().is_none_or(|(most, _)| precision > *most) {
            best = Some((precision, mechanism));
        }
    }
    best.map(|(_, mechanism)| mechanism)
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
