//! What a party signs.
//!
//! The signature is made over the statement as lines of text, whose values hold no line breaks:
//!
//! ```text
//! shield statement v1
//! election <64 hexadecimal digits>
//! kind ballot
//! by amber
//! body <64 hexadecimal digits>, or -
//! bytes 1461234
//! seen 12 <64 hexadecimal digits>, or -
//! ```

use std::fmt::Write as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::error::{BoardError, Fault, read_bounded};
use crate::hex::{hex, unhex};
use crate::identity::Identity;
use crate::kinds::Kind;
use crate::name::Name;
use crate::new_file::{Readers, write_new};
use crate::parties::Parties;

/// No line, and no statement, is longer in a file.
pub const MAX_BYTES: usize = 1024;

/// The bytes that a line speaks of: a ballot, a key, results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Body {
    /// The BLAKE3 hash of the bytes.
    pub hash: Digest,
    /// How many there are.
    pub bytes: u64,
}

/// A line that an author saw: its number and its hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen(pub u64, pub Digest);

/// What a party says, not yet signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// The digest of the election file.
    pub election: Digest,
    /// What it is.
    pub kind: Kind,
    /// Who says it.
    pub by: Name,
    /// The bytes it speaks of.
    pub body: Option<Body>,
    /// The last line that its author saw; `None` only where there was none.
    pub seen: Option<Seen>,
}

impl Statement {
    /// A statement by the party that an identity is.
    pub fn new(
        parties: &Parties,
        kind: Kind,
        by: &Identity,
        body: Option<Body>,
        seen: Option<Seen>,
    ) -> Result<Self, BoardError> {
        let Some(party) = parties.find(by) else {
            let problem = format!(
                "the identity `{}` ({}) is no party of this election: the election file does not \
                 list its public line",
                by.name(),
                by.public().fingerprint()
            );
            return Err(BoardError::Parties(problem));
        };
        let (election, by) = (parties.election(), party.line.name.clone());
        Ok(Self { election, kind, by, body, seen })
    }

    /// The text that is signed.
    pub fn text(&self) -> String {
        let mut text = format!(
            "shield statement v1\nelection {}\nkind {}\nby {}\n",
            self.election, self.kind, self.by
        );
        let _ = match self.body {
            Some(Body { hash, bytes }) => write!(text, "body {hash}\nbytes {bytes}\n"),
            None => write!(text, "body -\nbytes 0\n"),
        };
        let _ = match self.seen {
            Some(Seen(n, hash)) => writeln!(text, "seen {n} {hash}"),
            None => writeln!(text, "seen -"),
        };
        text
    }

    /// Signs it.
    pub fn sign(self, by: &Identity) -> Signed {
        let sig = Signature(by.sign(self.text().as_bytes()));
        Signed { statement: self, sig }
    }
}

/// An Ed25519 signature, written as 128 lower-case hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Signature(pub [u8; 64]);

impl From<Signature> for String {
    fn from(signature: Signature) -> Self {
        hex(&signature.0)
    }
}

impl TryFrom<String> for Signature {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        unhex(&text).map(Self).ok_or("a signature has 128 lower-case hexadecimal digits")
    }
}

/// A statement with its author's signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Document", into = "Document")]
pub struct Signed {
    /// What is said.
    pub statement: Statement,
    /// By whom it is signed, if it is the author's.
    pub sig: Signature,
}

/// A signed statement in a file: its keys in this order, without spaces.
#[derive(Serialize, Deserialize)]
struct Document {
    election: Digest,
    kind: Kind,
    by: Name,
    body: Option<Digest>,
    bytes: u64,
    seen: Option<Seen>,
    sig: Signature,
}

impl From<Signed> for Document {
    fn from(Signed { statement, sig }: Signed) -> Self {
        let Statement { election, kind, by, body, seen } = statement;
        let bytes = body.map_or(0, |body| body.bytes);
        Self { election, kind, by, body: body.map(|body| body.hash), bytes, seen, sig }
    }
}

impl From<Document> for Signed {
    fn from(document: Document) -> Self {
        let Document { election, kind, by, body, bytes, seen, sig } = document;
        let body = body.map(|hash| Body { hash, bytes });
        Self { statement: Statement { election, kind, by, body, seen }, sig }
    }
}

impl Signed {
    /// Fails unless the author is a party of this election in the right role, and the signature is
    /// its own.
    pub fn check(&self, parties: &Parties) -> Result<(), Fault> {
        self.check_author(parties)?;
        self.check_signature(parties)
    }

    pub(crate) fn check_author(&self, parties: &Parties) -> Result<(), Fault> {
        let Statement { election, kind, by, .. } = &self.statement;
        if *election != parties.election() {
            return Err(Fault::Election { found: *election, expected: parties.election() });
        }
        let party = parties.get(by).ok_or_else(|| Fault::Stranger(by.clone()))?;
        let expected = kind.rule().by;
        if party.role != expected {
            return Err(Fault::Role { by: by.clone(), found: party.role, expected });
        }
        Ok(())
    }

    pub(crate) fn check_signature(&self, parties: &Parties) -> Result<(), Fault> {
        let by = &self.statement.by;
        let party = parties.get(by).ok_or_else(|| Fault::Stranger(by.clone()))?;
        if !party.line.keys.has_signed(self.statement.text().as_bytes(), &self.sig.0) {
            return Err(Fault::Signature(by.clone()));
        }
        Ok(())
    }

    /// The statement in a file: one line of JSON.
    pub fn encode(&self) -> String {
        serde_json::to_string(self).expect("strings and numbers") + "\n"
    }

    /// Reads a statement in its one form.
    pub fn decode(text: &str) -> Result<Self, Fault> {
        let read: Option<Self> = (text.len() <= MAX_BYTES)
            .then(|| serde_json::from_str(text).ok())
            .flatten()
            .filter(|read: &Self| read.encode() == text);
        read.ok_or(Fault::Statement)
    }

    /// Reads a statement from a file.
    pub fn read(path: &Path) -> Result<Self, BoardError> {
        let refuse = |fault| BoardError::refused(path, fault);
        let bytes = read_bounded(path, MAX_BYTES).map_err(refuse)?;
        let text = std::str::from_utf8(&bytes).map_err(|_| refuse(Fault::Statement))?;
        Self::decode(text).map_err(refuse)
    }

    /// Writes it into a new file.
    pub fn write(&self, path: &Path) -> Result<(), BoardError> {
        let written = write_new(path, Readers::Everyone, self.encode().as_bytes());
        written.map_err(|error| BoardError::cannot_write(path, error))
    }
}
