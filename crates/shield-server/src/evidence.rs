//! What makes an election checkable: the transcript for every party, and for an auditor all that
//! its results follow from.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State};
use shield_protocol::Name;
use shield_protocol::hex::{hex, unhex};
use shield_protocol::job::audit::{Answer, Question};
use shield_protocol::job::freeze::encode_part;
use shield_protocol::transcript::{Frozen, Round, Transcript, ballot_digest};

use crate::caller::Caller;
use crate::problem::Problem;
use crate::service::{Service, Setup};
use crate::store::{Object, Stage, StoredBallot, StoredKey};
use crate::turnout::{complete, turnout};

/// The digest of one teacher's ballot, if all batches are there.
fn digest_of(ballots: &[StoredBallot], teacher: u32) -> Option<[u8; 32]> {
    let own = ballots.iter().filter(|ballot| ballot.teacher == teacher);
    let hashes = own.map(|ballot| unhex(&ballot.hash)).collect::<Option<Vec<[u8; 32]>>>()?;
    Some(ballot_digest(hashes.iter()))
}

/// What the server acknowledges: the digest of a teacher's whole ballot.
pub(crate) fn receipt(ballots: &[StoredBallot], teacher: u32, batches: usize) -> Option<String> {
    let whole = ballots.iter().filter(|ballot| ballot.teacher == teacher).count() == batches;
    whole.then(|| digest_of(ballots, teacher)).flatten().map(|digest| hex(&digest))
}

/// Everything that a release follows from, besides the server's part of the seed.
pub(crate) fn frozen(
    setup: &Setup,
    key: Option<&StoredKey>,
    ballots: &[StoredBallot],
) -> Result<Frozen, Problem> {
    let damaged = || Problem::internal("a stored hash is damaged");
    let key = key.ok_or_else(|| Problem::internal("there is no evaluation key"))?;
    let mut digests = std::collections::BTreeMap::new();
    for teacher in complete(ballots, setup.engine.batches()) {
        let name = setup.file.teachers().get(teacher as usize).ok_or_else(damaged)?;
        let digest = digest_of(ballots, teacher).ok_or_else(damaged)?;
        digests.insert(name.to_string(), digest);
    }
    Ok(Frozen {
        election: setup.file.digest(),
        evaluation_key: unhex(&key.hash).ok_or_else(damaged)?,
        ballots: digests,
    })
}

impl Service {
    /// What is published with the results: from the moment that the ballots are frozen.
    pub(crate) async fn transcript(&self, setup: &Setup) -> Result<(Frozen, Transcript), Problem> {
        let name = setup.file.name();
        let stage = self.store.election(name).await?.stage;
        if !matches!(stage, Stage::Closing | Stage::Released | Stage::Failed) {
            return Err(Problem::not_found("there is no transcript before the election is closed"));
        }
        let part = self.store.seed_part(name).await?;
        let part = part.ok_or_else(|| {
            Problem::not_found("this election was closed before there were transcripts")
        })?;
        let (_, ballots) = self.store.frozen(name).await?;
        let key = self.store.key(name, "evaluation").await?;
        let frozen = frozen(setup, key.as_ref(), &ballots)?;
        let commitment = part.commitment(&frozen.election);
        let turnout = turnout(setup, &ballots, &[])?;
        let mut transcript = Transcript::new(&frozen, &commitment, turnout.voters());
        for round in self.store.rounds(name).await? {
            let Some(answer) = &round.answer else { continue };
            let damaged = |_| Problem::internal("a stored audit is damaged");
            let question: Question = serde_json::from_str(&round.question).map_err(damaged)?;
            let answer: Answer = serde_json::from_str(answer).map_err(damaged)?;
            transcript.rounds.push(Round { asked: question.asked, accused: answer.accused });
        }
        Ok((frozen, transcript))
    }
}

pub(crate) async fn transcript(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(name): Path<Name>,
) -> Result<Bytes, Problem> {
    caller.party(&name)?;
    let setup = service.setup(&name).await?;
    Ok(Bytes::from(service.transcript(&setup).await?.1.encode()))
}

/// Opens the server's part of the seed, for an auditor who does not see the labels.
pub(crate) async fn seed(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(name): Path<Name>,
) -> Result<Bytes, Problem> {
    caller.operator()?;
    let setup = service.setup(&name).await?;
    let (frozen, _) = service.transcript(&setup).await?;
    let part = service.store.seed_part(&name).await?;
    let part = part.ok_or_else(|| Problem::not_found("there is no seed yet"))?;
    tracing::warn!(election = %name, "the server's part of the seed was opened");
    Ok(Bytes::copy_from_slice(&encode_part(&frozen, &part)))
}

/// A ballot, for an auditor.
pub(crate) async fn ballot(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path((name, teacher, batch)): Path<(Name, Name, u32)>,
) -> Result<Bytes, Problem> {
    caller.operator()?;
    let setup = service.setup(&name).await?;
    let number = setup.file.teacher(teacher.as_str());
    let ballots = service.store.ballots(&name).await?;
    let found = ballots
        .into_iter()
        .find(|ballot| Some(ballot.teacher) == number && ballot.batch == batch)
        .ok_or_else(|| Problem::not_found("there is no such ballot"))?;
    service.file(name, Object::Ballot { teacher: found.teacher, batch }, found.hash).await
}
