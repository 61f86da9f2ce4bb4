//! The Pareto front: nothing else is both more private and more accurate.

use serde::{Deserialize, Serialize};

use crate::parameters::{Epsilon, Offset};
use crate::polynomial::Polynomial;

/// A setting, what it costs and how accurate it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The rounds.
    pub polynomial: Polynomial,
    /// The dummies of each class.
    pub offset: Offset,
    /// The cost by the objective of the search.
    pub epsilon: Epsilon,
    /// Ground-truth accuracy.
    pub ground_truth: f64,
    /// The share of right labels, where the truth is known. It is then what the search weighs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub right: Option<f64>,
    /// How many rounds the polynomial has.
    pub terms: usize,
    /// Its degree.
    pub degree: u32,
}

impl Point {
    /// What the search weighs: the share of right labels, or else ground-truth accuracy.
    pub fn accuracy(&self) -> f64 {
        self.right.unwrap_or(self.ground_truth)
    }
}

/// Points none of which is beaten by another, from the most private to the most accurate.
#[derive(Clone, Debug, Default)]
pub struct Front {
    points: Vec<Point>,
}

impl Front {
    /// The points, in increasing epsilon and accuracy.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// The points, to fill in what is not weighed.
    pub(crate) fn points_mut(&mut self) -> &mut [Point] {
        &mut self.points
    }

    /// The points, given away.
    pub fn into_points(self) -> Vec<Point> {
        self.points
    }

    /// Whether a point at least as accurate costs at most this: then nothing that costs it can be
    /// on the front.
    pub fn beats(&self, epsilon: f64, accuracy: f64) -> bool {
        // The cheapest point that is at least as accurate is the first of those.
        let first = self.points.partition_point(|point| point.accuracy() < accuracy);
        self.points.get(first).is_some_and(|point| point.epsilon.get() <= epsilon)
    }

    /// Adds a point, and drops those that it beats. A point that is beaten, or infinite, is not
    /// added.
    pub fn add(&mut self, point: Point) {
        if !point.epsilon.is_finite() || self.beats(point.epsilon.get(), point.accuracy()) {
            return;
        }
        self.points
            .retain(|other| other.epsilon < point.epsilon || other.accuracy() > point.accuracy());
        let place = self.points.partition_point(|other| other.accuracy() < point.accuracy());
        self.points.insert(place, point);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(epsilon: f64, ground_truth: f64) -> Point {
        let polynomial = Polynomial::default();
        Point {
            terms: polynomial.round_count(),
            degree: polynomial.degree(),
            polynomial,
            offset: Offset::default(),
            epsilon: Epsilon::new(epsilon).unwrap(),
            ground_truth,
            right: None,
        }
    }

    #[test]
    fn keeps_what_nothing_beats() {
        let mut front = Front::default();
        for (epsilon, ground_truth) in [
            (2.0, 0.7),
            (1.0, 0.6),
            (3.0, 0.65),
            (1.5, 0.7),
            (0.5, 0.1),
            (f64::INFINITY, 0.9),
            (1.0, 0.6),
        ] {
            front.add(point(epsilon, ground_truth));
        }
        let kept: Vec<_> =
            front.points().iter().map(|p| (p.epsilon.get(), p.ground_truth)).collect();
        assert_eq!(kept, [(0.5, 0.1), (1.0, 0.6), (1.5, 0.7)]);
        assert!(front.beats(1.6, 0.7) && front.beats(1.5, 0.65) && !front.beats(1.4, 0.65));
        assert!(!front.beats(9.0, 0.71));
    }
}
