//! The worst case where samples differ in how many teachers vote on them.
//!
//! Moments of different samples add up at the same order. The largest of the epsilons that each
//! turnout would have alone is no bound of what they cost together: each may have its own order.

use rayon::prelude::*;

use super::histograms::Histograms;
use super::{DataIndependent, ORDER_GRID, Regime};
use crate::Usage;
use crate::adaptive::branch::Tolerance;
use crate::adaptive::{MOST_ADAPTIVE, Mixture, Stage};
use crate::attendance::{Attendance, Group};
use crate::conversion::{Best, Conversion};
use crate::price::{LogMoment, Proven};
use shield_core::Watch;
use shield_core::parameters::{Delta, Epsilon, Queries, Voters};

/// Up to this many different turnouts are each priced on their own.
const ALONE: usize = 16;

/// Up to this many are composed tightly, which takes seconds for each.
const TIGHT: usize = 8;

/// Into how many ranges more than [`ALONE`] turnouts are put, about.
const RANGES: f64 = 40.0;

/// How much larger than its smallest urn the largest of a range may be, at least.
const CLOSE: f64 = 1.01;

/// The worst case of samples with several turnouts.
#[derive(Debug)]
pub(crate) struct Mixed {
    /// By increasing turnout.
    figures: Vec<DataIndependent>,
    /// Whether each is of one turnout, not of a range.
    single: bool,
    /// Which figures each of some samples may have.
    groups: Vec<(Vec<usize>, u64)>,
    delta: Delta,
    watch: Watch,
}

impl Mixed {
    /// For urns with so many dummies. A figure is that of a range of turnouts, or none where there
    /// is none for more than one.
    pub(crate) fn new(
        attendance: &Attendance,
        delta: Delta,
        dummies: f64,
        figure: impl Fn(Voters, Voters) -> Option<DataIndependent>,
        watch: &Watch,
    ) -> Self {
        // Where nobody votes, the urn holds dummies alone, and neighbours do not exist.
        let all = attendance.groups().iter().flat_map(|group| &group.voters);
        let mut turnouts: Vec<Voters> = all.filter_map(|&one| Voters::new(one).ok()).collect();
        turnouts.sort_unstable();
        turnouts.dedup();
        let ends = |(low, high): &(Voters, Voters)| figure(*low, *high);
        let mut ranges = ranges(&turnouts, dummies);
        let mut figures: Option<Vec<_>> = ranges.iter().map(ends).collect();
        if figures.is_none() {
            ranges = turnouts.iter().map(|&one| (one, one)).collect();
            figures = ranges.iter().map(ends).collect();
        }
        let place = |voters: &u32| {
            ranges.iter().position(|(low, high)| (low.count()..=high.count()).contains(voters))
        };
        let group = |group: &Group| {
            let mut places: Vec<usize> = group.voters.iter().filter_map(place).collect();
            places.dedup();
            (places, group.samples)
        };
        let groups = attendance.groups().iter().map(group);
        Self {
            figures: figures.unwrap_or_default(),
            single: ranges.iter().all(|(low, high)| low == high),
            groups: groups.filter(|(places, _)| !places.is_empty()).collect(),
            delta,
            watch: watch.clone(),
        }
    }

    /// The only figure, where all samples have one turnout.
    fn alone(&mut self) -> Option<(&mut DataIndependent, Usage)> {
        match (self.figures.as_mut_slice(), self.groups.as_slice()) {
            ([figure], groups) => {
                let samples = groups.iter().map(|group| group.1).sum();
                let queries = Queries::new(samples).ok()?;
                Some((figure, Usage { queries, delta: self.delta }))
            }
            _ => None,
        }
    }

    /// The log-moment of all samples together, and the order that it is for.
    fn log_moment(&mut self, wanted: f64) -> (f64, LogMoment) {
        let each: Vec<(f64, LogMoment)> =
            self.figures.par_iter_mut().map(|figure| figure.log_moment(wanted)).collect();
        let order = each.first().map_or(wanted, |one| one.0);
        let moments: Vec<f64> = each.into_iter().map(|one| one.1.get()).collect();
        (order, self.sum(&moments))
    }

    fn sum(&self, moments: &[f64]) -> LogMoment {
        let group = |(places, samples): &(Vec<usize>, u64)| {
            let worst = places.iter().filter_map(|&place| moments.get(place).copied());
            *samples as f64 * worst.fold(0.0, f64::max)
        };
        LogMoment::new(self.groups.iter().map(group).sum())
    }

    /// What is proven by moments.
    pub(crate) fn by_moments(&mut self) -> Proven {
        if let Some((figure, usage)) = self.alone() {
            return figure.epsilon(usage);
        }
        Proven::new(self.best().rounded_up(), self.delta)
    }

    fn best(&mut self) -> Best {
        let delta = self.delta;
        // Every order proves an epsilon; which is best shows by some of the turnouts.
        let order = match self.some() {
            None => Conversion::Renyi.minimise(delta, |order| self.log_moment(order).1.get()).order,
            Some(mut some) => some.best().order,
        };
        let key = (order.ln() / ORDER_GRID.ln()).round() as i32;
        let (order, moment) = self.log_moment(ORDER_GRID.powi(key));
        let mut sum = moment.get();
        if self.single && sum.is_finite() && sum > 0.0 {
            // As for one turnout: the order that counts is proven more closely.
            let fine = Tolerance { relative: 0.002, absolute: 0.0, splits: 30_000 };
            let prove = |figure: &mut DataIndependent| match figure.regime {
                Regime::Ordinary => figure.prove(key, order, fine),
                Regime::Free => 0.0,
                Regime::Infinite => f64::INFINITY,
            };
            let moments: Vec<f64> = self.figures.par_iter_mut().map(prove).collect();
            sum = self.sum(&moments).get();
        }
        Best { epsilon: Conversion::Renyi.epsilon(order, sum, delta), order }
    }

    /// The same samples as if there were a few turnouts only; `None` if there are no more.
    fn some(&self) -> Option<Self> {
        const FEW: usize = 4;
        if self.figures.len() <= FEW {
            return None;
        }
        let step = (self.figures.len() - 1).div_ceil(FEW - 1);
        let few = |place: usize| (place + step / 2) / step;
        let group = |(places, samples): &(Vec<usize>, u64)| {
            let mut places: Vec<usize> = places.iter().map(|&place| few(place)).collect();
            places.dedup();
            (places, *samples)
        };
        let last = few(self.figures.len() - 1);
        let kept = (0..=last).map(|place| (place * step).min(self.figures.len() - 1));
        Some(Self {
            figures: kept.map(|place| self.figures[place].clone()).collect(),
            single: false,
            groups: self.groups.iter().map(group).collect(),
            delta: self.delta,
            watch: self.watch.clone(),
        })
    }

    /// What is proven by tight composition, or by moments where that is less, and where there are
    /// too many samples or turnouts for it.
    pub(crate) fn tight(&mut self) -> Proven {
        if let Some((figure, usage)) = self.alone() {
            return figure.exact(usage);
        }
        let by_moments = self.by_moments();
        let enough = by_moments.get();
        let queries: u64 = self.groups.iter().map(|group| group.1).sum();
        let many = self.figures.len() > TIGHT || queries > MOST_ADAPTIVE || !self.single;
        if many || !enough.is_finite() || enough == 0.0 {
            return by_moments;
        }
        let order = self.best().order;
        let starts: Vec<_> = self.figures.iter().map(DataIndependent::starts).collect();
        let stage = |(places, queries): &(Vec<usize>, u64)| {
            let ordinary = places.iter().filter(|&&at| self.figures[at].regime == Regime::Ordinary);
            let families = ordinary
                .map(|&at| (Histograms::new(&self.figures[at].rounds, order), &*starts[at]))
                .collect();
            Stage { families, queries: *queries }
        };
        let stages = self.groups.iter().map(stage);
        let stages = stages.filter(|stage| !stage.families.is_empty()).collect();
        let (delta, watch) = (self.delta.get(), &self.watch);
        let found = Mixture { stages, delta, enough, watch }.prove();
        let epsilon = Epsilon::new(found).unwrap_or(Epsilon::INFINITE);
        by_moments.smaller(Proven::new(epsilon, self.delta))
    }
}

/// Turnouts in ranges, by their urns; each on its own if they are few.
fn ranges(turnouts: &[Voters], dummies: f64) -> Vec<(Voters, Voters)> {
    let size = |voters: Voters| f64::from(voters.count()) + dummies;
    let (Some(&first), Some(&last)) = (turnouts.first(), turnouts.last()) else {
        return Vec::new();
    };
    let stretch = (size(last) / size(first)).powf(1.0 / RANGES).max(CLOSE);
    let few = turnouts.len() <= ALONE;
    let mut ranges: Vec<(Voters, Voters)> = Vec::new();
    for &voters in turnouts {
        match ranges.last_mut() {
            Some((low, high)) if !few && size(voters) <= stretch * size(*low) => *high = voters,
            _ => ranges.push((voters, voters)),
        }
    }
    ranges
}

#[cfg(test)]
mod tests;
