//! What each party does with a board.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use rand::CryptoRng;
use shield_board::folder::beside;
use shield_board::kinds::Content;
use shield_board::{
    BoardError, Body, Digest, Folder, Identity, Kind, Line, Role, Signed, Statement,
};
use shield_core::Watch;

use super::SignedElection;
use super::checks::check;
use super::seeds::seal_part;
use crate::election_file::PlannedElection;
use crate::error::{Problem, ProtocolError, Refused};
use crate::job::board::{OnBoard, check_keys};
use crate::job::freeze;
use crate::job::{Aggregated, aggregate};
use crate::new_file::folder_of;
use crate::private;
use crate::reveal::{Inspected, inspect};

/// The end of the name of a file with a signed statement; its body is the file without it.
const SIGNED: &str = "signed";

/// Where the statement about a body is.
pub fn statement_path(body: &Path) -> PathBuf {
    beside(body, SIGNED)
}

/// The operator's files beside its board: the part of the seed, and the results as they are made.
fn private_folder(board: &Path) -> PathBuf {
    beside(board, "private")
}

/// Starts the board of a signed election: its file, and a commitment to the operator's part of the
/// seed, which goes to a private folder beside it.
pub fn found<R: CryptoRng>(
    file: &PlannedElection,
    operator: &Identity,
    board: &Path,
    rng: &mut R,
) -> Result<(), ProtocolError> {
    let unsigned = || Refused::new(board, Problem::Unsigned);
    let parties = file.parties().ok_or_else(unsigned)?;
    must_be(file, operator, Role::Operator)?;
    crate::files::check_folder_of(board)?;
    let private = private_folder(board);
    let cannot = |path: &Path, error| ProtocolError::cannot_write(path, error);
    let ballots = beside(board, "ballots");
    for place in [board, &ballots, &private] {
        if place.symlink_metadata().is_ok() {
            return Err(Refused::new(place, Problem::BoardExists).into());
        }
    }
    // Made under another name, so that no half of a board is ever there.
    let hidden = tempfile::tempdir_in(folder_of(board)).map_err(|error| cannot(board, error))?;
    let (inner, secret) = (hidden.path().join("board"), hidden.path().join("private"));
    private::make_folder(&secret).map_err(|error| cannot(&private, error))?;
    let commitment = freeze::commit(&file.digest(), &secret.join("part"), rng)?;
    let mut folder = Folder::create(&inner)?;
    let text = file.canonical();
    for (kind, bytes) in [(Kind::Election, text.as_bytes()), (Kind::Commitment, &commitment)] {
        let body = folder.add_body(kind, bytes)?;
        let last = folder.last();
        let statement = Statement::new(parties, kind, operator, Some(body), last)?;
        folder.append(parties, statement.sign(operator), operator)?;
    }
    let made = [(secret, private.as_path()), (folder.ballots(), &ballots), (inner, board)];
    for (from, to) in made {
        fs::rename(from, to).map_err(|error| cannot(to, error))?;
    }
    Ok(())
}

fn must_be(file: &PlannedElection, identity: &Identity, role: Role) -> Result<(), ProtocolError> {
    let found = file.parties().and_then(|parties| parties.find(identity));
    match found {
        Some(party) if party.role == role => Ok(()),
        other => {
            let is = other.map_or("no party of it".to_owned(), |party| format!("a {}", party.role));
            let name = identity.name();
            Err(BoardError::Parties(format!(
                "this is a step of the election's {role}, and the identity `{name}` is {is}"
            ))
            .into())
        }
    }
}

/// Signs a statement about a body, which is a file, and writes it beside that file. It is checked
/// against the board before: what the operator would have to refuse is not signed.
pub fn state(
    election: &SignedElection,
    by: &Identity,
    kind: Kind,
    about: &Path,
) -> Result<PathBuf, ProtocolError> {
    let body = match kind.rule().content {
        Content::Own => Some(body_of(about)?),
        Content::Of(other) => election.board.body_of(other).map(|(body, _)| body),
        Content::Nothing => None,
    };
    let (parties, board) = (&election.parties, &election.board);
    let signed = Statement::new(parties, kind, by, body, board.last())?.sign(by);
    board.check_next(parties, &signed)?;
    let out = statement_path(about);
    signed.write(&out)?;
    Ok(out)
}

/// Hash and length of a file.
fn body_of(path: &Path) -> Result<Body, ProtocolError> {
    let read = File::open(path).and_then(Digest::read);
    let (hash, bytes) = read.map_err(|error| Refused::new(path, error))?;
    Ok(Body { hash, bytes })
}

impl SignedElection {
    /// The student's public key, as the board has it; fails until the keys are there.
    pub fn public_key(&self) -> Result<PathBuf, ProtocolError> {
        Ok(self.keys()?.public_key().to_owned())
    }

    fn keys(&self) -> Result<OnBoard<'_>, ProtocolError> {
        OnBoard::keys(&self.file, &self.board).unwrap_or_else(|| {
            Err(ProtocolError::TooEarly(format!(
                "{} has no keys yet: the student makes them with `shield keygen`",
                self.board.path().display()
            )))
        })
    }

    /// Fails unless an identity is a party in this role.
    pub fn must_be(&self, identity: &Identity, role: Role) -> Result<(), ProtocolError> {
        must_be(&self.file, identity, role)
    }

    /// The operator takes in what another party signed: checks it and its body, and adds it to the
    /// board. The body is the file beside the statement.
    pub fn take_in(
        &mut self,
        statement: &Path,
        operator: &Identity,
        watch: &Watch,
    ) -> Result<Line, ProtocolError> {
        self.must_be(operator, Role::Operator)?;
        let signed = Signed::read(statement)?;
        self.board.check_next(&self.parties, &signed)?;
        if signed.statement.kind == Kind::Ballot && self.known.is_none() {
            self.known = Some(self.keys()?.known(watch)?);
        }
        let stored = self.store(&signed, statement)?;
        let sound = match &stored {
            Some(path) => self.check_stored(&signed, path),
            None => Ok(()),
        };
        if let Err(error) = sound {
            // No line names it: `check_next` refuses a body that another line has.
            let _ = stored.map(fs::remove_file);
            self.known = None;
            return Err(error);
        }
        Ok(self.board.append(&self.parties, signed, operator)?.clone())
    }

    /// Copies the body of a statement to the board, if it has one of its own.
    fn store(&self, signed: &Signed, statement: &Path) -> Result<Option<PathBuf>, ProtocolError> {
        let (kind, Some(body)) = (signed.statement.kind, signed.statement.body) else {
            return Ok(None);
        };
        if kind.rule().content != Content::Own {
            return Ok(None);
        }
        let beside = statement.with_extension("");
        if statement.extension().is_none_or(|end| end != SIGNED) {
            return Err(Refused::new(statement, Problem::NotBesideBody).into());
        }
        if body_of(&beside)? != body {
            return Err(Refused::new(&beside, Problem::OtherBody).into());
        }
        self.board.add_body_file(kind, &beside)?;
        let stored = self.board.body_path(kind, &body.hash);
        // It may have changed since it was read.
        self.board
            .check_body(&signed.statement)
            .map_err(|_| Refused::new(&beside, Problem::OtherBody))?;
        Ok(Some(stored))
    }

    /// Checks a body that no line names yet.
    fn check_stored(&mut self, signed: &Signed, path: &Path) -> Result<(), ProtocolError> {
        match signed.statement.kind {
            Kind::PublicKey => {
                let other = self.board.body_of(Kind::EvaluationKey).map(|(_, path)| path);
                check_keys(&self.file, Some(path), other.as_deref())
            }
            Kind::EvaluationKey => {
                let other = self.board.body_of(Kind::PublicKey).map(|(_, path)| path);
                check_keys(&self.file, other.as_deref(), Some(path))
            }
            Kind::Ballot => match &mut self.known {
                Some(known) => known.take_in(signed.statement.by.as_str(), path),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Adds a line of the operator's own.
    fn say(
        &mut self,
        kind: Kind,
        body: Option<Body>,
        operator: &Identity,
    ) -> Result<(), ProtocolError> {
        let last = self.board.last();
        let statement = Statement::new(&self.parties, kind, operator, body, last)?;
        self.board.append(&self.parties, statement.sign(operator), operator)?;
        Ok(())
    }

    fn says(&self, kind: Kind) -> bool {
        self.board.of_kind(kind).next().is_some()
    }
}

/// What the operator did with the ballots.
#[derive(Debug)]
pub struct Tallied {
    /// The results, as over files.
    pub aggregated: Aggregated,
    /// How many auditors the seed is sealed to.
    pub sealed_to: usize,
}

/// The operator freezes the ballots of a board and aggregates them: the board gets the freeze, the
/// results, and the seed, sealed to the auditors. Run again, it goes on where it stopped.
pub fn tally<R: CryptoRng>(
    board: &Path,
    operator: &Identity,
    rng: &mut R,
    watch: &Watch,
) -> Result<Tallied, ProtocolError> {
    let mut election = SignedElection::open_to_add(board)?;
    election.must_be(operator, Role::Operator)?;
    // Nothing is frozen that could not be aggregated.
    election.keys()?.ballots(watch)?.check_quorum()?;
    if !election.says(Kind::Freeze) {
        election.say(Kind::Freeze, None, operator)?;
    }
    let private = private_folder(board);
    let (part, results) = (private.join("part"), private.join("results"));
    let aggregated = {
        let keys = election.keys()?;
        aggregate(&keys.inputs(), &results, Some(&part), rng, watch)?
    };
    if !election.says(Kind::Results) {
        let body = election.board.add_body_file(Kind::Results, &results)?;
        election.say(Kind::Results, Some(body), operator)?;
    }
    let sealed_to = election.parties.in_role(Role::Auditor).count();
    if sealed_to > 0 && !election.says(Kind::Seed) {
        let part = freeze::committed(&part, &election.file.digest())?;
        let boxes = seal_part(&election.parties, &part, rng);
        let body = election.board.add_body(Kind::Seed, &boxes)?;
        election.say(Kind::Seed, Some(body), operator)?;
    }
    Ok(Tallied { aggregated, sealed_to })
}

/// Opens a board for the student, who must not have its ballots.
pub fn open_as_student(board: &Path) -> Result<SignedElection, ProtocolError> {
    let ballots = beside(board, "ballots");
    if ballots.symlink_metadata().is_ok() {
        return Err(Refused::new(&ballots, Problem::StudentHasBallots).into());
    }
    SignedElection::open(board)
}

/// The student reads the labels: of results on a board of which every check holds, and that as many
/// auditors computed again as the election asks for.
pub fn open_results(
    election: &SignedElection,
    secret_key: &Path,
    watch: &Watch,
) -> Result<Inspected, ProtocolError> {
    let board = &election.board;
    check(board.path(), None, watch)?.demand(board.path())?;
    let Some((_, results)) = board.body_of(Kind::Results) else {
        let board = board.path().display();
        return Err(ProtocolError::TooEarly(format!("{board} has no results yet")));
    };
    let (signed, needed) = (board.of_kind(Kind::Audited).count(), election.file.audits() as usize);
    if signed < needed {
        return Err(ProtocolError::TooEarly(format!(
            "{signed} of {needed} auditors have computed the results again and signed them; \
             nothing is decrypted before"
        )));
    }
    inspect(&election.file, secret_key, &results)
}
