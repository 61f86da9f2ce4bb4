//! A noisy argmax of proven ballots.

use super::*;
use crate::argmax::BallotKind;
use crate::ballot::{self, Maker};
use crate::noise::Lengths;
use crate::proof::Opening;
use crate::scheme::{Ciphertext, Randomness};
use crate::tests::noise::measured;
use shield_core::engine::{BallotError, Encoding};

const TEACHERS: u32 = 5;
const SAMPLES: usize = 40;

fn proven() -> ArgmaxEngine {
    let election = election(TEACHERS, 4, SAMPLES);
    let noise = skellam(2.0, TEACHERS, 0);
    let (votes, rings) = ((Sensitivity::Vote, None), Rings::Tiny(1_024));
    let (kind, lengths) = (BallotKind::Checked, Lengths::Proven);
    ArgmaxEngine::held_by(election, noise, votes, rings, None, kind, lengths).expect("a plan")
}

/// Ballots of some numbers each, through bytes.
fn ballots(
    engine: &ArgmaxEngine,
    keys: &KeysOf<ArgmaxEngine>,
    numbers: &[Vec<i64>],
    rng: &mut ChaCha20Rng,
) -> Vec<BfvBallot> {
    let mut ballot = |(teacher, own): (u32, &Vec<i64>)| {
        let ballot = engine.prove_numbers(&keys.public, 0, teacher, own, rng);
        let bytes = engine.encode_ballot(&ballot);
        engine.decode_ballot(&bytes, 0, keys.public.id).expect("a ballot")
    };
    (0..).zip(numbers).map(&mut ballot).collect()
}

#[test]
fn proven_numbers_as_in_the_clear_and_no_others() {
    let engine = proven();
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    let keys = engine.generate_keys(&mut rng).expect("keys");
    let numbers: Vec<Vec<i64>> = (0..TEACHERS)
        .map(|_| (0..4 * SAMPLES).map(|_| rng.random_range(-4..=4)).collect())
        .collect();
    let own = ballots(&engine, &keys, &numbers, &mut rng);
    let sums: Vec<i64> = (0..4 * SAMPLES).map(|i| numbers.iter().map(|own| own[i]).sum()).collect();
    let aggregate = |ballots: Vec<BfvBallot>| {
        let ballots = MemoryBallotBox::new(SAMPLES, ballots.into_iter().map(Some).collect());
        engine.aggregate(&keys.evaluation, 0, &ballots, &Seed::from_number(1))
    };
    let release = aggregate(own.clone()).expect("a release");
    assert_eq!(engine.decrypt(&keys.secret, 0, &release).unwrap(), expected(&sums, 4));
    let refused = |ballot: BfvBallot| {
        let mut ballots = own.clone();
        ballots[3] = ballot;
        match aggregate(ballots) {
            Err(ArgmaxError::Ballot(BallotError::Unproven { teacher })) => teacher == 3,
            _ => false,
        }
    };
    assert!(refused(own[0].clone()), "another's");
    let context = &engine.context;
    let mut long = own[3].clone();
    let error: Vec<i64> = (0..1_024).map(|_| rng.random_range(-(1 << 40)..=1 << 40)).collect();
    long.ciphertexts[0].add_scaled(context, &context.small(&error, context.limbs()));
    assert!(refused(long), "an error of 2^40");
    let mut disguised = own[0].clone();
    let zero = keys.public.key.zero(context, context.limbs(), &mut rng);
    disguised.ciphertexts[0].add(context, &zero);
    assert!(refused(disguised.clone()), "a copy in disguise");
    let (_, guess) = Opening::encrypt(context, &keys.public.key, vec![0; 1_024], &mut rng);
    let maker = Maker { binding: engine.binding(), teacher: 3 };
    let best = ballot::prove(context, &keys.public.key, maker, disguised, &[guess], &mut rng);
    assert!(refused(best), "and with the best proof there is");
}

#[test]
fn votes_need_a_name() {
    let engine = proven();
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let keys = engine.generate_keys(&mut rng).expect("keys");
    let votes = vec![Some(Class(1)); SAMPLES];
    let found = engine.encrypt(&keys.public, 0, &votes, &mut rng);
    assert!(matches!(found, Err(ArgmaxError::Ballot(BallotError::Unnamed))));
    let ballot = engine.encrypt_as(&keys.public, 0, 2, &votes, &mut rng).expect("a ballot");
    let maker = Maker { binding: engine.binding(), teacher: 2 };
    assert!(ballot::is_proven(&engine.context, &keys.public.key, maker, &ballot));
    assert!(engine.counts().is_none(), "counts are not proven");
}

/// All ballots as long as a proof leaves room for.
#[test]
fn the_longest_ballots_that_pass_are_within_the_plan() {
    let engine = proven();
    let mut rng = ChaCha20Rng::seed_from_u64(4);
    let keys = engine.generate_keys(&mut rng).expect("keys");
    let (context, stages) = (&engine.context, engine.plan().stages());
    let mut sum = Ciphertext::zero(context, context.limbs());
    for _ in 0..TEACHERS {
        let mut long = |bits: u32| {
            let width = 1_024_i64 << bits;
            zeroize::Zeroizing::new((0..1_024).map(|_| rng.random_range(-width..=width)).collect())
        };
        let randomness = Randomness { u: long(21), e: [long(25), long(25)] };
        sum.add(context, &keys.public.key.zero_from(context, context.limbs(), &randomness));
    }
    let found = measured(context, &keys.secret.secret, &sum);
    println!("sum: 2^{found:.1}, bound 2^{:.1}", stages.tally.bits());
    assert!(found <= stages.tally.bits() && found > stages.tally.bits() - 20.0);
    let seed = Seed::from_number(1);
    let aggregation = engine.aggregation(&keys.evaluation, 0, &seed);
    let counts = gaps(4, SAMPLES, engine.plan().range() as i64, &mut rng);
    let own = engine.encrypt_numbers(&keys.public, 0, &counts, &mut rng);
    sum.add(context, &own.ciphertexts[0]);
    let signs = aggregation.signs(aggregation.differences(&sum));
    let mut released = aggregation.cover(aggregation.reveal(&signs, &seed), &seed);
    released.drop_to(context, 1);
    let slots = released.decrypt(context, &keys.secret.secret);
    let labels: Vec<Label> = engine
        .class_slots(&slots, SAMPLES)
        .into_iter()
        .map(|slots| slots.iter().position(|&slot| slot == 0).map(|class| Class(class as u16)))
        .collect();
    assert_eq!(labels, expected(&counts, 4));
}
