//! The interactive calculator: what a setting costs and how good its labels are. `shield explore`
//! and the server's page show the same one.
//!
//! A question is answered in parts, so that the first answer comes at once:
//!
//! | part | says | takes |
//! |---|---|---|
//! | `estimate` | SHIELD's curve over the offsets, by the worst of some pairs of neighbours, and the output law of one histogram | milliseconds |
//! | `other` | the curve of one other mechanism | a moment, once for each number of teachers and classes |
//! | `proof` | the proven epsilon of the setting itself | a second or so |

mod curves;
pub mod page;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::attendance::Attendance;
use crate::data_independent::DataIndependent;
use crate::mechanism::best;
use crate::{Mechanism, Proven, Usage};
use serde::{Deserialize, Serialize};
use shield_core::{
    Classes, Delta, Epsilon, Histogram, Labels, Offset, ParameterError, Polynomial, Queries,
    Sampling, Setting, Voters, Watch, synthetic,
};

pub use curves::Other;

/// Samples that accuracy is measured on.
const SAMPLES: usize = 200;

/// The most that one may ask for here; the command line knows no such limits.
const MOST_TEACHERS: u32 = 10_000;
const MOST_CLASSES: usize = 100;
const MOST_ROUNDS: usize = 2_000;

/// Offsets along SHIELD's curve.
const OFFSETS: [u32; 14] = [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30, 50, 80];

/// Which part of an answer is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", schema(as = CalculatorPart))]
pub enum Part {
    /// What can be said at once.
    Estimate,
    /// The curve of another mechanism.
    Other(Other),
    /// The proven epsilon.
    Proof,
}

/// What the controls say.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schema(as = CalculatorQuestion))]
pub struct Question {
    /// What to answer.
    pub part: Part,
    /// SHIELD's rounds.
    pub polynomial: String,
    /// Dummy votes per class.
    pub offset: u32,
    /// How many labels.
    #[cfg_attr(feature = "schema", schema(minimum = 1))]
    pub queries: u64,
    /// How many teachers vote on a sample.
    #[cfg_attr(feature = "schema", schema(minimum = 1, maximum = 10_000))]
    pub teachers: u32,
    /// How many classes.
    #[cfg_attr(feature = "schema", schema(minimum = 2, maximum = 100))]
    pub classes: usize,
    /// The most that all labels together may cost.
    #[cfg_attr(feature = "schema", schema(exclusive_minimum = 0))]
    pub epsilon: f64,
    /// The votes on one sample, whose output law is wanted.
    #[serde(default)]
    pub histogram: Vec<u32>,
}

/// A point of a curve.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Point {
    /// What the labels cost.
    pub epsilon: f64,
    /// The share of right labels.
    pub right: f64,
    /// The parameter that gives it, for people.
    pub setting: String,
}

/// The chance of each class, and of no label.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Law {
    /// The mechanism.
    pub mechanism: &'static str,
    /// One chance per class.
    pub classes: Vec<f64>,
    /// The chance that there is no label.
    pub none: f64,
}

/// A part of an answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(tag = "part", rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", schema(as = CalculatorAnswer))]
pub enum Answer {
    /// What can be said at once.
    Estimate {
        /// A lower bound of the true cost, and close to it.
        epsilon: f64,
        /// The share of right labels.
        right: f64,
        /// SHIELD with this polynomial and other offsets.
        curve: Vec<Point>,
        /// The output law of the histogram, by mechanism.
        laws: Vec<Law>,
        /// Whose votes right labels are counted on.
        source: String,
        /// The commands that say the same.
        commands: Vec<String>,
    },
    /// The curve of another mechanism.
    Other {
        /// Its name.
        mechanism: &'static str,
        /// Its points, the cheapest first.
        curve: Vec<Point>,
        /// Whether its epsilon holds against the server, too.
        holds_against_server: bool,
    },
    /// The proven cost of the setting itself.
    Proof {
        /// Proven for all votes there could be; none where it is infinite.
        epsilon: Option<f64>,
    },
}

/// Votes that were given, to count right labels on.
#[derive(Clone, Debug)]
pub struct Observed {
    /// What they are called.
    pub name: String,
    /// The command line's argument that names them.
    pub argument: String,
    /// Their histograms.
    pub histograms: Vec<Histogram>,
    /// The truth, if it is known.
    pub labels: Option<Labels>,
    /// How many teachers there are.
    pub teachers: u32,
    /// The names of the classes; empty if they have none.
    pub names: Vec<String>,
}

/// Histograms to count right labels on.
struct Sample {
    histograms: Vec<Histogram>,
    labels: Option<Labels>,
    source: String,
}

/// What a price was proven of.
type Asking = (Setting, Attendance, Usage);

/// A mechanism, how many vote, and on how many classes.
type Crowd = (Other, u32, usize);

/// Answers questions, and remembers what took long.
#[derive(Default)]
pub struct Calculator {
    observed: Option<Observed>,
    samples: Mutex<HashMap<(u32, usize), Arc<Sample>>>,
    shares: Mutex<HashMap<Crowd, Arc<Vec<curves::Share>>>>,
    proofs: Mutex<Vec<(Asking, Proven)>>,
}

/// A question whose values make sense.
struct Asked {
    setting: Setting,
    classes: Classes,
    voters: Voters,
    usage: Usage,
    budget: Epsilon,
}

impl Calculator {
    /// A calculator that counts right labels on these votes where they have the shape asked for.
    pub fn new(observed: Option<Observed>) -> Self {
        Self { observed, ..Self::default() }
    }

    /// The votes that were given.
    pub fn observed(&self) -> Option<&Observed> {
        self.observed.as_ref()
    }

    /// Answers a question, or says what is wrong with it.
    pub fn answer(&self, question: &Question) -> Result<Answer, String> {
        let asked = Asked::of(question)?;
        let sample = self.sample(&asked)?;
        Ok(match question.part {
            Part::Estimate => {
                let right = |setting: &Setting| {
                    let mechanism = Mechanism::Shield(setting.clone());
                    best::right(&mechanism, &sample.histograms, sample.labels.as_ref())
                };
                let cost = |setting: &Setting| {
                    DataIndependent::new(setting, asked.classes, asked.voters)
                        .worst_suspect(asked.usage)
                };
                let curve = OFFSETS.iter().filter_map(|&dummies| {
                    let setting = asked.with_offset(dummies)?;
                    let setting_text = format!("{}, offset {dummies}", setting.polynomial);
                    let (epsilon, right) = (cost(&setting), right(&setting));
                    Some(Point { epsilon, right, setting: setting_text })
                });
                let mut curve: Vec<Point> =
                    curve.filter(|point| point.epsilon.is_finite()).collect();
                curve.sort_by(|a, b| a.epsilon.total_cmp(&b.epsilon));
                Answer::Estimate {
                    epsilon: finite(cost(&asked.setting)),
                    right: right(&asked.setting),
                    curve,
                    laws: asked.laws(&question.histogram)?,
                    source: sample.source.clone(),
                    commands: self.commands(&asked),
                }
            }
            Part::Other(other) => {
                let key = (other, asked.voters.count(), asked.classes.count());
                let known = lock(&self.shares).get(&key).cloned();
                let shares = known.unwrap_or_else(|| {
                    let (histograms, labels) = (&sample.histograms, sample.labels.as_ref());
                    let shares = other.shares(asked.voters.count(), histograms, labels);
                    remember(&self.shares, key, Arc::new(shares))
                });
                Answer::Other {
                    mechanism: other.name(),
                    curve: curves::curve(&shares, asked.classes, asked.voters, asked.usage),
                    holds_against_server: other == Other::NoisyArgmax,
                }
            }
            Part::Proof => {
                let key = (asked.setting.clone(), self.attendance(&asked), asked.usage);
                // One proof at a time: it keeps a core busy, and the next may ask the same.
                let mut proofs = lock(&self.proofs);
                let known = proofs.iter().find(|known| known.0 == key).map(|known| known.1);
                let epsilon = known.unwrap_or_else(|| {
                    let mechanism = Mechanism::Shield(key.0.clone());
                    let delta = asked.usage.delta;
                    let proof = mechanism.price(asked.classes, &key.1, delta, &Watch::default());
                    if proofs.len() >= 64 {
                        proofs.clear();
                    }
                    proofs.push((key, proof.price()));
                    proof.price()
                });
                let epsilon = epsilon.get();
                Answer::Proof { epsilon: epsilon.is_finite().then_some(epsilon) }
            }
        })
    }

    fn sample(&self, asked: &Asked) -> Result<Arc<Sample>, String> {
        let key = (asked.voters.count(), asked.classes.count());
        if let Some(sample) = lock(&self.samples).get(&key) {
            return Ok(Arc::clone(sample));
        }
        let sample = match &self.observed {
            Some(observed) if observed.fits(asked) => observed.sample(),
            _ => {
                let teachers = asked.voters.count() as usize;
                let made = synthetic::votes(teachers, asked.classes, SAMPLES, 1);
                let (votes, labels) = made.map_err(|error: ParameterError| error.to_string())?;
                let histograms = votes.histograms().collect();
                let source = format!("{SAMPLES} made-up samples with the profile of the paper's");
                Sample { histograms, labels: Some(labels), source }
            }
        };
        Ok(remember(&self.samples, key, Arc::new(sample)))
    }

    /// How many vote on each sample: as on the votes given, where they have the shape asked for.
    fn attendance(&self, asked: &Asked) -> Attendance {
        match &self.observed {
            Some(observed) if observed.fits(asked) => {
                Attendance::of(&observed.histograms, asked.usage.queries)
            }
            _ => Attendance::whole(asked.voters, asked.usage.queries),
        }
    }

    fn commands(&self, asked: &Asked) -> Vec<String> {
        let Setting { polynomial, offset, .. } = &asked.setting;
        let (queries, classes, voters) = (asked.usage.queries, asked.classes, asked.voters);
        let setting = format!("--polynomial {polynomial} --offset {offset} --queries {queries}");
        let cost = format!("shield bound --teachers {voters} --classes {classes} {setting}");
        let budget = asked.budget.get();
        let labels = match &self.observed {
            Some(observed) if observed.fits(asked) => {
                let votes = &observed.argument;
                [
                    format!("shield analyze {votes} --classes {classes} {setting}"),
                    format!(
                        "shield compare {votes} --classes {classes} --queries {queries} --epsilon \
                         {budget}"
                    ),
                ]
            }
            _ => [
                format!(
                    "shield recommend --teachers {voters} --classes {classes} --queries {queries} \
                     --epsilon {budget}"
                ),
                format!(
                    "shield plan --teachers {voters} --classes {classes} --samples {queries} \
                     --polynomial {polynomial} --offset {offset}"
                ),
            ],
        };
        std::iter::once(cost).chain(labels).collect()
    }
}

impl Observed {
    fn fits(&self, asked: &Asked) -> bool {
        let classes = self.histograms.first().map_or(0, Histogram::classes);
        asked.voters.count() == self.teachers && asked.classes.count() == classes
    }

    /// Some of the samples, evenly spread.
    fn sample(&self) -> Sample {
        let step = self.histograms.len().div_ceil(2 * SAMPLES).max(1);
        let histograms: Vec<Histogram> = self.histograms.iter().step_by(step).cloned().collect();
        let labels = self.labels.as_ref().and_then(|labels| {
            Labels::new(labels.as_slice().iter().step_by(step).copied().collect()).ok()
        });
        let what = if labels.is_some() { "right" } else { "the majority's, for lack of the truth" };
        let source = match step {
            1 => format!("{} ({what})", self.name),
            _ => format!("{} of the samples of {} ({what})", histograms.len(), self.name),
        };
        Sample { histograms, labels, source }
    }
}

impl Asked {
    fn of(question: &Question) -> Result<Self, String> {
        let text = |error: ParameterError| error.to_string();
        let polynomial: Polynomial =
            question.polynomial.parse().map_err(|error| format!("the polynomial: {error}"))?;
        if polynomial.round_count() > MOST_ROUNDS {
            return Err(format!(
                "the polynomial has {} rounds; here at most {MOST_ROUNDS}",
                polynomial.round_count()
            ));
        }
        if question.teachers > MOST_TEACHERS || question.classes > MOST_CLASSES {
            return Err(format!(
                "here at most {MOST_TEACHERS} teachers and {MOST_CLASSES} classes; `shield bound` \
                 takes more"
            ));
        }
        if !(question.epsilon > 0.0 && question.epsilon.is_finite()) {
            return Err("epsilon must be a number above 0".to_owned());
        }
        let offset = Offset::new(question.offset).map_err(text)?;
        let queries = Queries::new(question.queries).map_err(text)?;
        Ok(Self {
            setting: Setting { polynomial, offset, sampling: Sampling::default() },
            classes: Classes::new(question.classes).map_err(text)?,
            voters: Voters::new(question.teachers).map_err(text)?,
            usage: Usage { queries, delta: Delta::default() },
            budget: Epsilon::new(question.epsilon).map_err(text)?,
        })
    }

    fn with_offset(&self, dummies: u32) -> Option<Setting> {
        Some(Setting { offset: Offset::new(dummies).ok()?, ..self.setting.clone() })
    }

    /// The laws of SHIELD, and of GNMax with the noise that fits the budget.
    fn laws(&self, counts: &[u32]) -> Result<Vec<Law>, String> {
        if counts.is_empty() {
            return Ok(Vec::new());
        }
        if counts.len() != self.classes.count() || counts.iter().any(|&n| n > MOST_TEACHERS) {
            return Err(format!("the histogram must have {} counts", self.classes));
        }
        let histogram = Histogram::new(counts.to_vec()).map_err(|error| error.to_string())?;
        let gaussian = curves::gnmax_within(self.budget, self.usage);
        let mechanisms = std::iter::once(Mechanism::Shield(self.setting.clone())).chain(gaussian);
        let law = |mechanism: Mechanism| {
            let law = mechanism.law(&histogram);
            let classes = law.probabilities().collect();
            Law { mechanism: mechanism.name(), classes, none: law.failure() }
        };
        Ok(mechanisms.map(law).collect())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps something under its key, among at most a few dozen.
fn remember<K: std::hash::Hash + Eq, V: Clone>(
    known: &Mutex<HashMap<K, V>>,
    key: K,
    value: V,
) -> V {
    let mut known = lock(known);
    if known.len() >= 64 {
        known.clear();
    }
    known.insert(key, value.clone());
    value
}

/// JSON knows no infinity; nothing that costs so much is on any axis.
fn finite(epsilon: f64) -> f64 {
    if epsilon.is_finite() { epsilon } else { f64::MAX }
}

#[cfg(test)]
mod tests;
