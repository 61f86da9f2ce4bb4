//! Small numbers in as few bytes as the largest of them needs: votes of 10,000 teachers on 100,000
//! samples are a thousand million cells, and a byte holds each where there are at most 255 classes.

/// What a cell holds where there is no number.
pub const MISSING: u32 = u32::MAX;

/// A list of numbers, some of which may be missing. It widens when a number needs it.
#[derive(Clone)]
pub enum Cells {
    /// Numbers up to 254.
    Bytes(Vec<u8>),
    /// All others.
    Long(Vec<u32>),
}

impl Default for Cells {
    fn default() -> Self {
        Self::Bytes(Vec::new())
    }
}

fn wide(cell: u8) -> u32 {
    if cell == u8::MAX { MISSING } else { u32::from(cell) }
}

impl Cells {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Bytes(cells) => cells.len(),
            Self::Long(cells) => cells.len(),
        }
    }

    /// Adds a number, or [`MISSING`].
    pub fn push(&mut self, number: u32) {
        self.extend(&[number]);
    }

    /// Adds some numbers, any of which may be [`MISSING`].
    pub fn extend(&mut self, numbers: &[u32]) {
        // MISSING becomes 0 here, so that nothing branches on a cell.
        let largest = numbers.iter().map(|&number| number.wrapping_add(1)).max().unwrap_or(0);
        self.widen(largest.saturating_sub(1));
        #[expect(clippy::cast_possible_truncation, reason = "wide enough, and MISSING stays MAX")]
        match self {
            Self::Bytes(cells) => cells.extend(numbers.iter().map(|&number| number as u8)),
            Self::Long(cells) => cells.extend_from_slice(numbers),
        }
    }

    /// Makes room for numbers as large as this one.
    fn widen(&mut self, largest: u32) {
        if let (Self::Bytes(cells), 255..) = (&*self, largest) {
            *self = Self::Long(cells.iter().map(|&cell| wide(cell)).collect());
        }
    }

    /// The number at a place, or [`MISSING`].
    #[inline]
    pub fn get(&self, place: usize) -> u32 {
        match self {
            Self::Bytes(cells) => wide(cells[place]),
            Self::Long(cells) => cells[place],
        }
    }

    /// Counts how often each number occurs in a range. All are below the length of `counts`.
    pub fn tally(&self, range: std::ops::Range<usize>, counts: &mut [u32]) {
        // The width is looked at once, not once per cell.
        match self {
            Self::Bytes(cells) => {
                let present = cells[range].iter().filter(|&&cell| cell != u8::MAX);
                present.for_each(|&cell| counts[usize::from(cell)] += 1);
            }
            Self::Long(cells) => {
                let present = cells[range].iter().filter(|&&cell| cell != MISSING);
                present.for_each(|&cell| counts[cell as usize] += 1);
            }
        }
    }

    /// Puts another number in the place of each: number n becomes `numbers[n]`.
    pub fn rename(&mut self, numbers: &[u32]) {
        self.widen(numbers.iter().copied().max().unwrap_or(0));
        #[expect(clippy::cast_possible_truncation, reason = "widened just above")]
        match self {
            Self::Bytes(cells) => {
                for cell in cells.iter_mut().filter(|cell| **cell != u8::MAX) {
                    *cell = numbers[usize::from(*cell)] as u8;
                }
            }
            Self::Long(cells) => {
                for cell in cells.iter_mut().filter(|cell| **cell != MISSING) {
                    *cell = numbers[*cell as usize];
                }
            }
        }
    }

    /// Keeps the first so many.
    pub fn truncate(&mut self, length: usize) {
        match self {
            Self::Bytes(cells) => cells.truncate(length),
            Self::Long(cells) => cells.truncate(length),
        }
    }

    /// Gives back what was reserved and is not used.
    pub fn shrink(&mut self) {
        match self {
            Self::Bytes(cells) => cells.shrink_to_fit(),
            Self::Long(cells) => cells.shrink_to_fit(),
        }
    }
}

/// Equal numbers, whatever the width.
impl PartialEq for Cells {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len()
            && (0..self.len()).all(|place| self.get(place) == other.get(place))
    }
}

impl Eq for Cells {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_in_comes_out_at_every_width() {
        let numbers = [0, 254, MISSING, 255, 256, 65_534, MISSING, 65_535, 1 << 30, 7];
        for length in 0..=numbers.len() {
            let mut one_by_one = Cells::default();
            numbers[..length].iter().for_each(|&number| one_by_one.push(number));
            let mut at_once = Cells::default();
            at_once.extend(&numbers[..length]);
            let found: Vec<u32> = (0..length).map(|place| one_by_one.get(place)).collect();
            assert_eq!(found, numbers[..length]);
            assert!(one_by_one == at_once);
        }
    }

    #[test]
    fn bytes_suffice_for_255_classes() {
        let mut cells = Cells::default();
        cells.extend(&[254, MISSING]);
        assert!(matches!(cells, Cells::Bytes(_)));
        cells.push(255);
        assert!(matches!(cells, Cells::Long(_)));
        cells.truncate(2);
        let mut narrow = Cells::default();
        narrow.extend(&[254, MISSING]);
        assert!(cells == narrow, "the width does not count");
    }

    #[test]
    fn tallies_and_renames_at_every_width() {
        for widening in [0, 255, 65_535] {
            let mut cells = Cells::default();
            cells.extend(&[2, 0, MISSING, 2, widening]);
            let mut counts = [0; 3];
            cells.tally(0..4, &mut counts);
            assert_eq!(counts, [1, 0, 2]);
            cells.truncate(4);
            cells.rename(&[1, 2, 0]);
            assert_eq!(
                (0..4).map(|place| cells.get(place)).collect::<Vec<_>>(),
                [0, 1, MISSING, 0]
            );
        }
    }
}
