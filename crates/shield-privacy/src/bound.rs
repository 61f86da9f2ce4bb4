//! What a setting costs for all votes there could be: every proven figure, and what each is held
//! against, as one document.

use serde::Serialize;

use super::Usage;
use super::calibrate::queries_within;
use super::data_independent::{DataIndependent, WorstFound, WorstStrategy};
use super::mechanism::{Description, Mechanism};
use super::price::Proven;
use shield_core::Watch;
use shield_core::parameters::{Classes, Delta, Epsilon, Queries, Voters};
use shield_core::setting::Setting;

/// A proven figure, and the worst that was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// What is proven.
    pub epsilon: Proven,
    /// The worst pair of neighbours that a search found: the true cost is no less.
    #[serde(flatten)]
    pub found: WorstFound,
}

impl Figure {
    /// How far the proven figure lies above what was found; nothing where either is 0 or infinite.
    pub fn ratio(&self) -> Option<f64> {
        let ratio = self.epsilon.get() / self.found.epsilon.get();
        ratio.is_finite().then_some(ratio)
    }
}

/// The figure by tight composition.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Exact {
    /// It, and the worst pair found.
    #[serde(flatten)]
    pub figure: Figure,
    /// The worst adversary found who chooses a pair for every query.
    #[serde(rename = "worst_strategy")]
    pub strategy: Option<WorstStrategy>,
}

/// How many queries a budget allows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Allowance {
    /// The budget.
    pub budget: Epsilon,
    /// The queries.
    #[serde(rename = "queries_within_budget")]
    pub queries: u64,
}

/// What a setting costs in the worst case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bound {
    /// How many teachers vote on a sample.
    pub teachers: Voters,
    /// How many classes there are.
    pub classes: Classes,
    /// The setting.
    pub mechanism: Description,
    /// How many queries.
    pub queries: Queries,
    /// The failure probability.
    pub delta: Delta,
    /// By moments.
    #[serde(flatten)]
    pub moments: Figure,
    /// Of the figure by moments.
    ratio: Option<f64>,
    /// By tight composition.
    pub exact: Exact,
    /// What a budget allows, where one was given.
    #[serde(flatten)]
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
        watch: &Watch,
    ) -> Self {
        let mut figure = DataIndependent::new(setting, classes, teachers).watched(watch.clone());
        let epsilon = figure.epsilon(usage);
        let moments = Figure { epsilon, found: figure.worst_found(usage) };
        let epsilon = figure.exact(usage);
        let exact = Figure { epsilon, found: figure.worst_found_exact(usage) };
        let exact = Exact { figure: exact, strategy: figure.worst_strategy(usage) };
        let allowance = budget.map(|budget| {
            let found = queries_within(budget, usage.delta, |usage| figure.epsilon(usage));
            Allowance { budget, queries: found.map_or(0, Queries::count) }
        });
        let mechanism = Mechanism::Shield(setting.clone()).description();
        let Usage { queries, delta } = usage;
        let ratio = moments.ratio();
        Self { teachers, classes, mechanism, queries, delta, moments, ratio, exact, allowance }
    }
}

/// What the labels of a noisy argmax cost in the worst case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LabelBound {
    /// How many teachers vote on a sample.
    pub teachers: Voters,
    /// How many classes there are.
    pub classes: Classes,
    /// The mechanism.
    pub mechanism: Description,
    /// How many queries.
    pub queries: Queries,
    /// The failure probability.
    pub delta: Delta,
    /// What is proven where nothing but the labels is seen.
    pub epsilon: Proven,
    /// What an adversary achieves who chooses votes and classes query by query; none where nobody
    /// has followed one.
    pub strategy: Option<Epsilon>,
    /// How many pairs of neighbours that adversary chooses from.
    pub pairs: Option<usize>,
    /// How far the proven figure lies above it.
    pub ratio: Option<f64>,
    /// What is proven where all noisy counts are seen.
    pub vector_epsilon: Proven,
    /// What a budget allows, where one was given.
    #[serde(flatten)]
    pub allowance: Option<Allowance>,
}

impl LabelBound {
    /// Proves the bound; `budget` also asks how many queries cost at most that, by moments. `None`
    /// for mechanisms that are no noisy argmax.
    pub fn new(
        mechanism: &Mechanism,
        classes: Classes,
        teachers: Voters,
        usage: Usage,
        budget: Option<Epsilon>,
        watch: &Watch,
    ) -> Option<Self> {
        let vector_epsilon = mechanism.of_counts(usage)?;
        let (epsilon, strategy) = mechanism.with_strategy(classes, usage, watch)?;
        let allowance = budget.map(|budget| {
            let cost = |usage| mechanism.by_moments(classes, teachers, usage);
            let found = queries_within(budget, usage.delta, cost);
            Allowance { budget, queries: found.map_or(0, Queries::count) }
        });
        let achieved = strategy.map(|strategy| strategy.epsilon);
        Some(Self {
            teachers,
            classes,
            mechanism: mechanism.description(),
            queries: usage.queries,
            delta: usage.delta,
            epsilon,
            strategy: achieved,
            pairs: strategy.map(|strategy| strategy.pairs),
            ratio: achieved.map(|achieved| epsilon.get() / achieved.get()),
            vector_epsilon,
            allowance,
        })
    }
}
