//! What a setting costs for all votes there could be: every proven figure, and what each is held
//! against, as one document.

use serde::{Serialize, Serializer};

use super::Usage;
use super::calibrate::queries_within;
use super::data_independent::{DataIndependent, WorstFound, WorstStrategy};
use super::watch::Watch;
use crate::parameters::{Classes, Epsilon, Queries, Voters};
use crate::setting::Setting;

/// A proven figure, and the worst that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// What is proven.
    pub epsilon: Epsilon,
    /// The worst pair of neighbours that a search found: the true cost is no less.
    pub found: WorstFound,
}

impl Figure {
    /// How far the proven figure lies above what was found; nothing where either is 0 or infinite.
    pub fn ratio(&self) -> Option<f64> {
        let ratio = self.epsilon.get() / self.found.epsilon.get();
        ratio.is_finite().then_some(ratio)
    }
}

/// How many queries a budget allows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Allowance {
    /// The budget.
    pub budget: Epsilon,
    /// The queries.
    pub queries: u64,
}

/// What a setting costs in the worst case.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// How many teachers vote on a sample.
    pub teachers: Voters,
    /// How many classes there are.
    pub classes: Classes,
    /// The setting.
    pub setting: Setting,
    /// Queries and delta.
    pub usage: Usage,
    /// By moments.
    pub moments: Figure,
    /// By tight composition.
    pub exact: Figure,
    /// The worst adversary found who chooses a pair for every query.
    pub strategy: Option<WorstStrategy>,
    /// What a budget allows, where one was given.
    pub allowance: Option<Allowance>,
}

impl Bound {
    /// Proves the bound; `budget` also asks how many queries cost at most that.
    pub fn new(
        setting: &Setting,
        classes: Classes,
        teachers: Voters,
        usage: Usage,
        budget: Option<Epsilon>,
    ) -> Self {
        Self::watched(setting, classes, teachers, usage, budget, Watch::default())
    }

    /// The same, telling how far it is.
    pub fn watched(
        setting: &Setting,
        classes: Classes,
        teachers: Voters,
        usage: Usage,
        budget: Option<Epsilon>,
        watch: Watch,
    ) -> Self {
        let mut figure = DataIndependent::new(setting, classes, teachers).watched(watch);
        let moments = figure.epsilon(usage);
        let moments = Figure { epsilon: moments, found: figure.worst_found(usage) };
        let exact = figure.exact(usage);
        let exact = Figure { epsilon: exact, found: figure.worst_found_exact(usage) };
        let strategy = figure.worst_strategy(usage);
        let allowance = budget.map(|budget| {
            let found = queries_within(budget, usage.delta, |usage| figure.epsilon(usage));
            Allowance { budget, queries: found.map_or(0, Queries::count) }
        });
        let setting = setting.clone();
        Self { teachers, classes, setting, usage, moments, exact, strategy, allowance }
    }

    /// The smaller of both proven figures: it counts.
    pub fn epsilon(&self) -> Epsilon {
        let (moments, exact) = (self.moments.epsilon, self.exact.epsilon);
        if exact < moments { exact } else { moments }
    }
}

/// The document, with its keys in a fixed order.
#[derive(Serialize)]
struct Document<'a> {
    teachers: Voters,
    classes: Classes,
    mechanism: Named<'a>,
    queries: Queries,
    delta: crate::parameters::Delta,
    epsilon: Epsilon,
    worst_found: Epsilon,
    worst_histogram: &'a [u32],
    ratio: Option<f64>,
    exact: Exact<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    budget: Option<Epsilon>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queries_within_budget: Option<u64>,
}

#[derive(Serialize)]
struct Named<'a> {
    name: &'static str,
    #[serde(flatten)]
    setting: &'a Setting,
}

#[derive(Serialize)]
struct Exact<'a> {
    epsilon: Epsilon,
    worst_found: Epsilon,
    worst_histogram: &'a [u32],
    worst_strategy: Option<Strategy<'a>>,
}

#[derive(Serialize)]
struct Strategy<'a> {
    epsilon: Epsilon,
    first_histogram: &'a [u32],
    pairs: usize,
}

impl Serialize for Bound {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let document = Document {
            teachers: self.teachers,
            classes: self.classes,
            mechanism: Named { name: "shield", setting: &self.setting },
            queries: self.usage.queries,
            delta: self.usage.delta,
            epsilon: self.moments.epsilon,
            worst_found: self.moments.found.epsilon,
            worst_histogram: &self.moments.found.histogram,
            ratio: self.moments.ratio(),
            exact: Exact {
                epsilon: self.exact.epsilon,
                worst_found: self.exact.found.epsilon,
                worst_histogram: &self.exact.found.histogram,
                worst_strategy: self.strategy.as_ref().map(|strategy| Strategy {
                    epsilon: strategy.epsilon,
                    first_histogram: &strategy.first,
                    pairs: strategy.pairs,
                }),
            },
            budget: self.allowance.map(|allowance| allowance.budget),
            queries_within_budget: self.allowance.map(|allowance| allowance.queries),
        };
        document.serialize(serializer)
    }
}
