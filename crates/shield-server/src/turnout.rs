//! Who has voted on what, by what is stored.

use shield_protocol::turnout::{Turnout, VoterCounts};

use crate::problem::Problem;
use crate::service::Setup;
use crate::store::{StoredBallot, presence_from_text};

/// The teachers with a ballot for every batch, by number.
pub(crate) fn complete(ballots: &[StoredBallot], batches: usize) -> Vec<u32> {
    ballots
        .chunk_by(|a, b| a.teacher == b.teacher)
        .filter(|own| own.len() == batches)
        .map(|own| own[0].teacher)
        .collect()
}

/// How many voted on each sample, some teachers left out.
pub(crate) fn turnout(
    setup: &Setup,
    ballots: &[StoredBallot],
    excluded: &[u32],
) -> Result<Turnout, Problem> {
    let file = &setup.file;
    let complete = complete(ballots, setup.engine.batches());
    let mut turnout = Turnout::nobody(file.election().samples());
    let counts =
        |teacher: &u32| complete.binary_search(teacher).is_ok() && !excluded.contains(teacher);
    for ballot in ballots.iter().filter(|ballot| counts(&ballot.teacher)) {
        let samples = setup.engine.batch(ballot.batch as usize);
        let presence = presence_from_text(samples.len(), &ballot.presence)
            .ok_or_else(|| Problem::internal("a stored presence is damaged"))?;
        turnout.add(samples, &presence);
    }
    Ok(turnout)
}

/// How many samples have how many voters, if all of them have a quorum.
pub(crate) fn with_quorum(
    setup: &Setup,
    turnout: &Turnout,
    ballots: &[StoredBallot],
) -> Result<VoterCounts, Problem> {
    let file = &setup.file;
    let complete = complete(ballots, setup.engine.batches());
    let quorum = file.quorum();
    turnout.with_quorum(quorum).map_err(|short| {
        let detail = format!(
            "{} of {} teachers have voted, and {} of {} samples have fewer voters than the quorum \
             of {quorum}; wait for more ballots",
            complete.len(),
            file.teachers().len(),
            short.samples,
            file.election().samples(),
        );
        Problem::conflict("quorum", detail).with("voted", complete.len()).with("quorum", quorum)
    })
}
