//! Seeds that only the student opens: ML-KEM-768 (FIPS 203), whose shared key is the seed.
//!
//! A teacher does not choose its seed: it is what encapsulation gives. Nobody without the student's
//! key can make from a sealed seed another one that is related to it, and a sealed seed that
//! nobody made opens to junk (the scheme is secure against chosen ciphertexts).

use ml_kem::kem::{Decapsulate, KeyExport};
use ml_kem::{DecapsulationKey, EncapsulationKey, MlKem768};
use rand::{CryptoRng, RngCore};
use zeroize::Zeroizing;

use crate::argmax::sizes::{CAPSULE, OPENING_KEY, SEALING_KEY};

/// A sealed seed.
pub(super) type Capsule = [u8; CAPSULE];

/// What teachers seal seeds with.
#[derive(Clone)]
pub(super) struct SealingKey(EncapsulationKey<MlKem768>);

/// What the student opens seeds with. Wiped from memory when it goes.
#[derive(Clone)]
pub(super) struct OpeningKey {
    seed: Zeroizing<[u8; OPENING_KEY]>,
    key: DecapsulationKey<MlKem768>,
}

impl SealingKey {
    /// The key that these bytes are, if they are one.
    pub(super) fn from_bytes(bytes: &[u8; SEALING_KEY]) -> Option<Self> {
        EncapsulationKey::new(&(*bytes).into()).ok().map(Self)
    }

    pub(super) fn to_bytes(&self) -> [u8; SEALING_KEY] {
        self.0.to_bytes().into()
    }

    /// A seed and its capsule: functions of the coins, which must be secret and used once.
    pub(super) fn seal(&self, coins: &[u8; 32]) -> (Zeroizing<[u8; 32]>, Capsule) {
        let coins = Zeroizing::new(*coins);
        let (capsule, seed) = self.0.encapsulate_deterministic(&(*coins).into());
        (Zeroizing::new(seed.into()), capsule.into())
    }
}

impl OpeningKey {
    pub(super) fn random<R: RngCore + CryptoRng>(rng: &mut R) -> Self {
        let mut seed = Zeroizing::new([0; OPENING_KEY]);
        rng.fill_bytes(&mut *seed);
        Self::from_bytes(seed)
    }

    pub(super) fn from_bytes(seed: Zeroizing<[u8; OPENING_KEY]>) -> Self {
        let key = DecapsulationKey::from_seed((*seed).into());
        Self { seed, key }
    }

    pub(super) fn to_bytes(&self) -> &[u8; OPENING_KEY] {
        &self.seed
    }

    pub(super) fn sealing(&self) -> SealingKey {
        SealingKey(self.key.encapsulation_key().clone())
    }

    /// The seed in a capsule; junk of a capsule that nobody sealed.
    pub(super) fn open(&self, capsule: &Capsule) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(self.key.decapsulate(&(*capsule).into()).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    #[test]
    fn what_is_sealed_is_opened_by_one_key_alone() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let [key, other] = [0, 1].map(|_| OpeningKey::random(&mut rng));
        let sent = SealingKey::from_bytes(&key.sealing().to_bytes()).expect("a key");
        let (seed, capsule) = sent.seal(&[7; 32]);
        let again = OpeningKey::from_bytes(Zeroizing::new(*key.to_bytes()));
        assert_eq!(again.open(&capsule), seed);
        assert_ne!(other.open(&capsule), seed);
        let mut forged = capsule;
        forged[500] ^= 1;
        assert_ne!(key.open(&forged), seed);
        assert!(SealingKey::from_bytes(&[255; SEALING_KEY]).is_none());
    }
}
