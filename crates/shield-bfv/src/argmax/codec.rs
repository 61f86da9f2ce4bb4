//! What keys, ballots and releases contain, as bytes. Every kind has exactly one length under a
//! plan, and every residue is checked against its prime.

use shield::backend::{Payloads, Presence};
use shield::framing::{Kind, MadeFor, Reader, framed_bytes, presence_bytes};
use zeroize::Zeroizing;

use super::backend::ArgmaxBackend;
use super::keys::ArgmaxEvaluationKey;
use super::layout::Places;
use super::plan::ArgmaxPlan;
use crate::ballot::BfvBallot;
use crate::keys::{KeyId, PublicKey, Rotation, SecretKey};
use crate::release::Release;
use crate::ring::{Context, Poly, packing};
use crate::scheme::{Automorphism, Ciphertext, EncryptionKey, Secret, SwitchKey};

/// Purpose of the digest that names a set of keys.
const KEY_NAME: &str = "shield 2026 bfv argmax key name v1";

fn write_poly<R>(out: &mut Vec<u8>, context: &Context, poly: &Poly<R>) {
    for (limb, ntt) in poly.iter().zip(context.q()) {
        packing::pack(out, limb, prime_bits(ntt.modulus().value()));
    }
}

fn prime_bits(p: u64) -> u32 {
    u64::BITS - p.leading_zeros()
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

fn read_poly<R>(payload: &mut Reader, context: &Context, limbs: usize) -> Option<Poly<R>> {
    let mut poly = Poly::unset(context.degree(), limbs);
    for (limb, ntt) in poly.iter_mut().zip(context.q()) {
        let p = ntt.modulus().value();
        let bits = prime_bits(p);
        packing::unpack(payload.take(limb.len() * bits as usize / 8)?, bits, limb);
        // No early end: the loop then runs on whole registers.
        if limb.iter().fold(0, |largest, &x| x.max(largest)) >= p {
            return None;
        }
    }
    Some(poly)
}

fn read_public(payload: &mut Reader, context: &Context) -> Option<EncryptionKey> {
    let seed = payload.array()?;
    let first = read_poly(payload, context, context.limbs())?;
    Some(EncryptionKey::from_parts(context, seed, first))
}

fn read_switch(payload: &mut Reader, context: &Context, limbs: usize) -> Option<SwitchKey> {
    let seed = payload.array()?;
    let first = (0..limbs).map(|_| read_poly(payload, context, limbs));
    let first = first.collect::<Option<Vec<_>>>()?;
    Some(SwitchKey::from_parts(context, seed, first))
}

fn read_ciphertext(payload: &mut Reader, context: &Context, limbs: usize) -> Option<Ciphertext> {
    let (first, second) =
        (read_poly(payload, context, limbs)?, read_poly(payload, context, limbs)?);
    Some(Ciphertext { parts: [first, second] })
}

/// The name of the keys that a public key belongs to.
pub(crate) fn key_id(context: &Context, key: &EncryptionKey) -> KeyId {
    let mut payload = Vec::new();
    write_public(&mut payload, context, key);
    KeyId::of_public_key(KEY_NAME, &payload)
}

fn poly_bytes(plan: &ArgmaxPlan, limbs: usize) -> usize {
    let bits = plan.moduli_bits().first().copied().unwrap_or(0) as usize;
    plan.ring_degree() * limbs * bits / 8
}

fn switch_bytes(plan: &ArgmaxPlan, limbs: usize) -> usize {
    32 + limbs * poly_bytes(plan, limbs)
}

fn payload_bytes(plan: &ArgmaxPlan, kind: Kind) -> usize {
    let limbs = plan.moduli_bits().len();
    let public = 32 + poly_bytes(plan, limbs);
    match kind {
        // Two bits per coefficient, which is -1, 0 or 1.
        Kind::SecretKey => plan.ring_degree() / 4,
        Kind::PublicKey => public,
        Kind::EvaluationKey => {
            let levels = [plan.start(), limbs, plan.wins()];
            public + levels.map(|limbs| switch_bytes(plan, limbs)).iter().sum::<usize>()
        }
        Kind::Ballot => 2 * poly_bytes(plan, limbs),
        Kind::Release => 2 * poly_bytes(plan, 1),
        Kind::Audit | Kind::Verdict => 0,
    }
}

/// Bytes of a full batch's ballot.
pub(crate) fn ballot_bytes(plan: &ArgmaxPlan) -> usize {
    framed_bytes(presence_bytes(plan.samples_per_batch()) + payload_bytes(plan, Kind::Ballot))
}

/// Bytes of the public key.
pub(crate) fn public_key_bytes(plan: &ArgmaxPlan) -> usize {
    framed_bytes(payload_bytes(plan, Kind::PublicKey))
}

/// Bytes of the evaluation key.
pub(crate) fn evaluation_key_bytes(plan: &ArgmaxPlan) -> usize {
    framed_bytes(payload_bytes(plan, Kind::EvaluationKey))
}

/// Bytes of a batch's release.
pub(crate) fn release_bytes(plan: &ArgmaxPlan) -> usize {
    framed_bytes(payload_bytes(plan, Kind::Release))
}

impl Payloads for ArgmaxBackend {
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

    fn evaluation_key_id(&self, key: &ArgmaxEvaluationKey) -> KeyId {
        key.id
    }

    fn release_made_for(&self, release: &Release) -> MadeFor {
        release.made_for()
    }

    fn payload_bytes(&self, kind: Kind, _samples: usize) -> usize {
        payload_bytes(self.plan(), kind)
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
