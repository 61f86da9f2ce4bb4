//! The server's work on one batch, stage by stage: sum, differences, signs, wins, flooding.

use rayon::prelude::*;
use shield_core::Seed;
use shield_core::engine::noisy_argmax::contributors;
use shield_core::engine::{BallotBox, BallotError, open_ballot};
use shield_core::framing::MadeFor;
use shield_core::shared_noise::SharedNoise;

use super::circuit::{Bounded, Ciphertexts, Circuit};
use super::error::ArgmaxError;
use super::keys::ArgmaxEvaluationKey;
use super::plan::ArgmaxPlan;
use super::wins::{Masks, nonzero};
use crate::ballot::{self, BfvBallot, Maker};
use crate::flooding;
use crate::layout::Places;
use crate::release::Release;
use crate::ring::{Context, PLAINTEXT, Poly};
use crate::scheme::Ciphertext;

/// Purposes of the random streams: the factors of a batch's reveal, and its flooding.
const MASK: &str = "shield 2026 bfv argmax masks of one batch";
const FLOOD: &str = "shield 2026 bfv argmax flooding of one batch";

/// Purpose of the seed that masks and flooding come from.
const BOUND: &str = "shield 2026 bfv argmax seed bound to the sum of a batch";

/// What protects the release; tests leave something out to see that they notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Safeguards {
    /// Masks and flooding.
    Whole,
    /// Flooding only.
    #[cfg(test)]
    WithoutMask,
    /// Masks only.
    #[cfg(test)]
    WithoutFlooding,
}

/// One batch to aggregate.
pub(crate) struct Aggregation<'a> {
    pub(crate) context: &'a Context,
    pub(crate) plan: &'a ArgmaxPlan,
    pub(crate) places: &'a Places,
    pub(crate) coefficients: &'a [i64],
    pub(crate) noise: &'a SharedNoise,
    /// What proofs of ballots are bound to, besides their teachers.
    pub(crate) binding: &'a [u8; 32],
    pub(crate) threshold: Option<u32>,
    pub(crate) key: &'a ArgmaxEvaluationKey,
    pub(crate) seed: &'a Seed,
    pub(crate) batch: usize,
    pub(crate) samples: usize,
    pub(crate) safeguards: Safeguards,
}

impl Aggregation<'_> {
    /// The release: a pure function of the election, the keys, the ballots, the seed and the batch.
    pub(crate) fn run(&self, ballots: &dyn BallotBox<BfvBallot>) -> Result<Release, ArgmaxError> {
        let tally = self.tally(ballots)?;
        let fresh = self.bound_to(&tally);
        Ok(self.release(self.differences(&tally), &fresh))
    }

    /// The release of all differences.
    pub(crate) fn release(&self, differences: Vec<Ciphertext>, fresh: &Seed) -> Release {
        let released = self.reveal(&self.signs(differences), fresh);
        let mut covered = self.cover(released, fresh);
        covered.drop_to(self.context, self.plan.released_limbs());
        Release { ciphertexts: vec![covered], batch: self.batch, key: self.key.id }
    }

    /// The sum of all ballots, which are opened one by one and not kept.
    pub(crate) fn tally(
        &self,
        ballots: &dyn BallotBox<BfvBallot>,
    ) -> Result<Ciphertext, ArgmaxError> {
        let (n, limbs) = (self.context.degree(), self.context.limbs());
        let mut sum = Ciphertext::zero(self.context, limbs);
        let made_for = MadeFor { batch: self.batch, key: self.key.id };
        for teacher in contributors(self.noise, ballots).map_err(BallotError::from)?? {
            let fits = |ballot: &BfvBallot| {
                ballot.presence.len() == self.samples
                    && matches!(&ballot.ciphertexts[..], [only]
                        if only.limbs() == limbs && only.parts[0].degree() == n)
            };
            let ballot = open_ballot(ballots, teacher, made_for, fits)?;
            if self.plan.proofs() {
                let maker = Maker { binding: self.binding, teacher };
                ballot::check(self.context, &self.key.public, maker, &ballot)?;
                let doubled = ballot::doubled(self.context, &ballot.ciphertexts);
                sum.add(self.context, &doubled[0]);
                continue;
            }
            sum.add(self.context, &ballot.ciphertexts[0]);
        }
        if let Some(threshold) = self.threshold {
            let (pairing, last) = (self.plan.pairing(), self.plan.classes() - 1);
            let count = |slot| if pairing.class(slot) == last { u64::from(threshold) } else { 0 };
            sum.add_slots(self.context, self.slots(count));
        }
        Ok(sum)
    }

    /// A seed for masks and flooding that follows from the seed and from everything that is
    /// released under them. Should one seed ever meet two sets of ballots, against all rules, the
    /// two releases at least do not share their masks.
    pub(crate) fn bound_to(&self, tally: &Ciphertext) -> Seed {
        let mut hasher = blake3::Hasher::new_derive_key(BOUND);
        hasher.update(self.seed.as_bytes());
        hasher.update(self.key.id.as_bytes());
        hasher.update(&(self.batch as u64).to_le_bytes());
        let mut bytes = Vec::with_capacity(8 * self.context.degree());
        for limb in tally.parts.iter().flat_map(Poly::iter) {
            bytes.clear();
            bytes.extend(limb.iter().flat_map(|residue| residue.to_le_bytes()));
            hasher.update(&bytes);
        }
        Seed::from_bytes(*hasher.finalize().as_bytes())
    }

    /// Slots that are `value(j)` in slot j of every sample's run.
    fn slots(&self, value: impl Fn(usize) -> u64) -> Vec<u64> {
        let mut slots = vec![0; self.context.degree()];
        for sample in 0..self.plan.samples_per_batch() {
            for (j, &place) in self.places.slots(0, sample).iter().enumerate() {
                slots[place as usize] = value(j);
            }
        }
        slots
    }

    /// y = 2 (x_a - x_b) + 1 if a < b, - 1 otherwise, for each evaluation's pairs (a, b).
    ///
    /// With - 1 for a > b, a tie makes y negative: the lower class wins it either way.
    pub(crate) fn differences(&self, tally: &Ciphertext) -> Vec<Ciphertext> {
        let (context, pairing) = (self.context, self.plan.pairing());
        let evaluations = pairing.evaluations().len();
        let mut sums: Vec<Ciphertext> = vec![tally.clone(); evaluations];
        let mut moved = tally.clone();
        for distance in 1..=pairing.furthest() {
            moved = self.key.step.rotate(context, &moved);
            let mut negated = moved.clone();
            negated.scale(context, -1);
            for (i, sum) in sums.iter_mut().enumerate() {
                let distances = pairing.distances(i);
                if distances == [distance] {
                    sum.add(context, &negated);
                } else if distances.contains(&distance) {
                    let comparisons = &pairing.evaluations()[i];
                    let here =
                        |j| comparisons.iter().any(|c| c.slot == j && c.distance == distance);
                    let mut mask = self.slots(|j| u64::from(here(j)));
                    context.encode(&mut mask);
                    let mask = context.multiplier(&mask, context.limbs());
                    for (part, negated) in sum.parts.iter_mut().zip(&negated.parts) {
                        context.add(part, &context.product(negated, &mask));
                    }
                }
            }
        }
        for (i, sum) in sums.iter_mut().enumerate() {
            sum.drop_to(context, self.plan.start());
            sum.scale(context, 2);
            let comparisons = &pairing.evaluations()[i];
            let lost = |j| comparisons.iter().any(|c| c.slot == j && c.first > c.second);
            sum.add_slots(context, self.slots(|j| if lost(j) { PLAINTEXT - 1 } else { 1 }));
        }
        sums
    }

    /// The sign of every y, at the level of the wins.
    pub(crate) fn signs(&self, differences: Vec<Ciphertext>) -> Vec<Ciphertext> {
        let arithmetic =
            Ciphertexts { context: self.context, relinearisation: &self.key.relinearisation };
        let noise = self.plan.stages().difference;
        let sign = |value| {
            let circuit = Circuit { ring: self.plan.ring(), arithmetic: &arithmetic };
            let y = Bounded { value, noise };
            let mut sign = circuit.sign(y, self.plan.blocks(), self.coefficients).value;
            sign.drop_to(self.context, self.plan.wins());
            sign
        };
        differences.into_par_iter().map(sign).collect()
    }

    /// r (K - 1 - L) in the slot of each class: see [`super::wins`].
    pub(crate) fn reveal(&self, signs: &[Ciphertext], fresh: &Seed) -> Ciphertext {
        let (context, steps, classes) = (self.context, self.plan.steps(), self.plan.classes());
        let limbs = self.plan.wins();
        let stepped: Vec<Vec<Ciphertext>> = signs
            .par_iter()
            .map(|sign| {
                let mut moved = vec![sign.clone()];
                for i in 0..steps.most_steps() {
                    moved.push(self.key.step.rotate(context, &moved[i]));
                }
                moved
            })
            .collect();
        let count = self.samples * classes;
        let values = match self.safeguards {
            #[cfg(test)]
            Safeguards::WithoutMask => vec![1; count],
            _ => nonzero(count, &mut fresh.stream(MASK, self.batch as u64)),
        };
        let masks = Masks { values, classes, places: self.places.all() };
        let mut sum = Ciphertext::zero(context, limbs);
        for leaps in (0..=steps.leaps()).rev() {
            steps.add(context, &mut sum, &stepped, leaps, &masks);
            if leaps > 0 {
                sum = self.key.leap.rotate(context, &sum);
            }
        }
        let mut constant = vec![0; context.degree()];
        for (sample, r) in masks.values.chunks_exact(classes).enumerate() {
            for (&place, r) in self.places.slots(0, sample).iter().zip(r) {
                constant[place as usize] = r * (classes as u64 - 1) % PLAINTEXT;
            }
        }
        sum.add_slots(context, constant);
        sum
    }

    /// Re-randomised and flooded: see [`crate::flooding`].
    pub(crate) fn cover(&self, released: Ciphertext, fresh: &Seed) -> Ciphertext {
        let mut rng = fresh.stream(FLOOD, self.batch as u64);
        if self.plan.trustees().is_some() {
            // Trustees flood their shares of what is read of it.
            return flooding::rerandomise(self.context, &self.key.public, released, &mut rng);
        }
        let bits = match self.safeguards {
            #[cfg(test)]
            Safeguards::WithoutFlooding => 1,
            _ => self.plan.flooding_bits(),
        };
        flooding::cover(self.context, &self.key.public, released, bits, &mut rng)
    }
}
