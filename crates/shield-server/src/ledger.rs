//! What a group of teachers has spent, and what it can still afford.
//!
//! Every election costs its group the moments of the data-independent accountant, one set for each
//! number of voters that its samples had. Moments of independent releases add up, order by order,
//! so the total is the best epsilon over the *sums*: never more than the sum of the elections' own
//! figures, and usually much less.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use shield::privacy::conversion::Conversion;
use shield::privacy::data_independent::DataIndependent;
use shield::privacy::shared_argmax::SharedArgmax;
use shield::shared_noise::SharedNoise;
use shield::{Classes, Delta, Epsilon, Setting, Voters};
use shield_protocol::engine::Mechanism;

use shield_protocol::ElectionFile;
use shield_protocol::turnout::VoterCounts;

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
}

/// A mechanism that has a price.
#[derive(Clone, Debug)]
enum Priced {
    Shield(Setting),
    /// Its noise is whole as long as the election has its quorum: what it costs does not depend on
    /// how many voted.
    NoisyArgmax(SharedNoise),
}

impl Cost {
    /// The cost of an election whose samples had these numbers of voters.
    pub fn new(file: &ElectionFile, voters: VoterCounts) -> Self {
        let election = file.election();
        let mechanism = match file.choice().mechanism() {
            Mechanism::Shield => Priced::Shield(election.setting().clone()),
            Mechanism::NoisyArgmax(noise) => Priced::NoisyArgmax(noise),
        };
        Self { mechanism, classes: election.classes(), voters }
    }
}

/// A setting of SHIELD's, with the number of classes and of voters.
type Rounds = (Setting, usize, u32);

/// Computes costs, and remembers the moments it has proven.
#[derive(Debug, Default)]
pub struct Accountant {
    known: Mutex<HashMap<Rounds, DataIndependent>>,
}

impl Accountant {
    /// The epsilon of some releases together: proven, whatever the votes were.
    pub fn total(&self, costs: &[Cost], delta: Delta) -> Epsilon {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // Few settings are ever in use; should somebody try thousands, start afresh.
        if known.len() > 256 {
            known.clear();
        }
        let mut queries: HashMap<Rounds, u64> = HashMap::new();
        let mut argmaxes = Vec::new();
        // What drawing noise with finite precision takes of delta.
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
                    let classes = cost.classes.count();
                    let argmax = SharedArgmax::new(noise, classes);
                    imprecision += count as f64 * argmax.lost_delta();
                    argmaxes.push((argmax, count));
                }
            }
        }
        let asked = queries.values().chain(argmaxes.iter().map(|(_, count)| count));
        if asked.into_iter().all(|&count| count == 0) {
            return Epsilon::ZERO;
        }
        let Ok(delta) = Delta::new(delta.get() - imprecision) else { return Epsilon::INFINITE };
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
        let mut best = Epsilon::INFINITE;
        // The accountant proves moments on a grid of orders; every epsilon is stated for an order
        // of the grid.
        Conversion::Renyi.minimise(delta, |wanted| {
            let (mut order, mut sum) = (wanted, 0.0);
            for (setting, &count) in &queries {
                if let Some(moments) = known.get_mut(setting) {
                    let (used, log_moment) = moments.log_moment(wanted);
                    order = used;
                    sum += count as f64 * log_moment;
                }
            }
            for (argmax, count) in &argmaxes {
                sum += *count as f64 * argmax.log_moment(order);
            }
            let epsilon = Conversion::Renyi.epsilon(order, sum, delta) * (1.0 + 1e-12);
            let epsilon = Epsilon::new(epsilon).unwrap_or(Epsilon::INFINITE);
            if epsilon < best {
                best = epsilon;
            }
            sum
        });
        best
    }
}

/// A group's account, for people to read.
#[derive(Clone, Debug, Serialize)]
pub struct Account {
    /// The group.
    pub group: String,
    /// Its releases and reservations.
    pub entries: Vec<Entry>,
    /// What the releases cost together.
    pub spent: Epsilon,
    /// What releases and reservations cost together.
    pub reserved: Epsilon,
    /// The most that it may be.
    pub budget: f64,
    /// The failure probability for which all of it is stated.
    pub delta: Delta,
    /// How many more labels like those of the group's newest election the budget pays for.
    pub labels_left: Option<u64>,
    /// What was spent or set aside after each election, the oldest first.
    pub history: Vec<Moment>,
}

/// What a group had spent or set aside at some time.
#[derive(Clone, Debug, Serialize)]
pub struct Moment {
    /// When an election was closed, or created if it is not closed.
    pub moment: jiff::Timestamp,
    /// The cost of all elections up to it together.
    pub epsilon: Epsilon,
}

/// One election in an account.
#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    /// The election.
    pub election: String,
    /// Whether its labels are out, or only set aside for.
    pub spent: bool,
    /// Labels released, or to be released.
    pub queries: u64,
    /// The fewest voters that a sample had, or must have.
    pub voters: u32,
    /// What it costs on its own.
    pub epsilon: Epsilon,
}

#[cfg(test)]
mod tests {
    use shield::parameters::Noise;
    use shield::privacy::Usage;
    use shield::privacy::distributed_argmax::DistributedArgmax;
    use shield::privacy::skellam::{Sensitivity, SkellamArgmax};
    use shield::shared_noise::NoiseFamily;
    use shield::{Offset, Queries};

    use super::*;

    fn setting(offset: &str) -> Setting {
        Setting { offset: offset.parse::<Offset>().unwrap(), ..Setting::default() }
    }

    fn cost(offset: &str, voters: VoterCounts) -> Cost {
        let mechanism = Priced::Shield(setting(offset));
        Cost { mechanism, classes: Classes::new(3).unwrap(), voters }
    }

    #[test]
    fn a_noisy_argmax_costs_what_analyze_says_and_adds_up() {
        let accountant = Accountant::default();
        let amount = Noise::new(30.0).unwrap();
        let classes = Classes::new(3).unwrap();
        let usage = Usage { queries: Queries::new(40).unwrap(), delta: Delta::default() };
        let rounds = cost("2", vec![(20, 40)]);
        let other = accountant.total(std::slice::from_ref(&rounds), usage.delta).get();
        for family in [NoiseFamily::Laplace, NoiseFamily::Skellam] {
            let noise = SharedNoise::of(family, amount, 20, 2).unwrap();
            let argmax = |voters| Cost { mechanism: Priced::NoisyArgmax(noise), classes, voters };
            let direct = match family {
                NoiseFamily::Laplace => {
                    DistributedArgmax::new(&noise, 3).data_independent(usage, Conversion::Renyi)
                }
                NoiseFamily::Skellam => SkellamArgmax::new(&noise, 3, Sensitivity::Vote)
                    .unwrap()
                    .by_moments(usage, Conversion::Renyi),
            };
            let alone = accountant.total(&[argmax(vec![(18, 30), (20, 10)])], usage.delta).get();
            assert!((alone / direct.get() - 1.0).abs() < 0.01, "{alone} is not {}", direct.get());
            let both =
                accountant.total(&[rounds.clone(), argmax(vec![(20, 40)])], usage.delta).get();
            assert!(both > other.max(alone) && both < other + alone, "{both}: {other}, {alone}");
        }
    }

    #[test]
    fn one_release_costs_what_bound_says() {
        let accountant = Accountant::default();
        let usage = Usage { queries: Queries::new(40).unwrap(), delta: Delta::default() };
        let alone = cost("2", vec![(20, 40)]);
        let direct = DataIndependent::new(&setting("2"), alone.classes, Voters::new(20).unwrap())
            .epsilon(usage);
        let total = accountant.total(&[alone], usage.delta).get();
        // Both are proven; they may settle on neighbouring orders.
        assert!((total / direct.get() - 1.0).abs() < 0.01, "{total} is not {}", direct.get());
    }

    #[test]
    fn together_costs_more_than_each_and_less_than_the_sum() {
        let accountant = Accountant::default();
        let delta = Delta::default();
        let (a, b) = (cost("2", vec![(20, 40)]), cost("5", vec![(18, 10), (20, 60)]));
        let each: Vec<f64> =
            [&a, &b].map(|cost| accountant.total(std::slice::from_ref(cost), delta).get()).to_vec();
        let both = accountant.total(&[a, b], delta).get();
        assert!(both > each[0] && both > each[1] && both < each[0] + each[1], "{both} {each:?}");
    }

    #[test]
    fn nothing_costs_nothing_and_no_offset_costs_everything() {
        let accountant = Accountant::default();
        assert_eq!(accountant.total(&[], Delta::default()), Epsilon::ZERO);
        let bare = cost("0", vec![(20, 1)]);
        assert_eq!(accountant.total(&[bare], Delta::default()), Epsilon::INFINITE);
    }
}
