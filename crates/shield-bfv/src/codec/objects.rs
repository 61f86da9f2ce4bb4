//! What each kind of payload holds.

use shield::backend::{Backend, Presence};
use shield::framing::{Reader, check_key, check_place, open, seal, write_presence};
use zeroize::Zeroizing;

use super::{DecodeError, Header, Kind, ReadPoly, write_poly};
use crate::backend::BfvBackend;
use crate::ballot::BfvBallot;
use crate::keys::{self, EvaluationKey, KeyId, PublicKey, Rotation, SecretKey};
use crate::release::Release;
use crate::ring::Context;
use crate::scheme::{Automorphism, Ciphertext, EncryptionKey, Secret, SwitchKey};

/// The name of the keys that a public key belongs to.
pub(crate) fn key_id(context: &Context, key: &EncryptionKey) -> KeyId {
    let mut payload = Vec::new();
    write_public(&mut payload, context, key);
    KeyId::from_bytes(blake3::derive_key("shield 2026 bfv key name v1", &payload))
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

/// Writing and reading, each kind by name.
impl BfvBackend {
    /// The student's key as bytes: keep them where only the student reads.
    pub fn encode_secret_key(&self, key: &SecretKey) -> Zeroizing<Vec<u8>> {
        let trits = key.secret.coefficients().chunks(4).map(|four| {
            four.iter().rev().fold(0, |byte, c| byte << 2 | (c + 1).cast_unsigned() as u8)
        });
        let payload = Zeroizing::new(trits.collect::<Vec<u8>>());
        Zeroizing::new(seal(Kind::SecretKey, self.binding(), key.id, 0, &payload))
    }

    /// The student's key from bytes.
    pub fn decode_secret_key(&self, bytes: &[u8]) -> Result<SecretKey, DecodeError> {
        let kind = Kind::SecretKey;
        let degree = self.context().degree();
        let (header, payload) = open(bytes, kind, self.binding(), degree / 4)?;
        let trits = payload.iter().flat_map(|&byte| (0..4).map(move |i| byte >> (2 * i) & 3));
        // Room for all at once: a vector that grows leaves copies behind that nobody wipes.
        let mut coefficients = Zeroizing::new(Vec::with_capacity(degree));
        coefficients.extend(trits.map(|trit| i64::from(trit) - 1));
        let secret = Secret::from_coefficients(coefficients);
        let secret = secret.ok_or(DecodeError::Range { kind })?;
        Ok(SecretKey { secret, id: header.key })
    }

    /// The teachers' key as bytes.
    pub fn encode_public_key(&self, key: &PublicKey) -> Vec<u8> {
        let mut payload = Vec::with_capacity(super::public_payload(self.plan()));
        write_public(&mut payload, self.context(), &key.key);
        seal(Kind::PublicKey, self.binding(), key.id, 0, &payload)
    }

    /// The teachers' key from bytes.
    pub fn decode_public_key(&self, bytes: &[u8]) -> Result<PublicKey, DecodeError> {
        let kind = Kind::PublicKey;
        let length = super::public_payload(self.plan());
        let (header, payload) = open(bytes, kind, self.binding(), length)?;
        let key = Reader::new(payload).public(self.context()).ok_or(DecodeError::Range { kind })?;
        let id = key_id(self.context(), &key);
        check_key(kind, header.key, id)?;
        Ok(PublicKey { key, id })
    }

    /// The server's key as bytes.
    pub fn encode_evaluation_key(&self, key: &EvaluationKey) -> Vec<u8> {
        let context = self.context();
        let mut payload = Vec::with_capacity(super::evaluation_payload(self.plan()));
        write_public(&mut payload, context, &key.public);
        write_switch(&mut payload, context, &key.relinearisation);
        for rotation in key.class_sums.iter().chain(&key.group_moves) {
            write_switch(&mut payload, context, &rotation.key);
        }
        seal(Kind::EvaluationKey, self.binding(), key.id, 0, &payload)
    }

    /// The server's key from bytes.
    pub fn decode_evaluation_key(&self, bytes: &[u8]) -> Result<EvaluationKey, DecodeError> {
        let kind = Kind::EvaluationKey;
        let context = self.context();
        let length = super::evaluation_payload(self.plan());
        let (header, payload) = open(bytes, kind, self.binding(), length)?;
        let mut reader = Reader::new(payload);
        let (sums, moves) = keys::automorphisms(self.plan().layout());
        let mut read = || {
            let public = reader.public(context)?;
            Some(EvaluationKey {
                id: key_id(context, &public),
                public,
                relinearisation: reader.switch(context)?,
                class_sums: reader.rotations(context, sums.clone())?,
                group_moves: reader.rotations(context, moves.clone())?,
            })
        };
        let key = read().ok_or(DecodeError::Range { kind })?;
        check_key(kind, header.key, key.id)?;
        Ok(key)
    }

    /// A ballot as bytes.
    pub fn encode_ballot(&self, ballot: &BfvBallot) -> Vec<u8> {
        let samples = ballot.presence.len();
        let mut payload = Vec::with_capacity(super::ballot_payload(self.plan(), samples));
        write_presence(&mut payload, &ballot.presence);
        for part in &ballot.ciphertext.parts {
            write_poly(&mut payload, self.context(), part);
        }
        seal(Kind::Ballot, self.binding(), ballot.key, ballot.batch, &payload)
    }

    /// A ballot for a batch, under some keys, from bytes.
    pub fn decode_ballot(
        &self,
        bytes: &[u8],
        batch: usize,
        key: KeyId,
    ) -> Result<BfvBallot, DecodeError> {
        let kind = Kind::Ballot;
        let samples = self.batch(batch).len();
        check_place(kind, bytes, self.binding(), batch, key)?;
        let length = super::ballot_payload(self.plan(), samples);
        let (_, payload) = open(bytes, kind, self.binding(), length)?;
        let mut reader = Reader::new(payload);
        let mut read = || {
            let presence = reader.presence(samples)?;
            let ciphertext = reader.ciphertext(self.context(), self.context().limbs())?;
            Some(BfvBallot { ciphertext, presence, batch, key, digest: super::digest(bytes) })
        };
        read().ok_or(DecodeError::Range { kind })
    }

    /// On which samples the teacher of an encoded ballot voted. The whole ballot must be sound: a
    /// damaged presence would leave a teacher out in silence.
    pub fn peek_presence(&self, bytes: &[u8], batch: usize) -> Result<Presence, DecodeError> {
        let kind = Kind::Ballot;
        let samples = self.batch(batch).len();
        let header = Header::read(bytes)?;
        check_place(kind, bytes, self.binding(), batch, header.key)?;
        let length = super::ballot_payload(self.plan(), samples);
        let (_, payload) = open(bytes, kind, self.binding(), length)?;
        Reader::new(payload).presence(samples).ok_or(DecodeError::Range { kind })
    }

    /// A release as bytes.
    pub fn encode_release(&self, release: &Release) -> Vec<u8> {
        let mut payload = Vec::with_capacity(super::release_payload(self.plan()));
        for part in release.ciphertexts.iter().flat_map(|c| &c.parts) {
            write_poly(&mut payload, self.context(), part);
        }
        seal(Kind::Release, self.binding(), release.key, release.batch, &payload)
    }

    /// A release for a batch, under some keys, from bytes.
    pub fn decode_release(
        &self,
        bytes: &[u8],
        batch: usize,
        key: KeyId,
    ) -> Result<Release, DecodeError> {
        let kind = Kind::Release;
        check_place(kind, bytes, self.binding(), batch, key)?;
        let length = super::release_payload(self.plan());
        let (_, payload) = open(bytes, kind, self.binding(), length)?;
        let mut reader = Reader::new(payload);
        let ciphertexts = (0..self.plan().released_ciphertexts())
            .map(|_| reader.ciphertext(self.context(), 1))
            .collect::<Option<_>>()
            .ok_or(DecodeError::Range { kind })?;
        Ok(Release { ciphertexts, batch, key })
    }
}
