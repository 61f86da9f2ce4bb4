//! What other numbers of teachers and samples would give: estimates by the noisy argmax, whose
//! noise follows from epsilon and the number of labels at once. Made-up votes, no proofs.

use serde::Serialize;
use shield_core::shared_noise::{NoiseFamily, SharedNoise};
use shield_core::{Classes, Delta, Epsilon, Histogram, Labels, Noise, Queries, Voters};
use shield_privacy::mechanism::best;
use shield_privacy::{Mechanism, Usage};

use super::decide::made_up;

/// The most teachers that are looked at.
const MOST_TEACHERS: u32 = 2_000;
/// The largest epsilon that is suggested.
const MOST_EPSILON: f64 = 100.0;

/// An estimate of right labels for elections of one number of classes at one delta.
#[derive(Clone, Copy, Debug)]
pub struct Outlook {
    /// How many classes there are.
    pub classes: Classes,
    /// The failure probability.
    pub delta: Delta,
}

/// Right labels by numbers of teachers and of samples.
#[derive(Clone, Debug, Serialize)]
pub struct Table {
    /// The numbers of samples.
    pub queries: Vec<u64>,
    /// For each number of teachers, the shares of right labels.
    pub rows: Vec<(u32, Vec<f64>)>,
}

/// What would make an aim possible, each alone; none where it would not.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Help {
    /// The share of right labels that is aimed at.
    pub accuracy: f64,
    /// How many samples at most.
    pub queries: Option<u64>,
    /// How many teachers at least.
    pub teachers: Option<u32>,
    /// Which epsilon at least.
    pub epsilon: Option<f64>,
    /// The largest share of samples whose labels are so often right, in tenths.
    pub answered: Option<f64>,
    /// The share that the exact argmax has right: no mechanism can have more.
    pub ceiling: f64,
}

/// A planned election, as far as estimates need it.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// How many teachers there are.
    pub teachers: Voters,
    /// How many samples are labelled.
    pub queries: Queries,
    /// What all labels together may cost.
    pub budget: Epsilon,
}

/// Made-up votes of so many teachers.
struct Crowd {
    teachers: u32,
    histograms: Vec<Histogram>,
    truth: Labels,
}

impl Crowd {
    fn noise(&self, deviation: f64) -> Option<SharedNoise> {
        let least = Noise::new(deviation.clamp(SharedNoise::MIN_SCALE, SharedNoise::MAX_SCALE));
        SharedNoise::of(NoiseFamily::Skellam, least.ok()?, self.teachers, 0).ok()
    }

    /// The share of right labels with noise of a deviation; of those that are given if only some
    /// samples get one.
    fn right(&self, deviation: f64, answered: Option<f64>) -> f64 {
        let right = |mechanism: &Mechanism| {
            best::right_and_answered(mechanism, &self.histograms, Some(&self.truth))
        };
        let Some(noise) = self.noise(deviation) else { return 0.0 };
        match answered {
            None => right(&Mechanism::NoisyArgmax(noise.into())).0,
            Some(share) => {
                best::silent_argmax_for(share, &noise, &self.histograms).map_or(0.0, |silent| {
                    let (right, answered) = right(&silent);
                    right / answered.max(f64::MIN_POSITIVE)
                })
            }
        }
    }
}

impl Outlook {
    fn crowd(self, teachers: u32) -> Option<Crowd> {
        let (histograms, truth) = made_up(Voters::new(teachers).ok()?, self.classes).ok()?;
        Some(Crowd { teachers, histograms, truth })
    }

    fn noise(self, queries: u64, epsilon: f64) -> Option<f64> {
        let usage = Usage { queries: Queries::new(queries).ok()?, delta: self.delta };
        best::about_noise(Epsilon::new(epsilon).ok()?, usage)
    }

    /// The share of right labels to expect, about.
    pub fn right(self, size: &Size) -> Option<f64> {
        let crowd = self.crowd(size.teachers.count())?;
        let noise = self.noise(size.queries.count(), size.budget.get())?;
        Some(crowd.right(noise, None))
    }

    /// Right labels for other numbers of teachers and samples, about.
    pub fn table(self, size: &Size) -> Table {
        let (teachers, queries) = (size.teachers.count(), size.queries.count());
        let times = |number: f64, factor: f64| (number * factor).round().max(1.0);
        let mut all: Vec<u64> = [0.05, 0.1, 0.25, 0.5, 1.0, 2.0]
            .map(|factor| round_number(times(queries as f64, factor)) as u64)
            .to_vec();
        all[4] = queries;
        all.dedup();
        let mut crowds: Vec<u32> = [0.5, 1.0, 2.0, 5.0, 10.0]
            .map(|factor| round_number(times(f64::from(teachers), factor)) as u32)
            .to_vec();
        crowds[1] = teachers;
        crowds.retain(|&teachers| teachers <= MOST_TEACHERS);
        let row = |&teachers: &u32| {
            let crowd = self.crowd(teachers)?;
            let shares = all.iter().map(|&queries| {
                self.noise(queries, size.budget.get()).map_or(0.0, |noise| crowd.right(noise, None))
            });
            Some((teachers, shares.collect()))
        };
        Table { rows: crowds.iter().filter_map(row).collect(), queries: all.clone() }
    }

    /// What would bring a share of right labels, about.
    pub fn help(self, size: &Size, accuracy: f64) -> Option<Help> {
        let (epsilon, queries) = (size.budget.get(), size.queries.count());
        let crowd = self.crowd(size.teachers.count())?;
        let ceiling = best::right(&Mechanism::Exact, &crowd.histograms, Some(&crowd.truth));
        let reached = |crowd: &Crowd, queries: u64, epsilon: f64| {
            let noise = self.noise(queries, epsilon);
            noise.is_some_and(|noise| crowd.right(noise, None) >= accuracy)
        };
        let fewer = most(1, queries, |queries| reached(&crowd, queries, epsilon));
        let more = most(1, u64::from(MOST_TEACHERS), |fewer| {
            let teachers = MOST_TEACHERS + 1 - u32::try_from(fewer).unwrap_or(MOST_TEACHERS);
            self.crowd(teachers).is_some_and(|crowd| reached(&crowd, queries, epsilon))
        });
        let tenths = most(1, (10.0 * MOST_EPSILON) as u64, |less| {
            let tenth = 10.0 * MOST_EPSILON - less as f64 + 1.0;
            reached(&crowd, queries, tenth / 10.0)
        });
        let noise = self.noise(queries, epsilon);
        let sure = noise.and_then(|noise| {
            let shares = (1..10).rev().map(|tenth| f64::from(tenth) / 10.0);
            shares.into_iter().find(|&share| crowd.right(noise, Some(share)) >= accuracy)
        });
        Some(Help {
            accuracy,
            queries: fewer,
            teachers: more.map(|fewer| MOST_TEACHERS + 1 - fewer as u32),
            epsilon: tenths.map(|less| (10.0 * MOST_EPSILON - less as f64 + 1.0) / 10.0),
            answered: sure,
            ceiling,
        })
    }
}

impl Help {
    /// The ways to more right labels, in one sentence.
    pub fn sentence(&self, size: &Size) -> String {
        let percent = |share: f64| format!("{:.0}%", 100.0 * share);
        let mut ways = Vec::new();
        if let Some(queries) = self.queries.filter(|&queries| queries < size.queries.count()) {
            ways.push(format!("at most {queries} samples"));
        }
        if let Some(teachers) = self.teachers.filter(|&more| more > size.teachers.count()) {
            ways.push(format!("at least {teachers} teachers"));
        }
        if let Some(epsilon) = self.epsilon.filter(|&more| more > size.budget.get()) {
            ways.push(format!("epsilon {epsilon:.1}"));
        }
        if let Some(share) = self.answered {
            ways.push(format!("labels for the clearest {} of the samples alone", percent(share)));
        }
        let aim = percent(self.accuracy);
        if ways.is_empty() {
            return format!(
                "nothing known here brings {aim} right labels; without any privacy these teachers \
                 have {} right",
                percent(self.ceiling)
            );
        }
        let why = if self.ceiling < self.accuracy {
            format!(
                "; with {} teachers even the exact argmax has only {} right",
                size.teachers,
                percent(self.ceiling)
            )
        } else {
            String::new()
        };
        format!("{aim} would be right with about: {}{why}", ways.join("; or "))
    }
}

/// The largest number of a range for which something is so that is so for all smaller ones.
fn most(low: u64, high: u64, is_so: impl Fn(u64) -> bool) -> Option<u64> {
    if !is_so(low) {
        return None;
    }
    let (mut so, mut not) = (low, high + 1);
    while not - so > 1 {
        let middle = u64::midpoint(so, not);
        if is_so(middle) {
            so = middle;
        } else {
            not = middle;
        }
    }
    Some(so)
}

/// A number with at most two digits that are not 0.
fn round_number(number: f64) -> f64 {
    let scale = 10f64.powf((number.log10().floor() - 1.0).max(0.0));
    (number / scale).round() * scale
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_samples_and_more_teachers_help() {
        let outlook = Outlook { classes: Classes::new(2).unwrap(), delta: Delta::default() };
        let size = Size {
            teachers: Voters::new(12).unwrap(),
            queries: Queries::new(1000).unwrap(),
            budget: Epsilon::new(2.0).unwrap(),
        };
        let right = outlook.right(&size).unwrap();
        assert!((0.5..0.6).contains(&right), "{right}");
        let help = outlook.help(&size, 0.75).unwrap();
        let fewer = help.queries.unwrap_or_else(|| panic!("{help:?}"));
        assert!((1..200).contains(&fewer), "{help:?}");
        let there = Size { queries: Queries::new(fewer).unwrap(), ..size };
        assert!(outlook.right(&there).unwrap() >= 0.75);
        let there = Size { teachers: Voters::new(help.teachers.unwrap()).unwrap(), ..size };
        assert!(outlook.right(&there).unwrap() >= 0.75);
        assert!(help.epsilon.unwrap() > 2.0 && help.ceiling > 0.85);
        assert!(help.sentence(&size).starts_with("75% would be right with about: at most "));
        let table = outlook.table(&size);
        assert_eq!(table.rows[1].0, 12);
        assert!(table.rows[4].1[0] > table.rows[0].1[5]);
        // No number of samples makes 12 teachers right more often than their votes are.
        assert_eq!(outlook.help(&size, 0.99).unwrap().queries, None);
    }
}
