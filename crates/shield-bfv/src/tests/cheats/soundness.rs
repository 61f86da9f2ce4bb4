//! The check against its definition, and how often a cheat would get through one repetition.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use shield_core::Seed;
use shield_core::engine::{Engine, Presence};

use super::{Fixture, fixtures, replaced, shape};
use crate::Coding;
use crate::aggregation::{Examination, challenge, voters};
use crate::ring::PLAINTEXT;
use crate::validity::{Validity, Voter, chunk};

/// V of each sample by the definition, from the slots of each ballot.
fn by_definition(
    validity: &Validity<'_>,
    repetition: usize,
    ballots: &[(Voter, Vec<Vec<u64>>)],
) -> Vec<u64> {
    let coefficients = validity.coefficients(repetition);
    let weights = coefficients.weights();
    let voters: Vec<Voter> = ballots.iter().map(|(voter, _)| voter.clone()).collect();
    let expected = coefficients.expected(&weights, &voters);
    let own: Vec<Vec<u64>> = voters.iter().map(|v| coefficients.teacher(v.teacher)).collect();
    let chunk = chunk(validity.layout);
    let of_sample = |sample| {
        let mut sum = expected[validity.places.slots(0, sample)[0] as usize];
        for group in 0..validity.layout.groups() {
            for &place in validity.places.slots(group, sample) {
                let p = place as usize;
                for ((_, planes), own) in ballots.iter().zip(&own) {
                    for (slots, weights) in planes.iter().zip(&weights.planes) {
                        let z = slots[p];
                        let square = weights.squares[p] * (z * z % PLAINTEXT) % PLAINTEXT;
                        let value = weights.values[p] * z % PLAINTEXT;
                        sum += own[p / chunk] * ((square + value) % PLAINTEXT) % PLAINTEXT;
                    }
                }
            }
        }
        sum % PLAINTEXT
    };
    (0..validity.samples).map(of_sample).collect()
}

#[test]
fn the_encrypted_check_is_the_one_defined() {
    let seed = Seed::from_number(8);
    for fixture in fixtures() {
        let Fixture { engine, keys, .. } = &fixture;
        let context = engine.context();
        // A cheat that writes junk everywhere, so that V is something on every sample.
        let samples = engine.batch(0).len();
        let mut rng = ChaCha20Rng::seed_from_u64(9);
        let mut uniform =
            || (0..context.degree()).map(|_| rng.random_range(0..PLAINTEXT)).collect();
        let planes = engine.plan().layout().planes();
        let junk: Vec<Vec<u64>> = (0..planes).map(|_| uniform()).collect();
        let votes: Vec<_> = (0..samples).map(|_| Some(shield_core::Class(0))).collect();
        let mut ballot = engine.encrypt(&keys.public, 0, &votes, &mut rng).expect("a ballot");
        for (ciphertext, junk) in ballot.ciphertexts.iter_mut().zip(&junk) {
            *ciphertext = keys.public.key.zero(context, context.limbs(), &mut rng);
            ciphertext.add_slots(context, junk.clone());
        }
        let ballots = replaced(&fixture, &[(2, ballot)]);
        let aggregation = engine.aggregation(&keys.evaluation, 0, &seed);
        let voters = voters(fixture.case.election.teachers(), &ballots).expect("voters");
        let bound = challenge(&aggregation, &voters, &ballots).expect("a challenge");
        let validity = aggregation.validity(bound);
        // Honest ballots add nothing, whatever the coefficients.
        let alone = [(voters[2].clone(), junk)];
        let examination = Examination::new(&aggregation, &ballots).expect("an examination");
        for (repetition, mut v) in examination.finish().expect("checks").into_iter().enumerate() {
            v.drop_to(context, 1);
            let found = v.decrypt(context, &keys.secret.secret);
            let expected = by_definition(&validity, repetition, &alone);
            for (sample, expected) in expected.into_iter().enumerate() {
                for group in 0..engine.plan().layout().groups() {
                    for &place in engine.places().slots(group, sample) {
                        assert_eq!(found[place as usize], expected, "sample {sample}");
                    }
                }
            }
        }
    }
}

/// A run of slots in every sample, by definition, under many challenges: how often V is zero.
fn passes(
    coding: Coding,
    classes: usize,
    slot: impl Fn(usize, usize) -> u64,
    challenges: u64,
) -> (u64, u64) {
    let fixture = Fixture::with_coding(shape(1, classes, 512, "X"), coding);
    let Fixture { engine, keys, .. } = &fixture;
    let (layout, places) = (engine.plan().layout(), engine.places());
    let samples = engine.batch(0).len();
    let mut planes = vec![vec![0; layout.degree()]; layout.planes()];
    for (plane, slots) in planes.iter_mut().enumerate() {
        for sample in 0..samples {
            for (number, &place) in places.slots(0, sample).iter().enumerate() {
                slots[place as usize] = slot(plane, number);
            }
        }
    }
    let presence = Presence::new((0..samples).map(|_| true));
    let ballot = [(Voter { teacher: 0, presence }, planes)];
    let mut passed = 0;
    for number in 0..challenges {
        let validity = Validity {
            context: engine.context(),
            layout,
            places,
            key: &keys.evaluation,
            challenge: Seed::from_number(number),
            samples,
        };
        let v = by_definition(&validity, 0, &ballot);
        passed += v.iter().filter(|&&v| v == 0).count() as u64;
    }
    (passed, challenges * samples as u64)
}

/// One repetition misses a cheat with probability at most 2/t: 31 of 1,024,000 samples, and 65
/// would be six deviations more. Two repetitions miss one in 2^29.
#[test]
fn one_repetition_misses_at_most_two_in_t() {
    for (coding, challenges) in
        [(Coding::OneHot, 2_000), (Coding::PackedBits, 1_000), (Coding::BitsAcross, 1_000)]
    {
        let minus = |_, slot: usize| if slot == 0 { PLAINTEXT - 1 } else { 0 };
        let (passed, tried) = passes(coding, 10, minus, challenges);
        assert!(tried > 500_000 && (1..65).contains(&passed), "{coding}: {passed} of {tried}");
    }
}

/// Where classes are in bits, the sum rule does not hold, and every slot is a bit all the same.
#[test]
fn codings_in_bits_ask_for_bits_alone() {
    let two_ones = |_, slot: usize| u64::from(slot == 1 || slot == 4);
    let (passed, tried) = passes(Coding::PackedBits, 300, two_ones, 4);
    assert_eq!(passed, tried, "two ones are a code");
    let (passed, _) = passes(Coding::OneHot, 10, two_ones, 4);
    assert!(passed < 5, "and no one-hot vote");
    let (passed, _) = passes(Coding::PackedBits, 10, two_ones, 4);
    assert!(passed < 5, "4 of 8 slots are copies of the others");
    for wrong in [2, PLAINTEXT - 1] {
        let slot = |_, slot: usize| if slot == 1 { wrong } else { 0 };
        let (passed, _) = passes(Coding::PackedBits, 300, slot, 4);
        assert!(passed < 5, "{wrong} is no bit");
        let plane = |plane, _| if plane == 3 { wrong } else { 0 };
        let (passed, _) = passes(Coding::BitsAcross, 10, plane, 4);
        assert!(passed < 5, "{wrong} is no bit");
    }
    let (passed, _) = passes(Coding::PackedBits, 300, |_, slot| u64::from(slot == 12), 4);
    assert!(passed < 5, "padding is no bit of the code");
}
