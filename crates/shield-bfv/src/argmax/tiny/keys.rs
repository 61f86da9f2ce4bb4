//! The keys of an election with tiny ballots.

use std::fmt;

use rand::{CryptoRng, RngCore};
use shield_core::engine::Key;

use super::seal::{OpeningKey, SealingKey};
use crate::argmax::keys::ArgmaxEvaluationKey;
use crate::argmax::mlwe::Grid;
use crate::argmax::plan::ArgmaxPlan;
use crate::keys::{KeyId, Rotation, SecretKey, opaque};
use crate::layout::turn;
use crate::ring::Context;

/// Purpose of the digest that names a set of keys.
pub(super) const NAME: &str = "shield 2026 tiny ballots key name v1";

/// The student's key: it opens releases, and the seeds that teachers sealed. Wiped from memory when
/// it goes.
#[derive(Clone)]
pub struct TinySecretKey {
    pub(super) secret: SecretKey,
    pub(super) opening: OpeningKey,
    pub(super) id: KeyId,
}

/// What teachers seal their seeds with: 1,184 bytes.
#[derive(Clone)]
pub struct TinyPublicKey {
    pub(super) sealing: SealingKey,
    pub(super) id: KeyId,
}

/// What the server aggregates with. It opens nothing.
#[derive(Clone)]
pub struct TinyEvaluationKey {
    pub(super) sealing: SealingKey,
    pub(super) argmax: ArgmaxEvaluationKey,
    pub(super) turns: Turns,
    pub(super) id: KeyId,
}

opaque!(TinySecretKey, TinyPublicKey, TinyEvaluationKey);

/// The rotations from secrets to differences: see [`crate::argmax::mlwe::Route`].
#[derive(Clone)]
pub(super) struct Turns {
    /// By a column.
    pub(super) near: Rotation,
    /// By as many columns as near rotations reach.
    pub(super) far: Rotation,
    /// To the next point.
    pub(super) close: Rotation,
    /// By as many points as close rotations reach.
    pub(super) leap: Rotation,
}

impl Turns {
    /// What `make` makes of the exponent and the limbs of each rotation, in order.
    pub(super) fn of(
        plan: &ArgmaxPlan,
        grid: Grid,
        mut make: impl FnMut(u64, usize) -> Option<Rotation>,
    ) -> Option<Self> {
        let (route, degree) = (plan.route(grid), plan.ring_degree());
        let point = grid.columns() / grid.module().degree();
        let by = [1, route.near, point, point * route.close];
        let mut rotations = by
            .into_iter()
            .zip(plan.tiny_levels(grid))
            .map(|(columns, limbs)| make(turn(degree, columns as u64), limbs));
        let mut next = || rotations.next().flatten();
        Some(Self { near: next()?, far: next()?, close: next()?, leap: next()? })
    }

    pub(super) fn all(&self) -> [&Rotation; 4] {
        [&self.near, &self.far, &self.close, &self.leap]
    }
}

impl TinyEvaluationKey {
    /// Whether every part has the limbs that the plan wants.
    pub(super) fn fits(&self, plan: &ArgmaxPlan, grid: Grid) -> bool {
        let levels = self.turns.all().map(|rotation| rotation.key.digits.len());
        self.argmax.fits(plan) && levels == plan.tiny_levels(grid)
    }
}

/// Fresh keys for a plan, where `argmax` makes those of the argmax under a name.
pub(super) fn generate<R: RngCore + CryptoRng>(
    context: &Context,
    plan: &ArgmaxPlan,
    grid: Grid,
    rng: &mut R,
) -> Option<(TinySecretKey, TinyPublicKey, TinyEvaluationKey)> {
    let opening = OpeningKey::random(rng);
    let sealing = opening.sealing();
    let id = KeyId::of_public_key(NAME, &sealing.to_bytes());
    let (secret, _, argmax) = crate::argmax::keys::generate(context, plan, |_| id, rng);
    let turns = Turns::of(plan, grid, |exponent, limbs| {
        Some(Rotation::generate(context, limbs, &secret.secret, exponent, rng))
    })?;
    let evaluation = TinyEvaluationKey { sealing: sealing.clone(), argmax, turns, id };
    Some((TinySecretKey { secret, opening, id }, TinyPublicKey { sealing, id }, evaluation))
}
