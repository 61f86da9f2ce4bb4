//! The public keys of a party, and the line that makes them known.

use std::fmt;
use std::str::FromStr;

use ed25519_dalek::{Signature, VerifyingKey};
use thiserror::Error;
use x25519_dalek::{PublicKey, StaticSecret};

use crate::fingerprint::Fingerprint;
use crate::name::{Name, NameError};

const PREFIX: &str = "shield1";
const KEYS: usize = 64;
const CHECK: usize = 6;
const CHECKSUM: &str = "shield 2026 public keys checksum v1";
const FINGERPRINT: &str = "shield 2026 public keys fingerprint v1";
/// Lower-case letters and digits as in RFC 4648.
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// The keys by which others know a party: one that checks its signatures, and one that seals
/// messages to it. Written as `shield1` and 112 letters and digits, the last of which are a
/// checksum.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PublicKeys {
    signing: VerifyingKey,
    sealing: PublicKey,
}

/// Text that holds no public keys.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KeyError {
    /// Not of this form.
    #[error(
        "public keys are `shield1` and 112 letters and digits, as `shield identity show` prints"
    )]
    Form,
    /// A letter is wrong.
    #[error("a letter of the public keys is wrong or missing: copy them again")]
    Checksum,
    /// A key that anybody could sign or read for, or one of several ways to write the same key.
    #[error("these public keys are weak or not in canonical form: no identity has such keys")]
    Weak,
    /// There is no name before the keys.
    #[error("a public line is a name and public keys, with one space between them")]
    Line,
    /// The name is none.
    #[error(transparent)]
    Name(#[from] NameError),
}

impl PublicKeys {
    pub(crate) fn of(signing: VerifyingKey, sealing: PublicKey) -> Self {
        Self { signing, sealing }
    }

    /// The keys with these bytes: 32 of the Ed25519 key, 32 of the X25519 key.
    pub fn from_bytes(bytes: &[u8; KEYS]) -> Result<Self, KeyError> {
        let (signing, sealing) = bytes.split_at(32);
        let signing: [u8; 32] = signing.try_into().map_err(|_| KeyError::Form)?;
        let sealing: [u8; 32] = sealing.try_into().map_err(|_| KeyError::Form)?;
        let key = VerifyingKey::from_bytes(&signing).map_err(|_| KeyError::Weak)?;
        // A point has one encoding here: compressing it again must give the same bytes.
        let canonical = key.to_edwards().compress().to_bytes() == signing;
        if key.is_weak() || !canonical || !is_sound_sealing_key(&sealing) {
            return Err(KeyError::Weak);
        }
        Ok(Self { signing: key, sealing: PublicKey::from(sealing) })
    }

    /// The bytes of the Ed25519 key, then those of the X25519 key.
    pub fn to_bytes(self) -> [u8; KEYS] {
        let mut bytes = [0; KEYS];
        bytes[..32].copy_from_slice(self.signing.as_bytes());
        bytes[32..].copy_from_slice(self.sealing.as_bytes());
        bytes
    }

    /// The number that people compare.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(FINGERPRINT, &self.to_bytes())
    }

    /// Whether a signature is this party's: strictly, so that a message has one key and one form of
    /// signature that fit.
    pub(crate) fn has_signed(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        self.signing.verify_strict(message, &Signature::from_bytes(signature)).is_ok()
    }

    pub(crate) fn sealing(&self) -> &PublicKey {
        &self.sealing
    }
}

/// Below the field's prime, and no point of small order.
fn is_sound_sealing_key(bytes: &[u8; 32]) -> bool {
    let above = bytes[31] == 0x7f && bytes[1..31].iter().all(|&b| b == 0xff) && bytes[0] >= 0xed;
    let probe = StaticSecret::from([1; 32]).diffie_hellman(&PublicKey::from(*bytes));
    bytes[31] < 0x80 && !above && probe.was_contributory()
}

fn checksum(keys: &[u8; KEYS]) -> [u8; CHECK] {
    let hash = blake3::derive_key(CHECKSUM, keys);
    *hash.first_chunk().expect("a hash has 32 bytes")
}

impl fmt::Display for PublicKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = self.to_bytes();
        let bytes = [&keys[..], &checksum(&keys)].concat();
        f.write_str(PREFIX)?;
        // 5 bytes are 8 letters; 70 bytes leave none over.
        for five in bytes.chunks(5) {
            let bits = five.iter().fold(0_u64, |bits, &byte| bits << 8 | u64::from(byte));
            for place in (0..8).rev() {
                let letter = ALPHABET[(bits >> (5 * place) & 31) as usize];
                write!(f, "{}", char::from(letter))?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for PublicKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKeys({})", self.fingerprint())
    }
}

impl FromStr for PublicKeys {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let letters = text.strip_prefix(PREFIX).ok_or(KeyError::Form)?.as_bytes();
        if letters.len() != (KEYS + CHECK) / 5 * 8 {
            return Err(KeyError::Form);
        }
        let mut bytes = Vec::with_capacity(KEYS + CHECK);
        for eight in letters.chunks(8) {
            let mut bits = 0_u64;
            for letter in eight {
                let value = ALPHABET.iter().position(|known| known == letter);
                bits = bits << 5 | value.ok_or(KeyError::Form)? as u64;
            }
            bytes.extend(&bits.to_be_bytes()[3..]);
        }
        let (keys, check) = bytes.split_first_chunk::<KEYS>().ok_or(KeyError::Form)?;
        if *check != checksum(keys) {
            return Err(KeyError::Checksum);
        }
        Self::from_bytes(keys)
    }
}

/// A name and the public keys behind it: what a party gives to all others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicLine {
    /// What the party is called.
    pub name: Name,
    /// Its keys.
    pub keys: PublicKeys,
}

impl fmt::Display for PublicLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.keys)
    }
}

impl FromStr for PublicLine {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let (name, keys) = text.split_once(' ').ok_or(KeyError::Line)?;
        Ok(Self { name: name.parse()?, keys: keys.parse()? })
    }
}
