//! The rows of the engines that bootstrap. They take seconds per sample, so they are measured on
//! few.

use std::time::Instant;

use rand::rngs::{OsRng, StdRng};
use rand::{SeedableRng, TryRngCore};
use shield::Label;
use shield::backend::noisy_argmax::ClearNoisyArgmax;
use shield::backend::{Backend, BackendBytes, BallotBox, ClearKey, KeysOf, MemoryBallotBox};
use shield::framing::Kind;
use shield::parameters::Noise;
use shield::shared_noise::SharedNoise;
use shield_tfhe::baseline::gates;
use shield_tfhe::bootstrapped::{BootstrappedBackend, Circuit};
use shield_tfhe::noisy_argmax::NoisyArgmaxBackend;

use super::{Case, Row, agreeing};
use crate::failure::Failure;

/// Samples where a sample takes about a second.
const FEW: usize = 2;
/// The scale of the noise: as `analyze` has it.
const NOISE: f64 = 40.0;

pub(super) fn bootstrapped(setting: &Case, circuit: Circuit) -> Result<Row, Failure> {
    let samples = setting.args.samples_or(FEW).min(FEW);
    let (election, votes, right) = setting.election(samples)?;
    let backend = BootstrappedBackend::new(election, circuit).map_err(Failure::bad_input)?;
    let mut rng = StdRng::from_rng(&mut OsRng.unwrap_err());
    let keys = backend.generate_keys(&mut rng).map_err(Failure::failed)?;
    let start = Instant::now();
    let ballot = |teacher| {
        let own = votes.teacher(teacher, backend.batch(0));
        backend.encrypt(&keys.public, 0, &own, &mut rng).map(Some)
    };
    let ballots: Result<_, _> = (0..votes.teachers()).map(ballot).collect();
    let encrypt = start.elapsed().as_secs_f64() / (samples * votes.teachers()) as f64;
    let ballots = MemoryBallotBox::new(samples, ballots.map_err(Failure::failed)?);
    let (labels, seconds) = aggregate(&backend, &keys, &ballots, setting)?;
    let name =
        format!("bootstrapped, {circuit}, {} bootstrappings", backend.plan().bootstrappings());
    Ok(Row {
        engine: name,
        samples,
        seconds_per_sample: seconds / samples as f64,
        from_arrival_seconds_per_sample: seconds / samples as f64,
        encrypt_seconds_per_vote: encrypt,
        receive_seconds_per_vote: 0.0,
        right: agreeing(&labels, &right),
        upload_bytes_per_vote: backend.max_bytes(Kind::Ballot) as f64 / samples as f64,
        download_bytes_per_sample: backend.max_bytes(Kind::Release) as f64 / samples as f64,
        public_key_bytes: backend.max_bytes(Kind::PublicKey),
        evaluation_key_bytes: backend.max_bytes(Kind::EvaluationKey),
    })
}

fn aggregate<B: Backend>(
    backend: &B,
    keys: &KeysOf<B>,
    ballots: &impl BallotBox<B::Ballot>,
    setting: &Case,
) -> Result<(Vec<Label>, f64), Failure> {
    let start = Instant::now();
    let release =
        backend.aggregate(&keys.evaluation, 0, ballots, &setting.seed).map_err(Failure::failed)?;
    let seconds = start.elapsed().as_secs_f64();
    Ok((backend.decrypt(&keys.secret, 0, &release).map_err(Failure::failed)?, seconds))
}

/// The paper's circuit. Its ballots are made with the secret key and never leave the process.
pub(super) fn gates(setting: &Case) -> Result<Row, Failure> {
    let (election, votes, right) = setting.election(1)?;
    let mut rng = StdRng::from_rng(&mut OsRng.unwrap_err());
    let run = gates::run(&election, &votes, &setting.seed, &mut rng);
    let sizes = gates::Sizes::of(election.classes().count());
    Ok(Row {
        engine: format!("the paper's gates, {}", run.gates),
        samples: 1,
        seconds_per_sample: run.aggregation.as_secs_f64(),
        from_arrival_seconds_per_sample: run.aggregation.as_secs_f64(),
        encrypt_seconds_per_vote: 0.0,
        receive_seconds_per_vote: 0.0,
        right: agreeing(&run.labels, &right),
        upload_bytes_per_vote: sizes.vote as f64,
        download_bytes_per_sample: sizes.vote as f64,
        public_key_bytes: 0,
        evaluation_key_bytes: sizes.server_key,
    })
}

/// SPEED's exact argmax; it is right if it is the argmax of the same noisy counts in the clear.
pub(super) fn noisy_argmax(setting: &Case) -> Result<Row, Failure> {
    let samples = 1;
    let (election, votes, _) = setting.election(samples)?;
    let noise = SharedNoise::new(Noise::new(NOISE)?, election.teachers(), 0)?;
    let clear = ClearNoisyArgmax::new(election.clone(), noise);
    let backend = NoisyArgmaxBackend::new(election, noise).map_err(Failure::bad_input)?;
    let mut rng = StdRng::from_rng(&mut OsRng.unwrap_err());
    let keys = backend.generate_keys(&mut rng).map_err(Failure::failed)?;
    let (mut ballots, mut in_the_clear, mut encrypt) = (Vec::new(), Vec::new(), 0.0);
    for teacher in 0..votes.teachers() {
        let own = votes.teacher(teacher, 0..samples);
        // The same generator draws the same shares.
        let mut own_rng = StdRng::from_rng(&mut rng);
        let same = clear.encrypt(&ClearKey::default(), 0, &own, &mut own_rng.clone());
        in_the_clear.push(Some(same.map_err(Failure::failed)?));
        let start = Instant::now();
        let ballot = backend.encrypt(&keys.public, 0, &own, &mut own_rng);
        encrypt += start.elapsed().as_secs_f64();
        ballots.push(Some(ballot.map_err(Failure::failed)?));
    }
    let in_the_clear = MemoryBallotBox::new(samples, in_the_clear);
    let key = ClearKey::default();
    let right = clear.aggregate(&key, 0, &in_the_clear, &setting.seed).map_err(Failure::failed)?;
    let right = clear.decrypt(&key, 0, &right).map_err(Failure::failed)?;
    let ballots = MemoryBallotBox::new(samples, ballots);
    let (labels, seconds) = aggregate(&backend, &keys, &ballots, setting)?;
    Ok(Row {
        engine: format!("exact noisy argmax, {} bootstrappings", backend.plan().bootstrappings()),
        samples,
        seconds_per_sample: seconds,
        from_arrival_seconds_per_sample: seconds,
        encrypt_seconds_per_vote: encrypt / votes.teachers() as f64,
        receive_seconds_per_vote: 0.0,
        right: agreeing(&labels, &right),
        upload_bytes_per_vote: backend.max_bytes(Kind::Ballot) as f64,
        download_bytes_per_sample: backend.max_bytes(Kind::Release) as f64,
        public_key_bytes: backend.max_bytes(Kind::PublicKey),
        evaluation_key_bytes: backend.max_bytes(Kind::EvaluationKey),
    })
}
