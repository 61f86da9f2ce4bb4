//! Validity: every ballot is a vote, or the samples it cheats on are found out.
//!
//! A teacher could encrypt anything. For honest ballots every slot z is 0 or 1, the classes of a
//! present sample sum to 1, padding and absent samples are 0, and copies of a vote in several
//! groups are equal. All of it is checked while encrypted, when the ballots are frozen, with
//! coefficients drawn then.
//!
//! # Construction
//!
//! Per repetition, for teacher t, group g, sample s and slot k, let w_(t,g,s), lambda_(s,k),
//! lambda'_(s,k), gamma_(s,k) and mu_s be uniform modulo t and independent, except that with
//! several groups `w_(t,0,s) = - sum over g > 0 of w_(t,g,s)`. With z the slots of the ballots,
//!
//! ```text
//! V_s = sum over t of w_(t,0,s) [ sum over classes k of lambda_k (z_0k^2 - z_0k)
//!                               + mu (sum over classes k of z_0k - present_t)
//!                               + sum over padding k of lambda'_k z_0k ]
//!     + sum over t, g > 0, k of w_(t,g,s) gamma_k (z_gk - [k is a class] z_0k)
//! ```
//!
//! The second line is `w gamma z` summed over *all* groups, because the w of a sample sum to zero.
//! So everything about teacher t has one weight per run, and V is `A Q + B L` summed over the
//! slots of a run and over groups, where `Q = sum_t w_t c_t^2` and `L = sum_t w_t c_t` over all
//! ballots ([`sums`]), A and B are two plaintexts ([`Coefficients::weights`]) and a constant
//! holds `- mu sum_t w_t present_t`. Two repetitions give V and V*. Every released ciphertext gets
//! `r V + r* V*` added, with r and r* uniform in every slot, drawn for this and nothing else (the
//! reveal has masks of its own).
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
//! **Proof.** V is a polynomial of degree 2 in the independent coefficients. The monomials w_tg
//! lambda_k, w_tg mu, w_tg lambda'_k and w_tg gamma_k occur once each, with the factors z^2 - z,
//! `sum - present`, z and a difference of copies: one of them is not zero. So V is not the zero
//! polynomial, and by Schwartz and Zippel it is 0 with probability at most 2/t; V and V* have
//! independent coefficients. If V is not 0, r V is uniform in every slot (t is prime), whatever
//! else is added, and likewise for V*. []
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
//! # Coefficients
//!
//! They follow from the aggregation's seed and from the digest of every ballot
//! ([`challenge`]), and the masks from a seed that is bound to V and V* too: ballots that were
//! never drawn are in no tally. Should one seed meet two sets of ballots, against all rules,
//! neither coefficients nor masks are shared.
//!
//! # The composable release
//!
//! There, too, `r V + r* V*` is added to the label itself. A separate ciphertext of `r V` would
//! leave the label of a cheated sample readable, and that is a function of a ballot that is no
//! vote, of other ballots and of draws. The student tells a spoiled sample from a label and from
//! "no label" without a second ciphertext: junk is neither one-hot nor zero. A sum of labels is
//! junk in just the slots of the samples that were spoiled in one of them.
//!
//! # Limits
//!
//! A ballot's *error* is only partly checked: one that is larger than a fresh one's, and small
//! enough for V to come out as zero, passes and weakens the flooding (the tests measure from which
//! size on it is caught). And whoever *sees* a ballot can multiply it by a plaintext that keeps one
//! slot and send that: V = 0 then says that the slot is zero. Ballots stay between teacher and
//! server.

mod coefficients;
mod examination;
mod sums;

use rayon::prelude::*;
use shield::Seed;

pub(crate) use coefficients::{Coding, Coefficients, Voter};
pub(crate) use examination::{Examination, challenge, voters};

use crate::keys::EvaluationKey;
use crate::layout::{Layout, Places};
use crate::ring::{Buffer, Context, limb};
use crate::scheme::{Ciphertext, plaintext_slots};
use sums::{Summed, Sums};

/// Repetitions of the check, with independent coefficients.
pub(crate) const REPETITIONS: usize = 2;

/// Purpose of the random streams of the masks: one per ciphertext and repetition.
const MASK: &str = "shield 2026 bfv validity masks of one ciphertext";

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
    pub(crate) coding: Coding,
    pub(crate) challenge: Seed,
    pub(crate) samples: usize,
}

impl Validity<'_> {
    /// The coefficients of one repetition.
    pub(crate) fn coefficients(&self, repetition: usize) -> Coefficients<'_> {
        Coefficients {
            layout: self.layout,
            places: self.places,
            coding: self.coding,
            challenge: &self.challenge,
            repetition,
            samples: self.samples,
        }
    }

    /// Adds up to eight ballots to the sums.
    fn add(&self, sums: &mut Sums, ballots: &[(u32, &Ciphertext)]) {
        let weights = std::array::from_fn(|repetition| {
            let coefficients = self.coefficients(repetition);
            ballots.iter().map(|&(teacher, _)| coefficients.teacher(teacher)).collect()
        });
        let ciphertexts: Vec<&Ciphertext> = ballots.iter().map(|&(_, c)| c).collect();
        sums.add(self.context, &ciphertexts, &weights);
    }

    /// V of each repetition, in every slot of every run of its sample.
    fn finish(&self, sums: &Sums, voters: &[Voter]) -> Vec<Ciphertext> {
        let summed = sums.finish(self.context, &self.key.relinearisation);
        let finish = |(repetition, summed)| self.spread(repetition, &summed, voters);
        summed.into_par_iter().enumerate().map(finish).collect()
    }

    /// V from the sums over ballots: weighted slot by slot, then summed over runs and groups.
    fn spread(&self, repetition: usize, summed: &Summed, voters: &[Voter]) -> Ciphertext {
        let context = self.context;
        let coefficients = self.coefficients(repetition);
        let weights = coefficients.weights();
        let expected = coefficients.expected(&weights, voters);
        let mut v = times(context, &summed.squares, weights.squares);
        v.add(context, &times(context, &summed.values, weights.values));
        v.add_slots(context, expected);
        for rotation in self.key.class_sums.iter().chain(&self.key.group_moves) {
            let rotated = rotation.rotate(context, &v);
            v.add(context, &rotated);
        }
        v
    }

    /// V of the first repetition for one teacher alone.
    pub(crate) fn of_teacher(&self, voter: Voter, ballot: &Ciphertext) -> Ciphertext {
        let mut sums = Sums::new(self.context);
        self.add(&mut sums, &[(voter.teacher, ballot)]);
        let first = sums.repetition(self.context, &self.key.relinearisation, 0);
        self.spread(0, &first, &[voter])
    }
}

/// A ciphertext times a plaintext, given by its slots.
pub(crate) fn times(context: &Context, c: &Ciphertext, mut slots: Vec<u64>) -> Ciphertext {
    context.encode(&mut slots);
    let multiplier = context.multiplier(&slots, c.limbs());
    Ciphertext { parts: c.parts.each_ref().map(|part| context.product(part, &multiplier)) }
}

/// Adds `r V` of each repetition to released ciphertext number `index`, with r uniform at the
/// slots that `kept` keeps.
pub(crate) fn mask(
    context: &Context,
    released: &mut Ciphertext,
    checks: &[Ciphertext],
    fresh: &Seed,
    index: usize,
    kept: impl Fn(usize) -> bool,
) {
    let masks: Vec<Vec<u64>> = (0..checks.len())
        .map(|repetition| {
            let mut slots = vec![0; context.degree()];
            let stream = (index * checks.len() + repetition) as u64;
            plaintext_slots(&mut slots, &mut fresh.stream(MASK, stream));
            for (place, slot) in slots.iter_mut().enumerate() {
                *slot *= u64::from(kept(place));
            }
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
