//! The noise bound against the measured noise, from the secrets to the differences.

use super::*;
use crate::argmax::tiny::unlocking::Unlocking;
use crate::noise::Noise;
use crate::ring::PLAINTEXT;
use crate::scheme::Ciphertext;
use crate::tests::noise::measured;

fn check(what: &str, found: f64, bound: Noise, slack: f64) {
    println!("{what:>12}: measured {found:6.1}, bound {:6.1}", bound.bits());
    assert!(found <= bound.bits(), "{what}: {found} bits, bound {}", bound.bits());
    assert!(found > bound.bits() - slack, "{what}: the bound says nothing about {found}");
}

#[test]
fn measured_noise_stays_below_the_bound() {
    for (classes, samples, deviation) in
        [(2, 200, 3.0), (10, 64, 3.0), (10, 12, 20.0), (20, 9, 3.0)]
    {
        println!("{classes} classes, {samples} samples");
        let engine = tiny(election(6, classes, samples), skellam(deviation, 6, 0), None);
        let mut rng = ChaCha20Rng::seed_from_u64(5);
        let keys = engine.generate_keys(&mut rng).expect("keys");
        let (context, stages) = (&engine.argmax.context, engine.plan().stages());
        let measure = |c: &Ciphertext| measured(context, &keys.secret.secret.secret, c);
        let dimension = engine.grid.module().dimension();
        let sum: Vec<u64> = (0..dimension).map(|_| rng.random_range(0..PLAINTEXT)).collect();
        let places = (engine.grid, &engine.columns[..]);
        let unlocking = Unlocking::new(context, places, &keys.secret, [0; 32], &sum, &mut rng);
        let residues: Vec<u32> = (0..engine.batch(0).len() * classes)
            .map(|_| rng.random_range(0..PLAINTEXT as u32))
            .collect();
        let phases = engine.phases(&keys.evaluation, 0);
        let phase = phases.phase(&phases.near(unlocking.secrets), &residues);
        check("phase", measure(&phase), stages.tally, 30.0);
        let differences = phases.transform(phase);
        assert_eq!(differences[0].limbs(), engine.plan().start());
        for difference in &differences {
            check("difference", measure(difference), stages.difference, 40.0);
        }
    }
}
