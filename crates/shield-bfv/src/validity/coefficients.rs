//! The random coefficients of the check: drawn when all ballots are frozen, uniform modulo t.

use rand::{CryptoRng, RngCore};
use shield::Seed;
use shield::backend::Presence;

use crate::layout::{Layout, Places};
use crate::ring::PLAINTEXT;
use crate::scheme::plaintext_slots;

/// Purposes of the random streams: the weights of one teacher, and those of the slots.
const TEACHER: &str = "shield 2026 bfv validity weights of one teacher";
const SLOTS: &str = "shield 2026 bfv validity weights of the slots";

/// How a vote is written into the slots of its run: what the check asks of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    /// One slot per class: every slot is a bit, and the slots of a present sample sum to 1.
    OneHot,
    /// One slot per bit of a code: every slot is a bit, and any bits are a vote.
    ///
    /// A sum cannot refuse a code of K or more, and need not: if the bits weigh 1, 2, 4, ... and
    /// the last one what is missing to K - 1, every pattern of bits is the code of some class.
    #[cfg_attr(not(test), expect(dead_code, reason = "for layouts that hold classes in bits"))]
    Bits,
}

/// What a teacher who voted on a batch is known by before its ballot is opened.
#[derive(Clone, Debug)]
pub(crate) struct Voter {
    pub(crate) teacher: u32,
    pub(crate) presence: Presence,
}

/// The coefficients of one repetition.
pub(crate) struct Coefficients<'a> {
    pub(crate) layout: &'a Layout,
    pub(crate) places: &'a Places,
    pub(crate) coding: Coding,
    /// Follows from the aggregation's seed and from every ballot.
    pub(crate) challenge: &'a Seed,
    pub(crate) repetition: usize,
    /// Samples of the batch.
    pub(crate) samples: usize,
}

/// The weights of the slots: the same for all teachers.
pub(crate) struct Weights {
    /// Of the squares.
    pub(crate) squares: Vec<u64>,
    /// Of the values themselves.
    pub(crate) values: Vec<u64>,
    /// mu of each sample: the weight of the rule that its slots sum to 1.
    sums: Vec<u64>,
}

impl Coefficients<'_> {
    /// The weight of a teacher's ballot at every run.
    ///
    /// With several groups the weights of a sample sum to zero over them, which is what makes
    /// copies of a vote cancel out.
    pub(crate) fn teacher(&self, teacher: u32) -> Vec<u64> {
        let index = (self.repetition as u64) << 32 | u64::from(teacher);
        let mut weights = vec![0; self.layout.positions()];
        plaintext_slots(&mut weights, &mut self.challenge.stream(TEACHER, index));
        if self.layout.groups() > 1 {
            for sample in 0..self.layout.samples() {
                let others = 1..self.layout.groups();
                let rest: u64 = others.map(|g| weights[self.places.run(g, sample)]).sum();
                weights[self.places.run(0, sample)] = negated(rest % PLAINTEXT);
            }
        }
        weights
    }

    /// The weights of the slots.
    pub(crate) fn weights(&self) -> Weights {
        let degree = self.layout.degree();
        let mut rng = self.challenge.stream(SLOTS, self.repetition as u64);
        let bits = uniform(degree, &mut rng);
        let empty = uniform(degree, &mut rng);
        let copies = uniform(degree, &mut rng);
        let sums = match self.coding {
            Coding::OneHot => uniform(self.layout.samples(), &mut rng),
            Coding::Bits => vec![0; self.layout.samples()],
        };
        let mut weights = Weights { squares: vec![0; degree], values: vec![0; degree], sums };
        let copied = u64::from(self.layout.groups() > 1);
        for sample in 0..self.samples {
            let first = self.places.classes(0, sample);
            for (class, &place) in first.iter().enumerate() {
                let p = place as usize;
                if class < self.layout.classes() {
                    weights.squares[p] = bits[p];
                    let value = weights.sums[sample] + negated(bits[p]) + copied * copies[p];
                    weights.values[p] = value % PLAINTEXT;
                } else {
                    weights.values[p] = empty[p];
                }
            }
            for group in 1..self.layout.groups() {
                // A class has one weight in all other groups: copies differ by nothing else.
                for (&place, &original) in self.places.classes(group, sample).iter().zip(first) {
                    weights.values[place as usize] = copies[original as usize];
                }
            }
        }
        weights
    }

    /// What the sums of the slots should be, negated: one slot for each sample, which the sum over
    /// a run spreads.
    pub(crate) fn expected(&self, weights: &Weights, voters: &[Voter]) -> Vec<u64> {
        let mut sums = vec![0_u64; self.samples];
        for voter in voters {
            let own = self.teacher(voter.teacher);
            for (sample, sum) in sums.iter_mut().enumerate() {
                let present = u64::from(voter.presence.contains(sample));
                *sum += present * own[self.places.run(0, sample)];
            }
        }
        let mut slots = vec![0; self.layout.degree()];
        for (sample, sum) in sums.into_iter().enumerate() {
            let value = weights.sums[sample] * (sum % PLAINTEXT) % PLAINTEXT;
            slots[self.places.classes(0, sample)[0] as usize] = negated(value);
        }
        slots
    }
}

fn negated(x: u64) -> u64 {
    (PLAINTEXT - x) % PLAINTEXT
}

fn uniform<R: RngCore + CryptoRng>(count: usize, rng: &mut R) -> Vec<u64> {
    let mut slots = vec![0; count];
    plaintext_slots(&mut slots, rng);
    slots
}
