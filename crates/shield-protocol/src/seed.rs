//! The seed of all draws: nobody chooses it alone.
//!
//! The server draws its *part* before anyone votes, and publishes a *commitment* to it: a digest.
//! Every ballot ends with a nonce that its teacher drew. When the ballots are frozen, the seed is
//!
//! ```text
//! seed = hash(server's part, election, evaluation key, digest of every frozen ballot)
//! ```
//!
//! So the server cannot choose the seed after it has seen the ballots, and no teacher can choose it
//! at all; whoever gets the part later ([`verify`](crate::verify)) recomputes every draw. What this
//! does not stop: a server that works together with a teacher can make that teacher's ballot last,
//! again and again, until it likes the seed, and it can leave ballots out, which their teachers see
//! from their receipts.
//!
//! The seeds of an audit and of what is aggregated again follow from the same part, and from what
//! was asked and answered: see [`crate::transcript`].

use std::fmt;

use rand::CryptoRng;
use shield_core::Seed;
use zeroize::Zeroizing;

const COMMITMENT: &str = "shield 2026 commitment to the server's part of the seed v1";
const NAME: &str = "shield 2026 seed name v2";

/// What a seed is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The draws of all samples.
    Draws,
    /// The check of every teacher alone.
    Audit,
    /// The draws of spoiled samples, without the teachers who spoiled them.
    Again,
}

impl Purpose {
    fn context(self) -> &'static str {
        match self {
            Self::Draws => "shield 2026 seed of the draws v1",
            Self::Audit => "shield 2026 seed of an audit v1",
            Self::Again => "shield 2026 seed of an aggregation after an audit v1",
        }
    }
}

/// The server's part of the seed: a secret of the server, until an auditor gets it.
#[derive(Clone, PartialEq, Eq)]
pub struct SeedPart(Zeroizing<[u8; 32]>);

impl fmt::Debug for SeedPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SeedPart")
    }
}

impl SeedPart {
    /// A fresh one.
    pub fn random<R: CryptoRng + ?Sized>(rng: &mut R) -> Self {
        let mut part = Zeroizing::new([0; 32]);
        rng.fill_bytes(&mut *part);
        Self(part)
    }

    /// The part with these bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// What the server publishes before anyone votes.
    pub fn commitment(&self, election: &[u8; 32]) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_derive_key(COMMITMENT);
        hasher.update(&*self.0);
        hasher.update(election);
        *hasher.finalize().as_bytes()
    }

    /// The seed for a purpose, bound to everything that was fixed before.
    pub fn seed(&self, purpose: Purpose, bound_to: &[u8; 32]) -> Seed {
        let mut hasher = blake3::Hasher::new_derive_key(purpose.context());
        hasher.update(&*self.0);
        hasher.update(bound_to);
        Seed::from_bytes(*hasher.finalize().as_bytes())
    }

    /// A name: tells parts apart, and nothing about the draws.
    pub(crate) fn name(&self) -> [u8; 32] {
        blake3::derive_key(NAME, &*self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_follows_from_the_part_the_purpose_and_what_is_frozen() {
        let part = SeedPart::from_bytes([1; 32]);
        let seeds = [
            part.seed(Purpose::Draws, &[2; 32]),
            part.seed(Purpose::Audit, &[2; 32]),
            part.seed(Purpose::Again, &[2; 32]),
            part.seed(Purpose::Draws, &[3; 32]),
            SeedPart::from_bytes([4; 32]).seed(Purpose::Draws, &[2; 32]),
        ];
        let different: std::collections::HashSet<_> = seeds.iter().map(Seed::as_bytes).collect();
        assert_eq!(different.len(), seeds.len());
        let again = part.seed(Purpose::Draws, &[2; 32]);
        assert_eq!(again.as_bytes(), seeds[0].as_bytes());
    }

    #[test]
    fn a_commitment_is_to_one_part_and_one_election_and_shows_neither() {
        let part = SeedPart::from_bytes([1; 32]);
        let commitment = part.commitment(&[2; 32]);
        assert_ne!(commitment, part.commitment(&[3; 32]));
        assert_ne!(commitment, SeedPart::from_bytes([9; 32]).commitment(&[2; 32]));
        assert_eq!(format!("{part:?}"), "SeedPart");
    }
}
