//! Which slot of a ciphertext holds what.
//!
//! A slot is a value of the plaintext at an odd power of a root of unity: row r, column c is at
//! exponent `(-1)^r 3^c`. K classes are padded to K', a power of two. Class k of position (r, c)
//! stands at column `c + k W`, where W = (N/2)/K'; the K' slots of a position are then exactly K'
//! neighbours in the transform's bit-reversed order, a *run*: all masks are constant on runs, and
//! rotating by multiples of W moves classes around within their run.
//!
//! A ciphertext has N/K' positions. With fewer samples than that, they are cut into G *groups*, so
//! that one ciphertext holds G cells: G rounds of each sample (the teacher repeats its votes).

/// Fewest slots a run: a run is whole registers, and uniform junk looks one-hot with a chance of
/// 2^-125.
const MIN_RUN: usize = 8;

/// Most ciphertexts of cells that one aggregation holds in memory.
const MAX_CIPHERTEXTS: usize = 128;

/// The layout of one plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    degree: usize,
    classes: usize,
    run: usize,
    groups: usize,
    rounds: usize,
}

/// Where one of an aggregation's cells lies: cell c is group `group` of ciphertext `ciphertext`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) ciphertext: usize,
    pub(crate) group: usize,
}

impl Layout {
    /// The layout for `samples` samples of `classes` classes with `rounds` rounds in a ring of
    /// `degree` coefficients; `None` where a position would need more slots than a row has.
    pub(crate) fn new(
        degree: usize,
        classes: usize,
        samples: usize,
        rounds: usize,
    ) -> Option<Self> {
        let run = classes.next_power_of_two().max(MIN_RUN);
        let positions = degree / run;
        if positions < 2 {
            return None;
        }
        // As many groups as the samples leave room for; more, and so smaller batches, where the
        // cells would otherwise need too many ciphertexts at once.
        let fitting = positions / samples.min(positions);
        let roomy = 1 << fitting.ilog2();
        let needed = rounds.div_ceil(MAX_CIPHERTEXTS).next_power_of_two();
        let groups = rounds.next_power_of_two().min(roomy.max(needed)).min(positions);
        Some(Self { degree, classes, run, groups, rounds })
    }

    /// Coefficients of the ring.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// Classes, without padding.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Slots a position: the classes, padded to a power of two.
    pub fn run(&self) -> usize {
        self.run
    }

    /// Runs in a ciphertext.
    pub fn positions(&self) -> usize {
        self.degree / self.run
    }

    /// Cells in a ciphertext.
    pub fn groups(&self) -> usize {
        self.groups
    }

    /// Samples in a batch.
    pub fn samples(&self) -> usize {
        self.positions() / self.groups
    }

    /// Rounds of the mechanism: cells of a sample.
    pub fn rounds(&self) -> usize {
        self.rounds
    }

    /// Ciphertexts that hold all cells of a batch.
    pub fn ciphertexts(&self) -> usize {
        self.rounds.div_ceil(self.groups)
    }

    pub(crate) fn cell(&self, cell: usize) -> Cell {
        Cell { ciphertext: cell / self.groups, group: cell % self.groups }
    }

    /// Automorphisms whose successive sums add up the classes of every run.
    pub(crate) fn class_sums(&self) -> Vec<u64> {
        let columns = self.positions() as u64 / 2;
        (0..self.run.ilog2()).map(|bit| power(3, columns << bit, 2 * self.degree as u64)).collect()
    }

    /// Automorphisms that generate all moves between groups: the columns' by powers of two, then
    /// the rows'.
    pub(crate) fn group_moves(&self) -> Vec<u64> {
        let modulus = 2 * self.degree as u64;
        let columns = (self.groups / 2).max(1);
        let steps =
            (0..columns.ilog2()).map(|bit| power(3, (self.samples() << bit) as u64, modulus));
        let swap = (self.groups > 1).then_some(modulus - 1);
        steps.chain(swap).collect()
    }

    /// The group whose content stands in `group` after the move number `by`: bit i of the column
    /// part of `by` is the i-th of [`Layout::group_moves`], its row part the last.
    pub(crate) fn moved(&self, group: usize, by: usize) -> usize {
        let columns = (self.groups / 2).max(1);
        let column = (group + by) % columns;
        let row = (group / columns) ^ (by / columns);
        row * columns + column
    }
}

/// From which earlier move, by which of [`Layout::group_moves`], the move number `by` comes about.
pub(crate) fn move_step(layout: &Layout, by: usize) -> (usize, usize) {
    let columns = (layout.groups / 2).max(1);
    if by >= columns {
        (by - columns, columns.ilog2() as usize)
    } else {
        let bit = by.ilog2();
        (by - (1 << bit), bit as usize)
    }
}

fn power(base: u64, mut exponent: u64, modulus: u64) -> u64 {
    let (mut result, mut square) = (1, base % modulus);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = result * square % modulus;
        }
        square = square * square % modulus;
        exponent >>= 1;
    }
    result
}

/// The place in transform order of every position and class.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    /// For each position, each of its K' classes.
    table: Vec<u32>,
    run: usize,
    samples: usize,
}

impl Places {
    pub(crate) fn new(layout: &Layout) -> Self {
        let (n, columns) = (layout.degree, layout.positions() / 2);
        let bits = n.trailing_zeros();
        let place = |exponent: usize| (exponent / 2).reverse_bits() >> (usize::BITS - bits);
        let mut table = vec![0; n];
        let mut exponent = 1;
        for column in 0..n / 2 {
            let (position, class) = (column % columns, column / columns);
            table[position * layout.run + class] = place(exponent) as u32;
            table[(columns + position) * layout.run + class] = place(2 * n - exponent) as u32;
            exponent = exponent * 3 % (2 * n);
        }
        Self { table, run: layout.run, samples: layout.samples() }
    }

    /// The place of each class, padding included, of a sample in a group.
    pub(crate) fn classes(&self, group: usize, sample: usize) -> &[u32] {
        &self.table[(group * self.samples + sample) * self.run..][..self.run]
    }

    /// The run of a sample in a group: its places are `run * K' .. (run + 1) * K'`.
    pub(crate) fn run(&self, group: usize, sample: usize) -> usize {
        self.classes(group, sample)[0] as usize / self.run
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_classes_of_a_position_fill_one_run() {
        for (classes, samples) in [(2, 1), (10, 100), (37, 3), (1_024, 8), (5, 5_000)] {
            let layout = Layout::new(8_192, classes, samples, 19).unwrap();
            let places = Places::new(&layout);
            let mut seen = vec![false; 8_192];
            for group in 0..layout.groups() {
                for sample in 0..layout.samples() {
                    let run = places.run(group, sample);
                    for &place in places.classes(group, sample) {
                        assert_eq!(place as usize / layout.run(), run);
                        assert!(!std::mem::replace(&mut seen[place as usize], true));
                    }
                }
            }
            assert!(seen.iter().all(|&seen| seen), "{layout:?}");
        }
    }

    #[test]
    fn many_rounds_make_smaller_batches_not_more_memory() {
        for rounds in [1, 19, 129, 5_000, 65_000] {
            let layout = Layout::new(8_192, 10, 1_000_000, rounds).unwrap();
            assert!(layout.ciphertexts() <= MAX_CIPHERTEXTS, "{layout:?}");
            assert!(layout.ciphertexts() * layout.groups() >= rounds);
        }
    }

    #[test]
    fn moves_reach_every_group_once() {
        for samples in [1, 50, 100, 200, 300, 600] {
            let layout = Layout::new(8_192, 10, samples, 19).unwrap();
            for group in 0..layout.groups() {
                let mut reached: Vec<_> =
                    (0..layout.groups()).map(|by| layout.moved(group, by)).collect();
                reached.sort_unstable();
                assert!(reached.into_iter().eq(0..layout.groups()));
            }
        }
    }
}
