//! The noise bound: how large the error of a ciphertext can get, operation by operation.
//!
//! A ciphertext has `c0 + c1 s = Delta m + e` modulo Q, and decrypts rightly while |e| < Q/2t. This
//! module bounds the *canonical norm* of e, its largest absolute value at a complex root of
//! `X^N + 1`. That norm bounds every coefficient, bounds the Euclidean norm of all coefficients
//! together (Parseval), is multiplicative, and does not change under automorphisms. So a chain of
//! products is bounded by a product of bounds; nothing else is used below.
//!
//! # What is random, and how large it gets
//!
//! A polynomial with independent, centred, sub-Gaussian coefficients of variance v has at each root
//! a value whose part in any direction is sub-Gaussian with variance N v / 2. Covering the circle
//! with 16 directions and the N/2 pairs of roots with a union bound, `P(norm > T sqrt(N v)) <= 8 N
//! exp(-0.96 T^2)`: T is chosen to make that 2^-40 divided by the number of such events in a batch
//! (`events`), so a bound fails with a chance below 2^-40. Ternary secrets (v = 2/3), centred
//! binomial errors (v = 10.5) and uniform integers of an interval (v = width^2 / 12) are strictly
//! sub-Gaussian. The key's own secret has its norm checked when it is drawn.
//!
//! **Keys of k trustees.** Secret and errors are sums of k independent ones. Each trustee's secret
//! has its norm checked, and nobody ever sees the sum, which therefore cannot be drawn again: its
//! norm is at most 3.5 k deviations whatever the trustees do, and at most T sqrt(k) with the chance
//! of every other bound if their seeds are random; the smaller of both is taken. Errors grow by
//! sqrt(k). The relinearisation key, made in two rounds, encrypts s^2 with the error `s e0 + u e1 +
//! e2` a digit, where u is a sum of secrets like s: see [`crate::trustees`].
//!
//! # What is modelled
//!
//! Ciphertext parts are uniform to anyone without the key, and that is how they enter here. So are
//! taken: residues that rounding discards, digits of a key switch, and the coefficients modulo t of
//! encoded masks and votes (images of the draws under the inverse transform). No further
//! independence is assumed: sums over classes, moves and masks are added up with the triangle
//! inequality. The tests compare every stage's bound with the measured norm.
//!
//! # The operations
//!
//! With S the norm of s, U = T sqrt(N/12) that of a uniform polynomial of width one, and G = t U (1
//! + S) that of `t (c0 + c1 s) / Q`, the lifted message:
//!
//! | operation | bound |
//! |---|---|
//! | fresh encryption | `e u + e1 + e2 s`: F = T^2 sigma sqrt(2/3) N + T sigma sqrt(N) (1 + S) |
//! | twice a proven ballot | the same sum for u and errors as long as `proof` allows |
//! | tally | `M F` plus what wraps around t; M^2 bounds the sum of the masks' squared values over teachers |
//! | product | `E1 G2 + E2 G1 + E1 E2 t/Q`, rounding `U (1 + S + S^2)`, one key switch |
//! | key switch | `T (sqrt(L) + T) q / sqrt(12) sigma sqrt(k) N` for L digits of size q |
//! | relinearisation | a key switch; with a key made in two rounds, 2 S + 1 times one |
//! | one prime less | `E / q + U (2 + S)`: two roundings, and m / t |
//! | square of a ballot, without extension | `2 M E + t E^2 + M^2 / t` for a plaintext of norm M |
//! | times a plaintext of norm R | `R E`, plus what wraps around t |
//!
//! Every prime is one modulo t, so `t Delta = Q - 1`: what wraps around the plaintext modulus
//! enters the noise as itself, and the usual error `(Q mod t) m / t` is less than one half a
//! coefficient.

use crate::proof;
use crate::ring::PLAINTEXT;
use crate::scheme::{ERROR_VARIANCE, Secret};
use crate::security::security_bits;

const T: f64 = PLAINTEXT as f64;

/// What is known of the length of a ballot's error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Lengths {
    /// That of a fresh encryption: teachers are taken at their word.
    #[default]
    Assumed,
    /// What a proof leaves room for: see [`crate::proof`]. Nothing else is taken for granted, so
    /// bounds hold for every set of ballots that have a proof.
    Proven,
}

/// The numbers that the bounds depend on, besides the circuit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ring {
    pub(crate) degree: usize,
    pub(crate) prime_bits: u32,
    pub(crate) limbs: usize,
    /// log2 of how many random polynomials of a batch are bounded: see [`events`].
    pub(crate) events: f64,
    /// How many trustees make the keys together; 0 where the student makes them alone.
    pub(crate) trustees: u32,
    pub(crate) lengths: Lengths,
}

/// log2 of more random polynomials than the bounds of a batch speak of, and at least 12.
///
/// Each term of a released ciphertext has a mask, at most one for each source and move; each move
/// has digits, errors and roundings; and what comes before is below 128 a ciphertext and 8 a move.
/// Each ciphertext of a ballot has its randomness, its votes, its weights in the check and what
/// wraps around: below 16.
pub(crate) fn events(ciphertexts: usize, groups: usize, ballots: usize) -> f64 {
    let (ciphertexts, groups) = (ciphertexts as f64, groups as f64);
    let masks = ciphertexts * ciphertexts * groups;
    let ballots = 16.0 * ballots as f64;
    (masks + ciphertexts * (8.0 * groups + 128.0) + ballots).log2().max(12.0)
}

/// A bound on the canonical norm of a ciphertext's error, at some level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Noise {
    bound: f64,
    limbs: usize,
}

impl Noise {
    /// The bound on an error at some level.
    pub(crate) fn new(bound: f64, limbs: usize) -> Self {
        Self { bound, limbs }
    }

    /// Bits of the bound.
    pub(crate) fn bits(self) -> f64 {
        self.bound.log2()
    }

    /// The bound itself.
    pub(crate) fn bound(self) -> f64 {
        self.bound
    }

    /// Limbs of the ciphertext.
    pub(crate) fn limbs(self) -> usize {
        self.limbs
    }
}

impl Ring {
    /// The tail T: see the module's documentation.
    fn tail(self) -> f64 {
        let chance = (40.0 + self.events) * std::f64::consts::LN_2;
        (((8 * self.degree) as f64).ln() + chance).sqrt() / 0.96_f64.sqrt()
    }

    fn n(self) -> f64 {
        self.degree as f64
    }

    /// Norm of the secret.
    pub(crate) fn s(self) -> f64 {
        let summed = (Secret::NORM * self.holders()).min(self.tail() * self.holders().sqrt());
        summed.max(Secret::NORM) * (2.0 * self.n() / 3.0).sqrt()
    }

    /// How many secrets are summed.
    fn holders(self) -> f64 {
        f64::from(self.trustees.max(1))
    }

    /// Deviation of a coefficient of the keys' errors.
    fn key_error(self) -> f64 {
        (ERROR_VARIANCE * self.holders()).sqrt()
    }

    /// Norm of a uniform polynomial of width one.
    pub(crate) fn u(self) -> f64 {
        self.tail() * (self.n() / 12.0).sqrt()
    }

    /// A prime, from above.
    fn prime(self) -> f64 {
        2_f64.powi(self.prime_bits.cast_signed())
    }

    /// log2 of a prime, from below. Primes are about 2^36 apart, so short ones lie further from
    /// `2^prime_bits`.
    pub(crate) fn log_prime(self) -> f64 {
        let gap = if self.prime_bits >= 51 { 1e-3 } else { 0.14 };
        f64::from(self.prime_bits) - gap
    }

    /// log2 of the modulus at a level.
    pub(crate) fn log_q(self, limbs: usize) -> f64 {
        self.log_prime() * limbs as f64
    }

    /// Bits of each prime of the modulus.
    pub(crate) fn moduli_bits(self) -> Vec<u32> {
        vec![self.prime_bits; self.limbs]
    }

    /// Bits of the modulus.
    pub(crate) fn modulus_bits(self) -> u32 {
        self.prime_bits * self.limbs as u32
    }

    /// Security by the table of [`crate::security`]; 0 below 128 bits.
    pub(crate) fn security_bits(self) -> u32 {
        security_bits(self.degree, self.modulus_bits()).unwrap_or(0)
    }

    /// Bytes of a polynomial of so many limbs.
    pub(crate) fn poly_bytes(self, limbs: usize) -> usize {
        self.degree * limbs * self.prime_bits as usize / 8
    }

    /// Bytes of a secret key: two bits per coefficient, which is -1, 0 or 1.
    pub(crate) fn secret_bytes(self) -> usize {
        self.degree / 4
    }

    /// Bytes of a public key: a seed, and a polynomial.
    pub(crate) fn public_bytes(self) -> usize {
        32 + self.poly_bytes(self.limbs)
    }

    /// Bytes of a key that switches ciphertexts of so many limbs: a seed, a polynomial per digit.
    pub(crate) fn switch_bytes(self, limbs: usize) -> usize {
        32 + limbs * self.poly_bytes(limbs)
    }

    /// Bytes of a key that switches from s^2; without a seed, both parts of each digit are there.
    pub(crate) fn relinearisation_bytes(self, limbs: usize) -> usize {
        match self.trustees {
            0 => self.switch_bytes(limbs),
            _ => 2 * limbs * self.poly_bytes(limbs),
        }
    }

    /// Norm of a plaintext with `terms` coefficients.
    fn plaintext(self, terms: usize) -> f64 {
        self.tail() * T * (terms as f64 / 12.0).sqrt()
    }

    /// A fresh encryption.
    pub(crate) fn fresh(self) -> Noise {
        let (tail, sigma) = (self.tail(), ERROR_VARIANCE.sqrt());
        let product = tail * tail * self.key_error() * (2.0_f64 / 3.0).sqrt() * self.n();
        let errors = tail * sigma * self.n().sqrt() * (1.0 + self.s());
        Noise { bound: product + errors, limbs: self.limbs }
    }

    /// A ballot, as the server adds it up.
    pub(crate) fn ballot(self) -> Noise {
        if self.lengths == Lengths::Assumed {
            return self.fresh();
        }
        let (u, e) = proof::norms(self.degree);
        let key = self.tail() * self.key_error() * self.n().sqrt();
        Noise { bound: key * u + e * (1.0 + self.s()), limbs: self.limbs }
    }

    /// Norm of the message of a ballot, and by how much a sum of `ballots` of them, each times a
    /// plaintext of `terms` coefficients, is longer than one of them.
    fn messages(self, ballots: usize, terms: usize) -> (f64, f64) {
        let (ballots, one) = (ballots as f64, self.tail() * T * (terms as f64 / 12.0).sqrt());
        match self.lengths {
            Lengths::Assumed => (self.plaintext(self.degree), ballots.sqrt() * one),
            // Any residues, and errors that may all point the same way.
            Lengths::Proven => (self.n() * T / 2.0, ballots * one),
        }
    }

    /// The sum of `ballots` masked ballots, masks of `terms` coefficients, with a plaintext added.
    ///
    /// `sum m_t (e u_t + e1_t + e2_t s)`: given the masks, each of the three sums over teachers is
    /// sub-Gaussian at each root with the sum of the masks' squared values there as its scale, at
    /// most `(sqrt(ballots) + T)^2 t^2 terms / 12`. Of proven ballots, the triangle inequality.
    pub(crate) fn tally(self, ballots: usize, terms: usize) -> Noise {
        let (message, sum) = self.messages(ballots, terms);
        let masks = match self.lengths {
            Lengths::Assumed => {
                ((ballots as f64).sqrt() + self.tail()) * T * (terms as f64 / 12.0).sqrt()
            }
            Lengths::Proven => sum,
        };
        let wrapped = ballots as f64 * self.plaintext(terms) * message / T;
        Noise { bound: masks * self.ballot().bound + wrapped + self.wrap(), limbs: self.limbs }
    }

    /// What one reduction modulo t leaves: less than one per coefficient.
    pub(crate) fn wrap(self) -> f64 {
        2.0 * self.u()
    }

    /// Norm of the lifted message.
    pub(crate) fn lift(self) -> f64 {
        T * self.u() * (1.0 + self.s())
    }

    /// The error of a key switch.
    pub(crate) fn switch(self, limbs: usize) -> f64 {
        let digits = (limbs as f64).sqrt() + self.tail();
        self.tail() * digits * self.prime() / 12_f64.sqrt() * self.key_error() * self.n()
    }

    /// The error of a key switch from s^2, whose key trustees make in two rounds.
    pub(crate) fn relinearisation(self, limbs: usize) -> f64 {
        let rounds = if self.trustees == 0 { 1.0 } else { 2.0 * self.s() + 1.0 };
        self.switch(limbs) * rounds
    }

    /// A product of two ciphertexts.
    pub(crate) fn product(self, a: Noise, b: Noise) -> Noise {
        let s = self.s();
        let (ea, eb) = (a.bound + self.u(), b.bound + self.u());
        // In this order: ea eb alone may be more than a float holds.
        let cross = ea * 2_f64.powf(T.log2() - self.log_q(a.limbs)) * eb;
        let rounding = self.u() * (1.0 + s + s * s) + self.wrap();
        let bound =
            (ea + eb) * self.lift() + 3.0 * cross + rounding + self.relinearisation(a.limbs);
        Noise { bound, limbs: a.limbs }
    }

    /// The level to which factors of this noise are best switched down before their product: primes
    /// that cost less than a bit of the product's room are not worth carrying.
    pub(crate) fn before_product(self, a: Noise) -> Noise {
        let relative = |e: Noise| e.bits() - self.log_q(e.limbs());
        let mut best = a;
        while best.limbs > 2 {
            let lower = self.drop_to(best, best.limbs - 1);
            let lost = relative(self.product(lower, lower)) - relative(self.product(best, best));
            if lost >= 1.0 {
                break;
            }
            best = lower;
        }
        best
    }

    /// `a + factor b + constant`.
    pub(crate) fn combine(self, a: Noise, b: Noise, factor: f64) -> Noise {
        let bound = a.bound + factor.abs() * (b.bound + self.wrap()) + self.wrap();
        Noise { bound, limbs: a.limbs }
    }

    /// A rotation.
    pub(crate) fn rotation(self, a: Noise) -> Noise {
        Noise { bound: a.bound + self.switch(a.limbs), limbs: a.limbs }
    }

    /// A ciphertext plus `rotations` of its rotations.
    pub(crate) fn sum_of_rotations(self, a: Noise, rotations: usize) -> Noise {
        (0..rotations).fold(a, |sum, _| self.combine(sum, self.rotation(a), 1.0))
    }

    /// The modulus switched down to `limbs` primes.
    pub(crate) fn drop_to(self, a: Noise, limbs: usize) -> Noise {
        let step = |e: f64| e / 2_f64.powf(self.log_prime()) + self.rounding();
        let bound = (limbs..a.limbs).fold(a.bound, |e, _| step(e));
        Noise { bound, limbs }
    }

    /// The error of one modulus switch.
    fn rounding(self) -> f64 {
        self.u() * (2.0 + self.s()) + 1.0
    }

    /// The lowest level at which rounding is still below a sixteenth of the noise.
    pub(crate) fn lowest_level(self, a: Noise) -> usize {
        (1..a.limbs)
            .find(|&limbs| self.drop_to(a, limbs).bound >= 16.0 * self.rounding())
            .unwrap_or(a.limbs)
    }

    /// `a + sum of r_i b_i` over `terms` plaintexts. One that is raised by t times a uniform
    /// polynomial of width w ([`crate::scheme::Raised`]) counts as 1 + w.
    pub(crate) fn masked(self, a: Noise, b: Noise, terms: usize) -> Noise {
        let r = self.plaintext(self.degree);
        let wrapped = r * self.plaintext(self.degree) / T;
        let bound = a.bound + terms as f64 * (r * b.bound + wrapped) + self.wrap();
        Noise { bound, limbs: a.limbs }
    }

    /// The summands of [`crate::validity`]'s check, which this follows step by step: weights of
    /// `terms` coefficients, ballots of `planes` ciphertexts.
    ///
    /// A ballot's square has the error `2 m e - t e^2` and what wraps around, m^2 / t. Given those,
    /// their sum over teachers with uniform weights is sub-Gaussian at each root, with the sum of
    /// their squared values as its scale.
    pub(crate) fn validity(self, ballots: usize, terms: usize, planes: usize) -> Noise {
        let (m, sum) = self.messages(ballots, terms);
        let e = self.ballot().bound + self.wrap();
        let square = 2.0 * m * e + T * e * e + m * m / T;
        let weighted = sum * square;
        let wrapped = ballots as f64 * self.plaintext(terms) * m / T;
        let bound = weighted + wrapped + self.relinearisation(self.limbs);
        let zero = Noise { bound: 0.0, limbs: self.limbs };
        let squares = self.masked(zero, Noise { bound, limbs: self.limbs }, planes);
        let raised = planes * (1 + PLAINTEXT as usize);
        let sum = self.masked(squares, self.tally(ballots, terms), raised);
        self.combine(sum, sum, 0.0)
    }

    /// log2 of the largest error that still decrypts after switching down to one prime, at a level.
    pub(crate) fn limit(self, limbs: usize) -> f64 {
        // Rounding to one prime can cost each coefficient (1 + N)/2, far less than q/2t.
        let last = (self.n() + 1.0) * T / self.prime();
        self.log_q(limbs) - (2.0 * T).log2() + (1.0 - last).log2()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ring::Context;

    #[test]
    fn primes_are_as_large_as_the_bounds_say() {
        for (prime_bits, limbs) in [(51, 17), (42, 5)] {
            let context = Context::new(8_192, prime_bits, limbs);
            let (trustees, lengths) = (0, Lengths::Assumed);
            let ring = Ring { degree: 8_192, prime_bits, limbs, events: 12.0, trustees, lengths };
            for q in context.q() {
                let bits = (q.modulus().value() as f64).log2();
                assert!(bits >= ring.log_prime() && bits < f64::from(prime_bits), "{bits}");
            }
        }
    }

    #[test]
    fn keys_of_several_trustees_are_as_long_as_the_proof_says() {
        let of = |trustees| Ring {
            degree: 8_192,
            prime_bits: 51,
            limbs: 4,
            events: 12.0,
            trustees,
            lengths: Lengths::Assumed,
        };
        let (alone, deviation) = (of(0), (2.0 * 8_192.0 / 3.0_f64).sqrt());
        assert_eq!((of(1).s(), of(1).switch(4)), (alone.s(), alone.switch(4)));
        for k in 1..=10 {
            let (ring, count) = (of(k), f64::from(k));
            let expected = (3.5 * count).min(ring.tail() * count.sqrt()) * deviation;
            assert!((ring.s() / expected - 1.0).abs() < 1e-12, "{k}");
            assert!((ring.switch(4) / alone.switch(4) / count.sqrt() - 1.0).abs() < 1e-12);
            let two_rounds = ring.relinearisation(4) / ring.switch(4);
            assert!((two_rounds - 2.0 * ring.s() - 1.0).abs() < 1e-6, "{k}");
            assert!(k == 1 || ring.fresh().bound() > of(k - 1).fresh().bound());
        }
        assert!((alone.relinearisation(4) / alone.switch(4) - 1.0).abs() < 1e-12);
        assert!(of(4).s() > 13.99 * deviation && of(10).s() < 35.0 * deviation);
    }

    #[test]
    fn the_chance_of_a_bound_to_fail_counts_every_mask() {
        for (ciphertexts, groups, teachers) in
            [(19, 1, 250), (5, 4, 250), (125, 8, 1_000_000), (118, 512, 1)]
        {
            let ring = Ring {
                degree: 8_192,
                prime_bits: 51,
                limbs: 4,
                events: events(ciphertexts, groups, teachers),
                trustees: 0,
                lengths: Lengths::Assumed,
            };
            let one = 8.0 * 8_192.0 * (-0.96 * ring.tail().powi(2)).exp();
            let masks = (ciphertexts * ciphertexts * groups + 16 * teachers) as f64;
            assert!(one * masks <= 2_f64.powi(-40), "{ciphertexts} by {groups}");
        }
    }
}
