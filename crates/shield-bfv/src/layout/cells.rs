//! In which cell of a sample each round stands, and which cells come before which.
//!
//! The number of a cell is written in digits: its group first, then the digits of its
//! ciphertext, `X = b_1 b_2 ... b_m` ciphertexts in all. *Each digit* is shifted cyclically and on
//! its own. A round comes before another if its digit is smaller at the first place where they
//! differ, so what comes before a cell is, at each place, the sum of whole subtrees: siblings of
//! the subtree that the cell is in. Those sums are additions, the same for all samples; which
//! sibling counts is up to the sample's shift of that digit. That makes `sum of (b_i - 1)` terms
//! and one for each move between groups; with one cyclic shift of all cells, the sum would have
//! other terms for every shift, `X` times the groups in all.

/// Where one of an aggregation's cells lies: group `group` of the ciphertexts number `ciphertext`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) ciphertext: usize,
    pub(crate) group: usize,
}

/// The cells of a sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cells {
    groups: usize,
    /// Digits of a ciphertext's number, the most significant first: their product is the number of
    /// ciphertexts.
    radices: Vec<usize>,
}

/// What one more ciphertext of cells costs, in terms of a reveal: tally, unanimity, flooding.
const CIPHERTEXT_COST: usize = 60;

impl Cells {
    /// Cells for that many rounds in ciphertexts of `groups` cells each.
    pub(crate) fn new(rounds: usize, groups: usize) -> Self {
        Self { groups, radices: radices(rounds.div_ceil(groups), groups) }
    }

    /// Digits of a ciphertext's number.
    pub(crate) fn radices(&self) -> &[usize] {
        &self.radices
    }

    /// Ciphertexts that hold the cells.
    pub(crate) fn ciphertexts(&self) -> usize {
        self.radices.iter().product()
    }

    /// Cells of a sample in which a round may stand.
    pub(crate) fn count(&self) -> usize {
        self.ciphertexts() * self.groups
    }

    /// The digits of a cell's number, its group first.
    pub(crate) fn digits(&self, mut number: usize) -> Vec<usize> {
        let mut digits = vec![0; self.radices.len() + 1];
        for (digit, &radix) in digits[1..].iter_mut().zip(&self.radices).rev() {
            *digit = number % radix;
            number /= radix;
        }
        digits[0] = number;
        digits
    }

    /// The cell in which a round stands, for a sample with this shift.
    pub(crate) fn place(&self, round: usize, shift: usize) -> Cell {
        let (mut round, mut shift) = (round, shift);
        let (mut ciphertext, mut weight) = (0, 1);
        for &radix in self.radices.iter().rev() {
            ciphertext += (round % radix + shift % radix) % radix * weight;
            weight *= radix;
            round /= radix;
            shift /= radix;
        }
        Cell { ciphertext, group: (round + shift) % self.groups }
    }
}

/// Whether digit `other` stands before digit `own`, both modulo `radix`, under a shift.
pub(crate) fn before(other: usize, own: usize, shift: usize, radix: usize) -> bool {
    (other + radix - shift) % radix < (own + radix - shift) % radix
}

/// Digits for at least `count` ciphertexts that make the aggregation cheapest: prime factors of
/// a number that is not much larger.
fn radices(count: usize, groups: usize) -> Vec<usize> {
    let cost = |number: usize, factors: &[usize]| {
        number * (CIPHERTEXT_COST + groups + factors.iter().map(|factor| factor - 1).sum::<usize>())
    };
    (count..=count + count / 8 + 2)
        .map(|number| (number, factors(number)))
        .min_by_key(|(number, factors)| cost(*number, factors))
        .map_or_else(|| vec![count], |(_, factors)| factors)
}

fn factors(mut number: usize) -> Vec<usize> {
    let mut factors = Vec::new();
    let mut factor = 2;
    while factor * factor <= number {
        while number.is_multiple_of(factor) {
            factors.push(factor);
            number /= factor;
        }
        factor += 1;
    }
    if number > 1 || factors.is_empty() {
        factors.push(number);
    }
    factors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shift_is_a_permutation_and_every_round_gets_everywhere() {
        for (rounds, groups) in [(19, 1), (19, 4), (1, 1), (3, 4), (30, 8)] {
            let cells = Cells::new(rounds, groups);
            let number = |cell: Cell| cell.ciphertext * groups + cell.group;
            assert!(cells.count() >= rounds);
            for fixed in 0..cells.count() {
                let sorted = |f: &dyn Fn(usize) -> Cell| {
                    let mut found: Vec<usize> = (0..cells.count()).map(|i| number(f(i))).collect();
                    found.sort_unstable();
                    found.dedup();
                    found.len()
                };
                assert_eq!(sorted(&|round| cells.place(round, fixed)), cells.count());
                assert_eq!(sorted(&|shift| cells.place(fixed, shift)), cells.count());
            }
        }
    }

    #[test]
    fn a_round_is_before_another_where_its_first_different_digit_is() {
        let cells = Cells::new(38, 2);
        for shift in [0, 7, 33] {
            let shifts = cells.digits(shift);
            let radices: Vec<usize> = [2].iter().chain(cells.radices()).copied().collect();
            for (a, b) in (0..cells.count()).flat_map(|a| (0..cells.count()).map(move |b| (a, b))) {
                let digits = |round| {
                    let Cell { ciphertext, group } = cells.place(round, shift);
                    cells.digits(group * cells.ciphertexts() + ciphertext)
                };
                let (x, y) = (digits(a), digits(b));
                let first = (0..x.len()).find(|&i| x[i] != y[i]);
                let found = first.is_some_and(|i| before(x[i], y[i], shifts[i], radices[i]));
                assert_eq!(found, a < b, "rounds {a} and {b} under shift {shift}");
            }
        }
    }

    #[test]
    fn few_terms_and_few_more_ciphertexts() {
        for (rounds, expected) in [(1, 1), (19, 20), (64, 64), (230, 240)] {
            let cells = Cells::new(rounds, 1);
            let terms: usize = cells.radices().iter().map(|radix| radix - 1).sum();
            assert!(cells.ciphertexts() <= expected && terms <= 14, "{cells:?}");
        }
    }
}
