//! What a mechanism costs in privacy, by every accounting that knows it.
//!
//! Two kinds of figures: those computed from the votes at hand, which say something about them and
//! must not be published, and those that hold for all votes there could be ([`Proven`]).

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{Mechanism, NoiseShares, Observed, classes_of};
use crate::histogram::Histogram;
use crate::parameters::{Classes, Epsilon, Voters};
use crate::privacy::conversion::Conversion;
use crate::privacy::data_independent::DataIndependent;
use crate::privacy::distributed_argmax::DistributedArgmax;
use crate::privacy::noisy_argmax::NoisyArgmax;
use crate::privacy::queries::Queries as QueryLosses;
use crate::privacy::{Usage, argmax, data_dependent, data_independent};
use crate::setting::Setting;

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
        match self {
            Self::Shield(setting) => {
                let mut figure = DataIndependent::new(setting, classes, voters);
                let moments = figure.epsilon(usage);
                Proven { moments, tight: Some(figure.exact(usage)) }
            }
            Self::Exact => Proven { moments: Epsilon::INFINITE, tight: None },
            Self::Lnmax(noise) => noisy_proven(NoisyArgmax::Laplace(*noise), usage),
            Self::Gnmax(noise) => noisy_proven(NoisyArgmax::Gaussian(*noise), usage),
            Self::NoisyArgmax(NoiseShares::Laplace(noise)) => {
                let argmax = DistributedArgmax::new(noise, classes.count());
                Proven { moments: argmax.data_independent(usage, Conversion::Renyi), tight: None }
            }
        }
    }

    /// The proven cost of some samples. Who takes part is public, so the worst of the numbers of
    /// voters that occur counts.
    pub fn proven_for(&self, histograms: &[Histogram], usage: Usage) -> Proven {
        let classes = classes_of(histograms);
        let free = Proven { moments: Epsilon::ZERO, tight: Some(Epsilon::ZERO) };
        let voters = data_independent::voters(histograms);
        let costs: Vec<Proven> =
            voters.into_par_iter().map(|voters| self.proven(classes, voters, usage)).collect();
        costs.into_iter().reduce(Proven::larger).unwrap_or(free)
    }

    /// What the votes at hand cost, by every accounting.
    pub fn costs(&self, observed: Observed, usage: Usage) -> Costs {
        let proven = self.proven_for(observed.histograms, usage);
        let histograms = observed.histograms;
        match self {
            Self::Shield(setting) => shield(setting, observed, usage, proven),
            Self::Exact => Costs::same(argmax::data_dependent(histograms), proven),
            Self::Lnmax(noise) => noisy(NoisyArgmax::Laplace(*noise), histograms, usage, proven),
            Self::Gnmax(noise) => noisy(NoisyArgmax::Gaussian(*noise), histograms, usage, proven),
            Self::NoisyArgmax(NoiseShares::Laplace(noise)) => {
                let argmax = DistributedArgmax::new(noise, observed.classes());
                let cost = |conversion| argmax.data_dependent(histograms, usage, conversion);
                Costs::of_moments(cost, proven)
            }
        }
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
        }
    }
}

/// PATE's own accounting.
fn noisy(mechanism: NoisyArgmax, histograms: &[Histogram], usage: Usage, proven: Proven) -> Costs {
    Costs::of_moments(|conversion| mechanism.data_dependent(histograms, usage, conversion), proven)
}

fn noisy_proven(mechanism: NoisyArgmax, usage: Usage) -> Proven {
    Proven { moments: mechanism.data_independent(usage, Conversion::Renyi), tight: None }
}

fn shield(setting: &Setting, observed: Observed, usage: Usage, proven: Proven) -> Costs {
    of_losses(QueryLosses::new(setting, observed.histograms), observed, usage, proven)
}

/// The four accountings of a mechanism whose loss is known for every neighbour of every histogram.
fn of_losses(mut losses: QueryLosses, observed: Observed, usage: Usage, proven: Proven) -> Costs {
    let renyi = data_dependent::renyi(&mut losses, usage);
    let by_teacher = observed.votes.map(|votes| {
        let moments = data_dependent::teacher_wise(&mut losses, votes, usage);
        (moments, data_dependent::teacher_wise_exact(&losses, votes, usage))
    });
    let (teacher_wise, exact) = by_teacher.unwrap_or((renyi, renyi));
    Costs {
        published: data_dependent::published(&mut losses, usage),
        renyi,
        teacher_wise,
        data_independent: proven.moments,
        exact: proven
            .tight
            .map(|tight| ExactCosts { teacher_wise: exact, data_independent: tight }),
    }
}
