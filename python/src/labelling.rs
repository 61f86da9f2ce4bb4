//! Every role in one process: votes in, labels out.

use numpy::PyArray1;
use pyo3::prelude::*;
use rand::TryRngCore;
use rand::rngs::OsRng;
use serde_json::json;
use shield_bfv::advice::{self, Against, Planned, Wishes};
use shield_core::labelling::{BallotRandomness, Labelled, Seconds};
use shield_core::{
    Classes, Election, Epsilon, Histogram, ParameterError, Seed, Votes, Watch, synthetic,
};
use shield_privacy::mechanism::{ArgmaxOfShares, Quote, Thin, best};
use shield_privacy::{Mechanism, Usage};
use shield_protocol::engine::{EngineName, EngineSpec, Labelling, NoisyArgmax};

use crate::analysis::{self, MechanismOptions, SettingArgs, parse_setting, usage};
use crate::errors::refuse;
use crate::{arrays, calls};

/// A budget as Python gives it: epsilon, whether it must hold against the server, and the share of
/// samples that must get a label.
type BudgetArgs = (f64, bool, Option<f64>);

/// The mechanism within a budget: the named one at its best, or the better one of those that run
/// encrypted; and what is said of the choice.
fn within(
    name: Option<&str>,
    (epsilon, server, answered): BudgetArgs,
    votes: &Votes,
    usage: Usage,
) -> PyResult<(Mechanism, String)> {
    let budget = Epsilon::new(epsilon).map_err(refuse)?;
    let against = if server { Against::Server } else { Against::Readers };
    let planned = Planned::for_votes(votes, usage, budget).map_err(refuse)?;
    let decided = match name {
        None => advice::decide(&planned, Wishes { against, answered }),
        Some("shield") => advice::decide_shield(&planned, answered),
        Some("noisy-argmax") => {
            advice::decide(&planned, Wishes { against: Against::Server, answered })
        }
        Some(name) => {
            let teachers = planned.teachers.count();
            // Their noise depends neither on the votes nor on how many there are of a class.
            let shape = [Histogram::new(vec![1; votes.classes().count()]).map_err(refuse)?];
            let all = best::others_within(budget, &shape, teachers, usage);
            let found = all.into_iter().map(|found| found.0).find(|found| found.name() == name);
            let found = found.ok_or_else(|| {
                refuse(format!(
                    "nothing is chosen by an epsilon for mechanism=\"{name}\": give its own options"
                ))
            })?;
            return Ok((found, String::new()));
        }
    };
    let decided = decided.map_err(refuse)?;
    Ok((decided.mechanism, decided.why))
}

/// Labels and a document: seconds of each role, and what the labels cost. Mechanisms that no engine
/// runs draw their labels in the clear.
#[pyfunction]
pub(crate) fn label<'py>(
    py: Python<'py>,
    votes: &Bound<'py, PyAny>,
    classes: Option<usize>,
    name: Option<String>,
    setting: SettingArgs,
    options: MechanismOptions,
    budget: Option<BudgetArgs>,
    engine: &str,
    insecure_seed: Option<u64>,
    queries: Option<u64>,
    delta: f64,
    threads: Option<usize>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<(Bound<'py, PyArray1<i32>>, Bound<'py, PyAny>)> {
    let votes = arrays::votes(votes, classes)?;
    let usage = usage(queries.unwrap_or(votes.samples() as u64), delta)?;
    let (samples, teachers) = (votes.samples(), votes.teachers());
    let engine: EngineName = engine.parse().map_err(refuse)?;
    let classes = votes.classes().count();
    let seed = match insecure_seed {
        Some(number) => Seed::from_number(number),
        None => Seed::random(&mut OsRng.unwrap_err()),
    };
    let found = move |watch: &Watch| {
        let (mechanism, why) = if let Some(budget) = budget {
            within(name.as_deref(), budget, &votes, usage)?
        } else {
            let (noise, law, dropouts, rate, schedule, threshold, check) = options;
            let law = law.unwrap_or_else(|| engine.noise_law().to_string());
            let options = (noise, Some(law), dropouts, rate, schedule, threshold, check);
            let teachers = u32::try_from(teachers).map_err(refuse)?;
            let name = name.as_deref().unwrap_or("shield");
            (analysis::mechanism(name, &setting, &options, teachers)?, String::new())
        };
        let argmax = match &mechanism {
            Mechanism::NoisyArgmax(ArgmaxOfShares { noise, threshold }) => {
                Some(NoisyArgmax { noise: *noise, counts: None, threshold: *threshold })
            }
            _ => None,
        };
        let histograms: Vec<Histogram> = votes.histograms().collect();
        let labelled = match &mechanism {
            Mechanism::Shield(_) | Mechanism::NoisyArgmax(_) => {
                let shield = match &mechanism {
                    Mechanism::Shield(setting) => setting.clone(),
                    _ => parse_setting(&setting)?,
                };
                let spec = EngineSpec::new(engine, argmax).map_err(refuse)?;
                let election = Election::new(teachers, votes.classes(), samples, shield);
                // Only a noisy argmax draws from the ballots' randomness; SHIELD's draws are the
                // server's.
                let ballots = match (insecure_seed, argmax) {
                    (Some(_), Some(_)) => BallotRandomness::Seeded,
                    _ => BallotRandomness::Fresh,
                };
                let all = Labelling { votes: &votes, seed: &seed, ballots, watch };
                spec.with(&election.map_err(refuse)?, all).map_err(refuse)?.map_err(refuse)?
            }
            other if engine == EngineName::Clear => {
                Labelled { labels: other.draw(&histograms, &seed), seconds: Seconds::default() }
            }
            other => {
                return Err(refuse(format!(
                    "no engine runs {} encrypted; leave out `engine`, or take shield or \
                     noisy-argmax",
                    other.name()
                )));
            }
        };
        let quote = Quote::new(&mechanism, &histograms, teachers, usage, &Watch::default());
        Ok::<_, PyErr>((labelled, mechanism, why, quote))
    };
    let (Labelled { labels, seconds }, mechanism, why, quote) =
        calls::run(py, threads, progress, found)??;
    let document = json!({
        "mechanism": mechanism.name(),
        "brief": mechanism.brief(),
        "description": mechanism.description(),
        "why": why,
        "holds_against_server": mechanism.against_server().holds(),
        "teachers": teachers,
        "classes": classes,
        "queries": usage.queries,
        "delta": usage.delta,
        "epsilon": quote.epsilon,
        "holds_for": quote.holds_for,
        "turnout": quote.turnout,
        "thin": quote.thin.as_ref().map(Thin::sentence),
        "seconds": seconds,
    });
    Ok((arrays::to_numpy(py, &labels), analysis::document(py, &document)?))
}

/// Classes as NumPy has them.
type Numbers<'py> = Bound<'py, PyArray1<i32>>;

/// Made-up votes and their true labels.
#[pyfunction]
pub(crate) fn synthesize(
    py: Python<'_>,
    teachers: usize,
    classes: usize,
    samples: usize,
    seed: u64,
) -> PyResult<(Numbers<'_>, Numbers<'_>)> {
    let classes = Classes::new(classes).map_err(refuse)?;
    let made = calls::run(py, None, None, move |_| {
        let (votes, truth) = synthetic::votes(teachers, classes, samples, seed)?;
        let cells: Vec<_> = (0..samples).flat_map(|sample| votes.sample(sample)).collect();
        Ok::<_, ParameterError>((cells, truth))
    })?;
    let (cells, truth) = made.map_err(refuse)?;
    Ok((arrays::to_numpy(py, &cells), arrays::to_numpy(py, truth.as_slice())))
}
