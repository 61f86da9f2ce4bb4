//! Keys, ballots and releases as bytes, in the frame of [`shield::framing`].
//!
//! A ballot's coefficients take 6 bytes (the lowest 16 bits are zero: [`super::ballot`]), a
//! release's 20 bits. A ballot has one length if its teacher voted and another if it abstained;
//! every other kind has one length under a plan.

use std::sync::Arc;

use shield::backend::{Payloads, Presence};
use shield::framing::{KeyId, Kind, MadeFor, Reader};
use zeroize::Zeroizing;

use super::backend::LeveledBackend;
use super::ballot::LeveledBallot;
use super::compact::ExpansionKey;
use super::keys::{self, EvaluationKey, PublicKey, SecretKey};
use super::parameters::{RELEASE_BITS, TRUNCATED_BITS};
use super::plan::{BALLOT_WORD, PUBLIC_PAYLOAD};
use super::release::Release;
use super::ring::{DEGREE, Ring};
use super::switch::{self, SwitchKey};
use super::zero_key::{self, ZeroKey};

/// Two bits per coefficient, which is -1, 0 or 1.
const SECRET_PAYLOAD: usize = DEGREE / 4;

fn read_poly(reader: &mut Reader) -> Option<Vec<u64>> {
    (0..DEGREE).map(|_| Some(u64::from_le_bytes(reader.array()?))).collect()
}

fn read_zero_key(payload: &mut Reader) -> Option<Arc<ZeroKey>> {
    let seed = payload.array()?;
    Some(Arc::new(ZeroKey::from_parts(&mut Ring::new(), seed, read_poly(payload)?)))
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

impl Payloads for LeveledBackend {
    const KEY_NAME: &'static str = zero_key::KEY_NAME;

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
        release.made_for
    }

    fn payload_bytes(&self, kind: Kind, _samples: usize) -> usize {
        match kind {
            Kind::SecretKey => SECRET_PAYLOAD,
            Kind::PublicKey => PUBLIC_PAYLOAD,
            Kind::EvaluationKey => self.plan().evaluation_payload(),
            Kind::Ballot => self.plan().vote_payload(),
            Kind::Release => self.plan().release_payload(),
            Kind::Audit | Kind::Verdict => 0,
        }
    }

    fn abstention_bytes(&self) -> Option<usize> {
        Some(0)
    }

    fn write_secret_key(&self, out: &mut Vec<u8>, key: &SecretKey) {
        let byte = |four: &[u64]| {
            four.iter().rev().fold(0, |byte, s| byte << 2 | (s.wrapping_add(1) & 3) as u8)
        };
        out.extend(key.secret.chunks_exact(4).map(byte));
    }

    fn write_public_key(&self, out: &mut Vec<u8>, key: &PublicKey) {
        key.zero.write(out);
    }

    fn write_evaluation_key(&self, out: &mut Vec<u8>, key: &EvaluationKey) {
        key.zero.write(out);
        for key in key.expansion.iter().flat_map(|key| key.steps.iter().chain([&key.square])) {
            write_switch_key(out, key);
        }
    }

    fn write_votes(&self, out: &mut Vec<u8>, ballot: &LeveledBallot) {
        for word in &ballot.words {
            out.extend(&word.to_le_bytes()[8 - BALLOT_WORD..]);
        }
    }

    fn write_release(&self, out: &mut Vec<u8>, release: &Release) {
        for pair in release.words.chunks(2) {
            let upper = pair.get(1).copied().unwrap_or(0);
            let both = u64::from(pair[0]) | u64::from(upper) << RELEASE_BITS;
            out.extend(&both.to_le_bytes()[..5]);
        }
    }

    fn read_secret_key(&self, payload: &mut Reader, id: KeyId) -> Option<SecretKey> {
        // Room for all at once: a vector that grows leaves copies behind that nobody wipes.
        let mut secret = Zeroizing::new(Vec::with_capacity(DEGREE));
        let bytes = payload.take(SECRET_PAYLOAD)?;
        let trits = bytes.iter().flat_map(|byte| (0..4).map(move |i| byte >> (2 * i) & 3));
        secret.extend(trits.map(|trit| u64::from(trit).wrapping_sub(1)));
        let usual = !secret.contains(&2) && keys::is_usual(&secret);
        usual.then_some(SecretKey { secret, id })
    }

    fn read_public_key(&self, payload: &mut Reader, id: KeyId) -> Option<PublicKey> {
        Some(PublicKey { zero: read_zero_key(payload)?, id })
    }

    fn read_evaluation_key(&self, payload: &mut Reader, id: KeyId) -> Option<EvaluationKey> {
        let zero = read_zero_key(payload)?;
        let mut ring = Ring::new();
        let mut read = |steps| {
            let steps = (0..steps).map(|_| read_switch_key(payload, &mut ring));
            let steps = steps.collect::<Option<_>>()?;
            Some(ExpansionKey { steps, square: read_switch_key(payload, &mut ring)? })
        };
        let expansion = match self.plan().separation_steps() {
            None => None,
            Some(steps) => Some(read(steps)?),
        };
        Some(EvaluationKey { zero, expansion, id })
    }

    fn read_votes(
        &self,
        payload: &mut Reader,
        presence: Presence,
        made_for: MadeFor,
    ) -> Option<LeveledBallot> {
        let votes = if presence.is_nobody() { 0 } else { self.plan().vote_payload() };
        let word = |bytes: &[u8]| {
            bytes.iter().rev().fold(0_u64, |word, &byte| word << 8 | u64::from(byte))
                << TRUNCATED_BITS
        };
        let words = payload.take(votes)?.chunks_exact(BALLOT_WORD).map(word).collect();
        Some(LeveledBallot::new(words, presence, made_for))
    }

    fn read_release(&self, payload: &mut Reader, made_for: MadeFor) -> Option<Release> {
        let mask = (1_u64 << RELEASE_BITS) - 1;
        let halves =
            payload.take(self.plan().release_payload())?.chunks_exact(5).flat_map(|five| {
                let both = five.iter().rev().fold(0_u64, |both, &byte| both << 8 | u64::from(byte));
                [both & mask, both >> RELEASE_BITS]
            });
        let mut words =
            halves.map(|half| u32::try_from(half).ok()).collect::<Option<Vec<u32>>>()?;
        // Where the number of coefficients is odd, the last half must be zero.
        let odd = words.len() > DEGREE + self.plan().released();
        (!odd || words.pop() == Some(0)).then_some(Release { words, made_for })
    }
}
