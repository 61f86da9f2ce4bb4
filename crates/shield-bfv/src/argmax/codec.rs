//! What keys, ballots and releases contain, as bytes. Every kind has exactly one length under a
//! plan, and every residue is checked against its prime.

use shield::backend::{Payloads, Presence};
use shield::framing::{Kind, MadeFor, Reader};
use zeroize::Zeroizing;

use super::backend::ArgmaxBackend;
use super::keys::{self, ArgmaxEvaluationKey};
use super::layout::Places;
use super::sizes;
use crate::ballot::BfvBallot;
use crate::bytes::{
    read_ciphertext, read_public, read_switch, write_poly, write_public, write_switch,
};
use crate::keys::{KeyId, PublicKey, Rotation, SecretKey};
use crate::release::Release;
use crate::scheme::{Automorphism, Secret};

impl Payloads for ArgmaxBackend {
    const KEY_NAME: &'static str = keys::NAME;

    fn binding(&self) -> &[u8; 32] {
        &self.binding
    }

    fn secret_key_id(&self, key: &SecretKey) -> KeyId {
        key.id
    }

    fn public_key_id(&self, key: &PublicKey) -> KeyId {
        key.id
    }

    fn evaluation_key_id(&self, key: &ArgmaxEvaluationKey) -> KeyId {
        key.id
    }

    fn release_made_for(&self, release: &Release) -> MadeFor {
        release.made_for()
    }

    fn payload_bytes(&self, kind: Kind, _samples: usize) -> usize {
        sizes::payload_bytes(self.plan(), kind)
    }

    /// Who abstains sends a vote for nobody: a ballot that leaves a sample out is none.
    fn accepts(&self, presence: &Presence) -> bool {
        (0..presence.len()).all(|sample| presence.contains(sample))
    }

    fn write_secret_key(&self, out: &mut Vec<u8>, key: &SecretKey) {
        out.extend(key.secret.coefficients().chunks(4).map(|four| {
            four.iter().rev().fold(0, |byte, c| byte << 2 | (c + 1).cast_unsigned() as u8)
        }));
    }

    fn write_public_key(&self, out: &mut Vec<u8>, key: &PublicKey) {
        write_public(out, self.context(), &key.key);
    }

    fn write_evaluation_key(&self, out: &mut Vec<u8>, key: &ArgmaxEvaluationKey) {
        write_public(out, self.context(), &key.public);
        for key in [&key.relinearisation, &key.step.key, &key.leap.key] {
            write_switch(out, self.context(), key);
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
        let bytes = payload.take(degree / 4)?;
        let trits = bytes.iter().flat_map(|&byte| (0..4).map(move |i| byte >> (2 * i) & 3));
        // Room for all at once: a vector that grows leaves copies behind that nobody wipes.
        let mut coefficients = Zeroizing::new(Vec::with_capacity(degree));
        coefficients.extend(trits.map(|trit| i64::from(trit) - 1));
        Some(SecretKey { secret: Secret::from_coefficients(coefficients)?, id })
    }

    fn read_public_key(&self, payload: &mut Reader, id: KeyId) -> Option<PublicKey> {
        Some(PublicKey { key: read_public(payload, self.context())?, id })
    }

    fn read_evaluation_key(&self, payload: &mut Reader, id: KeyId) -> Option<ArgmaxEvaluationKey> {
        let (context, plan) = (self.context(), self.plan());
        let public = read_public(payload, context)?;
        let relinearisation = read_switch(payload, context, plan.start())?;
        let mut rotation = |by: usize, limbs: usize| {
            let exponent = Places::exponent(context.degree(), plan.pairing().run(), by);
            let automorphism = Automorphism::new(context.degree(), exponent);
            Some(Rotation { automorphism, key: read_switch(payload, context, limbs)? })
        };
        let step = rotation(1, context.limbs())?;
        let leap = rotation(plan.steps().leap(), plan.wins())?;
        Some(ArgmaxEvaluationKey { public, relinearisation, step, leap, id })
    }

    fn read_votes(
        &self,
        payload: &mut Reader,
        presence: Presence,
        MadeFor { batch, key }: MadeFor,
    ) -> Option<BfvBallot> {
        let ciphertext = read_ciphertext(payload, self.context(), self.context().limbs())?;
        Some(BfvBallot { ciphertexts: vec![ciphertext], presence, batch, key, digest: [0; 32] })
    }

    fn read_release(
        &self,
        payload: &mut Reader,
        MadeFor { batch, key }: MadeFor,
    ) -> Option<Release> {
        let ciphertexts = vec![read_ciphertext(payload, self.context(), 1)?];
        Some(Release { ciphertexts, batch, key })
    }
}
