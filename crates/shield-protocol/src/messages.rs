//! What clients and servers send each other as JSON.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::credentials::TokenHash;
use crate::hex::{hex, unhex};
use crate::name::Name;
use crate::transcript::ballot_digest;

/// What the operator sends: the file, and the hashes of the tokens in the invitations.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", schema(example = json!({
    "file": "name = \"ward-7\"\ngroup = \"hospitals\"\nclasses = 10\nsamples = 100\noffset = \
             5\nquorum = 2\nteachers = [\"amber\", \"birch\"]\n",
    "student": "0000000000000000000000000000000000000000000000000000000000000000",
    "teachers": {
        "amber": "1111111111111111111111111111111111111111111111111111111111111111",
        "birch": "2222222222222222222222222222222222222222222222222222222222222222"
    }
})))]
#[serde(deny_unknown_fields)]
pub struct NewElection {
    /// The election file, as TOML.
    pub file: String,
    /// The hash of the student's token.
    pub student: TokenHash,
    /// The hash of each teacher's token, by name.
    pub teachers: BTreeMap<String, TokenHash>,
}

/// A new token in the place of an old one.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    /// The teacher whose token it is; the student's without one.
    pub teacher: Option<String>,
    /// The hash of the new token.
    pub token: TokenHash,
}

/// What a party learns about an election.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Status {
    /// Its name.
    pub name: String,
    /// The group whose budget pays.
    pub group: String,
    /// Where it stands. `failed` can be closed again: it goes on with the same seed and ballots.
    #[cfg_attr(
        feature = "schema",
        schema(pattern = "^(awaiting-keys|open|closing|released|failed|withdrawn)$")
    )]
    pub stage: String,
    /// The digest of the election file: the same for all parties.
    pub digest: String,
    /// The name of the student's keys, once there are any.
    pub key_id: Option<String>,
    /// How many samples are to be labelled.
    pub samples: usize,
    /// How many batches they make.
    pub batches: usize,
    /// Batches aggregated so far.
    pub released_batches: usize,
    /// How many teachers may vote.
    pub teachers: usize,
    /// How many have voted on every batch.
    pub voted: usize,
    /// Who has; not for teachers.
    pub voters: Option<Vec<String>>,
    /// Who has not; not for teachers.
    pub missing: Option<Vec<String>>,
    /// How many voters every sample must have.
    pub quorum: u32,
    /// When the last ballot is taken.
    pub deadline: Option<Timestamp>,
    /// When it was created.
    pub created: Timestamp,
    /// When it was closed.
    pub closed: Option<Timestamp>,
    /// What the aggregation stumbled over.
    pub problem: Option<String>,
    /// What it costs: set aside until it is closed, spent from then on.
    pub epsilon: Option<f64>,
    /// The failure probability for which that is stated.
    pub delta: f64,
    /// The batches of the calling teacher that have arrived.
    pub submitted: Option<Vec<Submitted>>,
    /// What the server committed to before anyone voted: a digest of its part of the seed.
    pub commitment: Option<String>,
    /// The digest of the calling teacher's ballot, once all of it has arrived.
    pub receipt: Option<String>,
    /// Whether the student has confirmed that the keys work.
    pub rehearsed: bool,
    /// Audits after a spoiled release, in order.
    pub audits: Vec<AuditStatus>,
}

/// How far an audit is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct AuditStatus {
    /// Its number, from 1.
    pub round: u32,
    /// Where it stands.
    #[cfg_attr(
        feature = "schema",
        schema(pattern = "^(auditing|audited|aggregating|released|failed)$")
    )]
    pub stage: String,
    /// How many samples it is about.
    pub samples: usize,
    /// The teachers who were left out, once the student has answered.
    pub accused: Option<Vec<Name>>,
    /// What it stumbled over.
    pub problem: Option<String>,
}

impl Status {
    /// The digest of the calling teacher's ballot, once all of it has arrived: what its receipt and
    /// the transcript call it.
    pub fn ballot_digest(&self) -> Option<String> {
        let mut parts: Vec<&Submitted> = self.submitted.iter().flatten().collect();
        if parts.is_empty() || parts.len() < self.batches {
            return None;
        }
        if self.receipt.is_some() {
            return self.receipt.clone();
        }
        // A server that does not know of receipts has the hashes that make it up.
        parts.sort_by_key(|part| part.batch);
        let hashes: Option<Vec<[u8; 32]>> = parts.iter().map(|part| unhex(&part.hash)).collect();
        Some(hex(&ballot_digest(hashes?.iter())))
    }
}

/// A batch of the calling teacher's ballot that has arrived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Submitted {
    /// The batch.
    pub batch: u32,
    /// The BLAKE3 hash of its bytes.
    pub hash: String,
}
