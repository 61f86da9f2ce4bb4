//! The keys of the engines that bootstrap, and encryption under the public one.
//!
//! | key | holder | opens |
//! |---|---|---|
//! | [`SecretKey`] | the student, nobody else | every ballot and every release |
//! | [`PublicKey`] | anyone | nothing |
//! | [`EvaluationKey`] | the server (anyone may have it) | nothing |
//!
//! Student and server must not work together: the student's key reads every ballot, and the server
//! has them.
//!
//! The student's key is a binary polynomial s. The public key is one ring-LWE sample (a, b = a s +
//! e); an encryption of up to N numbers is `(a r + e1, b r + e2 + m(X))` with a fresh binary r: N
//! words of mask for all of them and one word for each, so for a full batch two words a number.
//! Words are cut to fewer bits where that does no harm; what is cut can give nothing away. The
//! evaluation key is a bootstrapping and a switching key. The first encrypts the small key under s,
//! the second s under the small key: that this cycle is safe is the usual **circular-security
//! assumption** of TFHE.

use std::fmt;

use rand::{CryptoRng, RngCore};
use shield::framing::KeyId;
use tfhe::core_crypto::algorithms::polynomial_algorithms::polynomial_karatsuba_wrapping_mul;
use tfhe::core_crypto::commons::generators::DeterministicSeeder;
use tfhe::core_crypto::commons::math::random::{CompressionSeed, RandomGenerator, Seed};
use tfhe::core_crypto::prelude::{
    DefaultRandomGenerator, EncryptionRandomGenerator, FourierLweBootstrapKeyOwned, GlweCiphertext,
    GlweSecretKey, LweKeyswitchKeyOwned, LweSecretKey, Polynomial, SecretRandomGenerator,
    SeededLweBootstrapKey, SeededLweKeyswitchKey, allocate_and_generate_new_binary_glwe_secret_key,
    allocate_and_generate_new_binary_lwe_secret_key, convert_standard_lwe_bootstrap_key_to_fourier,
    encrypt_glwe_ciphertext_assign, generate_seeded_lwe_keyswitch_key,
    par_generate_seeded_lwe_bootstrap_key,
};
use zeroize::Zeroizing;

use super::parameters::{
    BOOTSTRAP_BASE, BOOTSTRAP_LEVELS, GLWE_DIMENSION, POLYNOMIAL, RING, SMALL, SMALL_DIMENSION,
    SWITCH_BASE, SWITCH_LEVELS, native, ring_noise, small_noise,
};
use super::torus::Lwe;
use crate::transform::fft;

/// The student's key: it opens every ballot. Wiped from memory when it goes.
#[derive(Clone)]
pub struct SecretKey {
    /// N words, each 0 or 1.
    pub(crate) bits: Zeroizing<Vec<u64>>,
    pub(crate) id: KeyId,
}

/// What the teachers encrypt with.
#[derive(Clone)]
pub struct PublicKey {
    /// The N words of a, then those of b.
    pub(crate) words: Vec<u64>,
    pub(crate) id: KeyId,
}

/// What the server aggregates with. It opens nothing.
#[derive(Clone)]
pub struct EvaluationKey {
    pub(crate) public: PublicKey,
    /// What the masks of the two keys below come from, and their bodies: half of the one key, a
    /// thousandth of the other.
    pub(crate) seeds: [u128; 2],
    pub(crate) bootstrap_bodies: Vec<u64>,
    pub(crate) switch_bodies: Vec<u64>,
    /// The same, ready for use.
    pub(crate) bootstrap: FourierLweBootstrapKeyOwned,
    pub(crate) switch: LweKeyswitchKeyOwned<u64>,
}

/// Words of the bootstrapping key's bodies.
pub(crate) const BOOTSTRAP_WORDS: usize = SMALL * 2 * BOOTSTRAP_LEVELS.0 * RING;
/// Words of the switching key's bodies.
pub(crate) const SWITCH_WORDS: usize = RING * SWITCH_LEVELS.0;

macro_rules! opaque_debug {
    ($($name:ident),*) => {$(
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).field("id", &self.id()).finish_non_exhaustive()
            }
        }
    )*};
}
opaque_debug!(SecretKey, PublicKey, EvaluationKey);

/// Numbers encrypted together: one mask for all of them, and a word each.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Packed {
    pub(crate) mask: Vec<u64>,
    pub(crate) bodies: Vec<u64>,
}

impl Packed {
    /// The encryption of one of the numbers on its own.
    pub(crate) fn number(&self, place: usize) -> Lwe {
        let mut words = Vec::with_capacity(RING + 1);
        words.extend(self.mask[..=place].iter().rev());
        words.extend(self.mask[place + 1..].iter().rev().map(|word| word.wrapping_neg()));
        words.push(self.bodies[place]);
        Lwe(words)
    }
}

impl SecretKey {
    /// The name of the set of keys that this one belongs to.
    pub fn id(&self) -> KeyId {
        self.id
    }

    /// The encrypted number with its noise.
    pub(crate) fn phase(&self, ciphertext: &Lwe) -> u64 {
        let (body, mask) = ciphertext.0.split_last().expect("a body");
        let terms = mask.iter().zip(self.bits.iter());
        terms.fold(*body, |sum, (word, bit)| sum.wrapping_sub(word.wrapping_mul(*bit)))
    }
}

/// Purpose of the digest that names a set of keys.
pub(crate) const KEY_NAME: &str = "shield 2026 tfhe key name v1";

/// Appends words.
pub(crate) fn write_words(out: &mut Vec<u8>, words: &[u64]) {
    out.extend(words.iter().flat_map(|word| word.to_le_bytes()));
}

impl PublicKey {
    pub(crate) fn new(words: Vec<u64>) -> Self {
        let mut payload = Vec::new();
        write_words(&mut payload, &words);
        Self { id: KeyId::of_public_key(KEY_NAME, &payload), words }
    }

    /// The name of the set of keys that this one belongs to.
    pub fn id(&self) -> KeyId {
        self.id
    }

    /// Encrypts up to N numbers together; every word of the result is rounded to its `bits` highest
    /// bits.
    pub(crate) fn encrypt<R: RngCore + CryptoRng>(
        &self,
        numbers: &[u64],
        bits: u32,
        rng: &mut R,
    ) -> Packed {
        let mut packed = self.zeros(numbers.len(), rng);
        for (body, number) in packed.bodies.iter_mut().zip(numbers) {
            *body = body.wrapping_add(*number);
        }
        for word in packed.mask.iter_mut().chain(&mut packed.bodies) {
            *word = rounded(*word, bits);
        }
        packed
    }

    /// Encrypts that many zeros together.
    pub(crate) fn zeros<R: RngCore + CryptoRng>(&self, count: usize, rng: &mut R) -> Packed {
        let mut mixer = Zeroizing::new(vec![0; RING]);
        for bits in mixer.chunks_mut(64) {
            let random = Zeroizing::new(rng.next_u64());
            for (place, bit) in bits.iter_mut().enumerate() {
                *bit = *random >> place & 1;
            }
        }
        let mut noise = RandomGenerator::<DefaultRandomGenerator>::new(seed(rng));
        let mixer = Polynomial::from_container(mixer.as_slice());
        let mut half = |words: &[u64], count: usize| {
            let mut product = Polynomial::from_container(vec![0_u64; RING]);
            let words = Polynomial::from_container(words);
            polynomial_karatsuba_wrapping_mul(&mut product, &words, &mixer);
            let mut product = product.into_container();
            product.truncate(count);
            let mut error = Zeroizing::new(vec![0_u64; count]);
            noise.fill_slice_with_random_from_distribution(&mut error, ring_noise());
            for (word, error) in product.iter_mut().zip(error.iter()) {
                *word = word.wrapping_add(*error);
            }
            product
        };
        let (a, b) = self.words.split_at(RING);
        Packed { mask: half(a, RING), bodies: half(b, count) }
    }
}

impl EvaluationKey {
    /// The name of the set of keys that this one belongs to.
    pub fn id(&self) -> KeyId {
        self.public.id
    }

    /// The key from what is sent of it. The bodies have been checked to be as many as they must be.
    pub(crate) fn expand(
        public: PublicKey,
        seeds: [u128; 2],
        bootstrap_bodies: Vec<u64>,
        switch_bodies: Vec<u64>,
    ) -> Self {
        let standard = SeededLweBootstrapKey::from_container(
            bootstrap_bodies.clone(),
            GLWE_DIMENSION.to_glwe_size(),
            POLYNOMIAL,
            BOOTSTRAP_BASE,
            BOOTSTRAP_LEVELS,
            CompressionSeed::from(Seed(seeds[0])),
            native(),
        )
        .decompress_into_lwe_bootstrap_key();
        let mut bootstrap = FourierLweBootstrapKeyOwned::new(
            SMALL_DIMENSION,
            GLWE_DIMENSION.to_glwe_size(),
            POLYNOMIAL,
            BOOTSTRAP_BASE,
            BOOTSTRAP_LEVELS,
        );
        // Before the crate transforms anything on its own.
        let _ = fft();
        convert_standard_lwe_bootstrap_key_to_fourier(&standard, &mut bootstrap);
        let switch = SeededLweKeyswitchKey::from_container(
            switch_bodies.clone(),
            SWITCH_BASE,
            SWITCH_LEVELS,
            SMALL_DIMENSION.to_lwe_size(),
            CompressionSeed::from(Seed(seeds[1])),
            native(),
        )
        .decompress_into_lwe_keyswitch_key();
        Self { public, seeds, bootstrap_bodies, switch_bodies, bootstrap, switch }
    }
}

/// Fresh keys.
pub(crate) fn generate<R: RngCore + CryptoRng>(
    rng: &mut R,
) -> (SecretKey, PublicKey, EvaluationKey) {
    let mut secrets = SecretRandomGenerator::<DefaultRandomGenerator>::new(seed(rng));
    let mut seeder = DeterministicSeeder::<DefaultRandomGenerator>::new(seed(rng));
    let mut masks_and_noise =
        EncryptionRandomGenerator::<DefaultRandomGenerator>::new(seed(rng), &mut seeder);

    let ring_key = allocate_and_generate_new_binary_glwe_secret_key::<u64, _>(
        GLWE_DIMENSION,
        POLYNOMIAL,
        &mut secrets,
    );
    let ring_bits = Zeroizing::new(ring_key.into_container());
    let ring_key = GlweSecretKey::from_container(ring_bits.as_slice(), POLYNOMIAL);
    let small_key =
        allocate_and_generate_new_binary_lwe_secret_key::<u64, _>(SMALL_DIMENSION, &mut secrets);
    let small_bits = Zeroizing::new(small_key.into_container());
    let small_key = LweSecretKey::from_container(small_bits.as_slice());

    let mut zero = GlweCiphertext::from_container(vec![0; 2 * RING], POLYNOMIAL, native());
    encrypt_glwe_ciphertext_assign(&ring_key, &mut zero, ring_noise(), &mut masks_and_noise);
    let public = PublicKey::new(zero.into_container());

    let seeds = [seed(rng).0, seed(rng).0];
    let mut bootstrap = SeededLweBootstrapKey::from_container(
        vec![0; BOOTSTRAP_WORDS],
        GLWE_DIMENSION.to_glwe_size(),
        POLYNOMIAL,
        BOOTSTRAP_BASE,
        BOOTSTRAP_LEVELS,
        CompressionSeed::from(Seed(seeds[0])),
        native(),
    );
    par_generate_seeded_lwe_bootstrap_key(
        &small_key,
        &ring_key,
        &mut bootstrap,
        ring_noise(),
        &mut seeder,
    );
    let mut switch = SeededLweKeyswitchKey::from_container(
        vec![0; SWITCH_WORDS],
        SWITCH_BASE,
        SWITCH_LEVELS,
        SMALL_DIMENSION.to_lwe_size(),
        CompressionSeed::from(Seed(seeds[1])),
        native(),
    );
    generate_seeded_lwe_keyswitch_key(
        &ring_key.as_lwe_secret_key(),
        &small_key,
        &mut switch,
        small_noise(),
        &mut seeder,
    );
    let evaluation = EvaluationKey::expand(
        public.clone(),
        seeds,
        bootstrap.into_container(),
        switch.into_container(),
    );
    (SecretKey { bits: ring_bits.clone(), id: public.id }, public, evaluation)
}

/// A seed for one of the crate's generators, all of whose randomness so comes from the caller's.
fn seed<R: RngCore + CryptoRng>(rng: &mut R) -> Seed {
    let mut bytes = Zeroizing::new([0; 16]);
    rng.fill_bytes(bytes.as_mut());
    Seed(u128::from_le_bytes(*bytes))
}

/// The nearest word all but whose `bits` highest bits are 0.
pub(crate) fn rounded(word: u64, bits: u32) -> u64 {
    let low = u64::BITS - bits;
    if low == 0 { word } else { (word.wrapping_add(1 << (low - 1)) >> low) << low }
}
