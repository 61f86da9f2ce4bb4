//! What the server does: a folder of ballots in, results out, exactly once.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use rand::CryptoRng;
use rayon::prelude::*;
use shield::labelling::batches_at_once;

use super::checked::{Checked, Progress};
use super::freeze::{self, Destination, settle};
use super::storage::local_files;
use crate::election_file::ElectionFile;
use crate::error::{Problem, ProtocolError, Refused};
use crate::files::{Existing, check_folder_of};
use crate::name::Name;
use crate::new_file::folder_of;
use crate::results::{self, Place};
use crate::seed::Purpose;
use crate::transcript::Transcript;
use crate::turnout::VoterCounts;

/// Results that were written.
#[derive(Clone, Debug)]
pub struct Aggregated {
    /// Who voted.
    pub voted: Vec<Name>,
    /// Who did not.
    pub missing: Vec<Name>,
    /// How many samples had how many voters.
    pub voters: VoterCounts,
    /// Where the server's part of the seed is.
    pub seed: PathBuf,
    /// The commitment to it.
    pub commitment: [u8; 32],
    /// Whether the seed was there already, so that these are the same results again.
    pub again: bool,
}

/// Aggregates a folder of ballots.
///
/// Refuses ballots that cannot be used, too few of them, and any second release: see
/// [`freeze`](super::freeze). Runs on the threads of the caller's pool.
pub fn aggregate<R: CryptoRng>(
    file: &ElectionFile,
    evaluation_key: &Path,
    ballots: &Path,
    out: &Path,
    rng: &mut R,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Aggregated, ProtocolError> {
    aggregate_committed(file, evaluation_key, ballots, out, None, rng, progress)
}

/// The same, with the part of the seed that the server committed to before anyone voted: the file
/// that [`freeze::commit`] wrote.
pub fn aggregate_committed<R: CryptoRng>(
    file: &ElectionFile,
    evaluation_key: &Path,
    ballots: &Path,
    out: &Path,
    committed: Option<&Path>,
    rng: &mut R,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Aggregated, ProtocolError> {
    check_folder_of(out)?;
    if same_folder(folder_of(out), ballots) {
        return Err(Refused { path: out.to_owned(), problem: Problem::AmongBallots }.into());
    }
    let storage = local_files();
    let checked = Checked::new(file, evaluation_key, &storage, ballots, progress)?;
    let committed = committed.map(|path| freeze::committed(path, &file.digest())).transpose()?;
    let destination = Destination::Results(out);
    let settled = settle(&checked.frozen, &*storage, ballots, destination, committed, rng)?;
    let commitment = settled.part.commitment(&checked.frozen.election);
    let transcript =
        Transcript::new(&checked.frozen, &commitment, checked.folder.turnout(file).voters());
    let seed = settled.part.seed(Purpose::Draws, &checked.frozen.digest());
    let batches = file.batches();
    let aggregate = |batch: usize| -> Result<Vec<u8>, ProtocolError> {
        let ballots = checked.folder.batch(batch);
        Ok(checked.aggregating.aggregate(batch, &ballots, &seed)?)
    };
    // A few batches side by side, written in their order.
    let mut ready: VecDeque<Result<Vec<u8>, ProtocolError>> = VecDeque::new();
    // Results follow from their seed: written again, they are the same bytes.
    results::write(out, Existing::Replaced, file, &transcript, |Place { batch, .. }| {
        progress(Progress::Aggregated { done: batch, of: batches });
        if ready.is_empty() {
            let next = batch..batches.min(batch + batches_at_once());
            ready = next.into_par_iter().map(aggregate).collect::<Vec<_>>().into();
        }
        ready.pop_front().unwrap_or_else(|| aggregate(batch))
    })?;
    transcript.publish(out)?;
    let Checked { voted, missing, voters, .. } = checked;
    let seed = freeze::seed_path(out);
    Ok(Aggregated { voted, missing, voters, seed, commitment, again: settled.again })
}

pub(super) fn same_folder(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}
