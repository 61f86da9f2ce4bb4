//! Keys, signatures, fingerprints and sealed messages.

use std::fs;

use rand::SeedableRng;
use rand::rngs::StdRng;

use super::{Ward, identity};
use crate::public::KeyError;
use crate::sealed::{OVERHEAD, open, seal};
use crate::statement::Signature;
use crate::{Fingerprint, Identity, Parties, Party, PublicKeys, PublicLine, Role};

/// The order of Ed25519's group, in little-endian bytes.
const ORDER: [u8; 32] = [
    0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
];

/// The signature with s + L in place of s: the same number to whoever does not look.
pub(super) fn with_order(mut sig: Signature) -> Signature {
    let mut carry = 0;
    for (byte, order) in sig.0[32..].iter_mut().zip(ORDER) {
        let sum = u16::from(*byte) + u16::from(order) + carry;
        [*byte, _] = sum.to_le_bytes();
        carry = sum >> 8;
    }
    assert_eq!(carry, 0);
    sig
}

#[test]
fn a_signature_has_one_form() {
    let ward = Ward::new();
    ward.finished();
    let mut signed = crate::Folder::open(&ward.path()).unwrap().lines()[4].signed.clone();
    signed.check(&ward.parties).unwrap();
    signed.sig = with_order(signed.sig);
    assert!(signed.check(&ward.parties).is_err());
    // The point at infinity as R, and 0 as s.
    let mut sig = [0; 64];
    sig[0] = 1;
    signed.sig = Signature(sig);
    assert!(signed.check(&ward.parties).is_err());
}

#[test]
fn weak_keys_are_refused() {
    let good = identity("amber", 1).public().to_bytes();
    assert!(PublicKeys::from_bytes(&good).is_ok());
    let with = |place: usize, key: [u8; 32]| {
        let mut bytes = good;
        bytes[place..place + 32].copy_from_slice(&key);
        PublicKeys::from_bytes(&bytes)
    };
    let small = |first: u8, last: u8| {
        let mut key = [0; 32];
        (key[0], key[31]) = (first, last);
        key
    };
    let mut above = [0xff; 32];
    (above[0], above[31]) = (0xee, 0x7f);
    // Points of order 1, 2 and 4, one of them in two forms; p + 3, which is a sound point's y.
    let mut shifted = above;
    shifted[0] = 0xf0;
    for key in [small(1, 0), small(0, 0), small(0, 0x80), small(1, 0x80), above, shifted] {
        assert_eq!(with(0, key), Err(KeyError::Weak), "{key:?}");
    }
    for key in [small(0, 0), small(1, 0), small(9, 0x80), above] {
        assert_eq!(with(32, key), Err(KeyError::Weak), "{key:?}");
    }
    assert!(with(32, small(9, 0)).is_ok());
}

#[test]
fn a_public_line_survives_no_wrong_letter() {
    let line = identity("amber", 1).public_line();
    let text = line.to_string();
    assert_eq!(text.parse::<PublicLine>().unwrap(), line);
    assert_eq!(text.len(), "amber shield1".len() + 112);
    for place in 6..text.len() {
        let mut bad = text.clone().into_bytes();
        bad[place] = if bad[place] == b'a' { b'b' } else { b'a' };
        assert!(String::from_utf8(bad).unwrap().parse::<PublicLine>().is_err(), "{place}");
    }
    for bad in ["", "amber", &text[..text.len() - 1], &text.to_uppercase(), &format!("{text}a")] {
        assert!(bad.parse::<PublicLine>().is_err(), "{bad}");
    }
}

#[test]
fn a_fingerprint_is_read_as_people_write_it() {
    let fingerprint = identity("amber", 1).public().fingerprint();
    let text = fingerprint.to_string();
    assert_eq!(text.len(), 23);
    for same in [text.clone(), text.replace('-', " "), text.replace('-', "")] {
        assert_eq!(same.parse::<Fingerprint>().unwrap(), fingerprint);
    }
    assert!("12345".parse::<Fingerprint>().is_err());
    assert_ne!(identity("amber", 2).public().fingerprint(), fingerprint);
}

#[test]
fn an_identity_file_is_its_owners_and_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("amber.identity");
    let made = Identity::generate("amber".parse().unwrap(), &mut StdRng::seed_from_u64(1));
    made.write(&path).unwrap();
    assert!(made.write(&path).is_err());
    assert!(!crate::private::is_open_to_others(&path).unwrap());
    assert_eq!(Identity::read(&path).unwrap().public_line(), made.public_line());
    assert_eq!(format!("{made:?}"), "Identity { name: Name(\"amber\"), .. }");
    let good = fs::read_to_string(&path).unwrap();
    for bad in
        [good.replace("seed = \"", "seed = \"0"), good.replace("amber", "Amber"), "x".repeat(5000)]
    {
        let path = folder.path().join("bad");
        fs::write(&path, bad).unwrap();
        assert!(Identity::read(&path).is_err());
    }
}

#[test]
fn parties_are_different_and_have_one_operator() {
    let election = Ward::new().parties.election();
    let party = |role, name, seed| Party::new(role, identity(name, seed).public_line());
    let office = party(Role::Operator, "office", 1);
    for (other, words) in [
        (party(Role::Teacher, "amber", 1), "has the keys of another party"),
        (party(Role::Teacher, "office", 2), "two parties named `office`"),
        (party(Role::Operator, "other", 2), "two operators"),
    ] {
        let error = Parties::new(election, [office.clone(), other]).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    let mut half = party(Role::Teacher, "amber", 2);
    let mut bytes = half.line.keys.to_bytes();
    bytes[32..].copy_from_slice(&office.line.keys.to_bytes()[32..]);
    half.line.keys = PublicKeys::from_bytes(&bytes).unwrap();
    assert!(Parties::new(election, [office, half]).is_err());
    assert!(Parties::new(election, [party(Role::Teacher, "amber", 1)]).is_err());
}

#[test]
fn a_sealed_message_opens_once_and_for_one() {
    let (amber, birch) = (identity("amber", 1), identity("birch", 2));
    let mut rng = StdRng::seed_from_u64(1);
    let sealed = seal(amber.public(), b"seed", b"a message", &mut rng);
    assert_eq!(sealed.len(), 9 + OVERHEAD);
    assert_eq!(open(&amber, b"seed", &sealed).unwrap().as_slice(), b"a message");
    assert!(open(&amber, b"share", &sealed).is_none());
    assert!(open(&birch, b"seed", &sealed).is_none());
    for place in 0..sealed.len() {
        let mut bad = sealed.clone();
        bad[place] ^= 1;
        assert!(open(&amber, b"seed", &bad).is_none(), "{place}");
    }
    for end in 0..sealed.len() {
        assert!(open(&amber, b"seed", &sealed[..end]).is_none());
    }
    // A key that everybody knows: the ephemeral key is of small order.
    let mut weak = sealed;
    weak[..32].fill(0);
    assert!(open(&amber, b"seed", &weak).is_none());
}
