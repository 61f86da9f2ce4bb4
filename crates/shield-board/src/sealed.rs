//! Messages that one party can read.
//!
//! ```text
//! ephemeral X25519 key 32 | ciphertext | tag 16
//! ```
//!
//! ChaCha20-Poly1305 with nonce 0 under a key that is used once: the derived hash of the shared
//! secret, both public keys and the purpose. A box opens only for the purpose it was sealed for, so
//! that it cannot be moved to another election or step. It does not say who sealed it: a sealed
//! message stands in a body that its author signed.

use chacha20poly1305::aead::Aead;
use chacha20poly1305::{ChaCha20Poly1305, KeyInit, Nonce};
use rand::CryptoRng;
use x25519_dalek::{PublicKey, SharedSecret, StaticSecret};
use zeroize::Zeroizing;

use crate::identity::Identity;
use crate::public::PublicKeys;

const CONTEXT: &str = "shield 2026 sealed box v1";

/// How many bytes longer a sealed message is.
pub const OVERHEAD: usize = 32 + 16;

/// Seals a message to a party, for one purpose.
pub fn seal<R: CryptoRng + ?Sized>(
    to: &PublicKeys,
    purpose: &[u8],
    message: &[u8],
    rng: &mut R,
) -> Vec<u8> {
    let mut seed = Zeroizing::new([0; 32]);
    rng.fill_bytes(&mut *seed);
    let ephemeral = StaticSecret::from(*seed);
    let public = PublicKey::from(&ephemeral);
    let shared = ephemeral.diffie_hellman(to.sealing());
    let cipher = cipher(&shared, &public, to.sealing(), purpose);
    let sealed = cipher.encrypt(&Nonce::default(), message).expect("a message fits in memory");
    [&public.as_bytes()[..], &sealed].concat()
}

/// Opens a message that was sealed to this identity for this purpose; `None` of any other.
pub fn open(identity: &Identity, purpose: &[u8], sealed: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let (public, sealed) = sealed.split_first_chunk::<32>()?;
    let public = PublicKey::from(*public);
    let shared = identity.sealing().diffie_hellman(&public);
    // A point of small order would give a key that anybody knows.
    if !shared.was_contributory() {
        return None;
    }
    let cipher = cipher(&shared, &public, identity.public().sealing(), purpose);
    cipher.decrypt(&Nonce::default(), sealed).ok().map(Zeroizing::new)
}

fn cipher(
    shared: &SharedSecret,
    ephemeral: &PublicKey,
    to: &PublicKey,
    purpose: &[u8],
) -> ChaCha20Poly1305 {
    let mut hasher = blake3::Hasher::new_derive_key(CONTEXT);
    hasher.update(shared.as_bytes());
    hasher.update(ephemeral.as_bytes());
    hasher.update(to.as_bytes());
    hasher.update(purpose);
    let key = Zeroizing::new(*hasher.finalize().as_bytes());
    ChaCha20Poly1305::new((&*key).into())
}
