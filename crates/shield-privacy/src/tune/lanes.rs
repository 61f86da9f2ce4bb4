//! Many polynomials at once over one histogram: the inner loop of a search.
//!
//! Polynomials differ only in how many rounds each degree has, so everything else is computed once
//! for a histogram and shared: phi_p of every class, the failure probabilities u_p before and after
//! each move, and tables of u_p^a and 1 + u_p + ... + u_p^(a-1) for every number of rounds a. What
//! is left for each polynomial are a few multiplications, in lanes of [`LANES`] polynomials that a
//! compiler turns into vector instructions.

use std::collections::BTreeMap;

use super::space::Coefficients;
use crate::rounds::Rounds;
use shield_core::histogram::Histogram;
use shield_core::parameters::{Classes, ParameterError};
use shield_core::setting::Setting;

/// Polynomials that are computed side by side.
pub(crate) const LANES: usize = 8;
/// Orders around a central one.
pub(crate) const ORDERS: usize = 3;
type Lanes = [f64; LANES];

/// Some polynomials, with the order around which their moments are wanted.
#[derive(Clone, Debug)]
pub(crate) struct Batch {
    /// For each degree from 2 up, the rounds of each lane. Unused lanes repeat the first.
    pub(crate) rounds: Vec<[u16; LANES]>,
    /// The central order, at least 2.
    pub(crate) order: u32,
}

impl Batch {
    pub(crate) fn new(polynomials: &[&Coefficients], order: u32) -> Self {
        let degrees = polynomials[0].len();
        let lane = |place: usize, lane: usize| {
            let polynomial = polynomials.get(lane).unwrap_or(&polynomials[0]);
            u16::try_from(polynomial[place]).unwrap_or(u16::MAX)
        };
        let rounds = (0..degrees).map(|place| std::array::from_fn(|i| lane(place, i))).collect();
        Self { rounds, order: order.max(2) }
    }
}

/// A histogram with all that does not depend on the polynomial.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    pub(crate) occurrences: f64,
    /// For each distinct number of votes, what a label for a class with so many counts.
    worth: Vec<f64>,
    /// Distinct numbers of votes: votes, how many classes have them, phi_p for p = 1, 2, ...
    groups: Vec<(f64, f64, Vec<f64>)>,
    /// u_p for p = 2, 3, ...
    unlucky: Vec<f64>,
    moves: Vec<Move>,
}

#[derive(Clone, Debug)]
struct Move {
    from: usize,
    to: usize,
    /// phi_p after the move.
    phi_from: Vec<f64>,
    phi_to: Vec<f64>,
    unlucky: Vec<f64>,
}

impl Prepared {
    /// Prepares a histogram. The mechanism's polynomial must have all degrees that will be asked
    /// for.
    pub(crate) fn new(
        setting: &Setting,
        histogram: &Histogram,
        occurrences: f64,
        truth: Option<&BTreeMap<u32, f64>>,
    ) -> Result<Self, ParameterError> {
        let voters = u32::try_from(histogram.voters()).unwrap_or(u32::MAX);
        let rounds = Rounds::new(setting, Classes::new(histogram.classes())?, voters);
        let offset = f64::from(rounds.offset);
        let degrees = setting.polynomial.degree();
        let phi = |votes: f64| -> Vec<f64> {
            (1..=degrees).map(|degree| rounds.log_unanimous(degree, votes + offset).exp()).collect()
        };
        let mut counted: BTreeMap<u32, f64> = BTreeMap::new();
        for &count in histogram.counts() {
            *counted.entry(count).or_default() += 1.0;
        }
        let groups: Vec<(f64, f64, Vec<f64>)> = counted
            .iter()
            .map(|(&votes, &copies)| (votes.into(), copies, phi(votes.into())))
            .collect();
        let lost = |degree: u32, votes: f64| {
            (votes + offset) / rounds.size * rounds.miss(degree, votes + offset)
        };
        let unlucky: Vec<f64> = (2..=degrees)
            .map(|degree| {
                groups.iter().map(|(votes, copies, _)| copies * lost(degree, *votes)).sum()
            })
            .collect();
        let mut moves = Vec::new();
        for (from, &(losing, alike, _)) in
            groups.iter().enumerate().filter(|(_, group)| group.0 > 0.0)
        {
            for (to, &(gaining, _, _)) in groups.iter().enumerate() {
                if from == to && alike < 2.0 {
                    continue;
                }
                let after = |(degree, before): (u32, &f64)| {
                    let step = rounds.step(degree, losing + offset)
                        - rounds.step(degree, gaining + offset + 1.0);
                    (before + step).clamp(0.0, 1.0)
                };
                moves.push(Move {
                    from,
                    to,
                    phi_from: phi(losing - 1.0),
                    phi_to: phi(gaining + 1.0),
                    unlucky: (2..).zip(&unlucky).map(after).collect(),
                });
            }
        }
        // The worst moves are mostly those between small classes: meeting them first lets others be
        // skipped.
        let entries = |place: usize| groups[place].0 + offset;
        moves.sort_by(|a: &Move, b: &Move| {
            let smallness = |step: &Move| 1.0 / entries(step.from) + 1.0 / (entries(step.to) + 1.0);
            smallness(b).total_cmp(&smallness(a))
        });
        let worth = counted
            .iter()
            .map(|(votes, copies)| match truth {
                Some(truth) => truth.get(votes).copied().unwrap_or(0.0),
                None => occurrences * copies * f64::from(*votes) / f64::from(voters.max(1)),
            })
            .collect();
        Ok(Self { occurrences, worth, groups, unlucky, moves })
    }

    /// Adds this histogram's accuracy to each lane.
    #[inline(always)]
    pub(crate) fn add_ground_truth(
        &self,
        most_rounds: usize,
        batches: &[Batch],
        sums: &mut [Lanes],
    ) {
        let tables = Tables::new(&self.unlucky, most_rounds);
        for (batch, sum) in batches.iter().zip(sums) {
            let gains = tables.gains(batch);
            for ((_, _, phi), weight) in self.groups.iter().zip(&self.worth) {
                let law = law(phi, &gains);
                for lane in 0..LANES {
                    sum[lane] += weight * law[lane];
                }
            }
        }
    }

    /// Adds the log-moments of the worst neighbour, at the orders around each batch's own.
    #[inline(always)]
    pub(crate) fn add_log_moments(
        &self,
        most_rounds: usize,
        batches: &[Batch],
        sums: &mut [[Lanes; ORDERS]],
    ) {
        let tables = Tables::new(&self.unlucky, most_rounds);
        let groups = self.groups.len();
        let mut before = vec![[0.0; LANES]; groups * batches.len()];
        let mut survivals = Vec::with_capacity(batches.len());
        for (batch, laws) in batches.iter().zip(before.chunks_exact_mut(groups)) {
            let gains = tables.gains(batch);
            survivals.push(gains.lanes[0]);
            for (one, (_, _, phi)) in laws.iter_mut().zip(&self.groups) {
                *one = law(phi, &gains);
            }
        }
        let mut worst: Vec<[Lanes; ORDERS]> = vec![[[1.0; LANES]; ORDERS]; batches.len()];
        for step in &self.moves {
            let tables = Tables::new(&step.unlucky, most_rounds);
            let laws = before.chunks_exact(groups).zip(&survivals);
            for ((batch, (before, survival)), worst) in batches.iter().zip(laws).zip(&mut worst) {
                let gains = tables.gains(batch);
                let mut sums = Sums::default();
                let (p, q) = (before[step.from], law(&step.phi_from, &gains));
                sums.add(&p, &q, 1.0, batch.order);
                let (p2, q2) = (before[step.to], law(&step.phi_to, &gains));
                sums.add(&p2, &q2, 1.0, batch.order);
                let rest =
                    |a: &Lanes, b: &Lanes| std::array::from_fn(|lane| 1.0 - a[lane] - b[lane]);
                let bystanders = (rest(&p, &p2), rest(&q, &q2));
                if !sums.may_exceed(worst, &bystanders, survival, &gains.lanes[0], batch.order) {
                    continue;
                }
                for (place, (_, copies, phi)) in self.groups.iter().enumerate() {
                    let moved =
                        f64::from(u8::from(place == step.from) + u8::from(place == step.to));
                    if *copies > moved {
                        sums.add(&before[place], &law(phi, &gains), copies - moved, batch.order);
                    }
                }
                for order in 0..ORDERS {
                    for lane in 0..LANES {
                        let larger = sums.there[order][lane].max(sums.back[order][lane]);
                        worst[order][lane] = worst[order][lane].max(larger);
                    }
                }
            }
        }
        for (sums, worst) in sums.iter_mut().zip(&worst) {
            for (sum, worst) in sums.iter_mut().zip(worst) {
                for (sum, worst) in sum.iter_mut().zip(worst) {
                    *sum += self.occurrences * worst.ln();
                }
            }
        }
    }
}

/// Tables of u^a and 1 + u + ... + u^(a-1), degree by degree.
struct Tables {
    stride: usize,
    powers: Vec<f64>,
    sums: Vec<f64>,
}

impl Tables {
    #[inline(always)]
    fn new(unlucky: &[f64], most_rounds: usize) -> Self {
        let stride = most_rounds + 1;
        let mut tables = Self {
            stride,
            powers: Vec::with_capacity(stride * unlucky.len()),
            sums: Vec::with_capacity(stride * unlucky.len()),
        };
        for &u in unlucky {
            let (mut power, mut sum) = (1.0, 0.0);
            for _ in 0..stride {
                tables.powers.push(power);
                tables.sums.push(sum);
                sum += power;
                power *= u;
            }
        }
        tables
    }

    /// B_p of each lane, for p = 1, 2, ...
    #[inline(always)]
    fn gains(&self, batch: &Batch) -> Gains {
        let mut gains = Gains { count: batch.rounds.len() + 1, lanes: [[0.0; LANES]; MAX_DEGREE] };
        let mut survival = [1.0; LANES];
        for (place, rounds) in batch.rounds.iter().enumerate().rev() {
            let start = place * self.stride;
            for lane in 0..LANES {
                let at = start + usize::from(rounds[lane]);
                gains.lanes[place + 1][lane] = survival[lane] * self.sums[at];
                survival[lane] *= self.powers[at];
            }
        }
        gains.lanes[0] = survival;
        gains
    }
}

/// The largest degree that a search takes.
pub(crate) const MAX_DEGREE: usize = 16;

struct Gains {
    count: usize,
    lanes: [Lanes; MAX_DEGREE],
}

/// P_k of each lane.
#[inline(always)]
fn law(phi: &[f64], gains: &Gains) -> Lanes {
    let mut law = [0.0; LANES];
    for (phi, gains) in phi.iter().zip(&gains.lanes[..gains.count]) {
        for lane in 0..LANES {
            law[lane] += phi * gains[lane];
        }
    }
    law
}

/// E[(P/Q)^l] and E[(Q/P)^l], being added up, at the orders around a central one.
#[derive(Clone, Copy, Default)]
struct Sums {
    there: [Lanes; ORDERS],
    back: [Lanes; ORDERS],
}

impl Sums {
    /// Adds p (p/q)^l and q (q/p)^l, times the number of classes alike.
    #[inline(always)]
    fn add(&mut self, p: &Lanes, q: &Lanes, copies: f64, order: u32) {
        let (mut ratio, mut inverse) = ([0.0; LANES], [0.0; LANES]);
        let (mut term, mut reverse) = ([0.0; LANES], [0.0; LANES]);
        for lane in 0..LANES {
            // One division for both ratios: it is what takes longest.
            let scale = 1.0 / (p[lane] * q[lane]);
            ratio[lane] = p[lane] * p[lane] * scale;
            inverse[lane] = q[lane] * q[lane] * scale;
            term[lane] = copies * p[lane];
            reverse[lane] = copies * q[lane];
        }
        power(&mut term, &ratio, order - 1);
        power(&mut reverse, &inverse, order - 1);
        for i in 0..ORDERS {
            for lane in 0..LANES {
                self.there[i][lane] += term[lane];
                self.back[i][lane] += reverse[lane];
                term[lane] *= ratio[lane];
                reverse[lane] *= inverse[lane];
            }
        }
    }

    /// Whether the bystanders, of probability `p` before and `q` after the move together, could
    /// lift any lane above `worst`. Each bystander's ratio lies between 1 and that of the survivals
    /// of all higher degrees (step 3 of the proof of the data-independent bound), so with b as
    /// there they add at most q + (l+1)(p - q) + q b(survival ratio).
    #[inline(always)]
    fn may_exceed(
        &self,
        worst: &[Lanes; ORDERS],
        (p, q): &(Lanes, Lanes),
        before: &Lanes,
        after: &Lanes,
        order: u32,
    ) -> bool {
        let (mut ratio, mut inverse) = ([0.0; LANES], [0.0; LANES]);
        for lane in 0..LANES {
            let scale = 1.0 / (before[lane] * after[lane]);
            ratio[lane] = before[lane] * before[lane] * scale;
            inverse[lane] = after[lane] * after[lane] * scale;
        }
        // r^(l+1) at the lowest order l = order - 1.
        let (mut there, mut back) = (ratio, inverse);
        power(&mut there, &ratio, order - 1);
        power(&mut back, &inverse, order - 1);
        let mut exceeds = false;
        for i in 0..ORDERS {
            let l1 = f64::from(order) + i as f64;
            for lane in 0..LANES {
                let (p, q) = (p[lane], q[lane]);
                let forward = q + l1 * (p - q) + q * (there[lane] - 1.0 - l1 * (ratio[lane] - 1.0));
                let backward =
                    p + l1 * (q - p) + p * (back[lane] - 1.0 - l1 * (inverse[lane] - 1.0));
                let most = (self.there[i][lane] + forward).max(self.back[i][lane] + backward);
                // What is not a number must not be skipped.
                exceeds |= most > worst[i][lane] || most.is_nan();
                there[lane] *= ratio[lane];
                back[lane] *= inverse[lane];
            }
        }
        exceeds
    }
}

/// Multiplies by base^exponent, lane by lane.
#[inline(always)]
fn power(value: &mut Lanes, base: &Lanes, mut exponent: u32) {
    let mut square = *base;
    while exponent > 0 {
        if exponent & 1 == 1 {
            for lane in 0..LANES {
                value[lane] *= square[lane];
            }
        }
        for lane in &mut square {
            *lane *= *lane;
        }
        exponent >>= 1;
    }
}
