//! Linear combinations of several limbs at once.

use super::dispatch::dispatch;
use super::lanes::{Arithmetic, Kernel, LANES, Lanes, TILE};
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
        // For each input, some blocks.
        let mut local = vec![l.splat(0); TILE * self.inputs.len()];
        let blocks = self.inputs[0].len() / LANES;
        for start in (0..blocks).step_by(TILE) {
            let width = TILE.min(blocks - start);
            for (to, from) in local.chunks_exact_mut(TILE).zip(self.inputs) {
                for (x, block) in to.iter_mut().zip(&from.as_chunks().0[start..][..width]) {
                    *x = a.operand(l.load(block));
                }
            }
            for (out, weights) in self.out.iter_mut().zip(&weights) {
                a.linear(&local, weights, &mut out.as_chunks_mut().0[start..][..width]);
            }
        }
    }
}
