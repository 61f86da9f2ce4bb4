//! Keys, ballots and releases as bytes, the same way for every engine.
//!
//! An engine says what its objects contain; [`Encoding`] puts that into the frame of
//! [`crate::framing`], and takes it out again after every check that needs no parsing: kind,
//! election, keys, batch, length, checksum. So no engine can leave a check out.

use zeroize::Zeroizing;

use super::{Ballot, Engine, Envelope, Key};
use crate::framing::{
    DecodeError, KeyId, Kind, MadeFor, Reader, check_key, check_place, checksum, framed_bytes,
    open, presence_bytes, seal, write_presence,
};
use crate::presence::Presence;

/// Keys, ballots and releases to bytes and back, for every engine; none can change it.
pub trait Encoding: Engine {
    /// The most bytes that a kind takes in this election: no file that is longer need be read.
    fn max_bytes(&self, kind: Kind) -> usize {
        framed_bytes(whole_bytes(self, kind, self.batch(0).len()))
    }

    /// The student's key as bytes: keep them where only the student reads.
    fn encode_secret_key(&self, key: &Self::SecretKey) -> Zeroizing<Vec<u8>> {
        let write = |out: &mut Vec<u8>| self.write_secret_key(out, key);
        Zeroizing::new(seal_key(self, Kind::SecretKey, key.id(), write))
    }

    /// The student's key from bytes.
    fn decode_secret_key(&self, bytes: &[u8]) -> Result<Self::SecretKey, DecodeError> {
        let kind = Kind::SecretKey;
        let lengths = [self.payload_bytes(kind, 0)];
        let (header, payload) = open(bytes, kind, self.binding(), &lengths)?;
        read(kind, payload, |reader| self.read_secret_key(reader, header.key))
    }

    /// The teachers' key as bytes.
    fn encode_public_key(&self, key: &Self::PublicKey) -> Vec<u8> {
        seal_key(self, Kind::PublicKey, key.id(), |out| self.write_public_key(out, key))
    }

    /// The teachers' key from bytes.
    fn decode_public_key(&self, bytes: &[u8]) -> Result<Self::PublicKey, DecodeError> {
        let kind = Kind::PublicKey;
        let (id, payload) = open_named_key(self, kind, bytes)?;
        read(kind, payload, |reader| self.read_public_key(reader, id))
    }

    /// The server's key as bytes.
    fn encode_evaluation_key(&self, key: &Self::EvaluationKey) -> Vec<u8> {
        seal_key(self, Kind::EvaluationKey, key.id(), |out| self.write_evaluation_key(out, key))
    }

    /// The server's key from bytes.
    fn decode_evaluation_key(&self, bytes: &[u8]) -> Result<Self::EvaluationKey, DecodeError> {
        let kind = Kind::EvaluationKey;
        let (id, payload) = open_named_key(self, kind, bytes)?;
        read(kind, payload, |reader| self.read_evaluation_key(reader, id))
    }

    /// A ballot as bytes.
    fn encode_ballot(&self, ballot: &Self::Ballot) -> Vec<u8> {
        let (kind, presence) = (Kind::Ballot, ballot.presence());
        let length = whole_bytes(self, kind, presence.len());
        seal(kind, self.binding(), ballot.made_for(), length, |out| {
            write_presence(out, presence);
            self.write_votes(out, ballot);
        })
    }

    /// A ballot for a batch, under some keys, from bytes.
    fn decode_ballot(
        &self,
        bytes: &[u8],
        batch: usize,
        key: KeyId,
    ) -> Result<Self::Ballot, DecodeError> {
        let (presence, made_for, votes) = unwrap_ballot(self, bytes, batch, Some(key))?;
        let envelope = Envelope { presence, made_for, digest: checksum(bytes) };
        read(Kind::Ballot, votes, |reader| self.read_votes(reader, envelope))
    }

    /// On which samples the teacher of an encoded ballot voted. The frame of the whole ballot must
    /// be sound: a damaged presence would leave a teacher out in silence.
    fn peek_presence(&self, bytes: &[u8], batch: usize) -> Result<Presence, DecodeError> {
        Ok(unwrap_ballot(self, bytes, batch, None)?.0)
    }

    /// A release as bytes.
    fn encode_release(&self, release: &Self::Release) -> Vec<u8> {
        let (kind, made_for) = (Kind::Release, self.release_made_for(release));
        let length = self.payload_bytes(kind, self.batch(made_for.batch).len());
        seal(kind, self.binding(), made_for, length, |out| self.write_release(out, release))
    }

    /// A release for a batch, under some keys, from bytes.
    fn decode_release(
        &self,
        bytes: &[u8],
        batch: usize,
        key: KeyId,
    ) -> Result<Self::Release, DecodeError> {
        let kind = Kind::Release;
        let made_for = check_place(bytes, kind, self.binding(), batch, Some(key))?;
        let lengths = [self.payload_bytes(kind, self.batch(batch).len())];
        let (_, payload) = open(bytes, kind, self.binding(), &lengths)?;
        read(kind, payload, |reader| self.read_release(reader, made_for))
    }
}

impl<E: Engine> Encoding for E {}

/// Bytes of a whole payload, a ballot's presence included.
fn whole_bytes<E: Engine>(engine: &E, kind: Kind, samples: usize) -> usize {
    let presence = if kind == Kind::Ballot { presence_bytes(samples) } else { 0 };
    presence + engine.payload_bytes(kind, samples)
}

/// Wraps a key.
fn seal_key<E: Engine>(
    engine: &E,
    kind: Kind,
    key: KeyId,
    write: impl FnOnce(&mut Vec<u8>),
) -> Vec<u8> {
    let length = engine.payload_bytes(kind, 0);
    seal(kind, engine.binding(), MadeFor { batch: 0, key }, length, write)
}

/// Unwraps a key that starts with the public one, once it bears the name that belongs to that.
fn open_named_key<'a, E: Engine>(
    engine: &E,
    kind: Kind,
    bytes: &'a [u8],
) -> Result<(KeyId, &'a [u8]), DecodeError> {
    let lengths = [engine.payload_bytes(kind, 0)];
    let (header, payload) = open(bytes, kind, engine.binding(), &lengths)?;
    let public = payload.get(..engine.payload_bytes(Kind::PublicKey, 0));
    let id = KeyId::of_public_key(E::KEY_NAME, public.ok_or(DecodeError::Range { kind })?);
    check_key(kind, header.key, id)?;
    Ok((id, payload))
}

/// Unwraps a ballot: its presence, what it was made for, and the rest of the payload.
fn unwrap_ballot<'a, E: Engine>(
    engine: &E,
    bytes: &'a [u8],
    batch: usize,
    key: Option<KeyId>,
) -> Result<(Presence, MadeFor, &'a [u8]), DecodeError> {
    let (kind, binding) = (Kind::Ballot, engine.binding());
    let made_for = check_place(bytes, kind, binding, batch, key)?;
    let samples = engine.batch(batch).len();
    if samples == 0 {
        return Err(DecodeError::Range { kind });
    }
    let whole = whole_bytes(engine, kind, samples);
    let abstention = engine.abstention_bytes().map(|votes| presence_bytes(samples) + votes);
    let (_, payload) = open(bytes, kind, binding, &[whole, abstention.unwrap_or(whole)])?;
    let mut reader = Reader::new(payload);
    let presence = reader.presence(samples).filter(|presence| engine.accepts(presence));
    let presence = presence.ok_or(DecodeError::Range { kind })?;
    let expected = if presence.is_nobody() { abstention.unwrap_or(whole) } else { whole };
    if payload.len() != expected {
        return Err(DecodeError::Range { kind });
    }
    Ok((presence, made_for, reader.rest()))
}

/// Reads a whole payload.
fn read<T>(
    kind: Kind,
    payload: &[u8],
    read: impl FnOnce(&mut Reader) -> Option<T>,
) -> Result<T, DecodeError> {
    let mut reader = Reader::new(payload);
    let read = read(&mut reader).filter(|_| reader.rest().is_empty());
    read.ok_or(DecodeError::Range { kind })
}
