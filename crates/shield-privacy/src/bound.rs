//! What a setting costs for all votes there could be: every proven figure, and what each is held
//! against, as one document.

use serde::Serialize;

use super::Usage;
use super::calibrate::queries_within;
use super::data_independent::{DataIndependent, WorstFound, WorstStrategy};
use super::label_only::{LabelOnly, Strategy};
use super::mechanism::{Description, Mechanism};
use super::price::Proven;
use shield_core::Watch;
use shield_core::parameters::{Classes, Delta, Epsilon, ParameterError, Queries, Voters};
use shield_core::setting::Setting;
use shield_core::shared_noise::bits::WeightedBits;

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

/// What a label costs, what is achieved, and what all noisy counts cost.
#[derive(Clone, Copy)]
struct Prices {
    epsilon: Proven,
    strategy: Option<Strategy>,
    vector_epsilon: Proven,
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
        let prices = Prices { epsilon, strategy, vector_epsilon };
        let bound = Self::of_prices(mechanism.description(), classes, teachers, usage, prices);
        Some(Self { allowance, ..bound })
    }

    /// The same for noise of weighted bits in shares, of which so many may be missing.
    pub fn of_bits(
        bits: &WeightedBits,
        dropouts: u32,
        classes: Classes,
        teachers: Voters,
        usage: Usage,
    ) -> Result<Self, ParameterError> {
        let shares = teachers.count().saturating_sub(dropouts);
        let found = LabelOnly::of_bits(bits, shares, usage)?;
        let (mut label, vector_epsilon) = found.ok_or_else(|| ParameterError {
            parameter: "the weights of the bits",
            value: format!("{:?}", bits.weights()),
            allowed: "their sum must be log-concave, as with 1, 2, 4, ...: no other has a proof",
        })?;
        let epsilon = label.tight(usage, vector_epsilon);
        let strategy = label.strategy(usage, vector_epsilon);
        let description = Description {
            name: "noisy-argmax",
            noise: Some(bits.deviation(shares)),
            weights: Some(bits.weights().to_vec()),
            dropouts: Some(dropouts),
            ..Description::default()
        };
        let prices = Prices { epsilon, strategy, vector_epsilon };
        Ok(Self::of_prices(description, classes, teachers, usage, prices))
    }

    fn of_prices(
        mechanism: Description,
        classes: Classes,
        teachers: Voters,
        usage: Usage,
        prices: Prices,
    ) -> Self {
        let Prices { epsilon, strategy, vector_epsilon } = prices;
        let achieved = strategy.map(|strategy| strategy.epsilon);
        Self {
            teachers,
            classes,
            mechanism,
            queries: usage.queries,
            delta: usage.delta,
            epsilon,
            strategy: achieved,
            pairs: strategy.map(|strategy| strategy.pairs),
            ratio: achieved.map(|achieved| epsilon.get() / achieved.get()),
            vector_epsilon,
            allowance: None,
        }
    }
}
