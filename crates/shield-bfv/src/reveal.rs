//! The one-shot reveal: the student sees the label of each sample, and nothing else, without a
//! prefix product.
//!
//! # Construction
//!
//! Let pi_j be the outcome of round j: one-hot or zero where classes are one-hot, the tally of the
//! bits where classes are in bits. Let n_j be 1 if the round succeeded, else 0, and s_j the sum of
//! n_i over earlier rounds i < j. Then `v_j = 1 - n_j + s_j` is 0 for the first round that succeeds
//! and between 1 and the number of rounds for every other one, so never a multiple of t. The
//! release is `u_j = pi_j + r_j v_j` with r_j uniform in every slot. (n and v are times the value
//! of a success, a constant that is not 0 modulo t: see [`crate::unanimity`].)
//!
//! The rounds of each sample stand in its cells under a secret shift, uniform and drawn anew for
//! each sample. The shift costs nothing, because the tally's masks are made for it: a cell tallies
//! whatever round stands there. Only v needs to know the order. The cells are numbered in digits,
//! and each digit is shifted cyclically on its own (`layout/cells.rs`), so s_j is a sum of
//! sibling subtrees, each of which counts or not, depending on the sample. Multiplied by r that
//! is one plaintext for each sibling, so everything after the successes is linear, and one deep.
//! (The paper's prefix product costs another log2 of the rounds.) Cells in which no round stands
//! fail, like a round whose draws disagree.
//!
//! # What the student sees
//!
//! **Claim.** For each sample, the cells are: if some round succeeds with class k, one cell, at a
//! uniform place, that holds the code of k and nothing else, and uniform slots in every other cell;
//! if none does, uniform slots in every cell. All of this is independent across samples, of the
//! round that won, of the votes and of the draws, given the labels.
//!
//! **Proof.** Fix votes, draws and shifts. In a cell with v != 0, r v is uniform in every slot, as
//! t is prime and r is uniform, and so is pi + r v; the r of different slots are independent. A
//! cell with v = 0 holds exactly the first success, and there u = pi. With one-hot classes, pi is
//! D! at class k and 0 elsewhere. With bits, pi is the tally: each slot is the sum of weights of
//! the draws whose bit is one, all of them or none, so D times the bit; the order of the draws, who
//! was drawn and the round's degree are no longer in it, because every round's weights add up to D.
//! So given the label, the cells depend on votes and draws only through the place of the clean
//! cell. Round j stands at digits (j_0 + sigma_0 mod b_0, j_1 + sigma_1 mod b_1, ...); the sigma
//! are uniform, independent and in nothing else, so the place is uniform over all cells for every
//! j. []
//!
//! So the slots can be simulated from the labels. That the rest of a ciphertext can,
//! [`crate::flooding`] proves. A student that wants a label finds the one clean cell; that junk of
//! any sample of the election looks clean has a chance below 2^-40: a cell that is released in few
//! slots gets more, which are 0 in pi ([`crate::layout::Layout::released_planes`]).

use rand::CryptoRng;
use rayon::prelude::*;
use shield_core::Seed;

use crate::layout::cells::{self, Cells};
use crate::layout::{Layout, Places};
use crate::ring::{Buffer, Context, PLAINTEXT, limb};
use crate::scheme::{Ciphertext, below, plaintext_slots};

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
    /// Everything but the shift of one digit of the cells' numbers, counted from the groups.
    #[cfg(test)]
    WithoutShiftOf(usize),
    /// Shifts only.
    #[cfg(test)]
    WithoutMask,
}

impl Safeguards {
    /// The secret shift of a sample, for [`Cells::place`].
    pub(crate) fn shift(self, seed: &Seed, sample: u64, cells: &Cells) -> usize {
        let shift = below(cells.count() as u64, &mut seed.stream(SHIFT, sample)) as usize;
        match self {
            #[cfg(test)]
            Self::WithoutShift => 0,
            #[cfg(test)]
            Self::WithoutShiftOf(digit) => {
                let weight: usize = cells.radices()[digit..].iter().product();
                shift - cells.digits(shift)[digit] * weight
            }
            _ => shift,
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

/// Sums of the successes n over subtrees of the cells.
pub(crate) struct Successes {
    /// For each number of leading digits, from none: the sum of each subtree.
    pub(crate) levels: Vec<Vec<Ciphertext>>,
    /// The sum of all under every move between groups, the first of which is none.
    pub(crate) moved: Vec<Ciphertext>,
}

/// When the successes of a source enter the v of a target.
#[derive(Clone, Copy)]
enum Rule {
    /// The target's own successes: always, with a minus.
    Own,
    /// A sibling `other` of the digit `own` at place `place`, modulo `radix`.
    Sibling { place: usize, own: usize, other: usize, radix: usize },
    /// All ciphertexts, moved between groups.
    Moved { by: usize },
}

/// One summand of v: whose successes, and when they count.
struct Term<'a> {
    source: &'a Ciphertext,
    rule: Rule,
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
    /// The released ciphertexts, before flooding: cell by cell, plane by plane. `outcomes` are the
    /// pi in that order, without the check planes.
    pub(crate) fn run(&self, outcomes: &[Ciphertext], successes: &Successes) -> Vec<Ciphertext> {
        let (layout, cells) = (self.layout, self.layout.cells());
        let shifts: Vec<Vec<usize>> =
            self.shifts.iter().map(|&shift| cells.digits(shift)).collect();
        let (planes, released) = (layout.planes(), layout.released_planes());
        (0..layout.ciphertexts() * released)
            .into_par_iter()
            .map(|index| {
                let (target, plane) = (index / released, index % released);
                let outcome = (plane < planes).then(|| &outcomes[target * planes + plane]);
                let terms = self.terms(target, successes);
                self.ciphertext(index, outcome, &terms, &shifts)
            })
            .collect()
    }

    fn terms<'s>(&self, target: usize, successes: &'s Successes) -> Vec<Term<'s>> {
        let Successes { levels, moved } = successes;
        let cells = self.layout.cells();
        let digits = &cells.digits(target)[1..];
        let own = &levels[cells.radices().len()][target];
        let mut terms = vec![Term { source: own, rule: Rule::Own }];
        let moves = (1..self.layout.groups()).map(|by| (&moved[by], Rule::Moved { by }));
        terms.extend(moves.map(|(source, rule)| Term { source, rule }));
        let mut node = 0;
        for (place, (&radix, &own)) in cells.radices().iter().zip(digits).enumerate() {
            for other in (0..radix).filter(|&other| other != own) {
                let source = &levels[place + 1][node * radix + other];
                let rule = Rule::Sibling { place: place + 1, own, other, radix };
                terms.push(Term { source, rule });
            }
            node = node * radix + own;
        }
        terms
    }

    fn ciphertext(
        &self,
        index: usize,
        outcome: Option<&Ciphertext>,
        terms: &[Term<'_>],
        shifts: &[Vec<usize>],
    ) -> Ciphertext {
        let context = self.context;
        let stream = self.batch * self.layout.ciphertexts() * self.layout.released_planes() + index;
        let mut mask = vec![0; context.degree()];
        self.safeguards.mask(&mut mask, &mut self.seed.stream(MASK, stream as u64));
        let level = terms[0].source.limbs();
        let mut out = outcome.cloned().unwrap_or_else(|| Ciphertext::zero(context, level));
        let constant = mask.iter().map(|r| r * self.success % PLAINTEXT).collect();
        out.add_slots(context, constant);
        let mut values = vec![Buffer::stale(context.degree()); TERMS];
        for terms in terms.chunks(TERMS) {
            let plaintexts: Vec<Buffer> = terms
                .iter()
                .map(|term| {
                    let mut slots = self.slots(term.rule, &mask, shifts);
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
                    let successes = terms.iter().map(|term| term.source.parts[part].limb(i));
                    let terms: Vec<(&[u64], &[u64])> =
                        values.iter().map(|values| &**values).zip(successes).collect();
                    limb::add_products(ntt.modulus(), sum.limb_mut(i), &terms);
                }
            }
        }
        out
    }

    /// r times the coefficient with which the source's successes enter the target's v.
    fn slots(&self, rule: Rule, mask: &[u64], shifts: &[Vec<usize>]) -> Buffer {
        let run = self.layout.run();
        let mut slots = Buffer::zeroed(mask.len());
        for group in 0..self.layout.groups() {
            for (sample, shift) in shifts.iter().enumerate() {
                let start = self.places.run(group, sample) * run;
                let (slots, mask) = (&mut slots[start..][..run], &mask[start..][..run]);
                match self.coefficient(rule, group, shift) {
                    Coefficient::None => {}
                    Coefficient::Plus => slots.copy_from_slice(mask),
                    Coefficient::Minus => {
                        for (slot, &r) in slots.iter_mut().zip(mask) {
                            *slot = (PLAINTEXT - r) % PLAINTEXT;
                        }
                    }
                }
            }
        }
        slots
    }

    fn coefficient(&self, rule: Rule, group: usize, shift: &[usize]) -> Coefficient {
        let before = |is| if is { Coefficient::Plus } else { Coefficient::None };
        match rule {
            Rule::Own => Coefficient::Minus,
            Rule::Sibling { place, own, other, radix } => {
                before(cells::before(other, own, shift[place], radix))
            }
            Rule::Moved { by } => {
                let (layout, groups) = (self.layout, self.layout.groups());
                before(cells::before(layout.moved(group, by), group, shift[0], groups))
            }
        }
    }
}

/// How the successes of a source enter v.
enum Coefficient {
    None,
    Plus,
    Minus,
}
