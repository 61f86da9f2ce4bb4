//! Sums over all ballots of weighted squares and weighted values, without transforming a ballot.
//!
//! Every prime is 1 modulo t, so Delta is -1/t modulo each of them, and `-t (Delta m + e)^2 =
//! Delta m^2 + 2 m e - t e^2`: -t times the tensor square of a ballot is the square, under (1, s,
//! s^2), without the extension of the basis that other products need. Squares are summed as
//! tensors and relinearised once. Weights are constant on chunks of slots: runs, or registers where
//! runs are shorter.

use rayon::prelude::*;

use super::REPETITIONS;
use crate::ring::{
    Arithmetic, Block, Buffer, Context, Kernel, LANES, Lanes, Modulus, PLAINTEXT, Poly, Values,
    dispatch, limb,
};
use crate::scheme::{Ciphertext, SwitchKey};

/// Ballots whose products the 64-bit halves can sum before they are reduced.
const MAX_TERMS: usize = 2_000;

/// Words of a block's sums in one repetition: three parts of the tensor, low and high halves, the
/// middle one without its factor 2, and two parts of the plain sum.
const WORDS: usize = 8;

/// Blocks that a step of the inner loop takes from each ballot.
const TILE: usize = 16;

/// Blocks of a task: pages of each ballot, and sums that stay in the second cache.
const TASK: usize = 128;

type BlockSums = [[Block; WORDS]; REPETITIONS];

/// The sums of both repetitions, so that a ballot is read once.
pub(crate) struct Sums {
    /// For each limb, for each block.
    limbs: Vec<Buffer>,
    terms: usize,
}

/// The weighted squares and the weighted values of all ballots.
pub(super) struct Summed {
    pub(super) squares: Ciphertext,
    pub(super) values: Ciphertext,
}

impl Sums {
    pub(super) fn new(context: &Context) -> Self {
        let words = context.degree() * WORDS * REPETITIONS;
        Self { limbs: (0..context.limbs()).map(|_| Buffer::zeroed(words)).collect(), terms: 0 }
    }

    /// The weights of some ballots, those of each repetition, for each ballot at every chunk, as
    /// [`Sums::add`] takes them: for each limb, for each octet of ballots, for each repetition.
    pub(super) fn encode(
        context: &Context,
        weights: &[Vec<Vec<u64>>; REPETITIONS],
    ) -> Vec<Vec<Vec<Buffer>>> {
        let octets: Vec<&[Vec<u64>]> = weights.iter().flat_map(|own| own.chunks(LANES)).collect();
        let encoded: Vec<Buffer> = octets.par_iter().map(|own| encode(context, own)).collect();
        let count = encoded.len() / REPETITIONS;
        let of_octet = |octet: usize| encoded.iter().skip(octet).step_by(count);
        (0..context.limbs())
            .into_par_iter()
            .map(|i| {
                let octet = |octet| of_octet(octet).map(|c| transform(context, i, c)).collect();
                (0..count).map(octet).collect()
            })
            .collect()
    }

    /// Adds some ballots with their weights: the more of them, the less often the sums, which are
    /// larger than a ballot, go through the cache.
    pub(super) fn add(
        &mut self,
        context: &Context,
        ballots: &[&Ciphertext],
        weights: &[Vec<Vec<Buffer>>],
    ) {
        self.terms += ballots.len();
        let full = self.terms > MAX_TERMS;
        if full {
            self.terms = ballots.len() + 1;
        }
        self.limbs.par_iter_mut().zip(weights).enumerate().for_each(|(i, (sums, weights))| {
            let parts: Vec<[&[Block]; 2]> = ballots
                .iter()
                .map(|c| [0, 1].map(|part| c.parts[part].limb(i).as_chunks().0))
                .collect();
            let blocks = context.degree() / LANES;
            as_sums_mut(sums).par_chunks_mut(TASK).enumerate().for_each(|(task, sums)| {
                for (octet, (ballots, weights)) in parts.chunks(LANES).zip(weights).enumerate() {
                    dispatch(Accumulate {
                        modulus: context.q()[i].modulus(),
                        full: full && octet == 0,
                        first: task * TASK,
                        blocks_per_run: blocks / (weights[0].len() / LANES),
                        weights,
                        ballots,
                        sums,
                    });
                }
            });
        });
    }

    /// The sums modulo the primes.
    pub(super) fn reduced(&self, context: &Context) -> ReducedSums {
        ReducedSums { repetitions: std::array::from_fn(|i| self.reduced_repetition(context, i)) }
    }

    fn reduced_repetition(&self, context: &Context, repetition: usize) -> ReducedRepetition {
        let (n, limbs) = (context.degree(), context.limbs());
        let mut tensor = [0; 3].map(|_| Poly::<Values>::unset(n, limbs));
        let mut values = [0; 2].map(|_| Poly::<Values>::unset(n, limbs));
        for (i, sums) in self.limbs.iter().enumerate() {
            let q = context.q()[i].modulus();
            let sums = as_sums(sums);
            let [d0, d1, d2] = &mut tensor;
            dispatch(Fold {
                modulus: q,
                sums: sums.iter().map(|block| &block[repetition]),
                out: [d0.limb_mut(i), d1.limb_mut(i), d2.limb_mut(i)],
            });
            for (k, part) in values.iter_mut().enumerate() {
                let plain = sums.iter().flat_map(|block| block[repetition][6 + k]);
                for (x, sum) in part.limb_mut(i).iter_mut().zip(plain) {
                    *x = sum % q.value();
                }
            }
        }
        ReducedRepetition { tensor, values }
    }
}

/// Sums modulo the primes, of one ciphertext of a ballot. Those of several shards of ballots add
/// up to the sums over all.
#[derive(Clone)]
pub(crate) struct ReducedSums {
    repetitions: [ReducedRepetition; REPETITIONS],
}

/// Those of one repetition, before anything is relinearised.
#[derive(Clone)]
struct ReducedRepetition {
    /// The tensor squares, divided by Montgomery's factor.
    tensor: [Poly<Values>; 3],
    /// The weighted values.
    values: [Poly<Values>; 2],
}

impl ReducedSums {
    /// From the polynomials of all repetitions, in the order of [`ReducedRepetition::polys`].
    pub(crate) fn from_polys(polys: Vec<Poly<Values>>) -> Option<Self> {
        let [a, b, c, d, e, f, g, h, i, j] =
            <[Poly<Values>; 5 * REPETITIONS]>::try_from(polys).ok()?;
        let first = ReducedRepetition { tensor: [a, b, c], values: [d, e] };
        let second = ReducedRepetition { tensor: [f, g, h], values: [i, j] };
        Some(Self { repetitions: [first, second] })
    }

    /// Every polynomial, in the order of [`Self::from_polys`].
    pub(crate) fn polys(&self) -> impl Iterator<Item = &Poly<Values>> {
        self.repetitions.iter().flat_map(ReducedRepetition::polys)
    }

    /// The ciphertexts of one repetition.
    pub(super) fn repetition(
        &self,
        context: &Context,
        key: &SwitchKey,
        repetition: usize,
    ) -> Summed {
        let ReducedRepetition { mut tensor, values } = self.repetitions[repetition].clone();
        for (i, ntt) in context.q().iter().enumerate() {
            let q = ntt.modulus();
            // The fold divided by Montgomery's factor, and the square is -t times the tensor.
            let factor = q.factor(q.mul(q.montgomery(1), q.value() - PLAINTEXT));
            for part in &mut tensor {
                limb::scale(q, part.limb_mut(i), factor);
            }
        }
        let [d0, d1, d2] = tensor;
        let coefficients = context.backward(d2.clone());
        let mut squares = key.switch(context, &coefficients, Some(&d2));
        context.add(&mut squares.parts[0], &d0);
        context.add(&mut squares.parts[1], &d1);
        Summed { squares, values: Ciphertext { parts: values } }
    }
}

impl ReducedRepetition {
    /// Every polynomial, in a fixed order.
    fn polys(&self) -> [&Poly<Values>; 5] {
        let ([a, b, c], [d, e]) = (&self.tensor, &self.values);
        [a, b, c, d, e]
    }
}

fn as_sums(words: &Buffer) -> &[BlockSums] {
    words.as_chunks().0.as_chunks().0.as_chunks().0
}

fn as_sums_mut(words: &mut Buffer) -> &mut [BlockSums] {
    words.as_chunks_mut().0.as_chunks_mut().0.as_chunks_mut().0
}

/// The coefficients modulo t of weights that are constant on runs, one ballot per lane.
fn encode(context: &Context, weights: &[Vec<u64>]) -> Buffer {
    let runs = weights.first().map_or(0, Vec::len);
    let mut buffer = Buffer::zeroed(runs * LANES);
    let blocks = buffer.as_chunks_mut::<LANES>().0;
    for (lane, own) in weights.iter().enumerate() {
        for (block, &weight) in blocks.iter_mut().zip(own) {
            block[lane] = weight;
        }
    }
    context.t().backward_batch(blocks);
    buffer
}

/// The weights' values modulo prime `i`, as multipliers.
fn transform(context: &Context, i: usize, coefficients: &Buffer) -> Buffer {
    let mut values = Buffer::stale(coefficients.len());
    context.lift_multiplier(i, coefficients, &mut values);
    context.q()[i].forward_batch(values.as_chunks_mut().0);
    limb::multipliers(context.q()[i].modulus(), &mut values);
    values
}

struct Accumulate<'a> {
    modulus: Modulus,
    /// Reduce the sums first: they hold as many terms as they can.
    full: bool,
    /// The first block of the task.
    first: usize,
    blocks_per_run: usize,
    /// For each repetition, for each run, the weight of each ballot.
    weights: &'a [Buffer],
    ballots: &'a [[&'a [Block]; 2]],
    sums: &'a mut [BlockSums],
}

impl Kernel for Accumulate<'_> {
    type Output = ();
    #[inline(always)]
    fn run<L: Lanes>(self, l: L) {
        let a = L::Arithmetic::new(l, self.modulus);
        if self.full {
            for sums in self.sums.as_flattened_mut() {
                for [low, high] in sums[..6].as_chunks_mut::<2>().0 {
                    let sum = a.unfold(a.fold((l.load(low), l.load(high))));
                    l.store(sum.0, low);
                    l.store(sum.1, high);
                }
                for x in sums[6..].as_flattened_mut() {
                    *x %= self.modulus.value();
                }
            }
        }
        let count = self.ballots.len();
        // The ballots' blocks side by side: their own places are a power of two apart, and would
        // push one another out of the cache. Both parts, as operands.
        let mut gathered = [[[[0; LANES]; 2]; LANES]; TILE];
        for (tile, sums) in self.sums.chunks_mut(TILE).enumerate() {
            let start = self.first + tile * TILE;
            for (k, [c0, c1]) in self.ballots.iter().enumerate() {
                let blocks = c0[start..].iter().zip(&c1[start..]);
                for (to, (x, y)) in gathered.iter_mut().zip(blocks) {
                    l.store(a.operand(l.load(x)), &mut to[k][0]);
                    l.store(a.operand(l.load(y)), &mut to[k][1]);
                }
            }
            for (b, sums) in sums.iter_mut().enumerate() {
                let run = (start + b) / self.blocks_per_run;
                for (weights, sums) in self.weights.iter().zip(sums) {
                    let weights: &Block = &weights.as_chunks().0[run];
                    add_block(l, a, &gathered[b][..count], weights, sums);
                }
            }
        }
    }
}

/// Adds one block of some ballots, at most one per lane, in one repetition.
///
/// One sum at a time: all of them together need more registers than most processors have.
#[inline(always)]
fn add_block<L: Lanes>(
    l: L,
    a: L::Arithmetic,
    ballots: &[[Block; 2]],
    weights: &Block,
    sums: &mut [Block; WORDS],
) {
    let mut weighted = [[[0; LANES]; 2]; LANES];
    let mut plain = [l.load(&sums[6]), l.load(&sums[7])];
    for ((weighted, &weight), ballot) in weighted.iter_mut().zip(weights).zip(ballots) {
        let weight = l.splat(weight);
        for ((y, plain), c) in weighted.iter_mut().zip(&mut plain).zip(ballot) {
            let product = a.product(l.load(c), weight);
            *plain = l.add(*plain, a.whole(product));
            l.store(product, y);
        }
    }
    l.store(plain[0], &mut sums[6]);
    l.store(plain[1], &mut sums[7]);
    // The parts that meet: weighted, and not.
    let parts = [(0, 0), (0, 1), (1, 1)];
    for ([low, high], (x, y)) in sums[..6].as_chunks_mut::<2>().0.iter_mut().zip(parts) {
        let mut open = (l.load(low), l.load(high));
        for (weighted, ballot) in weighted.iter().zip(ballots) {
            open = a.multiply_add(open, l.load(&weighted[x]), l.load(&ballot[y]));
        }
        let sum = a.close(open, ballots.len());
        l.store(sum.0, low);
        l.store(sum.1, high);
    }
}

/// Reduces the halves of the tensor's three parts, of which the middle one counts twice.
struct Fold<'a, I> {
    modulus: Modulus,
    sums: I,
    out: [&'a mut [u64]; 3],
}

impl<'a, I: Iterator<Item = &'a [Block; WORDS]>> Kernel for Fold<'_, I> {
    type Output = ();
    #[inline(always)]
    fn run<L: Lanes>(self, l: L) {
        let a = L::Arithmetic::new(l, self.modulus);
        let [d0, d1, d2] = self.out.map(|part| part.as_chunks_mut::<LANES>().0);
        for (((sums, d0), d1), d2) in self.sums.zip(d0).zip(d1).zip(d2) {
            l.store(a.fold((l.load(&sums[0]), l.load(&sums[1]))), d0);
            let cross = a.fold((l.load(&sums[2]), l.load(&sums[3])));
            l.store(a.add(cross, cross), d1);
            l.store(a.fold((l.load(&sums[4]), l.load(&sums[5]))), d2);
        }
    }
}
