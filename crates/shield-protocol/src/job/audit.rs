//! An audit over files: whose ballot is no vote, and the spoiled samples once more without it.
//!
//! | step | party | takes | makes |
//! |---|---|---|---|
//! | [`ask`] | student | the secret key, results with alarms | which samples were spoiled |
//! | [`check`] | server | that, the ballots | the check of every teacher alone, encrypted |
//! | [`answer`] | student | that, the secret key | the names of the teachers |
//! | [`again`] | server | that, the ballots | results with those samples, without those teachers |
//!
//! # What each learns
//!
//! The student learns who cheated on which of the samples. The server learns which samples were
//! spoiled, and one bit per teacher. A server that does not follow the protocol could make up
//! results, so that a sample is spoiled if some teacher voted for some class on it, and put
//! something else than the checks into the audit, so that the bit says the like of every teacher.
//! So the student asks few questions and answers each once ([`answered`]), only
//! about samples that raised an alarm, and not at all if more than a third of the voters would be
//! accused: then the server is more likely to cheat than they are.
//!
//! # Once
//!
//! What was asked and what was answered are written down among the ballots before anything is
//! computed, and every seed follows from them. The same again gives the same bytes; another
//! question or another answer in its place is refused.
//!
//! # What it costs
//!
//! The checks themselves cost honest teachers nothing: the check of a ballot that is a vote is zero
//! whatever the vote, so what the student reads, and what it answers, follow from the other ballots
//! alone. What flooding leaves of the ciphertexts is a distance, which the ledger sets aside for as
//! many audits as there may be.
//!
//! The server cannot see whether a sample was spoiled: it has the student's word. A student who
//! lies would get a second draw of a sample whose label it has. So a sample that is aggregated
//! again is paid for again, like a new one.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use shield_core::Watch;
use shield_core::labelling::side_by_side;
use zeroize::Zeroizing;

use super::answered::{self, Reading};
use super::freeze::{audit_records, seed_path, stored_part, write_once};
use super::inputs::Inputs;
use super::releases::{excluded, turnout_again};
use super::verify::Released;
use crate::bundle::{BundleReader, Content};
use crate::election_file::PlannedElection;
use crate::engine::{NoAudit, RevealError};
use crate::error::{Problem, ProtocolError, Refused};
use crate::files::{
    Existing, check_folder_of, read_bounded, read_toml, write_bundle, write_or_find,
};
use crate::hex::hex;
use crate::name::Name;
use crate::new_file::Readers;
use crate::results::{self, Place};
use crate::reveal::{Inspected, inspect, open_secret_key};
use crate::transcript::{AskedBatch, MOST_ROUNDS, Round, Transcript, is_sound};
use crate::turnout::VoterCounts;

/// The student's question: whose ballots spoiled these samples?
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The election file's digest.
    pub election: String,
    /// A digest of the transcript of the results.
    pub results: String,
    /// The samples.
    pub asked: Vec<AskedBatch>,
}

/// The student's answer: these teachers' ballots.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The election file's digest.
    pub election: String,
    /// A digest of the question.
    pub question: String,
    /// The teachers.
    pub accused: Vec<Name>,
}

impl Question {
    /// The question about all samples of some results that showed nothing.
    pub fn new(file: &PlannedElection, inspected: &Inspected) -> Result<Self, ProtocolError> {
        let engine = file.engine();
        if engine.audit_bytes().is_none() {
            return Err(ProtocolError::NoAudit(NoAudit.to_string()));
        }
        let asked = inspected.to_ask(file);
        if asked.is_empty() {
            let none = "no sample is spoiled in a way that an audit explains; there is nothing to \
                        ask";
            return Err(ProtocolError::NoAudit(none.to_owned()));
        }
        let results = digest(&inspected.transcript.encode());
        Ok(Self { election: hex(&file.digest()), results, asked })
    }

    /// A digest of it.
    pub fn digest(&self) -> String {
        digest(self.text().as_bytes())
    }

    /// Student: writes down beside the secret key that it is asked. Fails if too many others were.
    pub fn ask_once(&self, secret_key: &Path) -> Result<(), ProtocolError> {
        answered::ask_once(&self.digest(), secret_key)
    }

    /// How many samples it is about.
    pub fn samples(&self) -> usize {
        self.asked.iter().map(|asked| asked.samples.len()).sum()
    }

    fn text(&self) -> String {
        toml::to_string(self).expect("strings, numbers and lists of them")
    }

    /// Refuses a question that is not about these results.
    pub fn check(&self, file: &PlannedElection, transcript: &Transcript) -> Result<(), String> {
        if self.election != hex(&file.digest()) {
            return Err("this is about another election".to_owned());
        }
        if self.results != digest(&transcript.encode()) {
            return Err("this is about other results".to_owned());
        }
        if !is_sound(&self.asked, file) {
            return Err("this is about samples that the election does not have".to_owned());
        }
        if transcript.rounds.len() >= MOST_ROUNDS {
            return Err(format!("there have been {MOST_ROUNDS} audits; hold a new election"));
        }
        Ok(())
    }
}

impl Answer {
    fn text(&self) -> String {
        toml::to_string(self).expect("strings and a list of them")
    }
}

fn digest(bytes: &[u8]) -> String {
    hex(&blake3::derive_key("shield 2026 message of an audit v1", bytes))
}

/// The accused, unless there are so many that the server is more likely to cheat.
pub fn judge(
    file: &PlannedElection,
    transcript: &Transcript,
    accused: &BTreeSet<u32>,
) -> Result<Vec<Name>, ProtocolError> {
    let name = |&number: &u32| file.teachers().get(number as usize).cloned();
    let names: Vec<Name> = accused.iter().filter_map(name).collect();
    let voters = transcript.ballots.len();
    if names.is_empty() {
        let nobody = "no ballot is at fault: the evaluation key is damaged, or the server does not \
                      follow the protocol. Hold a rehearsal (`shield election rehearse`), and \
                      have an auditor run `shield verify`";
        return Err(ProtocolError::NoAudit(nobody.to_owned()));
    }
    if 3 * names.len() > voters {
        return Err(ProtocolError::NoAudit(format!(
            "the audit accuses {} of {voters} voters. A server that does not follow the protocol \
             could read votes out of such an answer, so it is not given; have an auditor run \
             `shield verify`",
            names.len()
        )));
    }
    Ok(names)
}

/// Student: which samples were spoiled. Writes the question for the server.
pub fn ask(
    file: &PlannedElection,
    secret_key: &Path,
    results: &Path,
    out: &Path,
) -> Result<Question, ProtocolError> {
    check_folder_of(out)?;
    let question = Question::new(file, &inspect(file, secret_key, results)?)?;
    question.ask_once(secret_key)?;
    write(out, &question.text(), Problem::OtherResults)?;
    Ok(question)
}

/// Server: the check of every teacher alone on the spoiled samples. Writes the audit.
pub fn check(
    inputs: &Inputs<'_>,
    released: &Released,
    question: &Path,
    out: &Path,
    watch: &Watch,
) -> Result<Question, ProtocolError> {
    check_folder_of(out)?;
    let file = inputs.file;
    let (checked, _) = inputs.open_once(watch)?;
    let (_, transcript) = released.open(&checked)?;
    let asked: Question = read(question, file)?;
    let refuse = |reason| ProtocolError::Disagrees { path: question.to_owned(), reason };
    asked.check(file, &transcript).map_err(refuse)?;
    let part = stored_part(&checked.frozen, &released.seed)?;
    let releases = checked.with(part);
    let [record, _] = audit_records(transcript.rounds.len() + 1);
    write(&inputs.ballots.join(record), &asked.text(), Problem::OtherRound)?;
    watch.begin("computing", asked.asked.len() as u64);
    let batches = &asked.asked;
    let mut checks = side_by_side(batches, |batch| releases.checks(&transcript, batches, batch))
        .inspect(|_| watch.add(1));
    let text = || Ok(asked.text().into_bytes());
    write_bundle(out, Content::Audit, Existing::Replaced, file, 1 + batches.len(), |part| {
        if part == 0 { text() } else { checks.next().unwrap_or_else(text) }
    })?;
    drop(checks);
    Ok(asked)
}

/// Student: reads the audit, and writes the names of those whose ballots are no votes.
pub fn answer(
    file: &PlannedElection,
    secret_key: &Path,
    results: &Path,
    audit: &Path,
    out: &Path,
) -> Result<Answer, ProtocolError> {
    check_folder_of(out)?;
    let inspected = inspect(file, secret_key, results)?;
    let own = Question::new(file, &inspected)?;
    let damaged = |error| Refused::new(audit, Problem::Bundle(error));
    let from = fs::File::open(audit).map_err(|error| Refused::new(audit, error))?;
    let from = std::io::BufReader::new(from);
    let mut bundle = BundleReader::audit(from, &file.digest()).map_err(damaged)?;
    let most = Transcript::max_bytes(0, file.election().samples());
    // Only what raised an alarm here, and all of it: anything else would be the server's question.
    if bundle.part(most).map_err(damaged)?.is_none_or(|asked| asked != own.text().as_bytes()) {
        let reason = "the audit is about other samples than those that are spoiled here; it is \
                      not answered";
        return Err(ProtocolError::Disagrees { path: audit.to_owned(), reason: reason.to_owned() });
    }
    let limit = file.engine().audit_bytes().unwrap_or(0);
    let mut checks = Vec::new();
    for _ in &own.asked {
        checks.extend(bundle.part(limit).map_err(damaged)?);
    }
    bundle.part(0).map_err(damaged)?;
    let answer = own.answer(file, secret_key, &inspected, &checks, audit)?;
    write(out, &answer.text(), Problem::OtherResults)?;
    Ok(answer)
}

impl Question {
    /// Student: the answer, read out of the checks of every batch, in order. It is written down
    /// beside the secret key first: see [`answered`]. `from` is what errors call
    /// the audit.
    pub fn answer(
        &self,
        file: &PlannedElection,
        secret_key: &Path,
        inspected: &Inspected,
        checks: &[Vec<u8>],
        from: &Path,
    ) -> Result<Answer, ProtocolError> {
        if checks.len() != self.asked.len() {
            return Err(Refused::new(from, Problem::Damaged).into());
        }
        let revealing = open_secret_key(file, secret_key)?;
        let mut reading = Reading::new(self.digest());
        for bytes in checks {
            reading.add(bytes);
        }
        reading.write_down(secret_key)?;
        let mut accused = BTreeSet::new();
        for (&AskedBatch { batch, .. }, bytes) in self.asked.iter().zip(checks) {
            let found = revealing.read_audit(batch, bytes).map_err(|error| match error {
                RevealError::Release(source) => {
                    Refused::new(from, Problem::Batch { batch, source }).into()
                }
                RevealError::Engine(error) => ProtocolError::from(error),
            })?;
            accused.extend(found);
        }
        let accused = judge(file, &inspected.transcript, &accused)?;
        Ok(Answer { election: self.election.clone(), question: self.digest(), accused })
    }
}

/// What was aggregated again.
#[derive(Clone, Debug)]
pub struct Repaired {
    /// Who was left out.
    pub accused: Vec<Name>,
    /// How many of the samples have how many voters.
    pub voters: VoterCounts,
}

/// Server: aggregates the spoiled samples again, without the accused. Writes all results so far.
pub fn again(
    inputs: &Inputs<'_>,
    released: &Released,
    answer: &Path,
    out: &Path,
    watch: &Watch,
) -> Result<Repaired, ProtocolError> {
    check_folder_of(out)?;
    let file = inputs.file;
    let (checked, _) = inputs.open_once(watch)?;
    let (mut before, mut transcript) = released.open(&checked)?;
    let round = transcript.rounds.len() + 1;
    let [asked, answered] = audit_records(round).map(|name| inputs.ballots.join(name));
    let question: Question = read(&asked, file)?;
    let given: Answer = read(answer, file)?;
    let refuse = |reason: &str| ProtocolError::Disagrees {
        path: answer.to_owned(),
        reason: reason.to_owned(),
    };
    if given.election != hex(&file.digest()) || given.question != question.digest() {
        return Err(refuse("this is the answer to another audit"));
    }
    if given.accused.is_empty() || given.accused.iter().any(|a| file.teacher(a.as_str()).is_none())
    {
        return Err(refuse("it accuses nobody, or somebody who is no teacher"));
    }
    let part = stored_part(&checked.frozen, &released.seed)?;
    transcript.rounds.push(Round { asked: question.asked, accused: given.accused.clone() });
    let turnout = turnout_again(&checked.ballots, &transcript, round);
    let voters = checked.ballots.quorum(&turnout, &excluded(file, &transcript, round))?;
    write(&answered, &given.text(), Problem::OtherRound)?;
    // The part of the seed goes with the results, so that the next step finds it there.
    let stored = read_bounded(&released.seed, 1 << 10)
        .map_err(|problem| Refused::new(&released.seed, problem))?;
    write_once(&seed_path(out), Readers::Owner, &Zeroizing::new(stored))?;
    let releases = checked.with(part);
    let asked = &transcript.rounds[round - 1].asked;
    watch.begin("aggregating", asked.len() as u64);
    let earlier = std::iter::from_fn(|| match before.release() {
        Ok(release) => release.map(|(_, bytes)| Ok(bytes)),
        Err(error) => Some(Err(Refused::new(&released.results, error).into())),
    });
    let made = side_by_side(asked, |asked| {
        releases.release(&transcript, Place { round, batch: asked.batch })
    });
    let all = earlier.chain(made.inspect(|_| watch.add(1)));
    results::write(out, Existing::Compared, file, &transcript, all)?;
    Ok(Repaired { accused: given.accused, voters })
}

fn read<T: for<'a> Deserialize<'a>>(path: &Path, file: &PlannedElection) -> Result<T, Refused> {
    read_toml(path, Transcript::max_bytes(file.teachers().len(), file.election().samples()))
}

/// Writes a file, unless it is there with the same bytes.
fn write(path: &Path, text: &str, otherwise: Problem) -> Result<(), ProtocolError> {
    write_or_find(path, Readers::Everyone, text.as_bytes(), otherwise)
}
