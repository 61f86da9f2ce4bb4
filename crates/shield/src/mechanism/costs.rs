//! What a mechanism costs in privacy, by every accounting that knows it.
//!
//! Two kinds of figures: those computed from the votes at hand, which say something about them and
//! must not be published, and those that hold for all votes there could be ([`Proven`]).

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{Mechanism, Observed, classes_of, exponential, gaussian};
use crate::histogram::Histogram;
use crate::parameters::{Classes, Epsilon, Voters};
use crate::privacy::conversion::Conversion;
use crate::privacy::data_dependent::streamed;
use crate::privacy::data_independent::DataIndependent;
use crate::privacy::noisy_argmax::NoisyArgmax;
use crate::privacy::queries::Queries as QueryLosses;
use crate::privacy::shared_argmax::SharedArgmax;
use crate::privacy::watch::Watch;
use crate::privacy::{Usage, argmax, data_dependent, data_independent, exact_of_pure};
use crate::votes::Votes;

/// The cost by every accounting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Costs {
    /// The paper's accountant. Depends on the votes.
    pub published: Epsilon,
    /// The same moments, converted better. Depends on the votes.
    pub renyi: Epsilon,
    /// The worst teacher's cost. Depends on the votes.
    pub teacher_wise: Epsilon,
    /// By moments, for all votes there could be: may be published.
    pub data_independent: Epsilon,
    /// By tight composition, where that is known.
    pub exact: Option<ExactCosts>,
    /// Where nothing is proven over all votes: what the worst pair of neighbours found costs. The
    /// true cost is no less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<Epsilon>,
}

/// Costs by tight composition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExactCosts {
    /// The worst teacher's cost. Depends on the votes.
    pub teacher_wise: Epsilon,
    /// For all votes there could be: may be published.
    pub data_independent: Epsilon,
}

/// A cost that holds for all votes there could be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Proven {
    /// By moments.
    pub moments: Epsilon,
    /// By tight composition, where that is known.
    pub tight: Option<Epsilon>,
}

impl Proven {
    /// The smaller of both: each is proven, so it counts.
    pub fn epsilon(self) -> Epsilon {
        self.tight.filter(|&tight| tight < self.moments).unwrap_or(self.moments)
    }

    fn larger(self, other: Self) -> Self {
        let tight = self.tight.zip(other.tight).map(|(a, b)| larger(a, b));
        Self { moments: larger(self.moments, other.moments), tight }
    }
}

fn larger(a: Epsilon, b: Epsilon) -> Epsilon {
    if a >= b { a } else { b }
}

impl Mechanism {
    /// The proven cost for votes of that many teachers.
    pub fn proven(&self, classes: Classes, voters: Voters, usage: Usage) -> Proven {
        self.proven_watched(classes, voters, usage, &Watch::default())
    }

    fn proven_watched(
        &self,
        classes: Classes,
        voters: Voters,
        usage: Usage,
        watch: &Watch,
    ) -> Proven {
        match self {
            Self::Shield(setting) => {
                let figure = DataIndependent::new(setting, classes, voters);
                let mut figure = figure.watched(watch.clone());
                let moments = figure.epsilon(usage);
                Proven { moments, tight: Some(figure.exact(usage)) }
            }
            Self::Exact => Proven { moments: Epsilon::INFINITE, tight: None },
            Self::ExponentialOperator(operator) => match operator.worst_case(classes, voters) {
                Some(mut figure) => {
                    let moments = figure.epsilon(usage);
                    Proven { moments, tight: Some(figure.exact(usage)) }
                }
                None => Proven { moments: Epsilon::INFINITE, tight: None },
            },
            Self::Lnmax(noise) => Proven {
                moments: NoisyArgmax::Laplace(*noise).data_independent(usage, Conversion::Renyi),
                tight: Some(exact_of_pure(2.0 / noise.get(), usage)),
            },
            Self::Gnmax(noise) => Proven {
                moments: NoisyArgmax::Gaussian(*noise).data_independent(usage, Conversion::Renyi),
                tight: Some(gaussian::exact(2.0 / (noise.get() * noise.get()), usage)),
            },
            Self::NoisyArgmax(noise) => {
                let argmax = SharedArgmax::new(noise, classes.count());
                Proven {
                    moments: argmax.data_independent(usage, Conversion::Renyi),
                    tight: Some(argmax.tight(usage)),
                }
            }
            Self::ConfidentGnmax(confident) => Proven {
                moments: gaussian::by_moments(confident.square(), usage),
                tight: Some(gaussian::exact(confident.square(), usage)),
            },
            Self::Exponential(rate) => {
                let moments = exponential::exponential_moments(*rate, usage);
                let tight = exponential::bounded_range(2.0 * rate.get(), usage, moments);
                Proven { moments, tight: Some(tight.unwrap_or(moments)) }
            }
            Self::PermuteAndFlip(rate) => {
                // 2 eta-privacy is LNMax's with a scale of 1/eta, and so are its moments.
                let moment = |order: f64| {
                    let eta = rate.get();
                    (2.0 * eta * eta * order * (order + 1.0)).min(2.0 * eta * order)
                };
                let count = usage.queries.count() as f64;
                let best = Conversion::Renyi.minimise(usage.delta, |order| count * moment(order));
                let tight = exact_of_pure(2.0 * rate.get(), usage);
                Proven { moments: best.rounded_up(), tight: Some(tight) }
            }
        }
    }

    /// The proven cost of some samples. Who takes part is public, so the worst of the numbers of
    /// voters that occur counts.
    pub fn proven_for(&self, histograms: &[Histogram], usage: Usage) -> Proven {
        self.proven_for_watched(histograms, usage, &Watch::default())
    }

    fn proven_for_watched(&self, histograms: &[Histogram], usage: Usage, watch: &Watch) -> Proven {
        let classes = classes_of(histograms);
        let free = Proven { moments: Epsilon::ZERO, tight: Some(Epsilon::ZERO) };
        let mut voters = data_independent::voters(histograms);
        if matches!(self, Self::NoisyArgmax(_)) {
            // Noise in shares is whole whoever is missing: the cost is one for all numbers.
            voters.truncate(1);
        }
        // One number of voters is watched while it is proven; several are counted.
        let (several, done) = (voters.len() as u64, AtomicU64::new(0));
        let own = if several == 1 { watch.clone() } else { Watch::default() };
        let prove = |voters: Voters| {
            let proven = self.proven_watched(classes, voters, usage, &own);
            watch.tell(done.fetch_add(1, Ordering::Relaxed) + 1, several);
            proven
        };
        let costs: Vec<Proven> = voters.into_par_iter().map(prove).collect();
        costs.into_iter().reduce(Proven::larger).unwrap_or(free)
    }

    /// What the votes at hand cost, by every accounting.
    pub fn costs(&self, observed: Observed, usage: Usage) -> Costs {
        self.costs_watched(observed, usage, &Watch::default())
    }

    /// The same, and says how far it is.
    ///
    /// Beyond 20,000 samples or 100 million votes the figures that depend on the votes are computed
    /// some samples at a time, by moments alone.
    pub fn costs_watched(&self, observed: Observed, usage: Usage, watch: &Watch) -> Costs {
        let proven = self.proven_for_watched(observed.histograms, usage, &watch.part(0, 40));
        let histograms = observed.histograms;
        let watch = &watch.part(40, 100);
        match self {
            Self::Shield(setting) => {
                let losses = |some: &[Histogram]| QueryLosses::new(setting, some);
                of_losses(&losses, observed, usage, proven, watch)
            }
            Self::Exact => Costs::same(argmax::data_dependent(histograms), proven),
            Self::Lnmax(noise) => noisy(NoisyArgmax::Laplace(*noise), histograms, usage, proven),
            Self::Gnmax(noise) => noisy(NoisyArgmax::Gaussian(*noise), histograms, usage, proven),
            Self::ExponentialOperator(operator) if !proven.moments.is_finite() => {
                let classes = classes_of(histograms);
                let voters = data_independent::voters(histograms);
                let at_least =
                    voters.into_iter().map(|voters| operator.at_least(classes, voters, usage));
                let worst = at_least.reduce(larger);
                Costs { at_least: worst, ..self.costs_by_law(observed, usage, proven, watch) }
            }
            Self::Exponential(_) | Self::PermuteAndFlip(_) | Self::ExponentialOperator(_) => {
                self.costs_by_law(observed, usage, proven, watch)
            }
            // PATE's own data-dependent analysis is not repeated here: what holds for all votes
            // holds for these.
            Self::ConfidentGnmax(_) => Costs {
                exact: proven
                    .tight
                    .map(|tight| ExactCosts { teacher_wise: tight, data_independent: tight }),
                ..Costs::same(proven.moments, proven)
            },
            Self::NoisyArgmax(noise) => {
                let argmax = SharedArgmax::new(noise, observed.classes());
                let cost = |conversion| argmax.data_dependent(histograms, usage, conversion);
                Costs::of_moments(cost, proven)
            }
        }
    }
}

impl Mechanism {
    /// Costs from the law itself, for mechanisms that treat all classes alike.
    fn costs_by_law(
        &self,
        observed: Observed,
        usage: Usage,
        proven: Proven,
        watch: &Watch,
    ) -> Costs {
        let laws = self.laws(observed.classes());
        let losses = |some: &[Histogram]| QueryLosses::of_law(some, |histogram| laws.of(histogram));
        of_losses(&losses, observed, usage, proven, watch)
    }
}

impl Costs {
    /// All or nothing: one figure serves for every accounting that depends on the votes.
    fn same(cost: Epsilon, proven: Proven) -> Self {
        Self {
            published: cost,
            renyi: cost,
            teacher_wise: cost,
            data_independent: proven.moments,
            exact: None,
            at_least: None,
        }
    }

    /// An accounting by moments that knows no single teachers: what it says of all holds for each.
    fn of_moments(cost: impl Fn(Conversion) -> Epsilon, proven: Proven) -> Self {
        let renyi = cost(Conversion::Renyi);
        Self {
            published: cost(Conversion::TailBound),
            renyi,
            teacher_wise: renyi,
            data_independent: proven.moments,
            exact: proven
                .tight
                .map(|tight| ExactCosts { teacher_wise: renyi, data_independent: tight }),
            at_least: None,
        }
    }
}

/// PATE's own accounting.
fn noisy(mechanism: NoisyArgmax, histograms: &[Histogram], usage: Usage, proven: Proven) -> Costs {
    Costs::of_moments(|conversion| mechanism.data_dependent(histograms, usage, conversion), proven)
}

/// Beyond so many samples, or votes, figures that depend on the votes are computed in parts.
const MANY_SAMPLES: usize = 20_000;
const MANY_VOTES: usize = 100_000_000;

/// The four accountings of a mechanism whose loss is known for every neighbour of every histogram.
fn of_losses(
    losses: &(dyn Fn(&[Histogram]) -> QueryLosses + Sync),
    observed: Observed,
    usage: Usage,
    proven: Proven,
    watch: &Watch,
) -> Costs {
    let Observed { histograms, votes } = observed;
    let many = |votes: &Votes| votes.samples().saturating_mul(votes.teachers()) > MANY_VOTES;
    let (published, renyi, teacher_wise, exact);
    if histograms.len() > MANY_SAMPLES || votes.is_some_and(many) {
        let found = streamed::figures(losses, histograms, votes, usage, watch);
        (published, renyi) = (found.published, found.renyi);
        teacher_wise = found.teacher_wise.unwrap_or(renyi);
        exact = teacher_wise;
    } else {
        let mut losses = losses(histograms);
        watch.tell(1, 4);
        renyi = data_dependent::renyi(&mut losses, usage);
        watch.tell(2, 4);
        let by_teacher = votes.map(|votes| {
            let moments = data_dependent::teacher_wise(&mut losses, votes, usage);
            watch.tell(3, 4);
            (moments, data_dependent::teacher_wise_exact(&losses, votes, usage))
        });
        (teacher_wise, exact) = by_teacher.unwrap_or((renyi, renyi));
        published = data_dependent::published(&mut losses, usage);
    }
    Costs {
        published,
        renyi,
        teacher_wise,
        data_independent: proven.moments,
        exact: proven
            .tight
            .map(|tight| ExactCosts { teacher_wise: exact, data_independent: tight }),
        at_least: None,
    }
}
