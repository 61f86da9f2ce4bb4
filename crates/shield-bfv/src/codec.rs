//! Keys, ballots and releases as bytes: bound to their election, checked before they are used.
//!
//! ```text
//! magic "SHLD" | version u16 | kind u8 | holder u8 | setting 32 | key 32 | batch u64 | length u64 | payload | checksum 32
//! ```
//!
//! The *setting* is a digest of the election and of the plan, the *key* the name of the key set. Integers are
//! little-endian; residues are packed without gaps. Every kind has exactly one length under a plan, and
//! that is checked before anything is allocated; the checksum is checked before anything is
//! parsed; and every residue is checked against its prime. What fails is refused with a reason, never a panic.

use thiserror::Error;

use crate::keys::{self, KeyId};
use crate::plan::Plan;
use crate::ring::{Context, Poly};

mod objects;

pub(crate) use objects::key_id;

/// Version of the format. Others are refused.
pub const VERSION: u16 = 1;

const MAGIC: [u8; 4] = *b"SHLD";
pub(crate) const HEADER: usize = 4 + 2 + 1 + 1 + 32 + 32 + 8 + 8;
const CHECKSUM: usize = 32;

/// What some bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The student's key.
    SecretKey,
    /// The teachers' key.
    PublicKey,
    /// The server's key.
    EvaluationKey,
    /// One teacher's votes on one batch.
    Ballot,
    /// What the student gets for one batch.
    Release,
}

/// Who may hold some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// The student, and nobody else. The server least of all.
    StudentOnly,
    /// Anybody.
    Anyone,
}

impl Kind {
    const ALL: [Self; 5] =
        [Self::SecretKey, Self::PublicKey, Self::EvaluationKey, Self::Ballot, Self::Release];

    fn byte(self) -> u8 {
        match self {
            Self::SecretKey => 1,
            Self::PublicKey => 2,
            Self::EvaluationKey => 3,
            Self::Ballot => 4,
            Self::Release => 5,
        }
    }

    /// Who may hold it.
    pub fn holder(self) -> Holder {
        match self {
            Self::SecretKey => Holder::StudentOnly,
            _ => Holder::Anyone,
        }
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::SecretKey => "secret key",
            Self::PublicKey => "public key",
            Self::EvaluationKey => "evaluation key",
            Self::Ballot => "ballot",
            Self::Release => "release",
        })
    }
}

/// Why some bytes were refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// It does not start like anything of ours.
    #[error("this is not a file of SHIELD's; give a key, ballot or release that it wrote")]
    NotOurs,
    /// It was written by another version.
    #[error(
        "format version {found}; this program reads version {VERSION}: use the same release on all sides"
    )]
    Version {
        /// The version found.
        found: u16,
    },
    /// It is something else.
    #[error("this is a {found}, not a {expected}; give the {expected}")]
    Kind {
        /// What it is.
        found: Kind,
        /// What was needed.
        expected: Kind,
    },
    /// It belongs to another election, or to another plan for this one.
    #[error(
        "this {kind} belongs to another election or release mode; check that all parties have the same election file"
    )]
    Setting {
        /// What it is.
        kind: Kind,
    },
    /// It belongs to another set of keys.
    #[error(
        "this {kind} belongs to the keys {found}, not {expected}; make it again with the election's public key"
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
        "{found} bytes where there must be {expected}; the file is cut off or has something appended: fetch it again"
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
    pub setting: [u8; 32],
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
        let mut reader = Reader(bytes);
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
        if holder != holder_byte(kind) {
            return Err(DecodeError::NotOurs);
        }
        let setting = reader.array().ok_or(short.clone())?;
        let key = KeyId(reader.array().ok_or(short.clone())?);
        let batch = u64::from_le_bytes(reader.array().ok_or(short.clone())?);
        let length = u64::from_le_bytes(reader.array().ok_or(short)?);
        Ok(Self { kind, setting, key, batch, length })
    }
}

fn holder_byte(kind: Kind) -> u8 {
    match kind.holder() {
        Holder::StudentOnly => 1,
        Holder::Anyone => 2,
    }
}

/// Wraps a payload.
fn seal(kind: Kind, setting: &[u8; 32], key: KeyId, batch: usize, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER + payload.len() + CHECKSUM);
    bytes.extend(MAGIC);
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend([kind.byte(), holder_byte(kind)]);
    bytes.extend(setting);
    bytes.extend(key.0);
    bytes.extend((batch as u64).to_le_bytes());
    bytes.extend((payload.len() as u64).to_le_bytes());
    bytes.extend(payload);
    let checksum = blake3::hash(&bytes);
    bytes.extend(checksum.as_bytes());
    bytes
}

/// Unwraps a payload of exactly `length` bytes, after every check that needs no parsing.
fn open<'a>(
    bytes: &'a [u8],
    kind: Kind,
    setting: &[u8; 32],
    length: usize,
) -> Result<(Header, &'a [u8]), DecodeError> {
    let header = Header::read(bytes)?;
    if header.kind != kind {
        return Err(DecodeError::Kind { found: header.kind, expected: kind });
    }
    if header.setting != *setting {
        return Err(DecodeError::Setting { kind });
    }
    let expected = HEADER + length + CHECKSUM;
    if bytes.len() != expected || header.length != length as u64 {
        return Err(DecodeError::Length { found: bytes.len(), expected });
    }
    let (content, checksum) = bytes.split_at(HEADER + length);
    if blake3::hash(content)
        != *<&[u8; 32]>::try_from(checksum).map_err(|_| DecodeError::Checksum)?
    {
        return Err(DecodeError::Checksum);
    }
    Ok((header, &content[HEADER..]))
}

/// A cursor that ends instead of panicking.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    /// A polynomial of `limbs` limbs whose residues are all below their prime.
    fn poly<R>(&mut self, context: &Context, limbs: usize) -> Option<Poly<R>> {
        let mut poly = Poly::zero(context.degree(), limbs);
        for (limb, ntt) in poly.iter_mut().zip(context.q()) {
            let p = ntt.modulus().value();
            let bits = prime_bits(p);
            unpack(self.take(limb.len() * bits as usize / 8)?, bits, limb);
            if limb.iter().any(|&x| x >= p) {
                return None;
            }
        }
        Some(poly)
    }
}

fn prime_bits(p: u64) -> u32 {
    u64::BITS - p.leading_zeros()
}

fn write_poly<R>(out: &mut Vec<u8>, context: &Context, poly: &Poly<R>) {
    for (limb, ntt) in poly.iter().zip(context.q()) {
        pack(out, limb, prime_bits(ntt.modulus().value()));
    }
}

/// Appends residues of `bits` bits, without gaps. Limbs have a multiple of 8 residues, so bytes come out even.
fn pack(out: &mut Vec<u8>, residues: &[u64], bits: u32) {
    let (mut pending, mut filled) = (0_u128, 0);
    for &x in residues {
        pending |= u128::from(x) << filled;
        filled += bits;
        while filled >= 8 {
            out.push(pending as u8);
            pending >>= 8;
            filled -= 8;
        }
    }
}

/// The inverse of [`pack`].
fn unpack(bytes: &[u8], bits: u32, residues: &mut [u64]) {
    let (mut pending, mut filled) = (0_u128, 0);
    let mut bytes = bytes.iter();
    for x in residues {
        while filled < bits {
            pending |= u128::from(bytes.next().copied().unwrap_or(0)) << filled;
            filled += 8;
        }
        *x = pending as u64 & ((1 << bits) - 1);
        pending >>= bits;
        filled -= bits;
    }
}

fn poly_bytes(plan: &Plan, limbs: usize) -> usize {
    let bits = plan.moduli_bits().first().copied().unwrap_or(0) as usize;
    plan.ring_degree() * limbs * bits / 8
}

fn full_poly(plan: &Plan) -> usize {
    poly_bytes(plan, plan.moduli_bits().len())
}

fn public_payload(plan: &Plan) -> usize {
    32 + full_poly(plan)
}

fn evaluation_payload(plan: &Plan) -> usize {
    let switch_key = 32 + plan.moduli_bits().len() * full_poly(plan);
    public_payload(plan) + keys::switch_keys(plan) * switch_key
}

fn ballot_payload(plan: &Plan, samples: usize) -> usize {
    samples.div_ceil(64) * 8 + 2 * full_poly(plan)
}

fn release_payload(plan: &Plan) -> usize {
    2 * plan.released_ciphertexts() * poly_bytes(plan, 1)
}

/// Bytes of a full batch's ballot.
pub(crate) fn ballot_bytes(plan: &Plan) -> usize {
    HEADER + ballot_payload(plan, plan.samples_per_batch()) + CHECKSUM
}

/// Bytes of the public key.
pub(crate) fn public_key_bytes(plan: &Plan) -> usize {
    HEADER + public_payload(plan) + CHECKSUM
}

/// Bytes of the evaluation key.
pub(crate) fn evaluation_key_bytes(plan: &Plan) -> usize {
    HEADER + evaluation_payload(plan) + CHECKSUM
}

/// Bytes of a batch's release.
pub(crate) fn release_bytes(plan: &Plan) -> usize {
    HEADER + release_payload(plan) + CHECKSUM
}
