//! An auditor computes everything again: from the election, the evaluation key, the ballots and the
//! server's part of the seed follow the seed, the turnout and every byte of the results.
//!
//! What it proves: the results are what the mechanism gives for these ballots and a seed that the
//! server could not choose after it saw them (if the commitment was known before the first ballot).
//! What it does not: that no ballot was left out, which the teachers see from their receipts; and
//! that the student's answer to an audit was right, which only the secret key could show.
//!
//! Whoever holds the part of the seed knows the draws, so an auditor must not see the labels.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use shield_core::Watch;
use shield_core::labelling::side_by_side;

use super::freeze::{BoundSeed, seed_path};
use super::inputs::{Checked, Inputs};
use super::releases::Releases;
use crate::error::{ProtocolError, Refused};
use crate::hex::hex;
use crate::results::{self, ResultsReader, places};
use crate::seed::SeedPart;
use crate::transcript::{Frozen, Transcript};

/// Results that were published, and the server's part of their seed.
#[derive(Clone, Debug)]
pub struct Released {
    /// What the student got.
    pub results: PathBuf,
    /// The server's part of the seed.
    pub seed: PathBuf,
}

impl Released {
    /// Results with their seed beside them, unless it is somewhere else.
    pub fn new(results: &Path, seed: Option<&Path>) -> Self {
        let seed = seed.map_or_else(|| seed_path(results), Path::to_owned);
        Self { results: results.to_owned(), seed }
    }

    /// Opens the results, which must be those of a key and ballots.
    pub(super) fn open(
        &self,
        checked: &Checked,
    ) -> Result<(ResultsReader<BufReader<File>>, Transcript), ProtocolError> {
        let reader = results::open(&self.results, &checked.ballots.file)?;
        let transcript = reader.transcript().clone();
        let found = checked.frozen.differences(&transcript.evaluation_key, &transcript.ballots);
        if found.is_empty() {
            return Ok((reader, transcript));
        }
        let reason = format!("these are not the results of the ballots: {}", found.join(", "));
        Err(self.disagrees(reason))
    }

    pub(super) fn disagrees(&self, reason: impl Into<String>) -> ProtocolError {
        ProtocolError::Disagrees { path: self.results.clone(), reason: reason.into() }
    }
}

/// What was found to be right.
#[derive(Clone, Debug)]
pub struct Verified {
    /// What was published.
    pub transcript: Transcript,
    /// Releases that were computed again, byte by byte the same.
    pub releases: usize,
}

/// Computes everything again, and refuses what differs. `commitment` is the one that the parties
/// knew before the first ballot.
pub fn verify(
    inputs: &Inputs<'_>,
    released: &Released,
    commitment: Option<[u8; 32]>,
    watch: &Watch,
) -> Result<Verified, ProtocolError> {
    let checked = inputs.open(watch)?;
    let (reader, transcript) = released.open(&checked)?;
    let part = opened(&released.seed, &checked.frozen, &transcript, commitment);
    let releases = checked.with(part.map_err(|reason| released.disagrees(reason))?);
    let batches = inputs.file.batches();
    let releases = same_bytes(released, &releases, reader, &transcript, batches, watch)?;
    Ok(Verified { transcript, releases })
}

/// Computes every release again, and refuses what differs. Gives how many there are.
pub(super) fn same_bytes(
    released: &Released,
    releases: &Releases,
    mut reader: ResultsReader<BufReader<File>>,
    transcript: &Transcript,
    batches: usize,
    watch: &Watch,
) -> Result<usize, ProtocolError> {
    if !transcript.voters().eq(releases.transcript().voters()) {
        return Err(released.disagrees("the published turnout is not that of the ballots"));
    }
    let places = places(transcript, batches);
    watch.begin("computing again", places.len() as u64);
    let next = |reader: &mut ResultsReader<_>| {
        reader.release().map_err(|error| Refused::new(&released.results, error))
    };
    let again = side_by_side(&places, |&place| releases.release(transcript, place));
    for (place, again) in places.iter().zip(again) {
        if next(&mut reader)? != Some((*place, again?)) {
            let batch = place.batch;
            let reason = format!("batch {batch} is not what these ballots and this seed give");
            return Err(released.disagrees(reason));
        }
        watch.add(1);
    }
    next(&mut reader)?;
    Ok(places.len())
}

/// The server's part, if it is the one that was committed to, for what is frozen.
fn opened(
    path: &Path,
    frozen: &Frozen,
    transcript: &Transcript,
    known: Option<[u8; 32]>,
) -> Result<SeedPart, String> {
    let bound = BoundSeed::read(path).map_err(|error| error.to_string())?;
    let bound = bound.ok_or_else(|| format!("there is no seed at {}", path.display()))?;
    let commitment = hex(&bound.part.commitment(&frozen.election));
    if commitment != transcript.commitment {
        return Err("the server's part of the seed is not the one that it committed to".to_owned());
    }
    if known.is_some_and(|known| hex(&known) != commitment) {
        return Err("the published commitment is not the one that was given before".to_owned());
    }
    Ok(bound.part)
}
