//! The random coefficients of the check: drawn when all ballots are frozen, uniform modulo t.

use rand::{CryptoRng, RngCore};
use shield_core::Seed;
use shield_core::engine::Presence;

use crate::layout::{Coding, Content, Layout, Places};
use crate::ring::{LANES, PLAINTEXT};
use crate::scheme::plaintext_slots;

/// Purposes of the random streams: the weights of one teacher, and those of the slots.
const TEACHER: &str = "shield 2026 bfv validity weights of one teacher";
const SLOTS: &str = "shield 2026 bfv validity weights of the slots";

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
    /// Follows from the aggregation's seed and from every ballot.
    pub(crate) challenge: &'a Seed,
    pub(crate) repetition: usize,
    /// Samples of the batch.
    pub(crate) samples: usize,
}

/// The weights of the slots: the same for all teachers.
pub(crate) struct Weights {
    /// Those of each ciphertext of a ballot.
    pub(crate) planes: Vec<PlaneWeights>,
    /// mu of each sample: the weight of the rule that its slots sum to 1.
    sums: Vec<u64>,
}

/// The weights of the slots of one ciphertext of a ballot.
pub(crate) struct PlaneWeights {
    /// Of the squares.
    pub(crate) squares: Vec<u64>,
    /// Of the values themselves.
    pub(crate) values: Vec<u64>,
}

/// Neighbouring slots that share a teacher's weight: a run, or a register where runs are shorter.
///
/// In the latter case some samples share weights. Each of them has its own slot weights, so what is
/// said about one sample does not change.
pub(crate) fn chunk(layout: &Layout) -> usize {
    layout.run().max(LANES)
}

impl Coefficients<'_> {
    /// Which chunk a sample is in, in a group.
    fn chunk(&self, group: usize, sample: usize) -> usize {
        self.places.slots(group, sample)[0] as usize / chunk(self.layout)
    }

    /// The weight of a teacher's ballot at every chunk: the same for a sample in all groups.
    pub(crate) fn teacher(&self, teacher: u32) -> Vec<u64> {
        let index = (self.repetition as u64) << 32 | u64::from(teacher);
        let mut weights = vec![0; self.layout.degree() / chunk(self.layout)];
        plaintext_slots(&mut weights, &mut self.challenge.stream(TEACHER, index));
        for group in 1..self.layout.groups() {
            for sample in 0..self.layout.samples() {
                weights[self.chunk(group, sample)] = weights[self.chunk(0, sample)];
            }
        }
        weights
    }

    /// The weights of the slots.
    pub(crate) fn weights(&self) -> Weights {
        let layout = self.layout;
        let mut rng = self.challenge.stream(SLOTS, self.repetition as u64);
        let sums = match layout.coding() {
            Coding::OneHot => uniform(layout.samples(), &mut rng),
            // Any bits are a code.
            Coding::PackedBits | Coding::BitsAcross => vec![0; layout.samples()],
        };
        let planes = (0..layout.planes())
            .map(|_| self.plane(&uniform(layout.degree(), &mut rng), &sums))
            .collect();
        Weights { planes, sums }
    }

    /// The weights of one ciphertext, from one uniform residue for each slot: lambda where the code
    /// is, lambda' where padding is, gamma where a copy of the code is.
    fn plane(&self, drawn: &[u64], sums: &[u64]) -> PlaneWeights {
        let degree = self.layout.degree();
        let (mut squares, mut values) = (vec![0; degree], vec![0; degree]);
        for (sample, &sum) in sums.iter().enumerate().take(self.samples) {
            let first = self.places.slots(0, sample);
            for group in 0..self.layout.groups() {
                for (slot, &place) in self.places.slots(group, sample).iter().enumerate() {
                    let place = place as usize;
                    match self.layout.content(slot) {
                        Content::Padding => values[place] = drawn[place],
                        Content::Code { original } => {
                            let original = first[original] as usize;
                            if place == original {
                                squares[place] = drawn[place];
                                values[place] += sum + negated(drawn[place]);
                            } else {
                                values[place] = drawn[place];
                                values[original] += negated(drawn[place]);
                            }
                        }
                    }
                }
            }
        }
        for value in &mut values {
            *value %= PLAINTEXT;
        }
        PlaneWeights { squares, values }
    }

    /// What the sums of the slots should be, negated: one slot for each sample, which the sum over
    /// a run spreads.
    pub(crate) fn expected(&self, weights: &Weights, voters: &[Voter]) -> Vec<u64> {
        let mut slots = vec![0; self.layout.degree()];
        if self.layout.coding() != Coding::OneHot {
            return slots;
        }
        let mut sums = vec![0_u64; self.samples];
        for voter in voters {
            let own = self.teacher(voter.teacher);
            for (sample, sum) in sums.iter_mut().enumerate() {
                let present = u64::from(voter.presence.contains(sample));
                *sum += present * own[self.chunk(0, sample)];
            }
        }
        for (sample, sum) in sums.into_iter().enumerate() {
            let value = weights.sums[sample] * (sum % PLAINTEXT) % PLAINTEXT;
            slots[self.places.slots(0, sample)[0] as usize] = negated(value);
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
