//! The name of an engine with the mechanism that it computes, wherever one is chosen: on the
//! command line, in an election file, in the ledger, in Python. And the registry, the one place
//! that turns such a name into an engine.
//!
//! A teacher with one vote per sample changes two counts of a noisy argmax by one. A teacher who
//! sends counts stands for voters of its own, up to a number that the election states, and two
//! promises differ:
//!
//! - [`Protects::Teacher`]: the labels hardly depend on any one teacher, whatever all the voters
//!   behind it do. This covers each of its voters, too, and takes noise in proportion to their
//!   number.
//! - [`Protects::Voter`]: the labels hardly depend on any one voter, who has one vote per sample
//!   behind one teacher. The noise is that of single votes. What a teacher's voters think
//!   together, such as how a whole ward voted, is *not* protected.

use std::fmt;
use std::sync::Arc;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use shield_bfv::argmax::tiny::TinyEngine;
use shield_bfv::argmax::{ArgmaxEngine, ArgmaxPlan, BallotKind};
use shield_bfv::trustees::{Jointly, Trustees};
use shield_bfv::{BfvEngine, Plan};
use shield_core::engine::{self, BATCH_DISTANCE, ClearEngine};
use shield_core::shared_noise::{NoiseFamily, SharedNoise};
use shield_core::{Classes, Election, Setting};
use shield_privacy::Mechanism;
use shield_privacy::mechanism::ArgmaxOfShares;
use shield_privacy::shared_argmax::SharedArgmax;
use shield_privacy::skellam::Sensitivity;
#[cfg(feature = "tfhe")]
use shield_tfhe::leveled::LeveledEngine;
use thiserror::Error;

use super::Engine;
use super::adapter::Adapter;
#[cfg(any(test, feature = "test-engine"))]
use super::faults;
use super::names::{EngineName, MechanismName, Protects};

/// Counts per class that teachers send, each of several voters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    voters: u32,
    protects: Protects,
}

impl Counts {
    /// The most voters behind a teacher: more than any plan has room for.
    pub const MAX_VOTERS: u32 = 10_000;

    /// Counts that sum to at most that many voters per sample.
    pub fn new(voters: u64, protects: Protects, law: NoiseFamily) -> Result<Self, SpecError> {
        let known = u32::try_from(voters).ok().filter(|v| (1..=Self::MAX_VOTERS).contains(v));
        match (known, law) {
            (None, _) => Err(SpecError::Voters(voters)),
            (Some(voters), NoiseFamily::Skellam) => Ok(Self { voters, protects }),
            (Some(_), _) => Err(SpecError::Law),
        }
    }

    /// The most voters that a teacher's counts on one sample stand for.
    pub fn voters(self) -> u32 {
        self.voters
    }

    /// Whose participation the cost is stated for.
    pub fn protects(self) -> Protects {
        self.protects
    }
}

/// A noisy argmax: its noise, and whether teachers send votes or counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoisyArgmax {
    /// The noise, in shares.
    pub noise: SharedNoise,
    /// Counts; one vote per sample without.
    pub counts: Option<Counts>,
    /// Noisy votes that a winner must have; every sample gets a label without.
    pub threshold: Option<u32>,
}

impl NoisyArgmax {
    /// The most that one ballot may add to the counts of a sample: what the engine has room for.
    pub fn ballot(&self) -> Sensitivity {
        self.counts.map_or(Sensitivity::Vote, |counts| Sensitivity::Counts(counts.voters))
    }

    /// The most that whoever is protected may change.
    pub fn sensitivity(&self) -> Sensitivity {
        match self.counts {
            Some(Counts { voters, protects: Protects::Teacher }) => Sensitivity::Counts(voters),
            Some(Counts { protects: Protects::Voter, .. }) | None => Sensitivity::Vote,
        }
    }

    /// Whose participation the cost is stated for.
    pub fn protects(&self) -> Protects {
        self.counts.map(Counts::protects).unwrap_or_default()
    }

    /// The accounting of a label.
    pub fn accounting(&self, classes: Classes) -> SharedArgmax {
        SharedArgmax::new(&self.noise, classes.count(), self.sensitivity())
            .expect("counts have Skellam noise")
    }
}

/// An engine, the mechanism that it computes, and who holds the key.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EngineSpec {
    engine: EngineName,
    argmax: Option<NoisyArgmax>,
    ballots: BallotKind,
    trustees: Option<Trustees>,
    proofs: bool,
}

/// An engine that there is not, or that cannot do an election.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SpecError {
    /// This program does not have it.
    #[error(
        "this program was built without the engine `{0}`; build it with \
         `cargo build --release --features tfhe` (it takes some minutes), or take `bfv`"
    )]
    NotBuilt(EngineName),
    /// It encrypts nothing.
    #[error(
        "the engine `clear` encrypts nothing, so no election takes it; take `engine = \"bfv\"`"
    )]
    Clear,
    /// The engine does not compute the mechanism.
    #[error(
        "the engine `{engine}` does not compute `noisy-argmax`; take `engine = \"bfv\"` \
         (--backend bfv)"
    )]
    Mechanism {
        /// The engine.
        engine: EngineName,
    },
    /// Tiny ballots of another engine or mechanism, under trustees' keys or with proofs.
    #[error(
        "tiny ballots are for --mechanism noisy-argmax with --backend bfv, for a key that the \
         student holds, and carry no proof; take --ballots checked, or leave --trustees and \
         --proofs out"
    )]
    Ballots,
    /// Tiny ballots of an election whose roles are in different places.
    #[error(
        "tiny ballots only run in one process so far (label, bench): in an election the student \
         would have to unlock every batch; take checked ballots"
    )]
    Unlocking,
    /// The engine has no keys that several parties make.
    #[error(
        "the engine `{engine}` has no key that trustees hold together: `tfhe` has no room for the \
         noise of several, and `clear` has no keys; take `engine = \"bfv\"` (--backend bfv)"
    )]
    Trustees {
        /// The engine.
        engine: EngineName,
    },
    /// Proofs that the engine does not make.
    #[error(
        "`proofs` are for ballots of votes on `engine = \"bfv\"` (--backend bfv); leave `proofs` \
         (--proofs) out"
    )]
    Proofs,
    /// A number of voters that is none.
    #[error("`voters_per_teacher` is {0}; it must be from 1 to {MAX}", MAX = Counts::MAX_VOTERS)]
    Voters(u64),
    /// A noise without accounting for counts.
    #[error("counts need `noise_law = \"skellam\"`: what they cost is proven for it alone")]
    Law,
    /// A noise that is only priced.
    #[error(
        "no engine draws noise of weighted bits; `bound` and `analyze` price it; take \
         --noise-law skellam"
    )]
    Bits,
    /// The engine cannot do this election.
    #[error("{0}")]
    Plan(String),
}

impl SpecError {
    fn plan(error: impl fmt::Display) -> Self {
        Self::Plan(error.to_string())
    }
}

/// Something to do with any engine: see [`EngineSpec::with`].
pub trait UseEngine: Sized {
    /// What comes of it.
    type Output;

    /// Does it.
    fn run<E: engine::Engine>(self, engine: E) -> Self::Output;

    /// Does it with an engine whose key trustees hold.
    fn run_jointly<E: Jointly>(self, engine: E) -> Self::Output {
        self.run(engine)
    }
}

/// An engine's view of an election, as far as it is known without keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outline {
    /// How many batches the engine makes of the samples.
    pub batches: usize,
    /// The statistical distance of the releases of all batches: [`engine::Engine::distance`].
    pub distance: f64,
    /// Whether the engine has audits.
    pub audited: bool,
}

impl EngineSpec {
    /// An engine for SHIELD, or for a noisy argmax.
    pub fn new(engine: EngineName, argmax: Option<NoisyArgmax>) -> Result<Self, SpecError> {
        if argmax.is_some_and(|argmax| matches!(argmax.noise.family(), NoiseFamily::Bits(_))) {
            return Err(SpecError::Bits);
        }
        if engine == EngineName::Tfhe && argmax.is_some() {
            return Err(SpecError::Mechanism { engine });
        }
        Ok(Self { engine, argmax, ..Self::default() })
    }

    /// The same with a key that trustees hold, if there are any.
    pub fn held_by(self, trustees: Option<Trustees>) -> Result<Self, SpecError> {
        if trustees.is_some() && self.engine != EngineName::Bfv {
            return Err(SpecError::Trustees { engine: self.engine });
        }
        Self { trustees, ..self }.whole()
    }

    /// The trustees who hold the key; `None` where the student does.
    pub fn trustees(&self) -> Option<Trustees> {
        self.trustees
    }

    /// The same with ballots of some kind, which the BFV engine's noisy argmax has.
    pub fn with_ballots(self, ballots: BallotKind) -> Result<Self, SpecError> {
        Self { ballots, ..self }.whole()
    }

    /// What a teacher of a noisy argmax sends.
    pub fn ballots(&self) -> BallotKind {
        self.ballots
    }

    /// The same whose ballots carry a proof that they are well formed and that their makers know
    /// them, or carry none.
    pub fn with_proofs(self, proofs: bool) -> Result<Self, SpecError> {
        if proofs && (self.engine != EngineName::Bfv || self.counts().is_some()) {
            return Err(SpecError::Proofs);
        }
        Self { proofs, ..self }.whole()
    }

    /// Whether ballots carry a proof.
    pub fn proofs(&self) -> bool {
        self.proofs
    }

    /// What was put together, if tiny ballots are part of it only where there are any.
    fn whole(self) -> Result<Self, SpecError> {
        let bfv = self.engine == EngineName::Bfv && self.argmax.is_some();
        let able = bfv && self.trustees.is_none() && !self.proofs;
        if self.ballots == BallotKind::Tiny && !able {
            return Err(SpecError::Ballots);
        }
        Ok(self)
    }

    /// The engine's name.
    pub fn engine_name(&self) -> EngineName {
        self.engine
    }

    /// The mechanism's name.
    pub fn mechanism_name(&self) -> MechanismName {
        self.argmax.map_or(MechanismName::Shield, |_| MechanismName::NoisyArgmax)
    }

    /// The noisy argmax; `None` for SHIELD.
    pub fn argmax(&self) -> Option<NoisyArgmax> {
        self.argmax
    }

    /// The most that a ballot of counts may hold; `None` where a ballot holds votes.
    pub fn counts(&self) -> Option<Counts> {
        self.argmax?.counts
    }

    /// The mechanism as the accountant has it, with SHIELD's setting where it is SHIELD.
    pub fn mechanism(&self, setting: &Setting) -> Mechanism {
        match self.argmax {
            None => Mechanism::Shield(setting.clone()),
            Some(NoisyArgmax { noise, threshold, .. }) => {
                Mechanism::NoisyArgmax(ArgmaxOfShares { noise, threshold })
            }
        }
    }

    /// The registry: makes the engine for an election, and does something with it.
    pub fn with<U: UseEngine>(&self, election: &Election, then: U) -> Result<U::Output, SpecError> {
        let election = election.clone();
        Ok(match (self.engine, self.argmax) {
            (EngineName::Bfv, None) => {
                let engine = match (self.trustees, self.proofs) {
                    (trustees, true) => BfvEngine::with_proofs(election, trustees),
                    (Some(trustees), false) => BfvEngine::with_trustees(election, trustees),
                    (None, false) => BfvEngine::new(election),
                };
                let engine = engine.map_err(SpecError::plan)?;
                if self.trustees.is_some() { then.run_jointly(engine) } else { then.run(engine) }
            }
            (EngineName::Bfv, Some(argmax)) => {
                let NoisyArgmax { noise, threshold, .. } = argmax;
                let ballot = argmax.ballot();
                if self.ballots == BallotKind::Tiny {
                    let engine = TinyEngine::with_counts(election, noise, ballot, threshold);
                    return Ok(then.run(engine.map_err(SpecError::plan)?));
                }
                let engine = match (self.trustees, self.proofs) {
                    (held, true) => ArgmaxEngine::with_proofs(election, noise, threshold, held),
                    (Some(trustees), false) => {
                        ArgmaxEngine::with_trustees(election, noise, ballot, threshold, trustees)
                    }
                    (None, false) => ArgmaxEngine::with_counts(election, noise, ballot, threshold),
                };
                let engine = engine.map_err(SpecError::plan)?;
                if self.trustees.is_some() { then.run_jointly(engine) } else { then.run(engine) }
            }
            #[cfg(feature = "tfhe")]
            (EngineName::Tfhe, None) => {
                then.run(LeveledEngine::new(election).map_err(SpecError::plan)?)
            }
            #[cfg(not(feature = "tfhe"))]
            (EngineName::Tfhe, None) => return Err(SpecError::NotBuilt(self.engine)),
            (engine @ EngineName::Tfhe, Some(_)) => return Err(SpecError::Mechanism { engine }),
            (EngineName::Clear, None) => then.run(ClearEngine::new(election)),
            (EngineName::Clear, Some(argmax)) => {
                let engine = ClearEngine::noisy_argmax(election, argmax.noise);
                then.run(engine.with_threshold(argmax.threshold))
            }
        })
    }

    /// The plan of a noisy argmax on BFV.
    pub fn argmax_plan(
        &self,
        election: &Election,
        argmax: &NoisyArgmax,
    ) -> Result<ArgmaxPlan, SpecError> {
        let (NoisyArgmax { noise, threshold, .. }, ballot) = (argmax, argmax.ballot());
        let plan = match (self.trustees, self.proofs) {
            (held, true) => ArgmaxPlan::with_proofs(election, noise, *threshold, held),
            (Some(trustees), false) => {
                ArgmaxPlan::with_trustees(election, noise, ballot, *threshold, trustees)
            }
            (None, false) => ArgmaxPlan::of_kind(self.ballots, election, noise, ballot, *threshold),
        };
        plan.map_err(SpecError::plan)
    }

    /// The plan of SHIELD on BFV.
    pub fn shield_plan(&self, election: &Election) -> Result<Plan, SpecError> {
        let plan = match (self.trustees, self.proofs) {
            (trustees, true) => Plan::with_proofs(election, trustees),
            (Some(trustees), false) => Plan::with_trustees(election, trustees),
            (None, false) => Plan::new(election),
        };
        plan.map_err(SpecError::plan)
    }

    /// The outline of an election. Plans only, where that is cheaper than [`Self::engine`].
    pub fn outline(&self, election: &Election) -> Result<Outline, SpecError> {
        let planned = |batches: usize, audited| {
            Ok(Outline { batches, distance: batches as f64 * BATCH_DISTANCE, audited })
        };
        match (self.engine, self.argmax) {
            _ if self.trustees.is_some() => self.with(election, Outlining),
            (EngineName::Bfv, None) => planned(self.shield_plan(election)?.batches(), true),
            (EngineName::Bfv, Some(argmax)) => {
                planned(self.argmax_plan(election, &argmax)?.batches(), false)
            }
            (EngineName::Clear, _) => planned(self.engine(election)?.batches(), false),
            (EngineName::Tfhe, _) => self.with(election, Outlining),
        }
    }

    /// The engine for an election, behind bytes.
    pub fn engine(&self, election: &Election) -> Result<Arc<dyn Engine>, SpecError> {
        #[cfg(any(test, feature = "test-engine"))]
        if self.engine == EngineName::Clear && self.argmax.is_none() && faults::can_be_chosen() {
            let engine = ClearEngine::with_batches_of(election.clone(), faults::SAMPLES_PER_BATCH);
            return Ok(Arc::new(Adapter::with_random(engine, faults::RANDOM)));
        }
        if self.engine == EngineName::Clear {
            return Err(SpecError::Clear);
        }
        if self.ballots == BallotKind::Tiny {
            return Err(SpecError::Unlocking);
        }
        self.with(election, Adapting)
    }
}

struct Outlining;

impl UseEngine for Outlining {
    type Output = Outline;

    fn run<E: engine::Engine>(self, engine: E) -> Outline {
        Outline {
            batches: engine.batches(),
            distance: engine.distance(),
            audited: engine.audits().is_some(),
        }
    }
}

struct Adapting;

impl UseEngine for Adapting {
    type Output = Arc<dyn Engine>;

    fn run<E: engine::Engine>(self, engine: E) -> Arc<dyn Engine> {
        Arc::new(Adapter::new(engine))
    }
}

impl fmt::Display for EngineSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}", self.mechanism_name(), self.engine)?;
        self.trustees.map_or(Ok(()), |trustees| write!(f, ", opened by {trustees} trustees"))
    }
}

/// The keys of machine-readable output, which are those of election files, but for `backend`.
impl Serialize for EngineSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("mechanism", &self.mechanism_name().to_string())?;
        map.serialize_entry("backend", &self.engine.to_string())?;
        if self.proofs {
            map.serialize_entry("proofs", &true)?;
        }
        if let Some(argmax) = &self.argmax {
            map.serialize_entry("noise", &argmax.noise.scale().get())?;
            map.serialize_entry("noise_law", &argmax.noise.family())?;
            map.serialize_entry("dropouts", &argmax.noise.dropouts())?;
            if let Some(counts) = argmax.counts {
                map.serialize_entry("voters_per_teacher", &counts.voters())?;
            }
            if let Some(threshold) = argmax.threshold {
                map.serialize_entry("threshold", &threshold)?;
            }
            if self.ballots != BallotKind::Checked {
                map.serialize_entry("ballots", self.ballots.name())?;
            }
            map.serialize_entry("protects", &argmax.protects().to_string())?;
        }
        if let Some(trustees) = self.trustees {
            map.serialize_entry("trustees", &trustees.count())?;
            map.serialize_entry("trustees_needed", &trustees.threshold())?;
        }
        map.end()
    }
}
