//! Digits drawn by ourselves, like MNIST's in size and spirit: for tests that take seconds and need
//! no download. Each is a few strokes, bent and moved at random.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use rayon::prelude::*;

use super::{Images, Labelled};

const SIDE: usize = 28;

/// The strokes of the ten digits: corners of polylines in a square from -1 to 1, y downwards.
const STROKES: [&[&[(f32, f32)]]; 10] = [
    &[&[(-0.5, 0.0), (-0.3, -0.8), (0.3, -0.8), (0.5, 0.0), (0.3, 0.8), (-0.3, 0.8), (-0.5, 0.0)]],
    &[&[(-0.2, -0.6), (0.1, -0.8), (0.1, 0.8)]],
    &[&[(-0.5, -0.5), (0.0, -0.8), (0.5, -0.4), (-0.5, 0.8), (0.5, 0.8)]],
    &[&[(-0.5, -0.8), (0.5, -0.8), (0.0, -0.1), (0.5, 0.3), (0.2, 0.8), (-0.5, 0.7)]],
    &[&[(0.2, 0.8), (0.2, -0.8), (-0.5, 0.3), (0.6, 0.3)]],
    &[&[(0.5, -0.8), (-0.4, -0.8), (-0.4, -0.1), (0.3, -0.1), (0.5, 0.4), (0.1, 0.8), (-0.5, 0.7)]],
    &[&[(0.4, -0.8), (-0.3, -0.2), (-0.4, 0.5), (0.0, 0.8), (0.4, 0.5), (0.1, 0.1), (-0.4, 0.4)]],
    &[&[(-0.5, -0.8), (0.5, -0.8), (-0.1, 0.8)]],
    &[&[
        (0.0, -0.05),
        (-0.4, -0.4),
        (0.0, -0.8),
        (0.4, -0.4),
        (0.0, -0.05),
        (-0.45, 0.4),
        (0.0, 0.8),
        (0.45, 0.4),
        (0.0, -0.05),
    ]],
    &[&[(0.4, -0.3), (0.0, -0.05), (-0.4, -0.4), (0.0, -0.8), (0.4, -0.4), (0.3, 0.8)]],
];

/// That many digits, of all ten classes in turn. The same seed draws the same digits.
pub fn drawn_digits(count: usize, seed: u64) -> Labelled {
    let drawn: Vec<(Vec<f32>, u8)> = (0..count)
        .into_par_iter()
        .map(|index| {
            let mut rng = ChaCha20Rng::seed_from_u64(seed);
            rng.set_stream(index as u64);
            let digit = index % 10;
            (draw(digit, &mut rng), u8::try_from(digit).expect("a digit"))
        })
        .collect();
    let (pixels, classes): (Vec<Vec<f32>>, Vec<u8>) = drawn.into_iter().unzip();
    Labelled { images: Images::new(SIDE, pixels.concat()), classes }
}

fn draw(digit: usize, rng: &mut ChaCha20Rng) -> Vec<f32> {
    let (slant, turn) = (rng.random_range(-0.35..0.35f32), rng.random_range(-0.15..0.15f32));
    let (width, height) = (rng.random_range(0.75..1.15f32), rng.random_range(0.8..1.1f32));
    let pen = rng.random_range(0.10..0.17f32);
    let mut place = |(x, y): (f32, f32)| {
        let (x, y) = (x + rng.random_range(-0.07..0.07), y + rng.random_range(-0.07..0.07));
        let (x, y) = ((x - slant * y) * width, y * height);
        (x - turn * y, y + turn * x)
    };
    let lines: Vec<Vec<(f32, f32)>> = STROKES[digit]
        .iter()
        .map(|stroke| stroke.iter().map(|&corner| place(corner)).collect())
        .collect();
    let mut pixels = Vec::with_capacity(SIDE * SIDE);
    for row in 0..SIDE {
        for column in 0..SIDE {
            let point = (to_plane(column), to_plane(row));
            let distance = lines
                .iter()
                .flat_map(|line| line.windows(2))
                .map(|ends| distance(point, ends[0], ends[1]))
                .fold(f32::INFINITY, f32::min);
            pixels.push(((pen - distance) / 0.08 + 0.5).clamp(0.0, 1.0));
        }
    }
    pixels
}

/// The middle of a pixel in the plane of the strokes, with a margin of four pixels.
fn to_plane(pixel: usize) -> f32 {
    (pixel as f32 - 13.5) / 10.0
}

/// How far a point is from a line between two ends.
fn distance(point: (f32, f32), from: (f32, f32), to: (f32, f32)) -> f32 {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let along = ((point.0 - from.0) * dx + (point.1 - from.1) * dy) / (dx * dx + dy * dy).max(1e-9);
    let along = along.clamp(0.0, 1.0);
    (point.0 - from.0 - along * dx).hypot(point.1 - from.1 - along * dy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_draws_the_same_digits() {
        let digits = drawn_digits(30, 1);
        assert_eq!(digits, drawn_digits(30, 1));
        assert_ne!(digits, drawn_digits(30, 2));
        assert_eq!(digits.classes[..11], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0]);
        assert!((0..30).all(|i| digits.images.image(i).iter().sum::<f32>() > 20.0));
    }
}
