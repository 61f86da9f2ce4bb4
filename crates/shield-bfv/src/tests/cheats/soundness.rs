//! The check against its definition, and how often a cheat would get through one repetition.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use shield::Seed;
use shield::backend::{Backend, Presence};

use super::{Fixture, fixtures, replaced, shape};
use crate::ReleaseMode;
use crate::ring::PLAINTEXT;
use crate::validity::{Coding, Examination, Validity, Voter, challenge, voters};

/// V of each sample by the definition, from the slots of each ballot.
fn by_definition(
    validity: &Validity<'_>,
    repetition: usize,
    ballots: &[(Voter, Vec<u64>)],
) -> Vec<u64> {
    let coefficients = validity.coefficients(repetition);
    let weights = coefficients.weights();
    let voters: Vec<Voter> = ballots.iter().map(|(voter, _)| voter.clone()).collect();
    let expected = coefficients.expected(&weights, &voters);
    let own: Vec<Vec<u64>> = voters.iter().map(|v| coefficients.teacher(v.teacher)).collect();
    let run = validity.layout.run();
    let of_sample = |sample| {
        let mut sum = expected[validity.places.classes(0, sample)[0] as usize];
        for group in 0..validity.layout.groups() {
            for &place in validity.places.classes(group, sample) {
                let p = place as usize;
                for ((_, slots), own) in ballots.iter().zip(&own) {
                    let z = slots[p];
                    let square = weights.squares[p] * (z * z % PLAINTEXT) % PLAINTEXT;
                    let value = weights.values[p] * z % PLAINTEXT;
                    sum += own[p / run] * ((square + value) % PLAINTEXT) % PLAINTEXT;
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
        let Fixture { backend, keys, .. } = &fixture;
        let context = backend.context();
        // A cheat that writes junk everywhere, so that V is something on every sample.
        let samples = backend.batch(0).len();
        let mut rng = ChaCha20Rng::seed_from_u64(9);
        let junk: Vec<u64> =
            (0..context.degree()).map(|_| rng.random_range(0..PLAINTEXT)).collect();
        let votes: Vec<_> = (0..samples).map(|_| Some(shield::Class(0))).collect();
        let mut ballot = backend.encrypt(&keys.public, 0, &votes, &mut rng).expect("a ballot");
        ballot.ciphertext = keys.public.key.zero(context, context.limbs(), &mut rng);
        ballot.ciphertext.add_slots(context, junk.clone());
        let ballots = replaced(&fixture, &[(2, ballot)]);
        let aggregation = backend.aggregation(&keys.evaluation, 0, &seed);
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
                for group in 0..backend.plan().layout().groups() {
                    for &place in backend.places().classes(group, sample) {
                        assert_eq!(found[place as usize], expected, "sample {sample}");
                    }
                }
            }
        }
    }
}

/// A run of slots in every sample, by definition, under many challenges: how often V is zero.
fn passes(coding: Coding, slot: impl Fn(usize) -> u64, challenges: u64) -> (u64, u64) {
    let fixture = Fixture::new(shape(1, 10, 512, "X"), ReleaseMode::Reveal);
    let Fixture { backend, keys, .. } = &fixture;
    let (layout, places) = (backend.plan().layout(), backend.places());
    let samples = backend.batch(0).len();
    let mut slots = vec![0; layout.degree()];
    for sample in 0..samples {
        for (class, &place) in places.classes(0, sample).iter().enumerate() {
            slots[place as usize] = slot(class);
        }
    }
    let presence = Presence::new((0..samples).map(|_| true));
    let ballot = [(Voter { teacher: 0, presence }, slots)];
    let mut passed = 0;
    for number in 0..challenges {
        let validity = Validity {
            context: backend.context(),
            layout,
            places,
            key: &keys.evaluation,
            coding,
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
    let (passed, tried) =
        passes(Coding::OneHot, |class| if class == 3 { PLAINTEXT - 1 } else { 0 }, 2_000);
    assert!(tried > 1_000_000 && (1..65).contains(&passed), "{passed} of {tried}");
}

/// Where classes are in bits, the sum rule does not hold, and every slot is a bit all the same.
#[test]
fn codings_in_bits_ask_for_bits_alone() {
    let (passed, tried) = passes(Coding::Bits, |slot| u64::from(slot == 1 || slot == 4), 4);
    assert_eq!(passed, tried, "two ones are a code");
    let (passed, _) = passes(Coding::OneHot, |slot| u64::from(slot == 1 || slot == 4), 4);
    assert!(passed < 5, "and no one-hot vote");
    for wrong in [2, PLAINTEXT - 1] {
        let (passed, _) = passes(Coding::Bits, |slot| if slot == 1 { wrong } else { 0 }, 4);
        assert!(passed < 5, "{wrong} is no bit");
    }
    let (passed, _) = passes(Coding::Bits, |slot| u64::from(slot == 12), 4);
    assert!(passed < 5, "padding is no bit of the code");
}
