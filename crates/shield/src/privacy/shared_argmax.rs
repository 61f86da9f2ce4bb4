//! The argmax of counts with noise in shares, of whichever law: the one place that pairs a noise
//! with its accounting.

use super::Usage;
use super::conversion::Conversion;
use super::distributed_argmax::DistributedArgmax;
use super::skellam::{Sensitivity, SkellamArgmax};
use crate::distribution::OutputDistribution;
use crate::histogram::Histogram;
use crate::parameters::Epsilon;
use crate::shared_noise::NoiseFamily;
use crate::shared_noise::SharedNoise;

/// The argmax of counts with noise in shares, where everybody has one vote per sample.
#[derive(Clone, Debug)]
pub enum SharedArgmax {
    /// With discrete Laplace noise.
    Laplace(DistributedArgmax),
    /// With Skellam noise.
    Skellam(SkellamArgmax),
}

impl SharedArgmax {
    /// The accounting of some noise on each of so many classes.
    pub fn new(noise: &SharedNoise, classes: usize) -> Self {
        match noise.family() {
            NoiseFamily::Laplace => Self::Laplace(DistributedArgmax::new(noise, classes)),
            NoiseFamily::Skellam => Self::Skellam(
                SkellamArgmax::new(noise, classes, Sensitivity::Vote)
                    .expect("the law of the noise is Skellam's"),
            ),
        }
    }

    /// The data-independent log-moment of one query.
    pub fn log_moment(&self, order: f64) -> f64 {
        match self {
            Self::Laplace(argmax) => argmax.log_moment(order),
            Self::Skellam(argmax) => argmax.log_moment(order),
        }
    }

    /// What one query takes of delta beside the composition.
    pub fn lost_delta(&self) -> f64 {
        match self {
            Self::Laplace(argmax) => argmax.lost_delta(),
            Self::Skellam(argmax) => argmax.lost_delta(),
        }
    }

    /// The data-independent cost by moments.
    pub fn data_independent(&self, usage: Usage, conversion: Conversion) -> Epsilon {
        match self {
            Self::Laplace(argmax) => argmax.data_independent(usage, conversion),
            Self::Skellam(argmax) => argmax.by_moments(usage, conversion),
        }
    }

    /// The data-independent cost, composed tightly.
    pub fn tight(&self, usage: Usage) -> Epsilon {
        match self {
            Self::Laplace(argmax) => argmax.exact(usage),
            Self::Skellam(argmax) => argmax.tight(usage),
        }
    }

    /// The cost of the votes at hand. No analysis that depends on the votes is known for Skellam
    /// noise: what holds for all votes holds for these.
    pub fn data_dependent(
        &self,
        histograms: &[Histogram],
        usage: Usage,
        conversion: Conversion,
    ) -> Epsilon {
        match self {
            Self::Laplace(argmax) => argmax.data_dependent(histograms, usage, conversion),
            Self::Skellam(argmax) => argmax.by_moments(usage, conversion),
        }
    }

    /// The output law with everyone's shares.
    pub fn law(&self, histogram: &Histogram) -> OutputDistribution {
        match self {
            Self::Laplace(argmax) => argmax.law(histogram),
            Self::Skellam(argmax) => argmax.law(histogram),
        }
    }
}
