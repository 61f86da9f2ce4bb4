//! A board as a folder, which parties pass around.
//!
//! ```text
//! ward-7.board/board.jsonl     one line of JSON per line of the board
//! ward-7.board/bodies/<hash>   their bodies but ballots, named by BLAKE3 hash
//! ward-7.board.ballots/<hash>  the ballots, for the operator and the auditors
//! ```
//!
//! The student has the key that reads ballots, and must not have them. So they are in a folder of
//! their own, and a copy of the board without it is whole but for the checks of the ballots.
//!
//! Only the operator adds lines. Everybody else has a copy, and hands statements in.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::digest::Digest;
use crate::error::{BoardError, Fault};
use crate::identity::Identity;
use crate::kinds::Kind;
use crate::line::Line;
use crate::new_file::{Readers, Unnamed};
use crate::order::Order;
use crate::parties::Parties;
use crate::statement::{Body, MAX_BYTES, Seen, Signed, Statement};

/// The name of the file of lines.
pub const LINES: &str = "board.jsonl";
/// The most lines of a board: room for 100,000 teachers.
pub const MAX_LINES: u64 = 110_000;

/// A board in a folder.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    lines: Vec<Line>,
    order: Order,
    /// The file of lines, locked, where lines may be added.
    file: Option<File>,
}

impl Folder {
    /// A new, empty board, in a folder that is not there yet.
    pub fn create(path: &Path) -> Result<Self, BoardError> {
        let cannot = |error| BoardError::cannot_write(path, error);
        for folder in [path.to_owned(), path.join("bodies"), beside(path, "ballots")] {
            fs::create_dir(folder).map_err(cannot)?;
        }
        File::create_new(path.join(LINES)).map_err(cannot)?;
        Self::open_to_add(path)
    }

    /// Reads the lines of a board. Nothing but their form is checked.
    pub fn open(path: &Path) -> Result<Self, BoardError> {
        let file = path.join(LINES);
        let refuse = |fault: Fault| BoardError::refused(&file, fault);
        let mut from = File::open(&file).map_err(|error| refuse(error.into()))?;
        let (lines, rest) = read_lines(&mut from).map_err(refuse)?;
        if rest > 0 {
            return Err(refuse(Fault::CutOff));
        }
        Ok(Self::of(path, lines, None))
    }

    /// Opens the operator's own board to add lines. Nobody else can, as long as it is open. What
    /// stands after the last whole line is removed: the program that wrote it was killed, and
    /// nobody has seen it.
    pub fn open_to_add(path: &Path) -> Result<Self, BoardError> {
        let name = path.join(LINES);
        let refuse = |fault: Fault| BoardError::refused(&name, fault);
        let open = OpenOptions::new().read(true).append(true).open(&name);
        let mut file = open.map_err(|error| refuse(error.into()))?;
        file.try_lock().map_err(|error| refuse(io::Error::from(error).into()))?;
        let (lines, rest) = read_lines(&mut file).map_err(refuse)?;
        if rest > 0 {
            let length = file.metadata().map(|metadata| metadata.len());
            let cut = length.and_then(|length| file.set_len(length - rest));
            cut.map_err(|error| BoardError::cannot_write(&name, error))?;
        }
        Ok(Self::of(path, lines, Some(file)))
    }

    fn of(path: &Path, lines: Vec<Line>, file: Option<File>) -> Self {
        let mut order = Order::default();
        for line in &lines {
            order.record(line);
        }
        Self { path: path.to_owned(), lines, order, file }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its lines.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// The lines of a kind.
    pub fn of_kind(&self, kind: Kind) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(move |line| line.statement().kind == kind)
    }

    /// The last line: what an author says it saw.
    pub fn last(&self) -> Option<Seen> {
        self.order.last()
    }

    /// Where the ballots are, if this copy has them.
    pub fn ballots(&self) -> PathBuf {
        beside(&self.path, "ballots")
    }

    /// Whether this copy has the ballots.
    pub fn has_ballots(&self) -> bool {
        self.ballots().is_dir()
    }

    /// Where a body is.
    pub fn body_path(&self, kind: Kind, hash: &Digest) -> PathBuf {
        let is_ballot = kind == Kind::Ballot;
        let folder = if is_ballot { self.ballots() } else { self.path.join("bodies") };
        folder.join(hash.to_string())
    }

    /// The one line of a kind that is said once, and where its body is.
    pub fn body_of(&self, kind: Kind) -> Option<(Body, PathBuf)> {
        let body = self.of_kind(kind).next()?.statement().body?;
        Some((body, self.body_path(kind, &body.hash)))
    }

    /// Fails unless the body of a statement is there, with its length and its hash. Ballots are
    /// looked at where this copy has them.
    pub fn check_body(&self, statement: &Statement) -> Result<(), Fault> {
        let Some(Body { hash, bytes }) = statement.body else { return Ok(()) };
        if statement.kind == Kind::Ballot && !self.has_ballots() {
            return Ok(());
        }
        let kind = match statement.kind.rule().content {
            crate::kinds::Content::Of(kind) => kind,
            _ => statement.kind,
        };
        let file = match File::open(self.body_path(kind, &hash)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(Fault::Missing(hash));
            }
            file => file?,
        };
        // Not read if its length shows already that it is another.
        let is_whole = file.metadata()?.len() == bytes && Digest::read(file)? == (hash, bytes);
        if is_whole { Ok(()) } else { Err(Fault::Changed(hash)) }
    }

    /// Stores bytes as the body of a line of this kind.
    pub fn add_body(&self, kind: Kind, bytes: &[u8]) -> Result<Body, BoardError> {
        self.store_body(kind, bytes)
    }

    /// Stores a file's bytes.
    pub fn add_body_file(&self, kind: Kind, path: &Path) -> Result<Body, BoardError> {
        let file = File::open(path).map_err(|error| BoardError::refused(path, error))?;
        self.store_body(kind, file)
    }

    fn store_body(&self, kind: Kind, mut from: impl Read) -> Result<Body, BoardError> {
        let place = self.body_path(kind, &crate::line::START);
        let cannot = |error| BoardError::cannot_write(&place, error);
        let mut bytes = 0;
        let file = Unnamed::fill(&place, Readers::Everyone, |file| {
            bytes = io::copy(&mut from, file)?;
            Ok(())
        });
        let (file, hash) = file.and_then(Unnamed::hashed).map_err(cannot)?;
        file.name_or_find(&self.body_path(kind, &hash)).map_err(cannot)?;
        Ok(Body { hash, bytes })
    }

    /// Fails if a statement could not be the next line, whatever its body is.
    pub fn check_next(&self, parties: &Parties, signed: &Signed) -> Result<(), BoardError> {
        let statement = &signed.statement;
        let order = &self.order;
        let checked = signed
            .check(parties)
            .and_then(|()| order.check_seen(statement))
            .and_then(|()| order.check_order(statement))
            .and_then(|()| order.check_once(statement))
            .and_then(|()| order.check_content(statement));
        let full = self.lines.len() as u64 >= MAX_LINES;
        let checked = if full { Err(Fault::TooMany(MAX_LINES)) } else { checked };
        checked.map_err(|fault| refused(statement, fault))
    }

    /// Adds a statement as the next line, countersigned by the operator. Refuses what any check of
    /// the board would refuse.
    pub fn append(
        &mut self,
        parties: &Parties,
        signed: Signed,
        keeper: &Identity,
    ) -> Result<&Line, BoardError> {
        self.check_next(parties, &signed)?;
        let statement = &signed.statement;
        self.check_body(statement).map_err(|fault| refused(statement, fault))?;
        let line = Line::place(signed, self.last(), keeper);
        // Before anyone sees it: that the keeper is who the election says.
        line.check_head(parties).map_err(|fault| refused(line.statement(), fault))?;
        let name = self.path.join(LINES);
        let cannot = |error| BoardError::cannot_write(&name, error);
        let Some(file) = &mut self.file else {
            let error = io::Error::other("this copy of the board was opened to be read");
            return Err(cannot(error));
        };
        file.write_all(line.encode().as_bytes()).and_then(|()| file.sync_data()).map_err(cannot)?;
        self.order.record(&line);
        self.lines.push(line);
        Ok(&self.lines[self.lines.len() - 1])
    }
}

fn refused(statement: &Statement, fault: Fault) -> BoardError {
    BoardError::Line { kind: statement.kind, by: statement.by.clone(), fault }
}

/// A folder beside a board, for those who may have it.
pub fn beside(board: &Path, what: &str) -> PathBuf {
    let mut name = board.as_os_str().to_owned();
    name.push(".");
    name.push(what);
    name.into()
}

/// All whole lines, and how many bytes follow the last of them.
fn read_lines(from: &mut File) -> Result<(Vec<Line>, u64), Fault> {
    let most = MAX_LINES * MAX_BYTES as u64;
    let mut text = String::new();
    from.take(most + 1).read_to_string(&mut text)?;
    let mut lines = Vec::new();
    for text in text.split_inclusive('\n') {
        let n = lines.len() as u64;
        if n == MAX_LINES {
            return Err(Fault::TooMany(MAX_LINES));
        }
        if !text.ends_with('\n') {
            return Ok((lines, text.len() as u64));
        }
        lines.push(Line::decode(text).ok_or(Fault::Form { n })?);
    }
    Ok((lines, 0))
}
