//! How a network is trained, and asked.

use std::f64::consts::PI;

use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::activation::log_softmax;
use burn::tensor::{Device, Tensor, TensorData};
use rand::seq::SliceRandom;
use rand_chacha::ChaCha20Rng;

use crate::data::Images;
use crate::neighbours::Points;
use crate::network::{Network, Shape};
use crate::transform::jitter;

/// The settings of one training.
#[derive(Clone, Copy, Debug)]
pub struct Training {
    /// Channels of the first convolution.
    pub channels: usize,
    /// How often each image is seen.
    pub epochs: usize,
    /// How many images a step sees.
    pub batch: usize,
    /// The learning rate at the start; it falls to 0 along a half cosine.
    pub rate: f64,
    /// Whether each image is bent and moved a little each time.
    pub augmentation: Augmentation,
    /// Whether the weights of the last steps are averaged.
    pub averaging: Averaging,
}

/// Whether images are varied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Augmentation {
    /// Images as they are.
    None,
    /// A small random affine map each time.
    Affine,
}

/// Whether the network that comes out is the last one or an average.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Averaging {
    /// The last.
    None,
    /// Exponential moving average with this decay a step.
    Exponential(f32),
}

/// A trained network with its shape.
#[derive(Clone, Debug)]
pub struct Model {
    shape: Shape,
    weights: Vec<Vec<f32>>,
}

impl Model {
    /// A model from its parts; `None` unless they fit together.
    pub fn from_parts(shape: Shape, weights: Vec<Vec<f32>>) -> Option<Self> {
        let lengths: Vec<usize> = weights.iter().map(Vec::len).collect();
        (shape.is_valid() && lengths == shape.parameters()).then_some(Self { shape, weights })
    }

    /// Its shape.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Its weights.
    pub fn weights(&self) -> &[Vec<f32>] {
        &self.weights
    }

    /// The class it finds most likely for each image.
    pub fn predict(&self, images: &Images) -> Vec<u8> {
        let scores = self.ask(images, Network::forward);
        scores.chunks_exact(self.shape.classes).map(largest).collect()
    }

    /// What it makes of each image before it decides, to unit length: images that it finds alike
    /// are near each other.
    pub fn features(&self, images: &Images) -> Points {
        let mut features = self.ask(images, Network::features);
        let width = features.len() / images.len().max(1);
        for point in features.chunks_exact_mut(width.max(1)) {
            let length = point.iter().map(|value| value * value).sum::<f32>().sqrt().max(1e-9);
            for value in point {
                *value /= length;
            }
        }
        Points::new(width.max(1), features)
    }

    /// Some layer's numbers for every image, one image after another.
    fn ask(&self, images: &Images, layer: fn(&Network, Tensor<4>) -> Tensor<2>) -> Vec<f32> {
        const AT_ONCE: usize = 500;
        let device = Device::flex();
        let network = Network::from_weights(self.shape, &self.weights, &device);
        let size = images.side() * images.side();
        let mut numbers = Vec::new();
        for pixels in images.pixels().chunks(AT_ONCE * size) {
            let shape = [pixels.len() / size, 1, images.side(), images.side()];
            let input = Tensor::from_data(TensorData::new(pixels.to_vec(), shape), &device);
            let found: Vec<f32> =
                layer(&network, input).into_data().try_to_vec().expect("numbers are 32-bit floats");
            numbers.extend(found);
        }
        numbers
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

/// One row per sample: how likely each class is taken to be.
#[derive(Clone, Debug)]
pub struct Targets {
    classes: usize,
    rows: Vec<f32>,
}

impl Targets {
    /// From rows of probabilities, one after another.
    ///
    /// # Panics
    /// If they are not whole rows.
    pub fn new(classes: usize, rows: Vec<f32>) -> Self {
        assert!(rows.len().is_multiple_of(classes), "whole rows");
        Self { classes, rows }
    }

    /// Certain ones.
    pub fn certain(classes: usize, labels: impl IntoIterator<Item = usize>) -> Self {
        let rows = labels.into_iter().flat_map(|label| {
            (0..classes).map(move |class| if class == label { 1.0 } else { 0.0 })
        });
        Self { classes, rows: rows.collect() }
    }

    /// The probabilities of one sample.
    pub fn row(&self, sample: usize) -> &[f32] {
        &self.rows[sample * self.classes..(sample + 1) * self.classes]
    }
}

impl Training {
    /// Trains a fresh network by Adam on the cross-entropy with the targets.
    ///
    /// All randomness comes from the generator: the same one gives the same model, whatever the
    /// number of threads.
    pub fn run(&self, images: &Images, targets: &Targets, rng: &mut ChaCha20Rng) -> Model {
        let device = Device::flex().autodiff();
        let shape =
            Shape { side: images.side(), channels: self.channels, classes: targets.classes };
        let mut network = Network::new(shape, rng, &device);
        let mut adam = AdamConfig::new().init();
        let mut order: Vec<usize> = (0..images.len()).collect();
        let steps = self.epochs * images.len().div_ceil(self.batch);
        let mut average: Option<Vec<Vec<f32>>> = None;
        let mut step = 0usize;
        for _ in 0..self.epochs {
            order.shuffle(rng);
            for chosen in order.chunks(self.batch) {
                let rate = self.rate * 0.5 * (1.0 + (PI * step as f64 / steps as f64).cos());
                let (input, wanted) = self.batch(images, targets, chosen, rng, &device);
                let loss = cross_entropy(network.forward(input), wanted);
                let gradients = GradientsParams::from_grads(loss.backward(), &network);
                network = adam.step(rate, network, gradients);
                if let Averaging::Exponential(decay) = self.averaging {
                    // A young average must not remember the start: the decay grows into its value.
                    let young = (step as f32 + 1.0) / (step as f32 + 10.0);
                    average = Some(blend(average, network.weights(), decay.min(young)));
                }
                step += 1;
            }
        }
        let weights = average.unwrap_or_else(|| network.weights());
        Model { shape, weights }
    }

    fn batch(
        &self,
        images: &Images,
        targets: &Targets,
        chosen: &[usize],
        rng: &mut ChaCha20Rng,
        device: &Device,
    ) -> (Tensor<4>, Tensor<2>) {
        let side = images.side();
        let mut pixels = Vec::with_capacity(chosen.len() * side * side);
        let mut rows = Vec::with_capacity(chosen.len() * targets.classes);
        for &index in chosen {
            match self.augmentation {
                Augmentation::None => pixels.extend_from_slice(images.image(index)),
                Augmentation::Affine => pixels.extend(jitter(images.image(index), side, rng)),
            }
            rows.extend_from_slice(targets.row(index));
        }
        let input = TensorData::new(pixels, [chosen.len(), 1, side, side]);
        let wanted = TensorData::new(rows, [chosen.len(), targets.classes]);
        (Tensor::from_data(input, device), Tensor::from_data(wanted, device))
    }
}

fn cross_entropy(scores: Tensor<2>, wanted: Tensor<2>) -> Tensor<1> {
    (log_softmax(scores, 1) * wanted).sum_dim(1).mean().neg()
}

fn blend(average: Option<Vec<Vec<f32>>>, weights: Vec<Vec<f32>>, decay: f32) -> Vec<Vec<f32>> {
    let Some(mut average) = average else {
        return weights;
    };
    for (mean, fresh) in average.iter_mut().flatten().zip(weights.iter().flatten()) {
        *mean = decay * *mean + (1.0 - decay) * fresh;
    }
    average
}
