//! 32-byte digests, written as hexadecimal digits.

use std::fmt;
use std::io::{self, Read};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::hex::{hex, unhex};

/// A BLAKE3 digest. It is written and read as 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// The plain BLAKE3 hash of what a reader has, and how many bytes that is.
    pub fn read(mut from: impl Read) -> io::Result<(Self, u64)> {
        let mut hasher = blake3::Hasher::new();
        let mut buffer = vec![0; 1 << 16];
        let mut bytes = 0;
        loop {
            match from.read(&mut buffer) {
                Ok(0) => return Ok((Self(*hasher.finalize().as_bytes()), bytes)),
                Ok(read) => {
                    hasher.update(&buffer[..read]);
                    bytes += read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The BLAKE3 digest of bytes in the derivation context of one use.
    pub fn of(context: &str, bytes: &[u8]) -> Self {
        Self(blake3::derive_key(context, bytes))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

impl FromStr for Digest {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        let read = unhex(text).filter(|bytes| hex(bytes) == text);
        read.map(Self).ok_or("a digest has 64 lower-case hexadecimal digits")
    }
}

impl TryFrom<String> for Digest {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        text.parse()
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}
