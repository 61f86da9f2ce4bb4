//! Circuit privacy: what the student gets follows from the labels alone.
//!
//! The student owns the secret key, so from a released ciphertext it reads not only the slots but
//! the whole phase `c0 + c1 s = Delta m + e`. The error e depends on the votes, on the draws and on
//! the masks, and the pair (c0, c1) itself is a function of the ballots. (The paper releases both
//! as they are.) Two things hide them.
//!
//! **Re-randomisation**: a fresh encryption of zero is added, under the student's public key.
//!
//! **Flooding**: to each coefficient of c0 the sum of three uniform integers of b bits is added.
//!
//! # Theorem
//!
//! Let X ciphertexts be released, whose errors (re-randomisation included) have canonical norm at
//! most B, and let `W = 2^b >= 1.53 sqrt(X) B 2^40`. Given its key and the messages m, the student
//! cannot tell the released ciphertexts from `(Delta m + f - c1 s, c1)` with c1 uniform and f
//! flooding noise: statistical distance at most 2^-40 for the phases, plus the advantage against
//! one ring-LWE instance a ciphertext.
//!
//! # Proof
//!
//! *Phases.* Let p(x) be the probability that the sum of three uniform integers of {0, ..., W-1} is
//! x. Shifting one coordinate by d moves the vector of square roots of p by at most |d| sqrt(J) in
//! Euclidean norm, with `J = sum over x of (sqrt p(x) - sqrt p(x-1))^2 <= sum (p(x) - p(x-1))^2 /
//! (p(x) + p(x-1))`. On the rising part, x < W, p(x) = (x+1)(x+2)/2W^3, so the difference is
//! (x+1)/W^3 and the sum (x+1)^2/W^3: each x adds W^-3, the whole part W^-2; likewise the falling
//! part. In the middle p + p >= 1/W and the difference at distance y from the centre is at most
//! 2|y|/W^3, which adds at most 1/3 W^-2. So J <= (7/3) W^-2. For a product of such coordinates
//! shifted by a vector d, squared Hellinger distances add up, and the statistical distance is at
//! most `sqrt(J) |d|_2 <= 1.53 |d|_2 / W`. The Euclidean norm of an error's coefficients is at most
//! its canonical norm (Parseval), so |d|_2 <= sqrt(X) B for all released coefficients together, and
//! the distance is at most 2^-40.
//!
//! *Ciphertexts.* Once the phase is `Delta m + f`, whatever the error was, c0 follows from c1 and
//! s, and `c1 + a u + e2` with u and e2 fresh and in nothing else is a ring-LWE sample under the
//! public a: replace it by uniform. Switching the modulus down is done to the result, and can
//! reveal nothing more. []
//!
//! Three uniform integers and not a Gaussian: they are exact, the same on every machine, and never
//! larger than 1.5 W, which costs two bits less of modulus than a Gaussian of the same protection
//! with its tail.

use rand::{CryptoRng, RngCore};

use crate::ring::combine::combine;
use crate::ring::{Buffer, Coefficients, Context, Poly};
use crate::scheme::{Ciphertext, EncryptionKey};

/// Statistical distance, in bits, between a release and its simulation.
pub const STATISTICAL_BITS: u32 = shield_core::engine::STATISTICAL_BITS;

/// Bits of a digit in which wide integers are drawn.
const DIGIT: u32 = 40;

/// Bits b of the theorem, for a bound B and X ciphertexts.
pub(crate) fn bits(bound: f64, ciphertexts: usize) -> u32 {
    let width = (1.53 * (ciphertexts as f64).sqrt() * bound).log2();
    (width + f64::from(STATISTICAL_BITS)).ceil().max(1.0) as u32
}

/// log2 of the largest absolute value of the flooding noise, 1.5 W.
pub(crate) fn magnitude(bits: u32) -> f64 {
    f64::from(bits) + 1.5_f64.log2()
}

/// Re-randomises, floods, and switches the modulus down to one prime.
pub(crate) fn sanitise<R: RngCore + CryptoRng>(
    context: &Context,
    key: &EncryptionKey,
    c: Ciphertext,
    bits: u32,
    rng: &mut R,
) -> Ciphertext {
    // As `cover` does, and bit for bit the same, but by coefficients: half as many transforms.
    let limbs = c.limbs();
    let mut parts = key.rerandomised(context, c, rng);
    context.add(&mut parts[0], &flood(context, bits, limbs, rng));
    let parts = parts.map(|mut part| {
        context.drop_coefficients(&mut part, 1);
        context.forward(part)
    });
    Ciphertext { parts }
}

/// Re-randomises and floods.
pub(crate) fn cover<R: RngCore + CryptoRng>(
    context: &Context,
    key: &EncryptionKey,
    c: Ciphertext,
    bits: u32,
    rng: &mut R,
) -> Ciphertext {
    let limbs = c.limbs();
    let mut c = rerandomise(context, key, c, rng);
    c.add_scaled(context, &context.forward(flood(context, bits, limbs, rng)));
    c
}

/// Re-randomises.
pub(crate) fn rerandomise<R: RngCore + CryptoRng>(
    context: &Context,
    key: &EncryptionKey,
    mut c: Ciphertext,
    rng: &mut R,
) -> Ciphertext {
    let limbs = c.limbs();
    c.add(context, &key.zero(context, limbs, rng));
    c
}

/// Noise: each coefficient the sum of three uniform integers of `bits` bits, centred.
pub(crate) fn flood<R: RngCore + CryptoRng>(
    context: &Context,
    bits: u32,
    limbs: usize,
    rng: &mut R,
) -> Poly<Coefficients> {
    let n = context.degree();
    let digits = bits.div_ceil(DIGIT) as usize;
    let top = (1_u64 << (bits - DIGIT * (digits as u32 - 1))) - 1;
    // Digit by digit, the sum of three: below 2^42 each. All lowest digits first.
    let mut sums = Buffer::zeroed(n * digits);
    for coefficient in 0..n {
        for _ in 0..3 {
            for i in 0..digits {
                let mask = if i + 1 == digits { top } else { (1 << DIGIT) - 1 };
                sums[i * n + coefficient] += rng.next_u64() & mask;
            }
        }
    }
    let digits: Vec<&[u64]> = sums.chunks_exact(n).collect();
    let mut poly = Poly::<Coefficients>::unset(n, limbs);
    for (limb, ntt) in poly.iter_mut().zip(context.q()) {
        let q = ntt.modulus();
        let weights: Vec<u64> =
            (0..digits.len() as u64).map(|i| q.pow(2, u64::from(DIGIT) * i)).collect();
        combine(q, &digits, &[weights], vec![&mut *limb]);
        // The mean of the sum, (3/2)(2^bits - 1), but for the half.
        let mean = q.sub(q.mul(3, q.pow(2, u64::from(bits) - 1)), 1);
        for x in limb {
            *x = q.sub(*x, mean);
        }
    }
    poly
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::Secret;
    use num_bigint::BigInt;
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    /// Flooding noise as real numbers, in units of W.
    fn noise(bits: u32) -> Vec<f64> {
        let context = Context::new(1_024, 51, 4);
        let mut rng = ChaCha20Rng::seed_from_u64(u64::from(bits));
        let poly = flood(&context, bits, 4, &mut rng);
        let primes: Vec<BigInt> = context.q().iter().map(|q| q.modulus().value().into()).collect();
        let q: BigInt = primes.iter().product();
        let width = 2_f64.powi(bits as i32);
        (0..1_024)
            .map(|i| {
                let x: BigInt = primes
                    .iter()
                    .enumerate()
                    .map(|(j, p)| {
                        let cofactor: BigInt = &q / p;
                        let inverse = cofactor.modinv(p).expect("primes");
                        cofactor * inverse * poly.limb(j)[i]
                    })
                    .sum();
                let x: BigInt = x % &q;
                let centred = if &x * 2 > q { x - &q } else { x };
                centred.to_string().parse::<f64>().expect("a number") / width
            })
            .collect()
    }

    #[test]
    fn three_uniform_integers_of_any_width() {
        for bits in [1, 17, 40, 41, 80, 132, 190] {
            let noise = noise(bits);
            let mean = noise.iter().sum::<f64>() / 1_024.0;
            let variance = noise.iter().map(|x| x * x).sum::<f64>() / 1_024.0;
            assert!(noise.iter().all(|x| x.abs() <= 1.5), "{bits} bits");
            // A variance of W^2 / 4, but for what the width of one integer takes off: five
            // deviations.
            let expected = 0.25 * (1.0 - 4_f64.powi(-(bits as i32)));
            assert!((variance - expected).abs() < 0.07, "{bits} bits: variance {variance}");
            let half = 0.5 / 2_f64.powi(bits as i32);
            assert!((mean + half).abs() < 0.08, "{bits} bits: mean {mean}");
        }
    }

    #[test]
    fn a_bound_and_a_count_give_the_width_of_the_theorem() {
        for (bound, count) in [(1e20, 1), (3e30, 19), (1e50, 128)] {
            let width = 2_f64.powi(bits(bound, count) as i32);
            let distance = 1.53 * (count as f64).sqrt() * bound / width;
            assert!(distance <= 2_f64.powi(-40) && distance > 2_f64.powi(-42));
        }
    }

    #[test]
    fn sanitising_changes_everything_but_the_message() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let context = Context::new(1_024, 51, 3);
        let secret = Secret::random(&context, &mut rng);
        let key = EncryptionKey::generate(&context, &secret, &mut rng);
        let slots: Vec<u64> = (0..1_024).collect();
        let mut c = key.zero(&context, 3, &mut rng);
        c.add_slots(&context, slots.clone());
        let (mut a, mut b) = (ChaCha20Rng::seed_from_u64(2), ChaCha20Rng::seed_from_u64(3));
        let first = sanitise(&context, &key, c.clone(), 100, &mut a);
        let second = sanitise(&context, &key, c.clone(), 100, &mut b);
        for part in 0..2 {
            let same = first.parts[part].data().iter().zip(second.parts[part].data());
            assert!(same.filter(|(x, y)| x == y).count() < 3, "part {part}");
        }
        let mut covered = cover(&context, &key, c, 100, &mut ChaCha20Rng::seed_from_u64(2));
        covered.drop_to(&context, 1);
        assert!(covered == first, "values and coefficients give the same");
        assert_eq!(first.decrypt(&context, &secret), slots);
        assert_eq!(second.decrypt(&context, &secret), slots);
    }
}
