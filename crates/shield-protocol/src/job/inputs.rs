//! What a server is given: an election, the student's evaluation key and a folder of ballots.

use std::path::Path;
use std::sync::Arc;

use rand::CryptoRng;
use shield_core::Watch;
use shield_core::framing::Kind;

use super::ballot_folder::BallotFolder;
use super::freeze::{self, Frozen, Settled, check_record, settle};
use super::releases::Releases;
use super::storage::{LocalFiles, Storage};
use crate::election_file::PlannedElection;
use crate::engine::Aggregating;
use crate::error::{Problem, ProtocolError, Refused};
use crate::files::{check_folder_of, read_bounded};
use crate::new_file::folder_of;
use crate::turnout::VoterCounts;

/// An election, its evaluation key and its ballots: what a server aggregates, and an auditor
/// checks.
#[derive(Clone)]
pub struct Inputs<'a> {
    /// The election.
    pub file: &'a PlannedElection,
    /// The student's evaluation key.
    pub evaluation_key: &'a Path,
    /// The folder of all ballots.
    pub ballots: &'a Path,
    /// Where that folder is.
    pub storage: Arc<dyn Storage>,
}

impl<'a> Inputs<'a> {
    /// Inputs with the ballots in a folder of this machine.
    pub fn new(file: &'a PlannedElection, evaluation_key: &'a Path, ballots: &'a Path) -> Self {
        Self { file, evaluation_key, ballots, storage: Arc::new(LocalFiles) }
    }

    /// Refuses a place for results where nothing can be written, or which is among the ballots.
    pub(super) fn check_place(&self, out: &Path) -> Result<(), ProtocolError> {
        check_folder_of(out)?;
        if same_folder(folder_of(out), self.ballots) || same_folder(out, self.ballots) {
            return Err(Refused::new(out, Problem::AmongBallots).into());
        }
        Ok(())
    }

    /// Reads and checks the key and every ballot: all of this election.
    pub(super) fn open(&self, watch: &Watch) -> Result<Checked, ProtocolError> {
        let (key, aggregating) = read_key(self.file, self.evaluation_key)?;
        let ballots =
            BallotFolder::open(self.file, &*aggregating, &self.storage, self.ballots, watch)?;
        let frozen = Frozen {
            election: self.file.digest(),
            evaluation_key: key,
            ballots: ballots.digests(),
        };
        Ok(Checked { frozen, ballots, aggregating })
    }

    /// The same with a quorum on every sample, and with no ballot that differs from those that were
    /// frozen in the folder before.
    pub(super) fn open_once(&self, watch: &Watch) -> Result<(Checked, VoterCounts), ProtocolError> {
        let checked = self.open(watch)?;
        // Before the quorum: that a ballot is gone says more than that one is missing.
        check_record(&checked.frozen, &*self.storage, self.ballots)?;
        let ballots = &checked.ballots;
        let voters = ballots.quorum(&ballots.turnout_without(&[]), &[])?;
        Ok((checked, voters))
    }
}

/// Key and ballots that belong together, before anything is drawn.
pub(super) struct Checked {
    pub(super) frozen: Frozen,
    pub(super) ballots: BallotFolder,
    pub(super) aggregating: Box<dyn Aggregating>,
}

impl Checked {
    /// Fixes the seed for `out`, once and for ever, and gives everything that releases follow from.
    /// Says, too, whether the seed was there already.
    pub(super) fn freeze<R: CryptoRng>(
        self,
        inputs: &Inputs<'_>,
        out: freeze::Place<'_>,
        committed: Option<&Path>,
        rng: &mut R,
    ) -> Result<(Releases, bool), ProtocolError> {
        let election = &self.frozen.election;
        let committed = committed.map(|path| freeze::committed(path, election)).transpose()?;
        let (ballots, storage) = (inputs.ballots, &*inputs.storage);
        let settled = settle(&self.frozen, ballots, storage, out, committed, rng)?;
        let Settled { part, again } = settled;
        Ok((self.with(part), again))
    }

    /// Everything that releases follow from, with the server's part of the seed.
    pub(super) fn with(self, part: crate::seed::SeedPart) -> Releases {
        let Self { frozen, ballots, aggregating } = self;
        Releases { frozen, ballots, aggregating, part }
    }
}

/// An evaluation key, with the digest of its bytes.
pub(super) fn read_key(
    file: &PlannedElection,
    path: &Path,
) -> Result<([u8; 32], Box<dyn Aggregating>), Refused> {
    let engine = file.engine();
    let refuse = |problem| Refused::new(path, problem);
    let bytes = read_bounded(path, engine.max_bytes(Kind::EvaluationKey)).map_err(refuse)?;
    let aggregating = Arc::clone(engine).aggregating(&bytes);
    let aggregating = aggregating.map_err(|error| refuse(error.into()))?;
    Ok((*blake3::hash(&bytes).as_bytes(), aggregating))
}

pub(super) fn same_folder(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}
