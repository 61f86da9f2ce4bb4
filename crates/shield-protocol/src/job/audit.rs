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
//! spoiled, and one bit per teacher. A server that does not follow the protocol could put something
//! else than the checks into the audit, so that the bit says, of every teacher, whether it voted
//! for some class on some sample. So the student answers only about samples that raised an alarm,
//! once ([`answered`](super::answered)), and not at all if more than a third of the voters would be
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

use super::answered::Reading;
use super::checked::{Checked, Progress};
use super::freeze::{audit_records, seed_path, stored_part};
use super::storage::local_files;
use super::verify::{Recomputing, differences, numbers};
use crate::bundle::{BundleReader, Content};
use crate::election_file::ElectionFile;
use crate::engine::{NoAudit, RevealError};
use crate::error::{Problem, ProtocolError, Refused};
use crate::files::{Existing, check_folder_of, read_bounded, write_bundle};
use crate::hex::hex;
use crate::name::Name;
use crate::new_file::{Readers, Unnamed};
use crate::results;
use crate::reveal::{Inspected, inspect, open_secret_key};
use crate::seed::Purpose;
use crate::transcript::{AskedBatch, MOST_ROUNDS, Round, Transcript, is_sound};
use crate::turnout::VoterCounts;

/// The student's question: whose ballots spoiled these samples?
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    pub fn new(file: &ElectionFile, inspected: &Inspected) -> Result<Self, ProtocolError> {
        let engine = file.engine();
        if engine.audit_bytes().is_none() {
            return Err(ProtocolError::NoAudit(NoAudit.to_string()));
        }
        let asked = inspected.to_ask(&*engine);
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

    /// How many samples it is about.
    pub fn samples(&self) -> usize {
        self.asked.iter().map(|asked| asked.samples.len()).sum()
    }

    fn text(&self) -> String {
        toml::to_string(self).expect("strings, numbers and lists of them")
    }

    /// Refuses a question that is not about these results.
    pub fn check(&self, file: &ElectionFile, transcript: &Transcript) -> Result<(), String> {
        if self.election != hex(&file.digest()) {
            return Err("this is about another election".to_owned());
        }
        if self.results != digest(&transcript.encode()) {
            return Err("this is about other results".to_owned());
        }
        if !is_sound(&self.asked, &*file.engine()) {
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
    file: &ElectionFile,
    transcript: &Transcript,
    accused: &BTreeSet<u32>,
) -> Result<Vec<Name>, ProtocolError> {
    let name = |&number: &u32| file.teachers().get(number as usize).cloned();
    let names: Vec<Name> = accused.iter().filter_map(name).collect();
    let voters = transcript.ballots.len();
    if names.is_empty() {
        let nobody = "no ballot is at fault: the evaluation key is damaged, or the server does not \
                      follow the protocol. Hold a rehearsal (`shield rehearse`), and have an \
                      auditor run `shield verify`";
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
    file: &ElectionFile,
    secret_key: &Path,
    results: &Path,
    out: &Path,
) -> Result<Question, ProtocolError> {
    check_folder_of(out)?;
    let question = Question::new(file, &inspect(file, secret_key, results)?)?;
    write(out, &question.text(), Problem::OtherResults)?;
    Ok(question)
}

/// What the server's steps need.
#[derive(Clone, Copy, Debug)]
pub struct Server<'a> {
    /// The election.
    pub file: &'a ElectionFile,
    /// The student's evaluation key.
    pub evaluation_key: &'a Path,
    /// The folder of the ballots.
    pub ballots: &'a Path,
    /// The results so far.
    pub results: &'a Path,
    /// The server's part of the seed; beside the results if it is not named.
    pub seed: Option<&'a Path>,
}

impl Server<'_> {
    /// Everything that a release follows from, and what was published.
    fn open(
        &self,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<(Checked, Transcript), ProtocolError> {
        let checked =
            Checked::new(self.file, self.evaluation_key, &local_files(), self.ballots, progress)?;
        let reader = results::open(self.results, self.file, &self.file.engine())?;
        let transcript = reader.transcript().clone();
        let found = differences(&transcript, &checked.frozen);
        if found.is_empty() {
            return Ok((checked, transcript));
        }
        let reason = format!("these are not the results of the ballots: {}", found.join(", "));
        Err(ProtocolError::Disagrees { path: self.results.to_owned(), reason })
    }

    fn seed(&self) -> std::path::PathBuf {
        self.seed.map_or_else(|| seed_path(self.results), Path::to_owned)
    }

    /// Writes a record among the ballots, once.
    fn record(&self, name: &str, text: &str) -> Result<(), ProtocolError> {
        let path = self.ballots.join(name);
        write(&path, text, Problem::OtherRound)
    }
}

/// Server: the check of every teacher alone on the spoiled samples. Writes the audit.
pub fn check(
    server: Server<'_>,
    question: &Path,
    out: &Path,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Question, ProtocolError> {
    check_folder_of(out)?;
    let (checked, transcript) = server.open(progress)?;
    let asked: Question = read(question, server.file)?;
    let refuse = |reason| ProtocolError::Disagrees { path: question.to_owned(), reason };
    asked.check(server.file, &transcript).map_err(refuse)?;
    let part = stored_part(&checked.frozen, &server.seed())?;
    let [record, _] = audit_records(transcript.rounds.len() + 1);
    server.record(&record, &asked.text())?;
    let bound = transcript.asked(&checked.frozen.digest(), &asked.asked);
    let seed = part.seed(Purpose::Audit, &bound);
    let parts = 1 + asked.asked.len();
    write_bundle(out, Content::Audit, Existing::Replaced, server.file, parts, |part| {
        let Some(part) = part.checked_sub(1) else { return Ok(asked.text().into_bytes()) };
        let AskedBatch { batch, samples } = &asked.asked[part];
        progress(Progress::Aggregated { done: part, of: asked.asked.len() });
        let ballots = checked.folder.batch(*batch);
        Ok(checked.aggregating.audit(*batch, &ballots, &seed, samples)?)
    })?;
    Ok(asked)
}

/// Student: reads the audit, and writes the names of those whose ballots are no votes.
pub fn answer(
    file: &ElectionFile,
    secret_key: &Path,
    results: &Path,
    audit: &Path,
    out: &Path,
) -> Result<Answer, ProtocolError> {
    check_folder_of(out)?;
    let inspected = inspect(file, secret_key, results)?;
    let own = Question::new(file, &inspected)?;
    let engine = file.engine();
    let revealing = open_secret_key(&engine, secret_key)?;
    let refuse = |problem| Refused { path: audit.to_owned(), problem };
    let from = fs::File::open(audit).map_err(|error| refuse(error.into()))?;
    let mut bundle = BundleReader::audit(std::io::BufReader::new(from), &file.digest())
        .map_err(|error| refuse(error.into()))?;
    let mut part =
        |limit| bundle.part(limit).map_err(|error| ProtocolError::from(refuse(error.into())));
    let most = Transcript::max_bytes(0, file.election().samples());
    let question = part(most)?;
    // Only what raised an alarm here, and all of it: anything else would be the server's question.
    if question.is_none_or(|question| question != own.text().as_bytes()) {
        let reason =
            "the audit is about other samples than those that are spoiled here; it is not \
                      answered"
                .to_owned();
        return Err(ProtocolError::Disagrees { path: audit.to_owned(), reason });
    }
    let mut checks = Vec::new();
    let mut reading = Reading::new(own.digest());
    for _ in &own.asked {
        let bytes = part(engine.audit_bytes().unwrap_or(0))?;
        let bytes = bytes.ok_or_else(|| refuse(Problem::Damaged))?;
        reading.add(&bytes);
        checks.push(bytes);
    }
    part(0)?;
    reading.write_down(secret_key)?;
    let mut accused = BTreeSet::new();
    for (&AskedBatch { batch, .. }, bytes) in own.asked.iter().zip(&checks) {
        let found = revealing.read_audit(batch, bytes).map_err(|error| match error {
            RevealError::Release(source) => refuse(Problem::Batch { batch, source }).into(),
            RevealError::Engine(error) => ProtocolError::from(error),
        })?;
        accused.extend(found);
    }
    let accused = judge(file, &inspected.transcript, &accused)?;
    let answer = Answer { election: hex(&file.digest()), question: own.digest(), accused };
    write(out, &answer.text(), Problem::OtherResults)?;
    Ok(answer)
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
    server: Server<'_>,
    answer: &Path,
    out: &Path,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Repaired, ProtocolError> {
    check_folder_of(out)?;
    let file = server.file;
    let (checked, mut transcript) = server.open(progress)?;
    let round = transcript.rounds.len() + 1;
    let [asked, answered] = audit_records(round);
    let question: Question = read(&server.ballots.join(asked), file)?;
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
    let part = stored_part(&checked.frozen, &server.seed())?;
    let engine = file.engine();
    transcript.rounds.push(Round { asked: question.asked, accused: given.accused.clone() });
    let excluded = numbers(file, &transcript.excluded(round));
    let samples = transcript.rounds[round - 1].asked.iter().flat_map(|asked| {
        let first = engine.batch(asked.batch).start;
        asked.samples.iter().map(move |sample| first + sample)
    });
    let turnout = checked.folder.turnout_without(file, &excluded).only(samples);
    let voters = turnout.with_quorum(file.quorum()).map_err(|short| {
        let remaining = checked.folder.len().saturating_sub(excluded.len());
        let (first, voters) = (short.first + 1, short.voters);
        ProtocolError::Quorum {
            voted: remaining,
            teachers: file.teachers().len(),
            short: short.samples,
            samples: turnout.voters().len(),
            quorum: file.quorum(),
            first,
            voters,
            missing: checked.missing.clone(),
        }
    })?;
    server.record(&answered, &given.text())?;
    // The part of the seed goes with the results, so that the next step finds it there.
    let stored = read_bounded(&server.seed(), 1 << 10)
        .map_err(|problem| Refused { path: server.seed(), problem })?;
    super::freeze::write_once(&seed_path(out), Readers::Owner, &zeroize::Zeroizing::new(stored))?;
    let Checked { frozen, folder, aggregating, .. } = checked;
    let work = Recomputing { file, folder: &folder, aggregating: &*aggregating, part, frozen };
    let mut before = results::open(server.results, file, &engine)?;
    let mut done = 0;
    let of = transcript.rounds[round - 1].asked.len();
    results::write(out, Existing::Compared, file, &transcript, |place| {
        if place.round < round {
            let next = before.release().map_err(|error| Refused {
                path: server.results.to_owned(),
                problem: error.into(),
            })?;
            let damaged = Refused { path: server.results.to_owned(), problem: Problem::Damaged };
            return Ok(next.ok_or(damaged)?.1);
        }
        progress(Progress::Aggregated { done, of });
        done += 1;
        work.release(&transcript, place)
    })?;
    transcript.publish(out)?;
    Ok(Repaired { accused: given.accused, voters })
}

fn read<T: for<'a> Deserialize<'a>>(path: &Path, file: &ElectionFile) -> Result<T, Refused> {
    let refuse = |problem| Refused { path: path.to_owned(), problem };
    let most = Transcript::max_bytes(file.teachers().len(), file.election().samples());
    let bytes = read_bounded(path, most).map_err(refuse)?;
    let text = String::from_utf8(bytes).ok();
    text.and_then(|text| toml::from_str(&text).ok()).ok_or_else(|| refuse(Problem::Damaged))
}

/// Writes a file, unless it is there with the same bytes.
fn write(path: &Path, text: &str, otherwise: Problem) -> Result<(), ProtocolError> {
    let written = Unnamed::write(path, Readers::Everyone, text.as_bytes());
    match written.and_then(|file| file.name_or_find(path)) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            Err(Refused { path: path.to_owned(), problem: otherwise }.into())
        }
        named => named.map_err(|source| ProtocolError::Write { path: path.to_owned(), source }),
    }
}
