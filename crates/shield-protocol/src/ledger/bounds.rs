//! Prices of many turnouts at once, each bound proven.

use std::ops::Add;
use std::sync::PoisonError;

use crate::ElectionFile;
use crate::engine::NoisyArgmax;
use crate::turnout::VoterCounts;
use rayon::prelude::*;
use shield_core::engine::BATCH_DISTANCE;
use shield_core::{Classes, Setting, Voters};
use shield_privacy::price::LogMoment;
use shield_privacy::turnouts::Turnouts;

use super::{Accountant, distance};

/// The fewest and the most voters, and an order as the bits of a float.
pub(super) type Range = (u32, u32, u64);

/// Up to this many different turnouts are each priced on their own.
const ALONE: usize = 16;

/// Into how many groups more than that are put, about.
const GROUPS: f64 = 40.0;

/// How much larger than its smallest urn the largest of a group may be, at least.
const CLOSE: f64 = 1.01;

/// How much more than the largest that exists a bound over all turnouts may be.
const LOOSE: f64 = 1.04;

impl Accountant {
    /// The most that one label of an election can cost, over every turnout from the quorum to all
    /// teachers, at an order.
    pub fn each_label(&self, file: &ElectionFile, order: f64) -> LogMoment {
        let most = u32::try_from(file.teachers().len()).unwrap_or(u32::MAX);
        let (setting, classes) = (file.election().setting(), file.election().classes());
        if let Some(argmax) = file.spec().argmax() {
            return argmax.accounting(classes).log_moment(order).1;
        }
        self.largest(setting, classes, file.quorum().min(most), most, order)
    }

    /// The moments of labels that had these numbers of voters, where none is above `each_label`.
    /// Turnouts that are close to each other share one bound.
    pub fn by_turnout(
        &self,
        file: &ElectionFile,
        voters: &VoterCounts,
        order: f64,
        each_label: LogMoment,
    ) -> LogMoment {
        let labels: u64 = voters.iter().map(|&(_, labels)| labels).sum();
        if file.spec().argmax().is_some() {
            return each_label.times(labels);
        }
        let (setting, classes) = (file.election().setting(), file.election().classes());
        let groups = group(voters, dummies(setting, classes));
        let costs: Vec<LogMoment> = groups
            .par_iter()
            .map(|&(fewest, most, labels)| {
                let moment = self.range(setting, classes, fewest, most, order);
                moment.smaller(each_label).times(labels)
            })
            .collect();
        costs.into_iter().fold(LogMoment::default(), LogMoment::add)
    }

    /// The largest moment over a range of turnouts: ranges are cut where the bound is largest,
    /// until it is close to a turnout's own.
    fn largest(
        &self,
        setting: &Setting,
        classes: Classes,
        fewest: u32,
        most: u32,
        order: f64,
    ) -> LogMoment {
        let at = |range: (u32, u32)| self.range(setting, classes, range.0, range.1, order);
        let all: VoterCounts = (fewest..=most).map(|voters| (voters, 1)).collect();
        let dummies = dummies(setting, classes);
        let ranges: Vec<(u32, u32)> =
            group(&all, dummies).into_iter().map(|(low, high, _)| (low, high)).collect();
        let mut bounds: Vec<((u32, u32), LogMoment)> =
            ranges.into_par_iter().map(|range| (range, at(range))).collect();
        let mut found = LogMoment::default();
        loop {
            let worst =
                bounds.iter().enumerate().max_by(|a, b| a.1.1.get().total_cmp(&b.1.1.get()));
            let Some((place, &((low, high), bound))) = worst else { return found };
            found = found.larger(at((high, high)));
            if low == high || bound.get() <= found.get() * LOOSE {
                return bound;
            }
            let middle = u32::midpoint(low, high);
            bounds.swap_remove(place);
            let halves: Vec<_> = [(low, middle), (middle + 1, high)]
                .into_par_iter()
                .map(|range| (range, at(range)))
                .collect();
            bounds.extend(halves);
        }
    }

    /// The moment of one label with any number of voters of a range.
    fn range(
        &self,
        setting: &Setting,
        classes: Classes,
        fewest: u32,
        most: u32,
        order: f64,
    ) -> LogMoment {
        const MOST: usize = 1 << 20;
        let rounds = (setting.clone(), classes.count(), 0);
        let key = (fewest, most, order.to_bits());
        let known = || self.ranges.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&moment) = known().get(&rounds).and_then(|ranges| ranges.get(&key)) {
            return moment;
        }
        let moment = if fewest == most {
            self.moment(setting, classes, most, order)
        } else {
            let each = |voters| self.moment(setting, classes, voters, order);
            let range = Voters::new(fewest.max(1)).ok().zip(Voters::new(most).ok());
            let range = range.and_then(|(a, b)| Turnouts::new(setting, classes, a, b));
            match range {
                Some(mut range) => range.log_moment(order).1,
                // No bound for a range: each on its own.
                None => (fewest..=most)
                    .into_par_iter()
                    .map(each)
                    .reduce(LogMoment::default, LogMoment::larger),
            }
        };
        let mut known = known();
        let ranges = known.entry(rounds).or_default();
        if ranges.len() >= MOST {
            ranges.clear();
        }
        ranges.insert(key, moment);
        moment
    }
}

/// What flooding leaves of an election's releases: of those that it was created for, of batches
/// that are aggregated again, and what a noisy argmax may show beside its labels, as a distance.
pub fn distance_of(file: &ElectionFile, labels: u64, again: u64) -> f64 {
    let beside = |argmax: NoisyArgmax| argmax.accounting(file.election().classes()).distance();
    let beside = file.spec().argmax().map_or(0.0, beside);
    let again = if file.outline().audited { again as f64 * BATCH_DISTANCE } else { 0.0 };
    distance(file) + again + labels as f64 * beside
}

/// The dummies of all classes together: up to billions, more than 32 bits hold.
fn dummies(setting: &Setting, classes: Classes) -> f64 {
    f64::from(setting.offset.dummies()) * classes.count() as f64
}

/// Turnouts in groups: (fewest, most, labels). Each on its own if they are few.
fn group(voters: &VoterCounts, dummies: f64) -> Vec<(u32, u32, u64)> {
    let mut counts = voters.clone();
    counts.sort_unstable();
    let size = |voters: u32| f64::from(voters) + dummies;
    let (Some(first), Some(last)) = (counts.first(), counts.last()) else { return Vec::new() };
    let stretch = (size(last.0) / size(first.0)).powf(1.0 / GROUPS).max(CLOSE);
    let mut groups: Vec<(u32, u32, u64)> = Vec::new();
    let few = counts.len() <= ALONE;
    for (voters, labels) in counts {
        match groups.last_mut() {
            Some((low, high, sum)) if voters == *high => {
                let _ = low;
                *sum += labels;
            }
            Some((low, high, sum)) if !few && *low > 0 && size(voters) <= stretch * size(*low) => {
                *high = voters;
                *sum += labels;
            }
            _ => groups.push((voters, voters, labels)),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(teachers: usize, quorum: usize, samples: usize) -> ElectionFile {
        let names: Vec<String> = (0..teachers).map(|number| format!("\"t{number}\"")).collect();
        let text = format!(
            "name = \"a\"\ngroup = \"g\"\nclasses = 3\nsamples = {samples}\npolynomial = \
             \"8X^4+6X^3+4X^2+X\"\noffset = 5\nquorum = {quorum}\nteachers = [{}]",
            names.join(", ")
        );
        ElectionFile::parse(&text).unwrap()
    }

    #[test]
    fn groups_hold_every_turnout_and_every_label() {
        let many: VoterCounts = (81..=200).map(|voters| (voters, u64::from(voters % 7))).collect();
        let groups = group(&many, 15.0);
        assert!(groups.len() > 10 && groups.len() < 80, "{}", groups.len());
        let labels: u64 = groups.iter().map(|group| group.2).sum();
        assert_eq!(labels, many.iter().map(|count| count.1).sum::<u64>());
        for (voters, _) in &many {
            assert_eq!(groups.iter().filter(|(a, b, _)| (a..=b).contains(&voters)).count(), 1);
        }
        assert_eq!(group(&vec![(7, 1), (9, 2)], 3.0), [(7, 7, 1), (9, 9, 2)]);
        assert_eq!(group(&Vec::new(), 3.0), []);
    }

    /// 119 different turnouts took 50 seconds of proofs, one for each.
    #[test]
    fn many_turnouts_cost_at_least_what_each_costs_and_not_much_more() {
        let (accountant, file) = (Accountant::default(), file(60, 20, 8));
        let order = super::super::on_grid(4.0);
        let each_label = accountant.each_label(&file, order);
        let voters: VoterCounts = (20..=60).map(|voters| (voters, 1)).collect();
        let setting = file.election().setting();
        let classes = file.election().classes();
        let single: Vec<f64> = (20..=60)
            .map(|voters| accountant.moment(setting, classes, voters, order).get())
            .collect();
        let largest = single.iter().copied().fold(0.0, f64::max);
        let sum: f64 = single.iter().sum();
        let grouped = accountant.by_turnout(&file, &voters, order, each_label).get();
        let each_label = each_label.get();
        assert!(each_label >= largest / 1.01 && each_label <= 1.06 * largest);
        assert!(grouped >= sum / 1.01, "{grouped} {sum}");
        assert!(grouped <= 1.15 * sum, "{grouped} {sum}");
    }
}
