//! Least squares with a ridge: a classifier that is fitted in a moment, for teachers by the
//! hundred.
//!
//! One score per class, linear in the features, fitted to 1 for images of the class and 0 for all
//! others. The normal equations are solved by Cholesky's decomposition, so that the same images
//! always give the same classifier.

use burn::tensor::{Device, Tensor, TensorData};

use crate::neighbours::Points;

/// A fitted classifier.
#[derive(Clone, Debug)]
pub struct Linear {
    classes: usize,
    /// Feature by feature, class by class; the last row is the constant.
    weights: Vec<f32>,
    /// Classes that it has seen: it never finds another.
    seen: Vec<bool>,
}

impl Linear {
    /// Fits a classifier to points of known classes, with this much weight on small coefficients.
    ///
    /// # Panics
    /// If there is not one class below `classes` for each point, or the ridge is not positive.
    pub fn fit(points: &Points, labels: &[usize], classes: usize, ridge: f64) -> Self {
        assert!(points.len() == labels.len() && ridge > 0.0, "one class per point, and a ridge");
        let width = points.width() + 1;
        let rows = with_constant(points);
        let gram = products(&rows, &rows, width, width);
        let mut wanted = vec![0.0f64; width * classes];
        let mut seen = vec![false; classes];
        for (row, &class) in rows.chunks_exact(width).zip(labels) {
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
        let weights = wanted.iter().map(|&weight| weight as f32).collect();
        Self { classes, weights, seen }
    }

    /// The class with the highest score for each point, the first where several have it.
    pub fn predict(&self, points: &Points) -> Vec<usize> {
        let width = points.width() + 1;
        let device = Device::flex();
        let rows = TensorData::new(with_constant(points), [points.len(), width]);
        let weights = TensorData::new(self.weights.clone(), [width, self.classes]);
        let scores = Tensor::<2>::from_data(rows, &device)
            .matmul(Tensor::<2>::from_data(weights, &device))
            .into_data()
            .try_to_vec::<f32>()
            .expect("scores are 32-bit floats");
        let best = |scores: &[f32]| {
            let seen = (0..self.classes).filter(|&class| self.seen[class]);
            let better = |best: usize, class: usize| {
                if scores[class] > scores[best] { class } else { best }
            };
            seen.reduce(better).unwrap_or(0)
        };
        scores.chunks_exact(self.classes).map(best).collect()
    }
}

/// The points as rows, each with a 1 at its end.
fn with_constant(points: &Points) -> Vec<f32> {
    let row = |point: usize| points.point(point).iter().copied().chain([1.0]);
    (0..points.len()).flat_map(row).collect()
}

/// The products of all columns of two matrices with the same rows.
fn products(a: &[f32], b: &[f32], a_width: usize, b_width: usize) -> Vec<f32> {
    let device = Device::flex();
    let matrix = |values: &[f32], width: usize| {
        let data = TensorData::new(values.to_vec(), [values.len() / width, width]);
        Tensor::<2>::from_data(data, &device)
    };
    matrix(a, a_width)
        .transpose()
        .matmul(matrix(b, b_width))
        .into_data()
        .try_to_vec()
        .expect("products are 32-bit floats")
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
