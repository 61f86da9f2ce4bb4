//! The keys of an election, and who may hold them.
//!
//! | key | holder | opens |
//! |---|---|---|
//! | [`SecretKey`] | the student, nobody else | every ballot and every release |
//! | [`PublicKey`] | anyone | nothing |
//! | [`EvaluationKey`] | the server (anyone may have it) | nothing |
//!
//! Student and server must not work together: the student's key reads every ballot, and the server
//! has them.

use std::fmt;

use rand::{CryptoRng, RngCore};
use shield_core::engine::Key;
pub use shield_core::framing::KeyId;

use crate::layout::{Coding, Layout};
use crate::ring::Context;
use crate::scheme::{Automorphism, Ciphertext, Digits, EncryptionKey, Secret, SwitchKey};

/// Purpose of the digest that names a set of keys.
pub(crate) const NAME: &str = "shield 2026 bfv key name v1";

/// The student's key: it opens every ballot. Wiped from memory when it goes.
#[derive(Clone)]
pub struct SecretKey {
    pub(crate) secret: Secret,
    pub(crate) id: KeyId,
}

/// What the teachers encrypt with.
#[derive(Clone)]
pub struct PublicKey {
    pub(crate) key: EncryptionKey,
    pub(crate) id: KeyId,
}

/// What the server aggregates with. It opens nothing.
#[derive(Clone)]
pub struct EvaluationKey {
    pub(crate) public: EncryptionKey,
    pub(crate) relinearisation: SwitchKey,
    /// Rotations within runs, stage by stage: see [`Layout::run_stages`].
    pub(crate) run_turns: Vec<Rotation>,
    /// Rotations by what the turns leave of a run: see [`Layout::run_fills`].
    pub(crate) run_fills: Vec<Rotation>,
    pub(crate) group_moves: Vec<Rotation>,
    pub(crate) id: KeyId,
}

/// An automorphism with the key that brings its result back under the secret.
#[derive(Clone)]
pub(crate) struct Rotation {
    pub(crate) automorphism: Automorphism,
    pub(crate) key: SwitchKey,
}

/// A key that shows its name, and nothing else.
macro_rules! opaque {
    ($($name:ident),*) => {$(
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).field("id", &self.id).finish_non_exhaustive()
            }
        }

        impl Key for $name {
            fn id(&self) -> KeyId {
                self.id
            }
        }
    )*};
}
pub(crate) use opaque;
opaque!(SecretKey, PublicKey, EvaluationKey);

impl Rotation {
    /// A rotation of ciphertexts of at most `limbs` limbs by the automorphism X -> X^exponent.
    pub(crate) fn generate<R: RngCore + CryptoRng>(
        context: &Context,
        limbs: usize,
        secret: &Secret,
        exponent: u64,
        rng: &mut R,
    ) -> Self {
        let key = SwitchKey::automorphism(context, limbs, secret, exponent, rng);
        Self { automorphism: Automorphism::new(context.degree(), exponent), key }
    }

    /// The ciphertext of the permuted slots.
    pub(crate) fn rotate(&self, context: &Context, c: &Ciphertext) -> Ciphertext {
        self.automorphism.rotate(context, &self.key, c, None)
    }

    /// The same, for a ciphertext whose digits are known.
    pub(crate) fn rotate_with(
        &self,
        context: &Context,
        c: &Ciphertext,
        digits: &Digits,
    ) -> Ciphertext {
        self.automorphism.rotate(context, &self.key, c, Some(digits))
    }
}

/// Exponents of the automorphisms that a plan needs: to combine runs, to fill them, and to move
/// between groups.
pub(crate) struct Automorphisms {
    pub(crate) turns: Vec<u64>,
    pub(crate) fills: Vec<u64>,
    pub(crate) moves: Vec<u64>,
}

/// What [`Automorphisms`] a layout needs.
pub(crate) fn automorphisms(layout: &Layout) -> Automorphisms {
    Automorphisms {
        turns: layout.run_stages().concat(),
        fills: layout.run_fills(),
        moves: layout.group_moves(),
    }
}

impl EvaluationKey {
    /// The sum over the stages of every run, in every slot of it: see [`Layout::run_stages`].
    pub(crate) fn stage_sum(
        &self,
        context: &Context,
        layout: &Layout,
        summands: Ciphertext,
    ) -> Ciphertext {
        let mut turns = self.run_turns.iter();
        layout.run_stages().iter().fold(summands, |mut sum, stage| {
            if let [_] = stage[..] {
                if let Some(rotation) = turns.next() {
                    let rotated = rotation.rotate(context, &sum);
                    sum.add(context, &rotated);
                }
                return sum;
            }
            let digits = Digits::of(context, &sum);
            let start = sum.clone();
            for rotation in turns.by_ref().take(stage.len()) {
                sum.add(context, &rotation.rotate_with(context, &start, &digits));
            }
            sum
        })
    }

    /// The sum over all slots of all runs of a sample, in every one of them.
    pub(crate) fn sample_sum(
        &self,
        context: &Context,
        layout: &Layout,
        summands: Ciphertext,
    ) -> Ciphertext {
        let mut sum = self.stage_sum(context, layout, summands);
        for rotation in self.run_fills.iter().chain(&self.group_moves) {
            let rotated = rotation.rotate(context, &sum);
            sum.add(context, &rotated);
        }
        sum
    }
}

/// How many rotations the evaluation key of a layout has: runs, fills, moves.
pub(crate) fn rotations(layout: &Layout) -> usize {
    let Automorphisms { turns, fills, moves } = automorphisms(layout);
    turns.len() + fills.len() + moves.len()
}

/// Fresh keys for a layout.
pub(crate) fn generate<R: RngCore + CryptoRng>(
    context: &Context,
    layout: &Layout,
    name: impl Fn(&EncryptionKey) -> KeyId,
    rng: &mut R,
) -> (SecretKey, PublicKey, EvaluationKey) {
    let secret = Secret::random(context, rng);
    let public = EncryptionKey::generate(context, &secret, rng);
    let id = name(&public);
    let limbs = context.limbs();
    let relinearisation = SwitchKey::relinearisation(context, limbs, &secret, rng);
    let mut rotations = |exponents: Vec<u64>| {
        let rotation = |exponent| Rotation::generate(context, limbs, &secret, exponent, rng);
        exponents.into_iter().map(rotation).collect::<Vec<_>>()
    };
    let Automorphisms { turns, fills, moves } = automorphisms(layout);
    let evaluation = EvaluationKey {
        public: public.clone(),
        relinearisation,
        run_turns: rotations(turns),
        run_fills: rotations(fills),
        group_moves: rotations(moves),
        id,
    };
    (SecretKey { secret, id }, PublicKey { key: public, id }, evaluation)
}

/// A coding as one byte.
pub(crate) fn coding_byte(coding: Coding) -> u8 {
    match coding {
        Coding::OneHot => 0,
        Coding::PackedBits => 1,
        Coding::BitsAcross => 2,
    }
}
