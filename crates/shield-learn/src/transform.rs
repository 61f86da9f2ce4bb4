//! What is done to images before a network sees them.

use rand::Rng;
use rayon::prelude::*;

use crate::data::Images;

/// Applies a function to every image, on all cores.
fn each(images: &Images, side: usize, change: impl Fn(&[f32]) -> Vec<f32> + Sync) -> Images {
    let changed: Vec<Vec<f32>> =
        (0..images.len()).into_par_iter().map(|index| change(images.image(index))).collect();
    Images::new(side, changed.concat())
}

/// Uprights and centres each image, by its moments: sheared so that the pixels' x no longer depends
/// on their y, and moved so that their mean lies in the middle.
pub(crate) fn deskew(images: &Images) -> Images {
    let side = images.side();
    each(images, side, |image| {
        let (mut mass, mut mean_x, mut mean_y) = (1e-6, 0.0, 0.0);
        for (x, y, value) in points(image, side) {
            mass += value;
            mean_x += value * x;
            mean_y += value * y;
        }
        let (mean_x, mean_y) = (mean_x / mass, mean_y / mass);
        let (mut spread, mut slant) = (1e-6, 0.0);
        for (x, y, value) in points(image, side) {
            spread += value * (y - mean_y).powi(2);
            slant += value * (x - mean_x) * (y - mean_y);
        }
        let shear = slant / spread;
        let middle = (side - 1) as f32 / 2.0;
        resample(image, side, |x, y| {
            (x - middle + mean_x + shear * (y - middle), y - middle + mean_y)
        })
    })
}

/// Softens each image with a Gaussian of the given width in pixels.
pub(crate) fn blur(images: &Images, width: f32) -> Images {
    let side = images.side();
    let reach = (3.0 * width).ceil().max(1.0);
    let taps: Vec<f32> = {
        let raw = |offset: f32| (-0.5 * (offset / width).powi(2)).exp();
        let mut offsets = Vec::new();
        let mut offset = -reach;
        while offset <= reach {
            offsets.push(raw(offset));
            offset += 1.0;
        }
        let sum: f32 = offsets.iter().sum();
        offsets.iter().map(|tap| tap / sum).collect()
    };
    let half = taps.len() / 2;
    let along = |image: &[f32], step: usize, place: fn(usize, usize) -> usize| {
        (0..side * side)
            .map(|pixel| {
                let at = place(pixel, side);
                let inside = |tap: usize| (at + tap).checked_sub(half).filter(|&to| to < side);
                taps.iter()
                    .enumerate()
                    .filter_map(|(tap, weight)| {
                        inside(tap).map(|to| weight * image[pixel + to * step - at * step])
                    })
                    .sum()
            })
            .collect::<Vec<f32>>()
    };
    each(images, side, |image| {
        let rows = along(image, 1, |pixel, side| pixel % side);
        along(&rows, side, |pixel, side| pixel / side)
    })
}

/// A square part of each image.
pub(crate) fn crop(images: &Images, left: usize, top: usize, size: usize) -> Images {
    let side = images.side();
    each(images, size, |image| {
        (top..top + size)
            .flat_map(|row| image[row * side + left..row * side + left + size].iter().copied())
            .collect()
    })
}

/// A random small rotation, scaling, shear and shift of one image: one more example of its class.
pub(crate) fn jitter(image: &[f32], side: usize, rng: &mut impl Rng) -> Vec<f32> {
    let turn = rng.random_range(-0.18..0.18f32);
    let (sin, cos) = turn.sin_cos();
    let shear = rng.random_range(-0.12..0.12f32);
    let (wide, high) = (rng.random_range(0.9..1.1f32), rng.random_range(0.9..1.1f32));
    let (right, down) = (rng.random_range(-2.0..2.0f32), rng.random_range(-2.0..2.0f32));
    let middle = (side - 1) as f32 / 2.0;
    resample(image, side, |x, y| {
        let (x, y) = ((x - middle - right) / wide, (y - middle - down) / high);
        (cos * x + (shear - sin) * y + middle, sin * x + cos * y + middle)
    })
}

fn points(image: &[f32], side: usize) -> impl Iterator<Item = (f32, f32, f32)> + '_ {
    image
        .iter()
        .enumerate()
        .map(move |(pixel, &value)| ((pixel % side) as f32, (pixel / side) as f32, value))
}

/// The image whose pixel (x, y) is what the old one has at `from(x, y)`, bilinearly; black outside.
fn resample(image: &[f32], side: usize, from: impl Fn(f32, f32) -> (f32, f32)) -> Vec<f32> {
    let limit = side as f32;
    let at = |x: f32, y: f32| {
        if x < 0.0 || y < 0.0 || x >= limit || y >= limit {
            return 0.0;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked above"
        )]
        let pixel = y as usize * side + x as usize;
        image[pixel]
    };
    let mut pixels = Vec::with_capacity(image.len());
    for row in 0..side {
        for column in 0..side {
            let (x, y) = from(column as f32, row as f32);
            let (left, top) = (x.floor(), y.floor());
            let (right_part, lower_part) = (x - left, y - top);
            pixels.push(
                (1.0 - lower_part)
                    * ((1.0 - right_part) * at(left, top) + right_part * at(left + 1.0, top))
                    + lower_part
                        * ((1.0 - right_part) * at(left, top + 1.0)
                            + right_part * at(left + 1.0, top + 1.0)),
            );
        }
    }
    pixels
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one_image(side: usize, ink: &[(usize, usize)]) -> Images {
        let mut pixels = vec![0.0; side * side];
        for &(x, y) in ink {
            pixels[y * side + x] = 1.0;
        }
        Images::new(side, pixels)
    }

    #[test]
    fn a_slanted_stroke_stands_upright_in_the_middle() {
        let slanted: Vec<(usize, usize)> = (0..10).map(|i| (3 + i / 2, 2 + i)).collect();
        let upright = deskew(&one_image(28, &slanted));
        let (mut mass, mut off_axis) = (0.0, 0.0);
        for (x, _, value) in points(upright.image(0), 28) {
            mass += value;
            off_axis += value * (x - 13.5).abs();
        }
        assert!(mass > 8.0 && off_axis / mass < 0.7, "{mass} {}", off_axis / mass);
    }

    #[test]
    fn blurring_keeps_the_ink() {
        let blurred = blur(&one_image(28, &[(14, 14)]), 1.0);
        let sum: f32 = blurred.pixels().iter().sum();
        assert!((sum - 1.0).abs() < 1e-5 && blurred.image(0)[14 * 28 + 14] < 0.2);
    }

    #[test]
    fn a_crop_is_a_part() {
        let cropped = crop(&one_image(5, &[(3, 2)]), 2, 1, 3);
        assert_eq!(cropped.image(0), [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
    }
}
