//! Every role in one process: votes in, labels out.

use numpy::PyArray1;
use pyo3::prelude::*;
use rand::TryRngCore;
use rand::rngs::OsRng;
use serde_json::json;
use shield::backend::{Backend, ClearBackend};
use shield::labelling::{self, BallotRandomness, Labelled};
use shield::{Classes, Election, Histogram, Mechanism, Seed, Votes, synthetic};
use shield_bfv::{BfvBackend, ReleaseMode};

use crate::analysis::{SettingArgs, json, parse_setting, usage};
use crate::calls::Watch;
use crate::errors::refuse;
use crate::{arrays, calls};

/// Labels and a document: seconds of each role, and what the labels cost.
#[pyfunction]
pub(crate) fn label<'py>(
    py: Python<'py>,
    votes: &Bound<'py, PyAny>,
    classes: Option<usize>,
    setting: SettingArgs,
    engine: &str,
    insecure_seed: Option<u64>,
    queries: Option<u64>,
    delta: f64,
    threads: Option<usize>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<(Bound<'py, PyArray1<i32>>, String)> {
    let votes = arrays::votes(votes, classes)?;
    let setting = parse_setting(&setting)?;
    let usage = usage(queries.unwrap_or(votes.samples() as u64), delta)?;
    let (samples, teachers) = (votes.samples(), votes.teachers());
    let election = Election::new(teachers, votes.classes(), samples, setting.clone());
    let election = election.map_err(refuse)?;
    let seed = match insecure_seed {
        Some(number) => Seed::from_number(number),
        None => Seed::random(&mut OsRng.unwrap_err()),
    };
    let bfv = match engine {
        "clear" => None,
        "bfv" => {
            let planned = election.clone();
            let made = calls::run(py, threads, None, move |_| {
                BfvBackend::new(planned, ReleaseMode::default())
            })?;
            Some(made.map_err(refuse)?)
        }
        other => return Err(refuse(format!("`{other}` is not an engine: clear or bfv"))),
    };
    let (classes, found) = (votes.classes().count(), move |watch: &Watch| {
        watch.set_length(votes.samples() as u64);
        let labelled = match &bfv {
            None => all_roles(&ClearBackend::new(election), &votes, &seed, watch),
            Some(backend) => all_roles(backend, &votes, &seed, watch),
        }?;
        let histograms: Vec<Histogram> = votes.histograms().collect();
        let mechanism = Mechanism::Shield(setting);
        let epsilon = mechanism.proven_for(&histograms, usage).epsilon();
        Ok::<_, String>((labelled, epsilon))
    });
    let (Labelled { labels, seconds }, epsilon) =
        calls::run(py, threads, progress, found)?.map_err(refuse)?;
    let document = json!({
        "teachers": teachers,
        "classes": classes,
        "queries": usage.queries,
        "delta": usage.delta,
        "epsilon": epsilon,
        "seconds": seconds,
    });
    Ok((arrays::to_numpy(py, &labels), json(&document)?))
}

fn all_roles<B: Backend>(
    backend: &B,
    votes: &Votes,
    seed: &Seed,
    watch: &Watch,
) -> Result<Labelled, String> {
    let progress = |samples| watch.advance(samples);
    // Only a noisy argmax draws from the ballots' randomness; SHIELD's draws are the server's.
    labelling::label(backend, votes, seed, BallotRandomness::Fresh, &progress)
        .map_err(|error| error.to_string())
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
    let (votes, truth) = synthetic::votes(teachers, classes, samples, seed).map_err(refuse)?;
    let cells: Vec<_> = (0..samples).flat_map(|sample| votes.sample(sample)).collect();
    Ok((arrays::to_numpy(py, &cells), arrays::to_numpy(py, truth.as_slice())))
}
