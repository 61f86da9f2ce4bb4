//! Openings: wrong ones are noticed, and with enough trustees named; none is given twice.

use shield_core::engine::suite::resealed;
use shield_core::framing::HEADER;

use super::*;
use crate::ring::{Coefficients, PLAINTEXT, Poly};

fn run(t: u32, n: u32) -> Run<ArgmaxEngine> {
    let case = case(5, 20, "X");
    Run::new(argmax(&case, trustees(t, n), 256), &case, &Seed::from_number(3))
}

impl Run<ArgmaxEngine> {
    fn checked(&self) -> Vec<Vec<u8>> {
        let open = |key: &TrusteeKey| {
            key.open_checked(&self.engine, 0, &self.release, &mut Openings::default())
        };
        self.together.trustees.iter().map(|key| open(key).expect("an opening")).collect()
    }

    fn combine_checked(&self, openings: &[Vec<u8>]) -> Result<CheckedReading, TrusteeError> {
        combine_checked(&self.engine, self.together.keys.id(), 0, &self.release, openings)
    }

    /// A checked opening with something added to it.
    fn changed(&self, opening: &[u8], change: impl Fn(&mut Poly<Coefficients>)) -> Vec<u8> {
        let (id, release) = (self.together.keys.id(), &self.release);
        let opened = opening::Opened::new(&self.engine, id, 0, release).expect("a release");
        let limbs = opened.plan.limbs;
        let mut read = opened.read(0, limbs, &[opening]).expect("an opening");
        let (trustee, parts) = &mut read[0];
        change(&mut parts[0]);
        let (made_for, bound) = (opened.made_for(), opened.bound(0));
        opened.with_format(limbs, |format| format.write(made_for, *trustee, &bound, &*parts))
    }
}

/// Adds Q / (6 t) times a small number to every coefficient, rounded: six times that is a message.
fn sixth(engine: &ArgmaxEngine, poly: &mut Poly<Coefficients>, times: u64) {
    for (limb, ntt) in poly.iter_mut().zip(engine.context.q()) {
        let q = ntt.modulus();
        // (Q - 1) / t modulo q is -1/t, divided by 6.
        let step = q.mul(q.sub(0, q.inv(PLAINTEXT)), q.inv(6));
        for x in limb {
            *x = q.add(*x, q.mul(step, times));
        }
    }
}

#[test]
fn a_liar_is_named() {
    let run = run(3, 5);
    let honest = run.checked();
    let expected = run.read(&[0, 1, 2]);
    assert!(expected.alarms.is_empty());
    let reading = run.combine_checked(&honest).expect("a reading");
    assert_eq!(reading, CheckedReading { revealed: expected.clone(), liars: vec![] });
    for liar in 0..5 {
        for times in [1, 6, 6 * 1_000] {
            let mut openings = honest.clone();
            openings[liar] = run.changed(&openings[liar], |part| sixth(&run.engine, part, times));
            let reading = run.combine_checked(&openings).expect("a reading");
            assert_eq!(reading.liars, [liar], "{times}");
            assert_eq!(reading.revealed, expected);
            // With one opening less, it shows that somebody lies, but not who.
            openings.remove((liar + 1) % 5);
            let found = run.combine_checked(&openings);
            assert!(matches!(found, Err(TrusteeError::Contradiction { found: 4 })), "{found:?}");
        }
    }
    let few = run.combine_checked(&honest[..3]);
    assert!(matches!(few, Err(TrusteeError::TooFew { found: 3, needed: 4 })));
    assert!(run.combine_checked(&honest[1..]).expect("a reading").liars.is_empty());
}

#[test]
fn two_liars_who_agree_are_named() {
    let run = run(6, 10);
    let mut openings = run.checked();
    for liar in [2, 7] {
        openings[liar] = run.changed(&openings[liar], |part| sixth(&run.engine, part, 6));
    }
    let reading = run.combine_checked(&openings).expect("a reading");
    assert_eq!(reading.liars, [2, 7]);
    assert_eq!(reading.revealed, run.read(&[0, 1, 3, 4, 5, 6]));
}

#[test]
fn a_wrong_part_of_a_sum_is_all_alarms() {
    let run = run(3, 3);
    let set = [0, 1, 2];
    let mut openings = run.together.open(&run.engine, 0, &run.release, &set).expect("openings");
    let mut other = openings[1].clone();
    let end = other.len() - 32;
    // Any other residues in range.
    other[HEADER + 35..end].iter_mut().for_each(|byte| *byte &= 0x5a);
    openings[1] = resealed(other);
    let found = run.combine(&set, &openings).expect("in form");
    assert_eq!(found.spoiled().len(), 20);
}

#[test]
fn openings_belong_to_one_release_and_one_set() {
    let run = run(2, 3);
    let (engine, keys) = (&run.engine, &run.together.trustees);
    let mut openings = Openings::default();
    let mut open = |set: &[usize], release: &[u8]| {
        keys[0].open(engine, 0, release, set, run.together.pairs(0), &mut openings)
    };
    let first = open(&[0, 1], &run.release).expect("an opening");
    assert_eq!(open(&[0, 1], &run.release).expect("the same"), first);
    assert_eq!(open(&[1, 0], &run.release).expect("the same"), first);
    let second = open(&[0, 2], &run.release).expect("another set");
    let same = first.iter().zip(&second).filter(|(a, b)| a == b).count();
    assert!(same < first.len() / 3, "floods and zeros are drawn anew: {same}");
    for set in [&[0][..], &[0, 0], &[1, 2], &[0, 1, 2]] {
        assert!(matches!(open(set, &run.release), Err(TrusteeError::Set { .. })), "{set:?}");
    }
    assert!(matches!(open(&[0, 3], &run.release), Err(TrusteeError::Nobody { .. })));
    let mut other = run.release.clone();
    other[HEADER + 50] ^= 1;
    let other = resealed(other);
    assert!(matches!(open(&[0, 1], &other), Err(TrusteeError::SecondRelease { batch: 0 })));
    assert!(matches!(open(&[0, 1], &other[1..]), Err(TrusteeError::Release(_))));
    let alone = keys[0].open(engine, 0, &run.release, &[0, 1], &[], &mut Openings::default());
    assert!(matches!(alone, Err(TrusteeError::PairSecret { with: 1 })));
    // The student's side.
    let partner = run.together.open(engine, 0, &run.release, &[0, 1]).expect("openings");
    let mixed = run.combine(&[0, 1], &[second.clone(), partner[1].clone()]);
    assert!(matches!(mixed, Err(TrusteeError::OtherOpening { trustee: 0 })));
    let twice = run.combine(&[0, 1], &[first.clone(), first.clone()]);
    assert!(matches!(twice, Err(TrusteeError::OtherOpening { trustee: 0 })));
    let missing = run.combine(&[0, 1], &[first.clone()]);
    assert!(matches!(missing, Err(TrusteeError::Count { found: 1, expected: 2, .. })));
    let cut = run.combine(&[0, 1], &[first[1..].to_vec(), partner[1].clone()]);
    assert!(matches!(cut, Err(TrusteeError::Release(_))));
    assert_eq!(
        run.combine(&[0, 1], &[first, partner[1].clone()]).expect("a reading"),
        run.read(&[1, 2])
    );
}
