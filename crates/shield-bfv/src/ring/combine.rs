//! Linear combinations of several limbs at once.

use super::arithmetic::Arithmetic;
use super::lanes::{Kernel, Lanes, dispatch};
use super::modulus::{Factor, Modulus};

/// `out[o] = sum over j of weights[o][j] inputs[j]` in one limb, for at most 4,096 inputs. Each
/// input is loaded once for all outputs.
pub(crate) fn combine(
    modulus: Modulus,
    inputs: &[&[u64]],
    weights: &[Vec<u64>],
    out: Vec<&mut [u64]>,
) {
    if !inputs.is_empty() {
        dispatch(Combine { modulus, inputs, weights, out });
    }
}

struct Combine<'a> {
    modulus: Modulus,
    inputs: &'a [&'a [u64]],
    weights: &'a [Vec<u64>],
    out: Vec<&'a mut [u64]>,
}

/// Blocks that are taken from each input at a time.
const TILE: usize = 4;

impl Kernel for Combine<'_> {
    type Output = ();
    #[inline(always)]
    fn run<L: Lanes>(mut self, l: L) {
        let a = L::Arithmetic::new(l, self.modulus);
        let form = L::Arithmetic::FORM;
        let weights: Vec<Vec<Factor>> = self
            .weights
            .iter()
            .map(|own| own.iter().map(|&w| form.weight(self.modulus, w)).collect())
            .collect();
        let count = self.inputs.len();
        // For each block, each input.
        let mut local = vec![l.splat(0); TILE * count];
        for t in 0..self.inputs[0].len() / (8 * TILE) {
            for (i, from) in self.inputs.iter().enumerate() {
                for (b, block) in from.as_chunks().0[t * TILE..][..TILE].iter().enumerate() {
                    local[b * count + i] = a.operand(l.load(block));
                }
            }
            for (out, weights) in self.out.iter_mut().zip(&weights) {
                let tile = &mut out.as_chunks_mut().0[t * TILE..][..TILE];
                for (block, operands) in tile.iter_mut().zip(local.chunks_exact(count)) {
                    l.store(a.linear(operands, weights), block);
                }
            }
        }
    }
}
