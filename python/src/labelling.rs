//! Every role in one process: votes in, labels out.

use numpy::PyArray1;
use pyo3::prelude::*;
use rand::TryRngCore;
use rand::rngs::OsRng;
use serde_json::json;
use shield::backend::noisy_argmax::ClearNoisyArgmax;
use shield::backend::{Backend, ClearBackend};
use shield::labelling::{self, BallotRandomness, Labelled};
use shield::privacy::noisy_argmax::Noise;
use shield::shared_noise::{NoiseFamily, SharedNoise};
use shield::{Classes, Election, Histogram, Mechanism, ParameterError, Seed, Votes, synthetic};
use shield_bfv::argmax::ArgmaxBackend;
use shield_bfv::{BfvBackend, ReleaseMode};

use crate::analysis::{SettingArgs, json, parse_setting, usage};
use crate::calls::Watch;
use crate::errors::refuse;
use crate::{arrays, calls};

/// The engines that can label.
#[derive(Clone, Copy)]
enum Engine {
    Clear,
    Bfv,
}

/// The noise of a noisy argmax as Python gives it: its size, its law, and how many teachers may be
/// missing.
type NoiseArgs = (f64, Option<String>, u32);

/// Noise in shares, with the law that suits the engine where none is named.
fn shared(noise: &NoiseArgs, engine: Engine, teachers: usize) -> PyResult<SharedNoise> {
    let (size, law, dropouts) = noise;
    let law = match (law, engine) {
        (Some(law), _) => law.parse().map_err(refuse)?,
        (None, Engine::Bfv) => NoiseFamily::Skellam,
        (None, Engine::Clear) => NoiseFamily::Laplace,
    };
    let teachers = u32::try_from(teachers).map_err(refuse)?;
    SharedNoise::of(law, Noise::new(*size).map_err(refuse)?, teachers, *dropouts).map_err(refuse)
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
) -> PyResult<(Bound<'py, PyArray1<i32>>, String)> {
    let votes = arrays::votes(votes, classes)?;
    let setting = parse_setting(&setting)?;
    let engine = match engine {
        "clear" => Engine::Clear,
        "bfv" => Engine::Bfv,
        other => return Err(refuse(format!("`{other}` is not an engine: clear or bfv"))),
    };
    let usage = usage(queries.unwrap_or(votes.samples() as u64), delta)?;
    let (samples, teachers) = (votes.samples(), votes.teachers());
    let noise = noise.map(|noise| shared(&noise, engine, teachers)).transpose()?;
    let election = Election::new(teachers, votes.classes(), samples, setting.clone());
    let election = election.map_err(refuse)?;
    let mechanism = noise.map_or(Mechanism::Shield(setting), Mechanism::NoisyArgmax);
    let described = (mechanism.name(), mechanism.against_server().holds());
    let classes = votes.classes().count();
    let seed = match insecure_seed {
        Some(number) => Seed::from_number(number),
        None => Seed::random(&mut OsRng.unwrap_err()),
    };
    // Only a noisy argmax draws from the ballots' randomness; SHIELD's draws are the server's.
    let seeded = noise.is_some() && insecure_seed.is_some();
    let ballots = if seeded { BallotRandomness::Seeded } else { BallotRandomness::Fresh };
    let found = move |watch: &Watch| {
        watch.set_length(votes.samples() as u64);
        let roles = Roles { votes: &votes, seed: &seed, ballots, watch };
        let labelled = match (engine, noise) {
            (Engine::Clear, None) => roles.play(&ClearBackend::new(election)),
            (Engine::Clear, Some(noise)) => roles.play(&ClearNoisyArgmax::new(election, noise)),
            (Engine::Bfv, None) => {
                let backend = BfvBackend::new(election, ReleaseMode::default());
                roles.play(&backend.map_err(|error| error.to_string())?)
            }
            (Engine::Bfv, Some(noise)) => {
                let backend = ArgmaxBackend::new(election, noise);
                roles.play(&backend.map_err(|error| error.to_string())?)
            }
        }?;
        let histograms: Vec<Histogram> = votes.histograms().collect();
        let epsilon = mechanism.proven_for(&histograms, usage).epsilon();
        Ok::<_, String>((labelled, epsilon))
    };
    let (Labelled { labels, seconds }, epsilon) =
        calls::run(py, threads, progress, found)?.map_err(refuse)?;
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
    Ok((arrays::to_numpy(py, &labels), json(&document)?))
}

/// What the roles share.
struct Roles<'a> {
    votes: &'a Votes,
    seed: &'a Seed,
    ballots: BallotRandomness,
    watch: &'a Watch,
}

impl Roles<'_> {
    /// Plays all of them with an engine.
    fn play<B: Backend>(&self, backend: &B) -> Result<Labelled, String> {
        let progress = |samples| self.watch.advance(samples);
        labelling::label(backend, self.votes, self.seed, self.ballots, &progress)
            .map_err(|error| error.to_string())
    }
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
