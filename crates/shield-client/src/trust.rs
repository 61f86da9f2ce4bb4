//! What makes an election one that can be trusted: rehearsals, audits, receipts and evidence.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::json;
use shield::framing::Kind;
use shield_protocol::bundle::{BundleWriter, Content};
use shield_protocol::engine::Revealing;
use shield_protocol::job::answered::Reading;
use shield_protocol::job::audit::{Answer, Question, judge};
use shield_protocol::messages::{AuditStatus, Status};
use shield_protocol::new_file::{Readers, Unnamed};
use shield_protocol::{Name, ProtocolError, inspect, rehearsal};
use zeroize::Zeroizing;

use crate::http::{Client, ClientError};
use crate::requests::{
    election_file, fetch_election, fetch_results, local, name, status, transcript, write,
};

/// How often an audit that is under way is looked at.
const PAUSE: Duration = Duration::from_millis(300);

impl From<ProtocolError> for ClientError {
    fn from(error: ProtocolError) -> Self {
        match error {
            ProtocolError::Write { path, source } => Self::Write { path, source },
            bad if bad.is_bad_input() => Self::Local(bad.to_string()),
            failed => Self::Failed(failed.to_string()),
        }
    }
}

/// Student: holds a rehearsal, and gives how many labels were right. Until then nobody can vote.
pub fn rehearse(client: &Client, election: &Name, secret_key: &Path) -> Result<usize, ClientError> {
    let file = election_file(client, election)?;
    let address = format!("/v1/elections/{election}/rehearsal");
    let limit = file.engine().max_bytes(Kind::Release) as u64;
    let release = client.get_bytes(&address, limit)?;
    let labels = rehearsal::labels(&file, secret_key, &release)?;
    let confirmed: serde_json::Value = client.post(&address, &json!({ "labels": labels }))?;
    let right = confirmed["labels"].as_u64().and_then(|labels| usize::try_from(labels).ok());
    Ok(right.unwrap_or(labels.len()))
}

/// What came of an audit.
#[derive(Clone, Debug)]
pub struct Audited {
    /// The teachers whose ballots are no votes.
    pub accused: Vec<Name>,
    /// How many samples were aggregated again without them.
    pub samples: usize,
}

/// Student: asks whose ballots spoiled samples, reads the answer out of the audit, tells the
/// server, and waits until those samples have been aggregated again. The results are then to be
/// fetched anew.
pub fn audit(
    client: &Client,
    election: &Name,
    secret_key: &Path,
    results: &Path,
    mut progress: impl FnMut(&str),
) -> Result<Audited, ClientError> {
    let file = election_file(client, election)?;
    let inspected = inspect(&file, secret_key, results)?;
    let question = Question::new(&file, &inspected)?;
    let document = |value: serde_json::Result<serde_json::Value>| {
        value.map_err(|error| ClientError::Local(error.to_string()))
    };
    let address = format!("/v1/elections/{election}/audits");
    let asked = document(serde_json::to_value(&question))?;
    let asked: AuditStatus = client.post(&address, &asked)?;
    let round = asked.round;
    wait(client, election, round, &["audited", "aggregating", "released"], &mut progress)?;
    let engine = file.engine();
    let secret = fs::read(secret_key).map_err(|error| local(secret_key, error))?;
    let secret = Zeroizing::new(secret);
    let revealing: Box<dyn Revealing> =
        std::sync::Arc::clone(&engine).revealing(&secret).map_err(|e| local(secret_key, e))?;
    let mut reading = Reading::new(question.digest());
    let mut checks = Vec::new();
    for asked in &question.asked {
        let batch = asked.batch;
        let limit = engine.audit_bytes().unwrap_or(0) as u64;
        let bytes = client.get_bytes(&format!("{address}/{round}/checks/{batch}"), limit)?;
        reading.add(&bytes);
        checks.push((batch, bytes));
    }
    reading.write_down(secret_key)?;
    let mut accused = BTreeSet::new();
    for (batch, bytes) in checks {
        let found = revealing.read_audit(batch, &bytes).map_err(|error| ClientError::Strange {
            server: client.server().to_owned(),
            reason: error.to_string(),
        })?;
        accused.extend(found);
    }
    let accused = judge(&file, &inspected.transcript, &accused)?;
    let answer = Answer {
        election: question.election.clone(),
        question: question.digest(),
        accused: accused.clone(),
    };
    let answer = document(serde_json::to_value(&answer))?;
    let _: AuditStatus = client.post(&format!("{address}/{round}/answer"), &answer)?;
    wait(client, election, round, &["released"], &mut progress)?;
    Ok(Audited { accused, samples: question.samples() })
}

/// Waits until an audit has come so far.
fn wait(
    client: &Client,
    election: &Name,
    round: u32,
    stages: &[&str],
    progress: &mut impl FnMut(&str),
) -> Result<(), ClientError> {
    loop {
        let status: Status = status(client, election)?;
        let audit = status.audits.into_iter().find(|audit| audit.round == round);
        let strange =
            |reason: String| ClientError::Strange { server: client.server().to_owned(), reason };
        let audit = audit.ok_or_else(|| strange("the audit is gone".to_owned()))?;
        if stages.contains(&audit.stage.as_str()) {
            return Ok(());
        }
        if audit.stage == "failed" {
            let problem = audit.problem.unwrap_or_else(|| "no reason given".to_owned());
            return Err(ClientError::Failed(format!("the audit failed: {problem}")));
        }
        progress(&audit.stage);
        std::thread::sleep(PAUSE);
    }
}

/// Operator: fetches everything that an auditor needs into a folder: election file, evaluation key,
/// ballots, results, and the server's part of the seed. Whoever has these must not see the labels.
pub fn fetch_evidence(client: &Client, election: &Name, out: &Path) -> Result<(), ClientError> {
    let unwritten = |path: &Path, source| ClientError::Write { path: path.to_owned(), source };
    let ballots = out.join("ballots");
    shield_protocol::private::make_folder(&ballots).map_err(|error| unwritten(&ballots, error))?;
    fetch_election(client, election, &out.join("election.toml"))?;
    let file = election_file(client, election)?;
    let engine = file.engine();
    let base = format!("/v1/elections/{election}");
    let limit = engine.max_bytes(Kind::EvaluationKey) as u64;
    let key = client.get_bytes(&format!("{base}/keys/evaluation"), limit)?;
    write(&out.join("evaluation.key"), &key)?;
    let seed = Zeroizing::new(client.get_bytes(&format!("{base}/seed"), 1 << 10)?);
    let path = out.join("seed");
    name(Unnamed::write(&path, Readers::Owner, &seed), &path)?;
    let transcript = transcript(client, &file)?;
    let limit = engine.max_bytes(Kind::Ballot) as u64;
    for teacher in transcript.ballots.keys() {
        let Some(number) = file.teacher(teacher) else { continue };
        let path = ballots.join(format!("{teacher}.ballot"));
        let parts = (0..engine.batches())
            .map(|batch| client.get_bytes(&format!("{base}/ballots/{teacher}/{batch}"), limit))
            .collect::<Result<Vec<_>, _>>()?;
        let written = Unnamed::fill(&path, Readers::Owner, |to| {
            let count = u32::try_from(parts.len()).map_err(std::io::Error::other)?;
            let other = std::io::Error::other;
            let content = Content::Ballot { teacher: number };
            let mut bundle =
                BundleWriter::new(to, content, &file.digest(), count).map_err(other)?;
            parts.iter().try_for_each(|part| bundle.part(part).map_err(other))
        });
        name(written, &path)?;
    }
    fetch_results(client, election, &out.join("results.bin"), |_, _| {})
}

/// Operator: changes what a group may spend, with a reason that stays in the ledger.
pub fn change_budget(
    client: &Client,
    group: &Name,
    epsilon: f64,
    delta: Option<f64>,
    reason: &str,
) -> Result<serde_json::Value, ClientError> {
    let wanted = json!({ "epsilon": epsilon, "delta": delta, "reason": reason });
    client.post(&format!("/v1/groups/{group}/budget"), &wanted)
}
