//! Which polynomial and which offset: the Pareto front of privacy and accuracy on given votes.
//!
//! [`space`](self) lists the polynomials, [`lanes`](self) computes many of them at once, [`front`]
//! keeps what nothing beats. A small space is searched whole. A space too large for that is
//! searched from a few starting points outwards: whatever lies near a point of the front is tried,
//! until nothing near the front is new. That search may miss points; [`Outcome::exhaustive`] says
//! which it was.
//!
//! What is pruned, and why that is safe: a polynomial is left unfinished once its accuracy is known
//! and a *lower* bound of its epsilon is no better than a point of the front that is at least as
//! accurate. For the paper's figure the lower bound is the sum over the histograms with the largest
//! moments alone (no moment is negative); for the data-independent figure it is the cost of a pair
//! of neighbours that was bad for other polynomials (the proven bound is never below what a real
//! pair costs).

#![allow(
    clippy::cast_possible_truncation,
    reason = "orders, degrees and sizes of searches: all far inside the types they go to"
)]
#![allow(
    clippy::inline_always,
    clippy::needless_range_loop,
    reason = "loops over lanes become vector instructions only where they are inlined and plain"
)]

pub mod climb;
mod evaluate;
pub mod front;
mod lanes;
mod space;

use std::collections::HashSet;
use std::sync::Mutex;

use rayon::prelude::*;

use crate::attendance::Attendance;
use crate::data_independent::{DataIndependent, Suspects};
use crate::mechanism::{best, classes_of};
use crate::price::Proven;
use crate::{Mechanism, Usage};
use evaluate::Evaluator;
use front::{Cost, Front, Point};
use shield_core::Watch;
use shield_core::accuracy::Accuracy;
use shield_core::histogram::Histogram;
use shield_core::parameters::{Classes, Epsilon, Offset, ParameterError, Sampling, Voters};
use shield_core::polynomial::Polynomial;
use shield_core::setting::Setting;
use shield_core::votes::Labels;
pub use space::Space;
use space::{Coefficients, polynomial};

/// The largest degree of a search.
pub const MAX_DEGREE: u32 = lanes::MAX_DEGREE as u32;
/// The largest number of rounds of a search.
pub const MAX_TERMS: u32 = 1000;

/// Which cost is weighed against accuracy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objective {
    /// The proven worst case over all histograms: may be published.
    DataIndependent,
    /// The paper's figure: depends on the votes, must not be published.
    Published,
}

/// What to search.
#[derive(Clone, Debug)]
pub struct Search {
    /// The polynomials.
    pub space: Space,
    /// The offsets.
    pub offsets: Vec<Offset>,
    /// How rounds draw.
    pub sampling: Sampling,
    /// The cost.
    pub objective: Objective,
    /// Queries and delta.
    pub usage: Usage,
}

/// What a search found.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// How many settings were looked at.
    pub evaluated: usize,
    /// How many of them were left unfinished because they could not be on the front.
    pub pruned: usize,
    /// Whether every polynomial of the space was looked at.
    pub exhaustive: bool,
    /// Whether the search was ended early.
    pub stopped: bool,
    /// The settings that nothing beats.
    pub front: Front,
    /// (epsilon, ground-truth accuracy) of every setting that was finished.
    pub cloud: Vec<(f64, f64)>,
}

/// Spaces up to this size are searched whole.
const WHOLE: u128 = 20_000;
/// Polynomials whose bound is proven before a search outwards, to learn which pairs are bad, and
/// after it.
const PROVEN_FIRST: usize = 12;
const PROVEN_LAST: usize = 48;
/// Polynomials that are weighed against the front at a time; in a small space first so many, spread
/// over all accuracies.
const GENERATION: usize = 1024;
const SPREAD: usize = 100;

impl Objective {
    /// How many polynomials a search outwards looks at, for each offset: what takes a minute or
    /// two.
    fn outwards(self) -> usize {
        match self {
            Self::Published => 5_000,
            Self::DataIndependent => 2_000,
        }
    }
}

impl Search {
    /// How much work there is at most, in the steps of the watch.
    pub fn work(&self) -> u64 {
        let outwards = self.objective.outwards() as u128;
        let each = self.space.size().min(if self.is_whole() { WHOLE } else { outwards });
        each as u64 * self.offsets.len() as u64
    }

    /// Whether the space is small enough to be searched whole.
    pub fn is_whole(&self) -> bool {
        self.space.size() <= WHOLE
    }

    /// Searches by the share of right labels where the truth is given, else by ground-truth
    /// accuracy. The watch counts settings and may end the search: what was found by then is
    /// returned, and is not exhaustive.
    pub fn run(
        &self,
        histograms: &[Histogram],
        labels: Option<&Labels>,
        watch: &Watch,
    ) -> Result<Outcome, ParameterError> {
        watch.begin("polynomials", self.work());
        let mut outcome = self.search(histograms, labels, watch)?;
        self.price_all(histograms, &mut outcome);
        outcome.stopped = watch.is_stopped();
        outcome.exhaustive &= !outcome.stopped;
        if labels.is_some() {
            for point in outcome.front.points_mut() {
                let setting = Setting {
                    polynomial: point.polynomial.clone(),
                    offset: point.offset,
                    sampling: self.sampling,
                };
                point.ground_truth = Accuracy::of(&setting, histograms, None).ground_truth;
            }
        }
        Ok(outcome)
    }

    /// Searches follow the typical turnout; what they found is priced for the turnout that is.
    fn price_all(&self, histograms: &[Histogram], outcome: &mut Outcome) {
        let attendance = Attendance::of(histograms, self.usage.queries);
        if self.objective == Objective::Published || attendance.only().is_some() {
            return;
        }
        let classes = classes_of(histograms);
        let priced = |point: &Point| {
            let setting = Setting {
                polynomial: point.polynomial.clone(),
                offset: point.offset,
                sampling: self.sampling,
            };
            let price =
                Mechanism::Shield(setting).by_moments_of(classes, &attendance, self.usage.delta);
            Point { epsilon: Cost::Proven(price), ..point.clone() }
        };
        let points: Vec<Point> = outcome.front.points().par_iter().map(priced).collect();
        outcome.front = Front::default();
        for point in points {
            outcome.front.add(point);
        }
    }

    fn search(
        &self,
        histograms: &[Histogram],
        labels: Option<&Labels>,
        watch: &Watch,
    ) -> Result<Outcome, ParameterError> {
        let mut outcome = Outcome { exhaustive: self.is_whole(), ..Outcome::default() };
        let each = |&offset| OffsetSearch::new(self, histograms, labels, offset, watch);
        if self.is_whole() {
            // In turns, so that a search that ends early has seen something of every offset.
            let each = self.offsets.iter().map(each).collect::<Result<Vec<_>, _>>()?;
            let all: Vec<_> = each.iter().map(OffsetSearch::generations).collect();
            for turn in 0..all.iter().map(Vec::len).max().unwrap_or(0) {
                for (one, generations) in each.iter().zip(&all) {
                    if let Some(generation) = generations.get(turn).filter(|_| !watch.is_stopped())
                    {
                        one.weigh(generation, &mut outcome);
                    }
                }
            }
            return Ok(outcome);
        }
        for offset in &self.offsets {
            each(offset)?.outwards(&mut outcome)?;
        }
        Ok(outcome)
    }
}

/// The typical numbers of voters, each with how many samples have it.
fn typical(histograms: &[Histogram], usage: Usage) -> Vec<(Voters, Usage)> {
    let typical = Attendance::of(histograms, usage.queries).typical().into_iter();
    typical.map(|(voters, queries)| (voters, Usage { queries, ..usage })).collect()
}

/// Offsets worth trying on some votes: those at which a few rounds, some and many cost a target,
/// about; without a target those that lead from a strong to a weak promise.
pub fn offsets(histograms: &[Histogram], usage: Usage, target: Option<Epsilon>) -> Vec<Offset> {
    let (typical, classes) = (typical(histograms, usage), classes_of(histograms));
    let cost = |polynomial: &Polynomial, dummies: u32| {
        let Ok(offset) = Offset::new(dummies) else { return 0.0 };
        let (polynomial, sampling) = (polynomial.clone(), Sampling::default());
        let setting = Setting { polynomial, offset, sampling };
        let figures = typical.iter().map(|&(voters, usage)| {
            DataIndependent::new(&setting, classes, voters).worst_suspect(usage)
        });
        figures.fold(0.0, f64::max)
    };
    let affordable = |polynomial: &str, budget: f64| {
        let polynomial = polynomial.parse().unwrap_or_default();
        let tried = &best::OFFSETS;
        let place = tried.partition_point(|&dummies| cost(&polynomial, dummies) > budget);
        tried.get(place).or(tried.last()).and_then(|&dummies| Offset::new(dummies).ok())
    };
    let [few, some, many] = ["2X^3+3X^2+X", "8X^4+6X^3+4X^2+X", "34X^8+2X^4+27X^3+X"];
    let wanted = match target.map(Epsilon::get) {
        Some(target) => vec![(few, target), (some, target), (many, target)],
        None => vec![(some, 8.0), (some, 4.0), (some, 2.0), (some, 1.0)],
    };
    let found: Vec<Option<Offset>> =
        wanted.into_par_iter().map(|(polynomial, budget)| affordable(polynomial, budget)).collect();
    let mut found: Vec<Offset> = found.into_iter().flatten().collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// The search for one offset.
struct OffsetSearch<'a> {
    search: &'a Search,
    offset: Offset,
    evaluator: Evaluator,
    /// The typical numbers of voters with how many samples have them, and the classes: all that the
    /// data-independent figure needs.
    typical: Vec<(Voters, Usage)>,
    classes: Classes,
    /// Pairs of neighbours that were bad for other polynomials, for each number of voters.
    suspects: Mutex<Vec<Suspects>>,
    /// Once it stops the search, what is left is not looked at.
    watch: &'a Watch,
    /// Whether right labels are weighed, not ground-truth accuracy.
    has_truth: bool,
}

impl<'a> OffsetSearch<'a> {
    fn new(
        search: &'a Search,
        histograms: &[Histogram],
        labels: Option<&Labels>,
        offset: Offset,
        watch: &'a Watch,
    ) -> Result<Self, ParameterError> {
        let Space { max_degree, max_terms } = search.space;
        let usage = search.usage;
        let sampling = search.sampling;
        let evaluator =
            Evaluator::new(histograms, labels, offset, sampling, max_degree, max_terms, usage)?;
        let has_truth = labels.is_some();
        let typical = typical(histograms, usage);
        let classes = classes_of(histograms);
        let suspects = Mutex::new(vec![Suspects::default(); typical.len()]);
        Ok(Self { search, offset, evaluator, typical, classes, suspects, watch, has_truth })
    }

    /// Every polynomial of the space with its accuracy, in the order in which they are weighed: the
    /// most accurate first, so that the front soon beats the rest.
    fn generations(&self) -> Vec<Vec<(Coefficients, f64)>> {
        let all = self.search.space.all();
        let accuracies = self.evaluator.accuracy(&all);
        let mut ranked: Vec<(Coefficients, f64)> = all.into_iter().zip(accuracies).collect();
        // A spread over all accuracies first; it builds most of the front.
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
        let seeds = (ranked.len() / SPREAD).max(1);
        let (first, rest): (Vec<_>, Vec<_>) =
            ranked.into_iter().enumerate().partition(|(i, _)| i % seeds == 0);
        let strip = |part: Vec<(usize, (Coefficients, f64))>| -> Vec<(Coefficients, f64)> {
            part.into_iter().map(|(_, candidate)| candidate).collect()
        };
        let (first, rest) = (strip(first), strip(rest));
        first.chunks(SPREAD).chain(rest.chunks(GENERATION)).map(<[_]>::to_vec).collect()
    }

    /// Outwards from a few starting points, along the front.
    fn outwards(&self, outcome: &mut Outcome) -> Result<(), ParameterError> {
        let (space, most) = (self.search.space, self.search.objective.outwards());
        let mut seen: HashSet<Coefficients> = HashSet::new();
        let mut expanded: HashSet<String> = HashSet::new();
        let mut next = space.starts();
        // A proven bound of high degree takes seconds. So the search follows an estimate, the cost
        // of pairs that are bad for others, and only what looks best by it is proven.
        let mut estimated = Outcome::default();
        if self.search.objective == Objective::DataIndependent {
            self.weigh_some(next.clone(), PROVEN_FIRST, outcome);
        }
        while !next.is_empty() && seen.len() < most && !self.watch.is_stopped() {
            // Where there are more than can be tried, evenly spread ones, not the first in the
            // alphabet.
            let room = most - seen.len();
            next = next.iter().step_by(next.len().div_ceil(room)).cloned().collect();
            seen.extend(next.iter().cloned());
            let accuracies = self.evaluator.accuracy(&next);
            let candidates: Vec<(Coefficients, f64)> = next.drain(..).zip(accuracies).collect();
            let found = match self.search.objective {
                Objective::Published => {
                    for generation in candidates.chunks(GENERATION) {
                        self.weigh(generation, outcome);
                    }
                    &outcome.front
                }
                Objective::DataIndependent => {
                    self.estimate(&candidates, &mut estimated)?;
                    &estimated.front
                }
            };
            for point in found.points().iter().filter(|point| point.offset == self.offset) {
                if expanded.insert(point.polynomial.to_string()) {
                    let centre = self.coefficients(point);
                    next.extend(
                        space.around(&centre).into_iter().filter(|near| !seen.contains(near)),
                    );
                }
            }
            next.sort();
            next.dedup();
        }
        let best = estimated.front.points().iter().map(|point| self.coefficients(point)).collect();
        outcome.evaluated += estimated.evaluated;
        outcome.pruned += estimated.evaluated;
        self.weigh_some(best, PROVEN_LAST, outcome);
        Ok(())
    }

    /// The rounds of each degree from 2 up.
    fn coefficients(&self, point: &Point) -> Coefficients {
        let mut rounds = vec![0; self.search.space.max_degree as usize - 1];
        for term in point.polynomial.terms().iter().filter(|term| term.degree > 1) {
            rounds[term.degree as usize - 2] = term.rounds;
        }
        rounds
    }

    /// Weighs at most so many of them, evenly spread.
    fn weigh_some(&self, mut candidates: Vec<Coefficients>, most: usize, outcome: &mut Outcome) {
        let step = candidates.len().div_ceil(most).max(1);
        candidates = candidates.into_iter().step_by(step).collect();
        let accuracies = self.evaluator.accuracy(&candidates);
        let candidates: Vec<(Coefficients, f64)> = candidates.into_iter().zip(accuracies).collect();
        self.weigh(&candidates, outcome);
    }

    /// What some candidates cost at least, as far as the pairs tell that were bad for others.
    fn estimate(
        &self,
        candidates: &[(Coefficients, f64)],
        estimated: &mut Outcome,
    ) -> Result<(), ParameterError> {
        let suspects = lock(&self.suspects).clone();
        let costs: Vec<f64> = candidates
            .par_iter()
            .map(|(coefficients, _)| {
                self.watch.add(1);
                self.at_least(&self.setting(coefficients), &suspects)
            })
            .collect();
        estimated.evaluated += candidates.len();
        for ((coefficients, ground_truth), cost) in candidates.iter().zip(costs) {
            let cost = Cost::AtLeast(Epsilon::new(cost)?);
            estimated.front.add(self.point(coefficients, cost, *ground_truth));
        }
        Ok(())
    }

    fn setting(&self, coefficients: &Coefficients) -> Setting {
        Setting {
            polynomial: polynomial(coefficients),
            offset: self.offset,
            sampling: self.search.sampling,
        }
    }

    fn point(&self, coefficients: &Coefficients, epsilon: Cost, ground_truth: f64) -> Point {
        let polynomial = polynomial(coefficients);
        let right = self.has_truth.then_some(ground_truth);
        Point { right, ..Point::new(polynomial, self.offset, epsilon, ground_truth) }
    }

    fn at_least(&self, setting: &Setting, suspects: &[Suspects]) -> f64 {
        let cost = |(&(voters, usage), suspects): (&(Voters, Usage), &Suspects)| {
            DataIndependent::new(setting, self.classes, voters).at_least(suspects, usage)
        };
        self.typical.iter().zip(suspects).map(cost).fold(0.0, f64::max)
    }

    /// Finds what some candidates cost, and adds them to the front.
    fn weigh(&self, candidates: &[(Coefficients, f64)], outcome: &mut Outcome) {
        let costs = match self.search.objective {
            _ if self.offset.dummies() == 0 => {
                self.watch.add(candidates.len() as u64);
                vec![Some(Cost::AtLeast(Epsilon::INFINITE)); candidates.len()]
            }
            Objective::Published => {
                let polynomials: Vec<Coefficients> =
                    candidates.iter().map(|c| c.0.clone()).collect();
                let front = &outcome.front;
                let hopeless = |i: usize, bound: f64| front.beats(bound, candidates[i].1);
                let told = |done| self.watch.add(done as u64);
                let found = self.evaluator.published(&polynomials, hopeless, told);
                found.into_iter().map(|price| price.map(Cost::FromVotes)).collect()
            }
            Objective::DataIndependent => self.data_independent(candidates, &outcome.front),
        };
        outcome.evaluated += candidates.len();
        for ((coefficients, ground_truth), cost) in candidates.iter().zip(costs) {
            let Some(cost) = cost else {
                outcome.pruned += 1;
                continue;
            };
            outcome.cloud.push((cost.get(), *ground_truth));
            outcome.front.add(self.point(coefficients, cost, *ground_truth));
        }
    }

    fn data_independent(
        &self,
        candidates: &[(Coefficients, f64)],
        front: &Front,
    ) -> Vec<Option<Cost>> {
        // What was finished in this generation beats later candidates too.
        let local = Mutex::new(front.clone());
        candidates
            .par_iter()
            .map(|(coefficients, ground_truth)| {
                if self.watch.is_stopped() {
                    return None;
                }
                let setting = self.setting(coefficients);
                let suspects = lock(&self.suspects).clone();
                let worst = self.at_least(&setting, &suspects);
                let beaten = lock(&local).beats(worst, *ground_truth);
                self.watch.add(1);
                if beaten {
                    return None;
                }
                let mut cost = Proven::free(self.search.usage.delta);
                for (i, &(voters, usage)) in self.typical.iter().enumerate() {
                    let mut figure = DataIndependent::new(&setting, self.classes, voters);
                    cost = cost.larger(figure.epsilon(usage));
                    lock(&self.suspects)[i].merge(figure.suspects());
                }
                let cost = Cost::Proven(cost);
                lock(&local).add(self.point(coefficients, cost, *ground_truth));
                Some(cost)
            })
            .collect()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
