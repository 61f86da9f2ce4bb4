//! Advice that needs both the accounting and the engine's plans: which mechanism is best for each
//! epsilon on given votes, and which setting to take before there are any.

use rayon::prelude::*;
use serde::Serialize;
use shield_core::Watch;
use shield_core::shared_noise::NoiseFamily;
use shield_core::{
    Classes, Election, Epsilon, Histogram, Histograms, Labels, Offset, ParameterError, Polynomial,
    Setting, Voters, synthetic,
};
use shield_privacy::mechanism::ArgmaxOfShares;
use shield_privacy::mechanism::best::{self, Aim};
use shield_privacy::skellam::Sensitivity;
use shield_privacy::{Mechanism, Proven, Usage, calibrate};
use thiserror::Error;

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
                    budget: budget.get(),
                    epsilon,
                    right,
                    answered,
                    precision: if answered > 0.0 { (right / answered).min(1.0) } else { 0.0 },
                    holds_against_server: mechanism.against_server().holds(),
                    seconds_per_sample: seconds_per_sample(&mechanism, votes),
                });
            }
            rows
        };
        // A budget takes minutes of proofs where there are many rounds, and needs no other.
        let rows = aims.budgets.par_iter().map(at).collect::<Vec<_>>().concat();
        Ok(Self { queries: usage.queries.count(), delta: usage.delta.get(), rows })
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

/// An election that is planned.
#[derive(Clone, Copy, Debug)]
pub struct Planned {
    /// How many teachers vote on a sample.
    pub teachers: Voters,
    /// How many classes there are.
    pub classes: Classes,
    /// How many samples are labelled, and the delta.
    pub usage: Usage,
    /// The most that all labels together may cost.
    pub budget: Epsilon,
}

/// A setting for a planned election.
#[derive(Clone, Debug, Serialize)]
pub struct Recommendation {
    /// The rounds.
    pub polynomial: Polynomial,
    /// The dummies of each class.
    pub offset: Offset,
    /// The cost.
    pub epsilon: Proven,
    /// The share of right labels on made-up votes.
    pub expected_right: f64,
    /// The ring that the engine will use.
    pub profile: String,
    /// Bytes of a ballot, per batch.
    pub ballot_bytes: usize,
    /// Of one core, for the aggregation of all samples, estimated.
    pub seconds: f64,
    /// The noisy argmax that fits as well; none where no noise does.
    pub noisy_argmax: Option<RecommendedArgmax>,
}

/// A noisy argmax for a planned election, with Skellam noise in shares. Its epsilon holds against
/// the server, too.
#[derive(Clone, Debug, Serialize)]
pub struct RecommendedArgmax {
    /// The deviation of the noise.
    pub noise: f64,
    /// The cost, with or without the threshold.
    pub epsilon: Proven,
    /// The share of right labels on made-up votes, with a label for every sample.
    pub expected_right: f64,
    /// Noisy votes below which samples get no label: those that label [`ANSWERED`] of the made-up
    /// samples.
    pub threshold: u32,
    /// The share of right labels among those above it.
    pub expected_precision: f64,
}

impl RecommendedArgmax {
    /// For made-up votes, of which the threshold may thus depend.
    fn new(planned: &Planned, histograms: &[Histogram], truth: &Labels) -> Option<Self> {
        let Planned { teachers, classes, usage, budget } = *planned;
        let (skellam, voters) = (NoiseFamily::Skellam, teachers.count());
        let (noise, epsilon) =
            calibrate::shared_noise_within(budget, usage, skellam, voters, 0, classes.count())?;
        let right =
            |mechanism: &Mechanism| best::right_and_answered(mechanism, histograms, Some(truth));
        let silent = best::silent_argmax_for(ANSWERED, &noise, histograms)?;
        let Mechanism::NoisyArgmax(ArgmaxOfShares { threshold: Some(threshold), .. }) = silent
        else {
            return None;
        };
        let (sure, answered) = right(&silent);
        Some(Self {
            noise: noise.scale().get(),
            epsilon,
            expected_right: right(&Mechanism::NoisyArgmax(noise.into())).0,
            threshold,
            expected_precision: sure / answered.max(f64::MIN_POSITIVE),
        })
    }
}

/// Why there is no recommendation.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RecommendationError {
    /// The election cannot be one.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// Nothing known fits the budget; says what is possible instead.
    #[error("{0}")]
    Impossible(String),
}

/// Made-up samples that accuracy is estimated on.
const SAMPLES: usize = 200;

/// The best setting known for a planned election. It depends on no votes, so that taking it gives
/// nothing away.
pub fn recommend(planned: &Planned) -> Result<Recommendation, RecommendationError> {
    let &Planned { classes, usage, budget, .. } = planned;
    let teachers = planned.teachers.count() as usize;
    let samples = usize::try_from(usage.queries.count()).unwrap_or(usize::MAX);
    let (votes, truth) = synthetic::votes(teachers, classes, SAMPLES, 1)?;
    let histograms: Vec<Histogram> = votes.histograms().collect();
    let found = best::shield_within(budget, &histograms, Some(&truth), usage);
    let recommendation = found.into_iter().find_map(|candidate| {
        let setting = candidate.setting.clone();
        let election = Election::new(teachers, classes, samples, setting).ok()?;
        let plan = Plan::new(&election).ok()?;
        Some(Recommendation {
            polynomial: candidate.setting.polynomial,
            offset: candidate.setting.offset,
            epsilon: candidate.epsilon,
            expected_right: candidate.right,
            profile: format!("bfv-{}", plan.ring_degree()),
            ballot_bytes: plan.ballot_bytes(),
            seconds: seconds(&plan),
            noisy_argmax: None,
        })
    });
    let noisy_argmax = RecommendedArgmax::new(planned, &histograms, &truth);
    let recommendation = recommendation.map(|found| Recommendation { noisy_argmax, ..found });
    recommendation.ok_or_else(|| RecommendationError::Impossible(impossible(planned, &histograms)))
}

/// What is possible instead.
fn impossible(planned: &Planned, histograms: &[Histogram]) -> String {
    let asked = format!(
        "no setting known here labels {} samples of {} teachers and {} classes within epsilon {}",
        planned.usage.queries, planned.teachers, planned.classes, planned.budget
    );
    let larger = [1.5, 2.0, 3.0, 5.0, 10.0, 100.0].into_iter().find_map(|factor| {
        let budget = Epsilon::new(planned.budget.get().max(0.01) * factor).ok()?;
        best::shield_by_moments(budget, histograms, planned.usage)
    });
    match larger {
        Some(candidate) => format!(
            "{asked}; {} with offset {} costs {:.2}: raise epsilon, ask about fewer samples, or \
             find more teachers",
            candidate.setting.polynomial, candidate.setting.offset, candidate.epsilon
        ),
        None => format!("{asked}; ask about fewer samples, or find more teachers"),
    }
}
