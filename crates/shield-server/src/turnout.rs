//! Who has voted on what, by what is stored.

use shield_protocol::turnout::{Turnout, VoterCounts};

use crate::problem::Problem;
use crate::service::{Service, Setup};
use crate::store::Roll;

/// How many voted on each sample.
pub(crate) fn turnout(setup: &Setup, roll: &Roll) -> Result<Turnout, Problem> {
    let all = u32::try_from(roll.voters.len()).map_err(Problem::internal)?;
    let mut voters = vec![all; setup.file.election().samples()];
    for (&batch, absent) in &roll.absences {
        take(setup, &mut voters, batch, absent)?;
    }
    Ok(Turnout::of(voters))
}

/// Takes those who abstained on the samples of a batch from the voters.
fn take(setup: &Setup, voters: &mut [u32], batch: u32, absent: &[u32]) -> Result<(), Problem> {
    let damaged = || Problem::internal("a stored turnout is damaged");
    if batch as usize >= setup.engine.batches() {
        return Err(damaged());
    }
    let samples = voters.get_mut(setup.engine.batch(batch as usize)).ok_or_else(damaged)?;
    for (place, &absent) in absent.iter().enumerate() {
        let voters = samples.get_mut(place).ok_or_else(damaged)?;
        *voters = voters.checked_sub(absent).ok_or_else(damaged)?;
    }
    Ok(())
}

/// How many voted on each sample, some teachers left out.
pub(crate) async fn turnout_without(
    service: &Service,
    setup: &Setup,
    roll: &Roll,
    excluded: &[u32],
) -> Result<Turnout, Problem> {
    let mut voters = turnout(setup, roll)?.voters().to_vec();
    for teacher in excluded.iter().filter(|teacher| roll.voters.contains_key(teacher)) {
        let mut present = vec![1; voters.len()];
        for (batch, absent) in service.store.absences_of(setup.file.name(), *teacher).await? {
            let samples = setup.engine.batch(batch as usize).len();
            let mut counts = vec![0; samples];
            for sample in absent {
                if let Some(count) = counts.get_mut(sample as usize) {
                    *count = 1;
                }
            }
            take(setup, &mut present, batch, &counts)?;
        }
        for (voters, present) in voters.iter_mut().zip(present) {
            *voters = voters.saturating_sub(present);
        }
    }
    Ok(Turnout::of(voters))
}

/// How many samples have how many voters, if all of them have a quorum.
pub(crate) fn with_quorum(
    setup: &Setup,
    turnout: &Turnout,
    roll: &Roll,
) -> Result<VoterCounts, Problem> {
    let file = &setup.file;
    let voted = roll.voters.len();
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
