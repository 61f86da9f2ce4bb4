//! What the server does: a folder of ballots in, results out, exactly once.

use std::path::{Path, PathBuf};

use rand::{CryptoRng, RngCore};
use shield::backend::{Backend, BackendBytes};

use super::ballot_folder::BallotFolder;
use super::freeze::{self, Frozen, settle};
use super::{FileProtocolError, Problem, Refused, check_folder_of, read_bounded, write_bundle};
use crate::bundle::Content;
use crate::election_file::ElectionFile;
use crate::name::Name;
use crate::new_file::folder_of;
use crate::store::VoterCounts;

/// How far an aggregation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// One more ballot has been checked.
    Checked {
        /// How many there are.
        of: usize,
    },
    /// So many batches have been aggregated; told before the first, too.
    Aggregated {
        /// How many.
        done: usize,
        /// How many there are.
        of: usize,
    },
}

/// Results that were written.
#[derive(Clone, Debug)]
pub struct Aggregated {
    /// Who voted.
    pub voted: Vec<Name>,
    /// Who did not.
    pub missing: Vec<Name>,
    /// How many samples had how many voters.
    pub voters: VoterCounts,
    /// Where the seed is.
    pub seed: PathBuf,
    /// Whether the seed was there already, so that these are the same results again.
    pub again: bool,
}

/// Aggregates a folder of ballots.
///
/// Refuses ballots that cannot be used, too few of them, and any second release: see
/// [`freeze`](super::freeze). Runs on the threads of the caller's pool.
pub fn aggregate<R: RngCore + CryptoRng>(
    file: &ElectionFile,
    evaluation_key: &Path,
    ballots: &Path,
    out: &Path,
    rng: &mut R,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Aggregated, FileProtocolError> {
    check_folder_of(out)?;
    if same_folder(folder_of(out), ballots) {
        return Err(Refused { path: out.to_owned(), problem: Problem::AmongBallots }.into());
    }
    let backend = file.backend();
    let refuse = |problem| Refused { path: evaluation_key.to_owned(), problem };
    let bytes =
        read_bounded(evaluation_key, backend.plan().evaluation_key_bytes()).map_err(refuse)?;
    let key = backend.decode_evaluation_key(&bytes).map_err(|error| refuse(error.into()))?;
    let key_hash = *blake3::hash(&bytes).as_bytes();
    drop(bytes);
    let checked = |of| progress(Progress::Checked { of });
    let folder = BallotFolder::open(file, &backend, key.id(), ballots, &checked)?;
    let frozen =
        Frozen { election: file.digest(), evaluation_key: key_hash, ballots: folder.digests() };
    // Before the quorum: that a ballot is gone says more than that one is missing.
    freeze::check_record(&frozen, ballots)?;
    let (voted, missing) = attendance(file, &folder);
    let voters = quorum(file, &folder, &missing)?;
    let settled = settle(&frozen, ballots, out, rng)?;
    let batches = backend.batches();
    write_bundle(out, Content::Results, file, batches, |batch| {
        progress(Progress::Aggregated { done: batch, of: batches });
        let release = backend.aggregate(&key, batch, &folder.batch(batch), &settled.seed)?;
        Ok(backend.encode_release(&release))
    })?;
    Ok(Aggregated { voted, missing, voters, seed: freeze::seed_path(out), again: settled.again })
}

fn same_folder(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

/// Who voted, and who did not.
fn attendance(file: &ElectionFile, folder: &BallotFolder) -> (Vec<Name>, Vec<Name>) {
    let numbered = (0..).zip(file.teachers().iter().cloned());
    let (voted, missing): (Vec<_>, Vec<_>) = numbered.partition(|&(number, _)| folder.has(number));
    let names = |teachers: Vec<(u32, Name)>| teachers.into_iter().map(|(_, name)| name).collect();
    (names(voted), names(missing))
}

/// How many samples have how many voters, if all of them have a quorum.
fn quorum(
    file: &ElectionFile,
    folder: &BallotFolder,
    missing: &[Name],
) -> Result<VoterCounts, FileProtocolError> {
    let quorum = file.quorum();
    folder.turnout().with_quorum(quorum).map_err(|short| FileProtocolError::Quorum {
        voted: folder.len(),
        teachers: file.teachers().len(),
        short: short.samples,
        samples: file.election().samples(),
        quorum,
        first: short.first + 1,
        voters: short.voters,
        missing: missing.to_vec(),
    })
}
