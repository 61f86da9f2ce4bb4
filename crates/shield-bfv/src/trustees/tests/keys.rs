//! What trustees send while keys are made: what is wrong is refused, and named.

use shield_core::engine::suite::resealed;
use shield_core::framing::{DecodeError, HEADER};

use super::*;

/// Everything that three trustees send for one set of keys.
struct Messages {
    commitments: Vec<[u8; 32]>,
    firsts: Vec<Vec<u8>>,
    seconds: Vec<Vec<u8>>,
}

fn messages(ceremony: &Ceremony<'_, ArgmaxEngine>, set: usize) -> Messages {
    let makers: Vec<_> = (0..3).map(|i| ceremony.maker(i, [i as u8; 32]).expect("one")).collect();
    let firsts: Vec<_> = makers.iter().map(|maker| maker.first(set)).collect();
    let commitments: Vec<_> = makers.iter().map(|maker| maker.commitment(set)).collect();
    let first = ceremony.first_round(set, &commitments, &firsts).expect("a round");
    let seconds = makers.iter().map(|maker| maker.second(&first).expect("a share")).collect();
    Messages { commitments, firsts, seconds }
}

fn engine() -> ArgmaxEngine {
    argmax(&case(3, 4, "X"), trustees(3, 3), 256)
}

/// A message with one residue changed, and its checksum made right again.
fn changed(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[HEADER + 100] ^= 1;
    resealed(bytes)
}

/// A share that is made of the others' shares is not the one that was committed to.
#[test]
fn a_rogue_share_is_refused_and_named() {
    let engine = engine();
    let ceremony = Ceremony::new(&engine, &[1; 32]).expect("a ceremony");
    let Messages { commitments, mut firsts, .. } = messages(&ceremony, 0);
    firsts[1] = changed(&firsts[1]);
    let refused = ceremony.first_round(0, &commitments, &firsts);
    assert!(matches!(refused, Err(TrusteeError::Commitment { trustee: 1 })), "{refused:?}");
    let missing = ceremony.first_round(0, &commitments, &firsts[..2]);
    assert!(matches!(missing, Err(TrusteeError::Count { found: 2, expected: 3, .. })));
}

/// Somebody who goes by another's name, with a commitment of its own, gets no second share.
#[test]
fn a_trustee_answers_only_where_its_own_share_is_in() {
    let engine = engine();
    let ceremony = Ceremony::new(&engine, &[1; 32]).expect("a ceremony");
    let Messages { mut commitments, mut firsts, .. } = messages(&ceremony, 0);
    firsts[2] = ceremony.maker(2, [99; 32]).expect("an impostor").first(0);
    commitments[2] = commitment(&firsts[2]);
    let first = ceremony.first_round(0, &commitments, &firsts).expect("a round");
    let honest = ceremony.maker(2, [2; 32]).expect("one");
    assert!(matches!(honest.second(&first), Err(TrusteeError::NotMine)));
    let other = ceremony.maker(1, [1; 32]).expect("one");
    assert!(other.second(&first).is_ok());
}

/// The errors of second shares are drawn anew for every list of first shares: the difference of two
/// answers must not be free of noise.
#[test]
fn second_shares_do_not_share_their_errors() {
    let engine = engine();
    let ceremony = Ceremony::new(&engine, &[1; 32]).expect("a ceremony");
    let honest = ceremony.maker(0, [0; 32]).expect("one");
    let mine = honest.of_set(0);
    let nothing = crate::ring::Poly::zero(256, ceremony.shape.relinearisation);
    let sums = vec![nothing; 1 + 2 * ceremony.shape.relinearisation];
    // Of first shares that are zero, the second one is its errors.
    assert_ne!(mine.second(&sums, &[1; 32]), mine.second(&sums, &[2; 32]));
    assert_eq!(mine.second(&sums, &[1; 32]), mine.second(&sums, &[1; 32]));
}

#[test]
fn shares_that_do_not_match_their_opened_seed_are_named() {
    let engine = engine();
    let ceremony = Ceremony::new(&engine, &[1; 32]).expect("a ceremony");
    let sets = 4;
    let kept = ceremony.kept(sets, &[[1; 32], [2; 32], [3; 32]]).expect("a set");
    assert!(kept < sets);
    for set in (0..sets).filter(|&set| set != kept) {
        let Messages { commitments, firsts, seconds } = messages(&ceremony, set);
        let first = ceremony.first_round(set, &commitments, &firsts).expect("a round");
        for (trustee, second) in seconds.iter().enumerate() {
            let maker = ceremony.maker(trustee, [trustee as u8; 32]).expect("one");
            let seed = maker.discarded(set);
            let check = |second: &[u8]| ceremony.check_discarded(&first, trustee, &seed, second);
            check(second).expect("honest");
            let wrong = check(&changed(second));
            assert!(matches!(wrong, Err(TrusteeError::Seed { what: "second key share", .. })));
        }
    }
    // Trustee 1 commits to a share with one residue changed.
    let Messages { mut commitments, mut firsts, seconds } = messages(&ceremony, 0);
    firsts[1] = changed(&firsts[1]);
    commitments[1] = commitment(&firsts[1]);
    let first = ceremony.first_round(0, &commitments, &firsts).expect("in form");
    let seed = ceremony.maker(1, [1; 32]).expect("one").discarded(0);
    let wrong = ceremony.check_discarded(&first, 1, &seed, &seconds[1]);
    assert!(
        matches!(wrong, Err(TrusteeError::Seed { what: "key share", trustee: 1, set: 0 })),
        "{wrong:?}"
    );
}

#[test]
fn every_set_of_keys_and_every_ceremony_is_its_own() {
    let engine = engine();
    let [one, other] = [[1; 32], [2; 32]].map(|common| Ceremony::new(&engine, &common).unwrap());
    let first = |ceremony: &Ceremony<'_, _>, set| ceremony.maker(0, [0; 32]).unwrap().first(set);
    let body = |bytes: Vec<u8>| bytes[HEADER..].to_vec();
    assert_ne!(body(first(&one, 0)), body(first(&one, 1)));
    assert_ne!(body(first(&one, 0)), body(first(&other, 0)));
    let uniform = |set, number| derivation::uniform(one.session, set, number);
    assert!(uniform(0, 1) != uniform(1, 1) && uniform(0, 1) != uniform(0, 2));
    // The coin is everybody's.
    let coins = [[1; 32], [2; 32], [3; 32]];
    let kept = |coins: &[[u8; 32]]| one.kept(1 << 30, coins).expect("a set");
    for i in 0..3 {
        let mut others = coins;
        others[i][31] ^= 1;
        assert_ne!(kept(&coins), kept(&others));
    }
}

#[test]
fn only_sound_messages_are_read() {
    let engine = engine();
    let ceremony = Ceremony::new(&engine, &[1; 32]).expect("a ceremony");
    let elsewhere = Ceremony::new(&engine, &[2; 32]).expect("a ceremony");
    let Messages { firsts, seconds, .. } = messages(&ceremony, 0);
    let round = |replaced: Vec<u8>| {
        let mut firsts = firsts.clone();
        firsts[1] = replaced;
        let commitments: Vec<_> = firsts.iter().map(|first| commitment(first)).collect();
        ceremony.first_round(0, &commitments, &firsts)
    };
    assert!(round(firsts[1].clone()).is_ok());
    let good = &firsts[1];
    let mut values = good.clone();
    let end = values.len() - 32;
    values[HEADER + 1..end].fill(0xff);
    let mut long = good.clone();
    long.push(0);
    let foreign = elsewhere.maker(1, [1; 32]).expect("one").first(0);
    let later = ceremony.maker(1, [1; 32]).expect("one").first(1);
    for (what, bytes) in [
        ("nothing", vec![]),
        ("cut off", good[..good.len() - 1].to_vec()),
        ("too long", long),
        ("values", resealed(values)),
        ("another ceremony", foreign),
        ("another set", later),
        ("another kind", seconds[1].clone()),
    ] {
        let refused = round(bytes);
        assert!(matches!(refused, Err(TrusteeError::Message { trustee: 1, .. })), "{what}");
    }
    let refused = round(firsts[2].clone());
    assert!(matches!(refused, Err(TrusteeError::Number { trustee: 1, found: 2 })), "{refused:?}");
    let mut flipped = good.clone();
    flipped[HEADER + 9] ^= 1;
    let source = match round(flipped) {
        Err(TrusteeError::Message { source, .. }) => source,
        other => panic!("{other:?}"),
    };
    assert_eq!(source, DecodeError::Checksum);
}

#[test]
fn a_trustees_key_survives_bytes_and_does_not_show() {
    let case = case(3, 4, "X");
    for (t, n) in [(3, 3), (2, 3)] {
        let engine = argmax(&case, trustees(t, n), 256);
        let together = Together::new(&engine, &mut rng(4)).expect("keys");
        let (key, id) = (&together.openers.keys[1], together.keys.id());
        let bytes = key.encode(&engine).expect("bytes");
        let read = TrusteeKey::decode(&engine, id, &bytes).expect("a key");
        assert_eq!(read.encode(&engine).expect("bytes"), bytes);
        assert_eq!((read.trustee(), read.id()), (1, id));
        let other = shield_core::framing::KeyId::from_bytes([9; 32]);
        assert!(TrusteeKey::decode(&engine, other, &bytes).is_err());
        let mut nobody = bytes.to_vec();
        nobody[HEADER] = 3;
        assert!(TrusteeKey::decode(&engine, id, &resealed(nobody)).is_err());
        assert!(TrusteeKey::decode(&engine, id, &changed(&bytes)).is_ok());
        assert!(TrusteeKey::decode(&engine, id, &bytes[..bytes.len() - 1]).is_err());
        let shown = format!("{key:?} {:?}", together.openers.pairs(1));
        assert!(
            shown.starts_with("TrusteeKey { trustee: 1, id: KeyId(") && !shown.contains("secret:")
        );
    }
}
