//! Which slot of which ciphertext holds what.
//!
//! A slot is a value of the plaintext at an odd power of a root of unity: row r, column c is at
//! exponent `(-1)^r 3^c`. The slots of a position (r, c) are at the columns `c + k W` of its row,
//! where W = (N/2)/R for R slots, a power of two; they are then exactly R neighbours in the
//! transform's bit-reversed order, a *run*: all masks of the tally are constant on runs, and
//! rotating by multiples of W moves slots around within their run.
//!
//! How a class is written in the slots of a position is its [`Coding`]:
//!
//! | coding | a vote for class k | slots |
//! |---|---|---|
//! | one-hot | one at slot k of a run | K, padded to a power of two |
//! | bits packed in a run | one at slot i for each bit i of k, repeated to fill the run | at least 8 |
//! | bits across ciphertexts | one in ciphertext i for each bit i of k, all at one slot | 1 in each |
//!
//! A ciphertext has N/R positions. With fewer samples than that, they are cut into G *groups*, so
//! that one ciphertext holds G cells: G rounds of each sample (the teacher repeats its votes).

pub(crate) mod cells;

use serde::Serialize;

pub(crate) use cells::Cells;

/// Fewest slots of a run of several: a run is whole registers, and uniform junk looks like a vote
/// with a chance below 2^-100.
const MIN_RUN: usize = 8;

/// Fewest positions of a ciphertext: the tally's transforms of masks are not made for less.
const MIN_POSITIONS: usize = 8;

/// Most ciphertexts of cells that one aggregation holds in memory, with several slots per sample.
const MAX_CIPHERTEXTS: usize = 128;

/// Most slots of cells that one aggregation holds in memory, with one slot per sample.
const MAX_SLOTS: usize = 1 << 23;

/// Bits by which the chance that junk of any sample looks like a label stays below one.
const CLEAN_BITS: f64 = 40.0;

/// How a class is written in slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Coding {
    /// A slot for each class.
    OneHot,
    /// A slot for each bit of the class, side by side in a ciphertext.
    PackedBits,
    /// A ciphertext for each bit of the class, a slot for each sample.
    BitsAcross,
}

impl std::fmt::Display for Coding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::OneHot => "one-hot",
            Self::PackedBits => "packed-bits",
            Self::BitsAcross => "bits-across",
        })
    }
}

/// What a slot of a run holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// A part of the code of a class: what slot `original` holds in group 0, or a copy of it.
    Code {
        /// The slot of the run in group 0.
        original: usize,
    },
    /// Nothing: zero.
    Padding,
}

/// The layout of one plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    degree: usize,
    classes: usize,
    coding: Coding,
    run: usize,
    checks: usize,
    groups: usize,
    cells: Cells,
}

impl Layout {
    /// The layout for `samples` samples of `classes` classes with `rounds` rounds in a ring of
    /// `degree` coefficients; `None` where a position would need more slots than a row has.
    pub(crate) fn new(
        coding: Coding,
        degree: usize,
        classes: usize,
        samples: usize,
        rounds: usize,
    ) -> Option<Self> {
        let bits = bits(classes);
        let run = match coding {
            Coding::OneHot => classes.next_power_of_two().max(MIN_RUN),
            Coding::PackedBits => bits.next_power_of_two().max(MIN_RUN),
            Coding::BitsAcross => 1,
        };
        let positions = degree / run;
        if positions < MIN_POSITIONS {
            return None;
        }
        let (planes, most) = match coding {
            Coding::OneHot | Coding::PackedBits => (1, MAX_CIPHERTEXTS),
            Coding::BitsAcross => (bits, (MAX_SLOTS / degree / bits).max(1)),
        };
        // As many groups as the samples leave room for; more, and so smaller batches, where the
        // cells would otherwise need too many ciphertexts at once.
        let fitting = positions / samples.min(positions);
        let roomy = 1 << fitting.ilog2();
        let needed = rounds.div_ceil(most).next_power_of_two();
        let groups = rounds.next_power_of_two().min(roomy.max(needed)).min(positions);
        let cells = Cells::new(rounds, groups);
        // Junk of one cell looks like a label with a chance of K / t^slots.
        let slots = planes * run;
        let lookalikes = (classes as f64 * cells.count() as f64 * samples as f64).log2();
        let wanted = ((CLEAN_BITS + lookalikes) / 16.0).ceil() as usize;
        let checks = if run == 1 { wanted.saturating_sub(slots) } else { 0 };
        Some(Self { degree, classes, coding, run, checks, groups, cells })
    }

    /// Coefficients of the ring.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// Classes, without padding.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// How a class is written.
    pub fn coding(&self) -> Coding {
        self.coding
    }

    /// Bits of a class.
    pub fn bits(&self) -> usize {
        bits(self.classes)
    }

    /// Slots a position in each ciphertext: the classes or the bits, padded to a power of two.
    pub fn run(&self) -> usize {
        self.run
    }

    /// Ciphertexts of a ballot, and of the tally of a cell.
    pub fn planes(&self) -> usize {
        match self.coding {
            Coding::OneHot | Coding::PackedBits => 1,
            Coding::BitsAcross => self.bits(),
        }
    }

    /// Ciphertexts of a released cell: those of the tally, and some that are 0 where the others are
    /// a label, so that junk does not look like one.
    pub fn released_planes(&self) -> usize {
        self.planes() + self.checks
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

    /// Ciphertexts that hold all cells of a batch, with one slot or run for each position; every
    /// one of them is [`Layout::planes`] in the tally.
    pub fn ciphertexts(&self) -> usize {
        self.cells.ciphertexts()
    }

    pub(crate) fn cells(&self) -> &Cells {
        &self.cells
    }

    /// Neighbouring slots of a run whose product says whether a round succeeded.
    pub(crate) fn period(&self) -> usize {
        match self.coding {
            Coding::OneHot | Coding::BitsAcross => 1,
            Coding::PackedBits => self.bits().next_power_of_two(),
        }
    }

    /// Whether a vote for `class` is one at slot `slot` of a run in ciphertext `plane`.
    pub(crate) fn is_one(&self, class: usize, plane: usize, slot: usize) -> bool {
        match self.coding {
            Coding::OneHot => slot == class,
            Coding::PackedBits => {
                let bit = slot % self.period();
                class >> bit & 1 == 1
            }
            Coding::BitsAcross => class >> plane & 1 == 1,
        }
    }

    /// Automorphisms that combine the slots of every run, stage by stage: the first combines each
    /// slot with those that its rotations bring there, the next the results, and so on.
    ///
    /// Sums take four at a time, because the rotations of one ciphertext share their digits;
    /// products take two.
    pub(crate) fn run_stages(&self) -> Vec<Vec<u64>> {
        let columns = self.positions() as u64 / 2;
        let (slots, step) = match self.coding {
            Coding::OneHot => (self.run, 2),
            Coding::PackedBits | Coding::BitsAcross => (self.period(), 1),
        };
        let bits: Vec<u32> = (0..slots.ilog2()).collect();
        bits.chunks(step)
            .map(|stage| {
                let turns = (1..1_u64 << stage.len()).map(|turn| turn << stage[0]);
                turns.map(|by| turn(self.degree, columns * by)).collect()
            })
            .collect()
    }

    /// Automorphisms that, after [`Layout::run_stages`], spread a sum over the whole run where the
    /// stages cover only a period of it.
    pub(crate) fn run_fills(&self) -> Vec<u64> {
        let columns = self.positions() as u64 / 2;
        let covered = match self.coding {
            Coding::OneHot => self.run,
            Coding::PackedBits | Coding::BitsAcross => self.period(),
        };
        (covered.ilog2()..self.run.ilog2()).map(|bit| turn(self.degree, columns << bit)).collect()
    }

    /// How many rotations each step of a sum over all slots of a sample adds up.
    pub(crate) fn check_stages(&self) -> Vec<usize> {
        let singles = self.run_fills().len() + self.group_moves().len();
        let stages = self.run_stages().into_iter().map(|stage| stage.len());
        stages.chain(std::iter::repeat_n(1, singles)).collect()
    }

    /// What slot `slot` of a run holds.
    pub(crate) fn content(&self, slot: usize) -> Content {
        let (original, meant) = match self.coding {
            Coding::OneHot => (slot, self.classes),
            Coding::PackedBits => (slot % self.period(), self.bits()),
            Coding::BitsAcross => (slot, 1),
        };
        if original < meant { Content::Code { original } } else { Content::Padding }
    }

    /// Automorphisms that generate all moves between groups: the columns' by powers of two, then
    /// the rows'.
    pub(crate) fn group_moves(&self) -> Vec<u64> {
        let columns = (self.groups / 2).max(1);
        let steps =
            (0..columns.ilog2()).map(|bit| turn(self.degree, (self.samples() << bit) as u64));
        let swap = (self.groups > 1).then_some(2 * self.degree as u64 - 1);
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

/// Bits that tell `classes` classes apart.
fn bits(classes: usize) -> usize {
    classes.next_power_of_two().ilog2().max(1) as usize
}

/// The exponent of the automorphism after which each slot shows what was `columns` further on.
pub(crate) fn turn(degree: usize, mut columns: u64) -> u64 {
    let modulus = 2 * degree as u64;
    let (mut result, mut square) = (1, 3);
    while columns > 0 {
        if columns & 1 == 1 {
            result = result * square % modulus;
        }
        square = square * square % modulus;
        columns >>= 1;
    }
    result
}

/// The place in transform order of every slot of every position.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    /// For each position, each slot of its run.
    table: Vec<u32>,
    run: usize,
    samples: usize,
}

impl Places {
    pub(crate) fn new(layout: &Layout) -> Self {
        Self::of_runs(layout.degree, layout.run, layout.samples())
    }

    /// For runs of `run` slots, `samples` of them in a group.
    pub(crate) fn of_runs(n: usize, run: usize, samples: usize) -> Self {
        let (columns, bits) = (n / run / 2, n.trailing_zeros());
        let place = |exponent: usize| (exponent / 2).reverse_bits() >> (usize::BITS - bits);
        let mut table = vec![0; n];
        let mut exponent = 1;
        for column in 0..n / 2 {
            let (position, slot) = (column % columns, column / columns);
            table[position * run + slot] = place(exponent) as u32;
            table[(columns + position) * run + slot] = place(2 * n - exponent) as u32;
            exponent = exponent * 3 % (2 * n);
        }
        Self { table, run, samples }
    }

    /// The same for some of the positions, in this order, as samples of one group.
    pub(crate) fn only(&self, positions: impl Iterator<Item = usize>) -> Self {
        let runs = positions.flat_map(|position| &self.table[position * self.run..][..self.run]);
        let table: Vec<u32> = runs.copied().collect();
        Self { samples: table.len() / self.run, table, run: self.run }
    }

    /// The places of all runs, one after the other.
    pub(crate) fn all(&self) -> &[u32] {
        &self.table
    }

    /// The place of each slot, padding included, of a sample in a group.
    pub(crate) fn slots(&self, group: usize, sample: usize) -> &[u32] {
        &self.table[(group * self.samples + sample) * self.run..][..self.run]
    }

    /// The run of a sample in a group: its places are `run * R .. (run + 1) * R`.
    pub(crate) fn run(&self, group: usize, sample: usize) -> usize {
        self.slots(group, sample)[0] as usize / self.run
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reveal(
        coding: Coding,
        degree: usize,
        classes: usize,
        samples: usize,
        rounds: usize,
    ) -> Layout {
        Layout::new(coding, degree, classes, samples, rounds).unwrap()
    }

    #[test]
    fn the_slots_of_a_position_fill_one_run() {
        for (coding, classes, samples) in [
            (Coding::OneHot, 2, 1),
            (Coding::OneHot, 10, 100),
            (Coding::OneHot, 37, 3),
            (Coding::OneHot, 1_024, 8),
            (Coding::OneHot, 5, 5_000),
            (Coding::PackedBits, 300, 100),
            (Coding::BitsAcross, 300, 1_000),
        ] {
            let layout = reveal(coding, 8_192, classes, samples, 19);
            let places = Places::new(&layout);
            let mut seen = vec![false; 8_192];
            for group in 0..layout.groups() {
                for sample in 0..layout.samples() {
                    let run = places.run(group, sample);
                    for &place in places.slots(group, sample) {
                        assert_eq!(place as usize / layout.run(), run);
                        assert!(!std::mem::replace(&mut seen[place as usize], true));
                    }
                }
            }
            assert!(seen.iter().all(|&seen| seen), "{layout:?}");
        }
    }

    #[test]
    fn every_class_has_a_code_of_its_own() {
        for (coding, classes) in [(Coding::PackedBits, 10), (Coding::BitsAcross, 1_000)] {
            let layout = reveal(coding, 8_192, classes, 10, 19);
            let code = |class| -> Vec<bool> {
                let slots =
                    (0..layout.planes()).flat_map(|p| (0..layout.run()).map(move |s| (p, s)));
                slots.map(|(plane, slot)| layout.is_one(class, plane, slot)).collect()
            };
            let codes: std::collections::HashSet<Vec<bool>> = (0..classes).map(code).collect();
            assert_eq!(codes.len(), classes);
        }
    }

    #[test]
    fn junk_looks_like_a_label_with_a_negligible_chance() {
        for (classes, samples) in [(2, 1_000_000), (10, 16_384), (65_536, 100_000_000)] {
            let layout = reveal(Coding::BitsAcross, 16_384, classes, samples, 19);
            let chance = (classes as f64).log2() + 20_f64.log2() + (samples as f64).log2()
                - 16.0 * layout.released_planes() as f64;
            assert!(chance <= -40.0, "2^{chance} for {classes} classes");
        }
    }

    #[test]
    fn many_rounds_make_smaller_batches_not_more_memory() {
        for rounds in [1, 19, 129, 5_000, 65_000] {
            let layout = reveal(Coding::OneHot, 8_192, 10, 1_000_000, rounds);
            assert!(layout.ciphertexts() <= MAX_CIPHERTEXTS * 9 / 8 + 2, "{layout:?}");
            assert!(layout.ciphertexts() * layout.groups() >= rounds);
        }
    }

    #[test]
    fn moves_reach_every_group_once() {
        for samples in [1, 50, 100, 200, 300, 600] {
            let layout = reveal(Coding::OneHot, 8_192, 10, samples, 19);
            for group in 0..layout.groups() {
                let mut reached: Vec<_> =
                    (0..layout.groups()).map(|by| layout.moved(group, by)).collect();
                reached.sort_unstable();
                assert!(reached.into_iter().eq(0..layout.groups()));
            }
        }
    }
}
