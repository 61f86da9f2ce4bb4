//! Which slot of a ciphertext holds what.
//!
//! As in [`crate::layout`]: row r, column c of the slots is at exponent `(-1)^r 3^c`, and slot j of
//! the run at position (r, c) is at column c + j W, with W the number of positions in a row. So
//! rotating columns by W moves every run on by one slot, cyclically.

/// The place in transform order of every position's slots.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    table: Vec<u32>,
    run: usize,
}

impl Places {
    /// For runs of `run` slots in a ring of `degree` coefficients.
    pub(crate) fn new(degree: usize, run: usize) -> Self {
        let columns = degree / run / 2;
        let bits = degree.trailing_zeros();
        let place = |exponent: usize| (exponent / 2).reverse_bits() >> (usize::BITS - bits);
        let mut table = vec![0; degree];
        let mut exponent = 1;
        for column in 0..degree / 2 {
            let (position, slot) = (column % columns, column / columns);
            table[position * run + slot] = place(exponent) as u32;
            table[(columns + position) * run + slot] = place(2 * degree - exponent) as u32;
            exponent = exponent * 3 % (2 * degree);
        }
        Self { table, run }
    }

    /// The place of each slot of a sample's run.
    pub(crate) fn of(&self, sample: usize) -> &[u32] {
        &self.table[sample * self.run..][..self.run]
    }

    /// The places of all runs, one after the other.
    pub(crate) fn all(&self) -> &[u32] {
        &self.table
    }

    /// The exponent of the automorphism after which each slot shows what the slot `by` further on
    /// held.
    pub(crate) fn exponent(degree: usize, run: usize, by: usize) -> u64 {
        let modulus = 2 * degree as u64;
        let mut exponent = (degree / 2 / run * by) as u64;
        let (mut result, mut square) = (1, 3);
        while exponent > 0 {
            if exponent & 1 == 1 {
                result = result * square % modulus;
            }
            square = square * square % modulus;
            exponent >>= 1;
        }
        result
    }
}
