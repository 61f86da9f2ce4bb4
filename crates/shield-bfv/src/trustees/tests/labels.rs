//! Labels are those in the clear, for every number of trustees; with one share less, none are.

use shield_core::engine::noisy_argmax::argmax as winner;
use shield_core::engine::{Engine, Revealed};
use shield_core::{Label, Seed};

use super::*;
use crate::ring::Poly;
use crate::scheme::Secret;
use crate::tests::noise::measured;

const ALL: [(u32, u32); 8] = [(1, 1), (2, 2), (3, 3), (5, 5), (10, 10), (2, 3), (3, 5), (6, 10)];

fn most_votes(case: &Case) -> Vec<Label> {
    let leader = |sample| {
        let mut counts = [0_i64; 4];
        case.votes.sample(sample).flatten().for_each(|class| counts[class.index()] += 1);
        Some(winner(&counts))
    };
    (0..case.votes.samples()).map(leader).collect()
}

/// The last openers' shares, one of which nobody has: it is filled in with nothing.
fn one_less<E: Jointly<Ballot = BfvBallot>>(run: &Run<E>, set: &[usize]) -> Revealed {
    let mut openings =
        run.together.openers.open(&run.engine, 0, &run.release, set).expect("openings");
    let opened =
        opening::Opened::new(&run.engine, run.together.keys.id(), 0, &run.release).expect("one");
    let bits = set.iter().fold(0, |bits, trustee| bits | 1 << trustee);
    let nothing =
        vec![
            Poly::<crate::ring::Coefficients>::zero(parts::context(&run.engine).degree(), 1);
            opened.plan.ciphertexts
        ];
    openings[0] = opened.with_format(1, |format| {
        format.write(opened.made_for(), set[0], &opened.bound(bits), &nothing)
    });
    run.combine(set, &openings).expect("a reading")
}

fn check<E: Jointly<Ballot = BfvBallot>>(engine: E, case: &Case, expected: &[Label], seed: &Seed) {
    let trustees = parts::opening(&engine).expect("trustees").trustees;
    let run = Run::new(engine, case, seed);
    let (t, n) = (trustees.threshold(), trustees.count());
    for set in [(0..t).collect::<Vec<_>>(), (n - t..n).rev().collect()] {
        let found = run.read(&set);
        assert_eq!(found.labels, expected, "{trustees}, {set:?}");
        assert!(found.alarms.is_empty());
    }
    let set: Vec<usize> = (n - t..n).collect();
    let found = one_less(&run, &set);
    assert_eq!(found.spoiled().len(), expected.len(), "{trustees}: alarms only");
    assert!(found.labels.iter().all(Option::is_none));
}

#[test]
fn labels_of_shield_are_those_in_the_clear() {
    let seed = Seed::from_number(3);
    for (t, n) in ALL {
        let case = case(4, 5, "X^2+X");
        let expected = case.expected(&seed);
        check(shield(&case, trustees(t, n)), &case, &expected, &seed);
    }
}

#[test]
fn labels_of_the_argmax_are_those_in_the_clear() {
    for (t, n) in ALL {
        let case = case(5, 20, "X");
        check(argmax(&case, trustees(t, n), 256), &case, &most_votes(&case), &Seed::from_number(3));
    }
}

#[test]
fn noise_stays_below_the_bounds_for_several_secrets() {
    let case = case(6, 5, "X^4+X");
    for n in [2, 3, 10] {
        let engine = shield(&case, trustees(n, n));
        let (context, stages) = (engine.context(), engine.plan().stages());
        let ceremony = Ceremony::new(&engine, &[1; 32]).expect("a ceremony");
        let makers: Vec<_> =
            (0..n as usize).map(|i| ceremony.maker(i, [i as u8; 32]).expect("one")).collect();
        let firsts: Vec<_> = makers.iter().map(|maker| maker.first(0)).collect();
        let commitments: Vec<_> = firsts.iter().map(|first| commitment(first)).collect();
        let first = ceremony.first_round(0, &commitments, &firsts).expect("a round");
        let seconds: Vec<_> = makers.iter().map(|m| m.second(&first).expect("a share")).collect();
        let keys = ceremony.keys(first, &seconds).expect("keys");
        let secrets: Vec<Secret> =
            makers.iter().map(|maker| maker.of_set(0).secret.clone()).collect();
        let joint = Secret::sum(&secrets);
        let mut rng = rng(1);
        let fresh = keys.public.key.zero(context, context.limbs(), &mut rng);
        let found = measured(context, &joint, &fresh);
        let bound = stages.ballot.bits();
        assert!(found <= bound && found > bound - 8.0, "{n}: fresh {found}, bound {bound}");
        let (ring, limbs) = (engine.plan().ring(), context.limbs());
        // What a product is relinearised with, by itself: d s^2.
        let d = context.backward(fresh.parts[1].clone());
        let mut switched = keys.evaluation.relinearisation.switch(context, &d, None);
        let s = joint.multiplier(context, limbs);
        let mut exact = context.product(&context.product(&fresh.parts[1], &s.0), &s.0);
        context.scale(&mut exact, -1);
        switched.add_scaled(context, &exact);
        let found = measured(context, &joint, &switched);
        let bound = ring.relinearisation(limbs).log2();
        assert!(found <= bound && found > bound - 10.0, "{n}: product {found}, bound {bound}");
        assert!(found > ring.switch(limbs).log2(), "{n}: two rounds cost more than one switch");
        // A ciphertext without noise, so that the switch alone is seen.
        let zero = crate::scheme::Ciphertext::zero(context, context.limbs());
        let mut turned = zero.clone();
        turned.parts[1] = fresh.parts[1].clone();
        turned.parts[0] =
            context.product(&fresh.parts[1], &joint.multiplier(context, context.limbs()).0);
        context.scale(&mut turned.parts[0], -1);
        let rotation = keys.evaluation.run_turns.iter().chain(&keys.evaluation.group_moves).next();
        let found = measured(context, &joint, &rotation.expect("one").rotate(context, &turned));
        let bound = ring.switch(context.limbs()).log2();
        assert!(found <= bound && found > bound - 8.0, "{n}: rotation {found}, bound {bound}");
    }
}

#[test]
fn a_key_that_trustees_hold_is_nobodys() {
    let case = case(4, 5, "X");
    let engine = shield(&case, trustees(3, 3));
    assert!(matches!(engine.generate_keys(&mut rng(1)), Err(crate::BfvError::Trustees(_))));
    let alone = BfvEngine::new(case.election.clone()).expect("a plan");
    assert!(matches!(Ceremony::new(&alone, &[1; 32]), Err(TrusteeError::NoTrustees)));
    assert_ne!(alone.binding(), engine.binding());
    assert_ne!(shield(&case, trustees(2, 3)).binding(), engine.binding());
}
