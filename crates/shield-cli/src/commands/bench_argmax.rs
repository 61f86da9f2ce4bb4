//! `bench --mechanism noisy-argmax`: TFHE's noisy argmax and the batched one, in one process.

use std::borrow::Cow;
use std::time::Instant;

use rand::rngs::{OsRng, StdRng};
use rand::{SeedableRng, TryRngCore};
use serde::Serialize;
use shield::backend::noisy_argmax::{argmax, noisy_one_hot};
use shield::backend::{Backend, BackendBytes, Ballot, BallotBox, BallotBoxError, Presence};
use shield::framing::KeyId;
use shield::shared_noise::SharedNoise;
use shield::shared_noise::{NoiseFamily, Shares};
use shield::{Election, Label, Seed, Votes};
use shield_bfv::argmax::ArgmaxBackend;

use super::{Output, tfhe};
use crate::console::{self, duration};
use crate::failure::Failure;

/// TFHE takes seconds per sample, so it is measured on this many at most.
const TFHE_SAMPLES: usize = 2;

/// Both engines. What was not measured is null.
#[derive(Serialize)]
struct Comparison {
    teachers: usize,
    samples: usize,
    classes: usize,
    noise: f64,
    noise_law: NoiseFamily,
    dropouts: u32,
    threads: usize,
    tfhe_samples: Option<usize>,
    tfhe_seconds_per_sample: Option<f64>,
    bfv_seconds_per_sample: f64,
    ratio: Option<f64>,
    /// Whether every label is the argmax in the clear of the same votes with the same noise.
    labels_agree: bool,
}

/// What one engine took.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    samples: usize,
    /// Of the aggregation: from stored ballots to the release.
    seconds_per_sample: f64,
    labels_agree: bool,
}

/// What both engines are asked.
#[derive(Clone, Copy)]
pub(super) struct Question<'a> {
    pub(super) election: &'a Election,
    pub(super) votes: &'a Votes,
    pub(super) noise: SharedNoise,
    pub(super) threads: usize,
}

/// Runs both engines, or BFV alone in a program without TFHE.
pub(super) fn run(question: Question, output: Output) -> Result<(), Failure> {
    let Question { election, votes, noise, threads } = question;
    let backend = ArgmaxBackend::new(election.clone(), noise).map_err(Failure::bad_input)?;
    let bfv = measure(&backend, noise, votes)?;
    let few = votes.samples().min(TFHE_SAMPLES);
    let setting = election.setting().clone();
    let small = Election::new(votes.teachers(), election.classes(), few, setting)?;
    let tfhe = tfhe::measure_noisy_argmax(small, noise, votes)?;
    let comparison = Comparison {
        teachers: votes.teachers(),
        samples: bfv.samples,
        classes: election.classes().count(),
        noise: noise.scale().get(),
        noise_law: noise.family(),
        dropouts: noise.dropouts(),
        threads,
        tfhe_samples: tfhe.map(|tfhe| tfhe.samples),
        tfhe_seconds_per_sample: tfhe.map(|tfhe| tfhe.seconds_per_sample),
        bfv_seconds_per_sample: bfv.seconds_per_sample,
        ratio: tfhe.map(|tfhe| tfhe.seconds_per_sample / bfv.seconds_per_sample),
        labels_agree: bfv.labels_agree && tfhe.is_none_or(|tfhe| tfhe.labels_agree),
    };
    match output {
        Output::Json => console::print_json(&comparison),
        Output::Tables => console::print(&describe(&comparison)),
    }
}

/// The ballots of one batch as the server stores them: bytes, opened and checked one by one.
struct Stored<'a, B> {
    backend: &'a B,
    ballots: Vec<Vec<u8>>,
    presence: Presence,
    batch: usize,
    key: KeyId,
}

impl<B: BackendBytes> BallotBox<B::Ballot> for Stored<'_, B> {
    fn presence(&self, _: u32) -> Result<Presence, BallotBoxError> {
        Ok(self.presence.clone())
    }

    fn open(&self, teacher: u32) -> Result<Cow<'_, B::Ballot>, BallotBoxError> {
        let bytes = &self.ballots[teacher as usize];
        let ballot = self.backend.decode_ballot(bytes, self.batch, self.key);
        ballot.map(Cow::Owned).map_err(|error| BallotBoxError { teacher, source: error.into() })
    }
}

/// Labels the first samples of some votes, as many as the engine's election has, and compares
/// every label with the argmax in the clear.
pub(super) fn measure<B: BackendBytes>(
    backend: &B,
    noise: SharedNoise,
    votes: &Votes,
) -> Result<Measured, Failure> {
    let mut rng = StdRng::from_rng(&mut OsRng.unwrap_err());
    let seed = Seed::random(&mut rng);
    let keys = backend.generate_keys(&mut rng).map_err(Failure::failed)?;
    let key = backend.public_key_id(&keys.public);
    let classes = backend.election().classes();
    let shares = Shares::new(&noise);
    let (mut seconds, mut labels, mut expected) = (0.0, Vec::new(), Vec::new());
    for batch in 0..Backend::batches(backend) {
        let samples = Backend::batch(backend, batch);
        let mut counts = vec![0_i64; samples.len() * classes.count()];
        let mut ballots = Vec::with_capacity(votes.teachers());
        let mut presence = Presence::new(samples.clone().map(|_| true));
        for teacher in 0..votes.teachers() {
            let own = votes.teacher(teacher, samples.clone());
            // A copy of the generator draws the same shares.
            let mut own_rng = StdRng::from_rng(&mut rng);
            let numbers = noisy_one_hot(classes, &own, &shares, &mut own_rng.clone());
            counts.iter_mut().zip(numbers).for_each(|(count, number)| *count += number);
            let ballot = backend.encrypt(&keys.public, batch, &own, &mut own_rng);
            let ballot = ballot.map_err(Failure::failed)?;
            presence = ballot.presence().clone();
            ballots.push(backend.encode_ballot(&ballot));
        }
        expected.extend(counts.chunks(classes.count()).map(|counts| Some(argmax(counts))));
        let stored = Stored { backend, ballots, presence, batch, key };
        let start = Instant::now();
        let release = backend.aggregate(&keys.evaluation, batch, &stored, &seed);
        seconds += start.elapsed().as_secs_f64();
        let release = release.map_err(Failure::failed)?;
        let found: Vec<Label> =
            backend.decrypt(&keys.secret, batch, &release).map_err(Failure::failed)?;
        labels.extend(found);
    }
    Ok(Measured {
        samples: labels.len(),
        seconds_per_sample: seconds / labels.len() as f64,
        labels_agree: labels == expected,
    })
}

fn describe(comparison: &Comparison) -> String {
    let plural = if comparison.threads == 1 { "" } else { "s" };
    let mut rows = vec![(
        "setting",
        format!(
            "{} teachers, {} samples, {} classes, {} noise of {}, {} thread{plural}",
            comparison.teachers,
            comparison.samples,
            comparison.classes,
            comparison.noise_law,
            comparison.noise,
            comparison.threads,
        ),
    )];
    if let (Some(seconds), Some(samples)) =
        (comparison.tfhe_seconds_per_sample, comparison.tfhe_samples)
    {
        rows.push(("tfhe", format!("{} per sample, of {samples}", duration(seconds))));
    }
    let bfv = duration(comparison.bfv_seconds_per_sample);
    rows.push(("bfv", format!("{bfv} per sample, from stored ballots to the release")));
    if let Some(ratio) = comparison.ratio {
        rows.push(("ratio", format!("{ratio:.0}")));
    }
    let agree = if comparison.labels_agree { "yes" } else { "NO" };
    rows.push(("the argmax in the clear", agree.to_owned()));
    console::properties(&rows)
}
