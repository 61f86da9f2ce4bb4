//! One small convolutional network for teachers and student:
//! conv 5x5 - pool - relu, conv 3x3 - pool - relu, linear.

use rand::Rng;
use rand_chacha::ChaCha20Rng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::data::Images;
use crate::layers::{self, Convolution, LANES, Lanes, Pooled};
use crate::neighbours::Points;

/// The shape of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Shape {
    /// Width and height of the images it sees.
    pub(crate) side: usize,
    /// Channels of the first convolution; the second has twice as many.
    pub(crate) channels: usize,
    /// How many classes it tells apart.
    pub(crate) classes: usize,
}

impl Shape {
    /// The smallest image that leaves a pixel after both convolutions.
    pub(crate) const MIN_SIDE: usize = 14;
    /// The largest image accepted.
    pub(crate) const MAX_SIDE: usize = 256;

    /// Whether a network of this shape can be made.
    pub(crate) fn is_valid(self) -> bool {
        (Self::MIN_SIDE..=Self::MAX_SIDE).contains(&self.side)
            && (1..=256).contains(&self.channels)
            && (2..=shield_core::Classes::MAX).contains(&self.classes)
    }

    fn first(self) -> Convolution<5> {
        Convolution { inputs: 1, outputs: self.channels, side: self.side }
    }

    fn second(self) -> Convolution<3> {
        let c = self.channels;
        Convolution { inputs: c, outputs: 2 * c, side: self.first().pooled_side() }
    }

    /// How many numbers reach the linear layer.
    fn features(self) -> usize {
        2 * self.channels * self.second().pooled_side().pow(2)
    }

    /// How many weights each parameter has, in the order in which they are stored.
    pub(crate) fn parameters(self) -> [usize; 6] {
        let (c, k) = (self.channels, self.classes);
        [25 * c, c, 18 * c * c, 2 * c, self.features() * k, k]
    }
}

/// Mean and spread of the pixels of handwritten digits: networks learn faster from numbers around
/// 0.
const MEAN: f32 = 0.13;
const SPREAD: f32 = 0.31;

/// The weights of a network, each parameter as long as [`Shape::parameters`] says: weights and
/// bias of each convolution and of the linear layer. A gradient has the same form.
pub(crate) type Weights = [Vec<f32>; 6];

/// A network: its shape and its weights.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    shape: Shape,
    pub(crate) weights: Weights,
}

impl Model {
    /// A fresh network. Its weights come from the caller's generator, not from a global one, so
    /// that they are the same whatever runs beside.
    pub(crate) fn new(shape: Shape, rng: &mut ChaCha20Rng) -> Self {
        let c = shape.channels;
        let fan_in = [25, 25, 9 * c, 9 * c, shape.features(), shape.features()];
        let parameters = shape.parameters();
        let weights = std::array::from_fn(|index| {
            let bound = 1.0 / (fan_in[index] as f32).sqrt();
            (0..parameters[index]).map(|_| rng.random_range(-bound..bound)).collect()
        });
        Self { shape, weights }
    }

    /// A network from its parts; `None` unless they fit together.
    pub(crate) fn from_parts(shape: Shape, weights: Weights) -> Option<Self> {
        let lengths = weights.each_ref().map(Vec::len);
        (shape.is_valid() && lengths == shape.parameters()).then_some(Self { shape, weights })
    }

    /// Its shape.
    pub(crate) fn shape(&self) -> Shape {
        self.shape
    }

    /// Its weights.
    pub(crate) fn weights(&self) -> &Weights {
        &self.weights
    }

    /// The class it finds most likely for each image.
    ///
    /// # Panics
    /// If the images are not of the size that the network sees.
    pub(crate) fn predict(&self, images: &Images) -> Vec<u8> {
        let scores = self.ask(images, |pooled| self.scores(&pooled));
        scores.chunks_exact(self.shape.classes).map(largest).collect()
    }

    /// What it makes of each image before it decides, to unit length: images that it finds alike
    /// are near each other.
    ///
    /// # Panics
    /// If the images are not of the size that the network sees.
    pub(crate) fn features(&self, images: &Images) -> Points {
        let mut features = self.ask(images, |pooled| pooled.values);
        let width = self.shape.features();
        for point in features.chunks_exact_mut(width) {
            let length = point.iter().map(|value| value * value).sum::<f32>().sqrt().max(1e-9);
            for value in point {
                *value /= length;
            }
        }
        Points::new(width, features)
    }

    /// Some layer's numbers for every image, one image after another.
    fn ask(&self, images: &Images, layer: impl Fn(Pooled) -> Vec<Lanes> + Sync) -> Vec<f32> {
        assert_eq!(images.side(), self.shape.side, "images of the network's size");
        let size = self.shape.side.pow(2);
        let ask = |pixels: &[f32]| {
            let (_, pooled) = self.convolve(&self.centred(pixels));
            layers::scatter(&layer(pooled), pixels.len() / size)
        };
        images.pixels().par_chunks(LANES * size).map(ask).collect::<Vec<_>>().concat()
    }

    fn centred(&self, pixels: &[f32]) -> Vec<Lanes> {
        let mut input = layers::gather(pixels, self.shape.side.pow(2));
        for value in input.as_flattened_mut() {
            *value = (*value - MEAN) / SPREAD;
        }
        input
    }

    /// What comes out of both convolutions; what comes out of the second is the features.
    fn convolve(&self, input: &[Lanes]) -> (Pooled, Pooled) {
        let [first, first_bias, second, second_bias, ..] = &self.weights;
        let early = self.shape.first().forward(first, first_bias, input);
        let late = self.shape.second().forward(second, second_bias, &early.values);
        (early, late)
    }

    fn scores(&self, pooled: &Pooled) -> Vec<Lanes> {
        layers::linear(&self.weights[4], &self.weights[5], &pooled.values)
    }

    /// The gradient of the mean cross-entropy of some images with the probabilities wanted of
    /// them.
    ///
    /// The number of threads changes nothing: every 16 images are one piece of work, and the
    /// pieces are added in their order.
    pub(crate) fn gradient(&self, pixels: &[f32], wanted: &[f32]) -> Weights {
        let Shape { side, classes, .. } = self.shape;
        let share = classes as f32 / wanted.len() as f32;
        let pieces: Vec<Weights> = pixels
            .par_chunks(LANES * side * side)
            .zip(wanted.par_chunks(LANES * classes))
            .map(|(pixels, wanted)| {
                self.piece(&self.centred(pixels), &layers::gather(wanted, classes), share)
            })
            .collect();
        let mut sum = self.shape.parameters().map(|count| vec![0.0; count]);
        for piece in &pieces {
            for (sum, part) in sum.iter_mut().flatten().zip(piece.iter().flatten()) {
                *sum += part;
            }
        }
        sum
    }

    /// What 16 images add to a gradient, each with this share in it.
    fn piece(&self, input: &[Lanes], wanted: &[Lanes], share: f32) -> Weights {
        let (first, second) = (self.shape.first(), self.shape.second());
        let (early, late) = self.convolve(input);
        let mut gradient = layers::linear(&self.weights[4], &self.weights[5], &late.values);
        for lane in 0..LANES {
            into_gradient(&mut gradient, wanted, lane, share);
        }
        let (linear, linear_bias, gradient) =
            layers::linear_gradients(&self.weights[4], &late.values, &gradient);
        let gradient = second.unpool(&late, &gradient);
        let (late, late_bias) = second.weights_gradient(&early.values, &gradient);
        let gradient = first.unpool(&early, &second.input_gradient(&self.weights[2], &gradient));
        let (early, early_bias) = first.weights_gradient(input, &gradient);
        [early, early_bias, late, late_bias, linear, linear_bias]
    }
}

/// Turns one image's scores into the gradient of its cross-entropy: softmax less what is wanted.
fn into_gradient(scores: &mut [Lanes], wanted: &[Lanes], lane: usize, share: f32) {
    let most = scores.iter().fold(f32::NEG_INFINITY, |most, score| most.max(score[lane]));
    let sum: f32 = scores.iter().map(|score| (score[lane] - most).exp()).sum();
    let mass: f32 = wanted.iter().map(|wanted| wanted[lane]).sum();
    for (score, wanted) in scores.iter_mut().zip(wanted) {
        let likely = (score[lane] - most).exp() / sum;
        score[lane] = share * (mass * likely - wanted[lane]);
    }
}

/// The place of the largest score; the first where several are.
fn largest(scores: &[f32]) -> u8 {
    let mut best = 0;
    for (class, score) in scores.iter().enumerate() {
        if *score > scores[best] {
            best = class;
        }
    }
    u8::try_from(best).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;
    use crate::data::drawn_digits;
    use crate::transform;

    /// The mean cross-entropy, by the book.
    fn loss(model: &Model, images: &Images, wanted: &[f32]) -> f64 {
        let classes = model.shape.classes;
        let scores = model.ask(images, |pooled| model.scores(&pooled));
        let rows = scores.chunks_exact(classes).zip(wanted.chunks_exact(classes));
        let of_row = |(scores, wanted): (&[f32], &[f32])| -> f64 {
            let sum: f64 = scores.iter().map(|&score| f64::from(score).exp()).sum();
            let pairs = scores.iter().zip(wanted);
            pairs.map(|(&score, &wanted)| f64::from(wanted) * (sum.ln() - f64::from(score))).sum()
        };
        rows.map(of_row).sum::<f64>() / images.len() as f64
    }

    #[test]
    fn gradients_are_what_small_steps_show() {
        // Two pieces, the second not full; an odd row is left out by each pool.
        let digits = drawn_digits(20, 1);
        let images = transform::crop(&digits.images, 5, 6, 15);
        let wanted: Vec<f32> = (0..20).flat_map(|i| [0.25, 0.1 * (i % 7) as f32, 0.4]).collect();
        let shape = Shape { side: 15, channels: 2, classes: 3 };
        let model = Model::new(shape, &mut ChaCha20Rng::seed_from_u64(1));
        let gradient = model.gradient(images.pixels(), &wanted);
        for (parameter, gradient) in gradient.iter().enumerate() {
            for (index, &found) in gradient.iter().enumerate() {
                let moved = |step: f32| {
                    let mut moved = model.clone();
                    moved.weights[parameter][index] += step;
                    loss(&moved, &images, &wanted)
                };
                let expected = (moved(1e-3) - moved(-1e-3)) / 2e-3;
                let off = (expected - f64::from(found)).abs();
                assert!(off < 1e-3, "parameter {parameter}, {index}: {found}, not {expected}");
            }
        }
    }
}
