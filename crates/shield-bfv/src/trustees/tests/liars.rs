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
        self.together.openers.keys.iter().map(|key| open(key).expect("an opening")).collect()
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
    let mut openings =
        run.together.openers.open(&run.engine, 0, &run.release, &set).expect("openings");
    let mut other = openings[1].clone();
    let end = other.len() - 32;
    // Any other residues in range.
    other[HEADER + 35..end].iter_mut().for_each(|byte| *byte &= 0x5a);
    openings[1] = resealed(other);
    let found = run.combine(&set, &openings).expect("in form");
    assert_eq!(found.spoiled().len(), 20);
}

/// What a trustee sends is hidden by parts of zero, which go away in the sum alone.
#[test]
fn openings_hide_behind_parts_of_zero() {
    let run = run(3, 3);
    let (set, engine) = ([0, 1, 2], &run.engine);
    let open = |trustee: usize, secrets: &[PairSecret]| {
        let (key, mut openings) = (&run.together.openers.keys[trustee], Openings::default());
        key.open(engine, 0, &run.release, &set, secrets, &mut openings).expect("an opening")
    };
    let other: Vec<PairSecret> =
        (1..3).map(|with| PairSecret { with, secret: [with as u8; 32].into() }).collect();
    let (usual, changed) = (open(0, run.together.openers.pairs(0)), open(0, &other));
    let same = usual[HEADER + 35..].iter().zip(&changed[HEADER + 35..]).filter(|(a, b)| a == b);
    assert!(same.count() < usual.len() / 50, "uniform to whoever does not know the secrets");
    let with = |opening: Vec<u8>| {
        let others = [1, 2].map(|trustee| open(trustee, run.together.openers.pairs(trustee)));
        let [one, two] = others;
        run.combine(&set, &[opening, one, two]).expect("a reading")
    };
    assert!(with(usual).alarms.is_empty());
    assert_eq!(with(changed).spoiled().len(), 20);
}

/// What an opening adds to a share of the decryption is wider than a prime.
#[test]
fn every_opening_is_flooded() {
    let run = run(3, 3);
    let (context, key) = (&run.engine.context, &run.together.openers.keys[0]);
    let opened = opening::Opened::new(&run.engine, key.id(), 0, &run.release).expect("one");
    let mut floods = super::super::derivation::stream(&[5; 32], "test", &[]);
    let (c, bits) = (&opened.ciphertexts[0], opened.plan.flooding);
    let mut part = opening::partial(context, c, &key.share, bits, &mut floods);
    let mut product = context.backward(context.product(&c.parts[1], &key.share.0));
    context.scale(&mut product, -1);
    context.add(&mut part, &product);
    let q = context.q()[0].modulus().value();
    let small = part.limb(0).iter().filter(|&&x| x.min(q - x) < 1 << 45).count();
    assert!(bits > 60 && small < 256 / 8, "{small} of 256 are small");
}

#[test]
fn openings_belong_to_one_release_and_one_set() {
    let run = run(2, 3);
    let (engine, keys) = (&run.engine, &run.together.openers.keys);
    let mut openings = Openings::default();
    let mut open = |set: &[usize], release: &[u8]| {
        keys[0].open(engine, 0, release, set, run.together.openers.pairs(0), &mut openings)
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
    let partner = run.together.openers.open(engine, 0, &run.release, &[0, 1]).expect("openings");
    let mixed = run.combine(&[0, 1], &[second.clone(), partner[1].clone()]);
    assert!(matches!(mixed, Err(TrusteeError::OtherOpening { trustee: 0 })));
    let twice = run.combine(&[0, 1], &[first.clone(), first.clone()]);
    assert!(matches!(twice, Err(TrusteeError::OtherOpening { trustee: 0 })));
    let missing = run.combine(&[0, 1], std::slice::from_ref(&first));
    assert!(matches!(missing, Err(TrusteeError::Count { found: 1, expected: 2, .. })));
    let cut = run.combine(&[0, 1], &[first[1..].to_vec(), partner[1].clone()]);
    assert!(matches!(cut, Err(TrusteeError::Release(_))));
    assert_eq!(
        run.combine(&[0, 1], &[first, partner[1].clone()]).expect("a reading"),
        run.read(&[1, 2])
    );
}
