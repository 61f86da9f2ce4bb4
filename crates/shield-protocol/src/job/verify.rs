//! An auditor computes everything again: from the election, the evaluation key, the ballots and the
//! server's part of the seed follow the seed, the turnout and every byte of the results.
//!
//! What it proves: the results are what the mechanism gives for these ballots and a seed that the
//! server could not choose after it saw them (if the commitment was known before the first ballot).
//! What it does not: that no ballot was left out, which the teachers see from their receipts; and
//! that the student's answer to an audit was right, which only the secret key could show.
//!
//! Whoever holds the part of the seed knows the draws, so an auditor must not see the labels.

use std::path::Path;
use std::sync::Arc;

use shield::framing::Kind;

use super::ballot_folder::BallotFolder;
use super::checked::Progress;
use super::freeze::BoundSeed;
use super::storage::local_files;
use crate::election_file::ElectionFile;
use crate::engine::{Again, Aggregating};
use crate::error::{ProtocolError, Refused};
use crate::files::read_bounded;
use crate::hex::hex;
use crate::results::{self, Place};
use crate::seed::{Purpose, SeedPart};
use crate::transcript::{Frozen, Transcript};

/// What an auditor is given.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// The election.
    pub file: &'a ElectionFile,
    /// The student's evaluation key.
    pub evaluation_key: &'a Path,
    /// The folder of all ballots.
    pub ballots: &'a Path,
    /// The server's part of the seed.
    pub seed: &'a Path,
    /// What the student got.
    pub results: &'a Path,
    /// The commitment that the parties knew before the first ballot.
    pub commitment: Option<[u8; 32]>,
}

/// What was found to be right.
#[derive(Clone, Debug)]
pub struct Verified {
    /// What was published.
    pub transcript: Transcript,
    /// Releases that were computed again, byte by byte the same.
    pub releases: usize,
}

/// Computes everything again, and refuses what differs.
pub fn verify(
    evidence: Evidence<'_>,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Verified, ProtocolError> {
    let Evidence { file, evaluation_key, ballots, seed, results, commitment } = evidence;
    let engine = file.engine();
    let disagrees = |reason: String| ProtocolError::Disagrees { path: results.to_owned(), reason };
    let refuse = |path: &Path, problem| Refused { path: path.to_owned(), problem };

    let key = read_bounded(evaluation_key, engine.max_bytes(Kind::EvaluationKey))
        .map_err(|problem| refuse(evaluation_key, problem))?;
    let aggregating = Arc::clone(&engine)
        .aggregating(&key)
        .map_err(|error| refuse(evaluation_key, error.into()))?;
    let checked = |of| progress(Progress::Checked { of });
    let folder =
        BallotFolder::open(file, &engine, aggregating.key(), &local_files(), ballots, &checked)?;
    let frozen = Frozen {
        election: file.digest(),
        evaluation_key: *blake3::hash(&key).as_bytes(),
        ballots: folder.digests(file),
    };
    drop(key);
    let mut reader = results::open(results, file, &engine)?;
    let transcript = reader.transcript().clone();
    let differences = differences(&transcript, &frozen);
    if !differences.is_empty() {
        return Err(disagrees(format!("other ballots were counted: {}", differences.join(", "))));
    }
    let part = opened(seed, &frozen, &transcript, commitment).map_err(disagrees)?;
    let turnout = folder.turnout(file);
    if !transcript.voters().eq(turnout.voters().iter().copied()) {
        return Err(disagrees("the published turnout is not that of the ballots".to_owned()));
    }

    let again = Recomputing { file, folder: &folder, aggregating: &*aggregating, part, frozen };
    let (mut releases, of) = (0, transcript.releases(engine.batches()));
    loop {
        progress(Progress::Aggregated { done: releases, of });
        let next = reader.release().map_err(|error| refuse(results, error.into()))?;
        let Some((place, bytes)) = next else { break };
        if again.release(&transcript, place)? != bytes {
            return Err(disagrees(format!(
                "batch {} is not what these ballots and this seed give",
                place.batch
            )));
        }
        releases += 1;
    }
    Ok(Verified { transcript, releases })
}

/// What the transcript says otherwise than the ballots and the key that are there.
pub(super) fn differences(transcript: &Transcript, frozen: &Frozen) -> Vec<String> {
    let mut found = Vec::new();
    if transcript.evaluation_key != hex(&frozen.evaluation_key) {
        found.push("the evaluation key is another one".to_owned());
    }
    for (teacher, digest) in &frozen.ballots {
        match transcript.ballots.get(teacher) {
            None => found.push(format!("the ballot of `{teacher}` was not")),
            Some(known) if *known != hex(digest) => {
                found.push(format!("that of `{teacher}` was another one"));
            }
            Some(_) => {}
        }
    }
    let gone = transcript.ballots.keys().filter(|name| !frozen.ballots.contains_key(*name));
    found.extend(gone.map(|teacher| format!("the ballot of `{teacher}` is missing here")));
    found
}

/// The server's part, if it is the one that was committed to, for what is frozen.
fn opened(
    path: &Path,
    frozen: &Frozen,
    transcript: &Transcript,
    known: Option<[u8; 32]>,
) -> Result<SeedPart, String> {
    let bound = match BoundSeed::read(path) {
        Ok(Some(bound)) => bound,
        Ok(None) => return Err(format!("there is no seed at {}", path.display())),
        Err(error) => return Err(error.to_string()),
    };
    let commitment = hex(&bound.part.commitment(&frozen.election));
    if commitment != transcript.commitment {
        return Err("the server's part of the seed is not the one that it committed to".to_owned());
    }
    if known.is_some_and(|known| hex(&known) != commitment) {
        return Err("the published commitment is not the one that was given before".to_owned());
    }
    Ok(bound.part)
}

/// What it takes to compute a release again.
pub(super) struct Recomputing<'a> {
    pub(super) file: &'a ElectionFile,
    pub(super) folder: &'a BallotFolder,
    pub(super) aggregating: &'a dyn Aggregating,
    pub(super) part: SeedPart,
    pub(super) frozen: Frozen,
}

impl Recomputing<'_> {
    /// The release in a place of a transcript.
    pub(super) fn release(
        &self,
        transcript: &Transcript,
        Place { round, batch }: Place,
    ) -> Result<Vec<u8>, ProtocolError> {
        let (ballots, frozen) = (self.folder.batch(batch), self.frozen.digest());
        let Some(own) = round.checked_sub(1).and_then(|before| transcript.rounds.get(before))
        else {
            let seed = self.part.seed(Purpose::Draws, &frozen);
            return Ok(self.aggregating.aggregate(batch, &ballots, &seed)?);
        };
        let seed = self.part.seed(Purpose::Again, &transcript.answered(&frozen, round));
        let excluded = numbers(self.file, &transcript.excluded(round));
        let asked = own.asked.iter().filter(|asked| asked.batch == batch);
        let samples: Vec<usize> = asked.flat_map(|asked| asked.samples.clone()).collect();
        let again = Again { excluded: &excluded, samples: &samples };
        Ok(self.aggregating.aggregate_again(batch, &ballots, &seed, again)?)
    }
}

/// The numbers of some teachers; whoever is not in the file has none.
pub(super) fn numbers(file: &ElectionFile, names: &[&crate::Name]) -> Vec<u32> {
    names.iter().filter_map(|name| file.teacher(name.as_str())).collect()
}
