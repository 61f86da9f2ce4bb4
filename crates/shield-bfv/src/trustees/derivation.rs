//! Everything that a trustee draws, and everything that all have in common, from seeds.

use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use shield_core::framing::KeyId;
use zeroize::Zeroizing;

/// A secret seed, wiped from memory when it goes.
pub(super) type SecretSeed = Zeroizing<[u8; 32]>;

/// Purposes.
const SET: &str = "shield 2026 bfv trustees seed of one key set";
const STREAM: &str = "shield 2026 bfv trustees randomness of one message";
const COMMON: &str = "shield 2026 bfv trustees common random string";
const UNIFORM: &str = "shield 2026 bfv trustees uniform polynomials of one key";

/// The name of a ceremony, which its common random string follows from.
pub(super) fn session(common: &[u8; 32], binding: &[u8; 32]) -> KeyId {
    KeyId::from_bytes(derive(COMMON, &[common, binding]))
}

/// What the second parts of one key in a set are expanded from: known to all.
pub(super) fn uniform(session: KeyId, set: usize, number: usize) -> [u8; 32] {
    let [set, number] = [set, number].map(|x| (x as u64).to_le_bytes());
    derive(UNIFORM, &[session.as_bytes(), &set, &number])
}

/// The seed of one of a trustee's key sets.
pub(super) fn of_set(seed: &[u8; 32], set: usize) -> SecretSeed {
    Zeroizing::new(derive(SET, &[seed, &(set as u64).to_le_bytes()]))
}

/// What one message is drawn from, or, told by its purpose, another secret.
pub(super) fn secret(seed: &[u8; 32], purpose: &str, about: &[&[u8]]) -> SecretSeed {
    let mut parts: Vec<&[u8]> = vec![seed, purpose.as_bytes(), &[0]];
    parts.extend(about);
    Zeroizing::new(derive(STREAM, &parts))
}

/// The generator of [`secret`].
pub(super) fn stream(seed: &[u8; 32], purpose: &str, about: &[&[u8]]) -> ChaCha20Rng {
    ChaCha20Rng::from_seed(*secret(seed, purpose, about))
}

/// A digest of some parts, whose lengths are fixed by the purpose.
pub(super) fn derive(purpose: &str, parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key(purpose);
    for part in parts {
        hasher.update(part);
    }
    *hasher.finalize().as_bytes()
}
