//! The most accurate polynomial for a budget, in spaces far too large to list.
//!
//! Accuracy grows with the rounds, up to hundreds of them, and so does the number of polynomials.
//! [`Climb`] starts from one and moves rounds between degrees, by ever smaller steps, to the most
//! accurate neighbour that the budget allows, until none is left.
//!
//! Two things make a step cheap. *Accuracy*: whether a round of degree p is unanimous, and for
//! whom, does not depend on how many such rounds there are, so both are computed once per
//! histogram; a polynomial's accuracy is then a sum of geometric series over its degrees. *Cost*:
//! while it climbs, a polynomial costs what the worst of some suspicious pairs of neighbours costs,
//! and new suspects are looked for after every step. That is a lower bound. At the end the cost is
//! proven; where the proof exceeds the budget, the climb goes on with as much less to spend.

use std::ops::ControlFlow;

use rayon::prelude::*;

use super::space::{Coefficients, polynomial};
use crate::histogram::Histogram;
use crate::parameters::{Classes, Epsilon, Offset, ParameterError, Sampling, Voters};
use crate::privacy::Usage;
use crate::privacy::data_independent::{DataIndependent, Suspects, voters};
use crate::privacy::rounds::{Rounds, geometric};
use crate::setting::Setting;
use crate::votes::Labels;

/// The largest degree of a climb.
pub const MAX_DEGREE: u32 = 16;
/// The largest number of rounds of a climb.
pub const MAX_TERMS: u32 = 512;

/// How often the budget is tightened after a proof that exceeded it.
const PROOFS: usize = 6;

/// What to look for.
#[derive(Clone, Debug)]
pub struct Climb {
    /// The largest degree, from 2 to [`MAX_DEGREE`].
    pub max_degree: u32,
    /// The most rounds, at most [`MAX_TERMS`].
    pub max_terms: u32,
    /// The dummies of each class.
    pub offset: Offset,
    /// How rounds draw.
    pub sampling: Sampling,
    /// Queries and delta.
    pub usage: Usage,
    /// What the labels may cost, proven.
    pub budget: Epsilon,
}

/// The best that a climb found.
#[derive(Clone, Debug)]
pub struct Summit {
    /// The setting.
    pub setting: Setting,
    /// The expected share of right labels, or of the majority's where no labels were given.
    pub right: f64,
    /// The proven cost.
    pub epsilon: Epsilon,
}

/// How far a climb is: told after every step.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The accuracy reached.
    pub right: f64,
    /// What it costs at least.
    pub at_least: f64,
    /// How many rounds are moved at a time; 1 is the last size.
    pub stride: u32,
}

/// One kind of sample: whose class is wanted, and what a round of each degree does.
#[derive(Clone, Debug)]
struct Kind {
    weight: f64,
    /// By degree from 1: the chance that a round is unanimous for the wanted class, and the chance
    /// that it is not unanimous at all.
    degrees: Vec<(f64, f64)>,
}

impl Kind {
    /// The probability of the wanted class.
    fn right(&self, rounds: &[u32]) -> f64 {
        let (mut right, mut reached) = (0.0, 1.0);
        for (&count, &(wanted, miss)) in rounds.iter().zip(&self.degrees).rev() {
            if count > 0 {
                right += reached * wanted * geometric(count, miss).sum;
                reached *= miss.powf(f64::from(count));
            }
        }
        right
    }
}

/// A polynomial by its rounds of degree 1, 2, ...; there is always one of degree 1, so that no
/// sample goes without a label.
type Counts = Vec<u32>;

/// A place on the way up.
#[derive(Clone, Debug)]
struct Place {
    counts: Counts,
    right: f64,
    at_least: f64,
}

/// A climb on some votes.
#[derive(Debug)]
struct Mountain<'a> {
    climb: &'a Climb,
    kinds: Vec<Kind>,
    classes: Classes,
    voters: Vec<Voters>,
    suspects: Vec<Suspects>,
}

impl Climb {
    /// Climbs, on the votes of some samples. With labels, right is what equals them; without, what
    /// the majority voted. `None` if not even a single round of degree 1 is within the budget.
    ///
    /// `told` hears of every step and may stop the climb; what was reached is then proven and
    /// returned.
    pub fn run(
        &self,
        histograms: &[Histogram],
        labels: Option<&Labels>,
        told: &mut dyn FnMut(Step) -> ControlFlow<()>,
    ) -> Result<Option<Summit>, ParameterError> {
        let mut mountain = Mountain::new(self, histograms, labels)?;
        let mut budget = self.budget.get();
        let mut here = mountain.place(mountain.start());
        let mut best: Option<Summit> = None;
        for _ in 0..PROOFS {
            let stopped = mountain.up(&mut here, budget, told).is_break();
            let setting = mountain.setting(&here.counts);
            let epsilon = mountain.prove(&setting);
            if epsilon <= self.budget && best.as_ref().is_none_or(|best| here.right > best.right) {
                best = Some(Summit { setting, right: here.right, epsilon });
            }
            let ratio = epsilon.get() / here.at_least.max(f64::MIN_POSITIVE);
            let next = self.budget.get() / ratio;
            // Close enough: another climb would gain next to nothing.
            let close = epsilon <= self.budget && next < budget * 1.002;
            if stopped || close || !ratio.is_finite() {
                break;
            }
            budget = if epsilon > self.budget { next.min(budget * 0.995) } else { next };
        }
        Ok(best)
    }
}

impl<'a> Mountain<'a> {
    fn new(
        climb: &'a Climb,
        histograms: &[Histogram],
        labels: Option<&Labels>,
    ) -> Result<Self, ParameterError> {
        let classes = Classes::new(histograms.first().map_or(2, Histogram::classes))?;
        let voters = voters(histograms);
        let all = Setting {
            polynomial: polynomial(&vec![1; climb.max_degree as usize - 1]),
            offset: climb.offset,
            sampling: climb.sampling,
        };
        let weight = 1.0 / histograms.len().max(1) as f64;
        let kind = |(sample, histogram): (usize, &Histogram)| {
            let truth = labels.map(|labels| labels.as_slice()[sample]);
            let wanted = match truth {
                Some(truth) => truth?,
                None => histogram.leaders().next()?,
            };
            let count = u32::try_from(histogram.voters()).ok()?;
            let rounds = Rounds::new(&all, classes, count);
            let entries = |votes: u32| f64::from(votes) + f64::from(rounds.offset);
            let degree = |degree| {
                let miss = histogram.counts().iter().map(|&votes| {
                    entries(votes) / rounds.size * rounds.miss(degree, entries(votes))
                });
                let wanted = entries(histogram.counts()[wanted.index()]);
                (rounds.log_unanimous(degree, wanted).exp(), miss.sum::<f64>().min(1.0))
            };
            Some(Kind { weight, degrees: (1..=climb.max_degree).map(degree).collect() })
        };
        let kinds = histograms.par_iter().enumerate().filter_map(kind).collect();
        let suspects = vec![Suspects::default(); voters.len()];
        Ok(Self { climb, kinds, classes, voters, suspects })
    }

    /// One round of degree 1, and of the others what is usual: more of the middle degrees.
    fn start(&self) -> Counts {
        let mut counts = vec![0; self.climb.max_degree as usize];
        counts[0] = 1;
        let most = self.climb.max_terms.saturating_sub(1);
        for (count, share) in counts[1..].iter_mut().zip([4, 6, 8, 6, 4]) {
            *count = (most / 32).min(share);
        }
        counts
    }

    fn setting(&self, counts: &Counts) -> Setting {
        let coefficients: Coefficients = counts[1..].to_vec();
        Setting {
            polynomial: polynomial(&coefficients),
            offset: self.climb.offset,
            sampling: self.climb.sampling,
        }
    }

    fn right(&self, counts: &Counts) -> f64 {
        self.kinds.iter().map(|kind| kind.weight * kind.right(counts)).sum()
    }

    fn at_least(&self, counts: &Counts) -> f64 {
        let setting = self.setting(counts);
        let cost = |(&voters, suspects): (&Voters, &Suspects)| {
            DataIndependent::new(&setting, self.classes, voters)
                .at_least(suspects, self.climb.usage)
        };
        self.voters.iter().zip(&self.suspects).map(cost).fold(0.0, f64::max)
    }

    /// A place with what it costs, after looking for pairs that are worse for it than the known
    /// suspects.
    fn place(&mut self, counts: Counts) -> Place {
        let setting = self.setting(&counts);
        for (&voters, suspects) in self.voters.iter().zip(&mut self.suspects) {
            DataIndependent::new(&setting, self.classes, voters)
                .suspect(suspects, self.climb.usage);
        }
        Place { right: self.right(&counts), at_least: self.at_least(&counts), counts }
    }

    fn prove(&self, setting: &Setting) -> Epsilon {
        let proven = self.voters.iter().map(|&voters| {
            DataIndependent::new(setting, self.classes, voters).exact(self.climb.usage)
        });
        proven.fold(Epsilon::ZERO, |most, next| if next > most { next } else { most })
    }

    /// How good a place is: its accuracy, less what it exceeds the budget by.
    fn merit(right: f64, at_least: f64, budget: f64) -> f64 {
        right - 10.0 * (at_least / budget - 1.0).max(0.0)
    }

    /// Up as far as it goes.
    fn up(
        &mut self,
        here: &mut Place,
        budget: f64,
        told: &mut dyn FnMut(Step) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut stride = (self.climb.max_terms / 8).next_power_of_two().max(1);
        while stride >= 1 {
            told(Step { right: here.right, at_least: here.at_least, stride })?;
            match self.better(here, stride, budget) {
                Some(better) => *here = better,
                None => stride /= 2,
            }
        }
        ControlFlow::Continue(())
    }

    /// The best place one stride away, if it is better than here.
    fn better(&mut self, here: &Place, stride: u32, budget: f64) -> Option<Place> {
        let merit = Self::merit(here.right, here.at_least, budget);
        let moves = self.moves(&here.counts, stride);
        let mut ranked: Vec<(f64, Counts)> =
            moves.into_par_iter().map(|counts| (self.right(&counts), counts)).collect();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
        // Nothing is better than its accuracy: what is less accurate than the best so far is good
        // cannot beat it, so most costs are never computed.
        let mut best: Option<(f64, Counts)> = None;
        for some in ranked.chunks(16) {
            let bar = best.as_ref().map_or(merit + 1e-9, |best| best.0);
            if some[0].0 <= bar {
                break;
            }
            let weighed = some.par_iter().map(|(right, counts)| {
                (Self::merit(*right, self.at_least(counts), budget), counts)
            });
            let weighed = weighed.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(a.1)));
            if let Some((found, counts)) = weighed.filter(|weighed| weighed.0 > bar) {
                best = Some((found, counts.clone()));
            }
        }
        let (_, counts) = best?;
        let place = self.place(counts);
        // With the new suspects the place may cost more than it seemed.
        (Self::merit(place.right, place.at_least, budget) > merit + 1e-9).then_some(place)
    }

    /// More or fewer rounds of one degree, or some of one degree for some of another.
    fn moves(&self, counts: &Counts, stride: u32) -> Vec<Counts> {
        let degrees = 1..counts.len();
        let mut moves = Vec::new();
        let mut add = |counts: Counts| {
            if counts.iter().sum::<u32>() <= self.climb.max_terms {
                moves.push(counts);
            }
        };
        for more in degrees.clone() {
            let mut grown = counts.clone();
            grown[more] += stride;
            for less in degrees.clone().filter(|&less| less != more && counts[less] > 0) {
                for stride in [stride / 2, stride, 2 * stride] {
                    let mut moved = grown.clone();
                    moved[less] = moved[less].saturating_sub(stride.max(1));
                    add(moved);
                }
            }
            add(grown);
            if counts[more] > 0 {
                let mut shrunk = counts.clone();
                shrunk[more] = shrunk[more].saturating_sub(stride);
                add(shrunk);
            }
        }
        moves.sort();
        moves.dedup();
        moves
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accuracy::Accuracy;
    use crate::synthetic;

    fn small() -> (Vec<Histogram>, Labels) {
        let (votes, labels) = synthetic::votes(50, Classes::new(3).unwrap(), 40, 1).unwrap();
        (votes.histograms().collect(), labels)
    }

    fn climb(budget: f64, max_degree: u32, max_terms: u32) -> Climb {
        Climb {
            max_degree,
            max_terms,
            offset: Offset::new(3).unwrap(),
            sampling: Sampling::default(),
            usage: Usage::default(),
            budget: Epsilon::new(budget).unwrap(),
        }
    }

    #[test]
    fn accuracy_is_that_of_the_law() {
        let (histograms, labels) = small();
        for sampling in [Sampling::WithReplacement, Sampling::WithoutReplacement] {
            let climb = Climb { sampling, ..climb(4.0, 5, 40) };
            for labels in [Some(&labels), None] {
                let mountain = Mountain::new(&climb, &histograms, labels).unwrap();
                for counts in [vec![1, 0, 0, 0, 0], vec![1, 4, 3, 0, 2], vec![1, 0, 0, 0, 9]] {
                    let setting = mountain.setting(&counts);
                    let law = Accuracy::of(&setting, &histograms, labels);
                    let expected = law.correct_labels.map(|right| right / histograms.len() as f64);
                    let expected = expected.unwrap_or(law.argmax);
                    let found = mountain.right(&counts);
                    assert!((found - expected).abs() < 1e-12, "{counts:?}: {found} {expected}");
                }
            }
        }
    }

    #[test]
    fn the_summit_is_proven_and_nothing_small_beats_it() {
        let (histograms, labels) = small();
        let climb = climb(6.0, 3, 12);
        let told = &mut |_| ControlFlow::Continue(());
        let summit = climb.run(&histograms, Some(&labels), told).unwrap().unwrap();
        assert!(summit.epsilon <= climb.budget);
        let mountain = Mountain::new(&climb, &histograms, Some(&labels)).unwrap();
        // Every polynomial of the space, by its cost on the worst pairs: all that could be better
        // are within the slack of the proof.
        for squares in 0..12 {
            for cubes in 0..12 - squares {
                let counts = vec![1, squares, cubes];
                if mountain.right(&counts) > summit.right + 1e-3 {
                    let setting = mountain.setting(&counts);
                    let proven = mountain.prove(&setting);
                    assert!(
                        proven > climb.budget,
                        "{counts:?} costs {proven} and beats {summit:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_climb_that_is_stopped_keeps_what_it_has() {
        let (histograms, labels) = small();
        let told = &mut |_| ControlFlow::Break(());
        let summit = climb(8.0, 4, 60).run(&histograms, Some(&labels), told).unwrap();
        assert!(summit.is_none_or(|summit| summit.epsilon.get() <= 8.0));
    }

    #[test]
    fn nothing_fits_a_budget_of_next_to_nothing() {
        let (histograms, labels) = small();
        let told = &mut |_| ControlFlow::Continue(());
        assert!(climb(1e-3, 3, 10).run(&histograms, Some(&labels), told).unwrap().is_none());
    }
}
