//! The privacy loss of every query on given votes: the common ground of the data-dependent figures.
//!
//! **Data-dependent**: what is computed here depends on the votes, so it says something about them,
//! and must not be published.

use std::collections::{BTreeMap, HashMap};

use rayon::prelude::*;

use super::moments::{LawPair, Outcome, ROUND_UP, bregman};
use super::neighbours::neighbours;
use shield_core::distribution::OutputDistribution;
use shield_core::histogram::Histogram;
use shield_core::setting::Setting;
use shield_core::votes::Votes;

/// Both directions of a privacy loss: of the votes against their neighbour, and back.
pub(crate) type BothWays = [f64; 2];

/// What a vote can do to the output of one query, for all histograms that occur.
#[derive(Clone, Debug)]
pub struct Queries {
    /// Distinct histograms, up to the order of the classes.
    distinct: Vec<Distinct>,
    /// For each sample, which of them it has.
    samples: Vec<usize>,
    /// Moments that are known, by order.
    known: BTreeMap<u64, Moments>,
}

#[derive(Clone, Debug)]
struct Distinct {
    /// How many samples have this histogram.
    occurrences: f64,
    /// Neighbours by the number of votes of the class that loses one, in increasing order.
    moves: Vec<Moves>,
}

#[derive(Clone, Debug)]
struct Moves {
    from: u32,
    losses: Vec<Losses>,
}

/// The largest log-moment of each move of each distinct histogram, in both directions.
pub(crate) type Moments = std::sync::Arc<Vec<Vec<BothWays>>>;

impl Queries {
    /// SHIELD's queries about every sample of some votes.
    pub fn new(setting: &Setting, histograms: &[Histogram]) -> Self {
        let moves = |histogram: &Histogram| {
            let all = neighbours(setting, histogram).into_iter();
            all.map(|neighbour| (neighbour.from, neighbour.laws)).collect()
        };
        Self::of_moves(histograms, moves)
    }

    /// The queries of any mechanism that treats all classes alike, from its output law.
    pub fn of_law(
        histograms: &[Histogram],
        law: impl Fn(&Histogram) -> OutputDistribution + Sync,
    ) -> Self {
        let moves = |histogram: &Histogram| {
            let before = law(histogram);
            let counts = histogram.counts();
            let mut numbers = counts.to_vec();
            numbers.sort_unstable();
            numbers.dedup();
            let mut moves = Vec::new();
            for &from in numbers.iter().filter(|&&votes| votes > 0) {
                for &to in &numbers {
                    // Any two classes with so many votes will do.
                    let loser = counts.iter().position(|&votes| votes == from);
                    let gainer = counts.iter().rposition(|&votes| votes == to);
                    let (Some(loser), Some(gainer)) = (loser, gainer) else { continue };
                    let mut moved = counts.to_vec();
                    moved[loser] -= 1;
                    moved[gainer] += 1;
                    if loser != gainer
                        && let Ok(moved) = Histogram::new(moved)
                    {
                        moves.push((from, pair_of_laws(&before, &law(&moved))));
                    }
                }
            }
            moves
        };
        Self::of_moves(histograms, moves)
    }

    /// From all moves of a histogram, grouped by the votes of the class that loses one.
    fn of_moves(
        histograms: &[Histogram],
        moves_of: impl Fn(&Histogram) -> Vec<(u32, LawPair)> + Sync,
    ) -> Self {
        let mut places = HashMap::new();
        let mut distinct: Vec<(Histogram, f64)> = Vec::new();
        let samples = histograms
            .iter()
            .map(|histogram| {
                let mut counts = histogram.counts().to_vec();
                counts.sort_unstable();
                let place = *places.entry(counts).or_insert_with(|| {
                    distinct.push((histogram.clone(), 0.0));
                    distinct.len() - 1
                });
                distinct[place].1 += 1.0;
                place
            })
            .collect();
        let distinct = distinct
            .into_par_iter()
            .map(|(histogram, occurrences)| {
                let mut moves: Vec<Moves> = Vec::new();
                for (from, laws) in moves_of(&histogram) {
                    let losses = Losses::of(&laws);
                    match moves.last_mut() {
                        Some(last) if last.from == from => last.losses.push(losses),
                        _ => moves.push(Moves { from, losses: vec![losses] }),
                    }
                }
                Distinct { occurrences, moves }
            })
            .collect();
        Self { distinct, samples, known: BTreeMap::new() }
    }

    /// How many samples there are.
    pub(crate) fn samples(&self) -> f64 {
        self.samples.len() as f64
    }

    /// For each distinct histogram and each class that can lose a vote, the largest log-moment over
    /// the classes that can gain it.
    pub(crate) fn moments(&mut self, order: f64) -> Moments {
        if let Some(known) = self.known.get(&order.to_bits()) {
            return known.clone();
        }
        let moments: Vec<Vec<BothWays>> = self
            .distinct
            .par_iter()
            .map(|distinct| {
                let worst = |moves: &Moves| {
                    moves
                        .losses
                        .iter()
                        .map(|losses| losses.log_moments(order))
                        .fold([0.0; 2], largest)
                };
                distinct.moves.iter().map(worst).collect()
            })
            .collect();
        let moments = Moments::new(moments);
        self.known.insert(order.to_bits(), moments.clone());
        moments
    }

    /// The mean over the samples of the worst neighbour's log-moment, in its worse direction.
    pub(crate) fn mean_log_moment(&mut self, order: f64) -> f64 {
        let moments = self.moments(order);
        let worst = |moves: &Vec<BothWays>| {
            let [there, back] = moves.iter().copied().fold([0.0; 2], largest);
            f64::max(there, back)
        };
        let sum: f64 =
            moments.iter().zip(&self.distinct).map(|(moves, d)| d.occurrences * worst(moves)).sum();
        sum / self.samples() * ROUND_UP
    }

    /// For each sample and class, which of the sample's moves takes a vote from that class.
    pub(crate) fn moves_of<'a>(
        &'a self,
        votes: &'a Votes,
    ) -> impl Fn(usize) -> Vec<Option<usize>> + 'a {
        |sample| self.places(sample, &votes.histogram(sample))
    }

    /// For each class of a sample with this histogram, which of its moves takes a vote from it.
    pub(crate) fn places(&self, sample: usize, histogram: &Histogram) -> Vec<Option<usize>> {
        let moves = &self.distinct[self.samples[sample]].moves;
        let place = |votes: &u32| moves.iter().position(|moves| moves.from == *votes);
        histogram.counts().iter().map(place).collect()
    }

    /// Which distinct histogram a sample has.
    pub(crate) fn distinct_of(&self, sample: usize) -> usize {
        self.samples[sample]
    }

    /// For each distinct histogram and each class that can lose a vote, the largest hockey stick at
    /// each threshold, in either direction.
    pub(crate) fn hockey_sticks(&self, thresholds: &[f64]) -> Vec<Vec<Vec<f64>>> {
        self.distinct
            .par_iter()
            .map(|distinct| {
                distinct
                    .moves
                    .iter()
                    .map(|moves| {
                        let mut worst = vec![0.0; thresholds.len()];
                        for losses in &moves.losses {
                            losses.raise(thresholds, &mut worst);
                        }
                        worst
                    })
                    .collect()
            })
            .collect()
    }

    /// The largest loss that any output of any query can have, up to `most`.
    pub(crate) fn largest_loss(&self, most: f64) -> f64 {
        let losses = self.distinct.iter().flat_map(|d| &d.moves).flat_map(|moves| &moves.losses);
        losses.flat_map(|losses| &losses.outcomes).map(|o| o.x.abs()).fold(0.0, f64::max).min(most)
    }
}

/// The pair of two output laws.
pub(crate) fn pair_of_laws(before: &OutputDistribution, after: &OutputDistribution) -> LawPair {
    let failure = (before.log_failure(), after.log_failure());
    let classes = before.log_classes().iter().copied().zip(after.log_classes().iter().copied());
    LawPair::new(classes.chain([failure]).map(|(log_p, log_q)| Outcome {
        log_p,
        log_q,
        copies: 1.0,
    }))
}

fn largest(a: BothWays, b: BothWays) -> BothWays {
    [a[0].max(b[0]), a[1].max(b[1])]
}

/// A pair of laws, laid out for evaluating many moments.
#[derive(Clone, Debug)]
struct Losses {
    outcomes: Vec<Loss>,
    laws: Option<LawPair>,
}

#[derive(Clone, Copy, Debug)]
struct Loss {
    /// Probabilities under both laws, and ln of their ratio.
    p: f64,
    q: f64,
    x: f64,
}

impl Losses {
    fn of(laws: &LawPair) -> Self {
        let outcomes: Vec<Loss> = laws
            .outcomes()
            .iter()
            .map(|o| Loss {
                p: o.copies * o.log_p.exp(),
                q: o.copies * o.log_q.exp(),
                x: o.log_p - o.log_q,
            })
            .collect();
        // Probabilities too small for a float are rare; those laws keep their logarithms.
        let plain = outcomes.iter().all(|o| o.p > 1e-290 && o.q > 1e-290);
        Self { outcomes, laws: (!plain).then(|| laws.clone()) }
    }

    fn log_moments(&self, order: f64) -> BothWays {
        if let Some(laws) = &self.laws {
            return [laws.log_moment(order), laws.reversed().log_moment(order)];
        }
        let (mut there, mut back) = (0.0, 0.0);
        for o in &self.outcomes {
            there += o.q * bregman(order, o.x);
            back += o.p * bregman(order, -o.x);
        }
        [there.ln_1p(), back.ln_1p()]
    }

    /// Raises `worst` to this pair's hockey stick at each threshold.
    fn raise(&self, thresholds: &[f64], worst: &mut [f64]) {
        for (worst, &t) in worst.iter_mut().zip(thresholds) {
            let (mut there, mut back) = (0.0, 0.0);
            for o in &self.outcomes {
                there += (o.p - t * o.q).max(0.0);
                back += (o.q - t * o.p).max(0.0);
            }
            *worst = worst.max(there * ROUND_UP).max(back * ROUND_UP);
        }
    }
}
