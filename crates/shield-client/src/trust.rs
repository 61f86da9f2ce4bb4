//! What makes an election one that can be trusted: rehearsals, audits, receipts and evidence.

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use shield_core::Watch;
use shield_core::framing::Kind;
use shield_protocol::bundle::{BundleWriter, Content};
use shield_protocol::job::audit::Question;
use shield_protocol::messages::{AuditStatus, Status};
use shield_protocol::new_file::{Readers, Unnamed};
use shield_protocol::rehearsal::{self, Rehearsed};
use shield_protocol::{KeyFiles, Name, PlannedElection, ProtocolError, inspect};
use zeroize::Zeroizing;

use crate::http::{Client, ClientError};
use crate::requests::{election_file, fetch_results, name, status, transcript, write};

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
///
/// The keys are the student's own files, and nothing that the server sends is decrypted.
pub fn rehearse(client: &Client, election: &Name, keys: &KeyFiles) -> Result<usize, ClientError> {
    let file = election_file(client, election)?;
    let (labels, rehearsed) = rehearsal::rehearse(&file, keys)?;
    let address = format!("/v1/elections/{election}/rehearsal");
    let _: Rehearsed = client.post(&address, &json!(rehearsed))?;
    Ok(labels)
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
) -> Result<Audited, ClientError> {
    let file = election_file(client, election)?;
    let inspected = inspect(&file, secret_key, results)?;
    let question = Question::new(&file, &inspected)?;
    question.ask_once(secret_key)?;
    let address = format!("/v1/elections/{election}/audits");
    let asked: AuditStatus = client.post(&address, &question)?;
    let round = asked.round;
    wait(client, election, round, &["audited", "aggregating", "released"])?;
    let limit = file.engine().audit_bytes().unwrap_or(0) as u64;
    let batches = question.asked.iter().map(|asked| asked.batch);
    let checks = batches
        .map(|batch| client.get_bytes(&format!("{address}/{round}/checks/{batch}"), limit))
        .collect::<Result<Vec<_>, _>>()?;
    let from = Path::new(client.server());
    let answer = question.answer(&file, secret_key, &inspected, &checks, from);
    let answer = answer.map_err(|error| match error {
        ProtocolError::Refused(sent) if sent.path == from => ClientError::Strange {
            server: client.server().to_owned(),
            reason: sent.problem.to_string(),
        },
        other => other.into(),
    })?;
    let _: AuditStatus = client.post(&format!("{address}/{round}/answer"), &answer)?;
    wait(client, election, round, &["released"])?;
    Ok(Audited { accused: answer.accused, samples: question.samples() })
}

/// Waits until an audit has come so far.
fn wait(client: &Client, election: &Name, round: u32, stages: &[&str]) -> Result<(), ClientError> {
    loop {
        let status: Status = status(client, election)?;
        let audit = status.audits.into_iter().find(|audit| audit.round == round);
        let audit = audit.ok_or_else(|| client.strange("the audit is gone"))?;
        if stages.contains(&audit.stage.as_str()) {
            return Ok(());
        }
        if audit.stage == "failed" {
            let problem = audit.problem.unwrap_or_else(|| "no reason given".to_owned());
            return Err(ClientError::Failed(format!("the audit failed: {problem}")));
        }
        std::thread::sleep(PAUSE);
    }
}

/// Operator: fetches everything that an auditor needs into a folder: election file, evaluation key,
/// ballots, results, and the server's part of the seed. Whoever has these must not see the labels.
pub fn fetch_evidence(
    client: &Client,
    file: &PlannedElection,
    out: &Path,
) -> Result<(), ClientError> {
    let unwritten = |path: &Path, source| ClientError::Write { path: path.to_owned(), source };
    let ballots = out.join("ballots");
    shield_protocol::private::make_folder(&ballots).map_err(|error| unwritten(&ballots, error))?;
    write(&out.join("election.toml"), file.canonical().as_bytes())?;
    let engine = file.engine();
    let base = format!("/v1/elections/{}", file.name());
    let limit = engine.max_bytes(Kind::EvaluationKey) as u64;
    let key = client.get_bytes(&format!("{base}/keys/evaluation"), limit)?;
    write(&out.join("evaluation.key"), &key)?;
    let seed = Zeroizing::new(client.get_bytes(&format!("{base}/seed"), 1 << 10)?);
    let path = out.join("seed");
    name(Unnamed::write(&path, Readers::Owner, &seed), &path)?;
    let transcript = transcript(client, file)?;
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
    fetch_results(client, file, &out.join("results.bin"), &Watch::default())
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
