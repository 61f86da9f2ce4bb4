//! Evaluation key and ballots, checked as a whole before anything is drawn.

use std::path::Path;
use std::sync::Arc;

use shield::framing::Kind;

use super::ballot_folder::BallotFolder;
use super::freeze::{Frozen, check_record};
use super::storage::Storage;
use crate::election_file::ElectionFile;
use crate::engine::Aggregating;
use crate::error::{ProtocolError, Refused};
use crate::files::read_bounded;
use crate::name::Name;
use crate::turnout::VoterCounts;

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

/// Everything that an aggregation needs but the seed.
pub(super) struct Checked {
    pub(super) frozen: Frozen,
    pub(super) folder: BallotFolder,
    pub(super) aggregating: Box<dyn Aggregating>,
    /// Who voted.
    pub(super) voted: Vec<Name>,
    /// Who did not.
    pub(super) missing: Vec<Name>,
    /// How many samples have how many voters.
    pub(super) voters: VoterCounts,
}

impl Checked {
    /// Reads and checks the key and every ballot: all of this election, and enough of them.
    pub(super) fn new(
        file: &ElectionFile,
        evaluation_key: &Path,
        storage: &Arc<dyn Storage>,
        ballots: &Path,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Self, ProtocolError> {
        let engine = file.engine();
        let refuse = |problem| Refused { path: evaluation_key.to_owned(), problem };
        let limit = engine.max_bytes(Kind::EvaluationKey);
        let bytes = read_bounded(evaluation_key, limit).map_err(refuse)?;
        let aggregating =
            Arc::clone(&engine).aggregating(&bytes).map_err(|error| refuse(error.into()))?;
        let key_digest = *blake3::hash(&bytes).as_bytes();
        drop(bytes);
        let checked = |of| progress(Progress::Checked { of });
        let folder =
            BallotFolder::open(file, &engine, aggregating.key(), storage, ballots, &checked)?;
        let frozen = Frozen {
            election: file.digest(),
            evaluation_key: key_digest,
            ballots: folder.digests(file),
        };
        // Before the quorum: that a ballot is gone says more than that one is missing.
        check_record(&frozen, &**storage, ballots)?;
        let (voted, missing) = attendance(file, &folder);
        let voters = quorum(file, &folder, &missing)?;
        Ok(Self { frozen, folder, aggregating, voted, missing, voters })
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
) -> Result<VoterCounts, ProtocolError> {
    let quorum = file.quorum();
    folder.turnout(file).with_quorum(quorum).map_err(|short| ProtocolError::Quorum {
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
