//! The secret of the scheme: a ternary polynomial.

use std::fmt;

use rand::{CryptoRng, RngCore};
use zeroize::{Zeroize, Zeroizing};

use super::{embedding, sampling};
use crate::ring::{Context, Poly, Values};

/// A ternary secret, wiped from memory when it goes.
#[derive(Clone)]
pub(crate) struct Secret {
    coefficients: Zeroizing<Vec<i64>>,
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(hidden)")
    }
}

/// Values of a secret polynomial, wiped from memory when they go.
pub(crate) struct SecretValues(pub(crate) Poly<Values>);

impl Drop for SecretValues {
    fn drop(&mut self) {
        self.0.data_mut().zeroize();
    }
}

impl Secret {
    /// Bound on the canonical norm, in units of the standard deviation sqrt(2n/3) of a value.
    pub(crate) const NORM: f64 = 3.5;

    /// A uniform ternary secret among those whose canonical norm is at most [`Secret::NORM`].
    ///
    /// More than 9 in 10 are in every ring, so refusing the others costs less than a sixth of a bit
    /// of security, and it turns a tail bound that enters every product into a fact.
    pub(crate) fn random<R: RngCore + CryptoRng>(context: &Context, rng: &mut R) -> Self {
        loop {
            let secret = Self { coefficients: sampling::ternary(context.degree(), rng) };
            if secret.is_short() {
                return secret;
            }
        }
    }

    fn is_short(&self) -> bool {
        let real = Zeroizing::new(self.coefficients.iter().map(|&c| c as f64).collect::<Vec<_>>());
        let deviation = (2.0 * self.coefficients.len() as f64 / 3.0).sqrt();
        embedding::norm(&real) <= Self::NORM * deviation
    }

    /// The secret with these coefficients, if it is one that [`Secret::random`] could have drawn.
    pub(crate) fn from_coefficients(coefficients: Zeroizing<Vec<i64>>) -> Option<Self> {
        let secret = Self { coefficients };
        let ternary = secret.coefficients.iter().all(|c| (-1..=1).contains(c));
        (ternary && secret.is_short()).then_some(secret)
    }

    /// The sum of several secrets, which nobody has but tests.
    #[cfg(test)]
    pub(crate) fn sum(secrets: &[Self]) -> Self {
        let mut sum = Zeroizing::new(vec![0; secrets[0].coefficients.len()]);
        for secret in secrets {
            sum.iter_mut().zip(secret.coefficients.iter()).for_each(|(sum, c)| *sum += c);
        }
        Self { coefficients: sum }
    }

    pub(crate) fn coefficients(&self) -> &[i64] {
        &self.coefficients
    }

    /// The values at level `limbs`.
    pub(crate) fn values(&self, context: &Context, limbs: usize) -> SecretValues {
        SecretValues(context.small(&self.coefficients, limbs))
    }

    /// The values in Montgomery's form, to multiply with.
    pub(crate) fn multiplier(&self, context: &Context, limbs: usize) -> SecretValues {
        let mut values = self.values(context, limbs);
        context.to_montgomery(&mut values.0);
        values
    }
}
