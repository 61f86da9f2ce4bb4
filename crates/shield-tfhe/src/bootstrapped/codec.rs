//! Keys, ballots and releases as bytes, in the frame of [`shield::framing`].
//!
//! | kind | payload |
//! |---|---|
//! | secret key | a bit per coefficient |
//! | public key | two polynomials of 8-byte words |
//! | evaluation key | the public key, two seeds, and the bodies of bootstrapping and switching key |
//! | ballot | presence, then mask and bodies, 4 bytes per word (5 for the noisy argmax) |
//! | release | the words of each flooded ciphertext, 2 bytes each |
//!
//! The masks of the evaluation key are expanded from its seeds.
//!
//! Every kind has exactly one length under a plan, and every word of that length is a number of the
//! torus: there is nothing else to check.

use shield::backend::Presence;
use shield::framing::{KeyId, Kind, MadeFor, Reader};
use zeroize::Zeroizing;

use super::ballot::{BootstrappedBallot, BootstrappedRelease};
use super::keys::{
    BOOTSTRAP_WORDS, EvaluationKey, Packed, PublicKey, SWITCH_WORDS, SecretKey, write_words,
};
use super::parameters::RING;

const SECRET_PAYLOAD: usize = RING / 8;
const PUBLIC_PAYLOAD: usize = 2 * RING * 8;
const EVALUATION_PAYLOAD: usize = PUBLIC_PAYLOAD + 2 * 16 + 8 * (BOOTSTRAP_WORDS + SWITCH_WORDS);

/// Whose votes a ballot must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attendance {
    /// A teacher may leave samples out.
    Any,
    /// A ballot covers every sample: who abstains sends a vote for nobody.
    EverySample,
}

/// What the engines' formats differ in.
pub(crate) struct Format {
    /// Bits of a ballot's words: whole bytes.
    pub(crate) ballot_bits: u32,
    pub(crate) attendance: Attendance,
    /// Numbers that a vote is encrypted in.
    pub(crate) numbers: usize,
    /// Ciphertexts that a label is released in.
    pub(crate) digits: usize,
}

fn read_words(payload: &mut Reader, count: usize) -> Option<Vec<u64>> {
    (0..count).map(|_| Some(u64::from_le_bytes(payload.array()?))).collect()
}

pub(crate) fn write_secret_key(out: &mut Vec<u8>, key: &SecretKey) {
    let byte =
        |bits: &[u64]| bits.iter().rev().fold(0_u8, |byte, &bit| byte << 1 | u8::from(bit == 1));
    out.extend(key.bits.chunks_exact(8).map(byte));
}

pub(crate) fn read_secret_key(payload: &mut Reader, id: KeyId) -> Option<SecretKey> {
    // Room for all at once: a vector that grows leaves copies behind that nobody wipes.
    let mut bits = Zeroizing::new(Vec::with_capacity(RING));
    let bytes = payload.take(SECRET_PAYLOAD)?;
    bits.extend(bytes.iter().flat_map(|byte| (0..8).map(move |i| u64::from(byte >> i & 1))));
    Some(SecretKey { bits, id })
}

pub(crate) fn write_evaluation_key(out: &mut Vec<u8>, key: &EvaluationKey) {
    write_words(out, &key.public.words);
    out.extend(key.seeds.iter().flat_map(|seed| seed.to_le_bytes()));
    write_words(out, &key.bootstrap_bodies);
    write_words(out, &key.switch_bodies);
}

pub(crate) fn read_public_key(payload: &mut Reader, id: KeyId) -> Option<PublicKey> {
    Some(PublicKey { words: read_words(payload, 2 * RING)?, id })
}

pub(crate) fn read_evaluation_key(payload: &mut Reader, id: KeyId) -> Option<EvaluationKey> {
    let public = read_public_key(payload, id)?;
    let seeds = [u128::from_le_bytes(payload.array()?), u128::from_le_bytes(payload.array()?)];
    let bootstrap = read_words(payload, BOOTSTRAP_WORDS)?;
    let switch = read_words(payload, SWITCH_WORDS)?;
    Some(EvaluationKey::expand(public, seeds, bootstrap, switch))
}

impl Format {
    fn word_bytes(&self) -> usize {
        self.ballot_bits as usize / 8
    }

    pub(crate) fn payload_bytes(&self, kind: Kind, samples: usize) -> usize {
        match kind {
            Kind::SecretKey => SECRET_PAYLOAD,
            Kind::PublicKey => PUBLIC_PAYLOAD,
            Kind::EvaluationKey => EVALUATION_PAYLOAD,
            Kind::Ballot => self.word_bytes() * (RING + samples * self.numbers),
            Kind::Release => 2 * samples * self.digits * (RING + 1),
            Kind::Audit | Kind::Verdict => 0,
        }
    }

    pub(crate) fn write_votes(&self, out: &mut Vec<u8>, ballot: &BootstrappedBallot) {
        for word in ballot.packed.mask.iter().chain(&ballot.packed.bodies) {
            out.extend(&word.to_le_bytes()[8 - self.word_bytes()..]);
        }
    }

    pub(crate) fn read_votes(
        &self,
        payload: &mut Reader,
        presence: Presence,
        made_for: MadeFor,
    ) -> Option<BootstrappedBallot> {
        let mut words = |count: usize| -> Option<Vec<u64>> {
            let word = |_| {
                let mut word = [0; 8];
                word[8 - self.word_bytes()..].copy_from_slice(payload.take(self.word_bytes())?);
                Some(u64::from_le_bytes(word))
            };
            (0..count).map(word).collect()
        };
        let packed = Packed { mask: words(RING)?, bodies: words(presence.len() * self.numbers)? };
        Some(BootstrappedBallot { packed, presence, made_for })
    }

    pub(crate) fn read_release(
        &self,
        payload: &mut Reader,
        samples: usize,
        made_for: MadeFor,
    ) -> Option<BootstrappedRelease> {
        let bytes = payload.take(self.payload_bytes(Kind::Release, samples))?;
        let words = bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
        Some(BootstrappedRelease { words: words.collect(), made_for })
    }
}

macro_rules! payloads {
    ($engine:ty) => {
        impl ::shield::backend::Payloads for $engine {
            const KEY_NAME: &'static str = $crate::bootstrapped::keys::KEY_NAME;

            fn binding(&self) -> &[u8; 32] {
                &self.binding
            }

            fn secret_key_id(
                &self,
                key: &$crate::bootstrapped::SecretKey,
            ) -> ::shield::framing::KeyId {
                key.id
            }

            fn public_key_id(
                &self,
                key: &$crate::bootstrapped::PublicKey,
            ) -> ::shield::framing::KeyId {
                key.id
            }

            fn evaluation_key_id(
                &self,
                key: &$crate::bootstrapped::EvaluationKey,
            ) -> ::shield::framing::KeyId {
                key.id()
            }

            fn release_made_for(
                &self,
                release: &$crate::bootstrapped::BootstrappedRelease,
            ) -> ::shield::framing::MadeFor {
                release.made_for
            }

            fn payload_bytes(&self, kind: ::shield::framing::Kind, samples: usize) -> usize {
                self.format().payload_bytes(kind, samples)
            }

            fn accepts(&self, presence: &::shield::backend::Presence) -> bool {
                self.format().attendance == $crate::bootstrapped::codec::Attendance::Any
                    || presence.is_complete()
            }

            fn write_secret_key(&self, out: &mut Vec<u8>, key: &$crate::bootstrapped::SecretKey) {
                $crate::bootstrapped::codec::write_secret_key(out, key);
            }

            fn write_public_key(&self, out: &mut Vec<u8>, key: &$crate::bootstrapped::PublicKey) {
                $crate::bootstrapped::keys::write_words(out, &key.words);
            }

            fn write_evaluation_key(
                &self,
                out: &mut Vec<u8>,
                key: &$crate::bootstrapped::EvaluationKey,
            ) {
                $crate::bootstrapped::codec::write_evaluation_key(out, key);
            }

            fn write_votes(
                &self,
                out: &mut Vec<u8>,
                ballot: &$crate::bootstrapped::BootstrappedBallot,
            ) {
                self.format().write_votes(out, ballot);
            }

            fn write_release(
                &self,
                out: &mut Vec<u8>,
                release: &$crate::bootstrapped::BootstrappedRelease,
            ) {
                out.extend(release.words.iter().flat_map(|word| word.to_le_bytes()));
            }

            fn read_secret_key(
                &self,
                payload: &mut ::shield::framing::Reader,
                id: ::shield::framing::KeyId,
            ) -> Option<$crate::bootstrapped::SecretKey> {
                $crate::bootstrapped::codec::read_secret_key(payload, id)
            }

            fn read_public_key(
                &self,
                payload: &mut ::shield::framing::Reader,
                id: ::shield::framing::KeyId,
            ) -> Option<$crate::bootstrapped::PublicKey> {
                $crate::bootstrapped::codec::read_public_key(payload, id)
            }

            fn read_evaluation_key(
                &self,
                payload: &mut ::shield::framing::Reader,
                id: ::shield::framing::KeyId,
            ) -> Option<$crate::bootstrapped::EvaluationKey> {
                $crate::bootstrapped::codec::read_evaluation_key(payload, id)
            }

            fn read_votes(
                &self,
                payload: &mut ::shield::framing::Reader,
                presence: ::shield::backend::Presence,
                made_for: ::shield::framing::MadeFor,
            ) -> Option<$crate::bootstrapped::BootstrappedBallot> {
                self.format().read_votes(payload, presence, made_for)
            }

            fn read_release(
                &self,
                payload: &mut ::shield::framing::Reader,
                made_for: ::shield::framing::MadeFor,
            ) -> Option<$crate::bootstrapped::BootstrappedRelease> {
                self.format().read_release(
                    payload,
                    ::shield::backend::Backend::batch(self, made_for.batch).len(),
                    made_for,
                )
            }
        }
    };
}
pub(crate) use payloads;
