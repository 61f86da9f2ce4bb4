//! Releases: what the student gets, batch by batch, each a pure function of what is frozen.
//!
//! Everything that computes one comes here: [`aggregate()`](super::aggregate()), whoever works on a
//! [`Job`](super::Job), the server's worker, an audit that is answered, and the auditor who
//! computes all of it [again](super::verify). So there is one way from frozen ballots to a release,
//! and one place that binds seeds. Votes that lie in one process anyway do not come here:
//! [`label`](shield_core::labelling::label) has all keys and keeps ballots as the engine's own
//! objects, and everything that this module is about (bytes, who holds them, what they hash to)
//! would be made up for it. It shares the engine, and the order of work.

use shield_core::Seed;

use super::ballot_folder::BallotFolder;
use crate::election_file::PlannedElection;
use crate::engine::{Again, Aggregating};
use crate::error::ProtocolError;
use crate::results::Place;
use crate::seed::{Purpose, SeedPart};
use crate::transcript::{AskedBatch, Frozen, Transcript};
use crate::turnout::Turnout;

/// Everything that the releases of an election follow from, ready to compute any of them.
pub struct Releases {
    pub(super) frozen: Frozen,
    pub(super) ballots: BallotFolder,
    pub(super) aggregating: Box<dyn Aggregating>,
    pub(super) part: SeedPart,
}

impl Releases {
    /// The election.
    pub fn file(&self) -> &PlannedElection {
        &self.ballots.file
    }

    /// What is published with the first release.
    pub(super) fn transcript(&self) -> Transcript {
        let commitment = self.part.commitment(&self.frozen.election);
        Transcript::new(&self.frozen, &commitment, self.ballots.turnout_without(&[]).voters())
    }

    /// The seed of all draws.
    pub(super) fn draws(&self) -> Seed {
        self.part.seed(Purpose::Draws, &self.frozen.digest())
    }

    /// The release of a batch: the first, or one of a round of the transcript.
    pub fn release(
        &self,
        transcript: &Transcript,
        Place { round, batch }: Place,
    ) -> Result<Vec<u8>, ProtocolError> {
        let ballots = self.ballots.batch(batch);
        let Some(own) = round.checked_sub(1).and_then(|before| transcript.rounds.get(before))
        else {
            return Ok(self.aggregating.aggregate(batch, &ballots, &self.draws())?);
        };
        let bound = transcript.answered(&self.frozen.digest(), round);
        let seed = self.part.seed(Purpose::Again, &bound);
        let excluded = excluded(self.file(), transcript, round);
        let asked = own.asked.iter().filter(|asked| asked.batch == batch);
        let samples: Vec<usize> = asked.flat_map(|asked| asked.samples.clone()).collect();
        let again = Again { excluded: &excluded, samples: &samples };
        Ok(self.aggregating.aggregate_again(batch, &ballots, &seed, again)?)
    }

    /// The check of every teacher alone on one batch of what is asked after the transcript.
    pub fn checks(
        &self,
        transcript: &Transcript,
        asked: &[AskedBatch],
        AskedBatch { batch, samples }: &AskedBatch,
    ) -> Result<Vec<u8>, ProtocolError> {
        let bound = transcript.asked(&self.frozen.digest(), asked);
        let seed = self.part.seed(Purpose::Audit, &bound);
        Ok(self.aggregating.audit(*batch, &self.ballots.batch(*batch), &seed, samples)?)
    }
}

/// The numbers of the teachers whom the rounds up to this one leave out.
pub(super) fn excluded(file: &PlannedElection, transcript: &Transcript, round: usize) -> Vec<u32> {
    let names = transcript.excluded(round);
    names.iter().filter_map(|name| file.teacher(name.as_str())).collect()
}

/// The turnout of the samples that a round of the transcript, counted from 1, aggregates again.
pub fn turnout_again(ballots: &BallotFolder, transcript: &Transcript, round: usize) -> Turnout {
    let file = &ballots.file;
    let asked = round.checked_sub(1).and_then(|before| transcript.rounds.get(before));
    let samples = asked.iter().flat_map(|round| &round.asked).flat_map(|asked| {
        let first = file.engine().batch(asked.batch).start;
        asked.samples.iter().map(move |sample| first + sample)
    });
    ballots.turnout_without(&excluded(file, transcript, round)).only(samples)
}
