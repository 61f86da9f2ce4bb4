//! The tally where each sample has one slot: bits across ciphertexts.
//!
//! Masks are no longer constant on runs, so each is transformed whole; but one mask serves all
//! bits of a ballot. Masks and ballots meet value by value, a tile of both at a time.

use std::borrow::Cow;

use rayon::prelude::*;

use super::{Selection, teachers};
use crate::ring::{Buffer, Context, Poly, limb};
use crate::scheme::Ciphertext;

/// Values that a task takes of every mask and ballot: what it sums stays in the second cache.
const TILE: usize = 128;

/// Memory for ballots, and as much again for masks, that are open at a time.
const OPEN_BYTES: usize = 192 << 20;

/// One mask: whose, and for which ciphertext of cells.
struct Mask<'s> {
    ballot: usize,
    ciphertext: usize,
    selections: &'s [Selection],
}

/// Ballots in memory at a time, by the bytes of a ballot, and of its masks modulo t and modulo one
/// prime.
pub(crate) fn open_ballots(ballot: usize, masks: usize) -> usize {
    (OPEN_BYTES / ballot.max(masks)).clamp(1, super::OPEN_BALLOTS)
}

/// Sums the selected ballots into `planes` ciphertexts for each of `ciphertexts` of cells.
///
/// `selections` are sorted by teacher; `open` is asked for some teachers at a time, in increasing
/// order and once for each.
pub(crate) fn tally<'a, E>(
    context: &Context,
    planes: usize,
    ciphertexts: usize,
    selections: &[Selection],
    mut open: impl FnMut(&[u32]) -> Result<Vec<Cow<'a, [Ciphertext]>>, E>,
) -> Result<Vec<Ciphertext>, E> {
    let (n, limbs) = (context.degree(), context.limbs());
    let word = size_of::<u64>() * n;
    let open_ballots = open_ballots(2 * planes * limbs * word, 2 * ciphertexts * word);
    let tile = TILE.min(n);
    // For each limb, for each tile: each ciphertext, each plane, both parts.
    let sums_of_tile = ciphertexts * planes * 2 * tile;
    let mut sums: Vec<Buffer> =
        (0..limbs).map(|_| Buffer::zeroed(n / tile * sums_of_tile)).collect();
    let of_teachers: Vec<&[Selection]> =
        selections.chunk_by(|a, b| a.teacher == b.teacher).collect();
    for chunk in of_teachers.chunks(open_ballots) {
        let ballots = open(&teachers(chunk))?;
        let mut masks: Vec<Mask<'_>> = chunk
            .iter()
            .enumerate()
            .flat_map(|(ballot, own)| {
                own.chunk_by(|a, b| a.ciphertext == b.ciphertext).map(move |selections| Mask {
                    ballot,
                    ciphertext: selections[0].ciphertext as usize,
                    selections,
                })
            })
            .collect();
        masks.sort_by_key(|mask| mask.ciphertext);
        let encoded: Vec<Buffer> = masks.par_iter().map(|mask| encode(context, mask)).collect();
        for (i, sums) in sums.iter_mut().enumerate() {
            let ntt = &context.q()[i];
            let values: Vec<Buffer> = encoded
                .par_iter()
                .map(|encoded| {
                    let mut values = Buffer::stale(n);
                    context.lift_multiplier(i, encoded, &mut values);
                    ntt.forward(&mut values);
                    limb::operands(ntt.modulus(), &mut values);
                    values
                })
                .collect();
            sums.par_chunks_mut(sums_of_tile).enumerate().for_each(|(number, sums)| {
                let at = number * tile..(number + 1) * tile;
                let mut gathered = gather(&ballots, i, &at, planes);
                limb::operands(ntt.modulus(), &mut gathered);
                let stride = ballots.len() * tile;
                let mut pairs: Vec<(&[u64], &[u64])> = Vec::with_capacity(ballots.len());
                let mut start = 0;
                for own in masks.chunk_by(|a, b| a.ciphertext == b.ciphertext) {
                    let of_cell = &mut sums[own[0].ciphertext * planes * 2 * tile..];
                    for (part, sum) in of_cell.chunks_exact_mut(tile).take(planes * 2).enumerate() {
                        let ballots = &gathered[part * stride..][..stride];
                        pairs.clear();
                        pairs.extend(own.iter().zip(&values[start..]).map(|(mask, values)| {
                            (&values[at.clone()], &ballots[mask.ballot * tile..][..tile])
                        }));
                        limb::add_prepared(ntt.modulus(), sum, &pairs);
                    }
                    start += own.len();
                }
            });
        }
    }
    Ok(finish(context, planes * ciphertexts, tile, sums))
}

/// A mask's coefficients modulo t.
fn encode(context: &Context, mask: &Mask<'_>) -> Buffer {
    let mut slots = Buffer::zeroed(context.degree());
    for selection in mask.selections {
        slots[selection.position as usize] += u64::from(selection.weight);
    }
    context.encode(&mut slots);
    slots
}

/// Some values of limb `i` of all ballots, side by side: for each plane and part, each ballot.
fn gather(
    ballots: &[Cow<'_, [Ciphertext]>],
    i: usize,
    at: &std::ops::Range<usize>,
    planes: usize,
) -> Buffer {
    let mut gathered = Buffer::stale(planes * 2 * ballots.len() * at.len());
    let mut tiles = gathered.chunks_exact_mut(at.len());
    for (plane, part) in (0..planes).flat_map(|plane| [(plane, 0), (plane, 1)]) {
        for (ballot, tile) in ballots.iter().zip(&mut tiles) {
            tile.copy_from_slice(&ballot[plane].parts[part].limb(i)[at.clone()]);
        }
    }
    gathered
}

/// From sums by limb and tile to ciphertexts.
fn finish(context: &Context, count: usize, tile: usize, sums: Vec<Buffer>) -> Vec<Ciphertext> {
    let (n, limbs) = (context.degree(), sums.len());
    let mut ciphertexts: Vec<Ciphertext> =
        (0..count).map(|_| Ciphertext { parts: [0; 2].map(|_| Poly::unset(n, limbs)) }).collect();
    for (i, sums) in sums.into_iter().enumerate() {
        ciphertexts.par_iter_mut().enumerate().for_each(|(number, ciphertext)| {
            for (part, poly) in ciphertext.parts.iter_mut().enumerate() {
                let own = sums.chunks_exact(tile).skip(number * 2 + part).step_by(count * 2);
                for (to, from) in poly.limb_mut(i).chunks_exact_mut(tile).zip(own) {
                    to.copy_from_slice(from);
                }
            }
        });
    }
    ciphertexts
}
