//! The server's key of a noisy argmax.

use std::fmt;

use rand::{CryptoRng, RngCore};
use shield_core::engine::Key;

use super::plan::ArgmaxPlan;
use crate::keys::{KeyId, PublicKey, Rotation, SecretKey, opaque};
use crate::layout::turn;
use crate::ring::Context;
use crate::scheme::{EncryptionKey, Secret, SwitchKey};

/// Purpose of the digest that names a set of keys.
pub(super) const NAME: &str = "shield 2026 bfv argmax key name v1";

/// What the server aggregates with. It opens nothing. Each part is as long as the levels at which
/// it is used need it.
#[derive(Clone)]
pub struct ArgmaxEvaluationKey {
    pub(crate) public: EncryptionKey,
    pub(crate) relinearisation: SwitchKey,
    /// To the next slot of a run.
    pub(crate) step: Rotation,
    /// As many slots further as a leap has steps.
    pub(crate) leap: Rotation,
    pub(crate) id: KeyId,
}

opaque!(ArgmaxEvaluationKey);

impl ArgmaxEvaluationKey {
    /// The key of its parts, the rotations in the order of the plan.
    pub(crate) fn of_parts(
        public: EncryptionKey,
        relinearisation: SwitchKey,
        mut rotations: Vec<Rotation>,
        id: KeyId,
    ) -> Self {
        let leap = rotations.swap_remove(1);
        let step = rotations.swap_remove(0);
        Self { public, relinearisation, step, leap, id }
    }

    /// Whether every part has the limbs that the plan wants.
    pub(crate) fn fits(&self, plan: &ArgmaxPlan) -> bool {
        let ring = plan.ring();
        let public = &self.public.parts[0];
        public.degree() == ring.degree
            && public.limbs() == ring.limbs
            && self.relinearisation.digits.len() == plan.start()
            && self.step.key.digits.len() == plan.step()
            && self.leap.key.digits.len() == plan.wins()
    }
}

impl ArgmaxPlan {
    /// Exponent and limbs of the rotations that the server needs: a step, and a leap.
    pub(crate) fn rotation_keys(&self) -> [(u64, usize); 2] {
        let leap = exponent(self, self.steps().leap());
        [(exponent(self, 1), self.ring().limbs), (leap, self.wins())]
    }
}

/// The exponent of the automorphism to the slot of a run that is `by` further on.
pub(super) fn exponent(plan: &ArgmaxPlan, by: usize) -> u64 {
    let degree = plan.ring_degree();
    turn(degree, (degree / 2 / plan.pairing().run() * by) as u64)
}

/// Fresh keys for a plan.
pub(crate) fn generate<R: RngCore + CryptoRng>(
    context: &Context,
    plan: &ArgmaxPlan,
    name: impl Fn(&EncryptionKey) -> KeyId,
    rng: &mut R,
) -> (SecretKey, PublicKey, ArgmaxEvaluationKey) {
    let secret = Secret::random(context, rng);
    let public = EncryptionKey::generate(context, &secret, rng);
    let id = name(&public);
    let relinearisation = SwitchKey::relinearisation(context, plan.start(), &secret, rng);
    let mut rotation = |by: usize, limbs: usize| {
        Rotation::generate(context, limbs, &secret, exponent(plan, by), rng)
    };
    let step = rotation(1, plan.step());
    let leap = rotation(plan.steps().leap(), plan.wins());
    let evaluation =
        ArgmaxEvaluationKey { public: public.clone(), relinearisation, step, leap, id };
    (SecretKey { secret, id }, PublicKey { key: public, id }, evaluation)
}
