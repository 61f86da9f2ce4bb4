//! The server's way from the sum of tiny ballots and the encrypted sum of their secrets to
//! encrypted differences: see [`crate::argmax::mlwe::Route`].

use rayon::prelude::*;

use super::keys::Turns;
use super::teacher::Context as Ballots;
use crate::argmax::mlwe::{Grid, Points, Route};
use crate::argmax::plan::ArgmaxPlan;
use crate::ring::{Buffer, Context, PLAINTEXT};
use crate::scheme::Ciphertext;

const T: u64 = PLAINTEXT;

/// What a batch's phases are computed with.
pub(super) struct Phases<'a> {
    pub(super) context: &'a Context,
    pub(super) plan: &'a ArgmaxPlan,
    pub(super) grid: Grid,
    pub(super) points: &'a Points,
    /// The place of every column of both rows.
    pub(super) columns: &'a [u32],
    pub(super) turns: &'a Turns,
    pub(super) ballots: Ballots,
    pub(super) samples: usize,
    pub(super) threshold: Option<u32>,
}

/// The slots of a sum of secrets, given by its values.
pub(super) fn secret_slots(grid: Grid, columns: &[u32], sum: &[u64]) -> Vec<u64> {
    let (degree, rank) = (grid.module().degree(), grid.module().rank());
    let mut slots = vec![0; columns.len()];
    for (i, &place) in columns.iter().enumerate() {
        let column = i % grid.columns();
        let point = grid.point(column / grid.width());
        slots[place as usize] = sum[column % rank * degree + point];
    }
    slots
}

impl Phases<'_> {
    fn route(&self) -> Route {
        self.plan.route(self.grid)
    }

    /// The near rotations of the secrets, one prime lower.
    pub(super) fn near(&self, mut secrets: Ciphertext) -> Vec<Ciphertext> {
        let below = self.context.limbs() - 1;
        let lowered = |mut c: Ciphertext| {
            c.drop_to(self.context, below);
            c
        };
        let mut all = vec![lowered(secrets.clone())];
        for _ in 1..self.route().near {
            secrets = self.turns.near.rotate(self.context, &secrets);
            all.push(lowered(secrets.clone()));
        }
        all
    }

    /// `b - sum over k of a_k s_k` for every polynomial, by values.
    pub(super) fn phase(&self, near: &[Ciphertext], residues: &[u32]) -> Ciphertext {
        let (grid, route, degree) = (self.grid, self.route(), self.grid.module().degree());
        let polynomials = grid.polynomials(self.samples);
        let dimension = grid.module().dimension();
        let mut rows = vec![0; polynomials * dimension];
        let chunks = rows.par_chunks_exact_mut(dimension).enumerate();
        chunks.for_each(|(number, row)| self.ballots.row(number, row));
        let sum = |giant: usize| {
            let mut sum = Ciphertext::zero(self.context, self.context.limbs() - 1);
            let first = giant * route.near;
            for (r, source) in (first..grid.module().rank()).zip(near) {
                let mut slots = Buffer::zeroed(self.context.degree());
                for (polynomial, row) in rows.chunks_exact(dimension).enumerate() {
                    self.each_slot(polynomial, |row_start, column, point| {
                        let k = (column + r) % grid.module().rank();
                        // Where the far rotations will bring it from.
                        let from = (column + first) % grid.columns();
                        let place = self.columns[row_start + from] as usize;
                        slots[place] = (T - row[k * degree + point]) % T;
                    });
                }
                sum.add_times(self.context, source, slots);
            }
            sum
        };
        let sums: Vec<Ciphertext> = (0..route.far).into_par_iter().map(sum).collect();
        let mut phase = self.folded(sums, |c| self.turns.far.rotate(self.context, c));
        let mut slots = vec![0; self.context.degree()];
        for (polynomial, held) in residues.chunks(grid.classes() * grid.packed()).enumerate() {
            let values: Vec<u64> = (0..degree).map(|i| self.points.value(i, held)).collect();
            self.each_slot(polynomial, |row_start, column, point| {
                slots[self.columns[row_start + column] as usize] = values[point];
            });
        }
        phase.add_slots(self.context, slots);
        phase
    }

    /// Row, column and point of each slot of a polynomial.
    fn each_slot(&self, polynomial: usize, mut see: impl FnMut(usize, usize, usize)) {
        let (row, place) = self.grid.place(polynomial);
        for slot in 0..self.grid.wide() {
            let column = place + slot * self.grid.width();
            see(row * self.grid.columns(), column, self.grid.point(slot));
        }
    }

    /// The sum of `sums[g]` turned g times.
    fn folded(
        &self,
        sums: Vec<Ciphertext>,
        turn: impl Fn(&Ciphertext) -> Ciphertext,
    ) -> Ciphertext {
        let folded = sums.into_iter().rev().reduce(|outer, inner| {
            let mut outer = turn(&outer);
            outer.add(self.context, &inner);
            outer
        });
        folded.expect("there is a sum at least")
    }

    /// 2 (x_a - x_b) + 1 or - 1 for every comparison of every evaluation.
    pub(super) fn transform(&self, phase: Ciphertext) -> Vec<Ciphertext> {
        let (route, evaluations) = (self.route(), self.plan.pairing().evaluations().len());
        let mut moved = vec![phase];
        for i in 1..route.close {
            moved.push(self.turns.close.rotate(self.context, &moved[i - 1]));
        }
        let sums: Vec<Ciphertext> = (0..evaluations * route.leaps)
            .into_par_iter()
            .map(|i| {
                let mut sum = Ciphertext::zero(self.context, self.context.limbs() - 1);
                for (close, source) in moved.iter().enumerate() {
                    let slots = self.weights(i / route.leaps, i % route.leaps, close);
                    sum.add_times(self.context, source, slots);
                }
                sum
            })
            .collect();
        let finish = |(evaluation, sums): (usize, &[Ciphertext])| {
            let turn = |c: &Ciphertext| self.turns.leap.rotate(self.context, c);
            let mut sum = self.folded(sums.to_vec(), turn);
            sum.drop_to(self.context, self.plan.start());
            sum.add_slots(self.context, self.constants(evaluation));
            sum
        };
        sums.par_chunks(route.leaps).enumerate().map(finish).collect()
    }

    /// What a comparison has in a slot of a polynomial: the coefficients of both classes; `None`
    /// for the class of a threshold, which has none.
    fn compared(&self, evaluation: usize, slot: usize) -> Option<[Option<usize>; 2]> {
        let (sample, own) = self.grid.sample(slot);
        let comparisons = &self.plan.pairing().evaluations()[evaluation];
        let comparison = comparisons.iter().find(|c| c.slot == own)?;
        let voted = self.grid.classes();
        let coefficient = |class| (class < voted).then_some(sample * voted + class);
        Some([comparison.first, comparison.second].map(coefficient))
    }

    /// The plaintext of one close rotation of one leap's sum: the same for all polynomials.
    fn weights(&self, evaluation: usize, leap: usize, close: usize) -> Buffer {
        let (grid, route, degree) = (self.grid, self.route(), self.grid.module().degree());
        let block = grid.wide() / degree;
        let mut of_slot = vec![0; grid.wide()];
        for slot in 0..grid.wide() {
            let Some([first, second]) = self.compared(evaluation, slot) else { continue };
            let point = (grid.point(slot) + leap * route.close + close) % degree;
            let weight = |coefficient: Option<usize>| {
                coefficient.map_or(0, |coefficient| self.points.weight(point, coefficient))
            };
            // Where the leaps will bring it from.
            let from = (slot + leap * route.close * block) % grid.wide();
            of_slot[from] = 2 * (weight(first) + T - weight(second)) % T;
        }
        let mut slots = Buffer::zeroed(self.context.degree());
        for (i, &place) in self.columns.iter().enumerate() {
            slots[place as usize] = of_slot[i % grid.columns() / grid.width()];
        }
        slots
    }

    /// One where the first class wins a tie, minus one where it loses it, and twice the threshold.
    fn constants(&self, evaluation: usize) -> Vec<u64> {
        let voted = self.grid.classes();
        let threshold = 2 * u64::from(self.threshold.unwrap_or(0)) % T;
        let comparisons = &self.plan.pairing().evaluations()[evaluation];
        let mut of_slot = vec![1; self.grid.wide()];
        for (slot, constant) in of_slot.iter_mut().enumerate() {
            let (_, own) = self.grid.sample(slot);
            let Some(c) = comparisons.iter().find(|c| c.slot == own) else { continue };
            let ahead = if c.first == voted { threshold } else { 0 };
            let behind = if c.second == voted { threshold } else { 0 };
            let tie = if c.first > c.second { T - 1 } else { 1 };
            *constant = (tie + ahead + T - behind) % T;
        }
        let mut slots = vec![0; self.columns.len()];
        for (i, &place) in self.columns.iter().enumerate() {
            slots[place as usize] = of_slot[i % self.grid.columns() / self.grid.width()];
        }
        slots
    }
}
