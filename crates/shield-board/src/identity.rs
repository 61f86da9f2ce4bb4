//! A party's own secret: 32 bytes, from which its keys follow.

use std::fmt;
use std::path::Path;

use ed25519_dalek::{Signer, SigningKey};
use rand::CryptoRng;
use serde::Deserialize;
use x25519_dalek::{PublicKey, StaticSecret};
use zeroize::{Zeroize, Zeroizing};

use crate::error::{BoardError, Fault, read_bounded};
use crate::hex::unhex;
use crate::name::Name;
use crate::private;
use crate::public::{PublicKeys, PublicLine};

const SIGNING: &str = "shield 2026 identity signing key v1";
const SEALING: &str = "shield 2026 identity sealing key v1";
const MAX_BYTES: usize = 1 << 12;

/// The secret of a party, made by that party and by nobody else: a seed of 32 bytes that gives a
/// key that signs and a key that opens sealed messages.
pub struct Identity {
    name: Name,
    seed: Zeroizing<[u8; 32]>,
    signing: SigningKey,
    sealing: StaticSecret,
    public: PublicKeys,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The identity file. The seed is wiped when it is dropped.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    name: Name,
    seed: String,
}

impl Drop for Document {
    fn drop(&mut self) {
        self.seed.zeroize();
    }
}

impl Identity {
    /// A new identity.
    pub fn generate<R: CryptoRng + ?Sized>(name: Name, rng: &mut R) -> Self {
        let mut seed = Zeroizing::new([0; 32]);
        rng.fill_bytes(&mut *seed);
        Self::from_seed(name, seed)
    }

    /// The identity with this seed.
    pub fn from_seed(name: Name, seed: Zeroizing<[u8; 32]>) -> Self {
        let derived = |context| Zeroizing::new(blake3::derive_key(context, &*seed));
        let signing = SigningKey::from_bytes(&derived(SIGNING));
        let sealing = StaticSecret::from(*derived(SEALING));
        let public = PublicKeys::of(signing.verifying_key(), PublicKey::from(&sealing));
        Self { name, seed, signing, sealing, public }
    }

    /// Reads an identity file.
    pub fn read(path: &Path) -> Result<Self, BoardError> {
        let refuse = |fault| BoardError::refused(path, fault);
        let bytes = Zeroizing::new(read_bounded(path, MAX_BYTES).map_err(refuse)?);
        let text = std::str::from_utf8(&bytes).map_err(|_| refuse(Fault::Identity))?;
        let document: Document = toml::from_str(text).map_err(|_| refuse(Fault::Identity))?;
        let seed = unhex(&document.seed).map(Zeroizing::new);
        let seed = seed.ok_or_else(|| refuse(Fault::Identity))?;
        Ok(Self::from_seed(document.name.clone(), seed))
    }

    /// Writes the identity file, for its owner alone and never over another.
    pub fn write(&self, path: &Path) -> Result<(), BoardError> {
        let mut text = Zeroizing::new(format!(
            "# The secret of `{}`. Whoever has it can vote and sign in this name: give it to \
             nobody, keep a copy.\nname = \"{}\"\nseed = \"",
            self.name, self.name
        ));
        // Reserved at once: a string that grows leaves copies behind.
        text.reserve(2 * self.seed.len() + 2);
        for byte in self.seed.iter() {
            for digit in [byte >> 4, byte & 15] {
                text.push(char::from_digit(u32::from(digit), 16).unwrap_or('0'));
            }
        }
        text.push_str("\"\n");
        private::write(path, text.as_bytes()).map_err(|error| BoardError::cannot_write(path, error))
    }

    /// What the party is called.
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// Its public keys.
    pub fn public(&self) -> &PublicKeys {
        &self.public
    }

    /// What the party gives to all others.
    pub fn public_line(&self) -> PublicLine {
        PublicLine { name: self.name.clone(), keys: self.public }
    }

    pub(crate) fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.signing.sign(message).to_bytes()
    }

    pub(crate) fn sealing(&self) -> &StaticSecret {
        &self.sealing
    }
}
