//! Keys, ballots and releases as bytes, in the frame of [`shield::framing`].
//!
//! | kind | payload |
//! |---|---|
//! | secret key | a bit a coefficient |
//! | public key | two polynomials of 8-byte words |
//! | evaluation key | the public key, two seeds, and the bodies of the bootstrapping and of the switching key; masks grow from the seeds |
//! | ballot | presence, then the mask and the bodies, 4 bytes a word (5 for the noisy argmax) |
//! | release | the words of each washed ciphertext, 2 bytes each |
//!
//! Every kind has exactly one length under a plan, and every word of that length is a number of the
//! torus: there is nothing else to check.

use shield::backend::{Backend, Presence};
use shield::framing::{
    DecodeError, KeyId, Kind, Reader, check_key, check_place, framed_bytes, open, presence_bytes,
    seal, write_presence,
};
use zeroize::Zeroizing;

use super::backend::BootstrappedBackend;
use super::ballot::{BootstrappedBallot, BootstrappedRelease};
use super::keys::{BOOTSTRAP_WORDS, EvaluationKey, Packed, PublicKey, SWITCH_WORDS, SecretKey};
use super::parameters::RING;
use crate::noisy_argmax::NoisyArgmaxBackend;

const SECRET_PAYLOAD: usize = RING / 8;
const PUBLIC_PAYLOAD: usize = 2 * RING * 8;
const EVALUATION_PAYLOAD: usize = PUBLIC_PAYLOAD + 2 * 16 + 8 * (BOOTSTRAP_WORDS + SWITCH_WORDS);

/// What the engines' formats differ in.
pub(crate) struct Format<'a> {
    pub(crate) binding: &'a [u8; 32],
    /// Bits of a ballot's words: whole bytes.
    pub(crate) ballot_bits: u32,
    /// Whether a ballot speaks of every sample: who abstains sends a vote for nobody.
    pub(crate) all_present: bool,
    /// Numbers a vote is encrypted in.
    pub(crate) numbers: usize,
    /// Ciphertexts a label is released in.
    pub(crate) digits: usize,
}

fn write_words(out: &mut Vec<u8>, words: &[u64]) {
    out.extend(words.iter().flat_map(|word| word.to_le_bytes()));
}

fn read_words(reader: &mut Reader, count: usize) -> Option<Vec<u64>> {
    (0..count).map(|_| Some(u64::from_le_bytes(reader.array()?))).collect()
}

impl Format<'_> {
    fn word_bytes(&self) -> usize {
        self.ballot_bits as usize / 8
    }

    fn ballot_payload(&self, samples: usize) -> usize {
        presence_bytes(samples) + self.word_bytes() * (RING + samples * self.numbers)
    }

    fn release_payload(&self, samples: usize) -> usize {
        2 * samples * self.digits * (RING + 1)
    }

    fn encode_secret_key(&self, key: &SecretKey) -> Zeroizing<Vec<u8>> {
        let byte = |bits: &[u64]| {
            bits.iter().rev().fold(0_u8, |byte, &bit| byte << 1 | u8::from(bit == 1))
        };
        let payload = Zeroizing::new(key.bits.chunks_exact(8).map(byte).collect::<Vec<u8>>());
        Zeroizing::new(seal(Kind::SecretKey, self.binding, key.id, 0, &payload))
    }

    fn decode_secret_key(&self, bytes: &[u8]) -> Result<SecretKey, DecodeError> {
        let (header, payload) = open(bytes, Kind::SecretKey, self.binding, SECRET_PAYLOAD)?;
        // Room for all at once: a vector that grows leaves copies behind that nobody wipes.
        let mut bits = Zeroizing::new(Vec::with_capacity(RING));
        bits.extend(payload.iter().flat_map(|byte| (0..8).map(move |i| u64::from(byte >> i & 1))));
        Ok(SecretKey { bits, id: header.key })
    }

    fn encode_public_key(&self, key: &PublicKey) -> Vec<u8> {
        let mut payload = Vec::with_capacity(PUBLIC_PAYLOAD);
        write_words(&mut payload, &key.words);
        seal(Kind::PublicKey, self.binding, key.id, 0, &payload)
    }

    fn decode_public_key(&self, bytes: &[u8]) -> Result<PublicKey, DecodeError> {
        let kind = Kind::PublicKey;
        let (header, payload) = open(bytes, kind, self.binding, PUBLIC_PAYLOAD)?;
        let words = read_words(&mut Reader::new(payload), 2 * RING);
        let key = PublicKey::new(words.ok_or(DecodeError::Range { kind })?);
        check_key(kind, header.key, key.id)?;
        Ok(key)
    }

    fn encode_evaluation_key(&self, key: &EvaluationKey) -> Vec<u8> {
        let mut payload = Vec::with_capacity(EVALUATION_PAYLOAD);
        write_words(&mut payload, &key.public.words);
        payload.extend(key.seeds.iter().flat_map(|seed| seed.to_le_bytes()));
        write_words(&mut payload, &key.bootstrap_bodies);
        write_words(&mut payload, &key.switch_bodies);
        seal(Kind::EvaluationKey, self.binding, key.id(), 0, &payload)
    }

    fn decode_evaluation_key(&self, bytes: &[u8]) -> Result<EvaluationKey, DecodeError> {
        let kind = Kind::EvaluationKey;
        let (header, payload) = open(bytes, kind, self.binding, EVALUATION_PAYLOAD)?;
        let mut reader = Reader::new(payload);
        let mut read = || {
            let public = PublicKey::new(read_words(&mut reader, 2 * RING)?);
            let seeds =
                [u128::from_le_bytes(reader.array()?), u128::from_le_bytes(reader.array()?)];
            let bootstrap = read_words(&mut reader, BOOTSTRAP_WORDS)?;
            let switch = read_words(&mut reader, SWITCH_WORDS)?;
            Some((public, seeds, bootstrap, switch))
        };
        let (public, seeds, bootstrap, switch) = read().ok_or(DecodeError::Range { kind })?;
        // Before the masks are grown: that takes time and memory.
        check_key(kind, header.key, public.id)?;
        Ok(EvaluationKey::expand(public, seeds, bootstrap, switch))
    }

    fn encode_ballot(&self, ballot: &BootstrappedBallot) -> Vec<u8> {
        let samples = ballot.presence.len();
        let mut payload = Vec::with_capacity(self.ballot_payload(samples));
        write_presence(&mut payload, &ballot.presence);
        for word in ballot.packed.mask.iter().chain(&ballot.packed.bodies) {
            payload.extend(&word.to_le_bytes()[8 - self.word_bytes()..]);
        }
        seal(Kind::Ballot, self.binding, ballot.key, ballot.batch, &payload)
    }

    fn presence(&self, reader: &mut Reader, samples: usize) -> Option<Presence> {
        let presence = reader.presence(samples)?;
        let whole = (0..samples).all(|sample| presence.contains(sample));
        (whole || !self.all_present).then_some(presence)
    }

    fn decode_ballot(
        &self,
        bytes: &[u8],
        samples: usize,
        batch: usize,
        key: KeyId,
    ) -> Result<BootstrappedBallot, DecodeError> {
        let kind = Kind::Ballot;
        check_place(kind, bytes, self.binding, batch, key)?;
        let (_, payload) = open(bytes, kind, self.binding, self.ballot_payload(samples))?;
        let mut reader = Reader::new(payload);
        let mut read = || {
            let presence = self.presence(&mut reader, samples)?;
            let mut words = |count: usize| -> Option<Vec<u64>> {
                let word = |_| {
                    let mut word = [0; 8];
                    word[8 - self.word_bytes()..].copy_from_slice(reader.take(self.word_bytes())?);
                    Some(u64::from_le_bytes(word))
                };
                (0..count).map(word).collect()
            };
            let packed = Packed { mask: words(RING)?, bodies: words(samples * self.numbers)? };
            Some(BootstrappedBallot { packed, presence, batch, key })
        };
        read().ok_or(DecodeError::Range { kind })
    }

    /// The presence of a ballot all of which is sound: a damaged one would leave a teacher out in
    /// silence.
    fn peek_presence(
        &self,
        bytes: &[u8],
        samples: usize,
        batch: usize,
    ) -> Result<Presence, DecodeError> {
        let kind = Kind::Ballot;
        let header = shield::framing::Header::read(bytes)?;
        check_place(kind, bytes, self.binding, batch, header.key)?;
        let (_, payload) = open(bytes, kind, self.binding, self.ballot_payload(samples))?;
        self.presence(&mut Reader::new(payload), samples).ok_or(DecodeError::Range { kind })
    }

    fn encode_release(&self, release: &BootstrappedRelease) -> Vec<u8> {
        let payload: Vec<u8> = release.words.iter().flat_map(|word| word.to_le_bytes()).collect();
        seal(Kind::Release, self.binding, release.key, release.batch, &payload)
    }

    fn decode_release(
        &self,
        bytes: &[u8],
        samples: usize,
        batch: usize,
        key: KeyId,
    ) -> Result<BootstrappedRelease, DecodeError> {
        let kind = Kind::Release;
        check_place(kind, bytes, self.binding, batch, key)?;
        let (_, payload) = open(bytes, kind, self.binding, self.release_payload(samples))?;
        let words = payload.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
        Ok(BootstrappedRelease { words: words.collect(), batch, key })
    }
}

macro_rules! bytes {
    ($($engine:ty),*) => {$(
        /// Writing and reading, each kind by name.
        impl $engine {
            /// The student's key as bytes: keep them where only the student reads.
            pub fn encode_secret_key(&self, key: &SecretKey) -> Zeroizing<Vec<u8>> {
                self.format().encode_secret_key(key)
            }

            /// The student's key from bytes.
            pub fn decode_secret_key(&self, bytes: &[u8]) -> Result<SecretKey, DecodeError> {
                self.format().decode_secret_key(bytes)
            }

            /// The teachers' key as bytes.
            pub fn encode_public_key(&self, key: &PublicKey) -> Vec<u8> {
                self.format().encode_public_key(key)
            }

            /// The teachers' key from bytes.
            pub fn decode_public_key(&self, bytes: &[u8]) -> Result<PublicKey, DecodeError> {
                self.format().decode_public_key(bytes)
            }

            /// The server's key as bytes.
            pub fn encode_evaluation_key(&self, key: &EvaluationKey) -> Vec<u8> {
                self.format().encode_evaluation_key(key)
            }

            /// The server's key from bytes.
            pub fn decode_evaluation_key(&self, bytes: &[u8]) -> Result<EvaluationKey, DecodeError> {
                self.format().decode_evaluation_key(bytes)
            }

            /// A ballot as bytes.
            pub fn encode_ballot(&self, ballot: &BootstrappedBallot) -> Vec<u8> {
                self.format().encode_ballot(ballot)
            }

            /// A ballot for a batch, under some keys, from bytes.
            pub fn decode_ballot(
                &self,
                bytes: &[u8],
                batch: usize,
                key: KeyId,
            ) -> Result<BootstrappedBallot, DecodeError> {
                self.format().decode_ballot(bytes, self.batch(batch).len(), batch, key)
            }

            /// On which samples the teacher of an encoded ballot voted. The whole ballot must be
            /// sound.
            pub fn peek_presence(&self, bytes: &[u8], batch: usize) -> Result<Presence, DecodeError> {
                self.format().peek_presence(bytes, self.batch(batch).len(), batch)
            }

            /// A release as bytes.
            pub fn encode_release(&self, release: &BootstrappedRelease) -> Vec<u8> {
                self.format().encode_release(release)
            }

            /// A release for a batch, under some keys, from bytes.
            pub fn decode_release(
                &self,
                bytes: &[u8],
                batch: usize,
                key: KeyId,
            ) -> Result<BootstrappedRelease, DecodeError> {
                self.format().decode_release(bytes, self.batch(batch).len(), batch, key)
            }

            /// Bytes of the ballot of a full batch.
            pub fn ballot_bytes(&self) -> usize {
                framed_bytes(self.format().ballot_payload(self.batch(0).len()))
            }

            /// Bytes of the release of a full batch.
            pub fn release_bytes(&self) -> usize {
                framed_bytes(self.format().release_payload(self.batch(0).len()))
            }

            /// Bytes of the public key.
            pub fn public_key_bytes(&self) -> usize {
                framed_bytes(PUBLIC_PAYLOAD)
            }

            /// Bytes of the evaluation key.
            pub fn evaluation_key_bytes(&self) -> usize {
                framed_bytes(EVALUATION_PAYLOAD)
            }
        }
    )*};
}
bytes!(BootstrappedBackend, NoisyArgmaxBackend);
