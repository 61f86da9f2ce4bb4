//! Right labels against epsilon for the other mechanisms: how many labels are right depends on the
//! noise and the votes alone, and is kept; what the noise costs depends on the labels asked for.

use crate::Mechanism;
use crate::Usage;
use crate::mechanism::best::Composition;
use crate::mechanism::{Rate, best};
use crate::noisy_argmax::Noise;
use rayon::prelude::*;
use serde::Deserialize;
use shield_core::shared_noise::{NoiseFamily, SharedNoise};
use shield_core::{Classes, Epsilon, Histogram, Labels, Voters};

use super::Point;

/// A mechanism beside SHIELD.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", schema(as = OtherMechanism))]
pub enum Other {
    /// PATE's argmax with Gaussian noise.
    Gnmax,
    /// PATE's argmax with Laplace noise.
    Lnmax,
    /// SPEED's argmax with Skellam noise in shares.
    NoisyArgmax,
    /// The exponential mechanism.
    Exponential,
}

/// How many labels are right with some noise.
#[derive(Clone, Debug)]
pub(super) struct Share {
    mechanism: Mechanism,
    right: f64,
}

/// Noise along a curve, in votes.
const NOISES: [f64; 16] = [
    0.75, 1.5, 3.0, 6.0, 10.0, 15.0, 20.0, 28.0, 40.0, 56.0, 80.0, 120.0, 200.0, 400.0, 1500.0,
    6000.0,
];

/// Samples that a curve is measured on: laws with noise are integrals.
const FEW: usize = 60;

impl Other {
    /// Its name, as in `--mechanism`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Gnmax => "gnmax",
            Self::Lnmax => "lnmax",
            Self::NoisyArgmax => "noisy-argmax",
            Self::Exponential => "exponential",
        }
    }

    fn with(self, amount: f64, teachers: u32) -> Option<Mechanism> {
        let noise = Noise::new(amount).ok()?;
        match self {
            Self::Gnmax => Some(Mechanism::Gnmax(noise)),
            Self::Lnmax => Some(Mechanism::Lnmax(noise)),
            Self::NoisyArgmax => {
                let shared = SharedNoise::of(NoiseFamily::Skellam, noise, teachers, 0).ok()?;
                Some(Mechanism::NoisyArgmax(shared.into()))
            }
            Self::Exponential => Rate::new(1.0 / amount).ok().map(Mechanism::Exponential),
        }
    }

    /// How many labels are right along the curve.
    pub(super) fn shares(
        self,
        teachers: u32,
        histograms: &[Histogram],
        labels: Option<&Labels>,
    ) -> Vec<Share> {
        let step = histograms.len().div_ceil(FEW).max(1);
        let histograms: Vec<Histogram> = histograms.iter().step_by(step).cloned().collect();
        let labels = labels.and_then(|labels| {
            Labels::new(labels.as_slice().iter().step_by(step).copied().collect()).ok()
        });
        // Noise matters by how it compares with the votes.
        let scale = f64::from(teachers) / 250.0;
        let share = |amount: &f64| {
            let mechanism = self.with(amount * scale, teachers)?;
            let right = best::right(&mechanism, &histograms, labels.as_ref());
            Some(Share { mechanism, right })
        };
        NOISES.iter().filter_map(share).collect()
    }
}

/// The points of a curve, the cheapest first.
pub(super) fn curve(
    shares: &[Share],
    classes: Classes,
    voters: Voters,
    usage: Usage,
) -> Vec<Point> {
    let point = |share: &Share| {
        let epsilon = share.mechanism.by_moments(classes, voters, usage).get();
        let described = share.mechanism.description();
        let setting = match (described.noise, described.rate) {
            (Some(noise), _) => format!("noise {noise:.1}"),
            (None, rate) => format!("rate {:.4}", rate?),
        };
        epsilon.is_finite().then_some(Point { epsilon, right: share.right, setting })
    };
    let mut points: Vec<Point> = shares.par_iter().filter_map(point).collect();
    points.sort_by(|a, b| a.epsilon.total_cmp(&b.epsilon));
    points
}

/// GNMax with the least noise that fits a budget, by moments.
pub(super) fn gnmax_within(budget: Epsilon, usage: Usage) -> Option<Mechanism> {
    best::noise_within(Mechanism::Gnmax, Composition::Moments, budget, usage).map(|found| found.0)
}
