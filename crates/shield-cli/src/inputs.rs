//! Arguments that several commands share, and what they become.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use rand::rngs::{OsRng, StdRng};
use rand::{SeedableRng, TryRngCore};
use shield::polya::SharedNoise;
use shield::privacy::Usage;
use shield::privacy::noisy_argmax::Noise;
use shield::{
    Classes, Delta, Labels, Offset, Polynomial, Queries, Sampling, Setting, Votes, files,
};
use shield_service::client::{self, Client, Invitation};
use shield_service::{ElectionFile, Name, file_protocol};

use crate::console;
use crate::failure::Failure;

/// The votes, and what is known about them.
#[derive(Args, Debug)]
pub(crate) struct VotesArgs {
    /// Votes: integers, samples x teachers, .npy or .csv (-1 or an empty cell abstains)
    #[arg(long, value_name = "FILE")]
    pub(crate) votes: PathBuf,

    /// True labels to compare with: one integer a sample, .npy or .csv
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: Option<PathBuf>,

    /// Number of classes [default: one more than the largest vote or label]
    #[arg(long, value_name = "K")]
    pub(crate) classes: Option<Classes>,
}

impl VotesArgs {
    /// Reads the files and checks that they fit each other.
    pub(crate) fn load(&self) -> Result<(Votes, Option<Labels>), Failure> {
        let labels = self.labels.as_deref().map(files::read_labels).transpose()?;
        let mut votes = files::read_votes(&self.votes, self.classes)?;
        if self.classes.is_none() {
            let largest = labels.iter().flat_map(Labels::as_slice).flatten().max();
            if let Some(class) = largest.filter(|&&class| !votes.classes().contains(class)) {
                votes = files::read_votes(&self.votes, Some(Classes::new(class.index() + 1)?))?;
            }
            console::warn(&format!(
                "took {} classes from the largest vote; give --classes if there are more",
                votes.classes()
            ));
        }
        if let (Some(labels), Some(path)) = (&labels, &self.labels) {
            labels
                .check(votes.samples(), votes.classes())
                .map_err(|error| Failure::bad_input(format!("{}: {error}", path.display())))?;
        }
        Ok((votes, labels))
    }
}

/// The operator's setting.
#[derive(Args, Debug)]
pub(crate) struct MechanismArgs {
    /// Rounds of the operator: 2X^3+X is two rounds of three draws, then one of one
    #[arg(long, value_name = "P", default_value_t, allow_hyphen_values = true)]
    pub(crate) polynomial: Polynomial,

    /// Dummy votes for each class; 0 gives no privacy
    #[arg(long, value_name = "W", default_value_t, allow_negative_numbers = true)]
    pub(crate) offset: Offset,

    /// How a round draws: with-replacement or without-replacement
    #[arg(long, value_name = "RULE", default_value_t)]
    pub(crate) sampling: Sampling,
}

impl MechanismArgs {
    /// The mechanism.
    pub(crate) fn mechanism(&self) -> Setting {
        Setting {
            polynomial: self.polynomial.clone(),
            offset: self.offset,
            sampling: self.sampling,
        }
    }
}

/// Noise in votes where none is given.
const DEFAULT_NOISE: f64 = 40.0;

/// The mechanisms that run encrypted, by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum MechanismName {
    /// SHIELD
    #[default]
    Shield,
    /// SPEED's argmax, with discrete Laplace noise that the teachers add in shares
    NoisyArgmax,
}

/// The noise of an argmax.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct NoiseArgs {
    /// Noise of a noisy argmax, in votes: its scale, or its standard deviation if it is Gaussian
    #[arg(long, value_name = "B", default_value_t = DEFAULT_NOISE)]
    pub(crate) noise: f64,

    /// How many teachers may be missing from a noisy-argmax: the others' shares of the noise make
    /// up for theirs
    #[arg(long, value_name = "D", default_value_t = 0)]
    pub(crate) dropouts: u32,
}

impl NoiseArgs {
    /// Noise in shares, one a teacher.
    pub(crate) fn shared(self, teachers: u32) -> Result<SharedNoise, Failure> {
        Ok(SharedNoise::new(Noise::new(self.noise)?, teachers, self.dropouts)?)
    }
}

/// What a privacy cost is stated for.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct UsageArgs {
    /// How many samples the student asks about
    #[arg(long, value_name = "Q", default_value_t = Queries::default())]
    pub(crate) queries: Queries,

    /// The failure probability of (epsilon, delta)-differential privacy
    #[arg(long, value_name = "D", default_value_t = Delta::default())]
    pub(crate) delta: Delta,
}

impl UsageArgs {
    /// Queries and delta.
    pub(crate) fn usage(self) -> Usage {
        Usage { queries: self.queries, delta: self.delta }
    }
}

/// What a privacy cost is stated for, where the samples are known.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct FileUsageArgs {
    /// How many samples the student asks about [default: as many as the file has]
    #[arg(long, value_name = "Q")]
    queries: Option<Queries>,

    /// The failure probability of (epsilon, delta)-differential privacy
    #[arg(long, value_name = "D", default_value_t = Delta::default())]
    delta: Delta,
}

impl FileUsageArgs {
    /// Queries and delta, for a file of that many samples.
    pub(crate) fn usage(self, samples: usize) -> Result<Usage, Failure> {
        let queries = match self.queries {
            Some(queries) => queries,
            None => Queries::new(samples as u64)?,
        };
        Ok(Usage { queries, delta: self.delta })
    }
}

/// What all parties agreed on.
#[derive(Args, Debug)]
pub(crate) struct ElectionArgs {
    /// The election file (TOML) that all parties have
    #[arg(long, value_name = "FILE")]
    pub(crate) election: PathBuf,
}

impl ElectionArgs {
    /// Reads the election file.
    pub(crate) fn load(&self) -> Result<ElectionFile, Failure> {
        read_election(&self.election)
    }
}

/// A fresh generator, seeded by the system.
pub(crate) fn system_rng() -> StdRng {
    StdRng::from_rng(&mut OsRng.unwrap_err())
}

/// More threads than any machine has cores only wait for each other, for hours.
const MAX_THREADS: usize = 1024;

/// Runs some work on that many threads; without a number, on all cores.
pub(crate) fn on_threads<T: Send>(
    threads: Option<usize>,
    work: impl FnOnce(usize) -> T + Send,
) -> Result<T, Failure> {
    if let Some(threads) = threads.filter(|threads| !(1..=MAX_THREADS).contains(threads)) {
        return Err(Failure::bad_input(format!(
            "--threads is {threads}; give 1 to {MAX_THREADS}, or leave it out for all cores"
        )));
    }
    let builder = rayon::ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0));
    let pool = builder.build().map_err(Failure::failed)?;
    Ok(pool.install(|| work(rayon::current_num_threads())))
}

/// How to reach a server, and as whom.
#[derive(Args, Debug)]
pub(crate) struct InvitationArgs {
    /// Your invitation: the server's address and your token. The token in SHIELD_TOKEN counts
    /// instead, if it is set
    #[arg(long, value_name = "FILE", env = "SHIELD_INVITATION")]
    pub(crate) invitation: PathBuf,

    /// The election, for the operator; others are invited to one
    #[arg(long, value_name = "NAME")]
    election: Option<Name>,
}

impl InvitationArgs {
    /// Reads the invitation and makes the client.
    pub(crate) fn client(&self) -> Result<(Client, Invitation), Failure> {
        let invitation = Invitation::read(&self.invitation)?;
        Ok((Client::new(&invitation)?, invitation))
    }

    /// The election that is meant.
    pub(crate) fn election(&self, invitation: &Invitation) -> Result<Name, Failure> {
        Ok(client::election_of(invitation, self.election.as_ref())?)
    }
}

/// Reads an election file.
pub(crate) fn read_election(path: &Path) -> Result<ElectionFile, Failure> {
    Ok(file_protocol::read_election(path)?)
}
