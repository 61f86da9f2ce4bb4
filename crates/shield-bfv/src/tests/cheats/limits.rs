//! What the check cannot find, measured: excessive noise below some size, and copies.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use shield::Seed;
use shield::backend::{Backend, BallotBox};

use super::super::noise::measured;
use super::{Fixture, fixture, forged, replaced};
use crate::aggregation::Examination;
use crate::ring::Poly;
use crate::scheme::Ciphertext;
use crate::{BfvBallot, ReleaseMode, validity};

/// A vote whose error has coefficients of up to 2^bits.
fn noisy(fixture: &Fixture, bits: u32) -> BfvBallot {
    let context = fixture.backend.context();
    let mut ballot = forged(fixture, |_, _, _| 0, &[]);
    let mut rng = ChaCha20Rng::seed_from_u64(u64::from(bits));
    let (low, high) = (bits.min(40), bits.saturating_sub(40));
    let width = 1_i64 << low;
    let error: Vec<i64> = (0..context.degree()).map(|_| rng.random_range(-width..=width)).collect();
    let mut error = context.small(&error, context.limbs());
    context.scale(&mut error, 1 << high);
    ballot.ciphertexts[0].add_scaled(context, &error);
    ballot
}

/// log2 of the statistical distance that flooding leaves between releases with these checks and
/// without: the theorem of [`crate::flooding`], for errors that were measured.
fn distance(fixture: &Fixture, checks: Vec<Ciphertext>, seed: &Seed) -> f64 {
    let Fixture { backend, keys, .. } = fixture;
    let (context, plan) = (backend.context(), backend.plan());
    let checks = backend.aggregation(&keys.evaluation, 0, seed).lowered(checks);
    let zero = || Poly::zero(context.degree(), checks[0].limbs());
    let mut masked = Ciphertext { parts: [zero(), zero()] };
    validity::mask(context, &mut masked, &checks, seed, 0, |_| true);
    let error = measured(context, &keys.secret.secret, &masked);
    let released = plan.released_ciphertexts() as f64;
    (1.53 * released.sqrt()).log2() + error - f64::from(plan.flooding_bits())
}

/// A fresh ballot's error is about 2^17 in canonical norm. Larger ones pass as long as V decrypts
/// to zero. What passes can make V's error larger than the flooding was planned for, and so shows
/// more than 2^-40 of it; what does not pass spoils the batch, and the audit names it.
/// SECURITY.md has these figures.
#[test]
fn excessive_noise_is_caught_from_some_size_on() {
    let seed = Seed::from_number(3);
    let fixture = fixture(100, ReleaseMode::Reveal);
    let Fixture { backend, keys, .. } = &fixture;
    let measure = |c: &Ciphertext| measured(backend.context(), &keys.secret.secret, c);
    for (bits, caught, shown) in [
        (1, false, -70.0..-55.0),
        (18, false, -55.0..-40.0),
        (30, false, -25.0..-15.0),
        (38, false, -10.0..0.0),
        (50, false, 0.0..f64::INFINITY),
        (58, true, 0.0..f64::INFINITY),
        (66, true, 0.0..f64::INFINITY),
    ] {
        let ballots = replaced(&fixture, &[(7, noisy(&fixture, bits))]);
        let norm = measure(&ballots.open(7).expect("a ballot").ciphertexts[0]);
        let release = backend.aggregate(&keys.evaluation, 0, &ballots, &seed).expect("a release");
        let found = backend.inspect(&keys.secret, 0, &release).expect("labels");
        let spoiled = found.alarms.samples().len();
        let aggregation = backend.aggregation(&keys.evaluation, 0, &seed);
        let examination = Examination::new(&aggregation, &ballots).expect("an examination");
        let checks = examination.finish().expect("checks");
        let v = measure(&checks[0]);
        let distance = distance(&fixture, checks, &seed);
        println!(
            "2^{bits} per coefficient, norm 2^{norm:.1}: {spoiled} of 100 samples spoiled, \
             error of V 2^{v:.1}, flooding hides it but for 2^{distance:.1}"
        );
        assert!(if caught { spoiled > 90 } else { spoiled == 0 }, "2^{bits}: {spoiled} spoiled");
        assert!(shown.contains(&distance), "2^{bits}: 2^{distance}");
    }
    let audit_seed = Seed::from_number(4);
    let ballots = replaced(&fixture, &[(7, noisy(&fixture, 66))]);
    let all: Vec<usize> = (0..100).collect();
    let audit = backend.audit(&keys.evaluation, 0, &ballots, &audit_seed, &all).expect("an audit");
    assert!(backend.read_audit(&keys.secret, 0, &audit).expect("a verdict").accused().contains(&7));
}

/// A copy with a fresh encryption of zero added looks like any other ballot, and counts as a second
/// vote: it is a vote. What stops it is that no teacher sees another's ballot.
#[test]
fn a_copied_ballot_counts_as_the_vote_that_it_is() {
    let seed = Seed::from_number(3);
    let fixture = fixture(100, ReleaseMode::Reveal);
    let Fixture { case, backend, keys, .. } = &fixture;
    let mut rng = ChaCha20Rng::seed_from_u64(11);
    let mut copy = fixture.ballots.open(1).expect("a ballot").into_owned();
    let context = backend.context();
    let zero = keys.public.key.zero(context, context.limbs(), &mut rng);
    copy.ciphertexts[0].add(context, &zero);
    let votes = case.votes.teacher(1, backend.batch(0));
    let own = backend.encrypt(&keys.public, 0, &votes, &mut rng).expect("a ballot");
    let read = |ballot| {
        let ballots = replaced(&fixture, &[(7, ballot)]);
        let release = backend.aggregate(&keys.evaluation, 0, &ballots, &seed).expect("a release");
        backend.inspect(&keys.secret, 0, &release).expect("labels")
    };
    let (copied, voted) = (read(copy), read(own));
    assert!(copied.alarms.is_empty(), "nothing to see");
    assert_eq!(copied.labels, voted.labels);
}
