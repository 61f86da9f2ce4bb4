//! The server's key of a noisy argmax.

use std::fmt;

use rand::{CryptoRng, RngCore};

use super::layout::Places;
use super::plan::ArgmaxPlan;
use crate::keys::{KeyId, PublicKey, Rotation, SecretKey};
use crate::ring::Context;
use crate::scheme::{Automorphism, EncryptionKey, Secret, SwitchKey};

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

impl fmt::Debug for ArgmaxEvaluationKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArgmaxEvaluationKey").field("id", &self.id).finish_non_exhaustive()
    }
}

impl ArgmaxEvaluationKey {
    /// The name of the set of keys that this one belongs to.
    pub fn id(&self) -> KeyId {
        self.id
    }

    /// Whether every part has the limbs that the plan wants.
    pub(crate) fn fits(&self, plan: &ArgmaxPlan) -> bool {
        let ring = plan.ring();
        let public = &self.public.parts[0];
        public.degree() == ring.degree
            && public.limbs() == ring.limbs
            && self.relinearisation.digits.len() == plan.start()
            && self.step.key.digits.len() == ring.limbs
            && self.leap.key.digits.len() == plan.wins()
    }
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
    let relinearisation = SwitchKey::relinearisation_at(context, plan.start(), &secret, rng);
    let mut rotation = |by: usize, limbs: usize| {
        let exponent = Places::exponent(context.degree(), plan.pairing().run(), by);
        let key = SwitchKey::automorphism_at(context, limbs, &secret, exponent, rng);
        Rotation { automorphism: Automorphism::new(context.degree(), exponent), key }
    };
    let step = rotation(1, context.limbs());
    let leap = rotation(plan.steps().leap(), plan.wins());
    let evaluation =
        ArgmaxEvaluationKey { public: public.clone(), relinearisation, step, leap, id };
    (SecretKey { secret, id }, PublicKey { key: public, id }, evaluation)
}
