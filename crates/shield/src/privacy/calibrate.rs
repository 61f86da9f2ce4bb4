//! Calibration: how many queries fit a budget, and how little noise. Never more queries, never less
//! noise than do.

use super::Usage;
use super::conversion::Conversion;
use super::noisy_argmax::{Noise, NoisyArgmax};
use crate::parameters::{Delta, Epsilon, Queries};

/// The most queries whose cost is at most `budget`; `None` if not even one fits.
///
/// `cost` must not fall as queries are added, as no accountant's does. What is returned was checked
/// itself, so it fits even if the cost wavers in its last digits.
pub fn queries_within(
    budget: Epsilon,
    delta: Delta,
    mut cost: impl FnMut(Usage) -> Epsilon,
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

/// The least noise with which a noisy argmax costs at most `budget`, to a millionth of itself, by
/// its data-independent accounting; `None` if no amount is enough.
pub fn noise_within(
    budget: Epsilon,
    usage: Usage,
    setting: impl Fn(Noise) -> NoisyArgmax,
) -> Option<Noise> {
    let fits = |amount: f64| {
        let noise = Noise::new(amount).ok()?;
        let cost = setting(noise).data_independent(usage, Conversion::Renyi);
        (cost <= budget).then_some(noise)
    };
    let (mut too_little, mut enough) = (0.0, fits(1e9)?);
    while enough.get() - too_little > 1e-6 * enough.get() {
        // By ratios until a scale is found, then by halves.
        let next = if too_little > 0.0 {
            f64::midpoint(too_little, enough.get())
        } else {
            enough.get() / 16.0
        };
        match fits(next) {
            Some(noise) => enough = noise,
            None => too_little = next,
        }
        if enough.get() < 1e-9 {
            break;
        }
    }
    Some(enough)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_noise_that_fits() {
        let usage = Usage::default();
        for kind in [NoisyArgmax::Laplace as fn(Noise) -> NoisyArgmax, NoisyArgmax::Gaussian] {
            for budget in [0.3, 2.0, 8.0] {
                let budget = Epsilon::new(budget).unwrap();
                let cost = |amount: f64| {
                    kind(Noise::new(amount).unwrap()).data_independent(usage, Conversion::Renyi)
                };
                let noise = noise_within(budget, usage, kind).unwrap().get();
                assert!(cost(noise) <= budget && cost(0.9999 * noise) > budget, "{noise}");
            }
        }
        // With delta to spare, enough noise costs nothing at all.
        let free = noise_within(Epsilon::ZERO, usage, NoisyArgmax::Gaussian).unwrap();
        let cost = NoisyArgmax::Gaussian(free).data_independent(usage, Conversion::Renyi);
        assert_eq!(cost, Epsilon::ZERO);
    }

    #[test]
    fn the_last_query_that_fits() {
        let linear = |usage: Usage| Epsilon::new(usage.queries.count() as f64 * 0.01).unwrap();
        let within = |budget: f64| {
            queries_within(Epsilon::new(budget).unwrap(), Delta::default(), linear)
                .map(Queries::count)
        };
        assert_eq!(within(0.0099), None);
        assert_eq!(within(0.01), Some(1));
        assert_eq!(within(0.999), Some(99));
        assert_eq!(within(1e9), Some(Queries::MAX));
        let free = queries_within(Epsilon::ZERO, Delta::default(), |_| Epsilon::ZERO);
        assert_eq!(free.map(Queries::count), Some(Queries::MAX));
    }
}
