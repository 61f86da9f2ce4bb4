//! Aggregation is a pure function: the same bytes from any number of threads; the same work for any
//! votes.

use rand::SeedableRng;
use shield_core::Seed;
use shield_core::engine::{Encoding, Engine};

use super::{Fixture, shape};
use crate::ring::kernels_run;

fn bytes(fixture: &Fixture, threads: usize, seed: u64) -> Vec<u8> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    let aggregate = || {
        let seed = Seed::from_number(seed);
        fixture.engine.aggregate(&fixture.keys.evaluation, 0, &fixture.ballots, &seed)
    };
    let release = pool.install(aggregate).expect("a release");
    fixture.engine.encode_release(&release)
}

#[test]
fn the_same_bytes_whatever_the_number_of_threads() {
    let fixture = Fixture::new(shape(60, 10, 100, "2X^3+2X^2+X"));
    let one = bytes(&fixture, 1, 3);
    assert!(one == bytes(&fixture, 1, 3), "a second run");
    assert!(one == bytes(&fixture, 2, 3), "two threads");
    assert!(one == bytes(&fixture, 5, 3), "five threads");
    assert!(one != bytes(&fixture, 1, 4), "another seed");
}

/// Kernels that one thread runs for an aggregation.
fn work(fixture: &Fixture) -> u64 {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("threads");
    pool.install(|| {
        let before = kernels_run();
        let seed = Seed::from_number(1);
        let release =
            fixture.engine.aggregate(&fixture.keys.evaluation, 0, &fixture.ballots, &seed);
        assert!(release.is_ok());
        kernels_run() - before
    })
}

#[test]
fn the_work_does_not_depend_on_the_votes() {
    let mixed = Fixture::new(shape(30, 10, 40, "2X^3+X"));
    let mut unanimous = Fixture::new(shape(30, 10, 40, "2X^3+X"));
    let votes = vec![Some(shield_core::Class(3)); 40];
    let mut rng = rand::rngs::StdRng::from_os_rng();
    let ballot = unanimous.engine.encrypt(&unanimous.keys.public, 0, &votes, &mut rng);
    let ballot = ballot.expect("a ballot");
    unanimous.ballots = shield_core::engine::MemoryBallotBox::new(40, vec![Some(ballot); 30]);
    assert_eq!(work(&mixed), work(&unanimous));
}
