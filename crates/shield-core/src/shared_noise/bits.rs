//! Noise of weighted fair bits: what ballots that prove their noise can hold.
//!
//! Each share is the sum of fair bits, one per weight, each times its weight: noise of mean m W/2
//! and variance m (sum of w^2)/4 for m shares with weights of sum W. A bit can be proven to be one,
//! where a Poisson variable cannot. Every class has as many shares, so the mean cancels in the
//! argmax; against a threshold it is taken off, rounded up.
//!
//! # Public signs
//!
//! That a bit is 0 or 1 can be checked; that it was drawn cannot. A teacher who sets all bits of a
//! class shifts its count by W/2. Let every bit b (of a teacher, sample, class and weight) have a
//! fair sign of its own, drawn when all ballots are frozen and public from then on, and let it
//! count as b or, where the sign is negative, as 1 - b.
//!
//! **Cheats gain nothing.** Whatever a teacher puts into its bits before the signs are known, what
//! counts are fair bits, independent of each other and of everything known before: b and 1 - b are
//! equally likely, bit by bit. So counts have the law that they have if the teacher is honest, and
//! a cheat moves labels by its vote alone. (With one sign for all bits of a share, set bits count
//! as 0 or as W, which is more noise than was promised.)
//!
//! **Privacy is unchanged.** Given all signs, an honest teacher's bits count as fair bits, because
//! b is fair and independent of its sign: for whoever knows the signs, the noise has the law that
//! it has without signs. Who sets its bits knows its own share; the price holds for the shares of
//! all others, as it does when such a teacher is missing, so dropouts must cover both.
//!
//! **Nobody can choose the signs** if they follow from randomness that several parties commit to
//! before anyone votes and open after the freeze, one honest among them.

use rand::{CryptoRng, RngCore};

use super::law::NoiseLaw;
use crate::parameters::ParameterError;

/// The weights of the bits in a share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WeightedBits {
    /// As many as there are, then zeros.
    weights: [u16; Self::MAX_BITS],
    bits: usize,
}

impl WeightedBits {
    /// The most bits in a share.
    pub const MAX_BITS: usize = 16;

    /// The largest sum of all weights of all shares: the law is convolved number by number.
    pub const MAX_SUM: u64 = 20_000;

    /// Bits of these weights: 1 to 16 of them, none of them 0.
    pub fn new(given: &[u32]) -> Result<Self, ParameterError> {
        let mut weights = [0; Self::MAX_BITS];
        let sound = (1..=Self::MAX_BITS).contains(&given.len())
            && weights.iter_mut().zip(given).all(|(place, &weight)| {
                *place = u16::try_from(weight).unwrap_or(0);
                *place > 0
            });
        if sound {
            return Ok(Self { weights, bits: given.len() });
        }
        Err(ParameterError::new(
            "the weights of the bits",
            format!("{given:?}"),
            "there must be 1 to 16, all of them at least 1",
        ))
    }

    /// The weights.
    pub fn weights(&self) -> &[u16] {
        &self.weights[..self.bits]
    }

    /// The largest sum of that many shares.
    pub(super) fn most(&self, shares: u32) -> u64 {
        let sum: u64 = self.weights().iter().map(|&weight| u64::from(weight)).sum();
        sum.saturating_mul(u64::from(shares))
    }

    /// The standard deviation of that many shares.
    pub fn deviation(&self, shares: u32) -> f64 {
        let squares = self.weights().iter().map(|&weight| f64::from(weight).powi(2));
        (f64::from(shares) * squares.sum::<f64>() / 4.0).sqrt()
    }

    /// One share, less its mean, rounded up.
    pub(super) fn share<R: RngCore + CryptoRng>(&self, rng: &mut R) -> i64 {
        let drawn = rng.next_u32();
        let weights = self.weights().iter().enumerate();
        let sum: i64 =
            weights.map(|(i, &weight)| i64::from(weight) * i64::from(drawn >> i & 1)).sum();
        sum - i64::try_from(self.most(1).div_ceil(2)).expect("sixteen weights of sixteen bits")
    }

    /// The law of the sum of that many shares, less its mean, rounded up.
    pub(super) fn law(&self, shares: u32) -> NoiseLaw {
        NoiseLaw::around_the_mean(&self.masses(shares))
    }

    /// The probabilities of 0, 1, ... up to the largest sum of that many shares.
    fn masses(&self, shares: u32) -> Vec<f64> {
        let share = self.weights().iter().fold(vec![1.0], |law, &weight| {
            let mut bit = vec![0.0; usize::from(weight) + 1];
            (bit[0], bit[usize::from(weight)]) = (0.5, 0.5);
            convolved(&law, &bit)
        });
        // By squaring, from the highest bit of the number of shares down.
        let mut law = vec![1.0];
        for place in (0..32 - shares.leading_zeros()).rev() {
            law = convolved(&law, &law);
            if shares >> place & 1 == 1 {
                law = convolved(&law, &share);
            }
        }
        law
    }
}

/// The law of a sum. All terms are positive, so small probabilities keep their digits.
fn convolved(one: &[f64], other: &[f64]) -> Vec<f64> {
    let mut sum = vec![0.0; one.len() + other.len() - 1];
    for (i, p) in one.iter().enumerate() {
        for (sum, q) in sum[i..].iter_mut().zip(other) {
            *sum += p * q;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    use super::*;

    /// The law of a share whose bits were set before the signs were drawn, all signs equally
    /// likely; `sign` gives the sign of a bit under one of so many draws.
    fn law_of_set_bits(
        weights: &[u32],
        set: u32,
        draws: u32,
        sign: impl Fn(u32, usize) -> bool,
    ) -> Vec<f64> {
        let mut law = vec![0.0; weights.iter().sum::<u32>() as usize + 1];
        for draw in 0..draws {
            let counts = |place: usize| (set >> place & 1 == 1) != sign(draw, place);
            let bits = weights.iter().enumerate().filter(|(place, _)| counts(*place));
            law[bits.map(|(_, &weight)| weight).sum::<u32>() as usize] += 1.0 / f64::from(draws);
        }
        law
    }

    #[test]
    fn set_bits_under_signs_have_the_law_of_fair_bits() {
        for weights in [vec![1, 2, 4], vec![1, 4], vec![3, 3, 5]] {
            let honest = WeightedBits::new(&weights).unwrap().masses(1);
            let draws = 1 << weights.len();
            for set in 0..draws {
                let own = |draw: u32, place: usize| draw >> place & 1 == 1;
                assert_eq!(law_of_set_bits(&weights, set, draws, own), honest, "{weights:?}");
            }
            // One sign for the whole share: all or nothing.
            let one = law_of_set_bits(&weights, draws - 1, 2, |draw, _| draw == 1);
            assert_eq!((one[0], one[one.len() - 1]), (0.5, 0.5));
            assert_ne!(one, honest);
        }
    }

    #[test]
    fn a_law_by_its_definition() {
        let bits = WeightedBits::new(&[1, 2]).unwrap();
        assert!(bits.masses(1).iter().all(|p| (p - 0.25).abs() < 1e-15));
        let masses = bits.masses(5);
        assert_eq!(masses.len(), 16);
        let numbers = || (0..16_u32).map(f64::from).zip(&masses);
        let mean: f64 = numbers().map(|(z, p)| z * p).sum();
        let square: f64 = numbers().map(|(z, p)| (z - mean).powi(2) * p).sum();
        assert!((mean - 7.5).abs() < 1e-12 && (square.sqrt() - bits.deviation(5)).abs() < 1e-12);
        assert!((masses[0] - 1.0 / 1024.0).abs() < 1e-18);
        for shares in [4, 5] {
            let (law, masses) = (bits.law(shares), bits.masses(shares));
            let whole = i64::from((3 * shares).div_ceil(2));
            for (place, (sum, p)) in (0..).zip(&masses).enumerate() {
                assert!((law.probability(sum - whole) - p).abs() < 1e-15, "{shares} {sum}");
                let above: f64 = masses[place..].iter().sum();
                assert!((law.at_least(sum - whole) - above).abs() < 1e-15, "{shares} {sum}");
            }
            assert!(law.probability(-whole - 1).max(law.probability(law.reach() + 1)) <= 0.0);
            assert!(law.probability(-law.reach()) > 0.0);
        }
        assert!(WeightedBits::new(&[]).is_err() && WeightedBits::new(&[1, 0]).is_err());
        assert!(WeightedBits::new(&[70_000]).is_err());
    }

    #[test]
    fn shares_have_the_law() {
        let bits = WeightedBits::new(&[1, 2, 4]).unwrap();
        let law = bits.law(1);
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let mut seen = [0_u32; 8];
        for _ in 0..8_000 {
            seen[usize::try_from(bits.share(&mut rng) + 4).unwrap()] += 1;
        }
        // Each is expected a thousand times, with a deviation of 30.
        assert!(seen.iter().all(|&seen| seen.abs_diff(1_000) < 150), "{seen:?}");
        assert!((-4..=3).all(|z| (law.probability(z) - 0.125).abs() < 1e-15));
    }
}
