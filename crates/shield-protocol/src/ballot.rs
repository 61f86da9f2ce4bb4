//! A teacher's ballot: its votes on every sample, encrypted, in one file.

use std::path::Path;
use std::sync::Arc;

use rand::CryptoRng;
use shield::framing::{KeyId, Kind};
use shield::votes::Vote;

use crate::bundle::Content;
use crate::election_file::ElectionFile;
use crate::error::{Problem, ProtocolError, Refused};
use crate::files::{Existing, check_folder_of, read_bounded, write_bundle};

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
) -> Result<Vec<Vote>, ProtocolError> {
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
pub fn cast<R: CryptoRng>(
    file: &ElectionFile,
    public_key: &Path,
    teacher: &str,
    votes: &[Vote],
    out: &Path,
    rng: &mut R,
) -> Result<Cast, ProtocolError> {
    let number = file.teacher(teacher).ok_or_else(|| ProtocolError::NotATeacher {
        name: teacher.to_owned(),
        known: file.teachers().to_vec(),
    })?;
    check_folder_of(out)?;
    if out.symlink_metadata().is_ok() {
        return Err(Refused { path: out.to_owned(), problem: Problem::BallotExists }.into());
    }
    let engine = file.engine();
    let refuse = |problem| Refused { path: public_key.to_owned(), problem };
    let bytes = read_bounded(public_key, engine.max_bytes(Kind::PublicKey)).map_err(refuse)?;
    let voting = Arc::clone(&engine).voting(&bytes).map_err(|error| refuse(error.into()))?;
    let content = Content::Ballot { teacher: number };
    write_bundle(out, content, Existing::Refused, file, file.batches(), |batch| {
        let own = votes.get(engine.batch(batch)).unwrap_or_default();
        Ok(voting.encrypt(batch, own, rng)?)
    })?;
    let abstentions = votes.iter().filter(|vote| vote.is_none()).count();
    Ok(Cast { key: voting.key(), abstentions })
}
