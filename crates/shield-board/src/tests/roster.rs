//! What a user is told about keys.

use std::fs;

use super::{Ward, identity};
use crate::{BoardError, Parties, Party, Role, Roster};

#[test]
fn new_parties_are_confirmed_once_and_changed_keys_refused() {
    let ward = Ward::new();
    let (path, group) = (ward.folder.path().join("known/roster.toml"), "zoos".parse().unwrap());
    let mut roster = Roster::read(&path).unwrap();
    let fingerprint = ward.parties.fingerprint();
    let unknown = roster.check(&group, &ward.parties, None).unwrap_err();
    assert!(matches!(unknown, BoardError::Unknown { count: 6, .. }), "{unknown}");
    assert!(unknown.to_string().contains(&format!("--trust {fingerprint}")));
    assert!(!path.exists(), "nothing is trusted that nobody confirmed");
    let other = "00000-00000-00000-00000".parse().unwrap();
    let error = roster.check(&group, &ward.parties, Some(other)).unwrap_err();
    assert!(matches!(error, BoardError::OtherFingerprint { .. }), "{error}");
    roster.check(&group, &ward.parties, Some(fingerprint)).unwrap();
    // Known from now on, in this group.
    let mut again = Roster::read(&path).unwrap();
    again.check(&group, &ward.parties, None).unwrap();
    assert!(again.check(&"wards".parse().unwrap(), &ward.parties, None).is_err());

    // The operator puts keys of its own in the student's place.
    let swapped = |name: &str, seed| {
        let parties = ward.parties.iter().map(|party| match party.line.name.as_str() {
            "lab" => Party::new(Role::Student, identity(name, seed).public_line()),
            _ => party.clone(),
        });
        Parties::new(ward.parties.election(), parties).unwrap()
    };
    let foreign = swapped("lab", 99);
    for trust in [None, Some(foreign.fingerprint())] {
        let error = again.check(&group, &foreign, trust).unwrap_err();
        assert!(matches!(error, BoardError::ChangedKey { .. }), "{error}");
        assert!(error.to_string().contains("zoos/lab"), "{error}");
    }
    // One newcomer is a question again.
    let newcomer = swapped("other-lab", 98);
    let error = again.check(&group, &newcomer, None).unwrap_err();
    assert!(matches!(error, BoardError::Unknown { count: 1, .. }), "{error}");
    assert_ne!(newcomer.fingerprint(), fingerprint);
}

#[test]
fn a_damaged_roster_is_no_empty_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("roster.toml");
    for bad in ["x", "[a]\nkeys = \"shield1\"\n", "[a]\nother = 1\n", "\u{0}"] {
        fs::write(&path, bad).unwrap();
        assert!(Roster::read(&path).is_err(), "{bad}");
    }
}
