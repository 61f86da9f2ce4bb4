//! The encrypted argmax against the clear one.

use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use shield_core::parameters::Noise;
use shield_core::synthetic;

use super::*;

fn noise(scale: f64, teachers: u32) -> SharedNoise {
    SharedNoise::new(Noise::new(scale).unwrap(), teachers, teachers / 5).unwrap()
}

/// Gaps that are easily got wrong: none, one, a carry into the next digit, the largest there are.
#[test]
fn every_gap() {
    let circuit = Circuit::new(&noise(40.0, 250), Classes::new(3).unwrap()).unwrap();
    let reach = circuit.reach;
    let counts = [
        [7, 7, 7],
        [7, 8, 8],
        [16 - reach, 15 - reach, 15 - reach],
        [255, 256, 255],
        [-reach, -reach, 1 - reach],
        [250 + reach, -reach, 249 + reach],
        [-reach, 250 + reach, 250 + reach],
        [-1, -17, 0],
    ];
    // One ballot holds all of it; the others of the 250 hold nothing.
    let others = std::iter::repeat_n(vec![0; 24], 249);
    let ballots: Vec<Vec<i64>> = std::iter::once(counts.concat()).chain(others).collect();
    let run = circuit.run(&ballots, &mut ChaCha20Rng::seed_from_u64(1));
    assert_eq!(run.labels, run.expected);
}

fn same_as_in_the_clear(teachers: u32, classes: usize, samples: usize, scale: f64) -> usize {
    let mut rng = ChaCha20Rng::seed_from_u64(classes as u64);
    let (votes, _) =
        synthetic::votes(teachers as usize, Classes::new(classes).unwrap(), samples, 1).unwrap();
    let run = run(&noise(scale, teachers), &votes, samples, &mut rng).expect("room");
    assert_eq!(run.labels, run.expected);
    println!(
        "{classes} classes, {teachers} teachers, {} bootstrappings: {:?}, {samples} right",
        run.bootstrappings, run.aggregation
    );
    run.bootstrappings
}

#[test]
fn a_few_samples_as_in_the_clear() {
    // Two digits a count: six bootstrappings find them, and the last of two matches takes two
    // signs, one decision, and two choices.
    assert_eq!(same_as_in_the_clear(20, 2, 2, 1.0), 2 * (2 * 3 + 2 + 1 + 2));
    same_as_in_the_clear(30, 5, 1, 4.0);
    same_as_in_the_clear(9, 17, 1, 0.5);
}

#[test]
#[ignore = "minutes: twenty samples for each number of classes"]
fn twenty_samples() {
    for classes in [2, 10, 16, 100] {
        same_as_in_the_clear(250, classes, 20, 10.0);
    }
}

#[test]
fn wide_noise_and_many_classes_are_refused() {
    let classes = |count| Classes::new(count).unwrap();
    let wide = Circuit::new(&noise(2_000.0, 5), classes(3));
    assert!(matches!(wide, Err(ArgmaxError::TooWide { .. })));
    let many = Circuit::new(&noise(2.0, 5), classes(2_049));
    assert!(matches!(many, Err(ArgmaxError::TooManyClasses { .. })));
}
