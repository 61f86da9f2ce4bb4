//! Made-up votes with the profile of the paper's: for examples, tests and trying out sizes.
//!
//! **These are synthetic.** No teacher, no model and no data set stands behind them. Each sample
//! has a true class and a rival. With three uniform numbers a, b, c in (0, 1) for each sample, a
//! teacher votes
//!
//! - for the true class with probability `u = 1 - 0.92 a sqrt(b)`,
//! - for the rival with probability `c^2 (1 - u)`,
//! - else for one of the other classes, each as likely.
//!
//! With 250 teachers and 10 classes, the leading class has on average about 0.72 of the votes and
//! is the true one for about 94% of the samples, as in the paper (72.35% and 93.95%).
//! Only exactly rounded operations are used, so the same number gives the same votes everywhere.

use rand::RngCore;
use rand_chacha::ChaCha20Rng;

use crate::election::Election;
use crate::parameters::{Class, Classes, ParameterError};
use crate::seed::Seed;
use crate::votes::{Labels, Vote, Votes};

/// How far the true class can fall: the one number that sets the mean share of the leading class.
const SPREAD: f64 = 0.92;

/// Votes of some shape with their true classes. The number decides which.
pub fn votes(
    teachers: usize,
    classes: Classes,
    samples: usize,
    number: u64,
) -> Result<(Votes, Labels), ParameterError> {
    // The limits of an election are the limits of its votes.
    Election::new(teachers, classes, samples, crate::Setting::default())?;
    let seed = Seed::from_number(number);
    let mut truths = Vec::with_capacity(samples);
    let rows = (0..samples as u64).map(|sample| {
        let mut rng = seed.stream("shield 2026 synthetic votes", sample);
        let profile = Profile::random(classes, &mut rng);
        truths.push(Some(profile.truth));
        (0..teachers).map(|_| Some(profile.vote(classes, &mut rng))).collect::<Vec<Vote>>()
    });
    let votes = Votes::from_rows(classes, rows).expect("all votes are classes");
    let labels = Labels::new(truths).expect("an election has samples");
    Ok((votes, labels))
}

/// How likely each class is for one sample.
struct Profile {
    truth: Class,
    rival: Class,
    for_truth: f64,
    for_rival: f64,
}

impl Profile {
    fn random(classes: Classes, rng: &mut ChaCha20Rng) -> Self {
        let (a, b, c) = (uniform(rng), uniform(rng), uniform(rng));
        let for_truth = 1.0 - SPREAD * a * b.sqrt();
        let truth = pick(classes.count(), rng);
        let rival = (truth + 1 + pick(classes.count() - 1, rng)) % classes.count();
        Self {
            truth: class(truth),
            rival: class(rival),
            for_truth,
            for_rival: c * c * (1.0 - for_truth),
        }
    }

    fn vote(&self, classes: Classes, rng: &mut ChaCha20Rng) -> Class {
        let point = uniform(rng);
        let other = pick(classes.count(), rng);
        if point < self.for_truth {
            self.truth
        } else if point < self.for_truth + self.for_rival {
            self.rival
        } else {
            class(other)
        }
    }
}

fn uniform(rng: &mut ChaCha20Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// One of `count` numbers. Nothing here needs more than the bias of 2^-48 that a remainder has.
fn pick(count: usize, rng: &mut ChaCha20Rng) -> usize {
    usize::try_from(rng.next_u64() % count as u64).expect("below a usize")
}

fn class(index: usize) -> Class {
    Class(u16::try_from(index).expect("Classes::MAX fits in 16 bits"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn has_the_profile_of_the_paper() {
        let (votes, labels) = votes(250, Classes::new(10).unwrap(), 8000, 1).unwrap();
        let histograms: Vec<_> = votes.histograms().collect();
        let top = histograms.iter().map(crate::Histogram::top_share).sum::<f64>() / 8000.0;
        let leaders = histograms.iter().map(|histogram| histogram.leaders().next());
        let right =
            leaders.zip(labels.as_slice()).filter(|(leader, truth)| leader == *truth).count();
        assert!((top - 0.7235).abs() < 0.01, "mean top share {top}");
        assert!((right as f64 / 8000.0 - 0.9395).abs() < 0.01, "top class right {right} of 8000");
    }

    #[test]
    fn the_number_decides() {
        let make = |number| votes(5, Classes::new(3).unwrap(), 20, number).unwrap().0;
        assert_eq!(make(1), make(1));
        assert_ne!(make(1), make(2));
    }
}
