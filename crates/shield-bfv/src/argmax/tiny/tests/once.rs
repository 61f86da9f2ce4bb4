//! The rule that a secret hides one ballot, and what follows where it is broken.

use super::*;
use crate::argmax::tiny::teacher;
use crate::ring::PLAINTEXT;
use statrs::distribution::{ChiSquared, ContinuousCDF};

const LEVEL: f64 = 1e-6;

/// The p-value of residues being uniform, in 64 bins; the last residue is left to the last bin.
fn p_value(residues: impl Iterator<Item = u64>) -> f64 {
    let mut bins = [0.0_f64; 64];
    residues.for_each(|x| bins[(x * 64 / PLAINTEXT) as usize] += 1.0);
    let expected = bins.iter().sum::<f64>() / 64.0;
    let statistic = bins.iter().map(|n| (n - expected).powi(2) / expected).sum();
    ChiSquared::new(63.0).unwrap().sf(statistic)
}

/// a - b modulo t.
fn difference<'a>(a: &'a [u32], b: &'a [u32]) -> impl Iterator<Item = u64> + 'a {
    a.iter().zip(b).map(|(&a, &b)| (u64::from(a) + PLAINTEXT - u64::from(b)) % PLAINTEXT)
}

/// An engine, its keys, and two sets of numbers.
fn fixture() -> (TinyEngine, KeysOf<TinyEngine>, [Vec<i64>; 2]) {
    let engine = tiny(election(5, 10, 56), skellam(3.0, 5, 1), None);
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let keys = engine.generate_keys(&mut rng).expect("keys");
    let count = engine.batch(0).len() * 10;
    let numbers = [0, 1].map(|_| (0..count).map(|_| rng.random_range(-3..=3)).collect());
    (engine, keys, numbers)
}

#[test]
fn one_secret_for_two_ballots_shows_the_difference_of_the_votes() {
    // What the rule is for: this is what a server would see.
    let (engine, keys, [first, second]) = fixture();
    let context = engine.context(0, keys.public.id);
    let secret = teacher::secret(context, engine.grid, &[1; 32]);
    let hide =
        |numbers: &[i64]| teacher::hide(context, engine.grid, &engine.points, &secret, numbers);
    let (a, b) = (hide(&first), hide(&second));
    let shown = difference(&a, &b).map(|x| {
        let x = x.cast_signed();
        if x > 32_768 { x - 65_537 } else { x }
    });
    assert!(shown.eq(first.iter().zip(&second).map(|(a, b)| a - b)));
}

#[test]
fn a_generator_that_repeats_itself_breaks_nothing() {
    let (engine, keys, [first, second]) = fixture();
    let hide = |numbers: &[i64]| engine.hide(&keys.public, 0, numbers, &[9; 32]);
    let (a, again, b) = (hide(&first), hide(&first), hide(&second));
    assert_eq!((&a.capsule, &a.residues), (&again.capsule, &again.residues), "the same ballot");
    assert_ne!(a.capsule, b.capsule, "other numbers, another secret");
    assert!(p_value(difference(&a.residues, &b.residues)) > LEVEL);
    // One number is enough.
    let mut nearly = first.clone();
    nearly[17] += 1;
    let c = hide(&nearly);
    assert_ne!(a.capsule, c.capsule);
    assert!(p_value(difference(&a.residues, &c.residues)) > LEVEL);
}

#[test]
fn nothing_is_shared_between_batches_elections_and_keys() {
    let (engine, keys, [first, _]) = fixture();
    let other_keys = engine.generate_keys(&mut ChaCha20Rng::seed_from_u64(2)).unwrap();
    // The same but for what its teachers were shown.
    let shown = engine.election().clone().bound_to([1; 32]);
    let elsewhere = tiny(shown, skellam(3.0, 5, 1), None);
    let here = engine.context(0, keys.public.id);
    let others = [
        engine.context(1, keys.public.id),
        engine.context(0, other_keys.public.id),
        elsewhere.context(0, keys.public.id),
    ];
    let row = |context: teacher::Context| {
        let mut row = vec![0; engine.grid.module().dimension()];
        context.row(0, &mut row);
        row
    };
    let [seed, fresh] = [[4; 32], [5; 32]];
    for other in others {
        assert_ne!(row(here), row(other), "public polynomials");
        assert_ne!(here.coins(&fresh, &first), other.coins(&fresh, &first), "coins");
        let [a, b] = [here, other].map(|context| teacher::secret(context, engine.grid, &seed));
        assert_ne!(a, b, "secrets of one seed");
        // Should two ballots of one secret ever get out, they hide each other's numbers.
        let hide = |context| teacher::hide(context, engine.grid, &engine.points, &a, &first);
        assert!(p_value(difference(&hide(here), &hide(other))) > LEVEL);
    }
}

#[test]
fn ballots_look_uniform_unless_the_secret_is_left_out() {
    let (engine, keys, [first, _]) = fixture();
    let hidden = engine.hide(&keys.public, 0, &first, &[3; 32]);
    assert!(p_value(hidden.residues.iter().map(|&x| u64::from(x))) > LEVEL);
    let context = engine.context(0, keys.public.id);
    let none = vec![0; engine.grid.module().dimension()];
    let bare = teacher::hide(context, engine.grid, &engine.points, &none, &first);
    assert!(p_value(bare.iter().map(|&x| u64::from(x))) < LEVEL);
}
