//! What each kind of payload holds.

use shield::backend::{Payloads, Presence};
use shield::framing::{Kind, MadeFor, Reader};
use zeroize::Zeroizing;

use super::{ReadPoly, write_poly};
use crate::backend::BfvBackend;
use crate::ballot::BfvBallot;
use crate::keys::{self, Automorphisms, EvaluationKey, KeyId, PublicKey, Rotation, SecretKey};
use crate::release::Release;
use crate::ring::Context;
use crate::scheme::{Automorphism, Ciphertext, EncryptionKey, Secret, SwitchKey};

/// Purpose of the digest that names a set of keys.
const KEY_NAME: &str = "shield 2026 bfv key name v1";

/// The name of the keys that a public key belongs to.
pub(crate) fn key_id(context: &Context, key: &EncryptionKey) -> KeyId {
    let mut payload = Vec::new();
    write_public(&mut payload, context, key);
    KeyId::of_public_key(KEY_NAME, &payload)
}

fn write_public(out: &mut Vec<u8>, context: &Context, key: &EncryptionKey) {
    out.extend(key.seed);
    write_poly(out, context, &key.parts[0]);
}

fn write_switch(out: &mut Vec<u8>, context: &Context, key: &SwitchKey) {
    out.extend(key.seed);
    for [first, _] in &key.digits {
        write_poly(out, context, first);
    }
}

/// Reading what a payload is made of.
pub(super) trait ReadObjects {
    fn public(&mut self, context: &Context) -> Option<EncryptionKey>;
    fn switch(&mut self, context: &Context) -> Option<SwitchKey>;
    fn rotations(&mut self, context: &Context, exponents: Vec<u64>) -> Option<Vec<Rotation>>;
    fn ciphertext(&mut self, context: &Context, limbs: usize) -> Option<Ciphertext>;
}

impl ReadObjects for Reader<'_> {
    fn public(&mut self, context: &Context) -> Option<EncryptionKey> {
        let seed = self.array()?;
        let first = self.poly(context, context.limbs())?;
        Some(EncryptionKey::from_parts(context, seed, first))
    }

    fn switch(&mut self, context: &Context) -> Option<SwitchKey> {
        let seed = self.array()?;
        let first = (0..context.limbs()).map(|_| self.poly(context, context.limbs()));
        Some(SwitchKey::from_parts(context, seed, first.collect::<Option<_>>()?))
    }

    fn rotations(&mut self, context: &Context, exponents: Vec<u64>) -> Option<Vec<Rotation>> {
        let rotation = |exponent| {
            let automorphism = Automorphism::new(context.degree(), exponent);
            Some(Rotation { automorphism, key: self.switch(context)? })
        };
        exponents.into_iter().map(rotation).collect()
    }

    fn ciphertext(&mut self, context: &Context, limbs: usize) -> Option<Ciphertext> {
        Some(Ciphertext { parts: [self.poly(context, limbs)?, self.poly(context, limbs)?] })
    }
}

impl Payloads for BfvBackend {
    const KEY_NAME: &'static str = KEY_NAME;

    fn binding(&self) -> &[u8; 32] {
        &self.binding
    }

    fn secret_key_id(&self, key: &SecretKey) -> KeyId {
        key.id
    }

    fn public_key_id(&self, key: &PublicKey) -> KeyId {
        key.id
    }

    fn evaluation_key_id(&self, key: &EvaluationKey) -> KeyId {
        key.id
    }

    fn release_made_for(&self, release: &Release) -> MadeFor {
        release.made_for()
    }

    fn payload_bytes(&self, kind: Kind, samples: usize) -> usize {
        match kind {
            Kind::SecretKey => super::secret_payload(self.plan()),
            Kind::PublicKey => super::public_payload(self.plan()),
            Kind::EvaluationKey => super::evaluation_payload(self.plan()),
            Kind::Ballot => super::votes_payload(self.plan()),
            Kind::Release => super::release_payload(self.plan()),
            Kind::Audit => super::audit_payload(self.plan()),
            Kind::Verdict => super::verdict_payload(self.plan(), samples),
        }
    }

    fn write_secret_key(&self, out: &mut Vec<u8>, key: &SecretKey) {
        out.extend(key.secret.coefficients().chunks(4).map(|four| {
            four.iter().rev().fold(0, |byte, c| byte << 2 | (c + 1).cast_unsigned() as u8)
        }));
    }

    fn write_public_key(&self, out: &mut Vec<u8>, key: &PublicKey) {
        write_public(out, self.context(), &key.key);
    }

    fn write_evaluation_key(&self, out: &mut Vec<u8>, key: &EvaluationKey) {
        let context = self.context();
        write_public(out, context, &key.public);
        write_switch(out, context, &key.relinearisation);
        for rotation in key.run_turns.iter().chain(&key.run_fills).chain(&key.group_moves) {
            write_switch(out, context, &rotation.key);
        }
    }

    fn write_votes(&self, out: &mut Vec<u8>, ballot: &BfvBallot) {
        for part in ballot.ciphertexts.iter().flat_map(|c| &c.parts) {
            write_poly(out, self.context(), part);
        }
    }

    fn write_release(&self, out: &mut Vec<u8>, release: &Release) {
        for part in release.ciphertexts.iter().flat_map(|c| &c.parts) {
            write_poly(out, self.context(), part);
        }
    }

    fn read_secret_key(&self, payload: &mut Reader, id: KeyId) -> Option<SecretKey> {
        let degree = self.context().degree();
        let bytes = payload.take(super::secret_payload(self.plan()))?;
        let trits = bytes.iter().flat_map(|&byte| (0..4).map(move |i| byte >> (2 * i) & 3));
        // Room for all at once: a vector that grows leaves copies behind that nobody wipes.
        let mut coefficients = Zeroizing::new(Vec::with_capacity(degree));
        coefficients.extend(trits.map(|trit| i64::from(trit) - 1));
        Some(SecretKey { secret: Secret::from_coefficients(coefficients)?, id })
    }

    fn read_public_key(&self, payload: &mut Reader, id: KeyId) -> Option<PublicKey> {
        Some(PublicKey { key: payload.public(self.context())?, id })
    }

    fn read_evaluation_key(&self, payload: &mut Reader, id: KeyId) -> Option<EvaluationKey> {
        let context = self.context();
        let Automorphisms { turns, fills, moves } = keys::automorphisms(self.plan().layout());
        Some(EvaluationKey {
            id,
            public: payload.public(context)?,
            relinearisation: payload.switch(context)?,
            run_turns: payload.rotations(context, turns)?,
            run_fills: payload.rotations(context, fills)?,
            group_moves: payload.rotations(context, moves)?,
        })
    }

    fn read_votes(
        &self,
        payload: &mut Reader,
        presence: Presence,
        MadeFor { batch, key }: MadeFor,
    ) -> Option<BfvBallot> {
        let limbs = self.context().limbs();
        let ciphertexts = (0..self.plan().layout().planes())
            .map(|_| payload.ciphertext(self.context(), limbs))
            .collect::<Option<_>>()?;
        Some(BfvBallot { ciphertexts, presence, batch, key, digest: [0; 32] })
    }

    fn with_digest(&self, ballot: BfvBallot, digest: [u8; 32]) -> BfvBallot {
        BfvBallot { digest, ..ballot }
    }

    fn read_release(
        &self,
        payload: &mut Reader,
        MadeFor { batch, key }: MadeFor,
    ) -> Option<Release> {
        let ciphertexts = (0..self.plan().released_ciphertexts())
            .map(|_| payload.ciphertext(self.context(), 1))
            .collect::<Option<_>>()?;
        Some(Release { ciphertexts, batch, key })
    }
}
