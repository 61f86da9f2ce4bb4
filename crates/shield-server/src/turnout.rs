//! Who has voted on what, by what is stored.

use shield_protocol::PlannedElection;
use shield_protocol::turnout::{Turnout, VoterCounts};

use crate::problem::Problem;
use crate::store::Roll;

/// How many voted on each sample.
pub(crate) fn turnout(file: &PlannedElection, roll: &Roll) -> Result<Turnout, Problem> {
    let damaged = || Problem::internal("a stored turnout is damaged");
    let all = u32::try_from(roll.voters.len()).map_err(Problem::internal)?;
    let mut voters = vec![all; file.election().samples()];
    for (&batch, absent) in &roll.absences {
        let samples = voters.get_mut(file.engine().batch(batch as usize));
        let samples = samples.unwrap_or_default();
        if absent.len() > samples.len() {
            return Err(damaged());
        }
        for (voters, absent) in samples.iter_mut().zip(absent) {
            *voters = voters.checked_sub(*absent).ok_or_else(damaged)?;
        }
    }
    Ok(Turnout::of(voters))
}

/// How many samples have how many voters, if all of them have a quorum.
pub(crate) fn with_quorum(
    file: &PlannedElection,
    turnout: &Turnout,
    voted: usize,
) -> Result<VoterCounts, Problem> {
    let quorum = file.quorum();
    turnout.with_quorum(quorum).map_err(|short| {
        let detail = format!(
            "{voted} of {} teachers have voted, and {} of {} samples have fewer voters than the \
             quorum of {quorum}; wait for more ballots",
            file.teachers().len(),
            short.samples,
            file.election().samples(),
        );
        Problem::conflict("quorum", detail).with("voted", voted).with("quorum", quorum)
    })
}
