//! A cost at once: the worst of some pairs of neighbours. It is never above the true cost, and the
//! pairs are of the kind that is the worst wherever that was proven.

use shield::privacy::Usage;
use shield::privacy::conversion::Conversion;
use shield::privacy::moments::LawPair;
use shield::privacy::neighbours::laws_of_move;
use shield::{Classes, Histogram, Setting, Voters};

/// How many shares of votes are tried for the leader, and for the second.
const STEPS: u32 = 12;

/// Orders at which pairs are ranked, and how many are kept at each.
const ORDERS: [f64; 4] = [0.25, 1.0, 4.0, 16.0];
const KEPT: usize = 5;

/// The cost by moments of the worst pair that is looked at.
pub(super) fn epsilon(setting: &Setting, classes: Classes, voters: Voters, usage: Usage) -> f64 {
    let pairs = pairs(setting, classes.count(), voters.count());
    let queries = usage.queries.count() as f64;
    // The worst pair differs from order to order; those that are ahead at some of them are kept.
    let mut ahead: Vec<usize> = Vec::new();
    for order in ORDERS {
        let moments: Vec<f64> = pairs.iter().map(|pair| pair.log_moment(order)).collect();
        let mut places: Vec<usize> = (0..pairs.len()).collect();
        places.sort_by(|&a, &b| moments[b].total_cmp(&moments[a]));
        ahead.extend(places.into_iter().take(KEPT));
    }
    ahead.sort_unstable();
    ahead.dedup();
    let worst =
        |order: f64| ahead.iter().map(|&place| pairs[place].log_moment(order)).fold(0.0, f64::max);
    Conversion::Renyi.minimise(usage.delta, |order| queries * worst(order)).epsilon
}

/// Histograms with a leader, a second and all others alike, and one vote that goes from the first
/// to the second, from the second to the first, or from either to another; read both ways.
fn pairs(setting: &Setting, classes: usize, voters: u32) -> Vec<LawPair> {
    let mut found = Vec::new();
    for a in 1..=STEPS {
        let leader = (u64::from(voters) * u64::from(a) / u64::from(STEPS)).max(1);
        let leader = u32::try_from(leader).unwrap_or(voters).min(voters);
        let rest = voters - leader;
        for b in 0..=STEPS / 2 {
            let second = rest * b / (STEPS / 2);
            let counts = spread(leader, second, classes, voters);
            let other = counts.get(2).copied();
            let Ok(histogram) = Histogram::new(counts) else { continue };
            let moves = [Some((leader, second)), Some((second, leader))];
            let third = other.map(|third| [(leader, third), (third, leader)]);
            for (from, to) in moves.into_iter().flatten().chain(third.into_iter().flatten()) {
                if let Some(pair) = laws_of_move(setting, &histogram, from, to) {
                    found.push(pair.reversed());
                    found.push(pair);
                }
            }
        }
    }
    found
}

/// A histogram with these two first, and the others alike as far as that is possible.
fn spread(leader: u32, second: u32, classes: usize, voters: u32) -> Vec<u32> {
    let mut counts = vec![leader];
    if classes == 2 {
        counts.push(voters - leader);
        return counts;
    }
    counts.push(second);
    let others = u32::try_from(classes - 2).unwrap_or(1);
    let rest = voters - leader - second;
    counts.extend((0..others).map(|i| rest / others + u32::from(i < rest % others)));
    counts
}

#[cfg(test)]
mod tests {
    use shield::Offset;
    use shield::privacy::data_independent::DataIndependent;

    use super::*;

    #[test]
    fn it_is_close_below_what_is_proven() {
        for (offset, classes, voters) in [(5, 10, 250), (1, 3, 40), (20, 10, 100), (5, 2, 30)] {
            let setting = Setting { offset: Offset::new(offset).unwrap(), ..Setting::default() };
            let classes = Classes::new(classes).unwrap();
            let voters = Voters::new(voters).unwrap();
            let usage = Usage::default();
            let proven = DataIndependent::new(&setting, classes, voters).epsilon(usage).get();
            let found = epsilon(&setting, classes, voters, usage);
            let ratio = found / proven;
            assert!((0.9..=1.000_001).contains(&ratio), "{found} of {proven}: {offset} {voters}");
        }
    }

    #[test]
    fn every_vote_is_spread() {
        for (leader, second, classes) in [(5, 3, 2), (10, 0, 3), (1, 9, 7), (20, 0, 4)] {
            let counts = spread(leader, second, classes, 20);
            assert_eq!(counts.len(), classes);
            assert_eq!(counts.iter().sum::<u32>(), 20, "{counts:?}");
        }
    }
}
