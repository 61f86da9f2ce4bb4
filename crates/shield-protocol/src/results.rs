//! Results as a file: the transcript first, then a release for each batch, then those of the
//! samples that were aggregated again.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use shield_core::framing::Kind;

use crate::bundle::{BundleError, BundleReader, Content};
use crate::election_file::PlannedElection;
use crate::error::{Problem, ProtocolError, Refused};
use crate::files::{Existing, write_bundle};
use crate::transcript::Transcript;

/// Which release it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// 0 for the first release, then the rounds of the transcript, counted from 1.
    pub round: usize,
    /// The batch.
    pub batch: usize,
}

/// The releases of a transcript, in the order of a results file.
pub fn places(transcript: &Transcript, batches: usize) -> Vec<Place> {
    let first = (0..batches).map(|batch| Place { round: 0, batch });
    let again = transcript.rounds.iter().enumerate().flat_map(|(before, round)| {
        round.asked.iter().map(move |asked| Place { round: before + 1, batch: asked.batch })
    });
    first.chain(again).collect()
}

/// Reads results release by release.
#[derive(Debug)]
pub struct ResultsReader<R> {
    bundle: BundleReader<R>,
    transcript: Transcript,
    places: std::vec::IntoIter<Place>,
    limit: usize,
}

impl<R: Read> ResultsReader<R> {
    /// Reads the start and the transcript, and checks that they are this election's.
    pub fn new(from: R, file: &PlannedElection) -> Result<Self, BundleError> {
        let engine = &**file.engine();
        let mut bundle = BundleReader::results(from, &file.digest())?;
        let found = bundle.left();
        let (election, batches) = (file.election(), engine.batches());
        let most = Transcript::max_bytes(file.teachers().len(), election.samples());
        let bytes = bundle.part(most)?.ok_or(BundleError::Length)?;
        let transcript = Transcript::decode(&bytes, file).ok_or(BundleError::Damaged)?;
        let expected = 1 + u32::try_from(transcript.releases(batches)).unwrap_or(u32::MAX - 1);
        if found != expected {
            return Err(BundleError::Parts { found, expected });
        }
        let places = places(&transcript, batches).into_iter();
        Ok(Self { bundle, transcript, places, limit: engine.max_bytes(Kind::Release) })
    }

    /// What was published with them.
    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// The next release; `None` after the last, if nothing follows it.
    pub fn release(&mut self) -> Result<Option<(Place, Vec<u8>)>, BundleError> {
        let part = self.bundle.part(self.limit)?;
        Ok(part.and_then(|part| Some((self.places.next()?, part))))
    }
}

/// Opens a file of results.
pub fn open(
    path: &Path,
    file: &PlannedElection,
) -> Result<ResultsReader<BufReader<File>>, Refused> {
    let refuse = |problem| Refused { path: path.to_owned(), problem };
    let from = File::open(path).map_err(|error| refuse(error.into()))?;
    if from.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Err(refuse(Problem::Folder));
    }
    ResultsReader::new(BufReader::new(from), file).map_err(|error| refuse(error.into()))
}

/// Writes results, whole or not at all, and their transcript beside them: the releases in the order
/// of [`places`].
pub(crate) fn write(
    path: &Path,
    existing: Existing,
    file: &PlannedElection,
    transcript: &Transcript,
    releases: impl IntoIterator<Item = Result<Vec<u8>, ProtocolError>>,
) -> Result<(), ProtocolError> {
    let parts = 1 + transcript.releases(file.batches());
    let mut releases = releases.into_iter();
    let cut_off = || Err(Refused::new(path, BundleError::Length).into());
    write_bundle(path, Content::Results, existing, file, parts, |part| match part {
        0 => Ok(transcript.encode()),
        _ => releases.next().unwrap_or_else(cut_off),
    })?;
    transcript.publish(path)
}
