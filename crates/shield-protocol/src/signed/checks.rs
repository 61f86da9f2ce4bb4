//! The numbered checks of a signed election: those of its board, then those of what it says.

use std::path::Path;

use shield_board::verify::stopped;
use shield_board::{BoardError, Checks, Folder, Identity, Kind, Line, Outcome, Signed, verify};
use shield_core::Watch;

use super::SignedElection;
use super::seeds::open_part;
use crate::error::ProtocolError;
use crate::job::board::{OnBoard, Published};

const KEYS: (&str, &str) = ("keys", "both keys are of this election and of one set");
const BALLOTS: (&str, &str) =
    ("ballots", "every ballot is its author's, complete, for these keys, and nobody else's");
const RESULTS: (&str, &str) =
    ("results", "the results name the board's ballots, evaluation key and commitment");
const AUDITS: (&str, &str) = ("audits", "as many auditors as the election asks for agree");
const RECOMPUTED: (&str, &str) =
    ("recomputed", "every byte of the results follows from the ballots and the committed seed");
const OWN: (&str, &str) = ("own", "your statement is on the board");

/// Runs every check that needs no secret. With a `statement` that its author kept, also whether it
/// is on the board. `Err` means that the system would not read something.
pub fn check(
    board: &Path,
    statement: Option<&Signed>,
    watch: &Watch,
) -> Result<Checks, ProtocolError> {
    run(board, statement, None, watch)
}

/// The checks of an auditor, who also computes the results again with the seed that is sealed to
/// it.
pub fn recompute(board: &Path, auditor: &Identity, watch: &Watch) -> Result<Checks, ProtocolError> {
    run(board, None, Some(auditor), watch)
}

fn run(
    board: &Path,
    statement: Option<&Signed>,
    auditor: Option<&Identity>,
    watch: &Watch,
) -> Result<Checks, ProtocolError> {
    let (mut checks, election) = lines(board)?;
    let Some(election) = election else {
        let outcome = Outcome::NotRun("a check of the lines failed".to_owned());
        for check in [KEYS, BALLOTS, RESULTS, AUDITS, RECOMPUTED, OWN] {
            checks.add(check, &outcome);
        }
        return Ok(checks);
    };
    let [keys, ballots, results, recomputed] = contents(&election, auditor, watch)?;
    checks.add(KEYS, &keys);
    checks.add(BALLOTS, &ballots);
    checks.add(RESULTS, &results);
    checks.add(AUDITS, &audits(&election));
    checks.add(RECOMPUTED, &recomputed);
    checks.add(OWN, &own(&election, statement));
    Ok(checks)
}

/// The checks of the lines, and the election if all of them hold.
fn lines(board: &Path) -> Result<(Checks, Option<SignedElection>), ProtocolError> {
    let folder = match Folder::open(board) {
        Ok(folder) => folder,
        Err(BoardError::Refused { fault, path }) if path.exists() => {
            return Ok((stopped(0, &fault), None));
        }
        Err(error) => return Err(error.into()),
    };
    let election = match sorted(SignedElection::read(folder))? {
        Ok(election) => election,
        Err(reason) => return Ok((stopped(1, &reason), None)),
    };
    let checks = verify(&election.board, &election.parties);
    let sound = checks.all_passed();
    Ok((checks, sound.then_some(election)))
}

/// Keys, ballots, results, and the results computed again.
fn contents(
    election: &SignedElection,
    auditor: Option<&Identity>,
    watch: &Watch,
) -> Result<[Outcome; 4], ProtocolError> {
    let earlier = || Outcome::NotRun("an earlier check failed, or was not run".to_owned());
    let mut outcomes = [(); 4].map(|()| earlier());
    let [keys_outcome, ballots, results, recomputed] = &mut outcomes;
    let Some(keys) = OnBoard::keys(&election.file, &election.board) else {
        *keys_outcome = Outcome::NotRun("there are no keys yet".to_owned());
        return Ok(outcomes);
    };
    let keys = match sorted(keys)? {
        Ok(keys) => keys,
        Err(reason) => {
            *keys_outcome = Outcome::Failed(reason);
            return Ok(outcomes);
        }
    };
    *keys_outcome = Outcome::Passed;
    let tally = if election.board.has_ballots() {
        match sorted(keys.ballots(watch))? {
            Ok(tally) => Some(tally),
            Err(reason) => {
                *ballots = Outcome::Failed(reason);
                return Ok(outcomes);
            }
        }
    } else {
        None
    };
    *ballots = match &tally {
        Some(_) => Outcome::Passed,
        None => Outcome::NotRun("this copy of the board has no ballots".to_owned()),
    };
    let published = match keys
        .published()
        .transpose()
        .map_or_else(|error| sorted(Err(error)), |published| Ok(Ok(published)))?
    {
        Ok(Some(published)) => published,
        Ok(None) => {
            *results = Outcome::NotRun("there are no results yet".to_owned());
            return Ok(outcomes);
        }
        Err(reason) => {
            *results = Outcome::Failed(reason);
            return Ok(outcomes);
        }
    };
    *results = Outcome::Passed;
    let Some(tally) = tally else { return Ok(outcomes) };
    if let Err(reason) = sorted(published.follows_from(&tally))? {
        *results = Outcome::Failed(reason);
        return Ok(outcomes);
    }
    *recomputed = match auditor {
        None => Outcome::NotRun("only an auditor, who sees no labels, has the seed".to_owned()),
        Some(auditor) => again(election, auditor, published, tally, watch)?,
    };
    Ok(outcomes)
}

/// Computes the results again with the seed that is sealed to this auditor.
fn again(
    election: &SignedElection,
    auditor: &Identity,
    published: Published,
    tally: crate::job::board::Tally<'_>,
    watch: &Watch,
) -> Result<Outcome, ProtocolError> {
    let Some((_, path)) = election.board.body_of(Kind::Seed) else {
        return Ok(Outcome::NotRun("the board has no seed for auditors yet".to_owned()));
    };
    let Some(part) = open_part(&election.parties, auditor, &path)? else {
        let reason = format!("this identity, `{}`, cannot open the sealed seed", auditor.name());
        return Ok(Outcome::Failed(reason));
    };
    Ok(Outcome::of(sorted(published.recompute(tally, part, watch))?))
}

/// Tells what is wrong with the board from what is wrong with this machine.
fn sorted<T>(result: Result<T, ProtocolError>) -> Result<Result<T, String>, ProtocolError> {
    match result {
        Ok(fine) => Ok(Ok(fine)),
        Err(error @ (ProtocolError::Write { .. } | ProtocolError::Engine(_))) => Err(error),
        Err(error) => Ok(Err(error.to_string())),
    }
}

fn audits(election: &SignedElection) -> Outcome {
    let needed = election.file.audits() as usize;
    let signed = election.board.of_kind(Kind::Audited).count();
    let not_run = |reason: String| Outcome::NotRun(reason);
    if needed == 0 {
        not_run("the election asks no auditor: nobody computes again".to_owned())
    } else if signed < needed {
        not_run(format!("{signed} of {needed} auditors have signed the results so far"))
    } else {
        Outcome::Passed
    }
}

fn own(election: &SignedElection, statement: Option<&Signed>) -> Outcome {
    let Some(own) = statement else {
        return Outcome::NotRun("no statement of yours was given".to_owned());
    };
    // Another signature of the same text says the same.
    let is_own = |line: &Line| *line.statement() == own.statement;
    if election.board.lines().iter().any(is_own) {
        return Outcome::Passed;
    }
    let (kind, by) = (own.statement.kind, &own.statement.by);
    Outcome::Failed(format!("the statement `{kind}` by `{by}` is not on this board"))
}
