//! The worst pair of neighbours that a search finds: what the proven bound is held against.

use super::cell::Cell;
use super::pair::Pair;
use crate::conversion::Conversion;
use crate::rounds::Rounds;
use shield_core::parameters::{Delta, Queries};

/// The cost of answering every query from this one pair, in its worse direction.
pub(crate) fn epsilon(rounds: &Rounds, pair: &Pair, queries: Queries, delta: Delta) -> f64 {
    let laws = pair.laws(rounds);
    let back = laws.reversed();
    let queries = queries.count() as f64;
    Conversion::Renyi
        .minimise(delta, |order| queries * laws.log_moment(order).max(back.log_moment(order)))
        .epsilon
}

/// Climbs from the best of some pairs: one entry after another moves by ever smaller steps, as long
/// as the cost grows. Bystanders share evenly, or one of them has more than its share.
pub(crate) fn climb(
    rounds: &Rounds,
    starts: &[Pair],
    queries: Queries,
    delta: Delta,
) -> Option<(Pair, f64)> {
    let cost = |pair: &Pair| epsilon(rounds, pair, queries, delta);
    let mut found: Option<(Pair, f64)> = None;
    let mut keep = |pair: Pair, cost: f64| {
        if found.as_ref().is_none_or(|&(_, best)| cost > best) {
            found = Some((pair, cost));
        }
    };
    let mut ranked: Vec<(f64, &Pair)> = starts.iter().map(|pair| (cost(pair), pair)).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    ranked.truncate(3);
    for (start_cost, start) in ranked {
        let spread = (rounds.size / rounds.classes as f64).floor();
        let first = (Cell::bystanders(rounds) >= 2.0).then_some(spread);
        for first in [None, first] {
            let mut place = Place { loser: start.loser, gainer: start.gainer, first };
            let Some(mut pair) = place.pair(rounds) else {
                continue;
            };
            let mut best = cost(&pair);
            let mut step = f64::from(rounds.voters.next_power_of_two()) / 4.0;
            while step >= 1.0 {
                let better = place.moves(step).into_iter().find_map(|place| {
                    let pair = place.pair(rounds)?;
                    let cost = cost(&pair);
                    (cost > best).then_some((place, pair, cost))
                });
                match better {
                    Some(better) => (place, pair, best) = better,
                    None => step /= 2.0,
                }
            }
            keep(pair, best);
        }
        keep(start.clone(), start_cost);
    }
    found
}

/// Where the climb stands.
#[derive(Clone, Copy)]
struct Place {
    loser: f64,
    gainer: f64,
    first: Option<f64>,
}

impl Place {
    fn pair(&self, rounds: &Rounds) -> Option<Pair> {
        Pair::new(rounds, self.loser, self.gainer, self.first)
    }

    fn moves(self, step: f64) -> Vec<Self> {
        let mut moves = Vec::with_capacity(6);
        for step in [step, -step] {
            moves.push(Self { loser: self.loser + step, ..self });
            moves.push(Self { gainer: self.gainer + step, ..self });
            if let Some(first) = self.first {
                moves.push(Self { first: Some(first + step), ..self });
            }
        }
        moves
    }
}
