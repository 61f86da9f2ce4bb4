//! The seed of an aggregation: all of the server's randomness comes from it.
//!
//! Aggregation is a pure function of (election, keys, ballots, seed, batch). The seed is drawn once
//! from the system's generator and stored before the first release, so that a crash, a retry or a
//! second worker computes the very same draws, and no sample is ever answered twice from different
//! ones.

use std::fmt;

use rand::{CryptoRng, RngCore, SeedableRng};
use rand_chacha::ChaCha20Rng;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// 32 secret bytes. Whoever knows them knows whom the server drew.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct Seed([u8; 32]);

impl Seed {
    /// A fresh seed.
    pub fn random<R: RngCore + CryptoRng>(rng: &mut R) -> Self {
        let mut bytes = [0; 32];
        rng.fill_bytes(&mut bytes);
        Self(bytes)
    }

    /// A seed that anybody can guess: for tests and repeatable examples only.
    pub fn from_number(number: u64) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("shield 2026 seed from a number");
        hasher.update(&number.to_le_bytes());
        Self(*hasher.finalize().as_bytes())
    }

    /// The seed that these bytes are.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes, to be stored where only the server reads.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// An independent generator for each (purpose, index): a `ChaCha20` key a purpose, a nonce an
    /// index.
    ///
    /// A purpose is a constant of the code that asks (`"shield draws"`), never input. Streams of
    /// different indices never meet before 2^70 bytes.
    pub fn stream(&self, purpose: &'static str, index: u64) -> ChaCha20Rng {
        let mut key = blake3::derive_key(purpose, &self.0);
        let mut rng = ChaCha20Rng::from_seed(key);
        key.zeroize();
        rng.set_stream(index);
        rng
    }
}

impl fmt::Debug for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seed(secret)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_purpose_and_index_and_repeat() {
        let seed = Seed::from_number(7);
        let first = |purpose, index| seed.stream(purpose, index).next_u64();
        assert_eq!(first("a", 0), first("a", 0));
        assert_ne!(first("a", 0), first("a", 1));
        assert_ne!(first("a", 0), first("b", 0));
        assert_ne!(first("a", 0), Seed::from_number(8).stream("a", 0).next_u64());
    }

    #[test]
    fn debug_shows_nothing() {
        assert_eq!(format!("{:?}", Seed::from_bytes([9; 32])), "Seed(secret)");
    }
}
