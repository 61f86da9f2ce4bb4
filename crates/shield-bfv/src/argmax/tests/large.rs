//! The real rings: many samples, and what they take.

use super::*;
use shield::backend::BackendBytes;

/// Processor seconds of this process, all threads.
fn cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("a process");
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |i: usize| fields[i].parse::<f64>().expect("ticks");
    (ticks(11) + ticks(12)) / 100.0
}

#[test]
#[ignore = "two minutes: ten thousand samples in the real ring"]
fn ten_thousand_samples_as_in_the_clear() {
    for (classes, samples) in [(2, 6_000), (10, 4_096), (32, 1_024)] {
        let noise = skellam(20.0, 250, 0);
        let backend = ArgmaxBackend::new(election(250, classes, samples), noise).expect("a plan");
        let mut rng = ChaCha20Rng::seed_from_u64(classes as u64);
        let keys = backend.generate_keys(&mut rng).expect("keys");
        let range = backend.plan().range() as i64;
        let mut done = 0;
        while done < samples {
            let batch = backend.batch(0).len().min(samples - done);
            let mut counts = gaps(classes, batch, range, &mut rng);
            counts.resize(backend.batch(0).len() * classes, 0);
            let start = cpu();
            let found = labels_of(&backend, &keys, &counts, &mut rng);
            assert_eq!(found, expected(&counts, classes), "{classes} classes");
            done += batch;
            println!("{classes} classes: {done} samples right, {:.1} s", cpu() - start);
        }
    }
}

/// Ballots as bytes, decoded whenever they are opened; a few stand for many.
struct Stored<'a> {
    backend: &'a ArgmaxBackend,
    bytes: Vec<Vec<u8>>,
    key: crate::KeyId,
}

impl BallotBox<BfvBallot> for Stored<'_> {
    fn presence(&self, teacher: u32) -> Result<Presence, BallotBoxError> {
        let bytes = &self.bytes[teacher as usize % self.bytes.len()];
        let samples = self.backend.batch(0).len();
        assert!(!bytes.is_empty());
        Ok(Presence::new((0..samples).map(|_| true)))
    }

    fn open(&self, teacher: u32) -> Result<Cow<'_, BfvBallot>, BallotBoxError> {
        let bytes = &self.bytes[teacher as usize % self.bytes.len()];
        let ballot = self.backend.decode_ballot(bytes, 0, self.key);
        ballot.map(Cow::Owned).map_err(|e| BallotBoxError { teacher, source: e.into() })
    }
}

/// Processor seconds of SHIELD's own aggregation, as a measure of the processor: 512 samples, 10
/// teachers, 10 classes. With AVX-512 it is 0.23 s.
#[test]
#[ignore = "seconds: only to compare with"]
fn what_a_batch_of_shield_takes() {
    let shape = crate::tests::shape(10, 10, 512, "8X^4+6X^3+4X^2+X");
    let fixture = crate::tests::Fixture::new(shape, crate::ReleaseMode::Reveal);
    let crate::tests::Fixture { backend, keys, ballots, .. } = &fixture;
    for _ in 0..2 {
        let start = cpu();
        let seed = Seed::from_number(1);
        backend.aggregate(&keys.evaluation, 0, ballots, &seed).expect("a release");
        println!("SHIELD, 512 samples, 10 teachers: {:.2} s", cpu() - start);
    }
}

#[test]
#[ignore = "a minute: what a batch takes, from stored ballots to the flooded release"]
fn what_a_batch_takes() {
    for samples in [2_048, 512, 100, 1] {
        let noise = skellam(28.0, 250, 0);
        let backend = ArgmaxBackend::new(election(250, 10, samples), noise).expect("a plan");
        let plan = backend.plan();
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let keys = backend.generate_keys(&mut rng).expect("keys");
        // Ten ballots stand for 250: each is opened 25 times.
        let mut sums = vec![0_i64; samples * 10];
        let start = cpu();
        let bytes: Vec<Vec<u8>> = (0..10)
            .map(|_| {
                let numbers: Vec<i64> = (0..sums.len())
                    .map(|i| i64::from(rng.random_ratio(1, 4)) + i64::from(i % 10 == 3) / 2)
                    .collect();
                sums.iter_mut().zip(&numbers).for_each(|(sum, number)| *sum += 25 * number);
                backend.encode_ballot(&backend.encrypt_numbers(&keys.public, 0, &numbers, &mut rng))
            })
            .collect();
        let encrypt = (cpu() - start) / 10.0;
        let ballots = Stored { backend: &backend, bytes, key: keys.public.id() };
        let seed = Seed::from_number(1);
        let aggregation = backend.aggregation(&keys.evaluation, 0, &seed);
        let start = cpu();
        let tally = aggregation.tally(&ballots).expect("a sum");
        let opened = cpu() - start;
        let differences = aggregation.differences(&tally);
        let expanded = cpu() - start - opened;
        drop(differences);
        let start = cpu();
        let release = backend.aggregate(&keys.evaluation, 0, &ballots, &seed).expect("a release");
        let total = cpu() - start;
        println!(
            "{samples} samples: {:.2} ms per sample ({total:.2} s; open and add {opened:.2} s, \
             differences {expanded:.2} s; planned {:.2} s), N {} limbs {} start {} wins {} range \
             {} babies {} evaluations {} products {} relinearisations {} rotations {}; margin \
             {:.1}, failure 2^-{:.1}, ballot {} bytes in {:.3} s, key {} bytes, result {} bytes",
            total / samples as f64 * 1e3,
            plan.seconds_per_batch(),
            plan.ring_degree(),
            plan.moduli_bits().len(),
            plan.start(),
            plan.wins(),
            plan.range(),
            plan.blocks().babies,
            plan.evaluations(),
            plan.products(),
            plan.relinearisations(),
            plan.rotations(),
            plan.noise_margin_bits(),
            plan.failure_bits(),
            plan.ballot_bytes(),
            encrypt,
            plan.evaluation_key_bytes(),
            plan.result_bytes(),
        );
        let found = backend.decrypt(&keys.secret, 0, &release).expect("labels");
        assert_eq!(found, expected(&sums, 10));
    }
}
