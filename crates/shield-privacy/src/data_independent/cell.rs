//! Cells: boxes of pairs of neighbouring histograms.
//!
//! A cell holds every pair whose first class (which loses the vote) has entries in one range, whose
//! second (which gains it) has entries in another, and whose bystanders have a concentration in a
//! third. The concentration is sum c^2 / sum c over the bystanders: the size of the class of a
//! bystander's entry drawn at random. It is smallest where they are all equal, and largest where
//! one has everything.

use crate::rounds::Rounds;

/// A closed range of real numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Range {
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Range {
    pub(crate) fn new(low: f64, high: f64) -> Self {
        Self { low, high }
    }

    fn is_empty(self) -> bool {
        self.low > self.high
    }

    pub(crate) fn is_point(self) -> bool {
        self.low >= self.high
    }

    pub(crate) fn clamp(self, value: f64) -> f64 {
        value.max(self.low).min(self.high)
    }

    /// How many times the low end fits in the high end: what a bound over the range loses.
    fn stretch(self) -> f64 {
        (self.high / self.low.max(0.5)).ln()
    }

    /// Two halves of a range of whole or real numbers; by ratio where it spans several octaves.
    fn halves(self, counts: Counts) -> Option<(Self, Self)> {
        if self.is_point() {
            return None;
        }
        if counts == Counts::Real && self.high - self.low <= 1e-6 * self.high {
            return None;
        }
        let middle = if self.high > 2.0 * self.low && self.low > 0.0 {
            (self.low * self.high).sqrt()
        } else {
            f64::midpoint(self.low, self.high)
        };
        if counts == Counts::Real {
            return Some((Self::new(self.low, middle), Self::new(middle, self.high)));
        }
        let middle = middle.floor().max(self.low).min(self.high - 1.0);
        Some((Self::new(self.low, middle), Self::new(middle + 1.0, self.high)))
    }
}

/// What the entries of loser and gainer are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counts {
    Whole,
    /// Rounds that speak for several numbers of voters scale their counts.
    Real,
}

impl Counts {
    pub(crate) fn of(rounds: &Rounds) -> Self {
        if rounds.stretch > 1.0 { Self::Real } else { Self::Whole }
    }
}

/// Which range of a cell to split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Axis {
    Loser,
    Gainer,
    Concentration,
}

impl Axis {
    pub(crate) const ALL: [Self; 3] = [Self::Loser, Self::Gainer, Self::Concentration];
}

/// A set of neighbouring pairs. Entries are those before the vote moves, with loser - 1 >= gainer:
/// the vote goes to a class that is no larger, which every pair does in one of its two directions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cell {
    /// Entries of the class that loses a vote: whole numbers.
    pub(crate) loser: Range,
    /// Entries of the class that gains it: whole numbers.
    pub(crate) gainer: Range,
    /// Concentration of the bystanders.
    pub(crate) concentration: Range,
}

impl Cell {
    /// All pairs of neighbours of an urn.
    pub(crate) fn all(rounds: &Rounds) -> Option<Self> {
        let (least, most) =
            (f64::from(rounds.offset), f64::from(rounds.offset) + f64::from(rounds.voters));
        let everything = Self {
            loser: Range::new(least + 1.0, most),
            gainer: Range::new(least, most),
            concentration: Range::new(0.0, most),
        };
        everything.tightened(rounds)
    }

    /// How many classes neither lose nor gain.
    pub(crate) fn bystanders(rounds: &Rounds) -> f64 {
        (rounds.classes - 2) as f64
    }

    /// The entries that the bystanders have together.
    pub(crate) fn others(&self, rounds: &Rounds) -> Range {
        let least = Self::bystanders(rounds) * f64::from(rounds.offset);
        Range::new(
            (rounds.size - self.loser.high - self.gainer.high).max(least),
            (rounds.size - self.loser.low - self.gainer.low).max(least),
        )
    }

    /// The entries that any one bystander may have.
    ///
    /// Among b numbers of mean m whose squared deviations add up to S, none is further from m than
    /// sqrt(S (b-1)/b): the others need at least d^2/(b-1) to balance a deviation d.
    pub(crate) fn bystander(&self, rounds: &Rounds) -> Range {
        let bystanders = Self::bystanders(rounds);
        let least = f64::from(rounds.offset);
        if bystanders == 0.0 {
            return Range::new(least, least);
        }
        let others = self.others(rounds);
        let spread = others.high * (self.concentration.high - others.low / bystanders).max(0.0);
        let deviation = (spread * (bystanders - 1.0) / bystanders).sqrt() * (1.0 + 1e-12);
        Range::new(
            (others.low / bystanders - deviation).max(least),
            (others.high / bystanders + deviation).min(others.high - (bystanders - 1.0) * least),
        )
    }

    /// The same cell without what cannot be: entries that do not add up, concentrations out of
    /// reach. `None` if nothing is left.
    pub(crate) fn tightened(mut self, rounds: &Rounds) -> Option<Self> {
        let bystanders = Self::bystanders(rounds);
        let least = f64::from(rounds.offset);
        let most_others = if bystanders == 0.0 { 0.0 } else { rounds.size };
        // Each pass carries a change of one range over to the other; what a third would find is
        // dropped later, when the cell is split.
        for _ in 0..2 {
            let pair_most = rounds.size - bystanders * least;
            let pair_least = rounds.size - most_others;
            let (loser, gainer) = (&mut self.loser, &mut self.gainer);
            loser.high = loser.high.min(pair_most - gainer.low);
            gainer.high = gainer.high.min(pair_most - loser.low).min(loser.high - 1.0);
            loser.low = loser.low.max(pair_least - gainer.high).max(gainer.low + 1.0);
            gainer.low = gainer.low.max(pair_least - loser.high);
            if loser.is_empty() || gainer.is_empty() {
                return None;
            }
        }
        if bystanders == 0.0 {
            self.concentration = Range::new(0.0, 0.0);
            return Some(self);
        }
        let others = self.others(rounds);
        // sum c^2 / sum c is convex in how the entries are spread, hence largest in a corner: one
        // bystander has all that the others need not have. In the total it is convex too.
        let largest = |total: f64| {
            let alone = total - (bystanders - 1.0) * least;
            if total > 0.0 {
                (alone * alone + (bystanders - 1.0) * least * least) / total
            } else {
                0.0
            }
        };
        let range = &mut self.concentration;
        range.low = range.low.max(others.low / bystanders * (1.0 - 1e-14));
        range.high = range.high.min(largest(others.low).max(largest(others.high)) * (1.0 + 1e-14));
        (!range.is_empty()).then_some(self)
    }

    /// The two parts of the cell along an axis, where it can be split.
    pub(crate) fn split(&self, axis: Axis, counts: Counts) -> Option<[Self; 2]> {
        let (mut one, mut two) = (*self, *self);
        match axis {
            Axis::Loser => (one.loser, two.loser) = self.loser.halves(counts)?,
            Axis::Gainer => (one.gainer, two.gainer) = self.gainer.halves(counts)?,
            Axis::Concentration => {
                let range = self.concentration;
                if range.high - range.low <= 1e-9 * range.high {
                    return None;
                }
                // The worst pairs have equal bystanders, at the low end: cut there.
                let cut = range.low + 0.25 * (range.high - range.low);
                (one.concentration.high, two.concentration.low) = (cut, cut);
            }
        }
        Some([one, two])
    }

    /// How wide the cell is along an axis, for cells so wide that nothing else tells.
    pub(crate) fn stretch(&self, axis: Axis) -> f64 {
        match axis {
            Axis::Loser => self.loser.stretch(),
            Axis::Gainer => self.gainer.stretch(),
            Axis::Concentration => self.concentration.stretch(),
        }
    }
}
