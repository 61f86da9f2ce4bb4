//! Elections whose ballots are proven: labels, forgeries, and the longest ballots that pass.

use std::borrow::Cow;
use std::sync::OnceLock;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use shield_core::Seed;
use shield_core::engine::suite::Case;
use shield_core::engine::{
    BallotBox, BallotError, Encoding, Engine, KeysOf, MemoryBallotBox, Presence, urns,
};

use super::cheats::{Slot, forged_slots, replaced_in};
use super::noise::measured;
use super::shape;
use crate::aggregation::{challenge, voters};
use crate::ballot::{self, HALF, Maker, doubled};
use crate::proof::Opening;
use crate::scheme::{Ciphertext, Randomness, times};
use crate::{BfvBallot, BfvEngine, BfvError};

const TEACHERS: usize = 6;

struct Fixture {
    case: Case,
    engine: BfvEngine,
    keys: KeysOf<BfvEngine>,
    ballots: MemoryBallotBox<BfvBallot>,
}

fn fixture() -> &'static Fixture {
    static FIXTURE: OnceLock<Fixture> = OnceLock::new();
    FIXTURE.get_or_init(|| {
        let case = Case::new(shape(TEACHERS, 3, 20, "2X^2+X"), 5);
        let engine = BfvEngine::with_proofs(case.election.clone(), None).expect("a plan");
        let mut rng = ChaCha20Rng::seed_from_u64(7);
        let keys = engine.generate_keys(&mut rng).expect("keys");
        let ballots = (0..TEACHERS)
            .map(|teacher| {
                let votes = case.votes.teacher(teacher, engine.batch(0));
                let ballot = engine.encrypt_as(&keys.public, 0, teacher as u32, &votes, &mut rng);
                let bytes = engine.encode_ballot(&ballot.expect("a ballot"));
                engine.decode_ballot(&bytes, 0, keys.public.id).ok()
            })
            .collect();
        let ballots = MemoryBallotBox::new(20, ballots);
        Fixture { case, engine, keys, ballots }
    })
}

impl Fixture {
    fn ballot(&self, teacher: u32) -> BfvBallot {
        self.ballots.open(teacher).expect("a ballot").into_owned()
    }

    /// Whose ballot is refused, if the last teacher sends this one.
    fn refused(&self, ballot: BfvBallot) -> Option<u32> {
        let last = TEACHERS as u32 - 1;
        let ballots = replaced_in(&self.ballots, TEACHERS as u32, 20, &[(last, ballot)]);
        let seed = Seed::from_number(1);
        match self.engine.aggregate(&self.keys.evaluation, 0, &ballots, &seed) {
            Ok(_) => None,
            Err(BfvError::Ballot(BallotError::Unproven { teacher })) => Some(teacher),
            Err(error) => panic!("{error}"),
        }
    }

    /// The best that a cheat can send under the last teacher's name: ciphertexts, and a proof made
    /// with what it knows, the opening of some vote of its own.
    fn with_best_proof(&self, ciphertexts: Vec<Ciphertext>) -> BfvBallot {
        let mut rng = ChaCha20Rng::seed_from_u64(17);
        let (context, key) = (self.engine.context(), &self.keys.public.key);
        let slots = vec![0; context.degree()];
        let (_, opening) = Opening::encrypt(context, key, slots, &mut rng);
        let maker = Maker { binding: self.engine.binding(), teacher: TEACHERS as u32 - 1 };
        let ballot = BfvBallot { ciphertexts, ..self.ballot(TEACHERS as u32 - 1) };
        ballot::prove(context, key, maker, ballot, &[opening], &mut rng)
    }
}

#[test]
fn labels_of_proven_ballots_are_those_of_the_operator() {
    let f = fixture();
    let plan = f.engine.plan();
    assert!(plan.proofs() && plan.noise_margin_bits() >= 0.0 && plan.security_bits() >= 128);
    for seed in [Seed::from_number(1), Seed::from_number(2)] {
        let release = f.engine.aggregate(&f.keys.evaluation, 0, &f.ballots, &seed);
        let found = f.engine.inspect(&f.keys.secret, 0, &release.expect("a release")).unwrap();
        assert_eq!((found.labels, found.alarms), (f.case.expected(&seed), vec![]));
    }
}

#[test]
fn a_ballot_is_nobodys_until_it_has_a_name() {
    let f = fixture();
    let votes = f.case.votes.teacher(0, f.engine.batch(0));
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let found = f.engine.encrypt(&f.keys.public, 0, &votes, &mut rng);
    assert!(matches!(found, Err(BfvError::Ballot(BallotError::Unnamed))));
    let mut none = f.ballot(5);
    none.proof = None;
    let release = f.engine.aggregate(
        &f.keys.evaluation,
        0,
        &replaced_in(&f.ballots, TEACHERS as u32, 20, &[(5, none)]),
        &Seed::from_number(1),
    );
    assert!(release.is_err());
}

/// Everything that a cheat makes of others' ballots, or of nothing, is refused under its name.
#[test]
fn forged_ballots_are_refused() {
    let f = fixture();
    let (context, key) = (f.engine.context(), &f.keys.public.key);
    let (n, limbs) = (context.degree(), context.limbs());
    let mut rng = ChaCha20Rng::seed_from_u64(4);
    assert_eq!(f.refused(f.ballot(5)), None, "its own is taken");
    assert_eq!(f.refused(f.ballot(0)), Some(5), "another's, with the other's proof");
    let mut absent = f.ballot(5);
    absent.presence = Presence::new((0..20).map(|sample| sample != 3));
    assert_eq!(f.refused(absent), Some(5), "absent where it voted");
    let copy = f.ballot(0).ciphertexts;
    let mut disguised = copy.clone();
    disguised[0].add(context, &key.zero(context, limbs, &mut rng));
    let mut slots = vec![0; n];
    slots[f.engine.places().slots(0, 4)[1] as usize] = 1;
    let selected = vec![times(context, &copy[0], slots)];
    let mut long = f.ballot(5).ciphertexts;
    let error: Vec<i64> = (0..n).map(|_| rng.random_range(-(1 << 40)..=1 << 40)).collect();
    long[0].add_scaled(context, &context.small(&error, limbs));
    let mut idempotent = Ciphertext::zero(context, limbs);
    context.add_constant(&mut idempotent.parts[0], 1);
    for x in idempotent.parts[0].iter_mut().flatten() {
        *x *= u64::from(rng.random::<bool>());
    }
    for (what, ciphertexts) in [
        ("a copy", copy),
        ("a copy in disguise", disguised),
        ("a copy of one slot", selected),
        ("an error of 2^40", long),
        ("an idempotent", vec![idempotent]),
    ] {
        let own = BfvBallot { ciphertexts: ciphertexts.clone(), ..f.ballot(5) };
        assert_eq!(f.refused(own), Some(5), "{what}, with the proof of its vote");
        assert_eq!(f.refused(f.with_best_proof(ciphertexts)), Some(5), "{what}, the best proof");
    }
}

/// A ballot that has a proof and is no vote: its samples are junk, and the audit names its teacher.
#[test]
fn a_proven_ballot_that_is_no_vote_is_found_by_the_check() {
    use shield_core::engine::Audits;
    let f = fixture();
    let (context, key) = (f.engine.context(), &f.keys.public.key);
    let mut rng = ChaCha20Rng::seed_from_u64(6);
    // Two votes on samples 2 and 9; half of them, as in every ballot here.
    let cheat = |at: Slot<'_>| u64::from(at.number < 2);
    let slots = forged_slots(&f.engine, cheat, &[2, 9]);
    let halves = slots.into_iter().map(|x| x * HALF % crate::ring::PLAINTEXT).collect();
    let (ciphertext, opening) = Opening::encrypt(context, key, halves, &mut rng);
    let maker = Maker { binding: f.engine.binding(), teacher: 5 };
    let ballot = BfvBallot { ciphertexts: vec![ciphertext], ..f.ballot(5) };
    let ballot = ballot::prove(context, key, maker, ballot, &[opening], &mut rng);
    let ballots = replaced_in(&f.ballots, TEACHERS as u32, 20, &[(5, ballot)]);
    let release = f.engine.aggregate(&f.keys.evaluation, 0, &ballots, &Seed::from_number(1));
    let found = f.engine.inspect(&f.keys.secret, 0, &release.expect("a release")).unwrap();
    assert_eq!(found.spoiled(), [2, 9]);
    let seed = Seed::from_number(2);
    let audit = f.engine.audit(&f.keys.evaluation, 0, &ballots, &seed, &[2, 9]).unwrap();
    assert_eq!(f.engine.read_audit(&f.keys.secret, 0, &audit).unwrap(), [5]);
}

/// All ballots as long as a proof leaves room for: the noise of tally and check is below the
/// bounds, and the tally is right.
#[test]
fn the_longest_ballots_that_pass_are_within_the_plan() {
    let f = fixture();
    let (context, key) = (f.engine.context(), &f.keys.public.key);
    let (n, limbs) = (context.degree(), context.limbs());
    let mut rng = ChaCha20Rng::seed_from_u64(8);
    // Twice the ciphertexts, as the server adds them up: coefficients of 2^21 N and 2^25 N.
    let mut long = |bits: u32| {
        let width = (n as i64) << bits;
        zeroize::Zeroizing::new((0..n).map(|_| rng.random_range(-width..=width)).collect())
    };
    let ballots: Vec<Vec<Ciphertext>> = (0..TEACHERS as u32)
        .map(|teacher| {
            let mut ciphertexts = doubled(context, &f.ballot(teacher).ciphertexts);
            let randomness = Randomness { u: long(21), e: [long(25), long(25)] };
            ciphertexts[0].add(context, &key.zero_from(context, limbs, &randomness));
            ciphertexts
        })
        .collect();
    let seed = Seed::from_number(1);
    let aggregation = f.engine.aggregation(&f.keys.evaluation, 0, &seed);
    let urns = urns(&f.case.election, 20, &f.ballots).expect("urns");
    let selected = aggregation.select(&urns, &aggregation.shifts());
    let open = |teachers: &[u32]| {
        Ok(teachers.iter().map(|&t| Cow::Borrowed(&ballots[t as usize][..])).collect())
    };
    let tallies = aggregation.tally_ballots(&selected.ballots, open).expect("tallies");
    let voters = voters(TEACHERS as u32, &f.ballots).expect("voters");
    let validity =
        aggregation.validity(challenge(&aggregation, &voters, &f.ballots).expect("a challenge"));
    let mut sums = validity.sums();
    let numbered: Vec<(u32, &[Ciphertext])> = (0..).zip(ballots.iter().map(|b| &b[..])).collect();
    validity.add(&mut sums, &numbered);
    let checks = validity.finish(&sums, &voters);
    let secret = &f.keys.secret.secret;
    let stages = f.engine.plan().stages();
    for (what, ciphertext, bound) in [
        ("ballot", &ballots[0][0], stages.ballot),
        ("tally", &tallies[0], stages.tally),
        ("check", &checks[0], stages.validity),
    ] {
        let found = measured(context, secret, ciphertext);
        println!("{what}: 2^{found:.1}, bound 2^{:.1}", bound.bits());
        assert!(found <= bound.bits() && found > bound.bits() - 45.0, "{what}: {found}");
    }
    let mut check = checks[0].clone();
    check.drop_to(context, 1);
    assert!(check.decrypt(context, secret).iter().all(|&slot| slot == 0), "votes are votes");
    let short = aggregation.tally(&urns, &aggregation.shifts(), &f.ballots).expect("tallies");
    let slots = |mut c: Ciphertext| {
        c.drop_to(context, 1);
        c.decrypt(context, secret)
    };
    let mut long = tallies.into_iter().next().expect("a tally");
    long.add_slots(context, selected.plaintexts[0].clone());
    assert_eq!(slots(long), slots(short.into_iter().next().expect("a tally")));
}

#[test]
fn a_proof_of_an_election_is_none_of_another() {
    let f = fixture();
    let elsewhere = f.case.election.clone().bound_to([7; 32]);
    let elsewhere = BfvEngine::with_proofs(elsewhere, None).expect("a plan");
    let ballot = f.ballot(0);
    let (context, key) = (f.engine.context(), &f.keys.public.key);
    let own = Maker { binding: f.engine.binding(), teacher: 0 };
    let other = Maker { binding: elsewhere.binding(), teacher: 0 };
    assert!(ballot::is_proven(context, key, own, &ballot));
    assert!(!ballot::is_proven(context, key, other, &ballot), "another election");
    let next = BfvBallot { batch: 1, ..ballot };
    assert!(!ballot::is_proven(context, key, own, &next), "another batch");
}
