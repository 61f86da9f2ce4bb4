//! What can be said on a board: by whom, how often, and in which order.
//!
//! A new kind is one variant of [`Kind`], with its [`Rule`].

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What a party does in an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// Keeps the board, and aggregates.
    Operator,
    /// Makes the keys and reads the labels.
    Student,
    /// Computes the results again, and sees no labels.
    Auditor,
    /// Votes.
    Teacher,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Operator => "operator",
            Self::Student => "student",
            Self::Auditor => "auditor",
            Self::Teacher => "teacher",
        })
    }
}

/// What a line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[non_exhaustive]
pub enum Kind {
    /// The election file, with everybody's public line.
    Election,
    /// The commitment to the operator's part of the seed.
    Commitment,
    /// The student's public key.
    PublicKey,
    /// The student's evaluation key.
    EvaluationKey,
    /// A teacher's ballot.
    Ballot,
    /// From here on no ballot counts.
    Freeze,
    /// The results.
    Results,
    /// The operator's part of the seed, sealed to each auditor.
    Seed,
    /// An auditor computed the results again, and they are the same bytes.
    Audited,
}

/// Whose bytes the body of a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// There is none.
    Nothing,
    /// Its own, and no other line's.
    Own,
    /// The body of the line of that kind: the author vouches for it.
    Of(Kind),
}

/// When a line of a kind may stand on a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Who says it. Everyone in that role says it once at most.
    pub by: Role,
    /// Kinds of which there must be lines before.
    pub after: &'static [Kind],
    /// A kind of which there must be no line before.
    pub before: Option<Kind>,
    /// Its body.
    pub content: Content,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 9] = [
        Self::Election,
        Self::Commitment,
        Self::PublicKey,
        Self::EvaluationKey,
        Self::Ballot,
        Self::Freeze,
        Self::Results,
        Self::Seed,
        Self::Audited,
    ];

    /// When it may be said.
    pub const fn rule(self) -> Rule {
        use Role::{Auditor, Operator, Student, Teacher};
        let (by, after, before, content): (_, &[Self], _, _) = match self {
            Self::Election => (Operator, &[], None, Content::Own),
            // Before any ballot, so that the draws cannot be chosen after ballots were seen.
            Self::Commitment => (Operator, &[Self::Election], Some(Self::Ballot), Content::Own),
            Self::PublicKey | Self::EvaluationKey => {
                (Student, &[Self::Commitment], Some(Self::Ballot), Content::Own)
            }
            Self::Ballot => {
                let keys = &[Self::PublicKey, Self::EvaluationKey];
                (Teacher, keys, Some(Self::Freeze), Content::Own)
            }
            Self::Freeze => (Operator, &[Self::Ballot], None, Content::Nothing),
            Self::Results => (Operator, &[Self::Freeze], None, Content::Own),
            Self::Seed => (Operator, &[Self::Results], None, Content::Own),
            Self::Audited => (Auditor, &[Self::Seed], None, Content::Of(Self::Results)),
        };
        Rule { by, after, before, content }
    }

    /// The word that stands on the board.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Election => "election",
            Self::Commitment => "commitment",
            Self::PublicKey => "public-key",
            Self::EvaluationKey => "evaluation-key",
            Self::Ballot => "ballot",
            Self::Freeze => "freeze",
            Self::Results => "results",
            Self::Seed => "seed",
            Self::Audited => "audited",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Kind {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        let found = Self::ALL.into_iter().find(|kind| kind.as_str() == text);
        found.ok_or("there is no such kind of line; use the same release on all sides")
    }
}

impl TryFrom<String> for Kind {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        text.parse()
    }
}

impl From<Kind> for String {
    fn from(kind: Kind) -> Self {
        kind.as_str().to_owned()
    }
}
