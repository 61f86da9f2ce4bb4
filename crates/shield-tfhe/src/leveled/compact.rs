//! Compact ballots: one GLWE ciphertext per vote, which the server expands into GGSW ciphertexts.
//!
//! A plain ballot takes hundreds of kilobytes. A compact one takes 25: coefficient `i l + j - 1` of
//! one polynomial holds bit i at level j, `b_i 2^64 / (B^j M)`, where M is the power of two that
//! fits all of them. The server separates the coefficients and makes the rows:
//!
//! **Separation** (Angel, Chen, Laine and Setty, "PIR with compressed queries and amortized query
//! processing", 2018, section 3.3). The automorphism g of `X -> X^(N / 2^k + 1)` keeps X^i or turns
//! its sign, as bit k of i is 0 or 1, for i below 2^(k+1). So `c + g(c)` holds twice the even half
//! and `X^(-2^k) (c - g(c))` twice the odd one (moved down); log2 M steps leave one coefficient in
//! each of M ciphertexts, times M. That is a row of the body for each bit and level.
//!
//! **Rows of the mask** encrypt -s times that. Of a row (a, b), `-s (b - a s) = -b s + a s^2`: the
//! ciphertext (b, 0) has phase -b s, and a s^2 is one key switch.
//!
//! # What it costs
//!
//! *Assumption.* The evaluation key encrypts s^2 and images of s under s itself. That this does no
//! harm (circular security) is assumed here, as in the BFV engine. The plain upload needs no such
//! key.
//!
//! *Noise.* It is of two kinds: errors of bodies, which count once, and errors of masks, which
//! count times s. Let x be the variance of the second kind before it is multiplied by s, and y that
//! of the first. A packed vote has `x = v + 2^32 / 12` and `y = v (m N / 2 + 1) + 2^32 / 12`; a key
//! switch adds `x' = (2^64 / B'^l')^2 / 12 + F'` and `y' = l' N (B'^2 + 2) / 12 v + F'`. Separating
//! multiplies variances, in the mean over the coefficients, by M (those that remain have M^2): `X =
//! M x + (M - 1) x'`, `Y = M y + (M - 1) y'`. So a row of the body has h X + Y, and a row of the
//! mask, that times s and one more switch, `2 h^2 X + h Y + h x' + y'`: the squares of the
//! coefficients of s^2 add up to 2 h^2 in the mean (each product of two different ones occurs
//! twice), and to no more than a tenth above it: secrets that pass that are drawn again. These
//! stand for 2 R in the variance of a product. The class comes from rows of the body, at
//! coefficients where the noise is M times as much.
//!
//! That is some ten bits more than a plain ballot has, and with 64 bits of modulus it cannot be
//! hidden as well: the plan states the statistical distance, at most 2^-20 a sample instead of
//! 2^-40. It adds to delta: for 100 samples at 2^-24, 6e-6.

use std::sync::Arc;

use rand::{CryptoRng, RngCore};
use shield::Class;
use zeroize::Zeroizing;

use super::parameters::{MOST_ONES, MOST_SQUARE, separation_steps, truncated};
use super::plan::Plan;
use super::ring::{DEGREE, Factor, Glwe, Ring, add, glwe, subtract};
use super::switch::SwitchKey;
use super::zero_key::ZeroKey;

/// What the server expands ballots with.
#[derive(Clone)]
pub(crate) struct ExpansionKey {
    /// For each step of the separation, the image of s.
    pub(crate) steps: Vec<Arc<SwitchKey>>,
    /// s^2.
    pub(crate) square: Arc<SwitchKey>,
}

/// s^2.
fn square(ring: &mut Ring, secret: &[u64]) -> Zeroizing<Vec<u64>> {
    let transformed = ring.transform_small(secret);
    Zeroizing::new(Factor::new(ring, secret).times(ring, &transformed))
}

/// Whether the square of a secret is as small as the noise bound takes for granted.
pub(crate) fn is_usual(ring: &mut Ring, secret: &[u64]) -> bool {
    let squares: f64 =
        square(ring, secret).iter().map(|&word| (word.cast_signed() as f64).powi(2)).sum();
    squares <= MOST_SQUARE * 2.0 * (MOST_ONES as f64).powi(2)
}

/// The exponent of a step's automorphism.
fn exponent(step: usize) -> usize {
    (DEGREE >> step) + 1
}

/// p(X^exponent).
fn automorphism(poly: &[u64], exponent: usize) -> Vec<u64> {
    let mut out = vec![0; DEGREE];
    for (i, word) in poly.iter().enumerate() {
        match i * exponent % (2 * DEGREE) {
            place if place < DEGREE => out[place] = *word,
            place => out[place - DEGREE] = word.wrapping_neg(),
        }
    }
    out
}

/// c / X^shift.
fn divided(c: &Glwe, shift: usize) -> Glwe {
    let mut words = Vec::with_capacity(2 * DEGREE);
    for poly in c.as_ref().chunks_exact(DEGREE) {
        words.extend_from_slice(&poly[shift..]);
        words.extend(poly[..shift].iter().map(|word| word.wrapping_neg()));
    }
    glwe(words)
}

impl ExpansionKey {
    pub(crate) fn generate<R: RngCore + CryptoRng>(
        ring: &mut Ring,
        steps: usize,
        secret: &[u64],
        rng: &mut R,
    ) -> Self {
        let images = (0..steps).map(|step| Zeroizing::new(automorphism(secret, exponent(step))));
        let steps = images.map(|image| Arc::new(SwitchKey::generate(ring, secret, &image, rng)));
        let steps = steps.collect();
        let square = square(ring, secret);
        let square = Arc::new(SwitchKey::generate(ring, secret, &square, rng));
        Self { steps, square }
    }

    /// The image of a ciphertext under a step's automorphism, under s again.
    fn image(&self, ring: &mut Ring, c: &Glwe, step: usize) -> Glwe {
        let (mask, body) = c.as_ref().split_at(DEGREE);
        let switched = self.steps[step].times(ring, &automorphism(mask, exponent(step)));
        let mut words = vec![0; DEGREE];
        words.extend(automorphism(body, exponent(step)));
        let mut out = glwe(words);
        subtract(&mut out, &switched);
        out
    }

    /// The rows of each bit's GGSW ciphertext, as a plain ballot has them.
    pub(crate) fn expand(&self, ring: &mut Ring, plan: &Plan, packed: &[u64]) -> Vec<u64> {
        let (gadget, wanted) = (plan.gadget(), plan.bits() * plan.gadget().levels);
        let mut separated = vec![glwe(packed.to_vec())];
        for step in 0..self.steps.len() {
            let mut odd = Vec::with_capacity(separated.len());
            for c in &mut separated {
                let image = self.image(ring, c, step);
                let mut difference = c.clone();
                subtract(&mut difference, &image);
                odd.push(divided(&difference, 1 << step));
                add(c, &image);
            }
            // Coefficient i of the even half, then i + 2^step.
            separated.extend(odd);
            separated.truncate(wanted);
        }
        let mut rows = Vec::with_capacity(plan.bits() * gadget.words());
        for bit in separated.chunks_exact(gadget.levels) {
            for row in bit.iter().rev() {
                let (mask, body) = row.as_ref().split_at(DEGREE);
                let square = self.square.times(ring, mask);
                let (first, second) = square.as_ref().split_at(DEGREE);
                rows.extend(first.iter().zip(body).map(|(x, b)| x.wrapping_add(*b)));
                rows.extend(second);
                rows.extend(row.as_ref());
            }
        }
        rows
    }
}

/// Encrypts a class. The work is the same whatever it is.
pub(crate) fn encrypt<R: RngCore + CryptoRng>(
    plan: &Plan,
    key: &ZeroKey,
    class: Class,
    ring: &mut Ring,
    rng: &mut R,
) -> Vec<u64> {
    let gadget = plan.gadget();
    let copies = separation_steps(plan.bits(), gadget);
    let mut packed = key.encrypt_zero(ring, rng);
    let body = &mut packed.as_mut()[DEGREE..];
    for bit in 0..plan.bits() {
        for level in 1..=gadget.levels {
            let message =
                u64::from(class.0 >> bit & 1).wrapping_mul(gadget.weight(level) >> copies);
            let word = &mut body[bit * gadget.levels + level - 1];
            *word = word.wrapping_add(message);
        }
    }
    packed.as_ref().iter().map(|&word| truncated(word)).collect()
}
