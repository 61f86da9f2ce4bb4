//! Signed elections: every step is a line of the election's board, and everybody's program checks
//! the board before it acts.
//!
//! | step | party | takes | makes |
//! |---|---|---|---|
//! | [`found`] | operator | the election file | a board, and its part of the seed |
//! | [`state`] | student, teacher | the board, a key or a ballot | a signed statement beside it |
//! | [`SignedElection::take_in`] | operator | a statement and its body | the next line of the board |
//! | [`tally`] | operator | the board | freeze, results, and the seed sealed to the auditors |
//! | [`check()`] | anybody | the board | numbered checks |
//! | [`recompute`] | auditor | the board, its identity | the same, and all results computed again |
//! | [`open_results`] | student | the board, the secret key | labels |

mod checks;
mod seeds;
mod steps;

use std::path::Path;

use shield_board::{Folder, Kind, Parties, verify};

pub use checks::{check, recompute};
pub use steps::{Tallied, found, open_as_student, open_results, state, statement_path, tally};

use crate::election_file::{self, ElectionFile, PlannedElection};
use crate::error::{Problem, ProtocolError, Refused};
use crate::files::read_bounded;
use crate::job::board::KnownBallots;

/// An election with its board, of which every check that needs no ballot holds.
pub struct SignedElection {
    file: PlannedElection,
    parties: Parties,
    board: Folder,
    /// Ballots that were read, where the operator takes in more of them.
    known: Option<KnownBallots>,
}

impl SignedElection {
    /// Reads a board and checks all lines and bodies.
    pub fn open(board: &Path) -> Result<Self, ProtocolError> {
        Self::checked(Folder::open(board)?)
    }

    /// The same for the operator, who adds lines.
    pub fn open_to_add(board: &Path) -> Result<Self, ProtocolError> {
        Self::checked(Folder::open_to_add(board)?)
    }

    fn checked(board: Folder) -> Result<Self, ProtocolError> {
        let election = Self::read(board)?;
        verify(&election.board, &election.parties).demand(election.board.path())?;
        Ok(election)
    }

    /// The election of a board whose lines nobody has checked yet.
    fn read(board: Folder) -> Result<Self, ProtocolError> {
        let Some((_, path)) = board.body_of(Kind::Election) else {
            return Err(Refused::new(board.path(), Problem::NoBoard).into());
        };
        let refuse = |problem| Refused::new(&path, problem);
        let bytes = read_bounded(&path, election_file::MAX_BYTES).map_err(refuse)?;
        let text = String::from_utf8(bytes).map_err(|_| refuse(Problem::NotText))?;
        let file = ElectionFile::parse(&text).map_err(|error| refuse(error.into()))?;
        let parties = file.parties().ok_or_else(|| refuse(Problem::Unsigned))?.clone();
        if file.canonical() != text {
            return Err(refuse(Problem::Damaged).into());
        }
        Ok(Self { file: file.plan(), parties, board, known: None })
    }

    /// The election that its board has.
    pub fn file(&self) -> &PlannedElection {
        &self.file
    }

    /// Its parties.
    pub fn parties(&self) -> &Parties {
        &self.parties
    }

    /// Its board.
    pub fn board(&self) -> &Folder {
        &self.board
    }
}

/// The parties of the election that a board has, of whose lines nothing is checked.
pub fn parties(board: &Path) -> Result<Parties, ProtocolError> {
    Ok(SignedElection::read(Folder::open(board)?)?.parties)
}
