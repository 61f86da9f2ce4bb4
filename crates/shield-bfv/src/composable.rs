//! The composable release: an encryption of the one-hot label, as the paper outputs it.
//!
//! What is released is switched down to one prime: such encryptions can be added up (to count
//! labels, say), not multiplied or rotated.
//!
//! This is the paper's own output: the outcome of round j counts if no earlier round succeeded.
//! With (res, fail) of two neighbouring stretches of rounds, the whole stretch has `res = res1 +
//! fail1 res2` and `fail = fail1 fail2`; so a tree of depth log2 of the rounds does it, first
//! between the groups of each ciphertext, then between ciphertexts. Here the factor D! must be
//! divided out, once.
//!
//! The label of sample i is one-hot in the run of group 0; all other runs are multiplied by zero
//! before the release, because they hold partial results.

use rayon::prelude::*;

use crate::keys::EvaluationKey;
use crate::layout::{Layout, Places};
use crate::noise::{Noise, Ring};
use crate::ring::{Context, Modulus, PLAINTEXT};
use crate::scheme::{Ciphertext, multiply};

/// A stretch of rounds: its first success one-hot, and whether none succeeded.
#[derive(Clone)]
struct Stretch {
    outcome: Ciphertext,
    failure: Ciphertext,
}

/// The encrypted labels, before flooding.
pub(crate) fn labels(
    context: &Context,
    layout: &Layout,
    places: &Places,
    key: &EvaluationKey,
    outcomes: Vec<Ciphertext>,
    success: u64,
    samples: usize,
) -> Ciphertext {
    let t = Modulus::new(PLAINTEXT);
    let inverse = t.centred(t.inv(success));
    let mut stretches: Vec<Stretch> = outcomes
        .into_par_iter()
        .map(|mut outcome| {
            outcome.scale(context, inverse);
            let mut failure = outcome.clone();
            for rotation in &key.run_turns {
                let rotated = rotation.rotate(context, &failure);
                failure.add(context, &rotated);
            }
            failure.scale(context, -1);
            failure.add_constant(context, 1);
            key.group_moves.iter().fold(Stretch { outcome, failure }, |stretch, step| {
                let later = Stretch {
                    outcome: step.rotate(context, &stretch.outcome),
                    failure: step.rotate(context, &stretch.failure),
                };
                join(context, key, &stretch, &later)
            })
        })
        .collect();
    while stretches.len() > 1 {
        stretches = stretches
            .par_chunks(2)
            .map(|pair| match pair {
                [first, later] => join(context, key, first, later),
                _ => pair[0].clone(),
            })
            .collect();
    }
    let mut label = stretches.swap_remove(0).outcome;
    if layout.groups() > 1 {
        let mut slots = vec![0; context.degree()];
        for sample in 0..samples {
            for &place in places.slots(0, sample) {
                slots[place as usize] = 1;
            }
        }
        context.encode(&mut slots);
        let multiplier = context.multiplier(&slots, label.limbs());
        label.parts = label.parts.map(|part| context.product(&part, &multiplier));
    }
    label
}

fn join(context: &Context, key: &EvaluationKey, first: &Stretch, later: &Stretch) -> Stretch {
    let product = |x: &Ciphertext| multiply(context, &key.relinearisation, &first.failure, Some(x));
    let mut outcome = product(&later.outcome);
    outcome.add(context, &first.outcome);
    Stretch { outcome, failure: product(&later.failure) }
}

/// Products of ciphertexts that [`labels`] makes.
pub(crate) fn products(layout: &Layout) -> usize {
    let ciphertexts = layout.ciphertexts();
    2 * (ciphertexts * layout.groups().ilog2() as usize + ciphertexts - 1)
}

/// Products in sequence that [`labels`] makes.
pub(crate) fn depth(layout: &Layout) -> u32 {
    layout.groups().ilog2() + layout.ciphertexts().next_power_of_two().ilog2()
}

/// Rotations between groups that [`labels`] makes.
pub(crate) fn rotations(layout: &Layout) -> usize {
    2 * layout.ciphertexts() * layout.groups().ilog2() as usize
}

/// The bound on the noise of [`labels`], which it follows step by step.
pub(crate) fn noise(ring: Ring, layout: &Layout, unanimity: Noise) -> Noise {
    let half = PLAINTEXT as f64 / 2.0;
    let mut outcome = ring.combine(unanimity, unanimity, half);
    let stages = layout.run_stages();
    let sum = stages.iter().fold(outcome, |sum, stage| ring.sum_of_rotations(sum, stage.len()));
    let mut failure = ring.combine(sum, sum, 0.0);
    for _ in 0..layout.groups().ilog2() {
        let (o, f) = (ring.rotation(outcome), ring.rotation(failure));
        outcome = ring.combine(ring.product(failure, o), outcome, 1.0);
        failure = ring.product(failure, f);
    }
    for _ in 0..layout.ciphertexts().next_power_of_two().ilog2() {
        outcome = ring.combine(ring.product(failure, outcome), outcome, 1.0);
        failure = ring.product(failure, failure);
    }
    if layout.groups() > 1 { ring.selected(outcome) } else { outcome }
}
