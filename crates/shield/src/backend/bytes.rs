//! Keys, ballots and releases as bytes, the same way for every engine.
//!
//! Two traits, for two sides. An engine implements [`Payloads`]: what its objects contain, and how
//! long that is. Everybody else calls [`BackendBytes`], which puts payloads into the frame of
//! [`crate::framing`] and takes them out again after every check that needs no parsing: kind,
//! election, keys, batch, length, checksum. So no engine can leave a check out.

use zeroize::Zeroizing;

use super::{Backend, Ballot};
use crate::framing::{
    DecodeError, KeyId, Kind, MadeFor, Reader, check_key, check_place, checksum, framed_bytes,
    open, presence_bytes, seal, write_presence,
};
use crate::presence::Presence;

/// What an engine's keys, ballots and releases contain.
///
/// Writing appends to a vector; reading takes from a [`Reader`] that holds exactly the payload, and
/// returns `None` for values out of range. A ballot's payload starts with its presence, which is
/// handled here; the evaluation key's starts with the public key's, whose digest names the keys.
pub trait Payloads: Backend {
    /// Purpose of the digest that names a set of keys.
    const KEY_NAME: &'static str;

    /// A digest of the election, the engine and its plan.
    fn binding(&self) -> &[u8; 32];

    /// The name of the keys that a secret key belongs to.
    fn secret_key_id(&self, key: &Self::SecretKey) -> KeyId;

    /// The name of the keys that a public key belongs to.
    fn public_key_id(&self, key: &Self::PublicKey) -> KeyId;

    /// The name of the keys that an evaluation key belongs to.
    fn evaluation_key_id(&self, key: &Self::EvaluationKey) -> KeyId;

    /// What a release was made for.
    fn release_made_for(&self, release: &Self::Release) -> MadeFor;

    /// Bytes of a key, of a ballot's votes (its presence left out), or of a release, for a batch of
    /// that many samples.
    fn payload_bytes(&self, kind: Kind, samples: usize) -> usize;

    /// Bytes of the votes in a ballot that abstains from every sample, where that is less than
    /// [`Self::payload_bytes`].
    fn abstention_bytes(&self) -> Option<usize> {
        None
    }

    /// Whether a ballot may have this presence.
    fn accepts(&self, _presence: &Presence) -> bool {
        true
    }

    /// Appends the student's key.
    fn write_secret_key(&self, out: &mut Vec<u8>, key: &Self::SecretKey);

    /// Appends the teachers' key.
    fn write_public_key(&self, out: &mut Vec<u8>, key: &Self::PublicKey);

    /// Appends the server's key.
    fn write_evaluation_key(&self, out: &mut Vec<u8>, key: &Self::EvaluationKey);

    /// Appends the votes of a ballot.
    fn write_votes(&self, out: &mut Vec<u8>, ballot: &Self::Ballot);

    /// Appends a release.
    fn write_release(&self, out: &mut Vec<u8>, release: &Self::Release);

    /// Reads the student's key of the keys with this name.
    fn read_secret_key(&self, payload: &mut Reader, id: KeyId) -> Option<Self::SecretKey>;

    /// Reads the teachers' key of the keys with this name.
    fn read_public_key(&self, payload: &mut Reader, id: KeyId) -> Option<Self::PublicKey>;

    /// Reads the server's key of the keys with this name.
    fn read_evaluation_key(&self, payload: &mut Reader, id: KeyId) -> Option<Self::EvaluationKey>;

    /// Reads the votes of a ballot with this presence.
    fn read_votes(
        &self,
        payload: &mut Reader,
        presence: Presence,
        made_for: MadeFor,
    ) -> Option<Self::Ballot>;

    /// The ballot that was just read, told the checksum that its bytes end with: for engines that
    /// bind an aggregation to every ballot.
    fn with_digest(&self, ballot: Self::Ballot, _digest: [u8; 32]) -> Self::Ballot {
        ballot
    }

    /// Reads a release.
    fn read_release(&self, payload: &mut Reader, made_for: MadeFor) -> Option<Self::Release>;
}

/// Keys, ballots and releases to bytes and back. Every engine that has [`Payloads`] has it.
pub trait BackendBytes: Backend {
    /// A digest of the election, the engine and its plan: every key, ballot and release carries it.
    fn binding(&self) -> &[u8; 32];

    /// The name of the keys that a secret key belongs to.
    fn secret_key_id(&self, key: &Self::SecretKey) -> KeyId;

    /// The name of the keys that a public key belongs to.
    fn public_key_id(&self, key: &Self::PublicKey) -> KeyId;

    /// The name of the keys that an evaluation key belongs to.
    fn evaluation_key_id(&self, key: &Self::EvaluationKey) -> KeyId;

    /// The most bytes that a kind takes in this election: no file that is longer need be read.
    fn max_bytes(&self, kind: Kind) -> usize;

    /// The student's key as bytes: keep them where only the student reads.
    fn encode_secret_key(&self, key: &Self::SecretKey) -> Zeroizing<Vec<u8>>;

    /// The student's key from bytes.
    fn decode_secret_key(&self, bytes: &[u8]) -> Result<Self::SecretKey, DecodeError>;

    /// The teachers' key as bytes.
    fn encode_public_key(&self, key: &Self::PublicKey) -> Vec<u8>;

    /// The teachers' key from bytes.
    fn decode_public_key(&self, bytes: &[u8]) -> Result<Self::PublicKey, DecodeError>;

    /// The server's key as bytes.
    fn encode_evaluation_key(&self, key: &Self::EvaluationKey) -> Vec<u8>;

    /// The server's key from bytes.
    fn decode_evaluation_key(&self, bytes: &[u8]) -> Result<Self::EvaluationKey, DecodeError>;

    /// A ballot as bytes.
    fn encode_ballot(&self, ballot: &Self::Ballot) -> Vec<u8>;

    /// A ballot for a batch, under some keys, from bytes.
    fn decode_ballot(
        &self,
        bytes: &[u8],
        batch: usize,
        key: KeyId,
    ) -> Result<Self::Ballot, DecodeError>;

    /// On which samples the teacher of an encoded ballot voted. The frame of the whole ballot must
    /// be sound: a damaged presence would leave a teacher out in silence.
    fn peek_presence(&self, bytes: &[u8], batch: usize) -> Result<Presence, DecodeError>;

    /// A release as bytes.
    fn encode_release(&self, release: &Self::Release) -> Vec<u8>;

    /// A release for a batch, under some keys, from bytes.
    fn decode_release(
        &self,
        bytes: &[u8],
        batch: usize,
        key: KeyId,
    ) -> Result<Self::Release, DecodeError>;
}

impl<B: Payloads> BackendBytes for B {
    fn binding(&self) -> &[u8; 32] {
        Payloads::binding(self)
    }

    fn secret_key_id(&self, key: &Self::SecretKey) -> KeyId {
        Payloads::secret_key_id(self, key)
    }

    fn public_key_id(&self, key: &Self::PublicKey) -> KeyId {
        Payloads::public_key_id(self, key)
    }

    fn evaluation_key_id(&self, key: &Self::EvaluationKey) -> KeyId {
        Payloads::evaluation_key_id(self, key)
    }

    fn max_bytes(&self, kind: Kind) -> usize {
        framed_bytes(whole_bytes(self, kind, self.batch(0).len()))
    }

    fn encode_secret_key(&self, key: &Self::SecretKey) -> Zeroizing<Vec<u8>> {
        let id = Payloads::secret_key_id(self, key);
        Zeroizing::new(seal_key(self, Kind::SecretKey, id, |out| self.write_secret_key(out, key)))
    }

    fn decode_secret_key(&self, bytes: &[u8]) -> Result<Self::SecretKey, DecodeError> {
        let kind = Kind::SecretKey;
        let lengths = [self.payload_bytes(kind, 0)];
        let (header, payload) = open(bytes, kind, Payloads::binding(self), &lengths)?;
        read(kind, payload, |reader| self.read_secret_key(reader, header.key))
    }

    fn encode_public_key(&self, key: &Self::PublicKey) -> Vec<u8> {
        let id = Payloads::public_key_id(self, key);
        seal_key(self, Kind::PublicKey, id, |out| self.write_public_key(out, key))
    }

    fn decode_public_key(&self, bytes: &[u8]) -> Result<Self::PublicKey, DecodeError> {
        let kind = Kind::PublicKey;
        let (id, payload) = open_named_key(self, kind, bytes)?;
        read(kind, payload, |reader| self.read_public_key(reader, id))
    }

    fn encode_evaluation_key(&self, key: &Self::EvaluationKey) -> Vec<u8> {
        let id = Payloads::evaluation_key_id(self, key);
        seal_key(self, Kind::EvaluationKey, id, |out| self.write_evaluation_key(out, key))
    }

    fn decode_evaluation_key(&self, bytes: &[u8]) -> Result<Self::EvaluationKey, DecodeError> {
        let kind = Kind::EvaluationKey;
        let (id, payload) = open_named_key(self, kind, bytes)?;
        read(kind, payload, |reader| self.read_evaluation_key(reader, id))
    }

    fn encode_ballot(&self, ballot: &Self::Ballot) -> Vec<u8> {
        let kind = Kind::Ballot;
        let presence = ballot.presence();
        let length = whole_bytes(self, kind, presence.len());
        seal(kind, Payloads::binding(self), ballot.made_for(), length, |out| {
            write_presence(out, presence);
            self.write_votes(out, ballot);
        })
    }

    fn decode_ballot(
        &self,
        bytes: &[u8],
        batch: usize,
        key: KeyId,
    ) -> Result<Self::Ballot, DecodeError> {
        let (presence, made_for, votes) = unwrap_ballot(self, bytes, batch, Some(key))?;
        let ballot =
            read(Kind::Ballot, votes, |reader| self.read_votes(reader, presence, made_for))?;
        Ok(self.with_digest(ballot, checksum(bytes)))
    }

    fn peek_presence(&self, bytes: &[u8], batch: usize) -> Result<Presence, DecodeError> {
        Ok(unwrap_ballot(self, bytes, batch, None)?.0)
    }

    fn encode_release(&self, release: &Self::Release) -> Vec<u8> {
        let (kind, made_for) = (Kind::Release, self.release_made_for(release));
        let length = self.payload_bytes(kind, self.batch(made_for.batch).len());
        seal(kind, Payloads::binding(self), made_for, length, |out| {
            self.write_release(out, release);
        })
    }

    fn decode_release(
        &self,
        bytes: &[u8],
        batch: usize,
        key: KeyId,
    ) -> Result<Self::Release, DecodeError> {
        let (kind, binding) = (Kind::Release, Payloads::binding(self));
        let made_for = check_place(bytes, kind, binding, batch, Some(key))?;
        let lengths = [self.payload_bytes(kind, self.batch(batch).len())];
        let (_, payload) = open(bytes, kind, binding, &lengths)?;
        read(kind, payload, |reader| self.read_release(reader, made_for))
    }
}

/// Bytes of a whole payload, a ballot's presence included.
fn whole_bytes<B: Payloads>(backend: &B, kind: Kind, samples: usize) -> usize {
    let presence = if kind == Kind::Ballot { presence_bytes(samples) } else { 0 };
    presence + backend.payload_bytes(kind, samples)
}

/// Wraps a key.
fn seal_key<B: Payloads>(
    backend: &B,
    kind: Kind,
    key: KeyId,
    write: impl FnOnce(&mut Vec<u8>),
) -> Vec<u8> {
    let length = backend.payload_bytes(kind, 0);
    seal(kind, Payloads::binding(backend), MadeFor { batch: 0, key }, length, write)
}

/// Unwraps a key that starts with the public one, once it bears the name that belongs to that.
fn open_named_key<'a, B: Payloads>(
    backend: &B,
    kind: Kind,
    bytes: &'a [u8],
) -> Result<(KeyId, &'a [u8]), DecodeError> {
    let lengths = [backend.payload_bytes(kind, 0)];
    let (header, payload) = open(bytes, kind, Payloads::binding(backend), &lengths)?;
    let public = payload.get(..backend.payload_bytes(Kind::PublicKey, 0));
    let id = KeyId::of_public_key(B::KEY_NAME, public.ok_or(DecodeError::Range { kind })?);
    check_key(kind, header.key, id)?;
    Ok((id, payload))
}

/// Unwraps a ballot: its presence, what it was made for, and the rest of the payload.
fn unwrap_ballot<'a, B: Payloads>(
    backend: &B,
    bytes: &'a [u8],
    batch: usize,
    key: Option<KeyId>,
) -> Result<(Presence, MadeFor, &'a [u8]), DecodeError> {
    let (kind, binding) = (Kind::Ballot, Payloads::binding(backend));
    let made_for = check_place(bytes, kind, binding, batch, key)?;
    let samples = backend.batch(batch).len();
    if samples == 0 {
        return Err(DecodeError::Range { kind });
    }
    let whole = whole_bytes(backend, kind, samples);
    let abstention = backend.abstention_bytes().map(|votes| presence_bytes(samples) + votes);
    let (_, payload) = open(bytes, kind, binding, &[whole, abstention.unwrap_or(whole)])?;
    let mut reader = Reader::new(payload);
    let presence = reader.presence(samples).filter(|presence| backend.accepts(presence));
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
