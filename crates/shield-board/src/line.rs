//! A signed statement with its place on the board.
//!
//! The hash of a line is the BLAKE3 hash, in the derivation context `shield 2026 board line v1`, of
//!
//! ```text
//! n 17
//! prev <64 hexadecimal digits>
//! <the statement's text>
//! sig <128 hexadecimal digits>
//! ```
//!
//! and its `head` is the operator's signature over
//!
//! ```text
//! shield head v1
//! election <64 hexadecimal digits>
//! n 17
//! line <the line's hash>
//! ```
//!
//! An operator who signs two heads with one number shows two boards, and proves it.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::error::Fault;
use crate::hex::hex;
use crate::identity::Identity;
use crate::parties::Parties;
use crate::statement::{MAX_BYTES, Seen, Signature, Signed, Statement};

const HASH: &str = "shield 2026 board line v1";

/// What stands in `prev` of the first line.
pub const START: Digest = Digest([0; 32]);

/// A line of a board.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// Its number, counted from 0.
    pub n: u64,
    /// The hash of the line before, or [`START`].
    pub prev: Digest,
    /// What its author says.
    #[serde(flatten)]
    pub signed: Signed,
    /// The operator's signature of number and hash.
    pub head: Signature,
}

impl Line {
    /// Puts a statement at its place; `keeper` is the operator.
    pub fn place(signed: Signed, last: Option<Seen>, keeper: &Identity) -> Self {
        let (n, prev) = last.map_or((0, START), |Seen(n, hash)| (n + 1, hash));
        let mut line = Self { n, prev, signed, head: Signature([0; 64]) };
        line.head = Signature(keeper.sign(line.head_text().as_bytes()));
        line
    }

    /// What it says.
    pub fn statement(&self) -> &Statement {
        &self.signed.statement
    }

    /// Its hash: of everything but `head`.
    pub fn hash(&self) -> Digest {
        let mut text = format!("n {}\nprev {}\n", self.n, self.prev);
        text += &self.statement().text();
        let _ = writeln!(text, "sig {}", hex(&self.signed.sig.0));
        Digest::of(HASH, text.as_bytes())
    }

    /// Its number and its hash: what the author of a later statement says it saw.
    pub fn seen(&self) -> Seen {
        Seen(self.n, self.hash())
    }

    /// What the operator signs.
    fn head_text(&self) -> String {
        let (election, n) = (self.statement().election, self.n);
        format!("shield head v1\nelection {election}\nn {n}\nline {}\n", self.hash())
    }

    /// Fails unless the operator countersigned this line at this place.
    pub fn check_head(&self, parties: &Parties) -> Result<(), Fault> {
        let keys = &parties.operator().line.keys;
        let signed = keys.has_signed(self.head_text().as_bytes(), &self.head.0);
        if signed { Ok(()) } else { Err(Fault::Head) }
    }

    /// The line in a board's file: one line of JSON.
    pub fn encode(&self) -> String {
        serde_json::to_string(self).expect("strings and numbers") + "\n"
    }

    /// Reads a line in its one form, with the line break.
    pub fn decode(text: &str) -> Option<Self> {
        let read: Self = (text.len() <= MAX_BYTES).then(|| serde_json::from_str(text).ok())??;
        (read.encode() == text).then_some(read)
    }
}
