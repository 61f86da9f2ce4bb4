//! The noisy argmax as an election has it: its noise, and whether teachers send votes or counts.
//!
//! A teacher with one vote per sample changes two counts by one. A teacher who sends counts stands
//! for voters of its own, up to a number that the election states, and two promises differ:
//!
//! - [`Protects::Teacher`]: the labels hardly depend on any one teacher, whatever all the voters
//!   behind it do. This covers each of its voters, too, and takes noise in proportion to their
//!   number.
//! - [`Protects::Voter`]: the labels hardly depend on any one voter, who has one vote per sample
//!   behind one teacher. The noise is that of single votes. What a teacher's voters think
//!   together, such as how a whole ward voted, is *not* protected.

use shield::Classes;
use shield::privacy::shared_argmax::SharedArgmax;
use shield::privacy::skellam::{Sensitivity, SkellamArgmax};
use shield::shared_noise::{NoiseFamily, SharedNoise};
use thiserror::Error;

/// Whose participation a privacy cost is stated for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protects {
    /// A teacher with all voters behind it.
    #[default]
    Teacher,
    /// One voter behind a teacher.
    Voter,
}

/// Teachers send counts per class, each of several voters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    voters: u32,
    protects: Protects,
}

/// Counts that an election cannot take.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CountsError {
    /// A number of voters that is none.
    #[error("`voters_per_teacher` is {0}; it must be from 1 to {MAX}", MAX = Counts::MAX_VOTERS)]
    Voters(u64),
    /// A noise without accounting for counts.
    #[error("counts need `noise_law = \"skellam\"`: what they cost is proven for it alone")]
    Law,
}

impl Counts {
    /// The most voters behind a teacher: more than any plan has room for.
    pub const MAX_VOTERS: u32 = 10_000;

    /// Counts that sum to at most that many voters per sample.
    pub fn new(voters: u64, protects: Protects, law: NoiseFamily) -> Result<Self, CountsError> {
        let known = u32::try_from(voters).ok().filter(|v| (1..=Self::MAX_VOTERS).contains(v));
        match (known, law) {
            (None, _) => Err(CountsError::Voters(voters)),
            (_, NoiseFamily::Laplace) => Err(CountsError::Law),
            (Some(voters), NoiseFamily::Skellam) => Ok(Self { voters, protects }),
        }
    }

    /// The most voters that a teacher's counts on one sample stand for.
    pub fn voters(self) -> u32 {
        self.voters
    }

    /// Whose participation the cost is stated for.
    pub fn protects(self) -> Protects {
        self.protects
    }
}

/// A noisy argmax.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoisyArgmax {
    /// The noise, in shares.
    pub noise: SharedNoise,
    /// Whether teachers send counts; one vote per sample if not.
    pub counts: Option<Counts>,
}

impl NoisyArgmax {
    /// What one ballot may add to the counts of a sample: what the engine has room for.
    pub fn ballot(&self) -> Sensitivity {
        self.counts.map_or(Sensitivity::Vote, |counts| Sensitivity::Counts(counts.voters))
    }

    /// What whoever is protected may change.
    pub fn sensitivity(&self) -> Sensitivity {
        match self.counts {
            Some(Counts { voters, protects: Protects::Teacher }) => Sensitivity::Counts(voters),
            Some(Counts { protects: Protects::Voter, .. }) | None => Sensitivity::Vote,
        }
    }

    /// What a label costs.
    pub fn accounting(&self, classes: Classes) -> SharedArgmax {
        match self.counts {
            None => SharedArgmax::new(&self.noise, classes.count()),
            Some(_) => SharedArgmax::Skellam(
                SkellamArgmax::new(&self.noise, classes.count(), self.sensitivity())
                    .expect("counts have Skellam noise"),
            ),
        }
    }
}
