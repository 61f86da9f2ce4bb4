//! The neighbours of one histogram: every way in which one voter's vote can change.
//!
//! Classes with equally many votes are interchangeable, so there is one neighbour for each pair of
//! *numbers* of votes, however many classes there are. Who takes part is public: a voter who is
//! replaced still votes, so the number of votes stays.

use super::moments::LawPair;
use super::rounds::Rounds;
use shield_core::histogram::Histogram;
use shield_core::parameters::{Classes, ParameterError};
use shield_core::setting::Setting;

/// A neighbour of a histogram: one vote went from a class to another.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbour {
    /// How many votes the class that loses one has before.
    pub from: u32,
    /// How many votes the class that gains it has before.
    pub to: u32,
    /// The output laws: of the histogram, and of its neighbour.
    pub laws: LawPair,
}

/// All neighbours of a histogram; none where nobody voted.
pub fn neighbours(setting: &Setting, histogram: &Histogram) -> Vec<Neighbour> {
    let Ok(urns) = Urns::new(setting, histogram) else {
        return Vec::new();
    };
    let mut neighbours = Vec::new();
    for &(from, from_classes) in urns.groups.iter().filter(|group| group.0 > 0) {
        for &(to, _) in urns.groups.iter().filter(|group| group.0 != from || from_classes > 1) {
            neighbours.push(Neighbour { from, to, laws: urns.laws(from, to) });
        }
    }
    neighbours
}

/// The laws of a histogram and of its neighbour where one vote goes from a class with `from` votes
/// to another with `to`. `None` if there are no two such classes.
pub fn laws_of_move(
    setting: &Setting,
    histogram: &Histogram,
    from: u32,
    to: u32,
) -> Option<LawPair> {
    let urns = Urns::new(setting, histogram).ok()?;
    let classes =
        |votes: u32| urns.groups.iter().find(|group| group.0 == votes).map(|group| group.1);
    let enough = classes(from)? > u32::from(from == to) && classes(to)? > 0;
    (from > 0 && enough).then(|| urns.laws(from, to))
}

/// A histogram as groups of classes with equally many votes, and the law it has.
struct Urns {
    rounds: Rounds,
    /// (votes, how many classes have that many), in increasing order.
    groups: Vec<(u32, u32)>,
}

impl Urns {
    fn new(setting: &Setting, histogram: &Histogram) -> Result<Self, ParameterError> {
        let mut counts = histogram.counts().to_vec();
        counts.sort_unstable();
        let groups = counts
            .chunk_by(|a, b| a == b)
            .map(|alike| (alike[0], u32::try_from(alike.len()).unwrap_or(u32::MAX)))
            .collect();
        let voters = u32::try_from(histogram.voters()).unwrap_or(u32::MAX);
        let rounds = Rounds::new(setting, Classes::new(counts.len())?, voters);
        Ok(Self { rounds, groups })
    }

    fn laws(&self, from: u32, to: u32) -> LawPair {
        let offset = f64::from(self.rounds.offset);
        let entries = |votes: u32| f64::from(votes) + offset;
        let mut groups = vec![(entries(from), 1.0), (entries(to), 1.0)];
        for &(votes, classes) in &self.groups {
            let bystanders = classes - u32::from(votes == from) - u32::from(votes == to);
            if bystanders > 0 {
                groups.push((entries(votes), f64::from(bystanders)));
            }
        }
        self.rounds.laws_of_move(groups)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shield_core::distribution::OutputDistribution;

    #[test]
    fn every_move_is_there_once() {
        let setting = Setting::default();
        let histogram = Histogram::new(vec![5, 2, 2, 0, 0, 0]).unwrap();
        let mut moves: Vec<_> =
            neighbours(&setting, &histogram).iter().map(|n| (n.from, n.to)).collect();
        moves.sort_unstable();
        assert_eq!(moves, [(2, 0), (2, 2), (2, 5), (5, 0), (5, 2)]);
    }

    #[test]
    fn moments_are_those_of_the_laws_class_by_class() {
        let setting = Setting::default();
        let counts = [5, 2, 2, 0, 0, 0];
        for neighbour in neighbours(&setting, &Histogram::new(counts.to_vec()).unwrap()) {
            let from = counts.iter().position(|&n| n == neighbour.from).unwrap();
            let to = counts.iter().rposition(|&n| n == neighbour.to).unwrap();
            let mut moved = counts;
            moved[from] -= 1;
            moved[to] += 1;
            let p = OutputDistribution::of_counts(&setting, &counts);
            let q = OutputDistribution::of_counts(&setting, &moved);
            for order in [1.0, 4.5] {
                let expected: f64 = p
                    .probabilities()
                    .zip(q.probabilities())
                    .map(|(p, q)| p * (p / q).powf(order))
                    .sum();
                let found = neighbour.laws.log_moment(order);
                assert!((found - expected.ln()).abs() < 1e-8, "{found} {}", expected.ln());
            }
        }
    }

    #[test]
    fn one_named_move() {
        let histogram = Histogram::new(vec![5, 2, 0]).unwrap();
        let setting = Setting::default();
        assert!(laws_of_move(&setting, &histogram, 5, 2).is_some());
        assert!(laws_of_move(&setting, &histogram, 5, 5).is_none());
        assert!(laws_of_move(&setting, &histogram, 0, 5).is_none());
        assert!(laws_of_move(&setting, &histogram, 3, 5).is_none());
    }
}
