//! The noise bound against the measured noise, stage by stage.

use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use shield_core::draws::Draws;
use shield_core::engine::suite::{Case, Shape};
use shield_core::engine::{BallotBox, Engine, urns};
use shield_core::{Class, Seed};
use tfhe::core_crypto::prelude::{DecompositionBaseLog, DecompositionLevelCount, SignedDecomposer};

use super::{Fixture, shape};
use crate::leveled::ballot::{self, Ready};
use crate::leveled::flooding::STATISTICAL_BITS;
use crate::leveled::ring::{DEGREE, Gadget, Glwe, Ring, add, even, glwe, zero};
use crate::leveled::sampling;

/// log2 of the root of the mean square.
fn deviation(errors: &[u64]) -> f64 {
    let squares = errors.iter().map(|&e| (e.cast_signed() as f64).powi(2));
    (squares.sum::<f64>() / errors.len() as f64).log2() / 2.0
}

/// A tenth of a bit above is allowed: the variance is bounded, and this is one measurement of it.
fn check(what: &str, found: f64, bound: f64, slack: f64) {
    println!("{what:>30}: measured {found:5.1}, bound {bound:5.1}");
    assert!(found <= bound + 0.1, "{what}: {found} bits, bound {bound}");
    assert!(found > bound - slack, "{what}: a bound of {bound} says nothing about {found}");
}

fn phases(fixture: &Fixture, c: &Glwe) -> Vec<u64> {
    let (mask, body) = c.as_ref().split_at(DEGREE);
    fixture.keys.secret.phases(mask, body)
}

/// What the rows of a vote should encrypt: the message's coefficients for each row.
fn row_errors(fixture: &Fixture, class: Class) -> [Vec<u64>; 2] {
    let Fixture { engine, keys, .. } = fixture;
    let (plan, gadget) = (engine.plan(), engine.plan().gadget());
    let mut ring = Ring::new();
    let mut rng = ChaCha20Rng::seed_from_u64(11);
    let rows = ballot::encrypt(plan, &keys.public.zero, class, &mut ring, &mut rng);
    let mut errors = [Vec::new(), Vec::new()];
    for (i, row) in rows.chunks_exact(2 * DEGREE).enumerate() {
        let bit = i / (2 * gadget.levels);
        let level = gadget.levels - i % (2 * gadget.levels) / 2;
        let message = u64::from(class.0 >> bit & 1).wrapping_mul(gadget.weight(level));
        let mut phase = phases(fixture, &glwe(row.to_vec()));
        if i % 2 == 0 {
            for (word, s) in phase.iter_mut().zip(keys.secret.secret.iter()) {
                *word = word.wrapping_add(message.wrapping_mul(*s));
            }
        } else {
            phase[0] = phase[0].wrapping_sub(message);
        }
        errors[i % 2].extend(phase);
    }
    errors
}

#[test]
fn measured_noise_stays_below_the_bound() {
    for (classes, polynomial) in [(10, "2X^4+2X^3+X"), (2, "X^3+X^2"), (100, "X^2+X")] {
        println!("{classes} classes, {polynomial}");
        // Without dummies, so that every round draws teachers.
        let fixture = Fixture::new(Shape { offset: 0, ..shape(25, classes, 2, polynomial) });
        let Fixture { case, engine, keys, ballots } = &fixture;
        let (plan, stages) = (engine.plan(), engine.plan().stages());
        let bits = |variance: f64| variance.log2() / 2.0;
        let [mask, body] = row_errors(&fixture, Class(1));
        check("row of the mask", deviation(&mask), bits(stages.row), 1.0);
        check("row of the body", deviation(&body), bits(stages.row), 1.0);

        // A product with an encrypted one, and with an encrypted zero.
        let mut ring = Ring::new();
        let mut rng = ChaCha20Rng::seed_from_u64(12);
        for class in [0, 1] {
            let ballot = engine.encrypt(&keys.public, 0, &[Some(Class(class))], &mut rng);
            let ballot = ballot.expect("a ballot");
            let vote: &Ready = ballot.ready(plan, &mut ring);
            let mut words = sampling::uniform(&mut rng);
            words.extend(sampling::uniform(&mut rng));
            let y = glwe(words);
            let product = ring.times(&vote.bits[0], &y);
            let before = phases(&fixture, &y);
            let errors: Vec<u64> = phases(&fixture, &product)
                .iter()
                .zip(&before)
                .map(|(after, before)| after.wrapping_sub(before.wrapping_mul(u64::from(class))))
                .collect();
            check("product", deviation(&errors), bits(stages.product), 1.0);
        }

        // What is released, before flooding: all coefficients but those of the label hold noise
        // alone, and so do those once the label is taken off.
        let mut errors = Vec::new();
        for number in 0..6 {
            let seed = Seed::from_number(number);
            let urns = urns(&case.election, 1, ballots).expect("urns");
            let draws = Draws::seeded(case.election.setting(), &urns[0], &seed, 0);
            let out = engine.elect(&keys.evaluation, 0, ballots, &draws, &mut ring);
            let mut phase = phases(&fixture, &out.expect("a result"));
            for word in &mut phase[..plan.released()] {
                *word = word.wrapping_sub(word.wrapping_add(1 << 62) & 1 << 63);
            }
            errors.extend(phase);
        }
        check("release", deviation(&errors), bits(stages.released), 4.0);
    }
}

/// What the proof of the flooding stands on: rounding favours no side on the words that really
/// enter products. They are multiples of powers of two, so words half way are not rare.
#[test]
fn words_half_way_go_up_as_often_as_down() {
    let fixture = Fixture::new(shape(40, 10, 1, "X^2+X"));
    let Fixture { engine, ballots, .. } = &fixture;
    let left_out = engine.plan().gadget().left_out();
    let mut ring = Ring::new();
    let (mut halves, mut ups) = (0_u32, 0_u32);
    for first in 0..40 {
        let [first, second] = [first, 39 - first].map(|teacher| ballots.open(teacher).unwrap());
        let first = first.ready(engine.plan(), &mut ring);
        let second = second.ready(engine.plan(), &mut ring);
        // A class, and what is left of it after products.
        let mut input = first.class.clone();
        for bit in second.bits.iter().chain(&first.bits) {
            for &word in input.as_ref() {
                let rest = word.wrapping_sub(even(word, left_out)).cast_signed();
                halves += u32::from(rest.unsigned_abs() == 1 << (left_out - 1));
                ups += u32::from(rest == -1 << (left_out - 1));
            }
            input = ring.times(bit, &input);
            add(&mut input, &first.class);
        }
    }
    println!("{halves} words half way, {ups} of them rounded up");
    assert!(halves > 500, "these are not the words that this is about: {halves}");
    let (halves, ups) = (f64::from(halves), f64::from(ups));
    assert!((ups - halves / 2.0).abs() < 2.5 * halves.sqrt(), "{ups} of {halves} go up");
}

#[test]
fn a_class_is_as_noisy_as_the_bound_says_where_it_is_read() {
    let fixture = Fixture::new(shape(60, 10, 1, "X^2+X"));
    let Fixture { engine, keys, ballots, .. } = &fixture;
    let plan = engine.plan();
    let mut ring = Ring::new();
    let mut errors = Vec::new();
    for teacher in 0..60 {
        let ballot = ballots.open(teacher).unwrap();
        let class = &ballot.ready(plan, &mut ring).class;
        let (mask, body) = class.as_ref().split_at(DEGREE);
        let phases = keys.secret.phases(mask, &body[..plan.bits()]);
        errors.extend(phases.iter().map(|x| x.wrapping_sub(x.wrapping_add(1 << 62) & 1 << 63)));
    }
    check("class", deviation(&errors), plan.stages().class.log2() / 2.0, 1.0);
}

#[test]
fn the_transform_is_as_exact_as_the_bound_says() {
    for gadget in [Gadget { levels: 4, base_log: 9 }, Gadget { levels: 2, base_log: 16 }] {
        let mut ring = Ring::new();
        let mut rng = ChaCha20Rng::seed_from_u64(3);
        let rows: Vec<u64> =
            (0..gadget.words() / DEGREE).flat_map(|_| sampling::uniform(&mut rng)).collect();
        let input: Vec<u64> = (0..2).flat_map(|_| sampling::uniform(&mut rng)).collect();
        let bit = ring.transform(gadget, &rows);
        let found = ring.times(&bit, &glwe(input.clone()));
        // The same with integers: digits times rows.
        let decomposer = SignedDecomposer::<u64>::new(
            DecompositionBaseLog(gadget.base_log),
            DecompositionLevelCount(gadget.levels),
        );
        let mut exact = zero();
        for (i, word) in input.iter().enumerate() {
            let (part, shift) = (i / DEGREE, i % DEGREE);
            // Last level first, as the rows are.
            for (level, term) in decomposer.decompose(*word).enumerate() {
                let row = &rows[(2 * level + part) * 2 * DEGREE..][..2 * DEGREE];
                for (out, poly) in
                    exact.as_mut().chunks_exact_mut(DEGREE).zip(row.chunks_exact(DEGREE))
                {
                    for (j, r) in poly.iter().enumerate() {
                        let product = r.wrapping_mul(term.value());
                        if j + shift < DEGREE {
                            out[j + shift] = out[j + shift].wrapping_add(product);
                        } else {
                            let place = j + shift - DEGREE;
                            out[place] = out[place].wrapping_sub(product);
                        }
                    }
                }
            }
        }
        let errors: Vec<u64> =
            found.as_ref().iter().zip(exact.as_ref()).map(|(a, b)| a.wrapping_sub(*b)).collect();
        let base = 2_f64.powi(gadget.base_log.try_into().expect("small"));
        let terms = (2 * gadget.levels * DEGREE) as f64 * (base * base + 2.0) / 144.0;
        check("transform", deviation(&errors), 64.0 - 50.5 + terms.log2() / 2.0, 4.0);
    }
}

#[test]
fn flooding_is_as_wide_as_the_theorem_takes_it() {
    // The phases of many releases of one label: as wide as the flooding says, and never out of the
    // label's half.
    let fixture = Fixture::new(shape(9, 10, 1, "X^2+X"));
    let Fixture { engine, keys, ballots, case } = &fixture;
    let mut spread = Vec::new();
    for number in 0..40 {
        let seed = Seed::from_number(number);
        let release = engine.aggregate(&keys.evaluation, 0, ballots, &seed).expect("a release");
        let label = engine.decrypt(&keys.secret, 0, &release).expect("a label")[0];
        assert_eq!(label, case.expected(&seed)[0]);
        let class = label.expect("a class").0;
        for (bit, phase) in release.phases(&keys.secret).iter().enumerate() {
            let error = phase.wrapping_sub(u64::from(class >> bit & 1) << 63).cast_signed();
            spread.push(error as f64 / 2_f64.powi(62));
        }
    }
    assert!(spread.iter().all(|x| x.abs() < 1.0));
    let variance = spread.iter().map(|x| x * x).sum::<f64>() / spread.len() as f64;
    // A triangle's sixth: five deviations of 160 draws.
    assert!((variance - 1.0 / 6.0).abs() < 5.0 * (0.039 / 160_f64).sqrt(), "{variance}");
}

#[test]
fn a_case_of_each_kind_has_a_plan() {
    for (classes, polynomial) in
        [(2, "X"), (1_000, "8X^4+6X^3+4X^2+X"), (10, "30X^4+12X^3+6X^2+X"), (16, "20X^8")]
    {
        let case = Case::new(shape(3, classes, 1, polynomial), 1);
        let plan = crate::leveled::Plan::new(&case.election).expect("a plan");
        println!(
            "{classes} {polynomial}: {} levels of {} bits, distance 2^-{:.1}, failure 2^{:.0}",
            plan.levels(),
            plan.base_log(),
            plan.statistical_bits(),
            plan.failure_log2()
        );
        assert!(plan.statistical_bits() >= f64::from(STATISTICAL_BITS));
        assert!(plan.failure_log2() <= -64.0 && plan.noise_margin_bits() > 0.0);
    }
}
