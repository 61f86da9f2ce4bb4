//! Right labels against epsilon for the other mechanisms: how many labels are right depends on the
//! noise and the votes alone, and is kept; what the noise costs depends on the labels asked for.

use serde::Deserialize;
use shield::mechanism::{Rate, best};
use shield::privacy::Usage;
use shield::privacy::calibrate::noise_within;
use shield::privacy::conversion::Conversion;
use shield::privacy::noisy_argmax::{Noise, NoisyArgmax};
use shield::privacy::shared_argmax::SharedArgmax;
use shield::shared_noise::{NoiseFamily, SharedNoise};
use shield::{Classes, Epsilon, Histogram, Labels, Mechanism};

use super::Point;

/// A mechanism beside SHIELD.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
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
const NOISES: [f64; 12] = [3.0, 6.0, 10.0, 15.0, 20.0, 28.0, 40.0, 56.0, 80.0, 120.0, 200.0, 400.0];

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
                Some(Mechanism::NoisyArgmax(shared))
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
pub(super) fn curve(shares: &[Share], classes: Classes, usage: Usage) -> Vec<Point> {
    let point = |share: &Share| {
        let renyi = Conversion::Renyi;
        let (epsilon, setting) = match &share.mechanism {
            Mechanism::Gnmax(noise) => (
                NoisyArgmax::Gaussian(*noise).data_independent(usage, renyi),
                format!("noise {:.1}", noise.get()),
            ),
            Mechanism::Lnmax(noise) => (
                NoisyArgmax::Laplace(*noise).data_independent(usage, renyi),
                format!("noise {:.1}", noise.get()),
            ),
            Mechanism::NoisyArgmax(noise) => (
                SharedArgmax::new(noise, classes.count()).data_independent(usage, renyi),
                format!("noise {:.1}", noise.scale().get()),
            ),
            Mechanism::Exponential(rate) => {
                // The range of the loss is twice the rate: rho = rate^2 / 2 per label.
                let rho = rate.get() * rate.get() / 2.0;
                let count = usage.queries.count() as f64;
                let moment = |order: f64| count * rho * order * (order + 1.0);
                let best = renyi.minimise(usage.delta, moment);
                (best.rounded_up(), format!("rate {:.4}", rate.get()))
            }
            _ => return None,
        };
        epsilon.get().is_finite().then(|| Point {
            epsilon: epsilon.get(),
            right: share.right,
            setting,
        })
    };
    let mut points: Vec<Point> = shares.iter().filter_map(point).collect();
    points.sort_by(|a, b| a.epsilon.total_cmp(&b.epsilon));
    points
}

/// GNMax with the least noise that fits a budget.
pub(super) fn gnmax_within(budget: Epsilon, usage: Usage) -> Option<Mechanism> {
    noise_within(budget, usage, NoisyArgmax::Gaussian).map(Mechanism::Gnmax)
}
