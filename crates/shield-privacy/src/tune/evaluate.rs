//! Accuracy and the paper's figure for many polynomials at once.

use std::collections::{BTreeMap, HashMap};

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::lanes::{Batch, LANES, ORDERS, Prepared};
use super::space::Coefficients;
use crate::Usage;
use crate::conversion::Conversion;
use crate::moments::ROUND_UP;
use crate::price::FromVotes;
use shield_core::histogram::Histogram;
use shield_core::parameters::{Epsilon, Offset, ParameterError, Sampling};
use shield_core::polynomial::{Polynomial, Term};
use shield_core::setting::Setting;
use shield_core::votes::Labels;

/// Batches that are worked on together: few enough that a core keeps them in its cache.
const BLOCK: usize = 48;
/// Histograms that one thread takes at a time.
const CHUNK: usize = 32;

/// The distinct histograms of some votes, made ready for one offset and sampling rule.
#[derive(Debug)]
pub(crate) struct Evaluator {
    /// The histograms, those with the largest moments first.
    histograms: Vec<Prepared>,
    /// How many of them make up the first stage of an evaluation.
    heavy: usize,
    samples: f64,
    most_rounds: usize,
    usage: Usage,
    arch: Arch,
}

/// Samples whose histograms are the same up to the order of the classes.
#[derive(Default)]
struct Alike {
    samples: f64,
    /// How many of them have a true class with so many votes.
    truth: BTreeMap<u32, f64>,
}

impl Evaluator {
    pub(crate) fn new(
        histograms: &[Histogram],
        labels: Option<&Labels>,
        offset: Offset,
        sampling: Sampling,
        degrees: u32,
        most_rounds: u32,
        usage: Usage,
    ) -> Result<Self, ParameterError> {
        let mut distinct: HashMap<Vec<u32>, Alike> = HashMap::new();
        for (sample, histogram) in histograms.iter().enumerate() {
            let mut counts = histogram.counts().to_vec();
            counts.sort_unstable();
            let alike = distinct.entry(counts).or_default();
            alike.samples += 1.0;
            let truth = labels.and_then(|labels| labels.as_slice().get(sample).copied().flatten());
            let votes = truth.and_then(|class| histogram.counts().get(class.index()));
            if let Some(&votes) = votes {
                *alike.truth.entry(votes).or_default() += 1.0;
            }
        }
        let mut distinct: Vec<(Vec<u32>, Alike)> = distinct.into_iter().collect();
        distinct.sort_by(|a, b| a.0.cmp(&b.0));
        let all_degrees = (1..=degrees).map(|degree| Term { degree, rounds: 1 });
        let polynomial = Polynomial::new(all_degrees).unwrap_or_default();
        let setting = Setting { polynomial, offset, sampling };
        let prepared: Result<Vec<Prepared>, ParameterError> = distinct
            .into_par_iter()
            .map(|(counts, alike)| {
                let truth = labels.map(|_| &alike.truth);
                Prepared::new(&setting, &Histogram::new(counts)?, alike.samples, truth)
            })
            .collect();
        let mut evaluator = Self {
            histograms: prepared?,
            heavy: 0,
            samples: histograms.len().max(1) as f64,
            most_rounds: most_rounds as usize,
            usage,
            arch: Arch::new(),
        };
        evaluator.sort_by_weight(degrees);
        Ok(evaluator)
    }

    /// Puts the histograms with the largest moments first: a part of the sum is a lower bound of
    /// all of it, and these make it a good one.
    fn sort_by_weight(&mut self, degrees: u32) {
        let typical: Coefficients = (2..=degrees).map(|degree| degree.min(8)).collect();
        let typical = typical
            .into_iter()
            .map(|r| r.min(u32::try_from(self.most_rounds).unwrap_or(8)))
            .collect();
        let batch = [Batch::new(&[&typical], 6)];
        let histograms = std::mem::take(&mut self.histograms);
        let weight = |prepared: &Prepared| {
            let mut sums = [[[0.0; LANES]; ORDERS]];
            self.add_log_moments(prepared, &batch, &mut sums);
            sums[0][1][0]
        };
        let mut weighed: Vec<(f64, Prepared)> =
            histograms.into_iter().map(|h| (weight(&h), h)).collect();
        weighed.sort_by(|a, b| b.0.total_cmp(&a.0));
        let total: f64 = weighed.iter().map(|(weight, _)| weight).sum();
        let mut reached = 0.0;
        self.heavy = weighed
            .iter()
            .position(|(weight, _)| {
                reached += weight;
                reached >= 0.7 * total
            })
            .map_or(weighed.len(), |last| last + 1);
        self.histograms = weighed.into_iter().map(|(_, histogram)| histogram).collect();
    }

    /// Accuracy of each polynomial: the share of right labels where the truth is known, else
    /// ground-truth accuracy.
    pub(crate) fn accuracy(&self, polynomials: &[Coefficients]) -> Vec<f64> {
        let batches = batches(polynomials, |_| 2);
        let sums =
            Self::sum(&self.histograms, &batches, [0.0; LANES], |prepared, batches, sums| {
                self.arch.dispatch(GroundTruth {
                    prepared,
                    most_rounds: self.most_rounds,
                    batches,
                    sums,
                });
            });
        (0..polynomials.len()).map(|i| sums[i / LANES][i % LANES] / self.samples).collect()
    }

    /// The paper's figure of each polynomial; `None` for those of which `hopeless(i, lower bound)`
    /// says that they need not be finished.
    pub(crate) fn published(
        &self,
        polynomials: &[Coefficients],
        hopeless: impl Fn(usize, f64) -> bool,
        tick: impl Fn(usize) + Sync,
    ) -> Vec<Option<FromVotes>> {
        let price = |epsilon| FromVotes::new(Epsilon::new(epsilon).unwrap_or(Epsilon::INFINITE));
        let mut orders = self.guess_orders(polynomials);
        let (first, rest) = self.histograms.split_at(self.heavy);
        let mut result = vec![None; polynomials.len()];
        let mut open: Vec<usize> = (0..polynomials.len()).collect();
        let mut before = orders.clone();
        while !open.is_empty() {
            let moments = self.log_moments(first, polynomials, &open, &orders);
            let kept: Vec<(usize, [f64; ORDERS])> = open
                .iter()
                .copied()
                .zip(moments)
                .filter(|&(i, partial)| !hopeless(i, self.lower_bound(orders[i], partial)))
                .collect();
            tick(open.len() - kept.len());
            let places: Vec<usize> = kept.iter().map(|&(i, _)| i).collect();
            let others = self.log_moments(rest, polynomials, &places, &orders);
            open.clear();
            for ((i, part), other) in kept.into_iter().zip(others) {
                let total = std::array::from_fn(|k| part[k] + other[k]);
                match self.settle(orders[i], total) {
                    Ok(epsilon) => {
                        result[i] = Some(price(epsilon));
                        tick(1);
                    }
                    // Two orders that differ by rounding alone would send it back and forth for
                    // ever.
                    Err(order) if order == before[i] && order != orders[i] => {
                        result[i] = Some(price(self.smallest(orders[i], total)));
                        tick(1);
                    }
                    Err(order) => {
                        before[i] = orders[i];
                        orders[i] = order;
                        open.push(i);
                    }
                }
            }
        }
        result
    }

    fn add_log_moments(
        &self,
        prepared: &Prepared,
        batches: &[Batch],
        sums: &mut [[[f64; LANES]; ORDERS]],
    ) {
        self.arch.dispatch(LogMoments { prepared, most_rounds: self.most_rounds, batches, sums });
    }

    fn epsilon(&self, order: u32, log_moment: f64) -> f64 {
        Conversion::TailBound.epsilon(order.into(), log_moment * ROUND_UP, self.usage.delta)
    }

    /// The smallest epsilon of three neighbouring orders.
    fn smallest(&self, order: u32, moments: [f64; ORDERS]) -> f64 {
        (0..ORDERS as u32)
            .map(|i| self.epsilon(order - 1 + i, moments[i as usize]))
            .fold(f64::INFINITY, f64::min)
    }

    /// The epsilon if the middle order (or the first of all) is best; else the order to look around
    /// next.
    fn settle(&self, order: u32, moments: [f64; ORDERS]) -> Result<f64, u32> {
        let [below, at, above] =
            std::array::from_fn(|i| self.epsilon(order - 1 + i as u32, moments[i]));
        if above < at {
            Err(order + 1)
        } else if below < at && order > 2 {
            Err(order - 1)
        } else {
            Ok(self.smallest(order, moments))
        }
    }

    /// What the epsilon is at least, over all orders, given a part of the sums. Log-moments are
    /// convex in the order and zero at zero, so beyond the three known orders they lie above the
    /// lines through them.
    fn lower_bound(&self, order: u32, moments: [f64; ORDERS]) -> f64 {
        let known = self.smallest(order, moments);
        let above = moments[2] - moments[1];
        // Below: either the line through the two lower orders, or no moment at all.
        let line = moments[0]
            - f64::from(order - 1) * (moments[1] - moments[0])
            - self.usage.delta.get().ln();
        let below = if line >= 0.0 { known } else { self.epsilon(order - 1, 0.0) };
        known.min(above).min(below)
    }

    /// A good central order for each polynomial, from a few of the histograms: light and heavy ones
    /// alike.
    fn guess_orders(&self, polynomials: &[Coefficients]) -> Vec<u32> {
        let step = (self.histograms.len() / 64).max(1);
        let few: Vec<Prepared> = self.histograms.iter().step_by(step).cloned().collect();
        let scale = self.samples / few.iter().map(|h| h.occurrences).sum::<f64>().max(1.0);
        let mut orders = vec![6; polynomials.len()];
        let mut open: Vec<usize> = (0..polynomials.len()).collect();
        // Wide steps first, then single ones.
        for stride in [8, 8, 4, 4, 2, 2, 1, 1, 1, 1, 1, 1] {
            let moments = self.log_moments(&few, polynomials, &open, &orders);
            let mut moved = Vec::new();
            for (i, moments) in open.into_iter().zip(moments) {
                if let Err(next) = self.settle(orders[i], moments.map(|moment| scale * moment)) {
                    let up = next > orders[i];
                    let stride = (orders[i] * stride / 16).max(1);
                    orders[i] = if up {
                        orders[i] + stride
                    } else {
                        orders[i].saturating_sub(stride).max(2)
                    };
                    moved.push(i);
                }
            }
            open = moved;
            if open.is_empty() {
                break;
            }
        }
        orders
    }

    /// Log-moments of some polynomials over some histograms, scaled to the number of queries.
    fn log_moments(
        &self,
        histograms: &[Prepared],
        polynomials: &[Coefficients],
        which: &[usize],
        orders: &[u32],
    ) -> Vec<[f64; ORDERS]> {
        // Lanes share their order, so polynomials are grouped by it.
        let mut sorted: Vec<usize> = (0..which.len()).collect();
        sorted.sort_by_key(|&i| orders[which[i]]);
        let mut places = vec![(0, 0); which.len()];
        let mut batches = Vec::new();
        for alike in sorted.chunk_by(|&a, &b| orders[which[a]] == orders[which[b]]) {
            for lanes in alike.chunks(LANES) {
                let chosen: Vec<&Coefficients> =
                    lanes.iter().map(|&i| &polynomials[which[i]]).collect();
                for (lane, &i) in lanes.iter().enumerate() {
                    places[i] = (batches.len(), lane);
                }
                batches.push(Batch::new(&chosen, orders[which[lanes[0]]]));
            }
        }
        let zero = [[0.0; LANES]; ORDERS];
        let sums = Self::sum(histograms, &batches, zero, |prepared, batches, sums| {
            self.add_log_moments(prepared, batches, sums);
        });
        let scale = self.usage.queries.count() as f64 / self.samples;
        places
            .into_iter()
            .map(|(batch, lane)| std::array::from_fn(|i| scale * sums[batch][i][lane]))
            .collect()
    }

    /// Adds up over the histograms, block by block of batches; the order of the sums does not
    /// depend on the threads.
    fn sum<T: Copy + Send + Sync + AddAssign>(
        histograms: &[Prepared],
        batches: &[Batch],
        zero: T,
        add: impl Fn(&Prepared, &[Batch], &mut [T]) + Sync,
    ) -> Vec<T> {
        let blocks: Vec<(&[Batch], &[Prepared])> = batches
            .chunks(BLOCK)
            .flat_map(|block| histograms.chunks(CHUNK).map(move |chunk| (block, chunk)))
            .collect();
        let parts: Vec<Vec<T>> = blocks
            .par_iter()
            .map(|(block, chunk)| {
                let mut sums = vec![zero; block.len()];
                for prepared in *chunk {
                    add(prepared, block, &mut sums);
                }
                sums
            })
            .collect();
        let chunks = histograms.len().div_ceil(CHUNK).max(1);
        let mut total = vec![zero; batches.len()];
        for (i, part) in parts.into_iter().enumerate() {
            let start = i / chunks * BLOCK;
            for (total, part) in total[start..].iter_mut().zip(part) {
                total.add(part);
            }
        }
        total
    }
}

/// Work that is compiled once for each kind of vector unit; the one that the machine has is picked
/// when it runs.
struct LogMoments<'a> {
    prepared: &'a Prepared,
    most_rounds: usize,
    batches: &'a [Batch],
    sums: &'a mut [[[f64; LANES]; ORDERS]],
}

impl WithSimd for LogMoments<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        self.prepared.add_log_moments(self.most_rounds, self.batches, self.sums);
    }
}

struct GroundTruth<'a> {
    prepared: &'a Prepared,
    most_rounds: usize,
    batches: &'a [Batch],
    sums: &'a mut [[f64; LANES]],
}

impl WithSimd for GroundTruth<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        self.prepared.add_ground_truth(self.most_rounds, self.batches, self.sums);
    }
}

/// Sums that can be added up.
trait AddAssign {
    fn add(&mut self, other: Self);
}

impl AddAssign for [f64; LANES] {
    fn add(&mut self, other: Self) {
        self.iter_mut().zip(other).for_each(|(a, b)| *a += b);
    }
}

impl AddAssign for [[f64; LANES]; ORDERS] {
    fn add(&mut self, other: Self) {
        self.iter_mut().zip(other).for_each(|(a, b)| a.add(b));
    }
}

fn batches(polynomials: &[Coefficients], order: impl Fn(usize) -> u32) -> Vec<Batch> {
    polynomials
        .chunks(LANES)
        .enumerate()
        .map(|(i, chunk)| Batch::new(&chunk.iter().collect::<Vec<_>>(), order(i * LANES)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tune::space::polynomial;
    use crate::{data_dependent, queries::Queries};
    use shield_core::accuracy::Accuracy;
    use shield_core::parameters::Classes;
    use shield_core::synthetic;

    #[test]
    fn agrees_with_the_accountant() {
        let (votes, _) = synthetic::votes(60, Classes::new(6).unwrap(), 40, 3).unwrap();
        let histograms: Vec<Histogram> = votes.histograms().collect();
        let usage = Usage::default();
        for sampling in [Sampling::WithReplacement, Sampling::WithoutReplacement] {
            for offset in [1, 4] {
                let offset = Offset::new(offset).unwrap();
                let evaluator =
                    Evaluator::new(&histograms, None, offset, sampling, 4, 20, usage).unwrap();
                let polynomials: Vec<Coefficients> = vec![
                    vec![0, 0, 0],
                    vec![3, 2, 0],
                    vec![4, 6, 8],
                    vec![0, 0, 19],
                    vec![1, 0, 2],
                ];
                let found = evaluator.published(&polynomials, |_, _| false, |_| ());
                let accuracies = evaluator.accuracy(&polynomials);
                for ((coefficients, found), accuracy) in
                    polynomials.iter().zip(found).zip(accuracies)
                {
                    let setting =
                        Setting { polynomial: polynomial(coefficients), offset, sampling };
                    let mut queries = Queries::new(&setting, &histograms);
                    let expected = data_dependent::published(&mut queries, usage).get();
                    let found = found.unwrap().get();
                    assert!(
                        (found / expected - 1.0).abs() < 1e-7,
                        "{setting:?} {found} {expected}"
                    );
                    let expected = Accuracy::of(&setting, &histograms, None).ground_truth;
                    assert!((accuracy - expected).abs() < 1e-12, "{setting:?}");
                }
            }
        }
    }

    #[test]
    fn right_labels_agree_with_the_law() {
        let (votes, truth) = synthetic::votes(60, Classes::new(6).unwrap(), 40, 3).unwrap();
        let histograms: Vec<Histogram> = votes.histograms().collect();
        let (offset, sampling) = (Offset::new(2).unwrap(), Sampling::default());
        let evaluator =
            Evaluator::new(&histograms, Some(&truth), offset, sampling, 4, 20, Usage::default())
                .unwrap();
        let polynomials: Vec<Coefficients> = vec![vec![3, 2, 0], vec![4, 6, 8], vec![0, 0, 1]];
        for (found, coefficients) in evaluator.accuracy(&polynomials).iter().zip(&polynomials) {
            let setting = Setting { polynomial: polynomial(coefficients), offset, sampling };
            let accuracy = Accuracy::of(&setting, &histograms, Some(&truth));
            let expected = accuracy.correct_labels.unwrap() / 40.0;
            assert!((found - expected).abs() < 1e-9, "{found} {expected}");
            assert!((found - accuracy.ground_truth).abs() > 1e-3);
        }
    }

    #[test]
    fn a_part_of_the_sum_is_a_lower_bound() {
        let (votes, _) = synthetic::votes(60, Classes::new(6).unwrap(), 60, 4).unwrap();
        let histograms: Vec<Histogram> = votes.histograms().collect();
        let usage = Usage::default();
        let evaluator =
            Evaluator::new(&histograms, None, Offset::default(), Sampling::default(), 3, 20, usage)
                .unwrap();
        let polynomials: Vec<Coefficients> = (0..8).map(|i| vec![i, 2 * i]).collect();
        let bounds = std::sync::Mutex::new(vec![0.0; 8]);
        let found = evaluator.published(
            &polynomials,
            |i, bound| {
                bounds.lock().unwrap()[i] = bound;
                false
            },
            |_| (),
        );
        for (found, bound) in found.into_iter().zip(bounds.into_inner().unwrap()) {
            let found = found.unwrap().get();
            assert!(bound > 0.3 * found && bound <= found * (1.0 + 1e-9));
        }
    }
}
