//! How many voters each sample has, and whether that is a quorum: the same for ballots in a folder
//! and on a server.

use std::collections::BTreeMap;
use std::ops::Range;

use shield_core::engine::Presence;

/// How many samples had how many voters.
pub type VoterCounts = Vec<(u32, u64)>;

/// The voters of each sample.
#[derive(Clone, Debug)]
pub struct Turnout(Vec<u32>);

/// Samples with fewer voters than the quorum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shortage {
    /// How many there are.
    pub samples: usize,
    /// The first of them, counted from 0.
    pub first: usize,
    /// How many voters that one has.
    pub voters: u32,
}

impl Turnout {
    /// Nobody has voted yet.
    pub fn nobody(samples: usize) -> Self {
        Self(vec![0; samples])
    }

    /// From the number of voters of each sample.
    pub fn of(voters: Vec<u32>) -> Self {
        Self(voters)
    }

    /// One more voter on every sample.
    pub fn add_everywhere(&mut self) {
        self.0.iter_mut().for_each(|voters| *voters += 1);
    }

    /// One more voter on those samples of a batch on which it was present.
    pub fn add(&mut self, batch: Range<usize>, presence: &Presence) {
        for (place, voters) in self.0[batch].iter_mut().enumerate() {
            *voters += u32::from(presence.contains(place));
        }
    }

    /// The voters of each sample.
    pub fn voters(&self) -> &[u32] {
        &self.0
    }

    /// The turnout of some samples, counted from 0.
    #[must_use]
    pub fn only(&self, samples: impl Iterator<Item = usize>) -> Self {
        Self(samples.filter_map(|sample| self.0.get(sample).copied()).collect())
    }

    /// How many samples have how many voters, if all of them have a quorum.
    pub fn with_quorum(&self, quorum: u32) -> Result<VoterCounts, Shortage> {
        let mut short = self.0.iter().enumerate().filter(|&(_, &voters)| voters < quorum);
        if let Some((first, &voters)) = short.next() {
            return Err(Shortage { samples: 1 + short.count(), first, voters });
        }
        let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
        for &voters in &self.0 {
            *counts.entry(voters).or_default() += 1;
        }
        Ok(counts.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_counted_by_voters_and_none_may_be_short() {
        let mut turnout = Turnout::nobody(5);
        turnout.add_everywhere();
        turnout.add(0..2, &Presence::new([true, true].into_iter()));
        turnout.add(2..5, &Presence::new([true, false, false].into_iter()));
        assert_eq!(turnout.with_quorum(1), Ok(vec![(1, 2), (2, 3)]));
        assert_eq!(turnout.with_quorum(2), Err(Shortage { samples: 2, first: 3, voters: 1 }));
        assert_eq!(turnout.with_quorum(3), Err(Shortage { samples: 5, first: 0, voters: 2 }));
    }
}
