//! A teacher's ballot: its votes on every sample, encrypted, in one file.

use std::path::Path;

use rand::{CryptoRng, RngCore};
use shield::backend::{Backend, BackendBytes};
use shield::votes::Vote;
use shield_bfv::KeyId;

use super::{FileProtocolError, Problem, Refused, check_folder_of, read_bounded, write_bundle};
use crate::bundle::Content;
use crate::election_file::ElectionFile;

/// A ballot that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cast {
    /// The keys it is for.
    pub key: KeyId,
    /// On how many samples the teacher abstained.
    pub abstentions: usize,
}

/// Reads one teacher's votes: one a sample of the election, all of its classes or abstentions.
///
/// The file has one column, one row, or a column for each teacher; then `column`, counted from 1,
/// says which.
pub fn read_votes(
    file: &ElectionFile,
    path: &Path,
    column: Option<usize>,
) -> Result<Vec<Vote>, FileProtocolError> {
    let election = file.election();
    let votes = shield::files::read_teacher(path, election.classes(), column)?;
    let samples = election.samples();
    if votes.len() == samples {
        return Ok(votes);
    }
    let problem = Problem::VoteCount { votes: votes.len(), samples };
    Err(Refused { path: path.to_owned(), problem }.into())
}

/// Writes the ballot of the teacher of that name, batch by batch; never over another file.
pub fn cast<R: RngCore + CryptoRng>(
    file: &ElectionFile,
    public_key: &Path,
    teacher: &str,
    votes: &[Vote],
    out: &Path,
    rng: &mut R,
) -> Result<Cast, FileProtocolError> {
    let number = file.teacher(teacher).ok_or_else(|| FileProtocolError::NotATeacher {
        name: teacher.to_owned(),
        known: file.teachers().to_vec(),
    })?;
    check_folder_of(out)?;
    if out.symlink_metadata().is_ok() {
        return Err(Refused { path: out.to_owned(), problem: Problem::BallotExists }.into());
    }
    let backend = file.backend();
    let refuse = |problem| Refused { path: public_key.to_owned(), problem };
    let bytes = read_bounded(public_key, backend.plan().public_key_bytes()).map_err(refuse)?;
    let key = backend.decode_public_key(&bytes).map_err(|error| refuse(error.into()))?;
    let content = Content::Ballot { teacher: number };
    write_bundle(out, content, file, backend.batches(), |batch| {
        let own = votes.get(backend.batch(batch)).unwrap_or_default();
        Ok(backend.encode_ballot(&backend.encrypt(&key, batch, own, rng)?))
    })?;
    let abstentions = votes.iter().filter(|vote| vote.is_none()).count();
    Ok(Cast { key: key.id(), abstentions })
}
