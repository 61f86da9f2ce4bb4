//! Every role in one process: votes in, labels out.

use numpy::PyArray1;
use pyo3::prelude::*;
use rand::TryRngCore;
use rand::rngs::OsRng;
use serde_json::json;
use shield_core::labelling::{BallotRandomness, Labelled};
use shield_core::shared_noise::SharedNoise;
use shield_core::{Classes, Election, Histogram, ParameterError, Seed, Watch, synthetic};
use shield_privacy::noisy_argmax::Noise;
use shield_protocol::engine::{EngineName, EngineSpec, Labelling, NoisyArgmax};

use crate::analysis::{self, SettingArgs, parse_setting, usage};
use crate::errors::refuse;
use crate::{arrays, calls};

/// The noise of a noisy argmax as Python gives it: its size, its law, and how many teachers may be
/// missing.
type NoiseArgs = (f64, Option<String>, u32);

/// The engine, with SHIELD or with noise in shares of the law that suits the engine where none is
/// named.
fn spec(engine: &str, noise: Option<NoiseArgs>, teachers: usize) -> PyResult<EngineSpec> {
    let engine: EngineName = engine.parse().map_err(refuse)?;
    let shared = |(size, law, dropouts): NoiseArgs| {
        let law = law.map_or(Ok(engine.noise_law()), |law| law.parse()).map_err(refuse)?;
        let teachers = u32::try_from(teachers).map_err(refuse)?;
        let noise = SharedNoise::of(law, Noise::new(size).map_err(refuse)?, teachers, dropouts);
        let noise = noise.map_err(refuse)?;
        Ok::<_, PyErr>(NoisyArgmax { noise, counts: None, threshold: None })
    };
    EngineSpec::new(engine, noise.map(shared).transpose()?).map_err(refuse)
}

/// Labels and a document: seconds of each role, and what the labels cost. Without noise the
/// mechanism is SHIELD.
#[pyfunction]
pub(crate) fn label<'py>(
    py: Python<'py>,
    votes: &Bound<'py, PyAny>,
    classes: Option<usize>,
    setting: SettingArgs,
    noise: Option<NoiseArgs>,
    engine: &str,
    insecure_seed: Option<u64>,
    queries: Option<u64>,
    delta: f64,
    threads: Option<usize>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<(Bound<'py, PyArray1<i32>>, Bound<'py, PyAny>)> {
    let votes = arrays::votes(votes, classes)?;
    let setting = parse_setting(&setting)?;
    let usage = usage(queries.unwrap_or(votes.samples() as u64), delta)?;
    let (samples, teachers) = (votes.samples(), votes.teachers());
    let spec = spec(engine, noise, teachers)?;
    let mechanism = spec.mechanism(&setting);
    let election = Election::new(teachers, votes.classes(), samples, setting);
    let election = election.map_err(refuse)?;
    let described = (mechanism.name(), mechanism.against_server().holds());
    let classes = votes.classes().count();
    let seed = match insecure_seed {
        Some(number) => Seed::from_number(number),
        None => Seed::random(&mut OsRng.unwrap_err()),
    };
    // Only a noisy argmax draws from the ballots' randomness; SHIELD's draws are the server's.
    let ballots = match (insecure_seed, spec.argmax()) {
        (Some(_), Some(_)) => BallotRandomness::Seeded,
        _ => BallotRandomness::Fresh,
    };
    let found = move |watch: &Watch| {
        let all = Labelling { votes: &votes, seed: &seed, ballots, watch };
        let labelled = spec.with(&election, all).map_err(refuse)?.map_err(refuse)?;
        let histograms: Vec<Histogram> = votes.histograms().collect();
        let epsilon = mechanism.proven_for(&histograms, usage);
        Ok::<_, PyErr>((labelled, epsilon))
    };
    let (Labelled { labels, seconds }, epsilon) = calls::run(py, threads, progress, found)??;
    let document = json!({
        "mechanism": described.0,
        "holds_against_server": described.1,
        "teachers": teachers,
        "classes": classes,
        "queries": usage.queries,
        "delta": usage.delta,
        "epsilon": epsilon,
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
