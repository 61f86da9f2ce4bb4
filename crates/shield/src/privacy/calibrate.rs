//! Calibration: how many queries fit a budget. Never more than do.

use super::Usage;
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

#[cfg(test)]
mod tests {
    use super::*;

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
