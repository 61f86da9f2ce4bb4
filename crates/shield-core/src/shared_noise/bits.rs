//! Noise of weighted fair bits: what ballots that prove their noise can hold.
//!
//! Each share is the sum of fair bits, one per weight, each times its weight: noise of mean m W/2
//! and variance m (sum of w^2)/4 for m shares with weights of sum W. A bit can be proven to be one,
//! where a Poisson variable cannot. Every class has as many shares, so the mean cancels in the
//! argmax.

use crate::parameters::ParameterError;

/// The weights of the bits in a share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeightedBits(Vec<u32>);

impl WeightedBits {
    /// The largest sum of all weights of all shares: the law is convolved number by number.
    pub const MAX_SUM: u64 = 20_000;

    /// Bits of these weights: 1 to 16 of them, none of them 0.
    pub fn new(weights: Vec<u32>) -> Result<Self, ParameterError> {
        let sound = (1..=16).contains(&weights.len()) && weights.iter().all(|&weight| weight > 0);
        if sound {
            return Ok(Self(weights));
        }
        Err(ParameterError {
            parameter: "the weights of the bits",
            value: format!("{weights:?}"),
            allowed: "there must be 1 to 16, all of them at least 1",
        })
    }

    /// The weights.
    pub fn weights(&self) -> &[u32] {
        &self.0
    }

    /// The standard deviation of that many shares.
    pub fn deviation(&self, shares: u32) -> f64 {
        let squares = self.0.iter().map(|&weight| f64::from(weight).powi(2));
        (f64::from(shares) * squares.sum::<f64>() / 4.0).sqrt()
    }

    /// The probabilities of 0, 1, ... up to the largest sum of that many shares.
    pub fn law(&self, shares: u32) -> Result<Vec<f64>, ParameterError> {
        let sum: u64 = self.0.iter().map(|&weight| u64::from(weight)).sum();
        let total = sum.saturating_mul(u64::from(shares));
        if total > Self::MAX_SUM || shares == 0 {
            return Err(ParameterError {
                parameter: "the sum of the weights of all shares",
                value: total.to_string(),
                allowed: "it must be from 1 to 20,000",
            });
        }
        let share = self.0.iter().fold(vec![1.0], |law, &weight| {
            let mut bit = vec![0.0; weight as usize + 1];
            (bit[0], bit[weight as usize]) = (0.5, 0.5);
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
        Ok(law)
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
    use super::*;

    #[test]
    fn a_law_by_its_definition() {
        let bits = WeightedBits::new(vec![1, 2]).unwrap();
        assert!(bits.law(1).unwrap().iter().all(|p| (p - 0.25).abs() < 1e-15));
        let law = bits.law(5).unwrap();
        assert_eq!(law.len(), 16);
        let numbers = || (0..16_u32).map(f64::from).zip(&law);
        let mean: f64 = numbers().map(|(z, p)| z * p).sum();
        let square: f64 = numbers().map(|(z, p)| (z - mean).powi(2) * p).sum();
        assert!((mean - 7.5).abs() < 1e-12 && (square.sqrt() - bits.deviation(5)).abs() < 1e-12);
        assert!((law[0] - 1.0 / 1024.0).abs() < 1e-18);
        assert!(WeightedBits::new(vec![]).is_err() && WeightedBits::new(vec![1, 0]).is_err());
        assert!(bits.law(0).is_err() && bits.law(10_000).is_err());
    }
}
