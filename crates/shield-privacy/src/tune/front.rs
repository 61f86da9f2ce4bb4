//! The Pareto front: nothing else is both more private and more accurate.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::price::{FromVotes, Proven};
use shield_core::parameters::{Epsilon, Offset};
use shield_core::polynomial::Polynomial;

/// The cost that a search weighs against accuracy, by its objective. Read back from a file it may
/// not be published: nobody knows who wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Cost {
    /// Proven for all votes there could be.
    #[serde(skip_deserializing)]
    Proven(Proven),
    /// The paper's figure of the votes at hand.
    FromVotes(FromVotes),
    /// What some pairs of neighbours cost: no price, only good to rank by.
    #[serde(skip_deserializing)]
    AtLeast(Epsilon),
}

impl Cost {
    /// As a number.
    pub fn get(self) -> f64 {
        match self {
            Self::Proven(price) => price.get(),
            Self::FromVotes(price) => price.get(),
            Self::AtLeast(epsilon) => epsilon.get(),
        }
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Proven(price) => price.fmt(f),
            Self::FromVotes(price) => price.fmt(f),
            Self::AtLeast(epsilon) => epsilon.fmt(f),
        }
    }
}

/// A setting, what it costs and how accurate it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The rounds.
    pub polynomial: Polynomial,
    /// The dummies of each class.
    pub offset: Offset,
    /// The cost by the objective of the search.
    pub epsilon: Cost,
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
    /// A setting whose share of right labels is not known.
    pub fn new(polynomial: Polynomial, offset: Offset, epsilon: Cost, ground_truth: f64) -> Self {
        let (terms, degree) = (polynomial.round_count(), polynomial.degree());
        Self { polynomial, offset, epsilon, ground_truth, right: None, terms, degree }
    }

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
        if !point.epsilon.get().is_finite() || self.beats(point.epsilon.get(), point.accuracy()) {
            return;
        }
        let (cost, accuracy) = (point.epsilon.get(), point.accuracy());
        self.points.retain(|other| other.epsilon.get() < cost || other.accuracy() > accuracy);
        let place = self.points.partition_point(|other| other.accuracy() < accuracy);
        self.points.insert(place, point);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(epsilon: f64, ground_truth: f64) -> Point {
        let cost = Cost::AtLeast(Epsilon::new(epsilon).unwrap());
        Point::new(Polynomial::default(), Offset::default(), cost, ground_truth)
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
