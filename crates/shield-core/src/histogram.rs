//! How many teachers voted for each class of one sample.

use crate::parameters::{Class, Classes};

/// Counts n_k, one per class. Teachers who abstained are not counted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Histogram {
    counts: Vec<u32>,
}

impl Histogram {
    /// A histogram from its counts, one per class; at least two classes.
    pub fn new(counts: Vec<u32>) -> Result<Self, crate::parameters::ParameterError> {
        Classes::new(counts.len())?;
        Ok(Self { counts })
    }

    /// The counts, one per class.
    pub fn counts(&self) -> &[u32] {
        &self.counts
    }

    /// How many classes there are.
    pub fn classes(&self) -> usize {
        self.counts.len()
    }

    /// How many teachers voted: n.
    pub fn voters(&self) -> u64 {
        self.counts.iter().map(|&count| u64::from(count)).sum()
    }

    /// The classes with the most votes: one, or several where they tie.
    pub fn leaders(&self) -> impl Iterator<Item = Class> + '_ {
        let top = self.counts.iter().max().copied().unwrap_or(0);
        let tied = (0..).zip(&self.counts).filter(move |&(_, &count)| count == top);
        tied.map(|(class, _)| Class(class))
    }

    /// The share of the voters who chose the class; 0 where nobody voted.
    pub fn share(&self, class: Class) -> f64 {
        match self.voters() {
            0 => 0.0,
            voters => f64::from(self.counts[class.index()]) / voters as f64,
        }
    }

    /// The share of the leading class: the ground-truth accuracy of the exact argmax.
    pub fn top_share(&self) -> f64 {
        self.leaders().next().map_or(0.0, |leader| self.share(leader))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaders_tie() {
        let histogram = Histogram::new(vec![3, 0, 3, 1]).unwrap();
        assert_eq!(histogram.leaders().collect::<Vec<_>>(), [Class(0), Class(2)]);
        assert!((histogram.top_share() - 3.0 / 7.0).abs() < 1e-15);
    }

    #[test]
    fn nobody_voted() {
        let histogram = Histogram::new(vec![0, 0]).unwrap();
        assert_eq!((histogram.voters(), histogram.top_share()), (0, 0.0));
        assert!(Histogram::new(vec![4]).is_err());
    }
}
