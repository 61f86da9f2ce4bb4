//! What the server does: a folder of ballots in, results out, exactly once.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rand::CryptoRng;

use super::checked::{Checked, Progress};
use super::freeze::{self, Destination, settle};
use super::storage::{LocalFiles, Storage};
use crate::bundle::Content;
use crate::election_file::ElectionFile;
use crate::error::{Problem, ProtocolError, Refused};
use crate::files::{Existing, check_folder_of, write_bundle};
use crate::name::Name;
use crate::new_file::folder_of;
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
    /// Where the seed is.
    pub seed: PathBuf,
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
    check_folder_of(out)?;
    if same_folder(folder_of(out), ballots) {
        return Err(Refused { path: out.to_owned(), problem: Problem::AmongBallots }.into());
    }
    let storage: Arc<dyn Storage> = Arc::new(LocalFiles);
    let checked = Checked::new(file, evaluation_key, &storage, ballots, progress)?;
    let destination = Destination::Results(out);
    let settled = settle(&checked.frozen, &*storage, ballots, destination, rng)?;
    let batches = file.batches();
    // Results follow from their seed: written again, they are the same bytes.
    write_bundle(out, Content::Results, Existing::Replaced, file, |batch| {
        progress(Progress::Aggregated { done: batch, of: batches });
        let ballots = checked.folder.batch(batch);
        Ok(checked.aggregating.aggregate(batch, &ballots, &settled.seed)?)
    })?;
    let Checked { voted, missing, voters, .. } = checked;
    let seed = freeze::seed_path(out);
    Ok(Aggregated { voted, missing, voters, seed, again: settled.again })
}

pub(super) fn same_folder(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}
