//! What each kind of payload holds.

use shield::backend::{Payloads, Presence};
use shield::framing::{Kind, MadeFor, Reader};
use zeroize::Zeroizing;

use crate::backend::BfvBackend;
use crate::ballot::BfvBallot;
use crate::bytes::{
    read_ciphertext, read_public, read_switch, write_poly, write_public, write_switch,
};
use crate::keys::{self, Automorphisms, EvaluationKey, KeyId, PublicKey, Rotation, SecretKey};
use crate::plan::sizes;
use crate::release::Release;
use crate::ring::Context;
use crate::scheme::{Automorphism, Secret};

fn read_rotations(
    payload: &mut Reader,
    context: &Context,
    exponents: Vec<u64>,
) -> Option<Vec<Rotation>> {
    let rotation = |exponent| {
        let automorphism = Automorphism::new(context.degree(), exponent);
        let key = read_switch(payload, context, context.limbs())?;
        Some(Rotation { automorphism, key })
    };
    exponents.into_iter().map(rotation).collect()
}

impl Payloads for BfvBackend {
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

    fn evaluation_key_id(&self, key: &EvaluationKey) -> KeyId {
        key.id
    }

    fn release_made_for(&self, release: &Release) -> MadeFor {
        release.made_for()
    }

    fn payload_bytes(&self, kind: Kind, samples: usize) -> usize {
        match kind {
            Kind::SecretKey => sizes::secret_payload(self.plan()),
            Kind::PublicKey => sizes::public_payload(self.plan()),
            Kind::EvaluationKey => sizes::evaluation_payload(self.plan()),
            Kind::Ballot => sizes::votes_payload(self.plan()),
            Kind::Release => sizes::release_payload(self.plan()),
            Kind::Audit => sizes::audit_payload(self.plan()),
            Kind::Verdict => sizes::verdict_payload(self.plan(), samples),
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
        let bytes = payload.take(sizes::secret_payload(self.plan()))?;
        let trits = bytes.iter().flat_map(|&byte| (0..4).map(move |i| byte >> (2 * i) & 3));
        // Room for all at once: a vector that grows leaves copies behind that nobody wipes.
        let mut coefficients = Zeroizing::new(Vec::with_capacity(degree));
        coefficients.extend(trits.map(|trit| i64::from(trit) - 1));
        Some(SecretKey { secret: Secret::from_coefficients(coefficients)?, id })
    }

    fn read_public_key(&self, payload: &mut Reader, id: KeyId) -> Option<PublicKey> {
        Some(PublicKey { key: read_public(payload, self.context())?, id })
    }

    fn read_evaluation_key(&self, payload: &mut Reader, id: KeyId) -> Option<EvaluationKey> {
        let context = self.context();
        let Automorphisms { turns, fills, moves } = keys::automorphisms(self.plan().layout());
        Some(EvaluationKey {
            id,
            public: read_public(payload, context)?,
            relinearisation: read_switch(payload, context, context.limbs())?,
            run_turns: read_rotations(payload, context, turns)?,
            run_fills: read_rotations(payload, context, fills)?,
            group_moves: read_rotations(payload, context, moves)?,
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
            .map(|_| read_ciphertext(payload, self.context(), limbs))
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
            .map(|_| read_ciphertext(payload, self.context(), 1))
            .collect::<Option<_>>()?;
        Some(Release { ciphertexts, batch, key })
    }
}
