//! Labels equal those of the operator in the clear, sample by sample.

use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use shield::Seed;
use shield::backend::Backend;
use shield::backend::suite::{self, Case};

use super::shape;
use crate::leveled::LeveledBackend;

fn check(case: &Case, number: u64) {
    let backend = LeveledBackend::new(case.election.clone()).expect("a plan");
    let mut rng = ChaCha20Rng::seed_from_u64(number);
    let keys = backend.generate_keys(&mut rng).expect("keys");
    let seed = Seed::from_number(number);
    let found = suite::labels(&backend, &keys, &case.votes, &seed, &mut rng);
    assert!(found == case.expected(&seed), "{:?}", case.election);
}

#[test]
fn the_suite_of_all_engines() {
    suite::run(&suite::small_elections(), |e| LeveledBackend::new(e.clone()));
}

#[test]
fn the_papers_polynomial() {
    check(&Case::new(shape(30, 10, 3, "8X^4+6X^3+4X^2+X"), 1), 1);
}
