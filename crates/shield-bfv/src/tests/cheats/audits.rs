//! From spoiled samples to labels for all: alarm, audit, verdict, and aggregation again.

use shield_core::Seed;
use shield_core::engine::{
    Again, AuditError, Audits, ClearEngine, Encoding, Engine, MemoryBallotBox,
};

use super::{Fixture, ONE_HOT, cheats, fixture, fixtures, forged, replaced};
use shield_core::framing::DecodeError;

/// What the operator says without some teachers, in the clear.
fn clear_labels(fixture: &Fixture, without: &[u32], seed: &Seed) -> Vec<shield_core::Label> {
    let clear = ClearEngine::new(fixture.case.election.clone());
    let samples = fixture.engine.batch(0);
    let mut rng = seed.stream("clear ballots", 0);
    let keys = clear.generate_keys(&mut rng).expect("keys");
    let ballots = (0..fixture.case.election.teachers()).map(|teacher| {
        let votes = fixture.case.votes.teacher(teacher as usize, samples.clone());
        let ballot = clear.encrypt(&keys.public, 0, &votes, &mut rng).expect("a ballot");
        (!without.contains(&teacher)).then_some(ballot)
    });
    let ballots = MemoryBallotBox::new(samples.len(), ballots.collect());
    let release = clear.aggregate(&keys.evaluation, 0, &ballots, seed).expect("a release");
    clear.decrypt(&keys.secret, 0, &release).expect("labels")
}

#[test]
fn the_audit_names_exactly_the_cheats_and_only_spoiled_samples_are_labelled_again() {
    let (first, audit_seed, second) =
        (Seed::from_number(1), Seed::from_number(2), Seed::from_number(3));
    let fixture = fixture(100);
    let Fixture { engine, keys, .. } = &fixture;
    let cheats = [
        (2, forged(&fixture, ONE_HOT[0].1, &[4, 9])),
        (11, forged(&fixture, ONE_HOT[4].1, &[9, 60])),
    ];
    let ballots = replaced(&fixture, &cheats);
    let release = engine.aggregate(&keys.evaluation, 0, &ballots, &first).expect("a release");
    let spoiled = engine.inspect(&keys.secret, 0, &release).expect("labels").spoiled();
    assert_eq!(spoiled, [4, 9, 60]);

    let audit =
        engine.audit(&keys.evaluation, 0, &ballots, &audit_seed, &spoiled).expect("an audit");
    assert_eq!(audit.len(), engine.audit_bytes());
    let found = engine.accusations(&keys.secret, 0, &audit).expect("teachers");
    assert_eq!(found, [(2, vec![4, 9]), (11, vec![9, 60])]);
    assert_eq!(engine.read_audit(&keys.secret, 0, &audit).expect("teachers"), [2, 11]);

    let again = Again { excluded: &[2, 11], samples: &spoiled };
    let again = engine.aggregate_again(&keys.evaluation, 0, &ballots, &second, again);
    let again = again.expect("a release");
    let labels = engine.inspect(&keys.secret, 0, &again).expect("labels").labels;
    let expected = clear_labels(&fixture, &[2, 11], &second);
    for (sample, label) in labels.iter().enumerate() {
        let asked = spoiled.contains(&sample);
        assert_eq!(label.is_some(), asked, "sample {sample}");
        assert!(!asked || *label == expected[sample], "sample {sample}");
    }
}

/// Teacher i cheats in the i-th way; who is left is honest.
#[test]
fn every_cheat_is_named() {
    let seed = Seed::from_number(5);
    for fixture in fixtures() {
        let Fixture { engine, keys, .. } = &fixture;
        let cheats = cheats(engine.plan().layout()).into_iter();
        let cheats: Vec<_> =
            (0..).zip(cheats).map(|(t, (_, f))| (t, forged(&fixture, f, &[3, 8]))).collect();
        let ballots = replaced(&fixture, &cheats);
        let audit = engine.audit(&keys.evaluation, 0, &ballots, &seed, &[3, 8, 9]);
        let found = engine.accusations(&keys.secret, 0, &audit.expect("an audit"));
        let expected: Vec<_> = cheats.iter().map(|&(teacher, _)| (teacher, vec![3, 8])).collect();
        assert_eq!(found.expect("teachers"), expected);
    }
}

#[test]
fn damaged_audits_are_refused() {
    let fixture = fixture(100);
    let Fixture { engine, keys, ballots, .. } = &fixture;
    let seed = Seed::from_number(1);
    let audit = engine.audit(&keys.evaluation, 0, ballots, &seed, &[0, 500, 9_000]);
    let audit = audit.expect("samples out of range are ignored");
    let read = |audit: &[u8]| engine.read_audit(&keys.secret, 0, audit);
    assert_eq!(read(&audit).expect("teachers"), Vec::<u32>::new());
    for damage in [0, 5, 6, 40, 75, 87, 90, audit.len() - 1] {
        let mut bytes = audit.clone();
        bytes[damage] ^= 1;
        assert!(read(&bytes).is_err(), "byte {damage}");
    }
    assert!(read(&audit[..audit.len() - 1]).is_err());
    let release = engine.aggregate(&keys.evaluation, 0, ballots, &seed).expect("a release");
    let wrong = read(&engine.encode_release(&release));
    assert!(matches!(wrong, Err(AuditError::Bytes(DecodeError::Kind { .. }))), "{wrong:?}");
}
