//! The one-shot reveal: the student sees the label of each sample, and nothing else, without a
//! prefix product.
//!
//! # Construction
//!
//! Let pi_j be the one-hot-or-zero outcome of round j, n_j its sum over classes (1 if the round
//! succeeded) and s_j the sum of n_i over earlier rounds i < j. Then `v_j = 1 - n_j + s_j` is 0 for
//! the first round that succeeds and between 1 and the number of rounds for every other one, so
//! never a multiple of t. The release is `u_j = pi_j + r_j v_j` with r_j uniform in every slot.
//! (All of it times D!, the value of [`crate::unanimity`] on success, which changes nothing.)
//!
//! The rounds of each sample stand in its cells at a secret cyclic shift, uniform and drawn anew
//! for each sample: round j is in cell (j + shift) mod a. The shift costs nothing, because the
//! tally's masks are made for it: cell c tallies whatever round stands there. Only v needs to know
//! the order, cell by cell: for a sample with a given shift, the successes of cell c' enter v of
//! cell c with coefficient -1 if c' = c, +1 if the round in c' comes before the round in c, and 0
//! otherwise. Multiplied by r that is one plaintext for each pair of ciphertexts, so everything
//! after the unanimity test is linear, and the circuit's depth is that of the test. (The paper's
//! prefix product costs another log2 of the rounds.)
//!
//! # What the student sees
//!
//! **Claim.** For each sample, the cells are: if some round succeeds with class k, one cell, at a
//! uniform place, that is D! at class k and 0 at all others, and uniform slots in every other cell;
//! if none does, uniform slots in every cell. All of this is independent across samples, of the
//! round that won, of the votes and of the draws, given the labels.
//!
//! **Proof.** Fix votes, draws and shifts. In a cell with v != 0, r v is uniform in every slot, as
//! t is prime and r is uniform, and so is pi + r v; the r of different slots are independent. A
//! cell with v = 0 holds exactly the first success: there pi is one-hot and u = pi. So given the
//! label, the cells depend on votes and draws only through the place of the clean cell, (j + shift)
//! mod a, which is uniform for every j because the shift is uniform and in nothing else. []
//!
//! So the slots can be simulated from the labels. That the rest of a ciphertext can,
//! [`crate::flooding`] proves. A student that wants a label finds the one clean cell; that junk
//! looks clean has a chance of at most K a / t^K' a sample, below 2^-100.

use rand::{CryptoRng, RngCore};
use rayon::prelude::*;
use shield::Seed;

use crate::layout::{Layout, Places};
use crate::ring::{Buffer, Context, PLAINTEXT, limb};
use crate::scheme::{Ciphertext, plaintext_slots};

/// Purposes of the random streams: a shift a sample, masks a ciphertext.
const SHIFT: &str = "shield 2026 bfv cyclic shift of one sample";
const MASK: &str = "shield 2026 bfv reveal masks of one ciphertext";

/// Plaintexts held at a time.
const TERMS: usize = 8;

/// What protects the release; tests leave something out to see that they notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Safeguards {
    /// Shifts and masks.
    Whole,
    /// Masks only.
    #[cfg(test)]
    WithoutShift,
    /// Shifts only.
    #[cfg(test)]
    WithoutMask,
}

impl Safeguards {
    /// The secret cyclic shift of a sample: round j stands in cell (j + shift) mod rounds.
    pub(crate) fn shift(self, seed: &Seed, sample: u64, rounds: usize) -> usize {
        match self {
            #[cfg(test)]
            Self::WithoutShift => 0,
            _ => below(rounds as u64, &mut seed.stream(SHIFT, sample)) as usize,
        }
    }

    fn mask(self, slots: &mut [u64], rng: &mut impl CryptoRng) {
        match self {
            #[cfg(test)]
            Self::WithoutMask => slots.fill(1),
            _ => plaintext_slots(slots, rng),
        }
    }
}

/// A uniform number below `bound`, without any bias: words of the last, incomplete round are drawn
/// again.
fn below(bound: u64, rng: &mut impl RngCore) -> u64 {
    let whole = u64::MAX - u64::MAX % bound;
    loop {
        let word = rng.next_u64();
        if word < whole {
            return word % bound;
        }
    }
}

/// What the reveal is computed from.
pub(crate) struct Rounds {
    /// The outcomes pi, one ciphertext a layout's ciphertext of cells.
    pub(crate) outcomes: Vec<Ciphertext>,
    /// For each of those, for each move between groups: the successes n, moved.
    pub(crate) successes: Vec<Vec<Ciphertext>>,
}

/// Which pairs of cells a plaintext of the reveal connects.
#[derive(Clone, Copy)]
struct Pair {
    target: usize,
    source: usize,
    by: usize,
}

/// `u = pi + r v` in every ciphertext of cells.
pub(crate) struct Reveal<'a> {
    pub(crate) context: &'a Context,
    pub(crate) layout: &'a Layout,
    pub(crate) places: &'a Places,
    /// The shift of each sample of the batch.
    pub(crate) shifts: &'a [usize],
    /// The value of a success.
    pub(crate) success: u64,
    pub(crate) seed: &'a Seed,
    pub(crate) batch: usize,
    pub(crate) safeguards: Safeguards,
}

impl Reveal<'_> {
    /// The released ciphertexts, before flooding.
    pub(crate) fn run(&self, rounds: &Rounds) -> Vec<Ciphertext> {
        (0..self.layout.ciphertexts())
            .into_par_iter()
            .map(|target| self.ciphertext(rounds, target))
            .collect()
    }

    fn ciphertext(&self, rounds: &Rounds, target: usize) -> Ciphertext {
        let context = self.context;
        let index = self.batch * self.layout.ciphertexts() + target;
        let mut mask = vec![0; context.degree()];
        self.safeguards.mask(&mut mask, &mut self.seed.stream(MASK, index as u64));
        let mut out = rounds.outcomes[target].clone();
        let constant = mask.iter().map(|r| r * self.success % PLAINTEXT).collect();
        out.add_slots(context, constant);
        let pairs: Vec<Pair> = (0..self.layout.ciphertexts())
            .flat_map(|source| (0..self.layout.groups()).map(move |by| (source, by)))
            .map(|(source, by)| Pair { target, source, by })
            .collect();
        let mut values = vec![Buffer::stale(context.degree()); TERMS];
        for pairs in pairs.chunks(TERMS) {
            let plaintexts: Vec<Buffer> = pairs
                .iter()
                .map(|&pair| {
                    let mut slots = self.slots(pair, &mask);
                    context.encode(&mut slots);
                    slots
                })
                .collect();
            for i in 0..out.limbs() {
                let ntt = &context.q()[i];
                for (plaintext, values) in plaintexts.iter().zip(&mut values) {
                    context.lift_multiplier(i, plaintext, values);
                    ntt.forward(values);
                }
                for (part, sum) in out.parts.iter_mut().enumerate() {
                    let successes =
                        pairs.iter().map(|p| rounds.successes[p.source][p.by].parts[part].limb(i));
                    let terms: Vec<(&[u64], &[u64])> =
                        values.iter().map(|values| &**values).zip(successes).collect();
                    limb::add_products(ntt.modulus(), sum.limb_mut(i), &terms);
                }
            }
        }
        out
    }

    /// r times the coefficient with which the source's successes enter the target's v.
    fn slots(&self, pair: Pair, mask: &[u64]) -> Buffer {
        let (run, rounds, groups) = (self.layout.run(), self.layout.rounds(), self.layout.groups());
        let mut slots = Buffer::zeroed(mask.len());
        for group in 0..groups {
            let own = pair.target * groups + group;
            let other = pair.source * groups + self.layout.moved(group, pair.by);
            if own >= rounds || other >= rounds {
                continue;
            }
            for (sample, &shift) in self.shifts.iter().enumerate() {
                let round = |cell: usize| (cell + rounds - shift) % rounds;
                let start = self.places.run(group, sample) * run;
                let (slots, mask) = (&mut slots[start..][..run], &mask[start..][..run]);
                if own == other {
                    for (slot, &r) in slots.iter_mut().zip(mask) {
                        *slot = (PLAINTEXT - r) % PLAINTEXT;
                    }
                } else if round(other) < round(own) {
                    slots.copy_from_slice(mask);
                }
            }
        }
        slots
    }
}
