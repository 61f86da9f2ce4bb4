//! What can go wrong with identities, rosters and boards.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::digest::Digest;
use crate::kinds::Kind;
use crate::name::Name;
use crate::public::KeyError;

/// Why a step with an identity, a roster or a board failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BoardError {
    /// A file cannot be used.
    #[error("{}: {fault}", path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        fault: Fault,
    },
    /// The system would not write a file.
    #[error("{}: cannot be written: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A line may not stand where it was to be put.
    #[error("a line of the kind `{kind}` by `{by}` cannot be added: {fault}")]
    Line {
        /// The line's kind.
        kind: Kind,
        /// Its author.
        by: Name,
        /// What is wrong.
        fault: Fault,
    },
    /// The election's parties cannot be so.
    #[error("{0}")]
    Parties(String),
    /// A key that is not the one that was known.
    #[error(
        "`{name}` has other keys ({found}) than those in {} ({known}). Somebody may be pretending \
         to be `{name}`: call them. If they did make a new identity, remove the entry `{name}` \
         from that file",
        roster.display()
    )]
    ChangedKey {
        /// Whose key.
        name: String,
        /// Its fingerprint in the roster.
        known: String,
        /// The fingerprint found.
        found: String,
        /// The roster.
        roster: PathBuf,
    },
    /// Parties that nobody has confirmed yet.
    #[error(
        "{} of the election's parties are not in {} yet (the first is `{first}`). Call another \
         party and compare the fingerprint of all of them: {fingerprint}. If it is the same, run \
         the command again with --trust {fingerprint}",
        .count, roster.display()
    )]
    Unknown {
        /// How many.
        count: usize,
        /// One of them.
        first: String,
        /// The fingerprint of all parties of the election.
        fingerprint: String,
        /// The roster.
        roster: PathBuf,
    },
    /// A fingerprint that is not this election's.
    #[error(
        "the fingerprint of the election's parties is {found}, not {given}: somebody has another \
         election file or other keys; find out who before you go on"
    )]
    OtherFingerprint {
        /// What was given.
        given: String,
        /// What the parties have.
        found: String,
    },
}

impl BoardError {
    pub(crate) fn refused(path: &Path, fault: impl Into<Fault>) -> Self {
        Self::Refused { path: path.to_owned(), fault: fault.into() }
    }

    pub(crate) fn cannot_write(path: &Path, source: io::Error) -> Self {
        Self::Write { path: path.to_owned(), source }
    }

    /// Whether what was given is at fault, not the system.
    pub fn is_bad_input(&self) -> bool {
        !matches!(self, Self::Write { .. })
    }
}

/// What is wrong with a file, a line or a board.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Fault {
    /// The system would not read it.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It is larger than anything of its kind.
    #[error("it is larger than {0} bytes")]
    TooLong(usize),
    /// Not an identity file.
    #[error("this is not an identity file; `shield identity new` makes one")]
    Identity,
    /// Not a roster.
    #[error("this is not a roster, or it is damaged: {0}")]
    Roster(String),
    /// Not public keys.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// Not a line in the one form that lines have.
    #[error("line {n} is not in canonical form, or too long")]
    Form {
        /// The line, counted from 0.
        n: u64,
    },
    /// Not a signed statement in the one form that statements have.
    #[error("this is not a signed statement in canonical form")]
    Statement,
    /// The last line is cut off.
    #[error("the last line has no end: the file was cut off; get another copy of the board")]
    CutOff,
    /// More lines than an election can have.
    #[error("a board has at most {0} lines")]
    TooMany(u64),
    /// It belongs to another election.
    #[error("it belongs to another election ({found}, and this one is {expected})")]
    Election {
        /// The election's digest in it.
        found: Digest,
        /// This election's.
        expected: Digest,
    },
    /// The author is no party of the election.
    #[error("`{0}` is not a party of the election")]
    Stranger(Name),
    /// The author's role does not say such things.
    #[error("only the {expected} says this, and `{by}` is a {found}")]
    Role {
        /// The author.
        by: Name,
        /// Its role.
        found: crate::kinds::Role,
        /// Whose lines have this kind.
        expected: crate::kinds::Role,
    },
    /// Not the author's signature.
    #[error("the signature is not that of `{0}`")]
    Signature(Name),
    /// Not the keeper's countersignature.
    #[error("the countersignature (`head`) is not the operator's")]
    Head,
    /// A number out of order.
    #[error("it has number {found} and stands at place {expected}")]
    Number {
        /// The number in it.
        found: u64,
        /// Its place.
        expected: u64,
    },
    /// It does not follow from the line before.
    #[error("`prev` is not the hash of the line before")]
    Chain,
    /// Its author saw another board.
    #[error("its author saw another line {n} than the one on this board")]
    Seen {
        /// The line's number.
        n: u64,
    },
    /// A line before is missing.
    #[error("it needs a line of the kind `{0}` before it")]
    Early(Kind),
    /// It comes too late.
    #[error("it comes after the line of the kind `{0}`")]
    Late(Kind),
    /// Said before.
    #[error("there is such a line already, and it is said once")]
    Twice,
    /// It must have a body, or must have none.
    #[error("lines of this kind {}", if *.0 { "have a body" } else { "have no body" })]
    Body(bool),
    /// Not the body that it must have.
    #[error("its body must be that of the line of the kind `{0}`")]
    OtherBody(Kind),
    /// The same body as another line's.
    #[error("it has the body of line {n}: it is a copy")]
    Copy {
        /// The other line.
        n: u64,
    },
    /// A body that is not there.
    #[error("the body {0} is missing")]
    Missing(Digest),
    /// A body that is something else.
    #[error("the body {0} has other bytes than the line says")]
    Changed(Digest),
}

/// A file's bytes, if there are at most `limit`.
pub(crate) fn read_bounded(path: &Path, limit: usize) -> Result<Vec<u8>, Fault> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    // Room for all at once: a vector that grows leaves copies behind, and some files are secret.
    let room = usize::try_from(length).unwrap_or(usize::MAX).min(limit) + 1;
    let mut bytes = Vec::with_capacity(room);
    file.take(limit as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > limit { Err(Fault::TooLong(limit)) } else { Ok(bytes) }
}
