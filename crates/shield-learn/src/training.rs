//! How a network is trained.

use std::f64::consts::PI;

use rand::seq::SliceRandom;
use rand_chacha::ChaCha20Rng;

use crate::data::Images;
use crate::network::{Model, Shape, Weights};
use crate::transform::jitter;

/// The settings of one training.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Training {
    /// Channels of the first convolution.
    pub(crate) channels: usize,
    /// How often each image is seen.
    pub(crate) epochs: usize,
    /// How many images a step sees.
    pub(crate) batch: usize,
    /// The learning rate at the start; it falls to 0 along a half cosine.
    pub(crate) rate: f64,
    /// Whether each image is bent and moved a little each time.
    pub(crate) augmentation: Augmentation,
    /// Whether the weights of the last steps are averaged.
    pub(crate) averaging: Averaging,
}

/// Whether images are varied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Augmentation {
    /// Images as they are.
    None,
    /// A small random affine map each time.
    Affine,
}

/// Whether the network that comes out is the last one or an average.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Averaging {
    /// The last.
    None,
    /// Exponential moving average with this decay a step.
    Exponential(f32),
}

/// One row per sample: how likely each class is taken to be.
#[derive(Clone, Debug)]
pub(crate) struct Targets {
    classes: usize,
    rows: Vec<f32>,
}

impl Targets {
    /// From rows of probabilities, one after another.
    ///
    /// # Panics
    /// If they are not whole rows.
    pub(crate) fn new(classes: usize, rows: Vec<f32>) -> Self {
        assert!(rows.len().is_multiple_of(classes), "whole rows");
        Self { classes, rows }
    }

    /// Certain ones.
    pub(crate) fn certain(classes: usize, labels: impl IntoIterator<Item = usize>) -> Self {
        let rows = labels.into_iter().flat_map(|label| {
            (0..classes).map(move |class| if class == label { 1.0 } else { 0.0 })
        });
        Self { classes, rows: rows.collect() }
    }

    /// The probabilities of one sample.
    pub(crate) fn row(&self, sample: usize) -> &[f32] {
        &self.rows[sample * self.classes..(sample + 1) * self.classes]
    }
}

impl Training {
    /// Trains a fresh network by Adam on the cross-entropy with the targets.
    ///
    /// All randomness comes from the generator: the same one gives the same model, whatever the
    /// number of threads.
    pub(crate) fn run(&self, images: &Images, targets: &Targets, rng: &mut ChaCha20Rng) -> Model {
        let shape =
            Shape { side: images.side(), channels: self.channels, classes: targets.classes };
        let mut model = Model::new(shape, rng);
        let mut adam = Adam::new(shape);
        let mut order: Vec<usize> = (0..images.len()).collect();
        let steps = self.epochs * images.len().div_ceil(self.batch);
        let mut average: Option<Weights> = None;
        let mut step = 0usize;
        for _ in 0..self.epochs {
            order.shuffle(rng);
            for chosen in order.chunks(self.batch) {
                let rate = self.rate * 0.5 * (1.0 + (PI * step as f64 / steps as f64).cos());
                let (pixels, wanted) = self.batch(images, targets, chosen, rng);
                let gradient = model.gradient(&pixels, &wanted);
                adam.step(&mut model.weights, &gradient, rate);
                if let Averaging::Exponential(decay) = self.averaging {
                    // A young average must not remember the start: the decay grows into its value.
                    let young = (step as f32 + 1.0) / (step as f32 + 10.0);
                    blend(&mut average, &model.weights, decay.min(young));
                }
                step += 1;
            }
        }
        if let Some(average) = average {
            model.weights = average;
        }
        model
    }

    /// The pixels of some images, and what is wanted of them.
    fn batch(
        &self,
        images: &Images,
        targets: &Targets,
        chosen: &[usize],
        rng: &mut ChaCha20Rng,
    ) -> (Vec<f32>, Vec<f32>) {
        let (mut pixels, mut wanted) = (Vec::new(), Vec::new());
        for &index in chosen {
            match self.augmentation {
                Augmentation::None => pixels.extend_from_slice(images.image(index)),
                Augmentation::Affine => {
                    pixels.extend(jitter(images.image(index), images.side(), rng));
                }
            }
            wanted.extend_from_slice(targets.row(index));
        }
        (pixels, wanted)
    }
}

fn blend(average: &mut Option<Weights>, weights: &Weights, decay: f32) {
    let average = average.get_or_insert_with(|| weights.clone());
    for (mean, fresh) in average.iter_mut().flatten().zip(weights.iter().flatten()) {
        *mean = decay * *mean + (1.0 - decay) * fresh;
    }
}

/// Adam (Kingma and Ba, 2015): steps as long as the gradient's mean over its spread says.
struct Adam {
    steps: i32,
    means: Weights,
    squares: Weights,
}

impl Adam {
    const MEAN_DECAY: f32 = 0.9;
    const SQUARE_DECAY: f32 = 0.999;
    const EPSILON: f32 = 1e-5;

    fn new(shape: Shape) -> Self {
        let zeros = shape.parameters().map(|count| vec![0.0; count]);
        Self { steps: 0, means: zeros.clone(), squares: zeros }
    }

    fn step(&mut self, weights: &mut Weights, gradient: &Weights, rate: f64) {
        self.steps += 1;
        // Both averages start at 0 and are too small at first.
        let mean_part = 1.0 - Self::MEAN_DECAY.powi(self.steps);
        let square_part = 1.0 - Self::SQUARE_DECAY.powi(self.steps);
        #[expect(clippy::cast_possible_truncation, reason = "a rate needs no more digits")]
        let rate = rate as f32;
        let averages = self.means.iter_mut().flatten().zip(self.squares.iter_mut().flatten());
        let steps = weights.iter_mut().flatten().zip(gradient.iter().flatten()).zip(averages);
        for ((weight, gradient), (mean, square)) in steps {
            *mean = Self::MEAN_DECAY * *mean + (1.0 - Self::MEAN_DECAY) * gradient;
            *square =
                Self::SQUARE_DECAY * *square + (1.0 - Self::SQUARE_DECAY) * gradient * gradient;
            let spread = (*square / square_part).sqrt() + Self::EPSILON;
            *weight -= rate * *mean / mean_part / spread;
        }
    }
}
