//! The noise bound against the measured noise, stage by stage.

use super::*;
use crate::noise::Noise;
use crate::scheme::Ciphertext;
use crate::tests::noise::measured;

fn check(what: &str, found: f64, bound: Noise, slack: f64) {
    println!("{what:>12}: measured {found:6.1}, bound {:6.1}", bound.bits());
    assert!(found <= bound.bits(), "{what}: {found} bits, bound {}", bound.bits());
    assert!(found > bound.bits() - slack, "{what}: the bound says nothing about {found}");
}

#[test]
fn measured_noise_stays_below_the_bound() {
    for (classes, samples, deviation) in [(2, 512, 3.0), (10, 64, 3.0), (10, 16, 20.0)] {
        println!("{classes} classes, {samples} samples");
        let engine = tiny(6, classes, samples, skellam(deviation, 6, 0));
        let mut rng = ChaCha20Rng::seed_from_u64(5);
        let keys = engine.generate_keys(&mut rng).expect("keys");
        let (context, stages) = (&engine.context, engine.plan().stages());
        let counts = gaps(classes, samples, engine.plan().range() as i64, &mut rng);
        let ballots = MemoryBallotBox::new(
            samples,
            (0..6)
                .map(|teacher| {
                    let part: Vec<i64> = counts.iter().map(|c| (c + teacher) / 6).collect();
                    Some(engine.encrypt_numbers(&keys.public, 0, &part, &mut rng))
                })
                .collect(),
        );
        let seed = Seed::from_number(1);
        let aggregation = engine.aggregation(&keys.evaluation, 0, &seed);
        let measure = |c: &Ciphertext| measured(context, &keys.secret.secret, c);
        let tally = aggregation.tally(&ballots).expect("a sum");
        check("sum", measure(&tally), stages.tally, 12.0);
        let differences = aggregation.differences(&tally);
        check("difference", measure(&differences[0]), stages.difference, 30.0);
        let signs = aggregation.signs(differences);
        let bound = engine.plan().ring().drop_to(stages.sign, engine.plan().wins());
        check("sign", measure(&signs[0]), bound, 90.0);
        let released = aggregation.reveal(&signs, &seed);
        check("release", measure(&released), stages.released, 90.0);
    }
}
