//! How the tuned rows get their settings: by a search, or from the table of polynomials that the
//! project knows.

use serde::{Deserialize, Serialize};
use shield_bfv::BfvEngine;
use shield_core::Watch;
use shield_core::{
    Classes, Election, Epsilon, Histogram, Offset, Polynomial, Sampling, Setting, Voters, Votes,
};
use shield_privacy::data_independent::{self, DataIndependent};
use shield_privacy::mechanism::best;
use shield_privacy::tune::front::{Cost, Point};
use shield_privacy::tune::{Objective, Search, Space};
use shield_privacy::{Mechanism, Proven, Usage};

use crate::error::LearnError;

/// A setting that tuning chose.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Tuned {
    /// The epsilon that it may cost at most.
    pub target: f64,
    /// Its polynomial.
    pub polynomial: Polynomial,
    /// Its offset.
    pub offset: Offset,
}

/// Where the tuned rows come from.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Tuning {
    pub(super) chosen: Vec<Tuned>,
    pub(super) front: Vec<Point>,
}

/// The most samples that the known polynomials are compared on.
const COMPARED_ON: usize = 1000;

/// What settings are chosen for.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) votes: &'a Votes,
    pub(super) queries: usize,
    pub(super) usage: Usage,
    pub(super) watch: &'a Watch,
}

/// How settings are chosen.
#[derive(Clone, Debug)]
pub(super) enum Choice {
    /// The most accurate of all polynomials in a space.
    Search(TuningSpace),
    /// The most accurate of the known polynomials, with the offset that fits: where there are so
    /// many classes that a search takes hours.
    Table {
        /// The epsilons of the rows.
        targets: Vec<f64>,
        /// More epsilons, for the figure.
        curve: Vec<f64>,
    },
}

impl Choice {
    /// The most rounds that the paper's fronts may have; 0 where there is no search.
    pub(super) fn max_terms(&self) -> u32 {
        match self {
            Self::Search(search) => search.space.max_terms,
            Self::Table { .. } => 0,
        }
    }

    /// What the tuned rows may cost.
    pub(super) fn targets(&self) -> &[f64] {
        match self {
            Self::Search(search) => &search.targets,
            Self::Table { targets, .. } => targets,
        }
    }

    /// How it chooses, in words.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Search(search) => {
                let Space { max_degree, max_terms } = search.space;
                let offsets: Vec<u32> = search.offsets.iter().map(|w| w.dummies()).collect();
                format!("degree {max_degree}, {max_terms} rounds, offsets {offsets:?}")
            }
            Self::Table { curve, .. } => format!("known polynomials, epsilons {curve:?}"),
        }
    }

    /// How many steps it takes.
    pub(super) fn work(&self, usage: Usage) -> u64 {
        match self {
            Self::Search(search) => search.search(usage).work(),
            Self::Table { targets, curve } => (targets.len() + curve.len()) as u64,
        }
    }

    /// For each target, the most accurate setting that costs no more and that the engine can run.
    pub(super) fn tune(&self, asked: Asked) -> Result<Tuning, LearnError> {
        match self {
            Self::Search(search) => search.tune(asked),
            Self::Table { targets, curve } => from_table(targets, curve, asked),
        }
    }
}

/// The setting of a polynomial and an offset.
pub(super) fn setting(polynomial: Polynomial, offset: Offset) -> Setting {
    Setting { polynomial, offset, sampling: Sampling::default() }
}

impl Asked<'_> {
    /// Whether the engine can run a setting.
    fn runs(&self, polynomial: &Polynomial, offset: Offset) -> bool {
        let (votes, setting) = (self.votes, setting(polynomial.clone(), offset));
        Election::new(votes.teachers(), votes.classes(), self.queries, setting)
            .is_ok_and(|election| BfvEngine::new(election).is_ok())
    }
}

fn from_table(targets: &[f64], curve: &[f64], asked: Asked) -> Result<Tuning, LearnError> {
    let Asked { votes, usage, watch, .. } = asked;
    // Evenly spread: candidates are told apart by fewer samples than there are.
    let step = votes.samples().div_ceil(COMPARED_ON).max(1);
    let histograms: Vec<Histogram> = votes.histograms().step_by(step).collect();
    let best = |target: f64| -> Result<Option<Point>, LearnError> {
        let found = best::shield_within(Epsilon::new(target)?, &histograms, None, usage);
        watch.add(1);
        let fits = |candidate: &best::Candidate| {
            let setting = &candidate.setting;
            asked.runs(&setting.polynomial, setting.offset)
        };
        Ok(found.into_iter().find(fits).map(|candidate| {
            let accuracy = Mechanism::Shield(candidate.setting.clone()).accuracy(&histograms, None);
            let Setting { polynomial, offset, .. } = candidate.setting;
            Point::new(polynomial, offset, Cost::Proven(candidate.epsilon), accuracy.ground_truth)
        }))
    };
    let (mut chosen, mut front) = (Vec::new(), Vec::new());
    for &target in targets {
        let point = best(target)?.ok_or(LearnError::NothingAffordable { target })?;
        let (polynomial, offset) = (point.polynomial.clone(), point.offset);
        chosen.push(Tuned { target, polynomial, offset });
        front.push(point);
    }
    for &epsilon in curve {
        front.extend(best(epsilon)?);
    }
    front.sort_by(|a, b| a.epsilon.get().total_cmp(&b.epsilon.get()));
    front.dedup();
    Ok(Tuning { chosen, front })
}

/// What a search goes through.
#[derive(Clone, Debug)]
pub(super) struct TuningSpace {
    pub(super) space: Space,
    pub(super) offsets: Vec<Offset>,
    pub(super) targets: Vec<f64>,
    /// How many samples the ground-truth accuracy of a candidate is measured on.
    pub(super) samples: usize,
    /// Polynomials outside of the space that are candidates, too: else a small search would tune to
    /// less than what everybody knows.
    pub(super) known: Vec<Polynomial>,
}

impl TuningSpace {
    /// For each target, the most accurate setting that costs no more and that the engine can run.
    fn tune(&self, asked: Asked) -> Result<Tuning, LearnError> {
        let Asked { votes, usage, watch, .. } = asked;
        let search = self.search(usage);
        let histograms: Vec<Histogram> = votes.histograms().take(self.samples).collect();
        let front = search.run(&histograms, None, watch)?.front.into_points();
        let mut chosen = Vec::new();
        let known = self.known_points(&histograms, usage);
        let mut all: Vec<&Point> = front.iter().chain(&known).collect();
        all.sort_by(|a, b| b.ground_truth.total_cmp(&a.ground_truth));
        for &target in &self.targets {
            let affordable = |point: &&&Point| point.epsilon.get() <= target;
            let mut best = all.iter().filter(affordable);
            let best = best.find(|p| asked.runs(&p.polynomial, p.offset));
            let best = best.ok_or(LearnError::NothingAffordable { target })?;
            chosen.push(Tuned { target, polynomial: best.polynomial.clone(), offset: best.offset });
        }
        Ok(Tuning { chosen, front })
    }

    /// The known polynomials with every offset, and what they are proven to cost.
    fn known_points(&self, histograms: &[Histogram], usage: Usage) -> Vec<Point> {
        let voters = data_independent::voters(histograms);
        let point = |polynomial: &Polynomial, offset: Offset| {
            let setting = setting(polynomial.clone(), offset);
            let classes = Classes::new(histograms.first()?.classes()).ok()?;
            let cost =
                |&voters: &Voters| DataIndependent::new(&setting, classes, voters).epsilon(usage);
            let cost = Cost::Proven(voters.iter().map(cost).reduce(Proven::larger)?);
            let ground_truth =
                Mechanism::Shield(setting.clone()).accuracy(histograms, None).ground_truth;
            Some(Point::new(polynomial.clone(), offset, cost, ground_truth))
        };
        let offsets = || self.offsets.iter().copied();
        let of = |polynomial| offsets().filter_map(move |offset| point(polynomial, offset));
        self.known.iter().flat_map(of).collect()
    }

    /// The search, and how much work it is.
    fn search(&self, usage: Usage) -> Search {
        Search {
            space: self.space,
            offsets: self.offsets.clone(),
            sampling: Sampling::default(),
            objective: Objective::DataIndependent,
            usage,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The smallest study searched up to 12 rounds, and its tuned rows were worse than the paper's
    /// polynomial of 19.
    #[test]
    fn a_small_search_tunes_to_no_less_than_what_is_known() {
        let classes = Classes::new(4).unwrap();
        let (votes, _) = shield_core::synthetic::votes(40, classes, 60, 1).unwrap();
        let space = |known: &[&str]| TuningSpace {
            space: Space { max_degree: 2, max_terms: 3 },
            offsets: vec![Offset::new(4).unwrap()],
            targets: vec![50.0],
            samples: 60,
            known: known.iter().map(|text| text.parse().unwrap()).collect(),
        };
        let tuned = |known: &[&str]| {
            let (usage, watch) = (Usage::default(), &Watch::default());
            let asked = Asked { votes: &votes, queries: 10, usage, watch };
            let tuning = space(known).tune(asked).unwrap();
            let Tuned { polynomial, offset, .. } = tuning.chosen[0].clone();
            let mechanism = Mechanism::Shield(setting(polynomial, offset));
            let histograms: Vec<Histogram> = votes.histograms().collect();
            mechanism.accuracy(&histograms, None).ground_truth
        };
        let (alone, known) = (tuned(&[]), tuned(&["8X^4+6X^3+4X^2+X"]));
        assert!(known > alone + 0.01, "{alone} {known}");
    }
}
