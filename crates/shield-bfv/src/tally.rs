//! The tally: for each cell, how often each class was drawn, still encrypted.
//!
//! `C = sum over teachers of m_t Z_t`, where Z_t is the teacher's ballot and m_t the plaintext that
//! holds, at each sample, how often the cell's round drew the teacher. The paper multiplies one
//! masked ciphertext per teacher instead; here no ciphertexts are multiplied at all.
//!
//! Masks are constant on runs, so a mask is a polynomial in X^K' with N/K' coefficients. Eight are
//! transformed at once, one a lane. A mask's value then meets a run of the ballot's values: scalar
//! times block, summed in two 64-bit halves, reduced once after up to 4,000 teachers. Ballots are
//! opened a few at a time; nothing grows with the number of teachers but the time.

pub(crate) mod dense;

use std::borrow::Cow;
use std::ops::RangeInclusive;

use rayon::prelude::*;

use crate::ring::{
    Arithmetic, Block, Buffer, Context, Kernel, LANES, Lanes, Modulus, Poly, dispatch, limb,
};
use crate::scheme::Ciphertext;

/// Ballots in memory at a time.
pub(crate) const OPEN_BALLOTS: usize = 48;

/// Products that a pair of 64-bit halves can sum.
const MAX_TERMS: usize = 4_000;

/// Blocks of a part's limb that one step of the inner loop takes.
const STEP: usize = 2;

/// Tasks that a limb is cut into.
const TASKS: usize = 64;

/// One drawn entry: this ballot, for this ciphertext, at this run, so many times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Selection {
    pub(crate) teacher: u32,
    pub(crate) ciphertext: u16,
    pub(crate) position: u16,
    pub(crate) weight: u16,
}

/// The teachers of some selections, each once.
fn teachers(selections: &[&[Selection]]) -> Vec<u32> {
    selections.iter().map(|own| own[0].teacher).collect()
}

/// Halves of the sums of one step of one ciphertext: both parts' blocks, each low and high.
type Halves = [Block; 4 * STEP];

/// Sums of products of one limb: for each step, for each ciphertext.
struct Sums {
    words: Buffer,
}

impl Sums {
    fn halves(&self) -> &[Halves] {
        self.words.as_chunks().0.as_chunks().0
    }

    fn halves_mut(&mut self) -> &mut [Halves] {
        self.words.as_chunks_mut().0.as_chunks_mut().0
    }
}

/// The masks for one ciphertext: eight in an octet, one a lane.
struct Own {
    ciphertext: usize,
    /// The ballot that each mask is for.
    ballots: Vec<usize>,
}

impl Own {
    fn octets(&self) -> usize {
        self.ballots.len().div_ceil(LANES)
    }
}

/// Sums the selected ballots into one ciphertext each.
///
/// `selections` are sorted by teacher; `open` is asked for some teachers at a time, in increasing
/// order and once for each.
pub(crate) fn tally<'a, E>(
    context: &Context,
    positions: usize,
    ciphertexts: usize,
    selections: &[Selection],
    mut open: impl FnMut(&[u32]) -> Result<Vec<Cow<'a, [Ciphertext]>>, E>,
) -> Result<Vec<Ciphertext>, E> {
    let limbs = context.limbs();
    let steps = context.degree() / LANES / STEP;
    let mut sums: Vec<Sums> = (0..limbs)
        .map(|_| Sums { words: Buffer::zeroed(steps * ciphertexts * 4 * STEP * LANES) })
        .collect();
    let mut terms = vec![0; ciphertexts];
    let of_teachers: Vec<&[Selection]> =
        selections.chunk_by(|a, b| a.teacher == b.teacher).collect();
    for chunk in of_teachers.chunks(OPEN_BALLOTS) {
        let ballots = open(&teachers(chunk))?;
        let mut masks: Vec<Vec<(usize, &[Selection])>> = vec![Vec::new(); ciphertexts];
        for (ballot, own) in chunk.iter().enumerate() {
            for mask in own.chunk_by(|a, b| a.ciphertext == b.ciphertext) {
                masks[mask[0].ciphertext as usize].push((ballot, mask));
            }
        }
        let full: Vec<bool> = terms
            .iter_mut()
            .zip(&masks)
            .map(|(terms, masks)| {
                *terms += masks.len();
                let full = *terms > MAX_TERMS;
                if full {
                    *terms = masks.len() + 1;
                }
                full
            })
            .collect();
        let masked: Vec<Own> = masks
            .iter()
            .enumerate()
            .map(|(ciphertext, masks)| Own {
                ciphertext,
                ballots: masks.iter().map(|&(ballot, _)| ballot).collect(),
            })
            .collect();
        let encoded = encode(context, positions, &masks);
        for (i, sums) in sums.iter_mut().enumerate() {
            let transformed = transform(context, i, &encoded);
            accumulate(context, i, positions, &ballots, &masked, &transformed, &full, sums);
        }
    }
    Ok(finish(context, ciphertexts, &sums))
}

/// The masks' coefficients modulo t, eight masks interleaved.
fn encode(
    context: &Context,
    positions: usize,
    masks: &[Vec<(usize, &[Selection])>],
) -> Vec<Buffer> {
    let octets: Vec<&[(usize, &[Selection])]> =
        masks.iter().flat_map(|masks| masks.chunks(LANES)).collect();
    octets
        .par_iter()
        .map(|octet| {
            let mut values = Buffer::zeroed(positions * LANES);
            let blocks = values.as_chunks_mut::<LANES>().0;
            for (lane, (_, mask)) in octet.iter().enumerate() {
                for selection in *mask {
                    blocks[selection.position as usize][lane] += u64::from(selection.weight);
                }
            }
            context.t().backward_batch(blocks);
            values
        })
        .collect()
}

/// The masks' values modulo prime `i`, in Montgomery's form, as operands.
fn transform(context: &Context, i: usize, encoded: &[Buffer]) -> Vec<Buffer> {
    encoded
        .par_iter()
        .map(|coefficients| {
            let mut values = Buffer::stale(coefficients.len());
            context.lift_multiplier(i, coefficients, &mut values);
            context.q()[i].forward_batch(values.as_chunks_mut().0);
            limb::operands(context.q()[i].modulus(), &mut values);
            values
        })
        .collect()
}

#[expect(clippy::too_many_arguments, reason = "the inner loop of the engine, called once")]
fn accumulate(
    context: &Context,
    i: usize,
    positions: usize,
    ballots: &[Cow<'_, [Ciphertext]>],
    masked: &[Own],
    masks: &[Buffer],
    full: &[bool],
    sums: &mut Sums,
) {
    let modulus = context.q()[i].modulus();
    let limbs: Vec<[&[Block]; 2]> = ballots
        .iter()
        .map(|ballot| [0, 1].map(|part| ballot[0].parts[part].limb(i).as_chunks().0))
        .collect();
    let ciphertexts = full.len();
    let steps = context.degree() / LANES / STEP;
    let blocks_a_run = context.degree() / positions / LANES;
    // Long enough to stream from memory; and all that a task reads again and again, ballots, masks
    // and sums, stays in the second cache.
    let steps_a_task = (steps / TASKS).max(1);
    let masks: Vec<&[Block]> = masks.iter().map(|mask| mask.as_chunks().0).collect();
    sums.halves_mut().par_chunks_mut(steps_a_task * ciphertexts).enumerate().for_each(
        |(task, sums)| {
            let first = task * steps_a_task * STEP;
            let count = sums.len() / ciphertexts * STEP;
            let mut ballots = Buffer::stale(count * 2 * limbs.len() * LANES);
            let to = ballots.as_chunks_mut().0.as_chunks_mut().0;
            dispatch(Gather { modulus, limbs: &limbs, first, count, to });
            let runs = first / blocks_a_run..=(first + count - 1) / blocks_a_run;
            dispatch(Accumulate {
                modulus,
                first,
                blocks_a_run,
                ballots: ballots.as_chunks().0.as_chunks().0,
                open: limbs.len(),
                masked,
                octets: masks.len(),
                first_run: *runs.start(),
                masks: gather_masks(&masks, &runs).as_chunks().0,
                full,
                sums,
            });
        },
    );
}

/// The masks' values at some runs: for each run, each octet. Side by side for the same reason as
/// ballots are.
fn gather_masks(masks: &[&[Block]], runs: &RangeInclusive<usize>) -> Buffer {
    let mut gathered = Buffer::stale(runs.clone().count() * masks.len() * LANES);
    let to = gathered.as_chunks_mut::<LANES>().0;
    for (octet, mask) in masks.iter().enumerate() {
        for (run, values) in mask[runs.clone()].iter().enumerate() {
            to[run * masks.len() + octet] = *values;
        }
    }
    gathered
}

/// The ballots' blocks from `first` on, as operands: step by step, ballot by ballot.
///
/// Limbs lie a power of two apart, so that equal places of all ballots compete for the same few
/// lines of every cache. Side by side they do not.
struct Gather<'a> {
    modulus: Modulus,
    limbs: &'a [[&'a [Block]; 2]],
    first: usize,
    count: usize,
    to: &'a mut [[Block; 2 * STEP]],
}

impl Kernel for Gather<'_> {
    type Output = ();
    #[inline(always)]
    fn run<L: Lanes>(self, l: L) {
        let a = L::Arithmetic::new(l, self.modulus);
        for (ballot, parts) in self.limbs.iter().enumerate() {
            for (part, blocks) in parts.iter().enumerate() {
                let own = self.to.iter_mut().skip(ballot).step_by(self.limbs.len());
                let steps = blocks[self.first..][..self.count].as_chunks::<STEP>().0;
                for (to, step) in own.zip(steps) {
                    for (to, block) in to[part * STEP..].iter_mut().zip(step) {
                        l.store(a.operand(l.load(block)), to);
                    }
                }
            }
        }
    }
}

struct Accumulate<'a> {
    modulus: Modulus,
    /// The first block.
    first: usize,
    blocks_a_run: usize,
    /// For each step, for each ballot, both parts' blocks.
    ballots: &'a [[Block; 2 * STEP]],
    /// Ballots that are open.
    open: usize,
    masked: &'a [Own],
    /// Octets of all ciphertexts.
    octets: usize,
    first_run: usize,
    /// For each run, each octet.
    masks: &'a [Block],
    full: &'a [bool],
    sums: &'a mut [Halves],
}

impl Kernel for Accumulate<'_> {
    type Output = ();
    #[inline(always)]
    fn run<L: Lanes>(self, l: L) {
        let a = L::Arithmetic::new(l, self.modulus);
        let steps =
            self.sums.chunks_exact_mut(self.full.len()).zip(self.ballots.chunks_exact(self.open));
        for (index, (sums, ballots)) in steps.enumerate() {
            for (sum, _) in sums.iter_mut().zip(self.full).filter(|(_, full)| **full) {
                for pair in sum.as_chunks_mut::<2>().0 {
                    let value = a.fold((l.load(&pair[0]), l.load(&pair[1])));
                    let (low, high) = a.unfold(value);
                    l.store(low, &mut pair[0]);
                    l.store(high, &mut pair[1]);
                }
            }
            let block = self.first + index * STEP;
            let mut masks = [block, block + 1].map(|block| {
                let run = block / self.blocks_a_run - self.first_run;
                &self.masks[run * self.octets..][..self.octets]
            });
            for own in self.masked {
                let (first, rest) =
                    (masks.map(|m| &m[..own.octets()]), masks.map(|m| &m[own.octets()..]));
                masks = rest;
                let add = Add { own, masks: first.map(<[Block]>::as_flattened), ballots };
                let sum = &mut sums[own.ciphertext];
                if L::REGISTERS > 8 {
                    add.run(l, a, sum, [0, 1, 2, 3]);
                } else {
                    for which in 0..2 * STEP {
                        add.run(l, a, sum, [which]);
                    }
                }
            }
        }
    }
}

/// Adds masked blocks of ballots to the sums of one step of one ciphertext.
struct Add<'a> {
    own: &'a Own,
    /// Those of the run of each block.
    masks: [&'a [u64]; STEP],
    ballots: &'a [[Block; 2 * STEP]],
}

impl Add<'_> {
    /// For the blocks `which`: as many as there are registers for.
    #[inline(always)]
    fn run<L: Lanes, const N: usize>(
        &self,
        l: L,
        a: L::Arithmetic,
        sums: &mut Halves,
        which: [usize; N],
    ) {
        let zero = l.splat(0);
        let mut open = [(zero, zero); N];
        for (sum, i) in open.iter_mut().zip(which) {
            *sum = (l.load(&sums[2 * i]), l.load(&sums[2 * i + 1]));
        }
        let masks = self.masks[0].iter().zip(self.masks[1]);
        for (&ballot, masks) in self.own.ballots.iter().zip(masks) {
            let (ballot, masks) = (&self.ballots[ballot], [*masks.0, *masks.1]);
            for (sum, i) in open.iter_mut().zip(which) {
                *sum = a.multiply_add(*sum, l.load(&ballot[i]), l.splat(masks[i % STEP]));
            }
        }
        for (sum, i) in open.into_iter().zip(which) {
            let (low, high) = a.close(sum, self.own.ballots.len());
            l.store(low, &mut sums[2 * i]);
            l.store(high, &mut sums[2 * i + 1]);
        }
    }
}

/// Reduces the sums to ciphertexts.
fn finish(context: &Context, ciphertexts: usize, sums: &[Sums]) -> Vec<Ciphertext> {
    (0..ciphertexts)
        .into_par_iter()
        .map(|ciphertext| {
            let n = context.degree();
            let mut parts = [Poly::unset(n, sums.len()), Poly::unset(n, sums.len())];
            for (i, sums) in sums.iter().enumerate() {
                let [c0, c1] = &mut parts;
                dispatch(Finish {
                    modulus: context.q()[i].modulus(),
                    sums: sums.halves().iter().skip(ciphertext).step_by(ciphertexts),
                    out: [c0.limb_mut(i), c1.limb_mut(i)],
                });
            }
            Ciphertext { parts }
        })
        .collect()
}

struct Finish<'a, I> {
    modulus: Modulus,
    sums: I,
    out: [&'a mut [u64]; 2],
}

impl<'a, I: Iterator<Item = &'a Halves>> Kernel for Finish<'_, I> {
    type Output = ();
    #[inline(always)]
    fn run<L: Lanes>(self, l: L) {
        let a = L::Arithmetic::new(l, self.modulus);
        let [c0, c1] = self.out;
        let (c0, c1) = (c0.as_chunks_mut::<8>().0, c1.as_chunks_mut::<8>().0);
        let steps = c0.chunks_exact_mut(STEP).zip(c1.chunks_exact_mut(STEP));
        for (sum, (c0, c1)) in self.sums.zip(steps) {
            let out = c0.iter_mut().chain(c1);
            for (pair, block) in sum.as_chunks::<2>().0.iter().zip(out) {
                l.store(a.fold((l.load(&pair[0]), l.load(&pair[1]))), block);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::{EncryptionKey, Secret};
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;
    use std::convert::Infallible;

    #[test]
    fn more_teachers_than_halves_can_sum_at_once() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let context = Context::new(1_024, 51, 4);
        let secret = Secret::random(&context, &mut rng);
        let key = EncryptionKey::generate(&context, &secret, &mut rng);
        let mut ballot = key.zero(&context, 4, &mut rng);
        ballot.add_slots(&context, vec![1; 1_024]);
        // Runs of 8 slots. Every teacher is drawn at run 3 of ciphertext 0, teachers 0 to 99 twice
        // at run 5 of 1.
        let teachers = 2 * MAX_TERMS as u32 + 100;
        let everyone = (0..teachers).map(|teacher| Selection {
            teacher,
            ciphertext: 0,
            position: 3,
            weight: 1,
        });
        let twice =
            (0..100).map(|teacher| Selection { teacher, ciphertext: 1, position: 5, weight: 2 });
        let mut selections: Vec<Selection> = everyone.chain(twice).collect();
        selections.sort_unstable();
        let ballot = Cow::Borrowed(std::slice::from_ref(&ballot));
        let open = |teachers: &[u32]| Ok::<_, Infallible>(vec![ballot.clone(); teachers.len()]);
        let Ok(tallies) = tally(&context, 128, 2, &selections, open);
        for (mut tally, (run, count)) in tallies.into_iter().zip([(3, teachers), (5, 200)]) {
            tally.drop_to(&context, 1);
            for (slot, &found) in tally.decrypt(&context, &secret).iter().enumerate() {
                let expected = if slot / 8 == run { u64::from(count) } else { 0 };
                assert_eq!(found, expected, "slot {slot}");
            }
        }
    }
}
