//! Numbers that people read out on the telephone to compare keys.

use std::fmt;
use std::str::FromStr;

/// 20 decimal digits of a hash, in groups of five: 66 bits, so that nobody finds another key with
/// the same ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(u128);

const DIGITS: usize = 20;

impl Fingerprint {
    /// The fingerprint of bytes, in the derivation context of one use.
    pub fn of(context: &str, bytes: &[u8]) -> Self {
        let hash = blake3::derive_key(context, bytes);
        let (start, _) = hash.split_first_chunk::<16>().expect("a hash has 32 bytes");
        Self(u128::from_le_bytes(*start) % 10_u128.pow(20))
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = format!("{:020}", self.0);
        let groups: Vec<&str> = (0..DIGITS).step_by(5).map(|at| &digits[at..at + 5]).collect();
        f.write_str(&groups.join("-"))
    }
}

impl FromStr for Fingerprint {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        let separators = ['-', ' '];
        let digits: String = text.chars().filter(|c| !separators.contains(c)).collect();
        if digits.len() != DIGITS || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err("a fingerprint has 20 digits, such as 01234-56789-01234-56789");
        }
        digits.parse().map(Self).map_err(|_| "a fingerprint has 20 digits")
    }
}
