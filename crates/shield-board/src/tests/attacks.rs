//! What operators, strangers and other parties could do to a board.

use std::fs;

use super::{Ward, identity};
use crate::folder::LINES;
use crate::line::Line;
use crate::statement::{Seen, Signature};
use crate::{Folder, Kind, Statement, compare};

#[test]
fn a_whole_board_passes() {
    let ward = Ward::new();
    ward.finished();
    let checks = ward.checks().unwrap();
    assert!(checks.list().iter().all(|check| check.result == "passed"), "{checks:?}");
    assert_eq!(checks.list().last().unwrap().id, 10);
}

#[test]
fn a_forged_line_is_found() {
    let ward = Ward::new();
    ward.frozen();
    // The operator writes a ballot in the name of a teacher who did not vote.
    let forged = ward.failing(|lines| {
        let board = Folder::open(&ward.path()).unwrap();
        let body = board.add_body(Kind::Ballot, b"forged").unwrap();
        let mut signed = lines[4].signed.clone();
        signed.statement.by = "cedar".parse().unwrap();
        signed.statement.body = Some(body);
        let sig = ward.office.sign(signed.statement.text().as_bytes());
        signed.sig = Signature(sig);
        lines.insert(6, Line::place(signed, None, &ward.office));
        ward.rechained(lines);
    });
    assert_eq!(forged, ["signatures"]);
}

#[test]
fn a_stranger_and_a_party_in_another_role_say_nothing() {
    let ward = Ward::new();
    let mut board = ward.keys(b"an election file");
    let stranger = identity("amber", 99);
    assert!(Statement::new(&ward.parties, Kind::Ballot, &stranger, None, None).is_err());
    let body = board.add_body(Kind::Ballot, b"forged").unwrap();
    let mut signed = ward.signed(&board, Kind::Ballot, &ward.teachers[0], Some(body));
    signed = signed.statement.sign(&stranger);
    let error = board.append(&ward.parties, signed, &ward.office).unwrap_err().to_string();
    assert!(error.contains("not that of `amber`"), "{error}");
    for (kind, by, words) in [
        (Kind::Ballot, &ward.lab, "only the teacher says this"),
        (Kind::Commitment, &ward.teachers[0], "only the operator says this"),
        (Kind::PublicKey, &ward.office, "only the student says this"),
        (Kind::Audited, &ward.lab, "only the auditor says this"),
    ] {
        let error = ward.say(&mut board, kind, by, Some(b"new")).unwrap_err();
        assert!(error.contains(words), "{error}");
    }
    // Nobody but the operator keeps the board.
    let body = board.add_body(Kind::Ballot, b"ballot").unwrap();
    let signed = ward.signed(&board, Kind::Ballot, &ward.teachers[0], Some(body));
    assert!(board.append(&ward.parties, signed, &ward.lab).is_err());
    assert!(ward.checks().unwrap().all_passed());
}

#[test]
fn a_line_of_another_election_is_found() {
    let (here, there) = (Ward::new(), Ward::of(b"another election file"));
    here.frozen();
    // The same parties with the same keys, and the same bytes as a ballot.
    let mut other = there.keys(b"another election file");
    let body = Some(&b"ballot of amber"[..]);
    let line = there.say(&mut other, Kind::Ballot, &there.teachers[0], body).unwrap();
    let mut board = Folder::open_to_add(&here.path()).unwrap();
    let error = board.append(&here.parties, line.signed.clone(), &here.office).unwrap_err();
    assert!(error.to_string().contains("another election"), "{error}");
    drop(board);
    let found = here.failing(|lines| {
        lines[4].signed = line.signed;
        here.rechained(lines);
    });
    assert!(found.contains(&"election") && found.contains(&"authors"), "{found:?}");
}

#[test]
fn dropped_reordered_and_doubled_lines_are_found() {
    for (what, edit, expected) in [
        ("dropped", (|lines| drop(lines.remove(4))) as fn(&mut Vec<Line>), "seen"),
        ("reordered", |lines| lines.swap(2, 4), "order"),
        ("doubled", |lines| lines.insert(5, lines[4].clone()), "once"),
        ("doubled keys", |lines| lines.insert(3, lines[2].clone()), "once"),
        ("thawed", |lines| drop(lines.remove(6)), "seen"),
    ] {
        let ward = Ward::new();
        ward.finished();
        let found = ward.failing(edit);
        assert!(found.contains(&"chain"), "{what}: {found:?}");
        // Even the operator, who can number them anew, is found out by what others saw.
        let ward = Ward::new();
        ward.finished();
        let found = ward.failing(|lines| {
            edit(lines);
            ward.rechained(lines);
        });
        assert!(found.contains(&expected), "{what}: {found:?}");
        assert!(!found.contains(&"chain") && !found.contains(&"heads"), "{what}: {found:?}");
    }
    let ward = Ward::new();
    ward.finished();
    assert_eq!(ward.failing(|lines| lines[3].n = 7), ["chain", "heads", "seen"]);
    // A board whose end was cut off is a board: the line that somebody kept shows what is missing.
    let ward = Ward::new();
    ward.finished();
    assert!(ward.failing(|lines| lines.truncate(6)).is_empty());
}

#[test]
fn a_teacher_votes_once_and_nobody_votes_late_or_with_a_copy() {
    let ward = Ward::new();
    let mut board = ward.keys(b"an election file");
    let [amber, birch, cedar] = &ward.teachers;
    let vote =
        |board: &mut Folder, by, ballot: &[u8]| ward.say(board, Kind::Ballot, by, Some(ballot));
    vote(&mut board, amber, b"first").unwrap();
    for (by, ballot, words) in [
        (amber, &b"second"[..], "it is said once"),
        (amber, b"first", "it is said once"),
        (birch, b"first", "it has the body of line 4"),
    ] {
        let error = vote(&mut board, by, ballot).unwrap_err();
        assert!(error.contains(words), "{error}");
    }
    ward.say(&mut board, Kind::Freeze, &ward.office, None).unwrap();
    let error = vote(&mut board, cedar, b"late").unwrap_err();
    assert!(error.contains("after the line of the kind `freeze`"), "{error}");
    // The operator signs what it pleases, and the checks find it.
    for (by, ballot, expected) in
        [(amber, &b"second"[..], "once"), (birch, b"first", "bodies"), (cedar, b"late", "order")]
    {
        let ward = Ward::new();
        let mut board = ward.keys(b"an election file");
        vote_in(&ward, &mut board, &ward.teachers[0], b"first");
        if expected == "order" {
            ward.say(&mut board, Kind::Freeze, &ward.office, None).unwrap();
        }
        let body = board.add_body(Kind::Ballot, ballot).unwrap();
        let signed = ward.signed(&board, Kind::Ballot, by, Some(body));
        let last = board.last();
        drop(board);
        let found = ward.failing(|lines| lines.push(Line::place(signed, last, &ward.office)));
        assert_eq!(found, [expected]);
    }
}

fn vote_in(ward: &Ward, board: &mut Folder, by: &crate::Identity, ballot: &[u8]) {
    ward.say(board, Kind::Ballot, by, Some(ballot)).unwrap();
}

#[test]
fn a_changed_and_a_missing_body_are_found() {
    let ward = Ward::new();
    let board = ward.finished();
    for kind in [Kind::Election, Kind::PublicKey, Kind::Ballot, Kind::Results] {
        let (body, path) = board.body_of(kind).unwrap();
        let good = fs::read(&path).unwrap();
        let mut bad = good.clone();
        bad[0] ^= 1;
        for bad in [&bad[..], &good[1..], &[&good[..], &[0]].concat()] {
            fs::write(&path, bad).unwrap();
            let checks = ward.checks().unwrap();
            let failed = checks.demand(board.path()).unwrap_err().check;
            assert_eq!(failed.name, "bodies", "{kind}");
            assert!(failed.reason.as_ref().unwrap().contains(&body.hash.to_string()));
        }
        fs::remove_file(&path).unwrap();
        assert!(!ward.checks().unwrap().all_passed());
        fs::write(&path, good).unwrap();
        assert!(ward.checks().unwrap().all_passed());
    }
    // A line that claims fewer bytes than there are.
    let found = ward.failing(|lines| {
        lines[4].signed.statement.body.as_mut().unwrap().bytes -= 1;
    });
    assert_eq!(found, ["chain", "signatures", "heads", "seen", "bodies"]);
}

#[test]
fn every_changed_digit_of_every_line_is_found() {
    let ward = Ward::new();
    ward.finished();
    let path = ward.path().join(LINES);
    let good = fs::read(&path).unwrap();
    for place in (0..good.len()).step_by(29) {
        let mut bad = good.clone();
        bad[place] = if bad[place] == b'0' { b'1' } else { b'0' };
        fs::write(&path, &bad).unwrap();
        let passed = ward.checks().is_ok_and(|checks| checks.all_passed());
        assert!(!passed, "{}", String::from_utf8_lossy(&bad[place.saturating_sub(40)..]));
    }
}

#[test]
fn a_line_has_one_form_and_a_length() {
    let ward = Ward::new();
    ward.finished();
    let path = ward.path().join(LINES);
    let good = fs::read_to_string(&path).unwrap();
    let long = format!("{{\"n\":{}0", " ".repeat(2000));
    for (bad, words) in [
        (good.replacen("{\"n\":0", "{ \"n\":0", 1), "line 0 is not in canonical form"),
        (good.replacen("{\"n\":0", "{\"x\":1,\"n\":0", 1), "line 0 is not"),
        (good.replacen("{\"n\":0", "{\"n\":0,\"n\":0", 1), "line 0 is not"),
        (good.replacen("{\"n\":0", "{\"n\":-0", 1), "line 0 is not"),
        (good.replacen("\"kind\":\"freeze\"", "\"kind\":\"thaw\"", 1), "line 6 is not"),
        (good.replacen("{\"n\":0", &long, 1), "line 0 is not in canonical form, or too long"),
        (good.replacen('\n', "\n\n", 1), "line 1 is not"),
        (good.replacen('\n', "\r\n", 1), "line 0 is not"),
        (good.trim_end().to_owned(), "cut off"),
        (format!("{good}{{"), "cut off"),
    ] {
        assert_ne!(bad, good);
        fs::write(&path, &bad).unwrap();
        let error = ward.checks().unwrap_err();
        assert!(error.contains(words), "{error}");
    }
    fs::write(&path, [0xff, 0xfe, b'\n']).unwrap();
    assert!(ward.checks().is_err());
    // The operator's own program removes what it could not finish writing.
    fs::write(&path, format!("{good}{{\"n\":9")).unwrap();
    assert_eq!(Folder::open_to_add(&ward.path()).unwrap().lines().len(), 10);
    assert_eq!(fs::read_to_string(&path).unwrap(), good);
}

#[test]
fn two_programs_never_add_at_once() {
    let ward = Ward::new();
    let _open = ward.frozen();
    assert!(Folder::open_to_add(&ward.path()).is_err());
    let mut copy = Folder::open(&ward.path()).unwrap();
    let results = ward.say(&mut copy, Kind::Results, &ward.office, Some(b"results"));
    assert!(results.unwrap_err().contains("opened to be read"));
}

#[test]
fn a_fork_is_proven() {
    let [one, other] = [Ward::new(), Ward::new()];
    let copy = |ward: &Ward| Folder::open(&ward.path()).unwrap();
    let mut boards = [one.keys(b"an election file"), other.keys(b"an election file")];
    vote_in(&one, &mut boards[0], &one.teachers[0], b"ballot");
    let longer = compare(&copy(&one), &copy(&other), &one.parties);
    assert!(longer.fork.is_none() && longer.unproven.is_none());
    assert_eq!((longer.common, longer.first, longer.second), (4, 5, 4));
    // Amber's ballot is line 4 of one board, and birch's of the other.
    vote_in(&other, &mut boards[1], &other.teachers[1], b"ballot");
    let forked = compare(&copy(&one), &copy(&other), &one.parties);
    let [here, there] = forked.fork.unwrap();
    assert_eq!((here.n, there.n), (4, 4));
    for line in [&here, &there] {
        line.check_head(&one.parties).unwrap();
    }
    // Whoever sees both in one board is told, as well.
    let [amber, ..] = &one.teachers;
    let mut signed = one.signed(&boards[1], Kind::Ballot, amber, None).statement;
    signed.body = Some(boards[0].add_body(Kind::Ballot, b"another").unwrap());
    let error = boards[0].append(&one.parties, signed.sign(amber), &one.office).unwrap_err();
    assert!(error.to_string().contains("saw another line 4"), "{error}");
    // A line that the operator never signed accuses nobody.
    one.failing(|lines| lines[4].head = lines[3].head);
    let framed = compare(&copy(&one), &copy(&other), &one.parties);
    assert!(framed.fork.is_none() && framed.unproven.unwrap().contains("not countersigned"));
}

#[test]
fn an_author_cannot_have_seen_what_comes_later() {
    let ward = Ward::new();
    let mut board = ward.frozen();
    for seen in
        [None, Some(Seen(99, board.last().unwrap().1)), Some(Seen(u64::MAX, crate::line::START))]
    {
        let body = board.add_body(Kind::Results, b"results").unwrap();
        let by = &ward.office;
        let statement = Statement::new(&ward.parties, Kind::Results, by, Some(body), seen).unwrap();
        assert!(board.append(&ward.parties, statement.sign(by), by).is_err(), "{seen:?}");
    }
}
