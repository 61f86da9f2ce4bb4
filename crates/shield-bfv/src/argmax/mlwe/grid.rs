//! Which slots hold which polynomial of the small ring, and which sample.
//!
//! A row of slots has N/2 columns. A polynomial needs one slot for each of the d points; it has a
//! run of R slots, R at least d, at the columns `P + j W` for j < R, W = N/2R, where P < W is its
//! place. Slot j belongs to point `j d / R`: where R is larger than d, neighbouring slots share a
//! point, B = R/d of them, a *block*.
//!
//! **The secrets.** Column C of either row holds polynomial `C mod r` of the secret, r the rank, at
//! the point of its slot. So rotations by 0 to r - 1 columns show every polynomial of the secret at
//! C, in an order that depends on C mod r alone, as long as the window `C .. C + r` has one point.
//! It leaves it at the end of the last slot of a block. Two ways out: places P with `P + r > W`
//! stay empty, or the last slots of all blocks compare nothing. A pairing decides: if it has left
//! those slots out, all places are used.
//!
//! **The samples.** A sample of K classes has a run of its own, of Q slots, in which pairs of
//! classes are compared ([`crate::argmax::pairing`]). Where Q is d or more, it is the polynomial's.
//! Where it is less, `M = d / Q` samples share a polynomial: sample i of them has the coefficients
//! `i K .. (i + 1) K` and the slots `i + c M`, which are the run of a sample in the layout with
//! runs of Q slots.

use super::hardness::Module;
use crate::argmax::pairing::Pairing;
use crate::layout::Places;

/// The places of a batch of tiny ballots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    module: Module,
    /// N.
    ring: usize,
    /// Classes that are voted for.
    classes: usize,
    /// Slots of a sample.
    run: usize,
    /// Whether all places are used: the last slot of every block compares nothing.
    whole: bool,
}

impl Grid {
    /// The grid of a pairing in a ring of `ring` coefficients, if it has any place.
    pub(crate) fn new(
        module: Module,
        ring: usize,
        classes: usize,
        pairing: &Pairing,
    ) -> Option<Self> {
        let run = pairing.run();
        let block = run / module.degree();
        let whole = block > 1 && pairing.spares(block);
        let grid = Self { module, ring, classes, run, whole };
        (2 * grid.wide() <= ring && module.rank() <= grid.width()).then_some(grid)
    }

    pub(crate) fn module(&self) -> Module {
        self.module
    }

    /// R: slots of a polynomial.
    pub(crate) fn wide(&self) -> usize {
        self.run.max(self.module.degree())
    }

    /// W: places of a row, used or not.
    pub(crate) fn width(&self) -> usize {
        self.ring / 2 / self.wide()
    }

    /// Columns of a row.
    pub(crate) fn columns(&self) -> usize {
        self.ring / 2
    }

    /// M: samples that share a polynomial.
    pub(crate) fn packed(&self) -> usize {
        self.wide() / self.run
    }

    /// Classes that are voted for.
    pub(crate) fn classes(&self) -> usize {
        self.classes
    }

    /// Places of a row that are used.
    fn used(&self) -> usize {
        if self.whole { self.width() } else { self.width() + 1 - self.module.rank() }
    }

    /// Samples of a full batch.
    pub(crate) fn samples(&self) -> usize {
        2 * self.used() * self.packed()
    }

    /// Polynomials that some samples take.
    pub(crate) fn polynomials(&self, samples: usize) -> usize {
        samples.div_ceil(self.packed())
    }

    /// Row and place of a polynomial.
    pub(crate) fn place(&self, polynomial: usize) -> (usize, usize) {
        (polynomial / self.used(), polynomial % self.used())
    }

    /// The point of a slot of a polynomial's run.
    pub(crate) fn point(&self, slot: usize) -> usize {
        slot * self.module.degree() / self.wide()
    }

    /// Which of the samples that share a polynomial has a slot, and which of its own it is.
    pub(crate) fn sample(&self, slot: usize) -> (usize, usize) {
        (slot % self.packed(), slot / self.packed())
    }

    /// The places of every sample's slots.
    pub(crate) fn places(&self) -> Places {
        let runs = Places::of_runs(self.ring, self.run, self.ring / self.run);
        let position = |sample: usize| {
            let (row, place) = self.place(sample / self.packed());
            (row * self.packed() + sample % self.packed()) * self.width() + place
        };
        runs.only((0..self.samples()).map(position))
    }

    /// The place in transform order of every column of both rows.
    pub(crate) fn columns_of(&self) -> Vec<u32> {
        let runs = Places::of_runs(self.ring, self.wide(), self.ring / self.wide());
        let width = self.width();
        let place = |i: usize| {
            let (row, column) = (i / self.columns(), i % self.columns());
            runs.slots(0, row * width + column % width)[column / width]
        };
        (0..self.ring).map(place).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_have_the_slots_of_their_polynomial() {
        for (classes, run) in [(2, 2), (3, 4), (10, 16), (10, 64)] {
            let pairing = Pairing::new(classes, run);
            let grid = Grid::new(Module::insecure(classes), 1_024, classes, &pairing).unwrap();
            let (places, columns) = (grid.places(), grid.columns_of());
            for sample in 0..grid.samples() {
                let (row, place) = grid.place(sample / grid.packed());
                let own = (0..grid.wide()).filter(|&j| grid.sample(j).0 == sample % grid.packed());
                let expected: Vec<u32> =
                    own.map(|j| columns[row * grid.columns() + place + j * grid.width()]).collect();
                assert_eq!(places.slots(0, sample), expected, "{classes} classes, {sample}");
            }
        }
    }

    #[test]
    fn no_window_of_a_slot_that_is_used_leaves_its_point() {
        for (classes, run) in [(2, 2), (10, 16), (10, 64), (20, 32), (20, 128)] {
            for pairing in [Pairing::new(classes, run), Pairing::sparing(classes, run, 4)] {
                let module = Module::insecure(classes);
                let Some(grid) = Grid::new(module, 2_048, classes, &pairing) else { continue };
                let compared = pairing.evaluations().iter().flatten().map(|c| c.slot);
                for slot in compared.collect::<std::collections::BTreeSet<_>>() {
                    let slots = (0..grid.wide()).filter(|&j| grid.sample(j).1 == slot);
                    for (slot, place) in slots.flat_map(|j| (0..grid.used()).map(move |p| (j, p))) {
                        let last = place + slot * grid.width() + module.rank() - 1;
                        assert!(last < grid.columns());
                        assert_eq!(grid.point(last / grid.width()), grid.point(slot));
                    }
                }
            }
        }
    }
}
