//! Which mechanism to take for a planned election, and why. It depends on no votes, so that taking
//! it gives nothing away.

use serde::Serialize;
use shield_core::shared_noise::NoiseFamily;
use shield_core::{
    Classes, Election, Epsilon, Histogram, Labels, Offset, ParameterError, Polynomial, Setting,
    Voters, Votes, synthetic,
};
use shield_privacy::mechanism::ArgmaxOfShares;
use shield_privacy::mechanism::best::{self, Aim, Composition};
use shield_privacy::{Attendance, Mechanism, Proven, Usage, calibrate};
use thiserror::Error;

use super::{ANSWERED, seconds};
use crate::plan::Plan;

/// An election that is planned.
#[derive(Clone, Debug)]
pub struct Planned {
    /// How many teachers there are.
    pub teachers: Voters,
    /// How many classes there are.
    pub classes: Classes,
    /// How many samples are labelled, and the delta.
    pub usage: Usage,
    /// The most that all labels together may cost.
    pub budget: Epsilon,
    /// How many teachers vote on each sample, where it is known that not all do.
    pub attendance: Option<Attendance>,
}

impl Planned {
    /// An election about all samples of some votes, with their turnout.
    pub fn for_votes(votes: &Votes, usage: Usage, budget: Epsilon) -> Result<Self, ParameterError> {
        let histograms: Vec<Histogram> = votes.histograms().collect();
        Ok(Self {
            teachers: Voters::new(u32::try_from(votes.teachers()).unwrap_or(u32::MAX))?,
            classes: votes.classes(),
            usage,
            budget,
            attendance: Some(Attendance::of(&histograms, usage.queries)),
        })
    }

    fn attendance(&self) -> Attendance {
        let whole = || Attendance::whole(self.teachers, self.usage.queries);
        self.attendance.clone().unwrap_or_else(whole)
    }
}

/// Against whom the epsilon must hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Against {
    /// Everyone who sees the labels; the server does not.
    #[default]
    Readers,
    /// The server as well, should it see them.
    Server,
}

/// What is asked of a mechanism beside its price.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wishes {
    /// Against whom the epsilon must hold.
    pub against: Against,
    /// The share of samples that must get a label; all of them if it is not given.
    pub answered: Option<f64>,
}

/// The mechanism to take.
#[derive(Clone, Debug, Serialize)]
pub struct Decision {
    /// Its name, as in `--mechanism`.
    #[serde(rename = "mechanism")]
    pub name: &'static str,
    /// It.
    #[serde(skip)]
    pub mechanism: Mechanism,
    /// Its setting, in a few words.
    pub setting: String,
    /// What all labels together cost.
    pub epsilon: Proven,
    /// The share of right labels among all made-up samples.
    pub right: f64,
    /// The share of them that get a label.
    pub answered: f64,
    /// The share of right labels among those.
    pub precision: f64,
    /// Whether the epsilon holds against the server, too.
    pub holds_against_server: bool,
    /// Why it is taken, in one sentence.
    pub why: String,
    /// The options that say so to other commands.
    pub options: String,
}

/// Made-up samples that accuracy is estimated on.
const SAMPLES: usize = 200;

/// The share of right labels that privacy against the server is worth.
const WORTH: f64 = 0.005;

/// Made-up votes of some shape, and their true labels.
pub(super) fn made_up(
    teachers: Voters,
    classes: Classes,
) -> Result<(Vec<Histogram>, Labels), ParameterError> {
    let (votes, truth) = synthetic::votes(teachers.count() as usize, classes, SAMPLES, 1)?;
    Ok((votes.histograms().collect(), truth))
}

/// A mechanism with its price, and how good it is.
#[derive(Clone, Debug)]
struct Candidate {
    mechanism: Mechanism,
    epsilon: Proven,
    right: f64,
    answered: f64,
}

impl Candidate {
    fn of(mechanism: Mechanism, epsilon: Proven, votes: (&[Histogram], &Labels)) -> Self {
        let (right, answered) = best::right_and_answered(&mechanism, votes.0, Some(votes.1));
        Self { mechanism, epsilon, right, answered }
    }

    fn precision(&self) -> f64 {
        (self.right / self.answered.max(f64::MIN_POSITIVE)).min(1.0)
    }

    fn decided(self, why: String) -> Decision {
        let description = self.mechanism.description();
        let options = if let Mechanism::Shield(setting) = &self.mechanism {
            format!("--polynomial {} --offset {}", setting.polynomial, setting.offset)
        } else {
            let threshold = description
                .threshold
                .map_or_else(String::new, |votes| format!(" --threshold {votes}"));
            let noise = description.noise.unwrap_or(0.0);
            format!("--mechanism noisy-argmax --noise-law skellam --noise {noise}{threshold}")
        };
        Decision {
            name: self.mechanism.name(),
            setting: self.mechanism.brief(),
            epsilon: self.epsilon,
            right: self.right,
            answered: self.answered,
            precision: self.precision(),
            holds_against_server: self.mechanism.against_server().holds(),
            why,
            options,
            mechanism: self.mechanism,
        }
    }
}

/// SHIELD's best setting, if one is within the budget.
fn shield(
    planned: &Planned,
    aim: Aim,
    composition: Composition,
    votes: (&[Histogram], &Labels),
) -> Option<Candidate> {
    let (attendance, delta) = (planned.attendance(), planned.usage.delta);
    let made_up = (votes.0, Some(votes.1));
    let found =
        best::shield_planned(aim, composition, planned.budget, made_up, &attendance, delta)?;
    let mechanism = Mechanism::Shield(found.setting);
    Some(Candidate::of(mechanism, found.epsilon, votes))
}

/// The noisy argmax of Skellam noise that fits the budget.
fn noisy(
    planned: &Planned,
    answered: Option<f64>,
    votes: (&[Histogram], &Labels),
) -> Option<Candidate> {
    let Planned { teachers, classes, usage, budget, .. } = *planned;
    let (law, teachers) = (NoiseFamily::Skellam, teachers.count());
    let (noise, epsilon) =
        calibrate::shared_noise_within(budget, usage, law, teachers, 0, classes.count())?;
    let mechanism = match answered {
        None => Mechanism::NoisyArgmax(noise.into()),
        Some(share) => best::silent_argmax_for(share, &noise, votes.0)?,
    };
    Some(Candidate::of(mechanism, epsilon, votes))
}

/// The mechanism to take for a planned election: the more accurate one of those that an engine
/// runs encrypted; the noisy argmax where both are as good, since its price also holds against the
/// server.
pub fn decide(planned: &Planned, wishes: Wishes) -> Result<Decision, RecommendationError> {
    let (histograms, truth) = made_up(planned.teachers, planned.classes)?;
    let votes = (histograms.as_slice(), &truth);
    let aim = wishes.answered.map_or(Aim::Right, Aim::Precision);
    let noisy = noisy(planned, wishes.answered, votes);
    let quick = shield(planned, aim, Composition::Moments, votes);
    // Tight composition may allow SHIELD a little more: it is tried where that could matter.
    let close = |quick: &Candidate| {
        noisy.as_ref().is_none_or(|noisy| quick.precision() + 0.03 > noisy.precision())
    };
    let shield = match quick {
        Some(quick) if wishes.against == Against::Readers && !close(&quick) => Some(quick),
        quick if wishes.against == Against::Server => quick,
        quick => shield(planned, aim, Composition::Tight, votes).or(quick),
    };
    let labels = if wishes.answered.is_some() { "given labels" } else { "labels" };
    let against = |one: &Candidate, other: &Candidate| {
        let points = 100.0 * (one.precision() - other.precision());
        let those = [one, other].map(|found| 100.0 * found.precision());
        (points, format!("{:.1}% of the {labels} right against {:.1}%", those[0], those[1]))
    };
    match (noisy, shield) {
        (Some(noisy), Some(shield)) => {
            let (points, figures) = against(&noisy, &shield);
            let must = wishes.against == Against::Server;
            if must && points < -100.0 * WORTH {
                let why = format!(
                    "its epsilon holds against the server, too, as asked; SHIELD would be {:.1} \
                     points better, but not private against the server",
                    -points
                );
                return Ok(noisy.decided(why));
            }
            if points >= 100.0 * WORTH {
                let why = format!(
                    "it is {points:.1} points better than SHIELD at this epsilon ({figures}), and \
                     its epsilon holds against the server, too"
                );
                return Ok(noisy.decided(why));
            }
            if must || points > -100.0 * WORTH {
                let why = format!(
                    "it is as good as SHIELD at this epsilon ({figures}), and its epsilon holds \
                     against the server, too"
                );
                return Ok(noisy.decided(why));
            }
            let why = format!(
                "a noisy argmax would be {:.1} points worse at this epsilon, though private \
                 against the server, too (--against server)",
                -points
            );
            let shield = priced(shield, planned);
            Ok(shield.decided(why))
        }
        (Some(noisy), None) => {
            let why = "no setting of SHIELD known here is within this epsilon".to_owned();
            Ok(noisy.decided(why))
        }
        (None, Some(shield)) if wishes.against == Against::Readers => {
            let why = "no noise makes an argmax cost so little".to_owned();
            Ok(priced(shield, planned).decided(why))
        }
        (None, _) => Err(RecommendationError::Impossible(impossible(planned, &histograms))),
    }
}

/// SHIELD's best setting for a planned election, where it is to be SHIELD.
pub fn decide_shield(
    planned: &Planned,
    answered: Option<f64>,
) -> Result<Decision, RecommendationError> {
    let (histograms, truth) = made_up(planned.teachers, planned.classes)?;
    let aim = answered.map_or(Aim::Right, Aim::Precision);
    let found = shield(planned, aim, Composition::Tight, (&histograms, &truth));
    let found =
        found.ok_or_else(|| RecommendationError::Impossible(impossible(planned, &histograms)))?;
    Ok(priced(found, planned).decided("it is the best setting known for this shape".to_owned()))
}

/// The same with the price that every report states of it.
fn priced(shield: Candidate, planned: &Planned) -> Candidate {
    let (attendance, delta) = (planned.attendance(), planned.usage.delta);
    let watch = shield_core::Watch::default();
    let price = shield.mechanism.price(planned.classes, &attendance, delta, &watch).price();
    Candidate { epsilon: price.smaller(shield.epsilon), ..shield }
}

/// What to take for a planned election, and what else there is.
#[derive(Clone, Debug, Serialize)]
pub struct Recommendation {
    /// What to take.
    pub decision: Decision,
    /// SHIELD's best setting; its figures stand beside it.
    #[serde(flatten)]
    pub shield: Option<RecommendedShield>,
    /// The noisy argmax that fits as well; none where no noise does.
    pub noisy_argmax: Option<RecommendedArgmax>,
}

/// A setting of SHIELD for a planned election.
#[derive(Clone, Debug, Serialize)]
pub struct RecommendedShield {
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
    fn new(found: &Candidate, votes: (&[Histogram], &Labels)) -> Option<Self> {
        let Mechanism::NoisyArgmax(ArgmaxOfShares { noise, .. }) = &found.mechanism else {
            return None;
        };
        let whole = Candidate::of(Mechanism::NoisyArgmax((*noise).into()), found.epsilon, votes);
        let silent = best::silent_argmax_for(ANSWERED, noise, votes.0)?;
        let Mechanism::NoisyArgmax(ArgmaxOfShares { threshold: Some(threshold), .. }) = silent
        else {
            return None;
        };
        Some(Self {
            noise: noise.scale().get(),
            epsilon: found.epsilon,
            expected_right: whole.right,
            threshold,
            expected_precision: Candidate::of(silent, found.epsilon, votes).precision(),
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

/// What to take for a planned election, with the figures of both mechanisms.
pub fn recommend(planned: &Planned, wishes: Wishes) -> Result<Recommendation, RecommendationError> {
    let decision = decide(planned, wishes)?;
    let (histograms, truth) = made_up(planned.teachers, planned.classes)?;
    let votes = (histograms.as_slice(), &truth);
    let of_decision = |is_it: bool| {
        let (mechanism, epsilon) = (decision.mechanism.clone(), decision.epsilon);
        (is_it && wishes.answered.is_none()).then(|| Candidate::of(mechanism, epsilon, votes))
    };
    let is_shield = matches!(decision.mechanism, Mechanism::Shield(_));
    let shield = of_decision(is_shield)
        .or_else(|| shield(planned, Aim::Right, Composition::Moments, votes))
        .and_then(|found| RecommendedShield::new(planned, found));
    let argmax = of_decision(!is_shield).or_else(|| noisy(planned, None, votes));
    let noisy_argmax = argmax.and_then(|found| RecommendedArgmax::new(&found, votes));
    Ok(Recommendation { decision, shield, noisy_argmax })
}

impl RecommendedShield {
    fn new(planned: &Planned, found: Candidate) -> Option<Self> {
        let Mechanism::Shield(setting) = found.mechanism else { return None };
        let samples = usize::try_from(planned.usage.queries.count()).unwrap_or(usize::MAX);
        let Setting { polynomial, offset, .. } = setting.clone();
        let teachers = planned.teachers.count() as usize;
        let election = Election::new(teachers, planned.classes, samples, setting).ok()?;
        let plan = Plan::new(&election).ok()?;
        Some(Self {
            polynomial,
            offset,
            epsilon: found.epsilon,
            expected_right: found.right,
            profile: format!("bfv-{}", plan.ring_degree()),
            ballot_bytes: plan.ballot_bytes(),
            seconds: seconds(&plan),
        })
    }
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
