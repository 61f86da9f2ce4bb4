//! What the check cannot find, measured: excessive noise below some size, and copies.

use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use shield_core::Seed;
use shield_core::engine::{Audits, BallotBox, Engine, urns};

use super::super::noise::measured;
use super::malformed::{large, noisy};
use super::{Fixture, fixture, replaced, shape};
use crate::aggregation::Examination;
use crate::scheme::Ciphertext;
use crate::{Coding, validity};

/// log2 of the statistical distance that flooding leaves between releases with these checks, added
/// to this ciphertext of a release, and without: the theorem of [`crate::flooding`], for measured
/// errors.
fn distance(
    fixture: &Fixture,
    released: Option<Ciphertext>,
    checks: Vec<Ciphertext>,
    seed: &Seed,
) -> f64 {
    let Fixture { engine, keys, .. } = fixture;
    let (context, plan) = (engine.context(), engine.plan());
    let checks = engine.aggregation(&keys.evaluation, 0, seed).lowered(checks);
    let mut masked = released.unwrap_or_else(|| Ciphertext::zero(context, checks[0].limbs()));
    validity::mask(context, &mut masked, &checks, seed, 0);
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
    let fixture = fixture(100);
    let Fixture { engine, keys, .. } = &fixture;
    let measure = |c: &Ciphertext| measured(engine.context(), &keys.secret.secret, c);
    for (bits, caught, shown) in [
        (1, false, -70.0..-55.0),
        (18, false, -55.0..-40.0),
        (30, false, -25.0..-15.0),
        (38, false, -10.0..0.0),
        (50, false, 0.0..f64::INFINITY),
        (58, true, 0.0..f64::INFINITY),
        (66, true, 0.0..f64::INFINITY),
    ] {
        let ballots = replaced(&fixture, &[(7, noisy(&fixture, 7, bits))]);
        let norm = measure(&ballots.open(7).expect("a ballot").ciphertexts[0]);
        let release = engine.aggregate(&keys.evaluation, 0, &ballots, &seed).expect("a release");
        let found = engine.inspect(&keys.secret, 0, &release).expect("labels");
        let spoiled = found.spoiled().len();
        let aggregation = engine.aggregation(&keys.evaluation, 0, &seed);
        let examination = Examination::new(&aggregation, &ballots).expect("an examination");
        let checks = examination.finish().expect("checks");
        let v = measure(&checks[0]);
        let distance = distance(&fixture, None, checks, &seed);
        println!(
            "2^{bits} per coefficient, norm 2^{norm:.1}: {spoiled} of 100 samples spoiled, \
             error of V 2^{v:.1}, flooding hides it but for 2^{distance:.1}"
        );
        assert!(if caught { spoiled > 90 } else { spoiled == 0 }, "2^{bits}: {spoiled} spoiled");
        assert!(shown.contains(&distance), "2^{bits}: 2^{distance}");
    }
    let audit_seed = Seed::from_number(4);
    let ballots = replaced(&fixture, &[(7, noisy(&fixture, 7, 66))]);
    let all: Vec<usize> = (0..100).collect();
    let audit = engine.audit(&keys.evaluation, 0, &ballots, &audit_seed, &all).expect("an audit");
    assert!(engine.read_audit(&keys.secret, 0, &audit).expect("teachers").contains(&7));
}

/// Adds errors of up to 2^bits to a key of the student's, which then makes ballots and labels as
/// any other does.
type Spoiling = fn(&mut Fixture, u32);

/// Nobody but the student can see how large the errors of its keys are, and the labels do not show
/// it. SECURITY.md has these figures.
#[test]
fn large_errors_of_the_students_keys_go_unnoticed_and_weaken_the_flooding() {
    let relinearisation: Spoiling = |fixture, bits| {
        let (context, mut rng) = (fixture.engine.context(), ChaCha20Rng::seed_from_u64(4));
        for [b, _] in &mut fixture.keys.evaluation.relinearisation.digits {
            let mut error = large(context, bits, &mut rng);
            context.to_montgomery(&mut error);
            context.add(b, &error);
        }
    };
    let public: Spoiling = |fixture, bits| {
        let context = fixture.engine.context();
        let mut error = large(context, bits, &mut ChaCha20Rng::seed_from_u64(4));
        context.to_montgomery(&mut error);
        context.add(&mut fixture.keys.public.key.parts[0], &error);
        fixture.keys.evaluation.public = fixture.keys.public.key.clone();
    };
    let seed = Seed::from_number(5);
    for (spoil, bits, shown) in [
        (relinearisation, 1, -70.0..-55.0),
        (relinearisation, 56, -10.0..0.0),
        (public, 1, -70.0..-55.0),
        (public, 28, -20.0..-10.0),
    ] {
        let shape = shape(12, 10, 100, "8X^4+6X^3+4X^2+X");
        let mut fixture = Fixture::with_coding(shape, Coding::OneHot);
        spoil(&mut fixture, bits);
        fixture.vote(&mut ChaCha20Rng::seed_from_u64(6));
        let Fixture { case, engine, keys, ballots } = &fixture;
        let release = engine.aggregate(&keys.evaluation, 0, ballots, &seed).expect("a release");
        let found = engine.inspect(&keys.secret, 0, &release).expect("labels");
        assert_eq!((found.labels, found.alarms), (case.expected(&seed), vec![]), "2^{bits}");
        let aggregation = engine.aggregation(&keys.evaluation, 0, &seed);
        let urns = urns(&case.election, engine.batch(0).len(), ballots).expect("urns");
        let shifts = aggregation.shifts();
        let tallies = aggregation.tally(&urns, &shifts, ballots).expect("tallies");
        let released = aggregation.reveal(tallies, &shifts, &seed).swap_remove(0);
        let examination = Examination::new(&aggregation, ballots).expect("an examination");
        let checks = examination.finish().expect("checks");
        let distance = distance(&fixture, Some(released), checks, &seed);
        println!("errors of 2^{bits}: flooding hides the noise but for 2^{distance:.1}");
        assert!(shown.contains(&distance), "2^{bits}: 2^{distance}");
    }
}

/// A copy with a fresh encryption of zero added looks like any other ballot, and counts as a second
/// vote: it is a vote. What stops it is that no teacher sees another's ballot.
#[test]
fn a_copied_ballot_counts_as_the_vote_that_it_is() {
    let seed = Seed::from_number(3);
    let fixture = fixture(100);
    let Fixture { case, engine, keys, .. } = &fixture;
    let mut rng = ChaCha20Rng::seed_from_u64(11);
    let mut copy = fixture.ballots.open(1).expect("a ballot").into_owned();
    let context = engine.context();
    let zero = keys.public.key.zero(context, context.limbs(), &mut rng);
    copy.ciphertexts[0].add(context, &zero);
    let votes = case.votes.teacher(1, engine.batch(0));
    let own = engine.encrypt(&keys.public, 0, &votes, &mut rng).expect("a ballot");
    let read = |ballot| {
        let ballots = replaced(&fixture, &[(7, ballot)]);
        let release = engine.aggregate(&keys.evaluation, 0, &ballots, &seed).expect("a release");
        engine.inspect(&keys.secret, 0, &release).expect("labels")
    };
    let (copied, voted) = (read(copy), read(own));
    assert!(copied.alarms.is_empty(), "nothing to see");
    assert_eq!(copied.labels, voted.labels);
}
