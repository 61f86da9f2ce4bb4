//! The audit of a whole engine: ballots, aggregation and labels as they are, encrypted or not.
//!
//! Four teachers vote on two classes. Every sample of an election is one run, so a few elections
//! give thousands of runs. Teacher 0 is the victim: it votes 1 in one world and 0 in the other; all
//! others vote 0. With all safeguards in place the attack must stay below what is proven; with any
//! of them broken it must exceed that.

use std::error::Error;

use super::{Finding, Plan, World};
use crate::Usage;
use crate::data_independent::DataIndependent;
use crate::price::Proven;
use shield_core::Watch;
use shield_core::distribution::OutputDistribution;
use shield_core::draws::{Draws, Urn};
use shield_core::election::Election;
use shield_core::engine::Engine;
use shield_core::labelling::{self, BallotRandomness};
use shield_core::operator::elect;
use shield_core::parameters::{Class, Classes, Delta, Offset, Queries, Voters};
use shield_core::seed::Seed;
use shield_core::setting::Setting;
use shield_core::votes::{Label, Votes};

pub(super) const TEACHERS: u32 = 4;

/// What is broken on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// Nothing: the attacker sees labels.
    Nothing,
    /// The dummies are left out.
    Offset,
    /// Three samples are answered from the same draws.
    FreshDraws,
    /// The attacker is the server: it knows the draws, and sees the labels.
    LabelsHidden,
}

impl Broken {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Nothing, Self::Offset, Self::FreshDraws, Self::LabelsHidden];

    /// What was done, in a few words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nothing => "all safeguards in place",
            Self::Offset => "dummies left out",
            Self::FreshDraws => "draws shared by three samples",
            Self::LabelsHidden => "the server sees the labels",
        }
    }
}

/// What was promised, and what was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    /// The price of what was asked.
    pub promised: Proven,
    /// What the attack shows.
    pub found: Finding,
}

impl Report {
    /// Whether the promise is kept, as far as the attack tells.
    pub fn kept(&self) -> bool {
        self.promised >= self.found.epsilon
    }
}

/// Any failure of an engine under audit.
pub type AuditError = Box<dyn Error + Send + Sync>;

/// Audits an engine, in so many runs per world.
///
/// # Errors
///
/// Those of the engine.
pub fn audit<B: Engine>(
    broken: Broken,
    runs: u32,
    seed: &Seed,
    engine: impl Fn(Election) -> Result<B, AuditError>,
) -> Result<Report, AuditError> {
    let plan = Plan { runs, delta: Delta::new(1e-3)?, failure: 1e-6 };
    let polynomial = match broken {
        Broken::FreshDraws => "X",
        _ => "2X^2+X",
    };
    let told =
        Setting { polynomial: polynomial.parse()?, offset: Offset::new(1)?, ..Setting::default() };
    let setting = match broken {
        Broken::Offset => Setting { offset: Offset::new(0)?, ..told.clone() },
        _ => told.clone(),
    };
    let classes = Classes::new(2)?;
    let election = Election::new(TEACHERS as usize, classes, runs as usize, setting.clone())?;
    let engine = engine(election)?;
    let queries = if broken == Broken::FreshDraws { 3 } else { 1 };
    let usage = Usage { queries: Queries::new(queries)?, delta: plan.delta };
    let promised = DataIndependent::new(&told, classes, Voters::new(TEACHERS)?).exact(usage);

    let mut scores = Vec::new();
    for world in [World::Votes, World::Neighbour] {
        // The worlds are different days: they share no seed.
        let seed = &Seed::from_bytes(own_seed(seed, world));
        let ask = |votes: &dyn Fn(u32) -> Class| labels(&engine, classes, runs, seed, votes);
        let own = u16::from(world == World::Votes);
        let answers = ask(&|teacher| Class(if teacher == 0 { own } else { 0 }))?;
        scores.push(match broken {
            Broken::Nothing | Broken::Offset => {
                answers.iter().map(|&label| log_ratio(&told, label)).collect::<Vec<f64>>()
            }
            Broken::FreshDraws => {
                // The digits of each teacher's number, the victim's being 0: the draws are spelled
                // out by two samples.
                let digits =
                    [0, 1].map(|digit| ask(&|teacher| Class((teacher >> digit & 1) as u16)));
                let [low, high] = digits;
                let (low, high) = (low?, high?);
                let victim = |sample: usize| {
                    low[sample] == Some(Class(0))
                        && high[sample] == Some(Class(0))
                        && answers[sample] == Some(Class(1))
                };
                (0..answers.len()).map(|sample| f64::from(u8::from(victim(sample)))).collect()
            }
            Broken::LabelsHidden => {
                let urn = Urn::of_all(TEACHERS, classes, setting.offset);
                let depends = |(sample, &label): (u64, &Label)| {
                    let draws = Draws::seeded(&setting, &urn, seed, sample);
                    let one = elect(&draws, |teacher| Class(u16::from(teacher == 0)));
                    let zero = elect(&draws, |_| Class(0));
                    f64::from(u8::from(one != zero && label == one))
                };
                (0..).zip(&answers).map(depends).collect()
            }
        });
    }
    let mut places = [0; 2];
    let found = plan.audit(|world| {
        let world = usize::from(world == World::Neighbour);
        places[world] += 1;
        scores[world][places[world] - 1]
    });
    Ok(Report { promised, found })
}

fn own_seed(seed: &Seed, world: World) -> [u8; 32] {
    let mut bytes = [0; 32];
    let index = u64::from(world == World::Neighbour);
    rand::RngCore::fill_bytes(
        &mut seed.stream("shield 2026 audit of an engine", index),
        &mut bytes,
    );
    bytes
}

/// The labels of samples that all teachers vote on alike, each in its own way.
pub(super) fn labels<B: Engine>(
    engine: &B,
    classes: Classes,
    samples: u32,
    seed: &Seed,
    vote: &dyn Fn(u32) -> Class,
) -> Result<Vec<Label>, AuditError> {
    let row: Vec<_> = (0..TEACHERS).map(|teacher| Some(vote(teacher))).collect();
    let votes = Votes::from_rows(classes, (0..samples).map(|_| row.clone()))?;
    let run = labelling::label(engine, &votes, seed, BallotRandomness::Fresh, &Watch::default());
    Ok(run.map_err(|error| error.to_string())?.labels)
}

/// ln of the ratio of the two laws at a label: the best score there is.
fn log_ratio(setting: &Setting, label: Label) -> f64 {
    let law = |counts: [u32; 2]| OutputDistribution::of_counts(setting, &counts);
    let (votes, neighbour) = (law([TEACHERS - 1, 1]), law([TEACHERS, 0]));
    label.map_or(0.0, |class| {
        votes.log_classes()[class.index()] - neighbour.log_classes()[class.index()]
    })
}

/// Checks that an engine keeps its promise, that the attack is no weak one, and that every broken
/// safeguard is found out. For the tests of engines.
///
/// # Panics
///
/// If any of that is not so.
#[cfg(any(test, feature = "suite"))]
pub fn check<B: Engine>(runs: u32, engine: impl Fn(Election) -> Result<B, AuditError>) {
    for broken in Broken::ALL {
        let report = audit(broken, runs, &Seed::from_number(18), &engine).expect("an audit");
        let Report { promised, found } = report;
        assert_eq!(report.kept(), broken == Broken::Nothing, "{broken:?}: {found:?} {promised}");
        let strong = found.epsilon.get() > 0.3 * promised.get();
        assert!(strong, "a weak attack: {broken:?}: {found:?} {promised}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shield_core::engine::ClearEngine;

    #[test]
    fn the_clear_engine_keeps_its_promise_unless_a_safeguard_is_broken() {
        check(8192, |election| Ok(ClearEngine::new(election)));
    }
}
