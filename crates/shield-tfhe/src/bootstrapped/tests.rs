use super::keys;
use super::parameters::{self, torus, turns};
use super::torus::{Lookup, Lwe, Table};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

#[test]
fn noise_is_as_predicted() {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let start = std::time::Instant::now();
    let (secret, public, evaluation) = keys::generate(&mut rng);
    println!("keys {:?}", start.elapsed());
    let start = std::time::Instant::now();
    let fresh = public.encrypt(&[torus(0.125); 2048], 64, &mut rng);
    println!("encrypt {:?}", start.elapsed());
    let var = |xs: &[f64]| xs.iter().map(|x| x * x).sum::<f64>() / xs.len() as f64;
    let errors: Vec<f64> = (0..2048)
        .map(|i| turns(secret.phase(&fresh.number(i)).wrapping_sub(torus(0.125))))
        .collect();
    println!("fresh {:e} predicted {:e}", var(&errors), parameters::encryption_variance());
    let table = Table::new(|x| x);
    let mut lookup = Lookup::new(&evaluation);
    let flat = Table::new(|_| 0.125);
    let start = std::time::Instant::now();
    let mut out = vec![];
    let mut lut = vec![];
    for i in 0..200 {
        let c = fresh.number(i);
        out.push(turns(secret.phase(&lookup.look_up(&flat, &c)).wrapping_sub(torus(0.125))));
        lut.push(turns(secret.phase(&lookup.look_up(&table, &c)).wrapping_sub(torus(0.125))));
    }
    println!("{:?} a lookup", start.elapsed() / 400);
    println!("pbs {:e} predicted {:e}", var(&out), parameters::bootstrap_variance());
    println!(
        "lookup {:e} predicted {:e}, mean {:e}",
        var(&lut),
        parameters::lookup_variance(),
        lut.iter().sum::<f64>() / 200.0
    );
    let _ = Lwe::known(0).times(2);
}

use super::{BootstrappedBackend, Circuit};
use shield::backend::suite::{self, Case, Shape};
use shield::backend::{Backend, MemoryBallotBox};
use shield::{Sampling, Seed};

#[test]
fn quick() {
    for (circuit, classes, polynomial) in [
        (Circuit::Plain, 10, "X^3+2X^2+X"),
        (Circuit::Folded, 10, "X^3+2X^2+X"),
        (Circuit::Plain, 16, "X^2+X"),
        (Circuit::Folded, 100, "X^2+X"),
    ] {
        let shape = Shape {
            teachers: 20,
            classes,
            samples: 4,
            polynomial,
            offset: 1,
            sampling: Sampling::WithReplacement,
            abstentions: 0,
        };
        let case = Case::new(shape, 3);
        let backend = BootstrappedBackend::new(case.election.clone(), circuit).expect("a plan");
        println!("{:?}", backend.plan());
        let mut rng = ChaCha20Rng::seed_from_u64(99);
        let keys = backend.generate_keys(&mut rng).expect("keys");
        let seed = Seed::from_number(1);
        let start = std::time::Instant::now();
        let found = suite::labels(&backend, &keys, &case.votes, &seed, &mut rng);
        println!("{:?}: {found:?} {:?}", start.elapsed(), case.expected(&seed));
        assert_eq!(found, case.expected(&seed));
    }
    let _ = MemoryBallotBox::<super::BootstrappedBallot>::new(0, vec![]);
}
