//! Honest proofs are right; whatever is changed, and whatever is forged, is not.

use std::sync::OnceLock;

use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use shield_core::framing::Reader;

use super::*;
use crate::ring::Context;
use crate::scheme::{Secret, times};

const N: usize = 256;

/// A ring, a key with its secret, and an honest ballot of two ciphertexts with its proof.
struct Fixture {
    ring: Context,
    secret: Secret,
    key: EncryptionKey,
    ballot: Vec<Ciphertext>,
    openings: Vec<Opening>,
    proof: Proof,
}

const NAME: &[u8] = b"election, keys, batch 0, amber";

/// Votes: a few ones.
fn slots(n: usize) -> Vec<u64> {
    (0..n).map(|i| u64::from(i % 16 == 3)).collect()
}

fn fixture() -> &'static Fixture {
    static FIXTURE: OnceLock<Fixture> = OnceLock::new();
    FIXTURE.get_or_init(|| {
        let mut rng = ChaCha20Rng::seed_from_u64(3);
        let ring = Context::new(N, 51, 4);
        let secret = Secret::random(&ring, &mut rng);
        let key = EncryptionKey::generate(&ring, &secret, &mut rng);
        let encrypted = (0..2).map(|_| Opening::encrypt(&ring, &key, slots(N), &mut rng));
        let (ballot, openings): (Vec<_>, Vec<_>) = encrypted.unzip();
        let proof = Statement { ring: &ring, key: &key, about: NAME, ciphertexts: &ballot }
            .prove(&openings, &mut rng);
        Fixture { ring, secret, key, ballot, openings, proof }
    })
}

impl Fixture {
    fn says<'a>(&'a self, about: &'a [u8], ciphertexts: &'a [Ciphertext]) -> Statement<'a> {
        Statement { ring: &self.ring, key: &self.key, about, ciphertexts }
    }

    fn accepts(&self, ciphertexts: &[Ciphertext]) -> bool {
        self.says(NAME, ciphertexts).accepts(&self.proof)
    }

    /// The honest ballot with its first ciphertext changed.
    fn changed(&self, change: impl FnOnce(&mut Ciphertext)) -> Vec<Ciphertext> {
        let mut ballot = self.ballot.clone();
        change(&mut ballot[0]);
        ballot
    }

    /// What the best prover can do with a ballot whose opening is not short, or not its own: answer
    /// as if it were.
    fn best_effort(&self, ciphertexts: &[Ciphertext]) -> bool {
        let mut rng = ChaCha20Rng::seed_from_u64(9);
        let statement = self.says(NAME, ciphertexts);
        (0..20).any(|_| statement.accepts(&statement.prove(&self.openings, &mut rng)))
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.proof.write(&mut bytes);
        bytes
    }
}

#[test]
fn honest_proofs_are_right_for_their_own_statement_alone() {
    let f = fixture();
    assert!(f.accepts(&f.ballot));
    let mut lowered = f.ballot[0].clone();
    lowered.drop_to(&f.ring, 1);
    assert_eq!(lowered.decrypt(&f.ring, &f.secret), slots(N));
    let other = b"election, keys, batch 0, birch";
    assert!(!f.says(other, &f.ballot).accepts(&f.proof), "another teacher");
    assert!(!f.accepts(&f.ballot[..1]), "one ciphertext less");
    assert!(!f.accepts(&[f.ballot[1].clone(), f.ballot[0].clone()]), "in another order");
    let key = EncryptionKey::generate(&f.ring, &f.secret, &mut ChaCha20Rng::seed_from_u64(1));
    let elsewhere = Statement { key: &key, ..f.says(NAME, &f.ballot) };
    assert!(!elsewhere.accepts(&f.proof), "another key");
}

/// Every ballot that somebody could make of another's: the proof does not go with it, and nobody
/// makes one without the other's vote.
#[test]
fn what_is_made_of_anothers_ballot_has_no_proof() {
    let f = fixture();
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    let zero = f.key.zero(&f.ring, 4, &mut rng);
    let disguised = f.changed(|c| c.add(&f.ring, &zero));
    let selected = f.changed(|c| *c = times(&f.ring, c, slots(N)));
    let negated = f.changed(|c| c.scale(&f.ring, -1));
    let turned = f.changed(|c| {
        let mut x = vec![0; N];
        x[1] = 1;
        let mut monomial = f.ring.small(&x, 4);
        f.ring.to_montgomery(&mut monomial);
        c.parts = c.parts.each_ref().map(|part| f.ring.product(part, &monomial));
    });
    for (what, ballot) in [("a disguise", disguised), ("a selector", selected)] {
        assert!(!f.accepts(&ballot) && !f.best_effort(&ballot), "{what}");
    }
    assert!(!f.accepts(&negated) && !f.accepts(&turned));
    // Under its own name the copy needs a proof of its own, too.
    let mut fresh = ChaCha20Rng::seed_from_u64(6);
    let (_, strange) = Opening::encrypt(&f.ring, &f.key, slots(N), &mut fresh);
    let birch = f.says(b"birch", &f.ballot[..1]);
    assert!(!birch.accepts(&birch.prove(&[strange], &mut fresh)));
}

/// Errors that one repetition would hide, and one that no proof hides; an idempotent of the ring.
#[test]
fn what_is_not_short_has_no_proof() {
    let f = fixture();
    let mut rng = ChaCha20Rng::seed_from_u64(7);
    for bits in [23, 30, 40] {
        let width = 1_i64 << bits;
        let error: Vec<i64> = (0..N).map(|_| rng.random_range(-width..=width)).collect();
        let long = f.changed(|c| c.add_scaled(&f.ring, &f.ring.small(&error, 4)));
        assert!(!f.accepts(&long) && !f.best_effort(&long), "an error of 2^{bits}");
    }
    let idempotent = f.changed(|c| {
        let mut c0 = Poly::zero(N, 4);
        f.ring.add_constant(&mut c0, 1);
        for x in c0.iter_mut().flatten() {
            *x *= u64::from(rng.random::<bool>());
        }
        *c = Ciphertext { parts: [c0, Poly::zero(N, 4)] };
    });
    assert!(!f.accepts(&idempotent) && !f.best_effort(&idempotent));
}

/// A cheat who knows what its ballot is made of, skips its own checks and sends what it has.
#[test]
fn a_long_u_is_refused_whoever_knows_it() {
    let f = fixture();
    let mut rng = ChaCha20Rng::seed_from_u64(10);
    let mut u: Vec<i64> = (0..N).map(|_| rng.random_range(-1..=1)).collect();
    u[5] = 1 << 21;
    let long = f.openings[0].with_u(u);
    let ciphertext = long.ciphertext(&f.ring, &f.key);
    let ballot = [ciphertext];
    let statement = f.says(NAME, &ballot);
    let openings = [long];
    // In nine of ten attempts nothing but the bound on u is broken.
    assert!((0..20).all(|_| !statement.accepts(&statement.attempt(&openings, &mut rng).0)));
    let short = [f.openings[0].with_u(vec![1; N])];
    let ballot = [short[0].ciphertext(&f.ring, &f.key)];
    let statement = f.says(NAME, &ballot);
    assert!((0..20).any(|_| statement.accepts(&statement.attempt(&short, &mut rng).0)));
}

/// A cheat whose error is a little too long for the prover, but whose answers are within the
/// bounds: that is what "twice the ciphertext" and the plan's bound are for.
#[test]
fn what_passes_is_within_the_proven_norms() {
    let (u, e) = norms(N);
    let f = fixture();
    let mut rng = ChaCha20Rng::seed_from_u64(8);
    let error: Vec<i64> = (0..N).map(|_| rng.random_range(-1_000..=1_000)).collect();
    let long = f.changed(|c| c.add_scaled(&f.ring, &f.ring.small(&error, 4)));
    let norm = |x: &[i64]| {
        let real: Vec<f64> = x.iter().map(|&x| x as f64).collect();
        crate::scheme::embedding::norm(&real)
    };
    assert!(2.0 * norm(&error) < e && 2.0 * norm(&f.openings[0].coefficients_of_u()) < u);
    let statement = f.says(NAME, &long);
    let openings: Vec<Opening> =
        f.openings.iter().zip([&error[..], &[0; N]]).map(|(own, e)| own.longer(e)).collect();
    assert!(statement.accepts(&statement.prove(&openings, &mut rng)), "known and short enough");
}

#[test]
fn two_answers_open_twice_the_ciphertext() {
    // The extractor of the soundness proof, run: one commitment, two challenges.
    let f = fixture();
    let mut rng = ChaCha20Rng::seed_from_u64(12);
    let statement = f.says(NAME, &f.ballot[..1]);
    let (answers, exponents) = prover::two_answers(&statement, &f.openings[0], &mut rng);
    let [first, second] = &answers;
    let difference = |a: i64, b: i64| a - b;
    let u: Vec<i64> =
        first.u.iter().zip(&second.u).map(|(&a, &b)| difference(a.into(), b.into())).collect();
    let m: Vec<i64> = first
        .m
        .iter()
        .zip(&second.m)
        .map(|(&a, &b)| difference(centred(a.into()), centred(b.into())))
        .collect();
    // d = 2 / (X^i - X^j): X^-j times the sum of +-X^(k (i - j)), which has coefficients in
    // {-1, 0, 1}: found here by solving the recurrence coefficient by coefficient.
    let d = half_inverse(exponents[0], exponents[1], N);
    assert!(d.iter().all(|x| x.abs() <= 1));
    let message: Vec<u64> =
        product(&d, &m).into_iter().map(|x| x.rem_euclid(65_537).cast_unsigned()).collect();
    let opened = product(&d, &u);
    assert!(opened.iter().all(|&x| x.abs() <= (1 << 21) * N as i64));
    // What is left of 2 c is short.
    let image = statement.image(&opened, &message);
    let mut double = f.ballot[0].clone();
    double.add(&f.ring, &f.ballot[0]);
    let bound = (1_i64 << 25) * N as i64;
    for (part, image) in double.parts.into_iter().zip(image) {
        let mut left = image;
        f.ring.subtract_from(&mut left, &f.ring.backward(part));
        for (limb, ntt) in left.iter().zip(f.ring.q()) {
            assert!(limb.iter().all(|&x| ntt.modulus().centred(x).abs() <= bound));
        }
    }
    // And what is opened is the vote.
    let mut half = message;
    for x in &mut half {
        *x = *x * crate::ballot::HALF % 65_537;
    }
    f.ring.t().forward(&mut half);
    assert_eq!(half, slots(N));
}

/// 2 / (X^i - X^j) modulo X^n + 1, by following the cycle of the map k -> k + j - i.
fn half_inverse(i: usize, j: usize, n: usize) -> Vec<i64> {
    // (X^i - X^j)^-1 2 = X^-i 2 / (1 - Y) with Y = X^(j - i), and (1 - Y) (1 + Y + ... + Y^(r-1)) =
    // 1 - Y^r = 2 for the r with Y^r = -1.
    let step = (j + 2 * n - i) % (2 * n);
    let mut d = vec![0; n];
    let mut exponent = (2 * n - i) % (2 * n);
    for r in 1.. {
        d[exponent % n] += if exponent >= n { -1 } else { 1 };
        exponent = (exponent + step) % (2 * n);
        if r * step % (2 * n) == n {
            return d;
        }
    }
    unreachable!()
}

/// The product modulo X^n + 1.
fn product(a: &[i64], b: &[i64]) -> Vec<i64> {
    let mut sum = vec![0; a.len()];
    for (i, &a) in a.iter().enumerate().filter(|(_, a)| **a != 0) {
        for (sum, x) in sum.iter_mut().zip(turned(b, i, |x| -x)) {
            *sum += a * x;
        }
    }
    sum
}

#[test]
fn proofs_are_read_as_they_were_written() {
    let f = fixture();
    let bytes = f.bytes();
    assert_eq!(bytes.len(), Proof::bytes(N, 2));
    let read = Proof::read(&mut Reader::new(&bytes), N, 2).expect("a proof");
    assert!(read == f.proof);
    for length in [0, 31, 32, bytes.len() / 2, bytes.len() - 1] {
        assert!(Proof::read(&mut Reader::new(&bytes[..length]), N, 2).is_none(), "{length}");
    }
}

#[test]
fn turning_is_multiplication_by_a_monomial() {
    let x = [1, 2, 3, 4];
    let turned = |i| turned(&x, i, |x: i32| -x).collect::<Vec<_>>();
    assert_eq!(turned(0), x);
    assert_eq!(turned(1), [-4, 1, 2, 3]);
    assert_eq!(turned(4), [-1, -2, -3, -4]);
    assert_eq!(turned(7), [2, 3, 4, -1]);
}

#[test]
fn low_bits_settle_away_from_the_edges() {
    let q = fixture().ring.q()[0].modulus();
    let half = 1_u64 << 24;
    assert_eq!(
        [low(5), low(half - 1), low(half), low(3 * half)].map(i64::abs),
        [5, (1 << 24) - 1, 1 << 24, 1 << 24]
    );
    for (residue, expected) in [
        (0, false),
        (21, false),
        (22, true),
        (half - 22, true),
        (half - 21, false),
        (half + 21, false),
        (half + 22, true),
        (q.value() - 22, false),
    ] {
        assert_eq!(settled(q, residue), expected, "{residue}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// No byte of a proof can be another.
    #[test]
    fn a_changed_byte_is_refused(place in any::<prop::sample::Index>(), change in 1..=255_u8) {
        let f = fixture();
        let mut bytes = f.bytes();
        let place = place.index(bytes.len());
        bytes[place] ^= change;
        let read = Proof::read(&mut Reader::new(&bytes), N, 2);
        prop_assert!(read.is_none_or(|proof| !f.says(NAME, &f.ballot).accepts(&proof)));
    }

    /// No bytes make the verifier do anything but refuse.
    #[test]
    fn junk_is_refused(seed in any::<u64>(), small in any::<bool>()) {
        let f = fixture();
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let mut bytes = vec![0_u8; Proof::bytes(N, 2)];
        rng.fill(&mut bytes[..]);
        if small {
            // In range, all of it.
            bytes[32..].fill(0);
        }
        let read = Proof::read(&mut Reader::new(&bytes), N, 2);
        prop_assert!(!small || read.is_some());
        prop_assert!(read.is_none_or(|proof| !f.says(NAME, &f.ballot).accepts(&proof)));
    }

    /// Nor can one of the ciphertexts' residues.
    #[test]
    fn a_changed_ciphertext_is_refused(place in 0..2 * 4 * N, which in 0..2_usize) {
        let f = fixture();
        let mut ballot = f.ballot.clone();
        let part = &mut ballot[which].parts[place / (4 * N)];
        part.data_mut()[place % (4 * N)] ^= 1;
        prop_assert!(!f.accepts(&ballot));
    }
}

/// The frozen proof with its key and ciphertext, in the smallest ring.
fn frozen(ring: &Context) -> Vec<u8> {
    use crate::bytes;
    let mut rng = ChaCha20Rng::seed_from_u64(2_026);
    let secret = Secret::random(ring, &mut rng);
    let key = EncryptionKey::generate(ring, &secret, &mut rng);
    let (ciphertext, opening) = Opening::encrypt(ring, &key, slots(ring.degree()), &mut rng);
    let ballot = [ciphertext];
    let statement = Statement { ring, key: &key, about: NAME, ciphertexts: &ballot };
    let proof = statement.prove(&[opening], &mut rng);
    let mut out = Vec::new();
    bytes::write_public(&mut out, ring, &key);
    bytes::write_ciphertexts(&mut out, ring, &ballot);
    proof.write(&mut out);
    out
}

fn frozen_path() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/proof/ballot.bin")
}

/// Proofs of earlier versions are still right, and the same seeds still make the same bytes.
#[test]
fn a_frozen_proof_is_right() {
    use crate::bytes;
    let ring = Context::new(64, 51, 4);
    let all = std::fs::read(frozen_path()).expect("the frozen proof");
    assert!(all == frozen(&ring), "other bytes from the same seeds");
    let mut reader = Reader::new(&all);
    let key = bytes::read_public(&mut reader, &ring).expect("a key");
    let ballot = bytes::read_ciphertexts(&mut reader, &ring, 1, 4).expect("a ciphertext");
    let proof = Proof::read(&mut reader, 64, 1).expect("a proof");
    assert!(reader.rest().is_empty());
    let statement = Statement { ring: &ring, key: &key, about: NAME, ciphertexts: &ballot };
    assert!(statement.accepts(&proof));
    let other = Statement { about: b"another name", ..statement };
    assert!(!other.accepts(&proof));
}

#[test]
#[ignore = "writes the frozen vectors anew"]
fn write_frozen_proof() {
    let path = frozen_path();
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(path, frozen(&Context::new(64, 51, 4))).expect("written");
}
