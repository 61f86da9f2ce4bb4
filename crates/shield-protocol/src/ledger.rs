//! What a group of teachers has spent, and what it can still afford.
//!
//! Every election costs its group the moments of the data-independent accountant, one set for each
//! number of voters that its samples had. Moments add up, order by order. A group's *order* is
//! fixed with its first election and never changes: whoever chooses the next election by what the
//! earlier labels said could outrun a ledger that takes the best order afterwards, and does not
//! outrun this one. [`shield_privacy::filter`] has the proof, and the asker that breaks the other
//! rule.
//!
//! - **Set aside** is the largest cost over every turnout from the quorum to all teachers, because
//!   fewer voters do not always cost more: closing never costs more than was set aside.
//! - **Half of delta** is for the releases' distances from what the labels alone would give, each
//!   priced with 1 + e^epsilon, at the budget's epsilon. A budget above [`MOST_PRICED`] could not
//!   cover even one batch and its audits: there the distances are stated and not held against it.
//! - **Samples that are aggregated again** after an audit are paid for again, like new ones: the
//!   server has only the student's word that they had no label. So are their batches' distances.
//!   The audits' own distances are set aside from the start.
//! - **Prices are proven once and stored.** Closing books the most that each label can cost, which
//!   was proven when the election was created, and the background proves the rest: see
//!   [`turnouts`](shield_privacy::turnouts) for thousands of different turnouts. A smaller bound
//!   of the same moments may replace a larger one at any time: what is spent does not depend on how
//!   well it is known.

mod bounds;

use std::collections::HashMap;
use std::ops::Add;
use std::sync::{Mutex, PoisonError};

pub use bounds::distance_of;
use rayon::prelude::*;
use shield_core::{Classes, Delta, Setting, Voters};
use shield_privacy::data_independent::DataIndependent;
use shield_privacy::filter::Price;
pub use shield_privacy::filter::{GroupBudget, MOST_PRICED, Sum};
use shield_privacy::price::LogMoment;
use shield_privacy::{Attendance, Mechanism, Proven};

use crate::ElectionFile;
use crate::engine::NoisyArgmax;
use crate::transcript::MOST_ROUNDS;
use crate::turnout::VoterCounts;

/// What a group may spend in all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// The most that all releases together may cost.
    pub epsilon: f64,
    /// The failure probability for which it is stated.
    pub delta: Delta,
}

impl Default for Budget {
    fn default() -> Self {
        Self { epsilon: 10.0, delta: Delta::default() }
    }
}

/// One release, as the accountant sees it.
#[derive(Clone, Debug)]
pub struct Cost {
    mechanism: Priced,
    classes: Classes,
    voters: VoterCounts,
    /// Where it is not known yet how many will vote: the most that it can be. The counts above
    /// then have the fewest.
    most: Option<u32>,
    distance: f64,
}

/// A mechanism that has a price.
#[derive(Clone, Debug)]
enum Priced {
    Shield(Setting),
    /// Its noise is whole as long as the election has its quorum: what it costs does not depend on
    /// how many voted.
    NoisyArgmax(NoisyArgmax),
}

impl Cost {
    /// The cost of an election whose samples had these numbers of voters.
    pub fn new(file: &ElectionFile, voters: VoterCounts) -> Self {
        let election = file.election();
        let setting = || Priced::Shield(election.setting().clone());
        let mechanism = file.spec().argmax().map_or_else(setting, Priced::NoisyArgmax);
        let distance = distance(file);
        Self { mechanism, classes: election.classes(), voters, most: None, distance }
    }

    /// What to set aside for an election before anyone votes.
    pub fn reserved(file: &ElectionFile) -> Self {
        let voters = vec![(file.quorum(), file.election().samples() as u64)];
        let most = u32::try_from(file.teachers().len()).ok();
        Self { most, ..Self::new(file, voters) }
    }

    /// How many labels.
    fn queries(&self) -> u64 {
        self.voters.iter().map(|&(_, count)| count).sum()
    }
}

/// What flooding leaves of an election's releases, and of as many audits as there may be.
fn distance(file: &ElectionFile) -> f64 {
    let outline = file.outline();
    let releases = if outline.audited { 1 + MOST_ROUNDS } else { 1 };
    outline.distance * releases as f64
}

/// Turnouts whose moments are remembered; should somebody try many more, start afresh.
const MOST_KNOWN: usize = 4096;

/// Forgets half of what is known where that is too much: never all of it at once, which would have
/// to be proven again by whoever asks next.
fn make_room(known: &mut HashMap<Rounds, DataIndependent>) {
    if known.len() > MOST_KNOWN {
        let mut odd = false;
        known.retain(|_, _| {
            odd = !odd;
            odd
        });
    }
}

/// The nearest order on the accountant's grid, whose powers the proofs are for.
fn on_grid(order: f64) -> f64 {
    const GRID: f64 = 1.02;
    GRID.powf((order.ln() / GRID.ln()).round())
}

/// A setting of SHIELD's, with the number of classes and of voters.
type Rounds = (Setting, usize, u32);

/// Computes costs, and remembers the moments it has proven.
#[derive(Debug, Default)]
pub struct Accountant {
    known: Mutex<HashMap<Rounds, DataIndependent>>,
    /// Proven moments of ranges of turnouts.
    ranges: Mutex<HashMap<Rounds, HashMap<bounds::Range, LogMoment>>>,
    /// Proven prices of whole elections.
    elections: Mutex<HashMap<Whole, Proven>>,
}

/// A setting of SHIELD's with the number of classes, the turnout and the bits of delta.
type Whole = (Setting, usize, String, u64);

impl Accountant {
    /// The moment of one query at an order, with so many voters.
    fn moment(&self, setting: &Setting, classes: Classes, voters: u32, order: f64) -> LogMoment {
        // Nobody voted: the urn holds dummies alone, and neighbours do not exist.
        let Ok(counted) = Voters::new(voters) else { return LogMoment::default() };
        let rounds = (setting.clone(), classes.count(), voters);
        let take = || {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            make_room(&mut known);
            known.remove(&rounds)
        };
        // Taken out while it works: others may prove other turnouts meanwhile.
        let mut moments = take().unwrap_or_else(|| DataIndependent::new(setting, classes, counted));
        let (_, moment) = moments.log_moment(order);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(rounds, moments);
        moment
    }

    /// What a release costs at an order.
    fn price(&self, cost: &Cost, order: f64) -> Price {
        let mut distance = cost.distance;
        let log_moment = match &cost.mechanism {
            Priced::NoisyArgmax(noise) => {
                let argmax = noise.accounting(cost.classes);
                // What drawing noise with finite precision and differences out of range may show.
                distance += cost.queries() as f64 * argmax.distance();
                argmax.log_moment(order).1.times(cost.queries())
            }
            Priced::Shield(setting) => {
                let largest = |fewest: u32| {
                    let turnouts = fewest..=cost.most.unwrap_or(fewest).max(fewest);
                    let moments: Vec<LogMoment> = turnouts
                        .into_par_iter()
                        .map(|voters| self.moment(setting, cost.classes, voters, order))
                        .collect();
                    moments.into_iter().fold(LogMoment::default(), LogMoment::larger)
                };
                let moments =
                    cost.voters.iter().map(|&(voters, count)| largest(voters).times(count));
                moments.fold(LogMoment::default(), LogMoment::add)
            }
        };
        Price { log_moment, distance }
    }

    /// What some releases cost a group together, at its order.
    pub fn sum(&self, costs: &[Cost], budget: &GroupBudget) -> Sum {
        let prices: Vec<Price> = costs.iter().map(|cost| self.price(cost, budget.order)).collect();
        budget.add_up(&prices)
    }
}

impl Accountant {
    /// The order for a group whose first election this is: the one at which most elections like it
    /// fit into the budget.
    pub fn order(&self, file: &ElectionFile, budget: &Budget) -> f64 {
        let first = Cost { most: None, ..Cost::reserved(file) };
        let all = u32::try_from(file.teachers().len()).unwrap_or(u32::MAX);
        let first = Cost { voters: vec![(all, 1)], ..first };
        let order = GroupBudget::best_order(budget.epsilon, budget.delta, |order| {
            let order = on_grid(order);
            (order, self.price(&first, order).log_moment)
        });
        on_grid(order)
    }

    /// The price of one election by moments: the same that every other report states.
    fn alone(
        &self,
        setting: &Setting,
        classes: Classes,
        voters: &VoterCounts,
        delta: Delta,
    ) -> Proven {
        let attendance = Attendance::exactly(voters.iter().copied());
        let key = (setting.clone(), classes.count(), attendance.to_string(), delta.get().to_bits());
        let known = || self.elections.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&price) = known().get(&key) {
            return price;
        }
        let mechanism = Mechanism::Shield(setting.clone());
        let price = mechanism.by_moments_of(classes, &attendance, delta);
        let mut known = known();
        if known.len() >= MOST_KNOWN {
            known.clear();
        }
        *known.entry(key).or_insert(price)
    }

    /// The epsilon of some releases together: proven, whatever the votes were, for releases that
    /// were chosen before the first of them.
    pub fn total(&self, costs: &[Cost], delta: Delta) -> Proven {
        if let [Cost { mechanism: Priced::Shield(setting), classes, voters, .. }] = costs {
            return self.alone(setting, *classes, voters, delta);
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        make_room(&mut known);
        let mut queries: HashMap<Rounds, u64> = HashMap::new();
        let mut argmaxes = Vec::new();
        // What drawing noise with finite precision and differences out of range take of delta.
        let mut imprecision = 0.0;
        for cost in costs {
            match &cost.mechanism {
                Priced::Shield(setting) => {
                    for &(voters, count) in &cost.voters {
                        let setting = (setting.clone(), cost.classes.count(), voters);
                        *queries.entry(setting).or_default() += count;
                    }
                }
                Priced::NoisyArgmax(noise) => {
                    let count: u64 = cost.voters.iter().map(|&(_, count)| count).sum();
                    let argmax = noise.accounting(cost.classes);
                    imprecision += count as f64 * argmax.lost_delta();
                    argmaxes.push((argmax, count));
                }
            }
        }
        for setting in queries.keys() {
            let (rounds, classes, voters) = setting;
            let (Ok(classes), Ok(voters)) = (Classes::new(*classes), Voters::new(*voters)) else {
                // Nobody voted: the urn holds dummies alone, and neighbours do not exist.
                continue;
            };
            known
                .entry(setting.clone())
                .or_insert_with(|| DataIndependent::new(rounds, classes, voters));
        }
        // The accountant proves moments on a grid of orders; every epsilon is stated for an order
        // of the grid.
        Proven::of_moments(delta, imprecision, |wanted| {
            let (mut order, mut sum) = (on_grid(wanted), LogMoment::default());
            for (setting, &count) in &queries {
                if let Some(moments) = known.get_mut(setting) {
                    let (used, log_moment) = moments.log_moment(wanted);
                    order = used;
                    sum = sum + log_moment.times(count);
                }
            }
            for (argmax, count) in &argmaxes {
                sum = sum + argmax.log_moment(order).1.times(*count);
            }
            (order, sum)
        })
    }
}

#[cfg(test)]
mod tests;
