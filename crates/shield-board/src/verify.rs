//! The checks that need nothing but a board and the public lines of its parties.

use crate::checks::{Checks, Outcome};
use crate::error::Fault;
use crate::folder::Folder;
use crate::line::{Line, START};
use crate::order::Order;
use crate::parties::Parties;
use crate::statement::Seen;

/// Name and meaning of every check of a board, in their order.
pub const CHECKS: [(&str, &str); 10] = [
    ("form", "every line is in its one form, and short enough"),
    ("election", "every line carries the digest of the election file in line 0"),
    ("chain", "lines are numbered from 0, and each names the hash of the one before"),
    ("authors", "every author is a party of the election whose role says such things"),
    ("signatures", "every statement is signed by its author"),
    ("heads", "every line is countersigned by the operator at its place"),
    ("seen", "every author saw a line of this board, and the same line"),
    ("order", "every line stands where its kind may"),
    ("once", "nobody said anything twice: one ballot per teacher"),
    ("bodies", "every body is there with its hash and length, and is nobody else's"),
];

/// Checks a board against the parties of its election.
pub fn verify(board: &Folder, parties: &Parties) -> Checks {
    let mut checks = Checks::default();
    for (check, outcome) in CHECKS.into_iter().zip(outcomes(board, parties)) {
        checks.add(check, &outcome);
    }
    checks
}

/// The checks of a board whose check number `place` (counted from 0) failed, so that those after it
/// could not be run.
pub fn stopped(place: usize, fault: &dyn std::fmt::Display) -> Checks {
    let mut checks = Checks::default();
    for (at, check) in CHECKS.into_iter().enumerate() {
        let outcome = match at.cmp(&place) {
            std::cmp::Ordering::Less => Outcome::Passed,
            std::cmp::Ordering::Equal => Outcome::Failed(fault.to_string()),
            std::cmp::Ordering::Greater => Outcome::NotRun(format!("check {} failed", place + 1)),
        };
        checks.add(check, &outcome);
    }
    checks
}

/// The first fault of every check.
fn outcomes(board: &Folder, parties: &Parties) -> [Outcome; CHECKS.len()] {
    let mut outcomes = [const { Outcome::Passed }; CHECKS.len()];
    if board.lines().is_empty() {
        outcomes[1] = Outcome::Failed("the board has no lines".to_owned());
    }
    let mut order = Order::default();
    let mut last: Option<Seen> = None;
    for (place, line) in (0..).zip(board.lines()) {
        let statement = line.statement();
        let results = [
            Ok(()),
            check_election(line, parties),
            check_chain(line, place, last),
            line.signed.check_author(parties),
            line.signed.check_signature(parties),
            line.check_head(parties),
            order.check_seen(statement),
            order.check_order(statement),
            order.check_once(statement),
            order.check_content(statement).and_then(|()| board.check_body(statement)),
        ];
        for (outcome, result) in outcomes.iter_mut().zip(results) {
            if let (Outcome::Passed, Err(fault)) = (&outcome, result) {
                let (kind, by) = (statement.kind, &statement.by);
                *outcome = Outcome::Failed(format!("line {place} ({kind} by {by}): {fault}"));
            }
        }
        order.record(line);
        last = Some(line.seen());
    }
    outcomes
}

fn check_election(line: &Line, parties: &Parties) -> Result<(), Fault> {
    let (found, expected) = (line.statement().election, parties.election());
    if found == expected { Ok(()) } else { Err(Fault::Election { found, expected }) }
}

fn check_chain(line: &Line, place: u64, last: Option<Seen>) -> Result<(), Fault> {
    if line.n != place {
        return Err(Fault::Number { found: line.n, expected: place });
    }
    if line.prev != last.map_or(START, |Seen(_, hash)| hash) {
        return Err(Fault::Chain);
    }
    Ok(())
}
