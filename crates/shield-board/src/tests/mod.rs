//! Boards that are whole, and every way to tamper with one.

mod attacks;
mod keys;
mod roster;
mod second;
mod vectors;

use std::fs;
use std::path::PathBuf;

use zeroize::Zeroizing;

use crate::folder::LINES;
use crate::{
    Checks, Digest, Folder, Identity, Kind, Line, Parties, Party, Role, Signed, Statement, verify,
};

pub(super) fn identity(name: &str, seed: u8) -> Identity {
    Identity::from_seed(name.parse().unwrap(), Zeroizing::new([seed; 32]))
}

/// The parties of a small election, and a folder for its board.
pub(super) struct Ward {
    pub(super) folder: tempfile::TempDir,
    pub(super) office: Identity,
    pub(super) lab: Identity,
    pub(super) vera: Identity,
    pub(super) teachers: [Identity; 3],
    pub(super) parties: Parties,
}

impl Ward {
    pub(super) fn new() -> Self {
        Self::of(b"an election file")
    }

    pub(super) fn of(file: &[u8]) -> Self {
        let (office, lab, vera) = (identity("office", 1), identity("lab", 2), identity("vera", 3));
        let teachers = [identity("amber", 4), identity("birch", 5), identity("cedar", 6)];
        let role = |role, identity: &Identity| Party::new(role, identity.public_line());
        let fixed =
            [role(Role::Operator, &office), role(Role::Student, &lab), role(Role::Auditor, &vera)];
        let voting = teachers.iter().map(|teacher| role(Role::Teacher, teacher));
        let election = Digest::of("shield 2026 election file v1", file);
        let parties = Parties::new(election, fixed.into_iter().chain(voting)).unwrap();
        let folder = tempfile::tempdir().unwrap();
        Self { folder, office, lab, vera, teachers, parties }
    }

    pub(super) fn path(&self) -> PathBuf {
        self.folder.path().join("ward-7.board")
    }

    pub(super) fn say(
        &self,
        board: &mut Folder,
        kind: Kind,
        by: &Identity,
        body: Option<&[u8]>,
    ) -> Result<Line, String> {
        let body = body.map(|body| board.add_body(kind, body).unwrap());
        self.say_of(board, kind, by, body)
    }

    pub(super) fn say_of(
        &self,
        board: &mut Folder,
        kind: Kind,
        by: &Identity,
        body: Option<crate::Body>,
    ) -> Result<Line, String> {
        let signed = self.signed(board, kind, by, body);
        let line = board.append(&self.parties, signed, &self.office);
        line.cloned().map_err(|error| error.to_string())
    }

    pub(super) fn signed(
        &self,
        board: &Folder,
        kind: Kind,
        by: &Identity,
        body: Option<crate::Body>,
    ) -> Signed {
        Statement::new(&self.parties, kind, by, body, board.last()).unwrap().sign(by)
    }

    /// A board up to the keys.
    pub(super) fn keys(&self, file: &[u8]) -> Folder {
        let mut board = Folder::create(&self.path()).unwrap();
        self.say(&mut board, Kind::Election, &self.office, Some(file)).unwrap();
        self.say(&mut board, Kind::Commitment, &self.office, Some(&[7; 32])).unwrap();
        self.say(&mut board, Kind::PublicKey, &self.lab, Some(b"public")).unwrap();
        self.say(&mut board, Kind::EvaluationKey, &self.lab, Some(b"evaluation")).unwrap();
        board
    }

    /// A board with two ballots, frozen.
    pub(super) fn frozen(&self) -> Folder {
        let mut board = self.keys(b"an election file");
        for teacher in &self.teachers[..2] {
            let ballot = format!("ballot of {}", teacher.name());
            self.say(&mut board, Kind::Ballot, teacher, Some(ballot.as_bytes())).unwrap();
        }
        self.say(&mut board, Kind::Freeze, &self.office, None).unwrap();
        board
    }

    /// A whole board.
    pub(super) fn finished(&self) -> Folder {
        let mut board = self.frozen();
        self.say(&mut board, Kind::Results, &self.office, Some(b"results")).unwrap();
        self.say(&mut board, Kind::Seed, &self.office, Some(b"sealed seed")).unwrap();
        let (results, _) = board.body_of(Kind::Results).unwrap();
        self.say_of(&mut board, Kind::Audited, &self.vera, Some(results)).unwrap();
        board
    }

    pub(super) fn checks(&self) -> Result<Checks, String> {
        let board = Folder::open(&self.path()).map_err(|error| error.to_string())?;
        Ok(verify(&board, &self.parties))
    }

    /// The names of the checks that fail after the file of lines was edited.
    pub(super) fn failing(&self, edit: impl FnOnce(&mut Vec<Line>)) -> Vec<&'static str> {
        let mut lines = Folder::open(&self.path()).unwrap().lines().to_vec();
        edit(&mut lines);
        let text: String = lines.iter().map(Line::encode).collect();
        fs::write(self.path().join(LINES), text).unwrap();
        let checks = self.checks().unwrap();
        checks.list().iter().filter(|check| check.result == "failed").map(|c| c.name).collect()
    }

    /// Numbers, chain and heads anew, as only the operator can.
    pub(super) fn rechained(&self, lines: &mut Vec<Line>) {
        let mut last = None;
        for line in lines {
            *line = Line::place(line.signed.clone(), last, &self.office);
            last = Some(line.seen());
        }
    }
}
