//! Circuit privacy: what the student gets follows from the label alone. See the theorem below.

use rand::{CryptoRng, RngCore, SeedableRng};
use rand_chacha::ChaCha20Rng;
use shield::Seed;

use super::keys::{PublicKey, rounded};
use super::parameters::{
    bootstrap_variance, encryption_variance, lookup_failure, lookup_variance, packing_variance,
    torus,
};
use super::plan::RELEASE_BITS;
use super::torus::{Lookup, Lwe, Table};

/// Statistical distance, in bits, between a released batch and its simulation.
pub const STATISTICAL_BITS: f64 = 40.0;

/// Deviations that noise is never expected to pass: 2^-75 for each time that it is drawn.
const TAIL: f64 = 10.0;

/// How a ciphertext is washed.
#[derive(Clone, Debug)]
pub(crate) struct Washing {
    base: usize,
    cycles: usize,
    /// Half the width of the flood, in turns: before every bootstrapping, and before the release.
    flood: f64,
    last_flood: f64,
    failure: f64,
}

impl Washing {
    /// For codes 0..=base, `variance` at the start, and `released` ciphertexts a batch; `None` if there is no room to flood.
    pub(crate) fn new(base: usize, variance: f64, released: usize) -> Option<Self> {
        let half_step = 1.0 / (4.0 * base as f64);
        let own = bootstrap_variance() + encryption_variance();
        let start = variance + encryption_variance();
        let flood = half_step - TAIL * (own.max(start) + lookup_variance()).sqrt();
        let last_flood = half_step - TAIL * (own + packing_variance(RELEASE_BITS)).sqrt();
        if flood <= 0.0 || last_flood <= 0.0 {
            return None;
        }
        // Flooding leaves a distance of at most |e - e'| / 2 flood; neither error is larger than TAIL deviations.
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

    /// Probability that it changes the code.
    pub(crate) fn failure(&self) -> f64 {
        self.failure
    }

    /// The ciphertext of the same code, washed, its words rounded to what is released.
    pub(crate) fn wash(
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

/// The table that turns the code k at k/2 beta - 1/4 into the same with fresh noise. Codes 0 and beta are half a turn
/// apart, and what the table says about them too.
fn refresh(base: usize) -> Table {
    let steps = 2.0 * base as f64;
    Table::new(|x| ((x + 0.25) * steps).round() / steps - 0.25)
}

/// Adds a fresh encryption of zero and a uniform number of at most `flood` turns.
fn rerandomise<R: RngCore + CryptoRng>(
    public: &PublicKey,
    ciphertext: &mut Lwe,
    flood: f64,
    rng: &mut R,
) {
    ciphertext.add_multiple(1, &public.zeros(1, rng).number(0));
    let width = u128::from(torus(2.0 * flood));
    // The high word of a product with a uniform word: as good as uniform, 2^-64 of a step apart.
    #[expect(clippy::cast_possible_truncation, reason = "the width is below 2^64")]
    let uniform = (width * u128::from(rng.next_u64()) >> 64) as u64;
    ciphertext.shift(uniform.wrapping_sub(torus(flood)));
}

/// The randomness for one ciphertext: a function of the seed and of every bit of the ciphertext.
///
/// Bootstrapping computes with floats. Two kinds of processor may so end with ciphertexts that differ in their
/// lowest bits; washed with the same randomness, their difference would show the noise. So each has its own.
fn stream(seed: &Seed, place: u64, ciphertext: &Lwe) -> ChaCha20Rng {
    let mut key = zeroize::Zeroizing::new([0; 32]);
    seed.stream("shield 2026 tfhe washing", place).fill_bytes(key.as_mut());
    let mut hasher = blake3::Hasher::new_keyed(&key);
    for word in &ciphertext.0 {
        hasher.update(&word.to_le_bytes());
    }
    ChaCha20Rng::from_seed(*hasher.finalize().as_bytes())
}
