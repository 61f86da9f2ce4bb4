//! Keys, encryption and decryption, with the crate's own parameter set for 2 + 2 bits, 128 bits of
//! security and Gaussian noise (`tfhe` 1.4: `PARAM_MESSAGE_2_CARRY_2_KS_PBS_GAUSSIAN_2M128`).
//!
//! A ring of degree N = 2048 over the torus of 64 bits, and n = 866 for the key under which tables
//! are looked up. The set's message space is not used: every table here cuts the torus to its own
//! needs.

use rand::{CryptoRng, RngCore};
use tfhe::core_crypto::commons::generators::DeterministicSeeder;
use tfhe::core_crypto::commons::math::random::Seed;
use tfhe::core_crypto::prelude::{
    CiphertextModulus, DecompositionBaseLog, DecompositionLevelCount, DefaultRandomGenerator,
    EncryptionRandomGenerator, FourierLweBootstrapKeyOwned, Gaussian, GlweCiphertext,
    GlweDimension, GlweSecretKeyOwned, LweCiphertext, LweDimension, LweKeyswitchKeyOwned,
    MonomialDegree, PlaintextList, PolynomialSize, SecretRandomGenerator,
    allocate_and_generate_new_binary_glwe_secret_key,
    allocate_and_generate_new_binary_lwe_secret_key, allocate_and_generate_new_lwe_keyswitch_key,
    convert_standard_lwe_bootstrap_key_to_fourier, decrypt_lwe_ciphertext, encrypt_glwe_ciphertext,
    extract_lwe_sample_from_glwe_ciphertext, par_allocate_and_generate_new_lwe_bootstrap_key,
};

use super::torus::Lwe;
use crate::transform::{DEGREE, fft};

pub(super) const GLWE_DIMENSION: GlweDimension = GlweDimension(1);
pub(super) const POLYNOMIAL: PolynomialSize = PolynomialSize(DEGREE);
pub(super) const SMALL_DIMENSION: LweDimension = LweDimension(866);
const BOOTSTRAP_BASE: DecompositionBaseLog = DecompositionBaseLog(23);
const BOOTSTRAP_LEVELS: DecompositionLevelCount = DecompositionLevelCount(1);
const SWITCH_BASE: DecompositionBaseLog = DecompositionBaseLog(3);
const SWITCH_LEVELS: DecompositionLevelCount = DecompositionLevelCount(5);
const RING_NOISE: Gaussian<f64> = Gaussian { std: 2.845_267_479_601_915e-15, mean: 0.0 };
const SMALL_NOISE: Gaussian<f64> = Gaussian { std: 2.046_151_696_979_124e-6, mean: 0.0 };

/// Bytes of the server's keys as they are sent: their masks come from seeds.
pub(super) const SERVER_KEY_BYTES: usize =
    8 * (SMALL_DIMENSION.0 * 2 * BOOTSTRAP_LEVELS.0 * DEGREE + DEGREE * SWITCH_LEVELS.0);

/// Words of 64 bits: no modulus to reduce by.
pub(super) fn native() -> CiphertextModulus<u64> {
    CiphertextModulus::new_native()
}

/// Every role's keys.
pub(super) struct Keys {
    secret: GlweSecretKeyOwned<u64>,
    noise: EncryptionRandomGenerator<DefaultRandomGenerator>,
    pub(super) server: ServerKey,
}

/// What tables are looked up with.
pub(super) struct ServerKey {
    pub(super) bootstrap: FourierLweBootstrapKeyOwned,
    pub(super) switch: LweKeyswitchKeyOwned<u64>,
}

impl Keys {
    pub(super) fn generate<R: RngCore + CryptoRng>(rng: &mut R) -> Self {
        let mut seed = || {
            let mut bytes = [0; 16];
            rng.fill_bytes(&mut bytes);
            Seed(u128::from_le_bytes(bytes))
        };
        let mut secrets = SecretRandomGenerator::<DefaultRandomGenerator>::new(seed());
        let mut seeder = DeterministicSeeder::<DefaultRandomGenerator>::new(seed());
        let mut noise = EncryptionRandomGenerator::new(seed(), &mut seeder);
        let secret = allocate_and_generate_new_binary_glwe_secret_key(
            GLWE_DIMENSION,
            POLYNOMIAL,
            &mut secrets,
        );
        let small = allocate_and_generate_new_binary_lwe_secret_key(SMALL_DIMENSION, &mut secrets);
        let standard = par_allocate_and_generate_new_lwe_bootstrap_key(
            &small,
            &secret,
            BOOTSTRAP_BASE,
            BOOTSTRAP_LEVELS,
            RING_NOISE,
            native(),
            &mut noise,
        );
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
        let switch = allocate_and_generate_new_lwe_keyswitch_key(
            &secret.as_lwe_secret_key(),
            &small,
            SWITCH_BASE,
            SWITCH_LEVELS,
            SMALL_NOISE,
            native(),
            &mut noise,
        );
        Self { secret, noise, server: ServerKey { bootstrap, switch } }
    }

    /// Encrypts up to N numbers together.
    pub(super) fn encrypt(&mut self, mut numbers: Vec<u64>) -> Packed {
        numbers.resize(DEGREE, 0);
        let mut out = zero();
        let numbers = PlaintextList::from_container(numbers);
        encrypt_glwe_ciphertext(&self.secret, &mut out, &numbers, RING_NOISE, &mut self.noise);
        out
    }

    /// The encrypted number with its noise.
    pub(super) fn decrypt(&self, number: &Lwe) -> u64 {
        let number = LweCiphertext::from_container(number.0.as_slice(), native());
        decrypt_lwe_ciphertext(&self.secret.as_lwe_secret_key(), &number).0
    }
}

/// Numbers encrypted together: one mask for all of them, and a word each.
pub(super) type Packed = GlweCiphertext<Vec<u64>>;

/// Zeros without noise.
pub(super) fn zero() -> Packed {
    GlweCiphertext::new(0, GLWE_DIMENSION.to_glwe_size(), POLYNOMIAL, native())
}

/// The encryption of one of the numbers on its own.
pub(super) fn number(packed: &Packed, place: usize) -> Lwe {
    let mut number = Lwe::known(0);
    extract_lwe_sample_from_glwe_ciphertext(
        packed,
        &mut LweCiphertext::from_container(number.0.as_mut_slice(), native()),
        MonomialDegree(place),
    );
    number
}
