//! What an engine tells key making and opening: which keys it needs, and how a release is read.

use shield_core::engine::{Alarm, Engine, Revealed};

use super::error::TrusteeError;
use crate::argmax::{ArgmaxEngine, ArgmaxEvaluationKey};
use crate::engine::BfvEngine;
use crate::keys::{self, Automorphisms, EvaluationKey, KeyId, PublicKey, Rotation};
use crate::quorum::OpeningPlan;
use crate::release::Release;
use crate::ring::Context;
use crate::scheme::{Automorphism, EncryptionKey, SwitchKey};

/// The switching keys of an evaluation key.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Limbs of the relinearisation key.
    pub(crate) relinearisation: usize,
    /// Exponent and limbs of each rotation.
    pub(crate) rotations: Vec<(u64, usize)>,
}

/// What an engine stands on.
#[derive(Debug)]
pub struct Ground<'a> {
    pub(crate) context: &'a Context,
    pub(crate) opening: Option<OpeningPlan>,
}

/// What an evaluation key is put together from: as many rotations as in the shape, and in its
/// order.
pub struct KeyParts {
    pub(crate) public: EncryptionKey,
    pub(crate) relinearisation: SwitchKey,
    pub(crate) rotations: Vec<Rotation>,
    pub(crate) id: KeyId,
}

/// An engine's own side of joint keys.
pub trait Parts: Engine<PublicKey = PublicKey, Release = Release> {
    /// Its ring, and how its releases are opened.
    fn ground(&self) -> Ground<'_>;

    /// The switching keys that it needs.
    fn shape(&self) -> Shape;

    /// The evaluation key of its parts.
    fn evaluation_key(&self, parts: KeyParts) -> Self::EvaluationKey;

    /// What the slots of a release of some batch show.
    fn read(&self, batch: usize, slots: &[Vec<u64>]) -> Revealed;
}

/// The ring of an engine.
pub(super) fn context<E: Jointly>(engine: &E) -> &Context {
    engine.ground().context
}

/// How releases are opened, if trustees hold the key.
pub(super) fn opening<E: Jointly>(engine: &E) -> Result<OpeningPlan, TrusteeError> {
    engine.ground().opening.ok_or(TrusteeError::NoTrustees)
}

/// An engine whose key trustees can hold: [`BfvEngine`] and [`ArgmaxEngine`].
pub trait Jointly: Parts {}

impl Jointly for BfvEngine {}
impl Jointly for ArgmaxEngine {}

/// The rotations of a shape, from their keys.
pub(super) fn rotations(degree: usize, shape: &Shape, keys: Vec<SwitchKey>) -> Vec<Rotation> {
    let exponents = shape.rotations.iter().map(|&(exponent, _)| exponent);
    let rotation =
        |(exponent, key)| Rotation { automorphism: Automorphism::new(degree, exponent), key };
    exponents.zip(keys).map(rotation).collect()
}

impl Parts for BfvEngine {
    fn ground(&self) -> Ground<'_> {
        Ground { context: self.context(), opening: self.plan().opening() }
    }

    fn shape(&self) -> Shape {
        let limbs = self.context().limbs();
        let Automorphisms { turns, fills, moves } = keys::automorphisms(self.plan().layout());
        let all = turns.into_iter().chain(fills).chain(moves);
        Shape { relinearisation: limbs, rotations: all.map(|g| (g, limbs)).collect() }
    }

    fn evaluation_key(&self, parts: KeyParts) -> EvaluationKey {
        let KeyParts { public, relinearisation, mut rotations, id } = parts;
        let Automorphisms { turns, fills, .. } = keys::automorphisms(self.plan().layout());
        let group_moves = rotations.split_off(turns.len() + fills.len());
        let run_fills = rotations.split_off(turns.len());
        EvaluationKey { public, relinearisation, run_turns: rotations, run_fills, group_moves, id }
    }

    fn read(&self, batch: usize, slots: &[Vec<u64>]) -> Revealed {
        self.revealed(batch, slots)
    }
}

impl Parts for ArgmaxEngine {
    fn ground(&self) -> Ground<'_> {
        Ground { context: &self.context, opening: self.plan().opening() }
    }

    fn shape(&self) -> Shape {
        let plan = self.plan();
        Shape { relinearisation: plan.start(), rotations: plan.rotation_keys().into() }
    }

    fn evaluation_key(&self, parts: KeyParts) -> ArgmaxEvaluationKey {
        let KeyParts { public, relinearisation, rotations, id } = parts;
        ArgmaxEvaluationKey::of_parts(public, relinearisation, rotations, id)
    }

    /// Every sample has one winner, or none where a threshold may win.
    fn read(&self, batch: usize, slots: &[Vec<u64>]) -> Revealed {
        let labels = self.labels(batch, &slots.concat());
        let unlabelled = (0..).zip(&labels).filter(|(_, label)| label.is_none());
        let alarms = if self.always_labels() {
            unlabelled.map(|(sample, _)| (sample, Alarm::NoLabel)).collect()
        } else {
            vec![]
        };
        Revealed { labels, alarms }
    }
}
