//! How many teachers vote on each sample. That is public, and what a label costs depends on it.

use std::collections::BTreeMap;
use std::fmt;

use shield_core::histogram::Histogram;
use shield_core::parameters::{ParameterError, Queries, Voters};

/// Samples by how many teachers vote on them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attendance(Vec<Group>);

/// Samples that each have one of these numbers of voters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// In increasing order, none twice.
    pub(crate) voters: Vec<u32>,
    /// How many samples.
    pub(crate) samples: u64,
}

impl Attendance {
    /// That many teachers vote on every sample.
    pub fn whole(voters: Voters, queries: Queries) -> Self {
        Self(vec![Group { voters: vec![voters.count()], samples: queries.count() }])
    }

    /// On every sample any number of teachers of a range.
    pub fn any(fewest: Voters, most: Voters, queries: Queries) -> Self {
        let voters = (fewest.count()..=most.count()).collect();
        Self(vec![Group { voters, samples: queries.count() }])
    }

    /// So many samples with so many voters, as pairs of voters and samples.
    pub fn exactly(counts: impl IntoIterator<Item = (u32, u64)>) -> Self {
        let mut samples: BTreeMap<u32, u64> = BTreeMap::new();
        for (voters, count) in counts.into_iter().filter(|&(_, count)| count > 0) {
            *samples.entry(voters).or_default() += count;
        }
        let group = |(voters, samples)| Group { voters: vec![voters], samples };
        // Most voters first, as people say it.
        Self(samples.into_iter().rev().map(group).collect())
    }

    /// The turnout of some votes. Where other than all samples are asked about, each may be like
    /// any of these.
    pub fn of(histograms: &[Histogram], queries: Queries) -> Self {
        let voters = |one: &Histogram| u32::try_from(one.voters()).unwrap_or(u32::MAX);
        if histograms.len() as u64 == queries.count() {
            return Self::exactly(histograms.iter().map(|one| (voters(one), 1)));
        }
        let mut voters: Vec<u32> = histograms.iter().map(voters).collect();
        voters.sort_unstable();
        voters.dedup();
        Self(vec![Group { voters, samples: queries.count() }])
    }

    /// From the text that [`fmt::Display`] gives, or from the fewest voters, for that many
    /// teachers; where the text says how many samples there are, that counts.
    pub fn parse(text: &str, teachers: Voters, queries: Queries) -> Result<Self, ParameterError> {
        let refused = |value: &str| ParameterError {
            parameter: "the turnout",
            value: value.to_owned(),
            allowed: "give the fewest voters of a sample, as 25, or samples x voters, as \
                      391x30,8x29; nowhere more than there are teachers",
        };
        let voters = |text: &str| {
            let count = text.trim().parse().map_err(|_| refused(text))?;
            if count > teachers.count() { Err(refused(text)) } else { Ok(count) }
        };
        if !text.contains('x') {
            let fewest = Voters::new(voters(text)?).map_err(|_| refused(text))?;
            return Ok(Self::any(fewest, teachers, queries));
        }
        let part = |part: &str| {
            let (samples, count) = part.split_once('x').ok_or_else(|| refused(part))?;
            let samples: u64 = samples.trim().parse().map_err(|_| refused(part))?;
            Ok((voters(count)?, Queries::new(samples)?.count()))
        };
        let parts: Vec<(u32, u64)> =
            text.split(',').map(part).collect::<Result<_, ParameterError>>()?;
        let all = parts.iter().fold(0u64, |sum, part| sum.saturating_add(part.1));
        Queries::new(all)?;
        Ok(Self::exactly(parts))
    }

    /// How many samples.
    pub fn samples(&self) -> u64 {
        self.0.iter().map(|group| group.samples).sum()
    }

    /// The fewest voters that a sample may have.
    pub fn fewest(&self) -> u32 {
        self.0.iter().filter_map(|group| group.voters.first().copied()).min().unwrap_or(0)
    }

    /// The most voters that a sample may have.
    pub fn most(&self) -> u32 {
        self.0.iter().filter_map(|group| group.voters.last().copied()).max().unwrap_or(0)
    }

    /// The turnout of most samples, and how many have it; both ends where any of a range may occur.
    pub(crate) fn typical(&self) -> Vec<(Voters, Queries)> {
        let most = self.0.iter().max_by_key(|group| group.samples);
        let ends = most.into_iter().flat_map(|group| {
            let mut ends = vec![group.voters.first().copied(), group.voters.last().copied()];
            ends.dedup();
            ends.into_iter().flatten().map(|voters| (voters, group.samples))
        });
        let typical = ends.filter_map(|(voters, samples)| {
            Some((Voters::new(voters).ok()?, Queries::new(samples).ok()?))
        });
        typical.collect()
    }

    /// The one turnout that all samples have.
    pub(crate) fn only(&self) -> Option<Voters> {
        match self.0.as_slice() {
            [Group { voters, .. }] if voters.len() == 1 => Voters::new(voters[0]).ok(),
            _ => None,
        }
    }

    pub(crate) fn groups(&self) -> &[Group] {
        &self.0
    }

    /// The samples whose number of voters is so, and the others; `None` if all are one or the
    /// other, or if any of a range may occur.
    pub(crate) fn parted(&self, is_so: impl Fn(u32) -> bool) -> Option<(Self, Self)> {
        if self.0.iter().any(|group| group.voters.len() > 1) {
            return None;
        }
        let (those, others): (Vec<Group>, Vec<Group>) =
            self.0.iter().cloned().partition(|group| group.voters.iter().all(|&one| is_so(one)));
        (!those.is_empty() && !others.is_empty()).then_some((Self(those), Self(others)))
    }

    /// What a price for this turnout holds for, of so many teachers.
    pub fn holds_for(&self, teachers: usize) -> String {
        let fewest = self.fewest();
        if usize::try_from(fewest).is_ok_and(|fewest| fewest >= teachers) {
            return format!("all votes of {teachers} teachers on every sample");
        }
        let at_least = format!("all votes of at least {fewest} of {teachers} teachers per sample");
        match self.0.as_slice() {
            [_] => at_least,
            groups if groups.len() <= 6 => format!("{at_least}, with the turnout {self}"),
            _ => format!("{at_least}, with the turnout of these votes"),
        }
    }
}

impl fmt::Display for Attendance {
    /// Samples x voters, such as 391x30,8x29; where a sample may have any number, the fewest.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, group) in self.0.iter().enumerate() {
            match group.voters.as_slice() {
                [voters] => {
                    let comma = if place > 0 { "," } else { "" };
                    write!(f, "{comma}{}x{voters}", group.samples)?;
                }
                voters => write!(f, "{}", voters.first().copied().unwrap_or(0))?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turnout_is_read_as_it_is_written() {
        let (teachers, queries) = (Voters::new(30).unwrap(), Queries::new(400).unwrap());
        let parse = |text: &str| Attendance::parse(text, teachers, queries);
        let mixed = parse("391x30, 8x29,1x1").unwrap();
        assert_eq!((mixed.samples(), mixed.fewest(), mixed.most()), (400, 1, 30));
        assert_eq!(mixed.to_string(), "391x30,8x29,1x1");
        assert_eq!(parse(&mixed.to_string()).unwrap(), mixed);
        let (thin, others) = mixed.parted(|voters| voters < 15).unwrap();
        assert_eq!((thin.to_string(), others.to_string()), ("1x1".into(), "391x30,8x29".into()));
        assert!(others.parted(|voters| voters < 15).is_none());
        assert_eq!(parse("25").unwrap().to_string(), "25");
        assert_eq!(
            parse("25").unwrap().holds_for(30),
            "all votes of at least 25 of 30 teachers per sample"
        );
        for wrong in ["", "31", "0", "x", "3x31", "0x3", "-1x3", "1x3,", "9x9x9", "1x3,nan"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn some_of_the_samples_may_be_the_worst_of_them() {
        let histograms =
            [[3, 1], [2, 2], [1, 0]].map(|counts| Histogram::new(counts.to_vec()).unwrap());
        let of = |queries| Attendance::of(&histograms, Queries::new(queries).unwrap());
        assert_eq!(of(3).to_string(), "2x4,1x1");
        assert_eq!(of(2), Attendance(vec![Group { voters: vec![1, 4], samples: 2 }]));
    }
}
