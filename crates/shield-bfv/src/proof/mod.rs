//! The proof that a ballot is short, and that its maker knows what is in it.
//!
//! An encryption is `c = (b u + e0 + Delta m, a u + e1)` for the public key (b, a). Nothing about
//! (c0, c1) says that u and the errors are short, or that whoever sent it knows them: a copy of
//! another's ballot with an encryption of zero added, another's ballot times a plaintext, and an
//! error of any length all look alike. This is a zero-knowledge proof of both, bound to bytes that
//! the caller chooses (election, keys, batch, teacher): with another name the same proof is wrong.
//!
//! # Protocol
//!
//! A sigma protocol whose challenges are monomials X^i, 0 <= i < 2N (Benhamouda, Camenisch, Krenn,
//! Lyubashevsky, Neven 2014), and whose errors are not sent but rounded away (Bai, Galbraith 2014).
//! Write `F(u, m) = (b u + Delta m, a u)` for the image without errors, m centred modulo t. Each of
//! [`REPETITIONS`] repetitions, for each ciphertext of the ballot:
//!
//! 1. The prover draws y uniform in [-2^20, 2^20] and g uniform modulo t, coefficient by
//!    coefficient, computes `V = F(y, g)` and commits to V *without its low bits*: with l in
//!    [-2^24, 2^24) congruent modulo 2^25 to the coefficient modulo the first prime of Q, taken in
//!    0..q, it hashes `V - l`. ([`low`]: no integer modulo Q is ever put together.)
//! 2. The challenge is X^i: the same for all ciphertexts of a ballot.
//! 3. The answer is `z = y + X^i u` and `h = g + X^i m` modulo t. It is sent if all of z is within
//!    2^20 - 1, and for `V' = F(z, h) - X^i c` all low bits are within 2^24 - 22 and the residues
//!    modulo the first prime at least 22 away from 0 and q. Otherwise everything starts again.
//!
//! The verifier computes V' from the answer, checks the three bounds, and that `V' - l'` is what
//! was hashed. *It is complete*: with `g + X^i m = h + t w`, w in {-1, 0, 1} and `t Delta = -1`,
//! V' is `V + w - X^i e0` in the first part and `V - X^i e1` in the second, so it differs from V by
//! at most 22 = 21 + 1 a coefficient. Where the low bits of V' stay within 2^24 - 22 and nothing
//! wraps around q, V has the same high part.
//!
//! Non-interactive by Fiat and Shamir: the challenges are a hash of the caller's bytes, the ring,
//! the key, all ciphertexts of the ballot, and all commitments. What is sent is that hash and the
//! answers; a verifier computes the commitments from them.
//!
//! # Soundness: what is proven opens twice the ciphertext
//!
//! **Claim.** Call a ciphertext *short* if there are integer polynomials u, e0, e1 and m with
//! `2 c = (b u + e0 + Delta m, a u + e1)`, m centred modulo t, and canonical norms at most
//!
//! ```text
//! |u|  <= 2 (2^20 - 1) N / sin(pi/2N)         (about 2^22 N^2 / pi; coefficients <= 2^21 N)
//! |e0|, |e1| <= 2^25 N / sin(pi/2N)           (about 2^26 N^2 / pi; coefficients <= 2^25 N)
//! ```
//!
//! With the hash a random oracle, whoever asks it q times makes a proof for a ballot of which some
//! ciphertext is not short with probability at most `q (2N)^-9`: 2^-126 q at N = 8,192, 2^-135 q
//! at 16,384. This holds against unbounded computation and whoever knows the secret key.
//!
//! **Proof.** Fix a question to the oracle: key, ciphertexts, commitments. For a ciphertext c that
//! is not short, each repetition can be answered for one challenge at most. For let (z, h) and (z',
//! h') be right answers to X^i and X^j, i != j, with low bits l and l'. The commitment is the same
//! (up to a collision of the hash), so `F(z, h) - X^i c - l = F(z', h') - X^j c - l'`, and with D =
//! X^i - X^j
//!
//! ```text
//! D c = F(z - z', h - h') - (l - l').
//! ```
//!
//! `d = 2 / D` has coefficients in {-1, 0, 1} (Benhamouda et al., lemma 3.1), so
//!
//! ```text
//! 2 c = F(d (z - z'), d (h - h')) - d (l - l').
//! ```
//!
//! Let `d (h - h') = m + t w` with m centred modulo t. As t Delta = -1 modulo Q, this is an opening
//! with u = d (z - z'), e0 = - d (l0 - l0') - w and e1 = - d (l1 - l1'). At a root x of X^N + 1,
//! |D(x)| >= 2 sin(pi/2N), so |d| <= 1 / sin(pi/2N) =: G in canonical norm, and norms of products
//! are at most products of norms: |u| <= G N 2 (2^20 - 1); |e1| <= G N 2 (2^24 - 22); and t |w| <=
//! G N (t - 1) + N t/2, so |w| <= G N + N/2 < 2 G N and |e0| <= G N (2^25 - 42). Coefficients: d
//! has N of them, all in {-1, 0, 1}. So c is short, against the assumption. With one challenge at
//! most in each of nine repetitions, at most one of the (2N)^9 values of the oracle can be
//! answered. []
//!
//! The message of a short ciphertext is one alone: if `2 c` had two, their difference times Delta
//! would be short under the secret, and Q/t is longer than that by the plan's margin. What it is
//! the server checks ([`crate::validity`]). **The server works with 2 c**, whose error is bounded,
//! and a teacher encrypts *half* of its vote modulo t: so 2 c holds the vote, and nothing after the
//! opening of ballots knows of it.
//!
//! # Knowledge, and why no proof can be turned into another
//!
//! A prover who convinces for two challenges in one repetition gives u, the errors and m away, by
//! the equation above; rewinding (the forking lemma) extracts them from whoever makes proofs. It
//! also works against a prover who has seen proofs of others. For *answers are unique*: two answers
//! to one challenge under one commitment have `F(z - z', h - h')` within 2^25 of 0, that is `a x +
//! f = 0` with x = z - z' and |f| < 2^25. For x not 0, at most N (22 + log2 N) / 50 of the N L
//! values of x modulo the L primes vanish, since their product divides the norm of x, and a is
//! uniform (from a public seed): a x is uniform on all others. Over the 2^(22 N) x and 2^(26 N) f
//! the chance that any pair fits is at most 2^(48 N - 50 N (L - 0.8)), below 2^(-100 N) for L >= 4.
//! So x = 0, then `Delta (h - h')` is within 2^25, and h = h'. A proof with unique answers cannot
//! be changed into another for the same question, and for another question (another name, another
//! ciphertext) the oracle's answer is fresh: so proofs stay sound after others have been seen
//! (Faust, Kohlweiss, Marson, Venturi 2012). What a cheat sends in another's stead it therefore
//! knows: a copy in disguise, or a ballot times a selector, needs the other's vote.
//!
//! # Zero knowledge
//!
//! **Claim.** In the random oracle model a proof can be made from the ciphertext alone, with the
//! very same law, whatever the votes are.
//!
//! **Proof.** For every challenge and every ballot, (y, g) -> (z, h) is one to one, onto sets that
//! hold all z within 2^20 - 1 and all h. An attempt is sent if z is within 2^20 - 1 and V', which
//! (z, h, i, c) determine, meets two bounds: no secret is in these conditions. So what is sent is
//! uniform among all (i, z, h) that meet them, and the number of attempts is geometric with the
//! share of these as its parameter. The simulator draws i and answers until they meet the bounds,
//! computes the commitments, and answers the oracle's question with i. (The question has not been
//! asked before: V has more than 2^(20 N) values.) []
//!
//! At N = 16,384 an attempt for one ciphertext succeeds with probability 0.59. Attempts that fail
//! are not shown, and each does the same work whatever the votes are.

mod bytes;
mod prover;
mod verifier;

use rayon::prelude::*;
use zeroize::Zeroize;

use crate::ring::{Coefficients, Context, Modulus, PLAINTEXT, Poly};
use crate::scheme::{Ciphertext, EncryptionKey, LARGEST_ERROR, SecretValues};

pub(crate) use prover::Opening;

/// Repetitions of the protocol.
pub(crate) const REPETITIONS: usize = 9;

/// Masks of u are uniform in [-2^20, 2^20]: u is ternary.
const MASK: i64 = 1 << 20;

/// The largest absolute value of what answers for u.
const LARGEST: i64 = MASK - 1;

/// Bits of the commitments that are not hashed.
const LOW_BITS: u32 = 25;

/// What an error and a wrap around t change a coefficient by, at most.
const SLACK: i64 = LARGEST_ERROR + 1;

/// The largest absolute value of the low bits.
const LARGEST_LOW: i64 = (1 << (LOW_BITS - 1)) - SLACK;

/// Purposes of the digests: the proof's, and the exponents of its challenges.
const PROOF: &str = "shield 2026 bfv ballot proof v1";
const EXPONENTS: &str = "shield 2026 bfv ballot proof exponents v1";

/// The canonical norms of u and of an error of twice a ciphertext with a proof, at most.
pub(crate) fn norms(degree: usize) -> (f64, f64) {
    let n = degree as f64;
    let lift = n / (std::f64::consts::PI / (2.0 * n)).sin();
    (2.0 * LARGEST as f64 * lift, 2_f64.powi(LOW_BITS.cast_signed()) * lift)
}

/// What is proven: each of some ciphertexts is an encryption under the key, by whom `about` names.
#[derive(Clone, Copy)]
pub(crate) struct Statement<'a> {
    pub(crate) ring: &'a Context,
    pub(crate) key: &'a EncryptionKey,
    /// What the proof is bound to: the election, the keys, the batch, the teacher.
    pub(crate) about: &'a [u8],
    pub(crate) ciphertexts: &'a [Ciphertext],
}

/// The proof for all ciphertexts of a ballot.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Proof {
    challenge: [u8; 32],
    /// For each ciphertext, for each repetition.
    answers: Vec<Answer>,
}

/// The answer to one challenge.
#[derive(Clone, PartialEq, Eq)]
struct Answer {
    u: Vec<i32>,
    /// Residues modulo t.
    m: Vec<u32>,
}

impl Statement<'_> {
    /// `b u + Delta m` and `a u`.
    fn image(&self, u: &[i64], m: &[u64]) -> [Poly<Coefficients>; 2] {
        let (ring, limbs) = (self.ring, self.ring.limbs());
        let u = SecretValues(ring.small(u, limbs));
        let mut parts =
            self.key.parts.each_ref().map(|part| ring.backward(ring.product(&u.0, part)));
        let mut message = ring.scaled_coefficients(m, limbs);
        ring.add(&mut parts[0], &message);
        message.data_mut().zeroize();
        parts
    }

    /// The challenge that follows from the commitments.
    fn challenge(&self, commitments: &[[u8; 32]]) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_derive_key(PROOF);
        let mut number = |number: usize| {
            hasher.update(&(number as u64).to_le_bytes());
        };
        number(self.about.len());
        number(self.ring.degree());
        number(self.ring.limbs());
        number(self.ciphertexts.len());
        hasher.update(self.about);
        for ntt in self.ring.q() {
            hasher.update(&ntt.modulus().value().to_le_bytes());
        }
        let ciphertexts = self.ciphertexts.par_iter().map(|c| digest(&c.parts));
        hasher.update(&digest(&self.key.parts));
        for digest in ciphertexts.collect::<Vec<_>>().iter().chain(commitments) {
            hasher.update(digest);
        }
        *hasher.finalize().as_bytes()
    }
}

/// The exponents of the challenges, one for each repetition.
fn exponents(challenge: &[u8; 32], degree: usize) -> [usize; REPETITIONS] {
    let mut bytes = [0; 4 * REPETITIONS];
    let mut hasher = blake3::Hasher::new_derive_key(EXPONENTS);
    hasher.update(challenge).finalize_xof().fill(&mut bytes);
    let words = bytes.as_chunks::<4>().0;
    // The degree is a power of two: no exponent is more likely than another.
    std::array::from_fn(|i| u32::from_le_bytes(words[i]) as usize % (2 * degree))
}

/// A digest of all residues of two polynomials.
fn digest<R>(polys: &[Poly<R>; 2]) -> [u8; 32] {
    const WORDS: usize = 2_048;
    let mut hasher = blake3::Hasher::new();
    let mut bytes = [0; 8 * WORDS];
    for words in polys.iter().flat_map(|poly| poly.data().chunks(WORDS)) {
        for (to, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *to = word.to_le_bytes();
        }
        hasher.update(&bytes[..8 * words.len()]);
    }
    bytes.zeroize();
    *hasher.finalize().as_bytes()
}

/// The low bits of a residue modulo the first prime, centred.
fn low(residue: u64) -> i64 {
    const HALF: u64 = 1 << (LOW_BITS - 1);
    ((residue + HALF) & ((1 << LOW_BITS) - 1)).cast_signed() - HALF.cast_signed()
}

/// Whether a coefficient with this residue modulo the first prime keeps its high part when it
/// changes by at most [`SLACK`].
#[expect(clippy::needless_bitwise_bool, reason = "the work is the same whatever the residue is")]
fn settled(first: Modulus, residue: u64) -> bool {
    let slack = SLACK.cast_unsigned();
    (low(residue).abs() <= LARGEST_LOW) & (residue >= slack) & (residue < first.value() - slack)
}

/// Takes the low bits away, whose places are the residues modulo the first prime.
fn round(ring: &Context, poly: &mut Poly<Coefficients>) {
    let mut lows: Vec<i64> = poly.limb(0).iter().map(|&residue| low(residue)).collect();
    for (limb, ntt) in poly.iter_mut().zip(ring.q()) {
        let q = ntt.modulus();
        for (x, &low) in limb.iter_mut().zip(&lows) {
            *x = q.sub(*x, q.signed(low));
        }
    }
    lows.zeroize();
}

/// The coefficients of `X^exponent x`, the exponent below twice the degree.
fn turned<T: Copy>(x: &[T], exponent: usize, negative: impl Fn(T) -> T) -> impl Iterator<Item = T> {
    let n = x.len();
    let (by, flipped) = (exponent % n, exponent >= n);
    let (rest, wrapped) = x.split_at(n - by);
    let sign = move |x: T, minus: bool| if minus { negative(x) } else { x };
    let all = wrapped.iter().map(move |&x| (x, !flipped));
    all.chain(rest.iter().map(move |&x| (x, flipped))).map(move |(x, minus)| sign(x, minus))
}

/// The representative of a residue modulo t that is nearest to 0.
fn centred(residue: u64) -> i64 {
    let above = i64::from(residue > PLAINTEXT / 2);
    residue.cast_signed() - above * PLAINTEXT.cast_signed()
}

#[cfg(test)]
mod tests;
