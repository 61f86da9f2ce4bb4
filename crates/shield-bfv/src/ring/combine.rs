//! Linear combinations of several limbs at once.

use super::lanes::{Block, Kernel, Lanes, dispatch};
use super::modulus::{Arithmetic, Modulus};

/// `out[o] = sum over j of weights[o][j] inputs[j]` in one limb, for at most 4,096 inputs; weights
/// in Montgomery's form. Each input is loaded once for all outputs.
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

/// Blocks whose sums a loop keeps in registers at a time.
const TILE: usize = 4;

impl Kernel for Combine<'_> {
    type Output = ();
    #[inline(always)]
    fn run<L: Lanes>(mut self, l: L) {
        let a = Arithmetic::new(l, self.modulus);
        let zero = l.splat(0);
        let mut local: Vec<[Block; TILE]> = vec![[[0; 8]; TILE]; self.inputs.len()];
        for t in 0..self.inputs[0].len() / (8 * TILE) {
            for (to, from) in local.iter_mut().zip(self.inputs) {
                *to = from.as_chunks::<8>().0.as_chunks::<TILE>().0[t];
            }
            for (out, weights) in self.out.iter_mut().zip(self.weights) {
                let mut sums = [(zero, zero); TILE];
                for (x, &w) in local.iter().zip(weights) {
                    let w = l.splat(w);
                    for (sum, x) in sums.iter_mut().zip(x) {
                        let x = l.load(x);
                        *sum = (l.mul_low(sum.0, x, w), l.mul_high(sum.1, x, w));
                    }
                }
                let tile = &mut out.as_chunks_mut::<8>().0.as_chunks_mut::<TILE>().0[t];
                for (block, sum) in tile.iter_mut().zip(sums) {
                    l.store(a.fold(sum.0, sum.1), block);
                }
            }
        }
    }
}
