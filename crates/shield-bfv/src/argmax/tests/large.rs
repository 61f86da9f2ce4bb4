//! Many samples in the real rings.

use super::*;

#[test]
#[ignore = "two minutes: ten thousand samples in the real ring"]
fn ten_thousand_samples_as_in_the_clear() {
    for (classes, samples) in [(2, 6_000), (10, 4_096), (32, 1_024)] {
        let noise = skellam(20.0, 250, 0);
        let engine = ArgmaxEngine::new(election(250, classes, samples), noise).expect("a plan");
        let mut rng = ChaCha20Rng::seed_from_u64(classes as u64);
        let keys = engine.generate_keys(&mut rng).expect("keys");
        let range = engine.plan().range() as i64;
        let mut done = 0;
        while done < samples {
            let batch = engine.batch(0).len().min(samples - done);
            let mut counts = gaps(classes, batch, range, &mut rng);
            counts.resize(engine.batch(0).len() * classes, 0);
            let found = labels_of(&engine, &keys, &counts, &mut rng);
            assert_eq!(found, expected(&counts, classes), "{classes} classes");
            done += batch;
            println!("{classes} classes: {done} samples right");
        }
    }
}
