//! SPEED's exact noisy argmax on encrypted counts: what SHIELD replaces, and the yardstick for what
//! it gains.
//!
//! Each teacher encrypts, for every sample and class, its one-hot vote plus its share of the noise
//! ([`shield_core::shared_noise`]). The server adds up the ballots, which costs nothing, and finds
//! the class with the largest sum, the lowest of several, by a tournament of bootstrappings:
//! exactly, whatever the gap. The student reads the class.
//!
//! | module | subject |
//! |---|---|
//! | `digits` | a sum of ballots to encrypted digits, lowest first |
//! | `tournament` | digits to the class that has the largest |
//! | `torus`, `lookup` | encryptions of one number: linear combinations and table lookups |
//! | `keys` | parameters, keys, encryption and decryption |
//!
//! As with the [gates](super::gates), ballots are encrypted with the secret key, and the release is
//! the circuit's own ciphertexts. `shield_bfv::argmax` is the engine for elections.

mod digits;
mod keys;
mod lookup;
#[cfg(test)]
mod tests;
mod torus;
mod tournament;

use std::time::{Duration, Instant};

use rand::{CryptoRng, RngCore};
use rayon::prelude::*;
use shield_core::engine::noisy_argmax::{argmax, noisy_one_hot};
use shield_core::shared_noise::{SharedNoise, Shares};
use shield_core::{Class, Classes, Label, Votes};
use thiserror::Error;

use self::digits::{BASE, STEP};
use self::keys::{Keys, Packed};
use self::lookup::Lookup;
use self::torus::{Lwe, torus};
use self::tournament::Tournament;
use crate::transform::DEGREE;

/// What a run of the baseline gave.
#[derive(Debug)]
pub struct ArgmaxRun {
    /// The labels.
    pub labels: Vec<Label>,
    /// The argmax in the clear of the same votes with the same noise.
    pub expected: Vec<Label>,
    /// The time of all encryptions.
    pub encryption: Duration,
    /// The time of the aggregation alone, over all samples.
    pub aggregation: Duration,
    /// Bootstrappings over all samples.
    pub bootstrappings: usize,
    /// Bytes of what would be sent.
    pub sizes: Sizes,
}

/// Bytes of what would be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// A vote.
    pub vote: usize,
    /// A label.
    pub label: usize,
    /// The server's key: bootstrapping and switching.
    pub server_key: usize,
}

/// Why the argmax of an election cannot be found.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ArgmaxError {
    /// One sample's counts do not fit into a ciphertext.
    #[error("{classes} classes; the noisy argmax on TFHE takes at most {DEGREE}")]
    TooManyClasses {
        /// How many there are.
        classes: usize,
    },
    /// Counts and noise do not fit into the digits that are compared.
    #[error(
        "{teachers} teachers with noise of scale {noise} count further than 65,535; take less \
         noise or fewer teachers"
    )]
    TooWide {
        /// How many teachers there are.
        teachers: u32,
        /// The scale of the noise.
        noise: f64,
    },
}

/// Runs every role on the first samples of some votes.
pub fn run<R: RngCore + CryptoRng>(
    noise: &SharedNoise,
    votes: &Votes,
    samples: usize,
    rng: &mut R,
) -> Result<ArgmaxRun, ArgmaxError> {
    let circuit = Circuit::new(noise, votes.classes())?;
    let shares = Shares::new(noise);
    let ballots = (0..votes.teachers()).map(|teacher| {
        noisy_one_hot(votes.classes(), &votes.teacher(teacher, 0..samples), &shares, rng)
    });
    let ballots: Vec<Vec<i64>> = ballots.collect();
    Ok(circuit.run(&ballots, rng))
}

/// The argmax of some number of classes, with counts that have room for the noise.
struct Circuit {
    classes: usize,
    /// Digits, of four bits, of a count with its noise.
    digits: usize,
    /// Digits of a class.
    names: usize,
    /// How large noise may be, in votes.
    reach: i64,
    tournament: Tournament,
}

impl Circuit {
    /// The most digits of a count: their signs must fit into one lookup.
    const MAX_DIGITS: usize = 4;

    fn new(noise: &SharedNoise, classes: Classes) -> Result<Self, ArgmaxError> {
        let (classes, teachers) = (classes.count(), noise.teachers());
        if classes > DEGREE {
            return Err(ArgmaxError::TooManyClasses { classes });
        }
        // Noise beyond the reach wraps around: a wrong label, once in 2^65 samples.
        let reach = noise.law(teachers).bound(libm::exp2(-65.0) / classes as f64);
        let values = i64::from(teachers) + 2 * reach + 1;
        let digits = (1..=Self::MAX_DIGITS)
            .find(|&digits| values <= 1 << (4 * digits))
            .ok_or(ArgmaxError::TooWide { teachers, noise: noise.scale().get() })?;
        let names = (1..=8).find(|&names| classes <= 1 << (4 * names)).expect("few classes");
        Ok(Self { classes, digits, names, reach, tournament: Tournament::new() })
    }

    /// A number of votes, in turns.
    fn encode(&self, number: i64) -> u64 {
        number.cast_unsigned() << (63 - 4 * self.digits)
    }

    /// Encrypts ballots, a count for each sample and class, finds the labels and decrypts them.
    fn run<R: RngCore + CryptoRng>(&self, ballots: &[Vec<i64>], rng: &mut R) -> ArgmaxRun {
        let mut keys = Keys::generate(rng);
        let start = Instant::now();
        let encrypt =
            |counts: &[i64]| keys.encrypt(counts.iter().map(|&count| self.encode(count)).collect());
        let encrypted: Vec<Packed> =
            ballots.iter().flat_map(|ballot| ballot.chunks(self.classes)).map(encrypt).collect();
        let encryption = start.elapsed();
        let samples = encrypted.len() / ballots.len();
        let start = Instant::now();
        let released: Vec<(Vec<Lwe>, usize)> = (0..samples)
            .into_par_iter()
            .map(|sample| {
                let mut lookup = Lookup::new(&keys.server);
                let votes = encrypted.iter().skip(sample).step_by(samples);
                (self.winner(&mut lookup, votes), lookup.count)
            })
            .collect();
        let aggregation = start.elapsed();
        let mut sums = vec![0_i64; samples * self.classes];
        for ballot in ballots {
            sums.iter_mut().zip(ballot).for_each(|(sum, number)| *sum += number);
        }
        ArgmaxRun {
            labels: released.iter().map(|(digits, _)| self.label(&keys, digits)).collect(),
            expected: sums.chunks(self.classes).map(|counts| Some(argmax(counts))).collect(),
            encryption,
            aggregation,
            bootstrappings: released.iter().map(|(_, count)| count).sum(),
            sizes: Sizes {
                vote: 8 * (DEGREE + self.classes),
                label: 8 * (DEGREE + 1) * self.names,
                server_key: keys::SERVER_KEY_BYTES,
            },
        }
    }

    /// The digits of the class with the largest count, on steps of [`STEP`].
    fn winner<'a>(&self, lookup: &mut Lookup, votes: impl Iterator<Item = &'a Packed>) -> Vec<Lwe> {
        let mut sum = keys::zero();
        for vote in votes {
            for (sum, word) in sum.as_mut().iter_mut().zip(vote.as_ref()) {
                *sum = sum.wrapping_add(*word);
            }
        }
        let counts: Vec<Lwe> = (0..self.classes)
            .map(|class| {
                let mut count = keys::number(&sum, class);
                count.shift(self.encode(self.reach));
                count
            })
            .collect();
        self.tournament.winner(lookup, &counts, self.digits, self.names)
    }

    fn label(&self, keys: &Keys, digits: &[Lwe]) -> Label {
        let step = torus(STEP);
        let digit =
            |number: &Lwe| usize::try_from(keys.decrypt(number).wrapping_add(step / 2) / step).ok();
        let class = digits.iter().rev().try_fold(0, |class, number| {
            digit(number).filter(|&digit| digit < BASE).map(|digit| class * BASE + digit)
        });
        let class = class.filter(|&class| class < self.classes)?;
        u16::try_from(class).ok().map(Class)
    }
}
