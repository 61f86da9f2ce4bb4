//! Least squares with a ridge: a classifier that is fitted in a moment, for teachers by the
//! hundred.
//!
//! One score per class, linear in the features, fitted to 1 for images of the class and 0 for all
//! others. The normal equations are solved by Cholesky's decomposition, so that the same images
//! always give the same classifier.

use ndarray::{Array2, ArrayView1, Axis, concatenate};

use crate::neighbours::Points;

/// A fitted classifier.
#[derive(Clone, Debug)]
pub(crate) struct Linear {
    /// A row per feature, a column per class; the last row is the constant.
    weights: Array2<f32>,
    /// Classes that it has seen: it never finds another.
    seen: Vec<bool>,
}

impl Linear {
    /// Fits a classifier to points of known classes, with this much weight on small coefficients.
    ///
    /// # Panics
    /// If there is not one class below `classes` for each point, or the ridge is not positive.
    pub(crate) fn fit(points: &Points, labels: &[usize], classes: usize, ridge: f64) -> Self {
        assert!(points.len() == labels.len() && ridge > 0.0, "one class per point, and a ridge");
        let width = points.width() + 1;
        let rows = with_constant(points);
        let gram = rows.t().dot(&rows);
        let mut wanted = vec![0.0f64; width * classes];
        let mut seen = vec![false; classes];
        for (row, &class) in rows.outer_iter().zip(labels) {
            seen[class] = true;
            for (feature, value) in row.iter().enumerate() {
                wanted[feature * classes + class] += f64::from(*value);
            }
        }
        let mut factor: Vec<f64> = gram.iter().map(|&value| f64::from(value)).collect();
        for feature in 0..width {
            factor[feature * width + feature] += ridge;
        }
        decompose(&mut factor, width);
        solve(&factor, &mut wanted, width, classes);
        #[expect(clippy::cast_possible_truncation, reason = "scores need no more digits")]
        let weight = |(feature, class)| wanted[feature * classes + class] as f32;
        Self { weights: Array2::from_shape_fn((width, classes), weight), seen }
    }

    /// The class with the highest score for each point, the first where several have it.
    pub(crate) fn predict(&self, points: &Points) -> Vec<usize> {
        let scores = with_constant(points).dot(&self.weights);
        let best = |scores: ArrayView1<f32>| {
            let seen = (0..scores.len()).filter(|&class| self.seen[class]);
            let better = |best: usize, class: usize| {
                if scores[class] > scores[best] { class } else { best }
            };
            seen.reduce(better).unwrap_or(0)
        };
        scores.outer_iter().map(best).collect()
    }
}

/// The points as rows, each with a 1 at its end.
fn with_constant(points: &Points) -> Array2<f32> {
    concatenate![Axis(1), points.matrix(), Array2::ones((points.len(), 1))]
}

/// Replaces the lower half of a positive definite matrix by its Cholesky factor.
fn decompose(matrix: &mut [f64], width: usize) {
    for row in 0..width {
        for column in 0..=row {
            let (before, own) = matrix.split_at(row * width);
            let other = if column == row { own } else { &before[column * width..] };
            let sum: f64 = own[..column].iter().zip(&other[..column]).map(|(a, b)| a * b).sum();
            let rest = own[column] - sum;
            matrix[row * width + column] = if column == row {
                // Rounding may leave nothing of a feature that others explain fully.
                rest.max(1e-12).sqrt()
            } else {
                rest / matrix[column * width + column]
            };
        }
    }
}

/// Solves for several right-hand sides at once, in place: forwards with the factor, then backwards
/// with its transpose.
fn solve(factor: &[f64], sides: &mut [f64], width: usize, count: usize) {
    for row in 0..width {
        let (before, own) = sides.split_at_mut(row * count);
        for (known, &times) in before.chunks_exact(count).zip(&factor[row * width..]) {
            subtract(&mut own[..count], known, times);
        }
        divide(&mut own[..count], factor[row * width + row]);
    }
    for row in (0..width).rev() {
        let (own, after) = sides[row * count..].split_at_mut(count);
        for (known, below) in after.chunks_exact(count).zip(row + 1..) {
            subtract(own, known, factor[below * width + row]);
        }
        divide(own, factor[row * width + row]);
    }
}

fn subtract(from: &mut [f64], known: &[f64], times: f64) {
    for (from, known) in from.iter_mut().zip(known) {
        *from -= times * known;
    }
}

fn divide(side: &mut [f64], by: f64) {
    for value in side {
        *value /= by;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::drawn_digits;
    use crate::student::gradients::gradients;

    #[test]
    fn equations_are_solved() {
        let matrix = [4.0, 2.0, 0.4, 2.0, 3.0, 0.5, 0.4, 0.5, 1.0];
        let solution = [1.0, -2.0, 3.0, 0.5, -1.5, 2.5];
        let mut sides = vec![0.0; 6];
        for row in 0..3 {
            for side in 0..2 {
                let sum = (0..3).map(|k| matrix[row * 3 + k] * solution[k * 2 + side]).sum();
                sides[row * 2 + side] = sum;
            }
        }
        let mut factor = matrix.to_vec();
        decompose(&mut factor, 3);
        solve(&factor, &mut sides, 3, 2);
        for (found, wanted) in sides.iter().zip(solution) {
            assert!((found - wanted).abs() < 1e-9, "{sides:?}");
        }
    }

    #[test]
    fn digits_are_told_apart_and_unseen_classes_never_found() {
        let (own, other) = (drawn_digits(200, 1), drawn_digits(100, 2));
        let labels: Vec<usize> = own.classes.iter().map(|&class| usize::from(class)).collect();
        let fitted = Linear::fit(&gradients(&own.images), &labels, 12, 0.3);
        let found = fitted.predict(&gradients(&other.images));
        let right = found.iter().zip(&other.classes).filter(|(a, b)| **a == usize::from(**b));
        let right = right.count();
        assert!(right > 90, "{right} of 100");
        assert!(found.iter().all(|&class| class < 10));
    }
}
