//! Keys, ballots and releases as bytes, in the frame of [`shield::framing`].
//!
//! A ballot's coefficients take 6 bytes (the lowest 16 bits are zero: [`super::ballot`]), a
//! release's 20 bits. A ballot has one length if its teacher voted and another if it abstained;
//! every other kind has one length under a plan.

use std::sync::Arc;

use shield::backend::Backend;
use shield::framing::{
    DecodeError, Header, KeyId, Kind, Reader, check_key, check_place, framed_bytes, open,
    presence_bytes, seal, write_presence,
};
use zeroize::Zeroizing;

use super::backend::LeveledBackend;
use super::ballot::{LeveledBallot, TRUNCATED_BITS};
use super::compact::ExpansionKey;
use super::keys::{self, EvaluationKey, PublicKey, SecretKey, ZeroKey};
use super::plan::Plan;
use super::release::{self, Release};
use super::ring::{DEGREE, Ring};
use super::switch::{self, SwitchKey};

/// Two bits a coefficient, which is -1, 0 or 1.
const SECRET_PAYLOAD: usize = DEGREE / 4;
const PUBLIC_PAYLOAD: usize = 32 + 8 * DEGREE;
/// Bytes of a ballot's coefficient.
const WORD: usize = (64 - TRUNCATED_BITS as usize) / 8;

/// A seed, and the bodies of all levels.
const SWITCH_PAYLOAD: usize = 32 + switch::GADGET.levels * 8 * DEGREE;

fn vote_payload(plan: &Plan) -> usize {
    plan.words() * WORD
}

/// The public key, and where ballots are compact the keys of the separation and of s^2.
fn evaluation_payload(plan: &Plan) -> usize {
    PUBLIC_PAYLOAD + plan.separation_steps().map_or(0, |steps| (steps + 1) * SWITCH_PAYLOAD)
}

/// Two coefficients share five bytes.
fn release_payload(plan: &Plan) -> usize {
    (DEGREE + plan.released()).div_ceil(2) * 5
}

pub(crate) fn ballot_bytes(plan: &Plan) -> usize {
    framed_bytes(presence_bytes(1) + vote_payload(plan))
}

pub(crate) fn public_key_bytes() -> usize {
    framed_bytes(PUBLIC_PAYLOAD)
}

pub(crate) fn evaluation_key_bytes(plan: &Plan) -> usize {
    framed_bytes(evaluation_payload(plan))
}

pub(crate) fn release_bytes(plan: &Plan) -> usize {
    framed_bytes(release_payload(plan))
}

fn write_zero_key(key: &ZeroKey) -> Vec<u8> {
    let mut payload = Vec::with_capacity(PUBLIC_PAYLOAD);
    payload.extend(key.seed);
    payload.extend(key.body.iter().flat_map(|word| word.to_le_bytes()));
    payload
}

fn read_poly(reader: &mut Reader) -> Option<Vec<u64>> {
    (0..DEGREE).map(|_| Some(u64::from_le_bytes(reader.array()?))).collect()
}

fn read_zero_key(
    kind: Kind,
    header: &Header,
    reader: &mut Reader,
) -> Result<Arc<ZeroKey>, DecodeError> {
    let mut read = || {
        let seed = reader.array()?;
        Some(ZeroKey::from_parts(&mut Ring::new(), seed, read_poly(reader)?))
    };
    let key = read().ok_or(DecodeError::Range { kind })?;
    check_key(kind, header.key, key.id())?;
    Ok(Arc::new(key))
}

fn write_switch_key(out: &mut Vec<u8>, key: &SwitchKey) {
    out.extend(key.seed);
    out.extend(key.bodies.iter().flatten().flat_map(|word| word.to_le_bytes()));
}

fn read_switch_key(reader: &mut Reader, ring: &mut Ring) -> Option<Arc<SwitchKey>> {
    let seed = reader.array()?;
    let bodies = (0..switch::GADGET.levels).map(|_| read_poly(reader)).collect::<Option<_>>()?;
    Some(Arc::new(SwitchKey::from_parts(ring, seed, bodies)))
}

/// Writing and reading, each kind by name.
impl LeveledBackend {
    /// The student's key as bytes: keep them where only the student reads.
    pub fn encode_secret_key(&self, key: &SecretKey) -> Zeroizing<Vec<u8>> {
        let byte = |four: &[u64]| {
            four.iter().rev().fold(0, |byte, s| byte << 2 | (s.wrapping_add(1) & 3) as u8)
        };
        let payload: Zeroizing<Vec<u8>> =
            Zeroizing::new(key.secret.chunks_exact(4).map(byte).collect());
        Zeroizing::new(seal(Kind::SecretKey, self.binding(), key.id, 0, &payload))
    }

    /// The student's key from bytes.
    pub fn decode_secret_key(&self, bytes: &[u8]) -> Result<SecretKey, DecodeError> {
        let kind = Kind::SecretKey;
        let (header, payload) = open(bytes, kind, self.binding(), SECRET_PAYLOAD)?;
        // Room for all at once: a vector that grows leaves copies behind that nobody wipes.
        let mut secret = Zeroizing::new(Vec::with_capacity(DEGREE));
        let trits = payload.iter().flat_map(|byte| (0..4).map(move |i| byte >> (2 * i) & 3));
        secret.extend(trits.map(|trit| u64::from(trit).wrapping_sub(1)));
        if secret.contains(&2) || !keys::is_usual(&secret) {
            return Err(DecodeError::Range { kind });
        }
        Ok(SecretKey { secret, id: header.key })
    }

    /// The teachers' key as bytes.
    pub fn encode_public_key(&self, key: &PublicKey) -> Vec<u8> {
        seal(Kind::PublicKey, self.binding(), key.id, 0, &write_zero_key(&key.zero))
    }

    /// The teachers' key from bytes.
    pub fn decode_public_key(&self, bytes: &[u8]) -> Result<PublicKey, DecodeError> {
        let kind = Kind::PublicKey;
        let (header, payload) = open(bytes, kind, self.binding(), PUBLIC_PAYLOAD)?;
        let zero = read_zero_key(kind, &header, &mut Reader::new(payload))?;
        Ok(PublicKey { zero, id: header.key })
    }

    /// The server's key as bytes.
    pub fn encode_evaluation_key(&self, key: &EvaluationKey) -> Vec<u8> {
        let mut payload = write_zero_key(&key.zero);
        for key in key.expansion.iter().flat_map(|key| key.steps.iter().chain([&key.square])) {
            write_switch_key(&mut payload, key);
        }
        seal(Kind::EvaluationKey, self.binding(), key.id, 0, &payload)
    }

    /// The server's key from bytes.
    pub fn decode_evaluation_key(&self, bytes: &[u8]) -> Result<EvaluationKey, DecodeError> {
        let kind = Kind::EvaluationKey;
        let length = evaluation_payload(self.plan());
        let (header, payload) = open(bytes, kind, self.binding(), length)?;
        let mut reader = Reader::new(payload);
        let zero = read_zero_key(kind, &header, &mut reader)?;
        let mut ring = Ring::new();
        let mut read = |steps| {
            let steps = (0..steps).map(|_| read_switch_key(&mut reader, &mut ring));
            let steps = steps.collect::<Option<_>>()?;
            Some(ExpansionKey { steps, square: read_switch_key(&mut reader, &mut ring)? })
        };
        let expansion = match self.plan().separation_steps() {
            None => None,
            Some(steps) => Some(read(steps).ok_or(DecodeError::Range { kind })?),
        };
        Ok(EvaluationKey { zero, expansion, id: header.key })
    }

    /// A ballot as bytes.
    pub fn encode_ballot(&self, ballot: &LeveledBallot) -> Vec<u8> {
        let mut payload = Vec::with_capacity(presence_bytes(1) + ballot.words.len() * WORD);
        write_presence(&mut payload, &ballot.presence);
        for word in &ballot.words {
            payload.extend(&word.to_le_bytes()[8 - WORD..]);
        }
        seal(Kind::Ballot, self.binding(), ballot.key, ballot.batch, &payload)
    }

    /// A ballot for a batch, under some keys, from bytes.
    pub fn decode_ballot(
        &self,
        bytes: &[u8],
        batch: usize,
        key: KeyId,
    ) -> Result<LeveledBallot, DecodeError> {
        let kind = Kind::Ballot;
        check_place(kind, bytes, self.binding(), batch, key)?;
        let samples = self.batch(batch).len();
        let (rows, presence) = {
            let length = self.ballot_length(bytes, samples)?;
            let (_, payload) = open(bytes, kind, self.binding(), length)?;
            let mut reader = Reader::new(payload);
            let presence = reader.presence(samples).ok_or(DecodeError::Range { kind })?;
            let rows = reader.take(length - presence_bytes(samples)).unwrap_or_default();
            if presence.is_nobody() != rows.is_empty() {
                return Err(DecodeError::Range { kind });
            }
            let word = |bytes: &[u8]| {
                bytes.iter().rev().fold(0_u64, |word, &byte| word << 8 | u64::from(byte))
                    << TRUNCATED_BITS
            };
            (rows.chunks_exact(WORD).map(word).collect(), presence)
        };
        Ok(LeveledBallot::new(rows, presence, batch, key))
    }

    /// Which of its two lengths an encoded ballot claims.
    fn ballot_length(&self, bytes: &[u8], samples: usize) -> Result<usize, DecodeError> {
        let absent = presence_bytes(samples);
        let voted = absent + vote_payload(self.plan());
        let claimed = Header::read(bytes)?.length;
        Ok(if claimed == absent as u64 { absent } else { voted })
    }

    /// A release as bytes.
    pub fn encode_release(&self, release: &Release) -> Vec<u8> {
        let mut payload = Vec::with_capacity(release_payload(self.plan()));
        for pair in release.words.chunks(2) {
            let upper = pair.get(1).copied().unwrap_or(0);
            let both = u64::from(pair[0]) | u64::from(upper) << release::BITS;
            payload.extend(&both.to_le_bytes()[..5]);
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
        let (_, payload) = open(bytes, kind, self.binding(), release_payload(self.plan()))?;
        let mask = (1_u64 << release::BITS) - 1;
        let halves = payload.chunks_exact(5).flat_map(|five| {
            let both = five.iter().rev().fold(0_u64, |both, &byte| both << 8 | u64::from(byte));
            [both & mask, both >> release::BITS]
        });
        let mut words: Vec<u32> =
            halves.map(|half| u32::try_from(half).unwrap_or(u32::MAX)).collect();
        let expected = DEGREE + self.plan().released();
        // Where the number of coefficients is odd, the last half must be zero.
        if words.len() > expected && words.pop() != Some(0) {
            return Err(DecodeError::Range { kind });
        }
        Ok(Release { words, batch, key })
    }
}
