//! Arguments that several commands share, and what they become.

mod parties;
mod spec;
mod votes;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use rand::rngs::{OsRng, StdRng};
use rand::{SeedableRng, TryRngCore};
use shield_client::{Client, Invitation};
use shield_core::{Delta, Offset, Polynomial, Queries, Sampling, Setting};
use shield_privacy::Usage;
use shield_protocol::{Name, PlannedElection, Problem, ProtocolError, Refused};

use crate::console;
use crate::failure::Failure;

pub(crate) use parties::{IdentityArgs, TrustArgs, read_identity};
pub(crate) use spec::{NoiseArgs, SpecArgs, WishArgs};
pub(crate) use votes::{VotesArgs, read_histograms, tell};

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
    pub(crate) fn load(&self) -> Result<PlannedElection, Failure> {
        read_election(&self.election)
    }
}

/// What the server aggregates.
#[derive(Args, Debug)]
pub(crate) struct AggregationArgs {
    #[command(flatten)]
    pub(crate) election: ElectionArgs,

    /// The student's evaluation key
    #[arg(long, value_name = "FILE")]
    pub(crate) evaluation_key: PathBuf,

    /// Folder of ballots, under any names; it must stay where it is until all is computed
    #[arg(long, value_name = "FOLDER")]
    pub(crate) ballots: PathBuf,

    /// The server's part of the seed, as `shield election commit` wrote it before anyone voted
    /// [default: a fresh one]
    #[arg(long, value_name = "FILE")]
    pub(crate) committed: Option<PathBuf>,
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
    work: impl FnOnce() -> T + Send,
) -> Result<T, Failure> {
    let Some(threads) = threads else { return Ok(work()) };
    if !(1..=MAX_THREADS).contains(&threads) {
        return Err(Failure::bad_input(format!(
            "--threads is {threads}; give 1 to {MAX_THREADS}, or leave it out for all cores"
        )));
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    Ok(pool.map_err(Failure::failed)?.install(work))
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

    /// Whether an election is named beside the invitation.
    pub(crate) fn names_one(&self) -> bool {
        self.election.is_some()
    }

    /// The election that is meant.
    pub(crate) fn election(&self, invitation: &Invitation) -> Result<Name, Failure> {
        Ok(shield_client::election_of(invitation, self.election.as_ref())?)
    }
}

/// Writes a file, whole or not at all.
pub(crate) fn write(path: &Path, content: &[u8]) -> Result<(), Failure> {
    shield_data::write_atomically(path, |file| file.write_all(content))
        .map_err(|error| Failure::failed(format!("{}: cannot write it: {error}", path.display())))
}

/// Reads the file of an unsigned election, and says that it is one.
pub(crate) fn read_election(path: &Path) -> Result<PlannedElection, Failure> {
    let file = shield_protocol::read_election(path)?;
    if file.parties().is_some() {
        let refused = Refused::new(path, Problem::NeedsBoard);
        return Err(ProtocolError::from(refused).into());
    }
    console::note(
        "This election is unsigned: nobody can tell who made its keys, ballots and results. See \
         `shield board` for one that is signed.",
    );
    Ok(file)
}

/// How a command ends when nothing is learnt.
#[cfg(feature = "learn")]
pub(crate) fn learn_failed(error: shield_learn::LearnError) -> Failure {
    Failure::of(error.is_bad_input(), error)
}
