//! Circuit privacy: what the student gets follows from the label alone.
//!
//! The student owns the secret key, so from a released ciphertext it reads the code of the label
//! and the noise on it. The noise of a bootstrapping is a sum over the bits of the small key of
//! decomposition errors times key noise: it follows from the rotated table and from the mask of the
//! input, so from whom the server drew and from what they voted. And the ciphertext's mask is
//! itself a function of the ballots. (The paper releases both as they are.) On this torus there is
//! no room to drown that noise at once: its deviation is 2^-15 of a turn. So the ciphertext is
//! flooded **in cycles** (Ducas and Stehle, "Sanitization of FHE ciphertexts", 2016). A cycle
//!
//! 1. adds a fresh encryption of zero under the public key: a new mask;
//! 2. adds a uniform number of at most f turns: a flood;
//! 3. looks up the same code again: new noise.
//!
//! After c cycles come steps 1 and 2 once more, with a flood F, and the words are cut to 16 bits.
//!
//! # Theorem
//!
//! Let two ciphertexts of the same code have noise of at most E_0, and let bootstrappings have
//! noise of at most E. Their floodings have a distance of at most `(E_0/f) (E/f)^(c-1) (E/F)`, plus
//! c + 1 times the advantage against ring-LWE with a hint (below). Both are therefore as close to
//! the flooding of a noiseless encryption of the code under the same randomness, which knows the
//! label alone.
//!
//! # Proof
//!
//! *Ideal cycle.* Let step 1 replace the mask by a uniform one and leave the noise. Run the two
//! cycles side by side. Their phases before the flood differ by at most 2E_0; two uniform intervals
//! of width 2f at that distance overlap but for E_0/f, so the floods can be drawn such that both
//! phases are equal with probability 1 - E_0/f; masks are drawn equal. Two equal ciphertexts are
//! looked up to equal ciphertexts, and stay equal when flooded with the same randomness. If they
//! are not equal, their noise is again at most E, and the next cycle has its own chance,
//! independent of the first. The probability that all c + 1 chances fail bounds the distance. (This
//! is Ducas' and Stehle's argument: floods multiply.)
//!
//! *Real cycle.* The encryption of zero is (a r + e1, b r + e2) with b = a s + e: its mask a r + e1
//! is a ring-LWE sample with secret r. The student knows s and e, so from the phase it could learn
//! about the number h = e r + e2 - e1 s, a **hint** of deviation 2^-43 under a flood of width 2^-7.
//! Ring-LWE whose secret and error are known up to one such hint is as hard as ring-LWE for
//! Gaussian secrets and errors of slightly less width (Kim, Lee, Seo and Song, 2023, "Hint-MLWE";
//! here less by a factor of 1 - 2^-70); the crate's binary r is not Gaussian, so for it this is an
//! assumption. Without it, drowning the hint alone bounds each cycle by 2^-33. One cycle after the
//! other, the real mask is replaced by the ideal one. []
//!
//! E is ten deviations (passed with a probability of 2^-75), f and F are what the margin of the
//! lookup and of the decryption leave (with ten deviations of their noise), and c is the smallest
//! number for which the bound is at most [`STATISTICAL_BITS`] for all ciphertexts of a batch
//! together. For ten classes that is 7 to 9 cycles.

use rand::{CryptoRng, RngCore, SeedableRng};
use rand_chacha::ChaCha20Rng;
use shield::Seed;

use super::keys::{PublicKey, rounded};
use super::lookup::Lookup;
use super::parameters::{
    RELEASE_BITS, bootstrap_variance, encryption_variance, lookup_failure, lookup_variance,
    packing_variance, torus,
};
use super::torus::{Lwe, Table};

/// Statistical distance, in bits, between a released batch and its simulation.
pub const STATISTICAL_BITS: f64 = 40.0;

/// Deviations that noise is never expected to pass: 2^-75 for each time that it is drawn.
const TAIL: f64 = 10.0;

/// How a ciphertext is flooded.
#[derive(Clone, Debug)]
pub(crate) struct Flooding {
    base: usize,
    cycles: usize,
    /// Half the width of the flood, in turns: before every bootstrapping, and before the release.
    flood: f64,
    last_flood: f64,
    failure: f64,
}

impl Flooding {
    /// For codes 0..=base, `variance` at the start, and `released` ciphertexts per batch; `None` if
    /// there is no room to flood.
    pub(crate) fn new(base: usize, variance: f64, released: usize) -> Option<Self> {
        let half_step = 1.0 / (4.0 * base as f64);
        let own = bootstrap_variance() + encryption_variance();
        let start = variance + encryption_variance();
        let flood = half_step - TAIL * (own.max(start) + lookup_variance()).sqrt();
        let last_flood = half_step - TAIL * (own + packing_variance(RELEASE_BITS)).sqrt();
        if flood <= 0.0 || last_flood <= 0.0 {
            return None;
        }
        // Flooding leaves a distance of at most |e - e'| / 2 flood; neither error is larger than
        // TAIL deviations.
        let bits = |variance: f64, flood: f64| -(TAIL * variance.sqrt() / flood).log2();
        let missing = STATISTICAL_BITS + (released.max(1) as f64).log2()
            - bits(start, flood)
            - bits(own, last_flood);
        let per_cycle = bits(own, flood);
        if per_cycle <= 0.5 || bits(start, flood) <= 0.0 {
            return None;
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few cycles")]
        let cycles = 1 + (missing / per_cycle).ceil().max(0.0) as usize;
        let failure = lookup_failure(start, half_step - flood)
            + cycles as f64 * lookup_failure(own, half_step - flood);
        Some(Self { base, cycles, flood, last_flood, failure })
    }

    /// How many bootstrappings it takes.
    pub(crate) fn cycles(&self) -> usize {
        self.cycles
    }

    /// Half the widths of the floods, in turns: before every bootstrapping, and before the release.
    #[cfg(test)]
    pub(crate) fn floods(&self) -> (f64, f64) {
        (self.flood, self.last_flood)
    }

    /// Probability that it changes the code.
    pub(crate) fn failure(&self) -> f64 {
        self.failure
    }

    /// The ciphertext of the same code, flooded, its words rounded to what is released.
    pub(crate) fn flood(
        &self,
        lookup: &mut Lookup,
        public: &PublicKey,
        mut ciphertext: Lwe,
        seed: &Seed,
        place: u64,
    ) -> Lwe {
        let mut rng = stream(seed, place, &ciphertext);
        let table = refresh(self.base);
        for _ in 0..self.cycles {
            rerandomise(public, &mut ciphertext, self.flood, &mut rng);
            ciphertext.shift(torus(-0.25));
            ciphertext = lookup.look_up(&table, &ciphertext);
            ciphertext.shift(torus(0.25));
        }
        rerandomise(public, &mut ciphertext, self.last_flood, &mut rng);
        for word in &mut ciphertext.0 {
            *word = rounded(*word, RELEASE_BITS);
        }
        ciphertext
    }
}

/// The table that turns the code k at k/2 beta - 1/4 into the same with fresh noise. Codes 0 and
/// beta are half a turn apart, and what the table says about them too.
fn refresh(base: usize) -> Table {
    let steps = 2.0 * base as f64;
    Table::new(|x| ((x + 0.25) * steps).round() / steps - 0.25)
}

/// Adds a fresh encryption of zero and a uniform number of at most `flood` turns.
pub(crate) fn rerandomise<R: RngCore + CryptoRng>(
    public: &PublicKey,
    ciphertext: &mut Lwe,
    flood: f64,
    rng: &mut R,
) {
    ciphertext.add_multiple(1, &public.zeros(1, rng).number(0));
    let width = u128::from(torus(2.0 * flood));
    // The high word of a product with a uniform word: uniform but for less than 2^-50.
    let uniform = u64::try_from((width * u128::from(rng.next_u64())) >> 64).expect("a high word");
    ciphertext.shift(uniform.wrapping_sub(torus(flood)));
}

/// The randomness for one ciphertext: a function of the seed and of every bit of the ciphertext.
///
/// Bootstrapping computes with floats. Two kinds of processor may so end with ciphertexts that
/// differ in their lowest bits; flooded with the same randomness, their difference would show the
/// noise. So each has its own.
fn stream(seed: &Seed, place: u64, ciphertext: &Lwe) -> ChaCha20Rng {
    let mut key = zeroize::Zeroizing::new([0; 32]);
    seed.stream("shield 2026 tfhe washing", place).fill_bytes(key.as_mut());
    let mut hasher = blake3::Hasher::new_keyed(&key);
    for word in &ciphertext.0 {
        hasher.update(&word.to_le_bytes());
    }
    ChaCha20Rng::from_seed(*hasher.finalize().as_bytes())
}
