//! One type for every mechanism: what it is called, what it outputs, how good that is and what it
//! costs.
//!
//! A mechanism turns the votes on a sample into a label. SHIELD is one; the others are what it is
//! compared with. Whoever reports on mechanisms asks this type, so that no report can pair the law
//! of one with the cost of another.
//!
//! | mechanism | output | from |
//! |---|---|---|
//! | [`Mechanism::Shield`] | the class of the first unanimous round | the paper |
//! | [`Mechanism::Exact`] | the class with the most votes | no privacy |
//! | [`Mechanism::Lnmax`] | the largest count with Laplace noise | Papernot et al. (2017) |
//! | [`Mechanism::Gnmax`] | the largest count with Gaussian noise | Papernot et al. (2018) |
//! | [`Mechanism::NoisyArgmax`] | the largest count with noise in shares | SPEED |
//! | [`Mechanism::ConfidentGnmax`] | GNMax, where the leader seems clear | Papernot et al. (2018) |
//! | [`Mechanism::Exponential`] | class k with weight e^(eta n_k) | McSherry and Talwar (2007) |
//! | [`Mechanism::PermuteAndFlip`] | the first class whose coin says so | McKenna and Sheldon (2020) |
//! | [`Mechanism::ExponentialOperator`] | SHIELD with every vote sampled alone | the paper's section 4.4 |
//!
//! [`costs`] holds the accountings of all of them.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "steps and points of a grid: positive, and far inside the types they go to"
)]

pub mod analysis;
pub mod best;
pub mod costs;
mod exponential;
mod exponential_operator;
mod gaussian;
pub mod quote;

#[cfg(test)]
mod tests;

use serde::Serialize;

pub use analysis::{Analysis, Shape};
pub use costs::{Costs, Prices, Proof};
pub use exponential::Rate;
pub use exponential_operator::{ExponentialOperator, Round};
pub use gaussian::ConfidentGnmax;
pub use quote::{Quote, Thin};

use crate::argmax;
use crate::noisy_argmax::{Noise, NoisyArgmax};
use crate::server_view::ServerView;
use crate::shared_argmax::SharedArgmax;
use rand::RngCore;
use rayon::prelude::*;
use shield_core::accuracy::Accuracy;
use shield_core::distribution::OutputDistribution;
use shield_core::histogram::Histogram;
use shield_core::parameters::{Class, Classes, Offset, Queries, Sampling};
use shield_core::polynomial::Polynomial;
use shield_core::seed::Seed;
use shield_core::setting::Setting;
use shield_core::shared_noise::NoiseFamily;
use shield_core::shared_noise::SharedNoise;
use shield_core::votes::{Label, Labels, Votes};

/// A mechanism with its parameters.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Mechanism {
    /// SHIELD.
    Shield(Setting),
    /// The exact argmax: the leader, always; the lowest class where several lead.
    Exact,
    /// PATE's argmax of counts with Laplace noise of this scale.
    Lnmax(Noise),
    /// PATE's argmax of counts with Gaussian noise of this standard deviation.
    Gnmax(Noise),
    /// SPEED's argmax of counts with noise that the teachers add in shares, of either law.
    NoisyArgmax(ArgmaxOfShares),
    /// GNMax that answers only where the leader seems to have enough votes.
    ConfidentGnmax(ConfidentGnmax),
    /// The exponential mechanism.
    Exponential(Rate),
    /// Permute-and-flip.
    PermuteAndFlip(Rate),
    /// The paper's exponential operator.
    ExponentialOperator(ExponentialOperator),
}

/// SPEED's argmax: the noise in shares on every count, and where it gives no label.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ArgmaxOfShares {
    /// The noise.
    pub noise: SharedNoise,
    /// Noisy votes that the winner must have. It is the public count of a class that nobody votes
    /// for, so it costs no privacy; but it must not be chosen on the votes.
    pub threshold: Option<u32>,
}

impl From<SharedNoise> for ArgmaxOfShares {
    /// A label for every sample.
    fn from(noise: SharedNoise) -> Self {
        Self { noise, threshold: None }
    }
}

/// Whether an epsilon also holds against the server that aggregates the votes, should it see the
/// labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AgainstServer {
    /// The server does not know the randomness that protects the votes.
    Holds,
    /// The server knows the draws or the noise.
    DoesNotHold,
}

impl AgainstServer {
    /// As a yes or no.
    pub fn holds(self) -> bool {
        self == Self::Holds
    }
}

/// A mechanism as reports show it. What a mechanism does not have is null, or left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Description {
    /// Its name, as in `--mechanism`.
    pub name: &'static str,
    /// SHIELD's rounds.
    pub polynomial: Option<Polynomial>,
    /// Dummy votes for each class.
    pub offset: Option<Offset>,
    /// How SHIELD's rounds draw.
    pub sampling: Option<Sampling>,
    /// Scale or standard deviation of the noise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise: Option<f64>,
    /// The law of noise in shares.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise_law: Option<NoiseFamily>,
    /// The weights of the bits that make up noise in shares.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weights: Option<Vec<u16>>,
    /// How many teachers may be missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dropouts: Option<u32>,
    /// How many votes the leader must seem to have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
    /// The deviation of the noise of that question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check_noise: Option<f64>,
    /// What a vote weighs in the exponent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Rounds and rates of the exponential operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
}

/// What is known about the votes: always the histograms, and sometimes who voted what.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'a> {
    /// One histogram per sample, all with the same number of classes.
    pub histograms: &'a [Histogram],
    /// The votes behind them. Without them a teacher's own cost is bounded by that of all.
    pub votes: Option<&'a Votes>,
}

impl Observed<'_> {
    /// How many classes there are.
    pub fn classes(&self) -> usize {
        self.histograms.first().map_or(2, Histogram::classes)
    }

    /// How many votes there are.
    pub fn shape(&self) -> Shape {
        let most = self.histograms.iter().map(Histogram::voters).max().unwrap_or(0);
        let teachers = usize::try_from(most).unwrap_or(usize::MAX);
        Shape {
            samples: self.histograms.len(),
            teachers: self.votes.map_or(teachers, Votes::teachers),
            classes: self.classes(),
        }
    }
}

impl Mechanism {
    /// Its name, as in `--mechanism`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Shield(_) => "shield",
            Self::Exact => "exact",
            Self::Lnmax(_) => "lnmax",
            Self::Gnmax(_) => "gnmax",
            Self::NoisyArgmax(_) => "noisy-argmax",
            Self::ConfidentGnmax(_) => "confident-gnmax",
            Self::Exponential(_) => "exponential",
            Self::PermuteAndFlip(_) => "permute-and-flip",
            Self::ExponentialOperator(_) => "exponential-operator",
        }
    }

    /// Its parameters, for reports.
    pub fn description(&self) -> Description {
        let mut description = Description { name: self.name(), ..Description::default() };
        match self {
            Self::Shield(setting) => {
                description.polynomial = Some(setting.polynomial.clone());
                description.offset = Some(setting.offset);
                description.sampling = Some(setting.sampling);
            }
            Self::Exact => {}
            Self::Lnmax(noise) | Self::Gnmax(noise) => description.noise = Some(noise.get()),
            Self::NoisyArgmax(ArgmaxOfShares { noise, threshold }) => {
                description.noise = Some(noise.scale().get());
                description.noise_law = Some(noise.family());
                if let NoiseFamily::Bits(bits) = noise.family() {
                    description.weights = Some(bits.weights().to_vec());
                }
                description.dropouts = Some(noise.dropouts());
                description.threshold = threshold.map(f64::from);
            }
            Self::ConfidentGnmax(confident) => {
                description.noise = Some(confident.answer.get());
                description.threshold = Some(confident.threshold);
                description.check_noise = Some(confident.check.get());
            }
            Self::Exponential(rate) | Self::PermuteAndFlip(rate) => {
                description.rate = Some(rate.get());
            }
            Self::ExponentialOperator(operator) => {
                description.offset = Some(operator.offset());
                description.schedule = Some(operator.text());
            }
        }
        description
    }

    /// Its parameters in one line, for people.
    pub fn setting(&self) -> String {
        match self {
            Self::Shield(Setting { polynomial, offset, sampling }) => {
                format!("{polynomial}, offset {offset}, {sampling}")
            }
            Self::Exact => "exact argmax".to_owned(),
            Self::Lnmax(noise) => format!("argmax with Laplace noise of scale {}", noise.get()),
            Self::Gnmax(noise) => {
                format!("argmax with Gaussian noise of deviation {}", noise.get())
            }
            Self::NoisyArgmax(ArgmaxOfShares { noise, threshold }) => {
                let amount = noise.scale().get();
                let law = match noise.family() {
                    NoiseFamily::Laplace => format!("discrete Laplace noise of scale {amount}"),
                    NoiseFamily::Skellam => format!("Skellam noise of deviation {amount}"),
                    NoiseFamily::Bits(bits) => {
                        let weights = bits.weights().iter().map(u16::to_string);
                        let weights = weights.collect::<Vec<_>>().join(", ");
                        format!("fair bits of weights {weights} and deviation {amount:.2}")
                    }
                };
                let dropouts = noise.dropouts();
                let from = threshold.map_or_else(String::new, |votes| {
                    format!(", no label below {votes} noisy votes")
                });
                format!("argmax with {law} in shares, at most {dropouts} missing{from}")
            }
            Self::ConfidentGnmax(ConfidentGnmax { threshold, check, answer }) => format!(
                "answers if the leader has {threshold} votes with Gaussian noise of deviation {}, \
                 then argmax with Gaussian noise of deviation {}",
                check.get(),
                answer.get()
            ),
            Self::Exponential(rate) => {
                format!("a class with n votes has weight e^({} n)", rate.get())
            }
            Self::PermuteAndFlip(rate) => {
                format!("a class d votes behind is accepted with chance e^(-{} d)", rate.get())
            }
            Self::ExponentialOperator(operator) => {
                format!("rounds x rates {}, offset {}", operator.text(), operator.offset())
            }
        }
    }

    /// Whether its price depends on how many teachers vote on a sample.
    pub(crate) fn depends_on_turnout(&self) -> bool {
        matches!(self, Self::Shield(_) | Self::ExponentialOperator(_))
    }

    /// Its parameters in a few words, with as many digits as matter.
    pub fn brief(&self) -> String {
        let digits = |number: f64| match number.abs() {
            large if large >= 100.0 => format!("{number:.0}"),
            middle if middle >= 10.0 => format!("{number:.1}"),
            small if small >= 0.1 => format!("{number:.2}"),
            _ => format!("{number:.4}"),
        };
        match self {
            Self::Shield(Setting { polynomial, offset, sampling }) => match sampling {
                Sampling::WithReplacement => format!("{polynomial}, offset {offset}"),
                Sampling::WithoutReplacement => {
                    format!("{polynomial}, offset {offset}, {sampling}")
                }
            },
            Self::Exact => "no noise".to_owned(),
            Self::Lnmax(noise) | Self::Gnmax(noise) => format!("noise {}", digits(noise.get())),
            Self::NoisyArgmax(ArgmaxOfShares { noise, threshold }) => {
                let from =
                    threshold.map_or_else(String::new, |votes| format!(", threshold {votes}"));
                format!("noise {}, {}{from}", digits(noise.scale().get()), noise.family())
            }
            Self::ConfidentGnmax(ConfidentGnmax { threshold, check, answer }) => format!(
                "noise {}, threshold {} with noise {}",
                digits(answer.get()),
                digits(*threshold),
                digits(check.get())
            ),
            Self::Exponential(rate) | Self::PermuteAndFlip(rate) => {
                format!("rate {}", digits(rate.get()))
            }
            Self::ExponentialOperator(operator) => {
                format!("{}, offset {}", operator.text(), operator.offset())
            }
        }
    }

    /// Whether its epsilon holds against the server that aggregates.
    pub fn against_server(&self) -> AgainstServer {
        match self {
            Self::NoisyArgmax(_) => AgainstServer::Holds,
            _ => AgainstServer::DoesNotHold,
        }
    }

    /// What a server that also sees the labels could tell of one teacher: a figure for SHIELD,
    /// whose draws it knows.
    pub fn server_view(&self, histograms: &[Histogram], queries: Queries) -> Option<ServerView> {
        match self {
            Self::Shield(setting) => ServerView::of_votes(setting, histograms, queries),
            _ => None,
        }
    }

    /// Against whom its epsilon holds, in one sentence.
    pub fn holds_against(&self) -> &'static str {
        match self {
            Self::Shield(_) | Self::ExponentialOperator(_) => {
                "This epsilon holds against everyone who sees the labels, except the server: it \
                 knows the draws, so it must not see the labels."
            }
            Self::Exact => "The exact argmax has no randomness, so no epsilon protects the votes.",
            Self::Exponential(_) | Self::PermuteAndFlip(_) => {
                "This epsilon holds against everyone who sees the labels, except whoever draws \
                 them: that party sees the votes."
            }
            Self::Lnmax(_) | Self::Gnmax(_) | Self::ConfidentGnmax(_) => {
                "This epsilon holds against everyone who sees the labels, except whoever adds the \
                 noise: PATE's aggregator also sees the votes."
            }
            Self::NoisyArgmax(_) => {
                "This epsilon holds against everyone, the server included: the teachers add the \
                 noise in shares, and nobody knows all of it."
            }
        }
    }

    /// The output law on one sample. For many samples, [`Self::laws`] saves work.
    pub fn law(&self, histogram: &Histogram) -> OutputDistribution {
        self.laws(histogram.classes()).of(histogram)
    }

    /// The output law, made ready for many samples with that many classes.
    pub fn laws(&self, classes: usize) -> Laws<'_> {
        let shared = match self {
            Self::NoisyArgmax(argmax) => Some(SharedArgmax::of_votes(&argmax.noise, classes)),
            _ => None,
        };
        Laws { mechanism: self, shared }
    }

    /// Labels of some samples, drawn from the output law in the clear, by whoever has the votes:
    /// for mechanisms that no engine runs. In floats, which are right to about 1e-13.
    pub fn draw(&self, histograms: &[Histogram], seed: &Seed) -> Vec<Label> {
        let laws = self.laws(histograms.first().map_or(2, Histogram::classes));
        let label = |(sample, histogram): (usize, &Histogram)| {
            let mut rng = seed.stream("shield 2026 labels drawn in the clear", sample as u64);
            let point = (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
            let mut below = 0.0;
            let class = laws.of(histogram).probabilities().position(|chance| {
                below += chance;
                point < below
            });
            class.and_then(|class| u16::try_from(class).ok()).map(Class)
        };
        histograms.par_iter().enumerate().map(label).collect()
    }

    /// How good the labels are on some samples; `labels`, where given, are as many.
    pub fn accuracy(&self, histograms: &[Histogram], labels: Option<&Labels>) -> Accuracy {
        let laws = self.laws(histograms.first().map_or(2, Histogram::classes));
        Accuracy::over(histograms, labels, |histogram| laws.of(histogram))
    }
}

/// The output law of one mechanism for one number of classes.
#[derive(Clone, Debug)]
pub struct Laws<'a> {
    mechanism: &'a Mechanism,
    /// Of noise in shares, whose tables take long.
    shared: Option<SharedArgmax>,
}

impl Laws<'_> {
    /// The law on one sample.
    pub fn of(&self, histogram: &Histogram) -> OutputDistribution {
        if let (Mechanism::NoisyArgmax(argmax), Some(shared)) = (self.mechanism, &self.shared) {
            return shared.law_from(histogram, argmax.threshold);
        }
        match self.mechanism {
            Mechanism::Shield(setting) => OutputDistribution::of(setting, histogram),
            Mechanism::Exact => argmax::law(histogram),
            Mechanism::Lnmax(noise) => NoisyArgmax::Laplace(*noise).law(histogram),
            Mechanism::Gnmax(noise) => NoisyArgmax::Gaussian(*noise).law(histogram),
            Mechanism::NoisyArgmax(ArgmaxOfShares { noise, threshold }) => {
                SharedArgmax::of_votes(noise, histogram.classes()).law_from(histogram, *threshold)
            }
            Mechanism::ConfidentGnmax(confident) => confident.law(histogram),
            Mechanism::Exponential(rate) => exponential::exponential_law(*rate, histogram),
            Mechanism::PermuteAndFlip(rate) => exponential::permute_and_flip_law(*rate, histogram),
            Mechanism::ExponentialOperator(operator) => operator.law(histogram),
        }
    }
}

/// The number of classes of some histograms, as a checked type; 2 where there are none.
pub(crate) fn classes_of(histograms: &[Histogram]) -> Classes {
    let count = histograms.first().map_or(2, Histogram::classes);
    Classes::new(count).unwrap_or_else(|_| Classes::new(2).expect("two classes are allowed"))
}
