//! A teacher's receipt: which ballot the server has, and what it committed to before. With it the
//! teacher finds out whether that ballot was counted.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::bundle::BundleReader;
use crate::election_file::PlannedElection;
use crate::error::{Problem, ProtocolError, Refused};
use crate::files::{parts, read_toml, write_or_find};
use crate::hex::hex;
use crate::name::Name;
use crate::new_file::Readers;
use crate::transcript::{Transcript, ballot_digest};

/// What the server acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    /// The election file's digest.
    pub election: String,
    /// Whose ballot it is.
    pub teacher: Name,
    /// The ballot's digest.
    pub ballot: String,
    /// What the server had committed to when it took the ballot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commitment: Option<String>,
}

impl Receipt {
    /// What a receipt for a ballot file must say. There is no commitment in it.
    pub fn of_ballot(file: &PlannedElection, path: &Path) -> Result<Self, ProtocolError> {
        let refuse = |problem| Refused { path: path.to_owned(), problem };
        let from = std::fs::File::open(path).map_err(|error| refuse(error.into()))?;
        let engine = file.engine();
        let reader = std::io::BufReader::new(from);
        let mut bundle = BundleReader::ballot(reader, &file.digest(), parts(engine.batches()))
            .map_err(|error| refuse(error.into()))?;
        let crate::bundle::Content::Ballot { teacher } = bundle.content() else {
            return Err(refuse(Problem::Damaged).into());
        };
        let teachers = file.teachers();
        let name = teachers.get(teacher as usize).cloned().ok_or_else(|| {
            refuse(Problem::NoSuchTeacher { number: teacher, teachers: teachers.len() })
        })?;
        let mut hashes = Vec::new();
        let limit = engine.max_bytes(shield_core::framing::Kind::Ballot);
        while let Some(part) = bundle.part(limit).map_err(|error| refuse(error.into()))? {
            hashes.push(*blake3::hash(&part).as_bytes());
        }
        let ballot = hex(&ballot_digest(hashes.iter()));
        Ok(Self { election: hex(&file.digest()), teacher: name, ballot, commitment: None })
    }

    /// Reads a receipt.
    pub fn read(path: &Path) -> Result<Self, ProtocolError> {
        Ok(read_toml(path, 1 << 12)?)
    }

    /// Writes it, unless it is there already. Never over something else.
    pub fn write(&self, path: &Path) -> Result<(), ProtocolError> {
        let text = toml::to_string(self).expect("strings");
        write_or_find(path, Readers::Everyone, text.as_bytes(), Problem::OtherResults)
    }

    /// Whether the ballot was counted, by what the server published.
    pub fn check(&self, transcript: &Transcript) -> Result<(), String> {
        let teacher = &self.teacher;
        if self.election != transcript.election {
            return Err("the receipt is for another election".to_owned());
        }
        if self.commitment.as_ref().is_some_and(|known| *known != transcript.commitment) {
            return Err(
                "the server committed to another part of the seed when it took the ballot: \
                        it could have chosen the draws afterwards"
                    .to_owned(),
            );
        }
        match transcript.ballots.get(teacher.as_str()) {
            None => Err(format!("the ballot of `{teacher}` was not counted")),
            Some(counted) if *counted != self.ballot => {
                Err(format!("another ballot was counted for `{teacher}`"))
            }
            Some(_) => Ok(()),
        }
    }
}
