//! Advice that needs both the accounting and the engine's plans: which mechanism is best for each
//! epsilon on given votes ([`Comparison`]), which to take before there are any ([`decide()`]), and
//! what other sizes would give ([`outlook`]).

pub mod decide;
pub mod outlook;

pub use decide::{Against, Decision, Planned, Recommendation, RecommendationError, Wishes};
pub use decide::{decide, decide_shield, recommend};
pub use outlook::{Help, Outlook};

use rayon::prelude::*;
use serde::Serialize;
use shield_core::Watch;
use shield_core::{
    Election, Epsilon, Histogram, Histograms, Labels, ParameterError, Setting, Voters,
};
use shield_privacy::mechanism::ArgmaxOfShares;
use shield_privacy::mechanism::best::{self, Aim};
use shield_privacy::skellam::Sensitivity;
use shield_privacy::{Mechanism, Proven, Usage};

use crate::argmax::ArgmaxPlan;
use crate::plan::Plan;

/// Seconds of one core for one product of ciphertexts in the ring of 8192 coefficients, everything
/// around it included: the default polynomial takes 0.52 ms per sample in a batch of 512, which has
/// 38 products.
const SECONDS_PER_PRODUCT: f64 = 7e-3;
/// How it grows with the ring: 64 rounds take 4.26 ms per sample in the ring of twice that size.
const GROWTH: f64 = 1.7;

/// Seconds of one core for the aggregation of all samples, estimated from the engine's plan.
pub fn seconds(plan: &Plan) -> f64 {
    let ring = (plan.ring_degree() as f64 / 8192.0).powf(GROWTH);
    SECONDS_PER_PRODUCT * ring * (plan.products() * plan.batches()) as f64
}

/// One mechanism at its best setting for a budget.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The mechanism's name.
    pub mechanism: &'static str,
    /// Whether it labels every sample, or only where it is sure.
    pub answers: Answers,
    /// Its setting.
    pub setting: String,
    /// The same in a few words.
    pub brief: String,
    /// What it may cost.
    pub budget: f64,
    /// What it costs.
    pub epsilon: Proven,
    /// The share of right labels among all samples; of those that equal the majority's without the
    /// truth.
    pub right: f64,
    /// The share of samples that get a label.
    pub answered: f64,
    /// The share of right labels among those that are given.
    pub precision: f64,
    /// Whether the cost holds against the server that aggregates.
    pub holds_against_server: bool,
    /// Of the encrypted engine, estimated for one core; none where nothing runs encrypted.
    pub seconds_per_sample: Option<f64>,
    /// Whether it is the best of those at its budget that label as many samples.
    pub best: bool,
}

/// Which samples a mechanism labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answers {
    /// Every one.
    All,
    /// Those it is sure of.
    WhereSure,
}

/// The share that they label unless another is asked for.
pub const ANSWERED: f64 = 0.8;

/// What mechanisms are compared at.
#[derive(Clone, Copy, Debug)]
pub struct Aims<'a> {
    /// What all labels together may cost.
    pub budgets: &'a [Epsilon],
    /// The share of samples that mechanisms which answer only where they are sure must label.
    pub answered: f64,
}

/// Every mechanism at its best setting for each budget.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// How many samples the costs are stated for.
    pub queries: u64,
    /// The failure probability.
    pub delta: f64,
    /// The mechanisms, budget by budget.
    pub rows: Vec<Row>,
}

impl Comparison {
    /// Compares on given votes.
    pub fn new(
        votes: &Histograms,
        labels: Option<&Labels>,
        aims: Aims<'_>,
        usage: Usage,
        watch: &Watch,
    ) -> Result<Self, ParameterError> {
        let teachers = Voters::new(u32::try_from(votes.teachers()).unwrap_or(u32::MAX))?.count();
        let histograms = votes.as_slice();
        watch.begin("comparing", 3 * aims.budgets.len() as u64);
        let at = |&budget: &Epsilon| -> Vec<Row> {
            let mut rows = Vec::new();
            let proven = |mechanism: Mechanism| {
                let epsilon = mechanism.proven_for(histograms, usage);
                (mechanism, epsilon)
            };
            let mut all = best_shield(Aim::Right, budget, histograms, labels, usage);
            watch.add(1);
            let others = best::others_within(budget, histograms, teachers, usage);
            all.extend(others);
            watch.add(1);
            let share = aims.answered;
            let silent = all.iter().rev().find_map(|(mechanism, price)| match mechanism {
                Mechanism::NoisyArgmax(ArgmaxOfShares { noise, threshold: None }) => {
                    Some((best::silent_argmax_for(share, noise, histograms)?, *price))
                }
                _ => None,
            });
            let mut sure = best_shield(Aim::Precision(share), budget, histograms, labels, usage);
            let gnmax = best::confident_gnmax_for(share, budget, histograms, labels, usage);
            sure.extend(gnmax.map(proven));
            sure.extend(silent);
            watch.add(1);
            let all = all.into_iter().map(|found| (found, Answers::All));
            let sure = sure.into_iter().map(|found| (found, Answers::WhereSure));
            for ((mechanism, epsilon), answers) in all.chain(sure) {
                let (right, answered) = best::right_and_answered(&mechanism, histograms, labels);
                rows.push(Row {
                    mechanism: mechanism.name(),
                    answers,
                    setting: mechanism.setting(),
                    brief: mechanism.brief(),
                    budget: budget.get(),
                    epsilon,
                    right,
                    answered,
                    precision: if answered > 0.0 { (right / answered).min(1.0) } else { 0.0 },
                    holds_against_server: mechanism.against_server().holds(),
                    seconds_per_sample: seconds_per_sample(&mechanism, votes),
                    best: false,
                });
            }
            for answers in [Answers::All, Answers::WhereSure] {
                let those = rows.iter_mut().filter(|row| row.answers == answers);
                let best = those.max_by(|a, b| a.precision.total_cmp(&b.precision));
                if let Some(best) = best {
                    best.best = true;
                }
            }
            rows
        };
        // A budget takes minutes of proofs where there are many rounds, and needs no other.
        let rows = aims.budgets.par_iter().map(at).collect::<Vec<_>>().concat();
        Ok(Self { queries: usage.queries.count(), delta: usage.delta.get(), rows })
    }

    /// What to take at each budget, in a sentence: of those that run encrypted and label every
    /// sample, the best, and the best against the server.
    pub fn verdicts(&self) -> Vec<String> {
        let mut budgets: Vec<f64> = self.rows.iter().map(|row| row.budget).collect();
        budgets.dedup();
        let verdict = |budget: f64| {
            let those = || {
                // The same number, not a close one.
                let rows =
                    self.rows.iter().filter(move |row| row.budget.total_cmp(&budget).is_eq());
                rows.filter(|row| row.answers == Answers::All && row.seconds_per_sample.is_some())
            };
            let most = |a: &&Row, b: &&Row| a.right.total_cmp(&b.right);
            let best = those().max_by(most);
            let against = those().filter(|row| row.holds_against_server).max_by(most);
            let named = |row: &Row| format!("{} ({})", row.mechanism, row.brief);
            match (best, against) {
                (Some(best), Some(server)) if best.holds_against_server => format!(
                    "At epsilon {budget} take {}: {:.1}% right, and private against the server, \
                     too.",
                    named(server),
                    100.0 * best.right
                ),
                (Some(best), Some(server)) => format!(
                    "At epsilon {budget} take {}: {:.1}% right; or {}: {:.1}% right, and private \
                     against the server, too.",
                    named(best),
                    100.0 * best.right,
                    named(server),
                    100.0 * server.right
                ),
                (Some(best), None) => format!(
                    "At epsilon {budget} take {}: {:.1}% right; nothing known here holds against \
                     the server.",
                    named(best),
                    100.0 * best.right
                ),
                (None, _) => format!(
                    "At epsilon {budget} nothing that runs encrypted fits: raise epsilon, or ask \
                     about fewer samples."
                ),
            }
        };
        budgets.into_iter().map(verdict).collect()
    }
}

/// SHIELD's best setting for an aim and its proven cost, if one is within the budget.
fn best_shield(
    aim: Aim,
    budget: Epsilon,
    histograms: &[Histogram],
    truth: Option<&Labels>,
    usage: Usage,
) -> Vec<(Mechanism, Proven)> {
    let found = best::shield_for(aim, budget, histograms, truth, usage);
    let found = found.map(|best| (Mechanism::Shield(best.setting), best.epsilon));
    found.into_iter().collect()
}

/// Seconds of one core per sample; `None` where no engine has a plan.
fn seconds_per_sample(mechanism: &Mechanism, votes: &Histograms) -> Option<f64> {
    let (teachers, samples) = (votes.teachers(), votes.as_slice().len());
    let election = |setting| Election::new(teachers, votes.classes(), samples, setting).ok();
    match mechanism {
        Mechanism::Shield(setting) => {
            let plan = Plan::new(&election(setting.clone())?).ok()?;
            Some(seconds(&plan) / samples as f64)
        }
        Mechanism::NoisyArgmax(ArgmaxOfShares { noise, threshold }) => {
            let election = election(Setting::default())?;
            let plan = ArgmaxPlan::new(&election, noise, Sensitivity::Vote, *threshold);
            let plan = plan.ok()?;
            Some(plan.seconds_per_batch() * plan.batches() as f64 / samples as f64)
        }
        _ => None,
    }
}
