//! Validity: every ballot is a vote, or the samples it cheats on are found out.
//!
//! A teacher could encrypt anything. For honest ballots every slot z is 0 or 1, padding is 0,
//! copies of a part of a vote, in a run or in several groups, are equal, and where classes are
//! one-hot the slots of a sample sum to 1 if the teacher is present, else to 0. All of it is
//! checked while encrypted, when the ballots are frozen, with coefficients drawn then.
//!
//! # Construction
//!
//! Let the *originals* of a sample be the slots of its first run that write the code of a class, in
//! every ciphertext of a ballot. The other slots of the sample's runs are padding, or copies of an
//! original o(k). Per repetition, let w_(t,s) for teacher t and sample s, lambda_(s,k) for slot k
//! and mu_s be uniform modulo t and independent. (mu is 0 where classes are in bits: any bits are a
//! code.) With z the slots of the ballots,
//!
//! ```text
//! V_s = sum over t of w_(t,s) [ sum over originals k of lambda_k (z_k^2 - z_k)
//!                             + mu (sum over originals k of z_k - present_t)
//!                             + sum over padding k of lambda_k z_k
//!                             + sum over copies k of lambda_k (z_k - z_o(k)) ]
//! ```
//!
//! Everything about teacher t has one weight per sample, and V is `A Q + (B + t R) L` summed over
//! the ciphertexts of a ballot, the slots of a run and the groups, where `Q = sum_t w_t c_t^2` and
//! `L = sum_t w_t c_t` over all ballots ([`sums`]), A and B are two plaintexts for each ciphertext
//! of a ballot ([`Coefficients::weights`]), R is uniform modulo t and a constant holds `- mu sum_t
//! w_t present_t`. Two repetitions give V and V*. Every released ciphertext gets `r V + r* V*`
//! added, with r and r* uniform in every slot, drawn for this and nothing else (the reveal has
//! masks of its own).
//!
//! # Honest runs are unchanged
//!
//! For honest ballots every bracket and every difference is zero, whatever the coefficients: V =
//! V* = 0 in every slot, and so is what is added. The noise bound counts it ([`crate::noise`]).
//!
//! # A cheated sample shows nothing but that it was cheated
//!
//! **Claim.** If some ballot is no vote on sample s, then, except with probability 4/t^2 < 2^-29
//! over the coefficients, all slots of all cells of s are uniform and independent of each other
//! and of everything else.
//!
//! **Proof.** V is a polynomial of degree 2 in the independent coefficients. The monomials w_t
//! lambda_k and w_t mu occur once each, with the factors z^2 - z, z or a difference of copies, and
//! `sum - present`: one of them is not zero. So V is not the zero polynomial, and by Schwartz and
//! Zippel it is 0 with probability at most 2/t; V and V* have independent coefficients. If V is not
//! 0, r V is uniform in every slot (t is prime), whatever else is added, and likewise for V*. []
//!
//! (With one slot per sample, eight samples share the w of a teacher: a weight is constant on
//! registers. Nothing above is about two samples at once.) Codes of classes that do not exist pass:
//! see [`crate::alarms`]. So does what a ballot in bits holds where its teacher is absent: nobody
//! draws it.
//!
//! Whether V is zero depends on the ballots and the coefficients alone, not on the draws: that a
//! sample was spoiled says nothing about whom the server drew. (Weights that are 0 where a teacher
//! was not drawn would spoil fewer samples, and give just that away.) Labels of other samples do
//! not change: a ballot meets a sample only in the sample's own runs. Padding enters the sums over
//! classes, but only in samples in which V hides the result.
//!
//! **Class weights are a must**: (-1, 2/257, 512/257) has sum and sum of squares 1 and would pass
//! a lambda that is the same for all classes.
//!
//! # A ballot that is no encryption shows nothing either
//!
//! The bracket above speaks of slots, and only a phase `Delta m + e` with a short e has any. Delta
//! times an idempotent of the ring modulo Q, say Delta at some roots and 0 at the others, is none,
//! and `-t` times its square is itself: A Q alone would find it a bit everywhere. `t R L` is there
//! for such phases. To honest ballots it adds `R (t e - m)`, noise and nothing else, because t is
//! zero among slots.
//!
//! **Claim.** Let p be the phase of L. If V decrypts to zeros within its noise bound with a
//! probability of more than 1/k over R, then `j t p` is short for some j < k: twice the bound at
//! most. So j times L is an encryption with a short error.
//!
//! **Proof.** Fix all of R but one coefficient: V is a constant plus that coefficient times `t X^i
//! p`, summed over the slots of runs and the groups. If more than a share of 1/k of its t values
//! leave V short, two of them differ by some j < k, and the difference of the two V is j times that
//! sum. This holds for every i, and the sums for all i determine p. []
//!
//! (An idempotent times t is as large as Q at almost every coefficient, times any small j: R makes
//! all its samples junk. The weights w keep phases of several teachers from cancelling out.)
//!
//! # Coefficients
//!
//! They follow from the aggregation's seed and from the digest of every ballot
//! ([`challenge`]), and the masks from a seed that is bound to V and V* too: ballots that were
//! never drawn are in no tally. Should one seed meet two sets of ballots, against all rules,
//! neither coefficients nor masks are shared.
//!
//! # Limits
//!
//! A ballot's *error* is only partly checked: one that is larger than a fresh one's, and small
//! enough for V to come out as zero, passes and weakens the flooding (the tests measure from which
//! size on it is caught). So do the errors of the student's own keys. And whoever *sees* a ballot
//! can multiply it by a plaintext that keeps one slot and send that: V = 0 then says that the slot
//! is zero. Ballots stay between teacher and server. Proofs of the ballots ([`crate::proof`]) end
//! both limits.

mod coefficients;
mod sums;

use rayon::prelude::*;
use shield_core::Seed;

pub(crate) use crate::keys::EvaluationKey;
use crate::layout::{Layout, Places};
use crate::noise::{Noise, Ring};
use crate::ring::{Buffer, Context, PLAINTEXT, limb};
use crate::scheme::{Ciphertext, Raised, plaintext_slots, times};
pub(crate) use coefficients::{Coefficients, Voter, chunk};
pub(crate) use sums::{ReducedSums, Sums};

/// Repetitions of the check, with independent coefficients.
pub(crate) const REPETITIONS: usize = 2;

/// Purpose of the random streams of the masks: one per ciphertext and repetition.
const MASK: &str = "shield 2026 bfv validity masks of one ciphertext";

/// Purpose of the random streams that ask for the ballots' shape: one per repetition.
const SHAPE: &str = "shield 2026 bfv validity shape of the ballots";

/// The factor B of the values, raised by R: uniform modulo t.
const SHAPED: Raised = Raised { width: PLAINTEXT };

/// Whether an aggregation checks its ballots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BallotCheck {
    /// Samples with a ballot that is no vote come out as junk.
    #[default]
    On,
    /// Any ballot counts as whatever it says: only to measure what the check costs.
    Off,
}

/// The check of one batch.
pub(crate) struct Validity<'a> {
    pub(crate) context: &'a Context,
    pub(crate) layout: &'a Layout,
    pub(crate) places: &'a Places,
    pub(crate) key: &'a EvaluationKey,
    pub(crate) challenge: Seed,
    pub(crate) samples: usize,
}

impl Validity<'_> {
    /// The coefficients of one repetition.
    pub(crate) fn coefficients(&self, repetition: usize) -> Coefficients<'_> {
        Coefficients {
            layout: self.layout,
            places: self.places,
            challenge: &self.challenge,
            repetition,
            samples: self.samples,
        }
    }

    /// Empty sums, for each ciphertext of a ballot.
    pub(crate) fn sums(&self) -> Vec<Sums> {
        (0..self.layout.planes()).map(|_| Sums::new(self.context)).collect()
    }

    /// Adds some ballots to the sums.
    pub(crate) fn add(&self, sums: &mut [Sums], ballots: &[(u32, &[Ciphertext])]) {
        let weights = std::array::from_fn(|repetition| {
            let coefficients = self.coefficients(repetition);
            ballots.iter().map(|&(teacher, _)| coefficients.teacher(teacher)).collect()
        });
        let weights = Sums::encode(self.context, &weights);
        for (plane, sums) in sums.iter_mut().enumerate() {
            let ciphertexts: Vec<&Ciphertext> = ballots.iter().map(|(_, c)| &c[plane]).collect();
            sums.add(self.context, &ciphertexts, &weights);
        }
    }

    /// V of each repetition, in every slot of every run of its sample.
    pub(crate) fn finish(&self, sums: &[Sums], voters: &[Voter]) -> Vec<Ciphertext> {
        self.of_sums(&self.reduced(sums), voters)
    }

    /// The sums modulo the primes: those of several shards add up.
    pub(crate) fn reduced(&self, sums: &[Sums]) -> Vec<ReducedSums> {
        sums.iter().map(|sums| sums.reduced(self.context)).collect()
    }

    /// V of each repetition from sums over all ballots.
    pub(crate) fn of_sums(&self, sums: &[ReducedSums], voters: &[Voter]) -> Vec<Ciphertext> {
        let finish = |repetition| self.spread(repetition, sums, voters);
        (0..REPETITIONS).into_par_iter().map(finish).collect()
    }

    /// V from the sums over ballots: weighted slot by slot, then summed over runs and groups.
    fn spread(&self, repetition: usize, sums: &[ReducedSums], voters: &[Voter]) -> Ciphertext {
        let context = self.context;
        let coefficients = self.coefficients(repetition);
        let weights = coefficients.weights();
        let expected = coefficients.expected(&weights, voters);
        let mut v = Ciphertext::zero(context, context.limbs());
        let mut rng = self.challenge.stream(SHAPE, repetition as u64);
        for (sums, weights) in sums.iter().zip(weights.planes) {
            let summed = sums.repetition(context, &self.key.relinearisation, repetition);
            v.add(context, &times(context, &summed.squares, weights.squares));
            v.add(context, &SHAPED.times(context, &summed.values, weights.values, &mut rng));
        }
        v.add_slots(context, expected);
        self.key.sample_sum(context, self.layout, v)
    }

    /// V of the first repetition for one teacher alone.
    pub(crate) fn of_teacher(&self, voter: Voter, ballot: &[Ciphertext]) -> Ciphertext {
        let mut sums = self.sums();
        self.add(&mut sums, &[(voter.teacher, ballot)]);
        self.spread(0, &self.reduced(&sums), &[voter])
    }
}

/// The bound on the noise of V over the ballots of so many teachers.
pub(crate) fn noise(ring: Ring, layout: &Layout, teachers: usize) -> Noise {
    // With several groups, the weights of both rows are the same: their values at the roots are
    // real, and have twice the variance in that direction.
    let rows = if layout.groups() > 1 { 2 } else { 1 };
    let terms = rows * layout.degree() / chunk(layout);
    let summands = ring.validity(teachers, terms, layout.planes());
    let stages = layout.check_stages();
    stages.iter().fold(summands, |sum, &rotations| ring.sum_of_rotations(sum, rotations))
}

/// Adds `r V` of each repetition to released ciphertext number `index`, with r uniform.
pub(crate) fn mask(
    context: &Context,
    released: &mut Ciphertext,
    checks: &[Ciphertext],
    fresh: &Seed,
    index: usize,
) {
    let masks: Vec<Vec<u64>> = (0..checks.len())
        .map(|repetition| {
            let mut slots = vec![0; context.degree()];
            let stream = (index * checks.len() + repetition) as u64;
            plaintext_slots(&mut slots, &mut fresh.stream(MASK, stream));
            context.encode(&mut slots);
            slots
        })
        .collect();
    let mut values = vec![Buffer::stale(context.degree()); checks.len()];
    for i in 0..released.limbs() {
        let ntt = &context.q()[i];
        for (mask, values) in masks.iter().zip(&mut values) {
            context.lift_multiplier(i, mask, values);
            ntt.forward(values);
        }
        for (part, sum) in released.parts.iter_mut().enumerate() {
            let checks = checks.iter().map(|check| check.parts[part].limb(i));
            let terms: Vec<(&[u64], &[u64])> =
                values.iter().map(|values| &**values).zip(checks).collect();
            limb::add_products(ntt.modulus(), sum.limb_mut(i), &terms);
        }
    }
}
