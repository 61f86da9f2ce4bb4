//! What a mechanism costs in privacy, by every accounting that knows it: what is proven for all
//! votes, and what was computed from those at hand.

use serde::{Deserialize, Serialize};

use super::{Mechanism, Observed, classes_of, exponential, gaussian};
use crate::attendance::Attendance;
use crate::conversion::Conversion;
use crate::data_dependent::streamed;
use crate::data_independent::{DataIndependent, Mixed};
use crate::label_only::{LabelOnly, Strategy};
use crate::noisy_argmax::{NoisyArgmax, pure_log_moment};
use crate::price::{FromVotes, Proven};
use crate::queries::Queries as QueryLosses;
use crate::shared_argmax::SharedArgmax;
use crate::turnouts::Turnouts;
use crate::{Usage, argmax, data_dependent};
use shield_core::Watch;
use shield_core::histogram::Histogram;
use shield_core::parameters::{Classes, Delta, Epsilon, Queries, Voters};
use shield_core::votes::Votes;

/// The prices by every accounting. Written down and read back, what was proven is a number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Costs<P = Proven> {
    /// The paper's accountant.
    pub published: FromVotes,
    /// The same moments, converted better.
    pub renyi: FromVotes,
    /// By moments.
    #[serde(flatten)]
    pub moments: Prices<P>,
    /// By tight composition, where that is known.
    pub exact: Option<Prices<P>>,
}

/// The prices by one way of composition.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prices<P = Proven> {
    /// The worst teacher's cost.
    pub teacher_wise: FromVotes,
    /// For all votes there could be.
    pub data_independent: P,
}

impl Costs {
    /// From the figures that depend on the votes (published, renyi, teacher-wise by moments and
    /// tightly) and a proof.
    fn new([published, renyi, teacher_wise, tight]: [FromVotes; 4], proof: Proof) -> Self {
        Self {
            published,
            renyi,
            moments: Prices { teacher_wise, data_independent: proof.moments },
            exact: proof
                .tight
                .map(|data_independent| Prices { teacher_wise: tight, data_independent }),
        }
    }

    /// An accounting by moments that knows no single teachers: what it says of all holds for each,
    /// and what holds for all votes holds for these.
    fn of_moments(cost: impl Fn(Conversion) -> FromVotes, proof: Proof) -> Self {
        let renyi = cost(Conversion::Renyi).smaller(proof.moments.into());
        let tight = renyi.smaller(proof.price().into());
        Self::new([cost(Conversion::TailBound), renyi, renyi, tight], proof)
    }

    /// What they prove for all votes.
    pub(crate) fn proof(&self) -> Proof {
        let tight = self.exact.as_ref().map(|tight| tight.data_independent);
        Proof { moments: self.moments.data_independent, tight }
    }

    /// The figures as they are written down.
    pub fn figures(&self) -> Costs<Epsilon> {
        let figures = |&Prices { teacher_wise, data_independent }: &Prices| Prices {
            teacher_wise,
            data_independent: data_independent.epsilon(),
        };
        Costs {
            published: self.published,
            renyi: self.renyi,
            moments: figures(&self.moments),
            exact: self.exact.as_ref().map(figures),
        }
    }
}

/// What is proven for all votes there could be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Proof {
    /// By moments, which ledgers add up.
    pub moments: Proven,
    /// By tight composition, where that is known.
    pub tight: Option<Proven>,
}

impl Proof {
    /// The smaller of both: each is proven, so it counts.
    pub fn price(self) -> Proven {
        self.tight.map_or(self.moments, |tight| self.moments.smaller(tight))
    }
}

impl Mechanism {
    /// The price by moments alone, for votes of that many teachers: at once, where tight
    /// composition takes long.
    pub fn by_moments(&self, classes: Classes, voters: Voters, usage: Usage) -> Proven {
        let of = |log_moment: &dyn Fn(f64) -> f64| Proven::by_moments(usage, 0.0, log_moment);
        let pate = |argmax: NoisyArgmax| {
            let of_counts = of(&|order| argmax.log_moment(order));
            of_label(argmax, of_counts, |label| label.by_moments(usage, of_counts))
        };
        match self {
            Self::Shield(setting) => DataIndependent::new(setting, classes, voters).epsilon(usage),
            Self::ExponentialOperator(operator) => {
                operator.worst_case(classes, voters).epsilon(usage)
            }
            Self::Exact => Proven::infinite(usage.delta),
            Self::Lnmax(noise) => pate(NoisyArgmax::Laplace(*noise)),
            Self::Gnmax(noise) => pate(NoisyArgmax::Gaussian(*noise)),
            Self::NoisyArgmax(argmax) => {
                SharedArgmax::of_votes(&argmax.noise, classes.count()).by_moments(usage)
            }
            Self::ConfidentGnmax(confident) => {
                of(&|order| gaussian::log_moment(confident.square(), order))
            }
            Self::Exponential(rate) => of(&|order| exponential::log_moment(*rate, order)),
            // 2 eta-privacy is LNMax's with a scale of 1/eta, and so are its moments.
            Self::PermuteAndFlip(rate) => of(&|order| pure_log_moment(2.0 * rate.get(), order)),
        }
    }

    /// What is proven of a mechanism whose price depends on the turnout; `None` for others.
    fn mixed(
        &self,
        classes: Classes,
        attendance: &Attendance,
        delta: Delta,
        watch: &Watch,
    ) -> Option<Mixed> {
        let search = |dummies: u32, figure: &dyn Fn(Voters, Voters) -> Option<DataIndependent>| {
            let figure = |low, high| Some(figure(low, high)?.watched(watch.clone()));
            let dummies = f64::from(dummies) * classes.count() as f64;
            Some(Mixed::new(attendance, delta, dummies, figure, watch))
        };
        match self {
            Self::Shield(setting) => search(setting.offset.dummies(), &|low, high| {
                if low == high {
                    return Some(DataIndependent::new(setting, classes, low));
                }
                Some(Turnouts::new(setting, classes, low, high)?.figure())
            }),
            Self::ExponentialOperator(operator) => {
                search(operator.offset().dummies(), &|low, high| {
                    (low == high).then(|| operator.worst_case(classes, low))
                })
            }
            _ => None,
        }
    }

    /// The price of such samples by moments alone: at once, where tight composition takes seconds.
    pub fn by_moments_of(&self, classes: Classes, attendance: &Attendance, delta: Delta) -> Proven {
        if let Some(mut mixed) = self.mixed(classes, attendance, delta, &Watch::default()) {
            return mixed.by_moments();
        }
        match (Voters::new(attendance.most()), Queries::new(attendance.samples())) {
            (Ok(voters), Ok(queries)) => self.by_moments(classes, voters, Usage { queries, delta }),
            _ => Proven::free(delta),
        }
    }

    /// The price of samples on which so many teachers vote: what every report of this project
    /// states.
    pub fn price(
        &self,
        classes: Classes,
        attendance: &Attendance,
        delta: Delta,
        watch: &Watch,
    ) -> Proof {
        let free = Proven::free(delta);
        let free = Proof { moments: free, tight: Some(free) };
        let Ok(queries) = Queries::new(attendance.samples()) else { return free };
        let (Ok(voters), usage) = (Voters::new(attendance.most()), Usage { queries, delta }) else {
            return free;
        };
        if let Some(mut mixed) = self.mixed(classes, attendance, delta, watch) {
            return Proof { moments: mixed.by_moments(), tight: Some(mixed.tight()) };
        }
        // What noise costs does not depend on how many vote; noise in shares is whole as long as no
        // more are missing than were allowed for.
        if let Self::NoisyArgmax(argmax) = self {
            let argmax = SharedArgmax::of_votes(&argmax.noise, classes.count()).watched(watch);
            return Proof { moments: argmax.by_moments(usage), tight: Some(argmax.tight(usage)) };
        }
        let moments = self.by_moments(classes, voters, usage);
        let pate = |argmax: NoisyArgmax| {
            let of_counts = self.of_counts(usage)?;
            Some(of_label(argmax, of_counts, |label| label.watch(watch).tight(usage, of_counts)))
        };
        let tight = match self {
            Self::Lnmax(noise) => pate(NoisyArgmax::Laplace(*noise)),
            Self::Gnmax(noise) => pate(NoisyArgmax::Gaussian(*noise)),
            Self::ConfidentGnmax(confident) => Some(gaussian::exact(confident.square(), usage)),
            Self::Exponential(rate) => {
                let tight = exponential::bounded_range(2.0 * rate.get(), usage, moments);
                Some(tight.unwrap_or(moments))
            }
            Self::PermuteAndFlip(rate) => Some(Proven::of_pure(2.0 * rate.get(), usage)),
            Self::Exact | Self::Shield(_) | Self::NoisyArgmax(_) | Self::ExponentialOperator(_) => {
                None
            }
        };
        Proof { moments, tight }
    }

    /// The tight price of a noisy argmax as if all noisy counts were released, which is quick; of
    /// one vote per sample. `None` for mechanisms without counts that have noise.
    pub fn of_counts(&self, usage: Usage) -> Option<Proven> {
        match self {
            Self::Lnmax(noise) => Some(Proven::of_pure(2.0 / noise.get(), usage)),
            Self::Gnmax(noise) => Some(gaussian::exact(2.0 / (noise.get() * noise.get()), usage)),
            Self::NoisyArgmax(argmax) => {
                Some(SharedArgmax::of_votes(&argmax.noise, 2).of_counts(usage))
            }
            _ => None,
        }
    }

    /// The tight price of a noisy argmax, and what an adversary achieves who sees the labels.
    /// `None` for other mechanisms.
    pub(crate) fn with_strategy(
        &self,
        classes: Classes,
        usage: Usage,
        watch: &Watch,
    ) -> Option<(Proven, Option<Strategy>)> {
        let pate = |argmax: NoisyArgmax| {
            let of_counts = self.of_counts(usage)?;
            let Some(mut label) = LabelOnly::of(argmax) else { return Some((of_counts, None)) };
            let price = label.watch(watch).tight(usage, of_counts);
            Some((price, label.strategy(usage, of_counts)))
        };
        match self {
            Self::Lnmax(noise) => pate(NoisyArgmax::Laplace(*noise)),
            Self::Gnmax(noise) => pate(NoisyArgmax::Gaussian(*noise)),
            Self::NoisyArgmax(argmax) => {
                let argmax = SharedArgmax::of_votes(&argmax.noise, classes.count()).watched(watch);
                Some((argmax.tight(usage), argmax.strategy(usage)))
            }
            _ => None,
        }
    }

    /// The price for votes of that many teachers.
    pub fn proven(&self, classes: Classes, voters: Voters, usage: Usage) -> Proven {
        let attendance = Attendance::whole(voters, usage.queries);
        self.price(classes, &attendance, usage.delta, &Watch::default()).price()
    }

    /// The price of some samples. Who takes part is public, and each costs what its number of
    /// voters makes it cost.
    pub fn proven_for(&self, histograms: &[Histogram], usage: Usage) -> Proven {
        self.price_of(histograms, usage, &Watch::default()).price()
    }

    /// The same, by both ways of composition.
    pub fn price_of(&self, histograms: &[Histogram], usage: Usage, watch: &Watch) -> Proof {
        let attendance = Attendance::of(histograms, usage.queries);
        self.price(classes_of(histograms), &attendance, usage.delta, watch)
    }

    /// What the votes at hand cost, by every accounting.
    ///
    /// Beyond 20,000 samples or 100 million votes the figures that depend on the votes are computed
    /// some samples at a time, by moments alone.
    pub fn costs(&self, observed: Observed, usage: Usage, watch: &Watch) -> Costs {
        let Observed { histograms, votes } = observed;
        let proof = self.price_of(histograms, usage, &watch.part(0, 40));
        let watch = &watch.part(40, 100);
        let noisy = |argmax: NoisyArgmax| {
            let cost = |conversion| argmax.data_dependent(histograms, usage, conversion);
            Costs::of_moments(cost, proof)
        };
        match self {
            Self::Exact => Costs::new([argmax::data_dependent(histograms); 4], proof),
            Self::Lnmax(noise) => noisy(NoisyArgmax::Laplace(*noise)),
            Self::Gnmax(noise) => noisy(NoisyArgmax::Gaussian(*noise)),
            Self::NoisyArgmax(argmax) => {
                let argmax = SharedArgmax::of_votes(&argmax.noise, observed.classes());
                let cost = |conversion| argmax.data_dependent(histograms, usage, conversion);
                Costs::of_moments(cost, proof)
            }
            // PATE's own data-dependent analysis is not repeated here: what holds for all votes
            // holds for these.
            Self::ConfidentGnmax(_) => {
                let moments = FromVotes::from(proof.moments);
                let tight = proof.tight.map_or(moments, FromVotes::from);
                Costs::new([moments, moments, moments, tight], proof)
            }
            Self::Shield(setting) => {
                let losses = |some: &[Histogram]| QueryLosses::new(setting, some);
                Costs::new(of_losses(&losses, histograms, votes, usage, watch), proof)
            }
            // These treat all classes alike, so that the law itself tells.
            Self::Exponential(_) | Self::PermuteAndFlip(_) | Self::ExponentialOperator(_) => {
                let laws = self.laws(observed.classes());
                let losses = |some: &[Histogram]| QueryLosses::of_law(some, |one| laws.of(one));
                Costs::new(of_losses(&losses, histograms, votes, usage, watch), proof)
            }
        }
    }
}

/// The smaller of the price of noisy counts and of what is proven for the label alone.
fn of_label(
    argmax: NoisyArgmax,
    of_counts: Proven,
    prove: impl FnOnce(&mut LabelOnly) -> Proven,
) -> Proven {
    let label = LabelOnly::of(argmax);
    label.map_or(of_counts, |mut label| of_counts.smaller(prove(&mut label)))
}

/// Beyond so many samples, or votes, figures that depend on the votes are computed in parts.
const MANY_SAMPLES: usize = 20_000;
const MANY_VOTES: usize = 100_000_000;

/// What depends on the votes (published, renyi, teacher-wise by moments and tightly), where the
/// loss is known for every neighbour of every histogram.
fn of_losses(
    losses: &(dyn Fn(&[Histogram]) -> QueryLosses + Sync),
    histograms: &[Histogram],
    votes: Option<&Votes>,
    usage: Usage,
    watch: &Watch,
) -> [FromVotes; 4] {
    let many = |votes: &Votes| votes.samples().saturating_mul(votes.teachers()) > MANY_VOTES;
    if histograms.len() > MANY_SAMPLES || votes.is_some_and(many) {
        let found = streamed::figures(losses, histograms, votes, usage, watch);
        let teacher_wise = found.teacher_wise.unwrap_or(found.renyi);
        return [found.published, found.renyi, teacher_wise, teacher_wise];
    }
    let mut losses = losses(histograms);
    watch.tell(1, 4);
    let renyi = data_dependent::renyi(&mut losses, usage);
    watch.tell(2, 4);
    let by_teacher = votes.map(|votes| {
        let moments = data_dependent::teacher_wise(&mut losses, votes, usage);
        watch.tell(3, 4);
        (moments, data_dependent::teacher_wise_exact(&losses, votes, usage))
    });
    let (teacher_wise, exact) = by_teacher.unwrap_or((renyi, renyi));
    [data_dependent::published(&mut losses, usage), renyi, teacher_wise, exact]
}
