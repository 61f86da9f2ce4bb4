//! The ground of a climb: how accurate each place is, what it costs at least, and the way up.

use std::ops::ControlFlow;

use rayon::prelude::*;

use super::{Climb, Composition};
use crate::attendance::Attendance;
use crate::data_independent::{DataIndependent, Suspects};
use crate::price::Proven;
use crate::rounds::{Rounds, geometric};
use crate::tune::space::{Coefficients, polynomial};
use crate::{Mechanism, Usage};
use shield_core::Watch;
use shield_core::histogram::Histogram;
use shield_core::parameters::{Classes, ParameterError, Voters};
use shield_core::polynomial::Term;
use shield_core::setting::Setting;
use shield_core::votes::Labels;

/// How often the budget is corrected after a proof that missed it.
const PROOFS: usize = 4;
/// How many of the most promising moves are computed at each step.
const TRIED: usize = 96;
/// By how much moments usually exceed tight composition: where the first climb ends.
const LOOSER: f64 = 1.1;
/// The first place in [`Counts`] whose rounds may change in number: degree 2.
const FIRST: usize = 1;

/// One kind of sample: whose class is wanted, and what a round of each degree does.
#[derive(Clone, Debug)]
struct Sample {
    weight: f64,
    /// By degree from 1: the chance that a round is unanimous for the wanted class, and
    /// the chance that it is not unanimous at all.
    degrees: Vec<(f64, f64)>,
}

impl Sample {
    /// The probability of the wanted class.
    fn right(&self, rounds: &[u32]) -> f64 {
        let (mut right, mut reached) = (0.0, 1.0);
        for (&count, &(wanted, miss)) in rounds.iter().zip(&self.degrees).rev() {
            if count > 0 {
                right += reached * wanted * geometric(count, miss).sum;
                reached *= miss.powi(i32::try_from(count).unwrap_or(i32::MAX));
            }
        }
        right
    }
}

/// How many rounds there are of degree 1, 2, ...; always one of degree 1, so that no sample goes
/// without a label.
pub(super) type Counts = Vec<u32>;

/// A place on the way up.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) counts: Counts,
    pub(super) right: f64,
    pub(super) at_least: f64,
}

/// A climb on some votes.
#[derive(Debug)]
pub(super) struct Mountain<'a> {
    climb: &'a Climb,
    samples: Vec<Sample>,
    classes: Classes,
    typical: Vec<(Voters, Usage)>,
    attendance: Attendance,
    suspects: Vec<Suspects>,
}

impl<'a> Mountain<'a> {
    pub(super) fn new(
        climb: &'a Climb,
        histograms: &[Histogram],
        labels: Option<&Labels>,
    ) -> Result<Self, ParameterError> {
        let classes = Classes::new(histograms.first().map_or(2, Histogram::classes))?;
        let attendance = Attendance::of(histograms, climb.usage.queries);
        let typical = attendance.typical().into_iter();
        let typical: Vec<(Voters, Usage)> =
            typical.map(|(voters, queries)| (voters, Usage { queries, ..climb.usage })).collect();
        let (suspects, samples) = (vec![Suspects::default(); typical.len()], Vec::new());
        let mut mountain = Self { climb, samples, classes, typical, attendance, suspects };
        let weight = 1.0 / histograms.len().max(1) as f64;
        let all = vec![1; climb.max_degree as usize];
        let sample = |(sample, histogram): (usize, &Histogram)| {
            let truth = labels.map(|labels| labels.as_slice()[sample]);
            let wanted = match truth {
                Some(truth) => truth?,
                None => histogram.leaders().next()?,
            };
            let count = u32::try_from(histogram.voters()).ok()?;
            let rounds = mountain.rounds(&all, count);
            let entries = |votes: u32| f64::from(votes) + f64::from(rounds.offset);
            let degree = |term: &Term| {
                let miss = histogram.counts().iter().map(|&votes| {
                    entries(votes) / rounds.size * rounds.miss(term.degree, entries(votes))
                });
                let wanted = entries(histogram.counts()[wanted.index()]);
                (rounds.log_unanimous(term.degree, wanted).exp(), miss.sum::<f64>().min(1.0))
            };
            Some(Sample { weight, degrees: rounds.terms.iter().map(degree).collect() })
        };
        let samples = histograms.par_iter().enumerate().filter_map(sample).collect();
        mountain.samples = samples;
        Ok(mountain)
    }

    /// Where climbs start: few rounds and many, in the middle degrees or in all.
    fn starts(&self) -> Vec<Counts> {
        let most = self.climb.max_terms.saturating_sub(1);
        let spread = |weights: &mut dyn Iterator<Item = u32>, total: u32| {
            let mut counts = vec![0; self.climb.max_degree as usize];
            for (count, weight) in counts[FIRST..].iter_mut().zip(weights) {
                *count = total * weight / 32;
            }
            counts[0] += 1;
            counts
        };
        [most.min(16), most / 4, most / 2, most]
            .into_iter()
            .flat_map(|total| {
                let middle = spread(&mut [4, 8, 10, 6, 4].into_iter(), total);
                let each = 32 / self.climb.max_degree.max(1);
                [middle, spread(&mut std::iter::repeat(each), total)]
            })
            .collect()
    }

    pub(super) fn setting(&self, counts: &Counts) -> Setting {
        let coefficients: Coefficients = counts[1..].to_vec();
        Setting {
            polynomial: polynomial(&coefficients),
            offset: self.climb.offset,
            sampling: self.climb.sampling,
        }
    }

    fn rounds(&self, counts: &Counts, voters: u32) -> Rounds {
        Rounds::new(&self.setting(counts), self.classes, voters)
    }

    /// What the samples of each typical turnout cost.
    fn figures(&self, counts: &Counts) -> impl Iterator<Item = (DataIndependent, Usage)> {
        let figure = |&(voters, usage): &(Voters, Usage)| {
            (DataIndependent::of_rounds(self.rounds(counts, voters.count())), usage)
        };
        self.typical.iter().map(figure)
    }

    pub(super) fn right(&self, counts: &Counts) -> f64 {
        self.samples.iter().map(|sample| sample.weight * sample.right(counts)).sum()
    }

    fn at_least(&self, counts: &Counts) -> f64 {
        let costs = self.figures(counts).zip(&self.suspects);
        let costs = costs.map(|((figure, usage), suspects)| figure.at_least(suspects, usage));
        costs.fold(0.0, f64::max)
    }

    /// A place with what it costs, after looking for pairs that are worse for it than the known
    /// suspects.
    fn place(&mut self, counts: Counts) -> Place {
        let figures: Vec<(DataIndependent, Usage)> = self.figures(&counts).collect();
        for ((figure, usage), suspects) in figures.iter().zip(&mut self.suspects) {
            figure.suspect(suspects, *usage);
        }
        Place { right: self.right(&counts), at_least: self.at_least(&counts), counts }
    }

    /// The proven cost. The pairs that were worst in the proof are suspects from then on.
    pub(super) fn prove(&mut self, counts: &Counts, how: Composition) -> Proven {
        let figures: Vec<(DataIndependent, Usage)> = self.figures(counts).collect();
        let delta = self.climb.usage.delta;
        let mut most = Proven::free(delta);
        if self.attendance.only().is_none() {
            let mechanism = Mechanism::Shield(self.setting(counts));
            most = match how {
                Composition::Moments => {
                    mechanism.by_moments_of(self.classes, &self.attendance, delta)
                }
                Composition::Tight => mechanism
                    .price(self.classes, &self.attendance, delta, &Watch::default())
                    .price(),
            };
        }
        for ((mut figure, usage), suspects) in figures.into_iter().zip(&mut self.suspects) {
            let next = match how {
                Composition::Moments => figure.epsilon(usage),
                Composition::Tight => figure.exact(usage),
            };
            suspects.merge(figure.suspects());
            most = most.larger(next);
        }
        most
    }

    /// The most accurate place whose proven cost is within the budget, and that cost.
    ///
    /// Moments are proven in seconds, so they come first; tight composition, which takes minutes
    /// for hundreds of rounds, then allows a little more.
    pub(super) fn summit(&mut self, watch: &Watch) -> Option<(Place, Proven)> {
        let most = self.climb.budget.get();
        let (mut here, mut stopped) = self.climb_all_starts(most, watch)?;
        let mut best: Option<(Place, Proven)> = None;
        let mut budget = most;
        for how in [Composition::Moments, Composition::Tight] {
            for _ in 0..PROOFS {
                let epsilon = self.prove(&here.counts, how);
                here.at_least = self.at_least(&here.counts);
                let better = best.as_ref().is_none_or(|(best, _)| here.right > best.right);
                if epsilon <= self.climb.budget && better {
                    best = Some((here.clone(), epsilon));
                }
                let ratio = epsilon.get() / here.at_least.max(f64::MIN_POSITIVE);
                let next = most / ratio;
                // Close enough: another climb would gain next to nothing.
                let close = epsilon <= self.climb.budget && next < budget * 1.005;
                if close || !ratio.is_finite() || (stopped && best.is_some()) {
                    break;
                }
                budget = if epsilon > self.climb.budget { next.min(budget) * 0.998 } else { next };
                stopped |= self.up(&mut here, budget, watch).is_break();
            }
            // Whoever wants to stop gets what moments have proven.
            if stopped || best.is_none() || self.climb.composition == Composition::Moments {
                break;
            }
            budget = LOOSER * most;
            stopped = self.up(&mut here, budget, watch).is_break();
            if stopped {
                break;
            }
        }
        best
    }

    /// The best place that is reached from any of the starts, and whether the climb was stopped.
    fn climb_all_starts(&mut self, budget: f64, watch: &Watch) -> Option<(Place, bool)> {
        let mut best: Option<Place> = None;
        for start in self.starts() {
            let mut here = self.place(start);
            let stopped = self.up(&mut here, budget, watch).is_break();
            let merit = |place: &Place| Self::merit(place.right, place.at_least, budget);
            if best.as_ref().is_none_or(|best| merit(&here) > merit(best)) {
                best = Some(here);
            }
            if stopped {
                return best.map(|best| (best, true));
            }
        }
        best.map(|best| (best, false))
    }

    /// How good a place is: its accuracy, less what it exceeds the budget by.
    fn merit(right: f64, at_least: f64, budget: f64) -> f64 {
        right - 10.0 * (at_least / budget - 1.0).max(0.0)
    }

    /// Up as far as it goes.
    fn up(&mut self, here: &mut Place, budget: f64, watch: &Watch) -> ControlFlow<()> {
        let mut stride = (self.climb.max_terms / 8).next_power_of_two().max(1);
        while stride >= 1 {
            watch.add(0);
            if watch.is_stopped() {
                return ControlFlow::Break(());
            }
            match self.better(here, stride, budget) {
                Some(better) => *here = better,
                None => stride /= 2,
            }
        }
        ControlFlow::Continue(())
    }

    /// The best place one stride away, if it is better than here.
    ///
    /// What each degree gains and costs on its own is computed exactly. Two degrees changed at once
    /// gain and cost nearly the sum of both, so that sum ranks the pairs, and only the best are
    /// computed.
    fn better(&mut self, here: &Place, stride: u32, budget: f64) -> Option<Place> {
        let merit = Self::merit(here.right, here.at_least, budget);
        let changes: Vec<Change> = changes(&here.counts, stride)
            .into_par_iter()
            .map(|(degree, counts)| {
                let right = self.right(&counts) - here.right;
                let cost = (self.at_least(&counts) / here.at_least).ln();
                Change { degree, counts, right, cost }
            })
            .collect();
        let mut ranked: Vec<(f64, Counts)> = Vec::new();
        let mut rank = |counts: Counts, right: f64, cost: f64| {
            if (1..=self.climb.max_terms).contains(&counts.iter().sum::<u32>()) {
                let estimate = Self::merit(here.right + right, here.at_least * cost.exp(), budget);
                ranked.push((estimate, counts));
            }
        };
        for (i, one) in changes.iter().enumerate() {
            rank(one.counts.clone(), one.right, one.cost);
            for other in changes[..i].iter().filter(|other| other.degree != one.degree) {
                let mut counts = one.counts.clone();
                counts[other.degree] = other.counts[other.degree];
                rank(counts, one.right + other.right, one.cost + other.cost);
            }
        }
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        ranked.truncate(TRIED);
        let whole = self.as_a_whole(&here.counts).into_iter();
        ranked.extend(whole.map(|counts| (0.0, counts)));
        let tried = ranked.into_par_iter().map(|(_, counts)| {
            (Self::merit(self.right(&counts), self.at_least(&counts), budget), counts)
        });
        let best = tried.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        let (_, counts) = best.filter(|best| best.0 > merit + 1e-9)?;
        let place = self.place(counts);
        // With the new suspects the place may cost more than it seemed.
        (Self::merit(place.right, place.at_least, budget) > merit + 1e-9).then_some(place)
    }
}

impl Mountain<'_> {
    /// More or fewer rounds of all degrees from 2 up, or all of them one degree up or down.
    fn as_a_whole(&self, counts: &Counts) -> Vec<Counts> {
        let scaled = |num: u32, den: u32| {
            let mut all = counts.clone();
            for rounds in &mut all[FIRST..] {
                *rounds = rounds.saturating_mul(num) / den;
            }
            all
        };
        let (mut up, mut down) = (counts.clone(), counts.clone());
        up[FIRST..].rotate_right(1);
        down[FIRST..].rotate_left(1);
        let most = self.climb.max_terms;
        let all = [scaled(1, 2), scaled(4, 5), scaled(5, 4), scaled(2, 1), up, down];
        let fits = |all: &Counts| (1..=most).contains(&all.iter().sum::<u32>());
        all.into_iter().filter(fits).collect()
    }
}

/// One degree with more or fewer rounds, and what that changes.
struct Change {
    degree: usize,
    counts: Counts,
    /// The accuracy gained.
    right: f64,
    /// ln of the ratio of the costs.
    cost: f64,
}

/// More or fewer rounds of each degree from 2 up, by about one stride.
fn changes(counts: &Counts, stride: u32) -> Vec<(usize, Counts)> {
    let mut changes = Vec::new();
    for degree in FIRST..counts.len() {
        let here = counts[degree];
        let strides = [stride.div_ceil(2), stride, stride.saturating_mul(2)];
        let fewer = strides.iter().map(|&stride| here.saturating_sub(stride));
        let more = strides.iter().map(|&stride| here.saturating_add(stride));
        let mut others: Vec<u32> = fewer.chain(more).filter(|&other| other != here).collect();
        others.sort_unstable();
        others.dedup();
        for other in others {
            let mut changed = counts.clone();
            changed[degree] = other;
            changes.push((degree, changed));
        }
    }
    changes
}
