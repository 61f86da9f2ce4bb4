//! All of the server's work in one go: a folder of ballots in, results out, exactly once.

use std::path::{Path, PathBuf};

use rand::CryptoRng;
use shield_core::Watch;
use shield_core::labelling::side_by_side;

use super::freeze::{self, seed_path};
use super::inputs::Inputs;
use crate::error::{Problem, ProtocolError, Refused};
use crate::files::Existing;
use crate::name::Name;
use crate::results::{self, Place};
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
/// [`freeze`](super::freeze). `committed` is the part of the seed that the server committed to
/// before anyone voted, as [`freeze::commit`] wrote it. Runs on the threads of the caller's pool.
pub fn aggregate<R: CryptoRng>(
    inputs: &Inputs<'_>,
    out: &Path,
    committed: Option<&Path>,
    rng: &mut R,
    watch: &Watch,
) -> Result<Aggregated, ProtocolError> {
    inputs.check_place(out)?;
    if out.is_dir() {
        return Err(Refused::new(out, Problem::Folder).into());
    }
    let (checked, voters) = inputs.open_once(watch)?;
    let seed = seed_path(out);
    let place = freeze::Place { out, seed: &seed };
    let (releases, again) = checked.freeze(inputs, place, committed, rng)?;
    let transcript = releases.transcript();
    let batches = inputs.file.batches();
    watch.begin("aggregating", batches as u64);
    let made =
        side_by_side(0..batches, |batch| releases.release(&transcript, Place { round: 0, batch }));
    // Results follow from their seed: written again, they are the same bytes.
    let made = made.inspect(|_| watch.add(1));
    results::write(out, Existing::Replaced, inputs.file, &transcript, made)?;
    let ballots = &releases.ballots;
    Ok(Aggregated {
        voted: ballots.teachers(true),
        missing: ballots.teachers(false),
        voters,
        commitment: releases.part.commitment(&releases.frozen.election),
        seed,
        again,
    })
}
