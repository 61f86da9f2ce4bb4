//! The parts of SPEED's noisy argmax that every engine of it shares.
//!
//! A teacher's ballot holds, for each sample and class, its one-hot vote plus its share of the
//! noise ([`crate::shared_noise::polya`], [`crate::shared_noise::skellam`]). Who abstains sends the
//! shares alone: so nobody sees who abstained, and the noise is whole. The output is the class with
//! the largest sum, the lowest where several tie.

use rand::{CryptoRng, RngCore};
use thiserror::Error;

use super::{Ballot, BallotBox, BallotBoxError};
use crate::parameters::{Class, Classes};
use crate::shared_noise::{SharedNoise, Shares};
use crate::votes::{Label, Vote};

/// Too many teachers are missing.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error(
    "{ballots} of {teachers} teachers sent a ballot, and the noise is shared out for {shares} at \
     least; with fewer the labels would have less noise than was promised: wait for the others, \
     or vote again with more dropouts allowed"
)]
pub struct TooFewShares {
    /// How many sent a ballot.
    pub ballots: u32,
    /// How many teachers there are.
    pub teachers: u32,
    /// How many must take part.
    pub shares: u32,
}

/// What one teacher adds to the counts of a batch: vote and share, class by class, sample by
/// sample.
pub fn noisy_one_hot<R: RngCore + CryptoRng>(
    classes: Classes,
    votes: &[Vote],
    shares: &Shares,
    rng: &mut R,
) -> Vec<i64> {
    let mut numbers = Vec::with_capacity(votes.len() * classes.count());
    for vote in votes {
        for class in classes.all() {
            numbers.push(i64::from(*vote == Some(class)) + shares.share(rng));
        }
    }
    numbers
}

/// The teachers who sent a ballot, if they are enough.
pub fn contributors<B: Ballot>(
    noise: &SharedNoise,
    ballots: &dyn BallotBox<B>,
) -> Result<Result<Vec<u32>, TooFewShares>, BallotBoxError> {
    let mut present = Vec::new();
    for teacher in 0..noise.teachers() {
        if !ballots.presence(teacher)?.is_nobody() {
            present.push(teacher);
        }
    }
    let count = u32::try_from(present.len()).expect("teachers are numbered in 32 bits");
    let (teachers, shares) = (noise.teachers(), noise.shares());
    let few = TooFewShares { ballots: count, teachers, shares };
    Ok(if count < shares { Err(few) } else { Ok(present) })
}

/// The class with the largest count, if that reaches a threshold: with one, the largest count of a
/// class more, which has no name, no votes and no noise, and loses every tie.
pub fn argmax_from(counts: &[i64], threshold: Option<u32>) -> Label {
    let winner = argmax(counts);
    let reaches = |threshold: u32| counts[winner.index()] >= i64::from(threshold);
    threshold.is_none_or(reaches).then_some(winner)
}

/// The class with the largest count, the lowest of several.
pub fn argmax(counts: &[i64]) -> Class {
    let mut best = 0;
    for (class, count) in counts.iter().enumerate() {
        if *count > counts[best] {
            best = class;
        }
    }
    Class(u16::try_from(best).expect("Classes::MAX fits in 16 bits"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_go_to_the_lowest_class() {
        assert_eq!(argmax(&[2, 5, 5]), Class(1));
        assert_eq!(argmax(&[-4, -4, -4]), Class(0));
        assert_eq!(argmax(&[1, 0, 2]), Class(2));
    }

    #[test]
    fn nobody_wins_below_the_threshold() {
        assert_eq!(argmax_from(&[2, 5, 5], Some(5)), Some(Class(1)));
        assert_eq!(argmax_from(&[2, 5, 5], Some(6)), None);
        assert_eq!(argmax_from(&[-4, -9], None), Some(Class(0)));
    }
}
