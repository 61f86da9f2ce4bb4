//! Calibration: how many queries fit a budget, and how little noise. Never more queries, never less
//! noise than do.

use super::Usage;
use super::noisy_argmax::Noise;
use super::price::Proven;
use super::shared_argmax::SharedArgmax;
use shield_core::parameters::{Delta, Epsilon, Queries};
use shield_core::shared_noise::{NoiseFamily, SharedNoise};

/// The most queries whose cost is at most `budget`; `None` if not even one fits.
///
/// `cost` must not fall as queries are added, as no accountant's does. What is returned was checked
/// itself, so it fits even if the cost wavers in its last digits.
pub fn queries_within(
    budget: Epsilon,
    delta: Delta,
    mut cost: impl FnMut(Usage) -> Proven,
) -> Option<Queries> {
    let mut fits = |count: u64| {
        let queries = Queries::new(count).ok()?;
        (cost(Usage { queries, delta }) <= budget).then_some(queries)
    };
    let mut known = fits(1)?;
    let mut too_many = None;
    while too_many.is_none_or(|many: u64| many - known.count() > 1) {
        let next = match too_many {
            Some(many) => u64::midpoint(known.count(), many),
            None if known.count() == Queries::MAX => break,
            None => (known.count() * 2).min(Queries::MAX),
        };
        match fits(next) {
            Some(queries) => known = queries,
            None => too_many = Some(next),
        }
    }
    Some(known)
}

/// The least noise that costs at most `budget`, to a millionth of itself; `None` if no amount is
/// enough.
pub fn noise_within(budget: Epsilon, cost: impl Fn(Noise) -> Proven) -> Option<Noise> {
    let fits = |amount: f64| Noise::new(amount).ok().filter(|&noise| cost(noise) <= budget);
    let mut enough = fits(1e9)?;
    // By ratios until a scale is found, then by halves.
    let too_little = loop {
        let next = enough.get() / 16.0;
        match fits(next) {
            Some(noise) if next >= 1e-9 => enough = noise,
            Some(noise) => return Some(noise),
            None => break next,
        }
    };
    Some(by_halves(too_little, enough, 1e-6, Noise::get, fits))
}

/// What the least noise is of the noise that suffices by the price of noisy counts, about: where
/// the search for it starts.
pub(crate) fn expected_share(heavy_tails: bool) -> f64 {
    if heavy_tails { 0.585 } else { 0.815 }
}

/// Less noise that still costs at most `budget`, where a price takes seconds: from a guess, a share
/// of an amount that fits, by the slope between the last two. Stops within four thousandths of the
/// budget.
///
/// What is returned was priced itself, with that price.
pub fn less_noise<T>(
    budget: Epsilon,
    enough: f64,
    guess: f64,
    cost: impl Fn(f64) -> Option<(T, Proven)>,
) -> Option<(T, Proven)> {
    const CLOSE: f64 = 4e-3;
    let mut best: Option<(f64, T, Proven)> = None;
    // Costs fall about as noise rises.
    let (mut amount, mut slope) = (guess * enough, 1.05);
    let mut last: Option<(f64, f64)> = None;
    for _ in 0..4 {
        let Some((found, price)) = cost(amount) else { break };
        let epsilon = price.get();
        if let Some((before, dearer)) = last {
            let steeper = (dearer / epsilon).ln() / (amount / before).ln();
            if (0.3..3.0).contains(&steeper) {
                slope = steeper;
            }
        }
        last = Some((amount, epsilon));
        if price <= budget && best.as_ref().is_none_or(|best| amount < best.0) {
            best = Some((amount, found, price));
        }
        let there = epsilon <= budget.get() && epsilon >= (1.0 - CLOSE) * budget.get();
        if there || epsilon == 0.0 || !epsilon.is_finite() {
            break;
        }
        // A little below, since what exceeds the budget is of no use.
        let ratio = epsilon / ((1.0 - 0.4 * CLOSE) * budget.get());
        amount = (amount * ratio.powf(1.0 / slope)).min(enough);
    }
    let best = best.map(|(_, found, price)| (found, price));
    best.or_else(|| cost(enough).filter(|(_, price)| *price <= budget))
}

/// The least noise in shares of a law whose tight cost is within a budget, close to four
/// thousandths of it, with that cost; `None` if even the most is not.
pub fn shared_noise_within(
    budget: Epsilon,
    usage: Usage,
    family: NoiseFamily,
    teachers: u32,
    dropouts: u32,
    classes: usize,
) -> Option<(SharedNoise, Proven)> {
    let noise = |amount: f64| {
        let amount = Noise::new(amount.clamp(SharedNoise::MIN_SCALE, SharedNoise::MAX_SCALE));
        SharedNoise::of(family, amount.ok()?, teachers, dropouts).ok()
    };
    // The price of noisy counts is quick, and never below that of the label.
    let fits = |amount: f64| {
        let noise = noise(amount)?;
        (SharedArgmax::of_votes(&noise, classes).of_counts(usage) <= budget).then_some(noise)
    };
    // By doubling until enough is found, then by halves.
    let (mut too_little, mut next) = (0.0, 0.25);
    let enough = loop {
        if let Some(noise) = fits(next) {
            break noise;
        }
        if next > SharedNoise::MAX_SCALE {
            return None;
        }
        (too_little, next) = (next, 2.0 * next);
    };
    let scale = |noise: SharedNoise| noise.scale().get();
    let enough = by_halves(too_little, enough, 1e-2, scale, fits);
    let guess = expected_share(family == NoiseFamily::Laplace);
    less_noise(budget, scale(enough), guess, |amount| {
        let noise = noise(amount)?;
        Some((noise, SharedArgmax::of_votes(&noise, classes).tight(usage)))
    })
}

/// The least that fits, to a share of itself, between an amount that does not and one that does.
fn by_halves<T>(
    mut too_little: f64,
    mut enough: T,
    share: f64,
    amount: impl Fn(T) -> f64,
    fits: impl Fn(f64) -> Option<T>,
) -> T
where
    T: Copy,
{
    while amount(enough) - too_little > share * amount(enough) {
        let next = f64::midpoint(too_little, amount(enough));
        match fits(next) {
            Some(fitting) => enough = fitting,
            None => too_little = next,
        }
    }
    enough
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noisy_argmax::NoisyArgmax;

    #[test]
    fn the_least_noise_that_fits() {
        let usage = Usage::default();
        for kind in [NoisyArgmax::Laplace as fn(Noise) -> NoisyArgmax, NoisyArgmax::Gaussian] {
            let cost =
                |noise| Proven::by_moments(usage, 0.0, |order| kind(noise).log_moment(order));
            for budget in [0.3, 2.0, 8.0] {
                let budget = Epsilon::new(budget).unwrap();
                let noise = noise_within(budget, cost).unwrap();
                let less = Noise::new(0.9999 * noise.get()).unwrap();
                assert!(cost(noise) <= budget && cost(less) > budget, "{noise:?}");
            }
            // With delta to spare, enough noise costs nothing at all.
            let free = noise_within(Epsilon::ZERO, cost).unwrap();
            assert_eq!(cost(free), Epsilon::ZERO);
        }
    }

    #[test]
    fn the_last_query_that_fits() {
        let linear = |usage: Usage| {
            let epsilon = Epsilon::new(usage.queries.count() as f64 * 0.01).unwrap();
            Proven::new(epsilon, usage.delta)
        };
        let within = |budget: f64| {
            queries_within(Epsilon::new(budget).unwrap(), Delta::default(), linear)
                .map(Queries::count)
        };
        assert_eq!(within(0.0099), None);
        assert_eq!(within(0.01), Some(1));
        assert_eq!(within(0.999), Some(99));
        assert_eq!(within(1e9), Some(Queries::MAX));
        let free =
            queries_within(Epsilon::ZERO, Delta::default(), |usage| Proven::free(usage.delta));
        assert_eq!(free.map(Queries::count), Some(Queries::MAX));
    }
}
