//! The noise bound against the measured noise, stage by stage, on every kind of layout.

use num_bigint::{BigInt, BigUint, Sign};
use shield_core::Seed;
use shield_core::engine::suite::Shape;
use shield_core::engine::{Engine, urns};

use super::{Fixture, shape};
use crate::Coding;
use crate::aggregation::Examination;
use crate::noise::Noise;
use crate::ring::{Context, PLAINTEXT};
use crate::scheme::{Ciphertext, Secret, embedding};

/// log2 of the canonical norm of a ciphertext's error.
pub(crate) fn measured(context: &Context, secret: &Secret, c: &Ciphertext) -> f64 {
    let phase = context.backward(c.phase(context, secret));
    let primes: Vec<BigUint> =
        context.q()[..c.limbs()].iter().map(|q| q.modulus().value().into()).collect();
    let q: BigUint = primes.iter().product();
    let basis: Vec<BigUint> = primes
        .iter()
        .map(|p| {
            let cofactor = &q / p;
            let inverse = (&cofactor % p).modinv(p).expect("primes");
            cofactor * inverse * PLAINTEXT % &q
        })
        .collect();
    let half = &q / 2_u32;
    // t (Delta m + e) is t e - m modulo Q: divided by t, the error but for less than one.
    let errors: Vec<f64> = (0..context.degree())
        .map(|i| {
            let sum: BigUint = basis.iter().enumerate().map(|(j, b)| b * phase.limb(j)[i]).sum();
            let residue = sum % &q;
            let centred = if residue > half {
                -BigInt::from_biguint(Sign::Plus, &q - residue)
            } else {
                BigInt::from(residue)
            };
            centred.to_string().parse::<f64>().unwrap_or(f64::INFINITY) / PLAINTEXT as f64
        })
        .collect();
    embedding::norm(&errors).log2()
}

fn check(what: &str, found: f64, bound: Noise, slack: f64) {
    println!("{what:>10}: measured {found:6.1}, bound {:6.1}", bound.bits());
    assert!(found <= bound.bits(), "{what}: {found} bits, bound {}", bound.bits());
    assert!(
        found > bound.bits() - slack,
        "{what}: a bound of {} bits says nothing about {found}",
        bound.bits()
    );
}

/// Stage by stage, in the first ciphertext.
fn check_stages(fixture: &Fixture) {
    let Fixture { case, engine, keys, ballots } = fixture;
    let (context, stages) = (engine.context(), engine.plan().stages());
    let seed = Seed::from_number(1);
    let aggregation = engine.aggregation(&keys.evaluation, 0, &seed);
    let measure = |c: &Ciphertext| measured(context, &keys.secret.secret, c);
    let zero = keys.public.key.zero(context, context.limbs(), &mut seed.stream("test", 0));
    check("fresh", measure(&zero), stages.ballot, 6.0);
    let urns = urns(&case.election, engine.batch(0).len(), ballots).expect("urns");
    let shifts = aggregation.shifts();
    let tallies = aggregation.tally(&urns, &shifts, ballots).expect("tallies");
    check("tally", measure(&tallies[0]), stages.tally, 12.0);
    let planes = engine.plan().layout().planes();
    let answers = tallies[..planes].iter().map(|tally| aggregation.unanimity(tally.clone()));
    let answers: Vec<_> = answers.collect();
    check("unanimity", measure(&answers[0]), stages.unanimity, 35.0);
    check("successes", measure(&aggregation.successes(answers)), stages.successes, 90.0);
    let examination = Examination::new(&aggregation, ballots).expect("an examination");
    let checks = examination.finish().expect("checks");
    check("validity", measure(&checks[0]), stages.validity, 25.0);
    let released = aggregation.reveal(tallies, &shifts, &seed);
    check("release", measure(&released[0]), stages.released, 90.0);
}

#[test]
fn measured_noise_stays_below_the_bound_on_every_layout() {
    for (samples, classes, polynomial) in [
        (512, 10, "2X^4+X"),
        (100, 10, "8X^4+6X^3+4X^2+X"),
        (5, 2, "2X^2+X"),
        (8, 1_024, "X^3+X"),
        (40, 37, "3X"),
        (3, 3, "X^8+X"),
        (3, 3, "X^16+X"),
    ] {
        println!("{samples} samples, {classes} classes, {polynomial}");
        // Without dummies, so that every cell draws teachers.
        let shape = Shape { offset: 0, ..shape(40, classes, samples, polynomial) };
        check_stages(&Fixture::with_coding(shape, Coding::OneHot));
    }
}

#[test]
fn measured_noise_stays_below_the_bound_in_every_coding() {
    for (coding, classes, polynomial) in [
        (Coding::PackedBits, 10, "2X^4+2X"),
        (Coding::PackedBits, 300, "2X"),
        (Coding::BitsAcross, 10, "2X^4+X"),
        (Coding::BitsAcross, 100, "2X^2+X"),
    ] {
        println!("{coding:?}, {classes} classes, {polynomial}");
        let shape = Shape { offset: 0, ..shape(12, classes, 40, polynomial) };
        check_stages(&Fixture::with_coding(shape, coding));
    }
}
