//! From the encrypted sum of the secrets to encrypted differences: rotations and masks, what they
//! cost, and how much noise they make.
//!
//! Both steps are linear maps along columns, done with few rotations by baby and giant steps.
//!
//! **Phases.** `B - sum over k of a_k S_k`, by values: for each of the r rotations of the secrets a
//! plaintext with the a that meet there. With x near rotations of S, made once, and y far ones of
//! the sums, x y >= r, `sum over g of far^g (sum over b of A_(g,b) near^b (S))`.
//!
//! **Differences.** Coefficients follow from values by an inverse transform inside each run, and 2
//! (x_a - x_b) is linear in coefficients: d rotations by multiples of a block, in close steps and
//! leaps. Its plaintexts are the same for all polynomials, so they have few coefficients.
//!
//! The near rotations are made one prime above everything else, which is then dropped: what key
//! switching adds is divided by it before the masks multiply it.

use super::hardness::Module;
use crate::argmax::circuit::Estimate;
use crate::noise::{Noise, Ring};
use crate::scheme::ERROR_VARIANCE;

/// How many rotations of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    rank: usize,
    degree: usize,
    /// Rotations of the secrets, none included.
    pub(crate) near: usize,
    /// Sums of near rotations.
    pub(crate) far: usize,
    /// Rotations of the phases, none included.
    pub(crate) close: usize,
    /// Sums of close rotations.
    pub(crate) leaps: usize,
}

impl Route {
    pub(crate) fn new(module: Module, evaluations: usize) -> Self {
        let (rank, degree) = (module.rank(), module.degree());
        let near = (rank as f64).sqrt().ceil() as usize;
        // Close rotations are made once, leaps for each evaluation.
        let close = if evaluations == 1 { degree / 4 } else { degree / 2 };
        Self { rank, degree, near, far: rank.div_ceil(near), close, leaps: degree / close }
    }

    /// The noise of the phases, and of the differences before they are brought to where the
    /// comparison starts. The ring has the one prime more.
    pub(crate) fn noise(&self, ring: Ring) -> [Noise; 2] {
        let (top, below) = (ring.limbs, ring.limbs - 1);
        let turn = |noise, times: usize| (1..times).fold(noise, |e, _| ring.rotation(e));
        let none = Noise::new(0.0, below);
        // The student encrypts with its own key: one error, and what the encoding wraps.
        let error = ring.u() * (12.0 * ERROR_VARIANCE).sqrt();
        let secrets = ring.drop_to(turn(Noise::new(error + ring.wrap(), top), self.near), below);
        let phase = turn(ring.masked(none, secrets, self.rank), self.far);
        let phase = Noise::new(phase.bound() + ring.wrap(), below);
        let moved = turn(phase, self.close);
        [phase, turn(ring.masked(none, moved, self.degree), self.leaps)]
    }

    /// Random polynomials that the bounds speak of.
    pub(crate) fn events(&self, evaluations: usize) -> usize {
        4 * (self.rank + self.near + self.far + self.degree * (evaluations + 1))
    }

    /// Rotations of a batch.
    pub(crate) fn rotations(&self, evaluations: usize) -> usize {
        self.near + self.far + self.close + evaluations * (self.leaps - 1) - 3
    }

    /// The most ciphertexts that there are at once, one for each rotation and each sum.
    pub(crate) fn ciphertexts(&self, evaluations: usize) -> usize {
        (self.near + self.far).max(self.close + evaluations * self.leaps)
    }

    /// Counts the work.
    pub(crate) fn spend(&self, estimate: &Estimate, top: usize, evaluations: usize) {
        (1..self.near).for_each(|_| estimate.rotation(top));
        let low = self.rotations(evaluations) + 1 - self.near;
        (0..low).for_each(|_| estimate.rotation(top - 1));
        let masks = self.rank + self.degree * evaluations;
        (0..masks).for_each(|_| estimate.masked(top - 1));
    }
}
