//! What images are compared by: where strokes run in which direction, rather than which pixels are
//! dark.
//!
//! Histograms of oriented gradients (Dalal and Triggs, 2005), in a small form: the gradient of the
//! softened image, shared out to eight directions, summed up around a 7 x 7 grid of places with
//! Gaussian weights; then square roots, so that a few strong edges do not drown the rest, and unit
//! length. Two images of one digit that differ by a pixel's shift or a thicker pen are near each
//! other by this measure and far apart by their pixels.

use rayon::prelude::*;

use crate::data::Images;
use crate::neighbours::Points;
use crate::transform;

const DIRECTIONS: usize = 8;
/// Distance between places, and the width of the weights around each, in pixels.
const CELL: usize = 4;
const WIDTH: f32 = 2.0;
/// How wide images are softened first, in pixels.
const BLUR: f32 = 0.7;

/// The points that stand for some images.
pub(crate) fn gradients(images: &Images) -> Points {
    let side = images.side();
    let softened = transform::blur(images, BLUR);
    let places: Vec<Vec<f32>> =
        (CELL / 2..side).step_by(CELL).map(|centre| weights(centre, side)).collect();
    let width = DIRECTIONS * places.len() * places.len();
    let values: Vec<Vec<f32>> = (0..images.len())
        .into_par_iter()
        .map(|index| describe(softened.image(index), side, &places))
        .collect();
    Points::new(width, values.concat())
}

/// How much each row (or column) counts for one place.
fn weights(centre: usize, side: usize) -> Vec<f32> {
    let raw = |at: usize| (-0.5 * ((at as f32 - centre as f32) / WIDTH).powi(2)).exp();
    (0..side).map(raw).collect()
}

fn describe(image: &[f32], side: usize, places: &[Vec<f32>]) -> Vec<f32> {
    let mut directed = vec![0.0f32; DIRECTIONS * side * side];
    for row in 0..side {
        for column in 0..side {
            // Differences over two pixels; at the edge, over what there is.
            let (left, right) = (column.saturating_sub(1), (column + 1).min(side - 1));
            let (above, below) = (row.saturating_sub(1), (row + 1).min(side - 1));
            let across = (image[row * side + right] - image[row * side + left])
                / (right - left).max(1) as f32;
            let down = (image[below * side + column] - image[above * side + column])
                / (below - above).max(1) as f32;
            let strength = across.hypot(down);
            if strength <= 0.0 {
                continue;
            }
            let turn = down.atan2(across).rem_euclid(std::f32::consts::TAU);
            let direction = turn * DIRECTIONS as f32 / std::f32::consts::TAU;
            let first = direction.floor();
            let part = direction - first;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "from 0 to the number of directions"
            )]
            let first = first as usize % DIRECTIONS;
            let second = (first + 1) % DIRECTIONS;
            directed[first * side * side + row * side + column] += strength * (1.0 - part);
            directed[second * side * side + row * side + column] += strength * part;
        }
    }
    let mut values = Vec::with_capacity(DIRECTIONS * places.len() * places.len());
    for plane in directed.chunks_exact(side * side) {
        for down in places {
            let mut band = vec![0.0f32; side];
            for (row, weight) in plane.chunks_exact(side).zip(down) {
                for (sum, value) in band.iter_mut().zip(row) {
                    *sum += weight * value;
                }
            }
            values.extend(places.iter().map(|across| {
                band.iter().zip(across).map(|(value, weight)| value * weight).sum::<f32>().sqrt()
            }));
        }
    }
    let length = values.iter().map(|value| value * value).sum::<f32>().sqrt().max(1e-9);
    for value in &mut values {
        *value /= length;
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(column: usize, wide: bool) -> Vec<f32> {
        let mut pixels = vec![0.0; 28 * 28];
        for row in 6..22 {
            pixels[row * 28 + column] = 1.0;
            if wide {
                pixels[row * 28 + column + 1] = 1.0;
            }
        }
        pixels
    }

    #[test]
    fn a_shift_matters_less_than_a_turn() {
        let upright = bar(12, false);
        let lying: Vec<f32> = (0..784).map(|pixel| upright[pixel % 28 * 28 + pixel / 28]).collect();
        let all = [upright, bar(13, true), lying].concat();
        let points = gradients(&Images::new(28, all));
        let distance = |a: usize, b: usize| -> f32 {
            points.point(a).iter().zip(points.point(b)).map(|(x, y)| (x - y).powi(2)).sum()
        };
        assert!(3.0 * distance(0, 1) < distance(0, 2), "{} {}", distance(0, 1), distance(0, 2));
        let length: f32 = points.point(0).iter().map(|value| value * value).sum();
        assert!((length - 1.0).abs() < 1e-4, "{length}");
    }
}
