//! One small convolutional network for teachers and student:
//! conv 5x5 - pool - relu, conv 3x3 - pool - relu, linear.

use burn::module::{Module, Param};
use burn::nn::conv::{Conv2d, Conv2dConfig};
use burn::nn::pool::{MaxPool2d, MaxPool2dConfig};
use burn::nn::{Initializer, Linear, LinearConfig};
use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor, TensorData};
use rand::Rng;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

/// The shape of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// Width and height of the images it sees.
    pub side: usize,
    /// Channels of the first convolution; the second has twice as many.
    pub channels: usize,
    /// How many classes it tells apart.
    pub classes: usize,
}

impl Shape {
    /// The smallest image that leaves a pixel after both convolutions.
    pub const MIN_SIDE: usize = 14;
    /// The largest image accepted.
    pub const MAX_SIDE: usize = 256;

    /// Whether a network of this shape can be made.
    pub fn is_valid(self) -> bool {
        (Self::MIN_SIDE..=Self::MAX_SIDE).contains(&self.side)
            && (1..=256).contains(&self.channels)
            && (2..=shield::Classes::MAX).contains(&self.classes)
    }

    /// How many numbers reach the linear layer.
    fn features(self) -> usize {
        let after = ((self.side - 4) / 2 - 2) / 2;
        2 * self.channels * after * after
    }

    /// How many weights each parameter has, in the order in which they are stored.
    pub fn parameters(self) -> [usize; 6] {
        let (c, k) = (self.channels, self.classes);
        [25 * c, c, 18 * c * c, 2 * c, self.features() * k, k]
    }
}

/// Mean and spread of the pixels of handwritten digits: networks learn faster from numbers around
/// 0.
const MEAN: f32 = 0.13;
const SPREAD: f32 = 0.31;

/// The network.
#[derive(Module, Debug)]
pub struct Network {
    first: Conv2d,
    second: Conv2d,
    pool: MaxPool2d,
    linear: Linear,
}

impl Network {
    /// A fresh network. Its weights come from the caller's generator, not from a global one, so
    /// that they are the same whatever runs beside.
    pub fn new(shape: Shape, rng: &mut ChaCha20Rng, device: &Device) -> Self {
        let c = shape.channels;
        let fan_in = [25, 25, 9 * c, 9 * c, shape.features(), shape.features()];
        let weights: Vec<Vec<f32>> = shape
            .parameters()
            .iter()
            .zip(fan_in)
            .map(|(&count, fan_in)| {
                let bound = 1.0 / (fan_in as f32).sqrt();
                (0..count).map(|_| rng.random_range(-bound..bound)).collect()
            })
            .collect();
        Self::from_weights(shape, &weights, device)
    }

    /// A network with these weights: six parameters, each as long as [`Shape::parameters`] says.
    pub fn from_weights(shape: Shape, weights: &[Vec<f32>], device: &Device) -> Self {
        let c = shape.channels;
        let conv = |channels, kernel| {
            Conv2dConfig::new(channels, kernel).with_initializer(Initializer::Zeros).init(device)
        };
        let mut first = conv([1, c], [5, 5]);
        let mut second = conv([c, 2 * c], [3, 3]);
        let mut linear = LinearConfig::new(shape.features(), shape.classes)
            .with_initializer(Initializer::Zeros)
            .init(device);
        first.weight = parameter(&weights[0], [c, 1, 5, 5], device);
        first.bias = Some(parameter(&weights[1], [c], device));
        second.weight = parameter(&weights[2], [2 * c, c, 3, 3], device);
        second.bias = Some(parameter(&weights[3], [2 * c], device));
        linear.weight = parameter(&weights[4], [shape.features(), shape.classes], device);
        linear.bias = Some(parameter(&weights[5], [shape.classes], device));
        Self { first, second, pool: MaxPool2dConfig::new([2, 2]).init(), linear }
    }

    /// The weights, in the order of [`Self::from_weights`].
    pub fn weights(&self) -> Vec<Vec<f32>> {
        vec![
            numbers(&self.first.weight),
            self.first.bias.as_ref().map(numbers).unwrap_or_default(),
            numbers(&self.second.weight),
            self.second.bias.as_ref().map(numbers).unwrap_or_default(),
            numbers(&self.linear.weight),
            self.linear.bias.as_ref().map(numbers).unwrap_or_default(),
        ]
    }

    /// What the network says of some images, before the softmax.
    pub fn forward(&self, images: Tensor<4>) -> Tensor<2> {
        self.linear.forward(self.features(images))
    }

    /// What reaches the linear layer.
    pub fn features(&self, images: Tensor<4>) -> Tensor<2> {
        let centred = (images - MEAN) / SPREAD;
        let features = relu(self.pool.forward(self.first.forward(centred)));
        let features = relu(self.pool.forward(self.second.forward(features)));
        features.flatten(1, 3)
    }
}

fn parameter<const D: usize>(
    weights: &[f32],
    shape: [usize; D],
    device: &Device,
) -> Param<Tensor<D>> {
    let data = TensorData::new(weights.to_vec(), shape);
    Param::from_tensor(Tensor::from_data(data, device))
}

fn numbers<const D: usize>(parameter: &Param<Tensor<D>>) -> Vec<f32> {
    parameter.val().into_data().try_to_vec().expect("weights are 32-bit floats")
}
