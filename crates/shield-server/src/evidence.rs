//! What makes an election checkable: the transcript for every party, and for an auditor all that
//! its results follow from.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::Response;
use shield_protocol::hex::{hex, unhex};
use shield_protocol::job::audit::{Answer, Question};
use shield_protocol::job::freeze::encode_part;
use shield_protocol::transcript::{Frozen, Round, Transcript, ballot_digest};
use shield_protocol::{Job, Name, PlannedElection};

use crate::caller::Caller;
use crate::problem::Problem;
use crate::service::Service;
use crate::store::{Object, Roll, StoredBallot, StoredKey};

/// What the server acknowledges: the digest of a teacher's whole ballot.
pub(crate) fn receipt(own: &[StoredBallot], batches: usize) -> Option<String> {
    if own.len() != batches {
        return None;
    }
    let hashes = own.iter().map(|ballot| unhex(&ballot.hash));
    let hashes = hashes.collect::<Option<Vec<[u8; 32]>>>()?;
    Some(hex(&ballot_digest(hashes.iter())))
}

/// Everything that a release follows from, besides the server's part of the seed.
pub(crate) fn frozen(
    file: &PlannedElection,
    key: Option<&StoredKey>,
    roll: &Roll,
) -> Result<Frozen, Problem> {
    let damaged = || Problem::internal("a stored hash is damaged");
    let key = key.ok_or_else(|| Problem::internal("there is no evaluation key"))?;
    let mut digests = std::collections::BTreeMap::new();
    for (&teacher, digest) in &roll.voters {
        let name = file.teachers().get(teacher as usize).ok_or_else(damaged)?;
        digests.insert(name.to_string(), *digest);
    }
    Ok(Frozen {
        election: file.digest(),
        evaluation_key: unhex(&key.hash).ok_or_else(damaged)?,
        ballots: digests,
    })
}

impl Service {
    /// What is published with the results: from the moment that the ballots are frozen.
    pub(crate) async fn transcript(
        &self,
        file: &PlannedElection,
    ) -> Result<(Arc<Job>, Transcript), Problem> {
        let name = file.name();
        let job = self.job(file).await?;
        let mut transcript = job.transcript().clone();
        for round in self.store.rounds(name).await? {
            let Some(answer) = &round.answer else { continue };
            let damaged = |_| Problem::internal("a stored audit is damaged");
            let question: Question = serde_json::from_str(&round.question).map_err(damaged)?;
            let answer: Answer = serde_json::from_str(answer).map_err(damaged)?;
            transcript.rounds.push(Round { asked: question.asked, accused: answer.accused });
        }
        Ok((job, transcript))
    }
}

pub(crate) async fn transcript(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(name): Path<Name>,
) -> Result<Bytes, Problem> {
    caller.party(&name)?;
    let file = service.planned(&name).await?;
    Ok(Bytes::from(service.transcript(&file).await?.1.encode()))
}

/// Opens the server's part of the seed, for an auditor who does not see the labels.
pub(crate) async fn seed(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(name): Path<Name>,
) -> Result<Bytes, Problem> {
    caller.operator()?;
    let file = service.planned(&name).await?;
    let job = service.job(&file).await?;
    let part = service.store.seed_part(&name).await?;
    let part = part.ok_or_else(|| Problem::not_found("there is no seed yet"))?;
    tracing::warn!(election = %name, "the server's part of the seed was opened");
    service.log(&caller, "seed opened", Some(&name), "").await?;
    Ok(Bytes::copy_from_slice(&encode_part(job.frozen(), &part)))
}

/// A ballot, for an auditor.
pub(crate) async fn ballot(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path((name, teacher, batch)): Path<(Name, Name, u32)>,
) -> Result<Response, Problem> {
    caller.operator()?;
    let file = service.planned(&name).await?;
    let missing = || Problem::not_found("there is no such ballot");
    let number = file.teacher(teacher.as_str()).ok_or_else(missing)?;
    let hash = service.store.ballot_hash(&name, number, batch).await?.ok_or_else(missing)?;
    // One line for an auditor who fetches them all.
    if batch == 0 {
        service.log(&caller, "ballot fetched", Some(&name), teacher.as_str()).await?;
    }
    service.send(&caller, name, Object::Ballot { teacher: number, batch }, hash).await
}
