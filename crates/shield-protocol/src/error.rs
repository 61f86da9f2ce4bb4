//! What can go wrong with files that parties send each other.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use shield_board::{BoardError, Unsound};
use shield_core::framing::DecodeError;
use shield_data::FileError;
use thiserror::Error;

use crate::bundle::BundleError;
use crate::election_file::ElectionFileError;
use crate::engine::EngineError;
use crate::name::Name;

/// A file that cannot be used, and why.
#[derive(Debug, Error)]
#[error("{}: {problem}", path.display())]
pub struct Refused {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub problem: Problem,
}

impl Refused {
    /// The file at this path, and what is wrong with it.
    pub fn new(path: &Path, problem: impl Into<Problem>) -> Self {
        Self { path: path.to_owned(), problem: problem.into() }
    }
}

/// What is wrong with a file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Problem {
    /// The system would not read it.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// A folder where a file was needed.
    #[error("this is a folder; give a file")]
    Folder,
    /// It would stand in a folder that is not there.
    #[error("the folder {} does not exist; make it first", folder.display())]
    NoFolder {
        /// The folder.
        folder: PathBuf,
    },
    /// It would stand among the ballots.
    #[error("this is in the folder of the ballots; write the results somewhere else")]
    AmongBallots,
    /// Not UTF-8.
    #[error("this is not a text file; give the election file")]
    NotText,
    /// An election file with mistakes.
    #[error(transparent)]
    Election(#[from] ElectionFileError),
    /// Not a bundle of this election.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// Not a key of this election.
    #[error(transparent)]
    Key(#[from] DecodeError),
    /// A batch in it is not what it should be.
    #[error("batch {batch}: {source}")]
    Batch {
        /// The batch, counted from 0.
        batch: usize,
        /// What is wrong with it.
        source: DecodeError,
    },
    /// A batch of a ballot without a valid proof.
    #[error("batch {batch}: {source}")]
    Proof {
        /// The batch, counted from 0.
        batch: usize,
        /// What is wrong with it.
        source: EngineError,
    },
    /// A ballot of a teacher who is not in the election file.
    #[error(
        "it is the ballot of teacher number {number}, and the election has {teachers}, counted \
         from 0; it is damaged: ask for it again"
    )]
    NoSuchTeacher {
        /// The teacher's number.
        number: u32,
        /// How many teachers there are.
        teachers: usize,
    },
    /// A teacher has voted twice, differently.
    #[error(
        "this is a second, different ballot of `{teacher}`, beside {}; \
         ask the teacher which one counts and remove the other", other.display()
    )]
    SecondBallot {
        /// The teacher.
        teacher: Name,
        /// The other ballot.
        other: PathBuf,
    },
    /// The same bytes as another teacher's.
    #[error(
        "this ballot of `{teacher}` has the bytes of `{of}`'s, {}: one of the two is a copy, and \
         the vote in it would count twice. Ask both teachers for their own ballots and remove the \
         copy", other.display()
    )]
    Copied {
        /// The teacher whose number the file has.
        teacher: Name,
        /// The teacher who has the same bytes.
        of: Name,
        /// That teacher's ballot.
        other: PathBuf,
    },
    /// It is not what it was when the ballots were checked.
    #[error("batch {batch} has changed since the ballots were checked; run the command again")]
    Changed {
        /// The batch, counted from 0.
        batch: usize,
    },
    /// Another number of votes than samples.
    #[error(
        "there are {votes} votes, and the election has {samples} samples; give one vote a sample, \
         in the election's order (-1 in .npy or a blank line in .csv abstains)"
    )]
    VoteCount {
        /// How many votes there are.
        votes: usize,
        /// How many samples the election has.
        samples: usize,
    },
    /// Votes, where teachers send counts.
    #[error(
        "the teachers of this election send counts per class, of up to {voters} voters each; give \
         a file of samples x classes with --counts (a teacher with one voter writes 1 there)"
    )]
    NeedsCounts {
        /// The most voters behind a teacher.
        voters: u32,
    },
    /// Counts, where teachers vote.
    #[error(
        "the teachers of this election have one vote per sample; give a column of votes, without \
         --counts. Counts need an election with `voters_per_teacher`"
    )]
    NeedsVotes,
    /// Another number of rows than samples.
    #[error(
        "there are {rows} rows of counts, and the election has {samples} samples; give one row per \
         sample, in the election's order (a row of zeros abstains)"
    )]
    CountRows {
        /// How many rows there are.
        rows: usize,
        /// How many samples the election has.
        samples: usize,
    },
    /// Votes by names in an election that counts its classes.
    #[error(
        "the votes are class names (`{first}`, ...), and the election counts its classes from 0 to \
         {last}; write numbers, or ask the operator to name the classes in the election file"
    )]
    Named {
        /// The first of the names.
        first: String,
        /// The largest class.
        last: usize,
    },
    /// Counts by names in an election that counts its classes.
    #[error(
        "the header names the classes (`{first}`, ...), and the election counts its classes from 0 \
         to {last}; put the columns into that order and remove the header, or ask the operator to \
         name the classes in the election file"
    )]
    NamedColumns {
        /// The first of the names.
        first: String,
        /// The largest class.
        last: usize,
    },
    /// Votes without ids, where the samples are listed.
    #[error(
        "the votes have no sample ids, and the election binds a list of samples so that nobody \
         votes on other rows; add the ids as a first column, or give the list that you labelled \
         with --samples"
    )]
    NoIds,
    /// Another list of samples.
    #[error(
        "these are not the election's samples, or not in its order (the list's digest is {found}, \
         the election's {bound}); get the operator's list, and label its rows as they come"
    )]
    OtherSamples {
        /// The digest of what was given.
        found: crate::samples::SamplesDigest,
        /// The digest in the election file.
        bound: crate::samples::SamplesDigest,
    },
    /// A row that is another sample.
    #[error(
        "sample {row} is `{found}` here and `{expected}` in the list of samples; put the rows into \
         the list's order"
    )]
    OtherRow {
        /// The sample's place, counted from 1.
        row: usize,
        /// Its id in the votes.
        found: String,
        /// Its id in the list.
        expected: String,
    },
    /// A ballot stands there already.
    #[error(
        "there is a file already, and no ballot is written over another: a teacher who hands in \
         two different ballots is refused. Hand in this one; or, if nobody has it, remove it and \
         vote again"
    )]
    BallotExists,
    /// Something else where results should go.
    #[error("there is something else already, and nothing is written over it; give another file")]
    OtherResults,
    /// A ballot whose file has a name that cannot be written down.
    #[error("the file's name is not UTF-8; rename it")]
    FileName,
    /// A release of a batch that was computed before, differently.
    #[error(
        "batch {batch} is there already with other bytes, and one set of ballots has one release; \
         run all batches with the same version of this program"
    )]
    OtherRelease {
        /// The batch, counted from 0.
        batch: usize,
    },
    /// Another question or answer in this place.
    #[error(
        "another audit was asked or answered in its place, and each is held once; go on with that \
         one"
    )]
    OtherRound,
    /// A job that holds something else.
    #[error("this belongs to another job; give an empty folder")]
    OtherJob,
    /// Written by another version.
    #[error("a job of version {found}, and this program reads version {known}; use that version")]
    JobVersion {
        /// The version found.
        found: u32,
        /// The version that is read.
        known: u32,
    },
    /// A seed that another version wrote.
    #[error(
        "a seed of format version {found}, and this program reads version {known}; finish this \
         election with the version of the program that began it"
    )]
    SeedVersion {
        /// The version found.
        found: u16,
        /// The version that is read.
        known: u16,
    },
    /// No board, or none of a signed election.
    #[error("this board has no election yet; the operator starts one with `shield board new`")]
    NoBoard,
    /// An election file without public lines.
    #[error(
        "this election is not signed: its file names parties without their public lines, which \
         `shield identity new` makes"
    )]
    Unsigned,
    /// A signed election where an unsigned one was needed.
    #[error(
        "this election is signed: give its board with --board, and your identity, in place of the \
         election file"
    )]
    NeedsBoard,
    /// Something stands where a board, its ballots or its private folder should go.
    #[error("this is there already; give the board another name")]
    BoardExists,
    /// A statement whose body cannot be found.
    #[error("a statement's file ends with `.signed`, and its body is the file without that")]
    NotBesideBody,
    /// A file that is not what the statement beside it is about.
    #[error("this is not the file that the statement beside it was signed for")]
    OtherBody,
    /// The student has what its key reads.
    #[error(
        "your key reads these ballots, and you must not have them: remove the folder, and tell \
         whoever gave it to you"
    )]
    StudentHasBallots,
    /// Public key and evaluation key of different sets.
    #[error("the public key and the evaluation key on the board are not of one set")]
    OtherKeys,
    /// A ballot that is another teacher's.
    #[error("`{author}` signed this as its ballot, and it is another teacher's")]
    NotTheAuthors {
        /// Who signed it.
        author: String,
    },
    /// Ballots that no line names.
    #[error("{found} ballots are in the folder, and {lines} are on the board; remove the others")]
    Stray {
        /// How many there are.
        found: usize,
        /// How many the board has.
        lines: usize,
    },
    /// Not what [`freeze`](crate::job::freeze) wrote.
    #[error("the file is damaged; restore it from a backup")]
    Damaged,
}

impl From<FileError> for ProtocolError {
    fn from(error: FileError) -> Self {
        Self::Votes(Box::new(error))
    }
}

/// A step that could not be done.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ProtocolError {
    /// A file cannot be used.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// Votes cannot be read.
    #[error(transparent)]
    Votes(Box<FileError>),
    /// Ballots cannot be used: all of them, each with its reason.
    #[error("{}", list(.0))]
    Ballots(Vec<Refused>),
    /// Somebody else.
    #[error("`{name}` is not a teacher of the election; its file names {}", names(known))]
    NotATeacher {
        /// The name given.
        name: String,
        /// The teachers.
        known: Vec<Name>,
    },
    /// Keys are there already.
    #[error(
        "{} exists already, and keys are never overwritten: whoever loses a secret key loses \
         every label. Nothing was written; give another folder", paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" and ")
    )]
    KeysExist {
        /// Which files.
        paths: Vec<PathBuf>,
    },
    /// Too few voters.
    #[error(
        "{voted} of {teachers} teachers have voted, and {short} of {samples} samples have fewer \
         voters than the quorum of {quorum} (the first is sample {first}, with {voters}); wait \
         for the ballots of {}",
        names(missing)
    )]
    Quorum {
        /// How many teachers have a ballot.
        voted: usize,
        /// How many there are.
        teachers: usize,
        /// How many samples have too few voters.
        short: usize,
        /// How many samples there are.
        samples: usize,
        /// How many voters each must have.
        quorum: u32,
        /// The first sample that has fewer, counted from 1.
        first: usize,
        /// How many it has.
        voters: u32,
        /// Who has not voted.
        missing: Vec<Name>,
    },
    /// It would answer a sample a second time.
    #[error("{}: {reason}. {NEVER_TWICE}", path.display())]
    SecondDraw {
        /// The file that says so.
        path: PathBuf,
        /// What differs, and what to do.
        reason: String,
    },
    /// A batch past the last.
    #[error("there is no batch {batch}; the election has {batches}, counted from 0")]
    NoBatch {
        /// The batch asked for.
        batch: usize,
        /// How many there are.
        batches: usize,
    },
    /// Batches of a job are missing.
    #[error(
        "{} of {batches} batches are not computed yet (the first is {}); \
         compute them with `shield job run`", missing.len(), missing.first().unwrap_or(&0)
    )]
    Unfinished {
        /// Which ones.
        missing: Vec<usize>,
        /// How many there are.
        batches: usize,
    },
    /// What was published does not follow from what was given.
    #[error("{}: {reason}", path.display())]
    Disagrees {
        /// What was published.
        path: PathBuf,
        /// What differs.
        reason: String,
    },
    /// There is nothing that an audit could ask about.
    #[error("{0}")]
    NoAudit(String),
    /// The keys do not work.
    #[error("{0}")]
    Rehearsal(String),
    /// Keys that cannot be rehearsed: of two sets, or of another election.
    #[error("{0}")]
    Unrehearsed(String),
    /// The system would not write.
    #[error("{}: cannot be written: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// An identity, a roster or a board cannot be used.
    #[error(transparent)]
    Board(#[from] BoardError),
    /// A check of a board failed.
    #[error(transparent)]
    Unsound(#[from] Unsound),
    /// It is too early for this step.
    #[error("{0}")]
    TooEarly(String),
    /// The engine gave up.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// Why one set of ballots has one release.
const NEVER_TWICE: &str = "A sample must never be answered from two draws: the two answers \
    together would cost more privacy than was promised";

impl ProtocolError {
    /// The system would not write this file.
    pub(crate) fn cannot_write(path: &Path, source: io::Error) -> Self {
        Self::Write { path: path.to_owned(), source }
    }

    /// Whether what was given is at fault, not the system.
    pub fn is_bad_input(&self) -> bool {
        match self {
            Self::Write { .. }
            | Self::Engine(_)
            | Self::Disagrees { .. }
            | Self::Rehearsal(_)
            | Self::Unsound(_) => false,
            Self::Board(error) => error.is_bad_input(),
            _ => true,
        }
    }
}

fn list(refused: &[Refused]) -> String {
    match refused {
        [only] => only.to_string(),
        several => {
            let start = format!("{} files among the ballots cannot be used:", several.len());
            several.iter().fold(start, |mut text, refused| {
                let _ = write!(text, "\n  {refused}");
                text
            })
        }
    }
}

/// The first few names.
fn names(names: &[Name]) -> String {
    const SHOWN: usize = 8;
    if names.is_empty() {
        return "nobody: all have voted, so some must vote again on the samples they left out"
            .to_owned();
    }
    let shown: Vec<&str> = names.iter().take(SHOWN).map(Name::as_str).collect();
    match names.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
