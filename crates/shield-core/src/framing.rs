//! Keys, ballots and releases as bytes: the frame that all engines share.
//!
//! ```text
//! magic "SHLD" | version u16 | kind u8 | holder u8 | binding 32 | key 32 | batch u64 | length u64
//! payload | checksum 32
//! ```
//!
//! The *binding* is a digest of the election, the engine and its plan; the *key* names the set of
//! keys. Integers are little-endian. The engine knows which length a kind has under its plan; the
//! length is checked before anything is allocated, the checksum before anything is parsed. What a
//! payload contains is up to the engine ([`crate::engine::Engine`]). Bytes that fail a check are
//! refused with a reason, never with a panic.

use std::fmt;

use thiserror::Error;

use crate::presence::Presence;

/// Version of the format. Others are refused.
pub const VERSION: u16 = 1;

const MAGIC: [u8; 4] = *b"SHLD";
/// Bytes before the payload.
pub const HEADER: usize = 4 + 2 + 1 + 1 + 32 + 32 + 8 + 8;
const CHECKSUM: usize = 32;

/// The name of a set of keys: a digest of the public one. Ballots and releases carry it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyId([u8; 32]);

impl KeyId {
    /// The name of the keys that a public key belongs to: a digest of its payload, for one purpose.
    pub fn of_public_key(purpose: &str, payload: &[u8]) -> Self {
        Self(blake3::derive_key(purpose, payload))
    }

    /// The name that these bytes are.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes of the name.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyId({self})")
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0[..8].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The batch and the keys that a ballot or a release was made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MadeFor {
    /// The batch, counted from 0.
    pub batch: usize,
    /// The name of the keys.
    pub key: KeyId,
}

/// What some bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The student's key.
    SecretKey = 1,
    /// The teachers' key.
    PublicKey,
    /// The server's key.
    EvaluationKey,
    /// One teacher's votes on one batch.
    Ballot,
    /// What the student gets for one batch.
    Release,
    /// The checks of single teachers, for the student.
    Audit,
    /// What some teachers' ballots add to a batch.
    Shard,
    /// A trustee's part in the first round of the keys.
    KeyShare,
    /// A trustee's part in the second round of the keys.
    SecondKeyShare,
    /// The public side of a trustee's secret, shared out among all trustees.
    Deal,
    /// What one trustee gets of another's secret.
    DealtShare,
    /// A trustee's share of the secret key.
    TrusteeKey,
    /// A trustee's part in reading a release.
    Opening,
    /// What the student needs of the ballots of a batch to unlock it.
    Request,
    /// What the server needs of the student to aggregate a batch.
    Unlocking,
}

impl Kind {
    /// Every kind, in the order of the format's numbers.
    pub const ALL: [Self; 15] = [
        Self::SecretKey,
        Self::PublicKey,
        Self::EvaluationKey,
        Self::Ballot,
        Self::Release,
        Self::Audit,
        Self::Shard,
        Self::KeyShare,
        Self::SecondKeyShare,
        Self::Deal,
        Self::DealtShare,
        Self::TrusteeKey,
        Self::Opening,
        Self::Request,
        Self::Unlocking,
    ];

    /// The kinds that every engine has.
    pub const OF_EVERY_ENGINE: [Self; 5] =
        [Self::SecretKey, Self::PublicKey, Self::EvaluationKey, Self::Ballot, Self::Release];

    fn byte(self) -> u8 {
        self as u8
    }

    /// Who may hold it, as a byte: its owner alone, or anyone.
    fn holder(self) -> u8 {
        let secret = [Self::SecretKey, Self::DealtShare, Self::TrusteeKey];
        if secret.contains(&self) { 1 } else { 2 }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SecretKey => "secret key",
            Self::PublicKey => "public key",
            Self::EvaluationKey => "evaluation key",
            Self::Ballot => "ballot",
            Self::Release => "release",
            Self::Audit => "audit",
            Self::Shard => "shard",
            Self::KeyShare => "key share",
            Self::SecondKeyShare => "second key share",
            Self::Deal => "deal",
            Self::DealtShare => "dealt share",
            Self::TrusteeKey => "trustee's key",
            Self::Opening => "opening",
            Self::Request => "request to unlock a batch",
            Self::Unlocking => "unlocking of a batch",
        })
    }
}

/// With its article.
fn one(kind: Kind) -> String {
    let vowel = matches!(kind, Kind::EvaluationKey | Kind::Audit | Kind::Opening | Kind::Unlocking);
    let article = if vowel { "an" } else { "a" };
    format!("{article} {kind}")
}

/// Why some bytes were refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// It does not start like anything of ours.
    #[error("this is not a file of SHIELD's; give a key, ballot or release that it wrote")]
    NotOurs,
    /// It was written by another version.
    #[error(
        "format version {found}; this program reads version {VERSION}: use the same release on \
         all sides"
    )]
    Version {
        /// The version found.
        found: u16,
    },
    /// It is something else.
    #[error("this is {}, not {}; give the {expected}", one(*.found), one(*.expected))]
    Kind {
        /// What it is.
        found: Kind,
        /// What was needed.
        expected: Kind,
    },
    /// It belongs to another election, or to another plan for this one.
    #[error(
        "this {kind} belongs to another election, engine or release mode, or was made by a version \
         of shield that plans this election otherwise; check that all parties have the same \
         election file and the same version"
    )]
    Binding {
        /// What it is.
        kind: Kind,
    },
    /// It belongs to another set of keys.
    #[error(
        "this {kind} belongs to the keys {found}, not {expected}; make it again with the \
         election's public key"
    )]
    Key {
        /// What it is.
        kind: Kind,
        /// Whose it is.
        found: KeyId,
        /// Whose it should be.
        expected: KeyId,
    },
    /// It belongs to another batch.
    #[error("this {kind} is for batch {found}, not {expected}")]
    Batch {
        /// What it is.
        kind: Kind,
        /// The batch it is for.
        found: u64,
        /// The batch that was needed.
        expected: u64,
    },
    /// It is cut off, or something was appended.
    #[error(
        "{found} bytes where there must be {expected}; the file is cut off or has something \
         appended: fetch it again"
    )]
    Length {
        /// How many there are.
        found: usize,
        /// How many there must be.
        expected: usize,
    },
    /// Some bit is wrong.
    #[error("the checksum does not match; the file was damaged on the way: fetch it again")]
    Checksum,
    /// The bytes are whole but cannot be what they say.
    #[error("the {kind} has values out of range; whoever wrote it did not follow the format")]
    Range {
        /// What it is.
        kind: Kind,
    },
}

/// The start of some bytes: enough to file them away without opening them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// What it is.
    pub kind: Kind,
    /// The election and plan it belongs to.
    pub binding: [u8; 32],
    /// The keys it belongs to.
    pub key: KeyId,
    /// The batch it is for; 0 for keys.
    pub batch: u64,
    /// Bytes of the payload.
    pub length: u64,
}

impl Header {
    /// Reads the start of some bytes. Says nothing about the rest.
    pub fn read(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let magic: [u8; 4] = reader.array().ok_or(DecodeError::NotOurs)?;
        if magic != MAGIC {
            return Err(DecodeError::NotOurs);
        }
        let short = DecodeError::Length { found: bytes.len(), expected: HEADER + CHECKSUM };
        let found = u16::from_le_bytes(reader.array().ok_or(short.clone())?);
        if found != VERSION {
            return Err(DecodeError::Version { found });
        }
        let [kind, holder] = reader.array().ok_or(short.clone())?;
        let kind = Kind::ALL.into_iter().find(|k| k.byte() == kind).ok_or(DecodeError::NotOurs)?;
        if holder != kind.holder() {
            return Err(DecodeError::NotOurs);
        }
        let binding = reader.array().ok_or(short.clone())?;
        let key = KeyId(reader.array().ok_or(short.clone())?);
        let batch = u64::from_le_bytes(reader.array().ok_or(short.clone())?);
        let length = u64::from_le_bytes(reader.array().ok_or(short)?);
        Ok(Self { kind, binding, key, batch, length })
    }
}

/// Wraps a payload of about `length` bytes, which `write` appends.
///
/// Where `length` is exact, nothing is ever copied: a vector that grows would leave parts of a
/// secret key behind in memory that nobody wipes.
pub fn seal(
    kind: Kind,
    binding: &[u8; 32],
    made_for: MadeFor,
    length: usize,
    write: impl FnOnce(&mut Vec<u8>),
) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(framed_bytes(length));
    bytes.extend(MAGIC);
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend([kind.byte(), kind.holder()]);
    bytes.extend(binding);
    bytes.extend(made_for.key.0);
    bytes.extend((made_for.batch as u64).to_le_bytes());
    bytes.extend([0; 8]);
    write(&mut bytes);
    let length = (bytes.len() - HEADER) as u64;
    bytes[HEADER - 8..HEADER].copy_from_slice(&length.to_le_bytes());
    let checksum = blake3::hash(&bytes);
    bytes.extend(checksum.as_bytes());
    bytes
}

/// Unwraps a payload of one of these lengths, after every check that needs no parsing.
///
/// # Panics
/// If there are no lengths.
pub fn open<'a>(
    bytes: &'a [u8],
    kind: Kind,
    binding: &[u8; 32],
    lengths: &[usize],
) -> Result<(Header, &'a [u8]), DecodeError> {
    let header = Header::read(bytes)?;
    check_origin(&header, kind, binding)?;
    let claimed = lengths.iter().find(|&&length| length as u64 == header.length);
    let expected = framed_bytes(*claimed.unwrap_or(&lengths[0]));
    if claimed.is_none() || bytes.len() != expected {
        return Err(DecodeError::Length { found: bytes.len(), expected });
    }
    let (content, checksum) = bytes.split_at(expected - CHECKSUM);
    if blake3::hash(content).as_bytes() != checksum {
        return Err(DecodeError::Checksum);
    }
    Ok((header, &content[HEADER..]))
}

/// The checksum that framed bytes end with.
pub fn checksum(bytes: &[u8]) -> [u8; 32] {
    bytes.last_chunk().copied().unwrap_or_default()
}

/// A cursor that ends instead of panicking.
#[derive(Clone, Debug)]
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// A cursor at the start of some bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The next `count` bytes.
    pub fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    /// The next `N` bytes.
    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    /// What has not been read.
    pub fn rest(&self) -> &'a [u8] {
        self.0
    }

    /// On which samples a teacher voted, as [`write_presence`] wrote it.
    pub fn presence(&mut self, samples: usize) -> Option<Presence> {
        let words = (0..samples.div_ceil(64)).map(|_| Some(u64::from_le_bytes(self.array()?)));
        Presence::from_words(samples, words.collect::<Option<_>>()?)
    }
}

/// Appends on which samples a teacher voted.
pub fn write_presence(out: &mut Vec<u8>, presence: &Presence) {
    out.extend(presence.words().iter().flat_map(|word| word.to_le_bytes()));
}

/// Bytes of [`write_presence`].
pub fn presence_bytes(samples: usize) -> usize {
    samples.div_ceil(64) * 8
}

/// Bytes of a payload with everything round it.
pub fn framed_bytes(payload: usize) -> usize {
    HEADER + payload + CHECKSUM
}

/// Refuses what belongs to another set of keys.
pub fn check_key(kind: Kind, found: KeyId, expected: KeyId) -> Result<(), DecodeError> {
    if found == expected { Ok(()) } else { Err(DecodeError::Key { kind, found, expected }) }
}

fn check_origin(header: &Header, kind: Kind, binding: &[u8; 32]) -> Result<(), DecodeError> {
    if header.kind != kind {
        Err(DecodeError::Kind { found: header.kind, expected: kind })
    } else if header.binding != *binding {
        Err(DecodeError::Binding { kind })
    } else {
        Ok(())
    }
}

/// Names what is wrong before anything is read: kind, election, keys, batch. Any keys will do where
/// none are given.
pub fn check_place(
    bytes: &[u8],
    kind: Kind,
    binding: &[u8; 32],
    batch: usize,
    key: Option<KeyId>,
) -> Result<MadeFor, DecodeError> {
    let header = Header::read(bytes)?;
    check_origin(&header, kind, binding)?;
    check_key(kind, header.key, key.unwrap_or(header.key))?;
    let expected = batch as u64;
    if header.batch == expected {
        Ok(MadeFor { batch, key: header.key })
    } else {
        Err(DecodeError::Batch { kind, found: header.batch, expected })
    }
}
