//! From spoiled samples to labels for all: alarm, audit, verdict, and aggregation again.

use shield::Seed;
use shield::backend::suite::resealed;
use shield::backend::{Backend, BallotBox, ClearBackend, MemoryBallotBox};

use super::{CHEATS, DIFFERENT_COPIES, Fixture, fixture, fixtures, forged, replaced};
use crate::ReleaseMode;
use crate::codec::DecodeError;

/// What the operator says without some teachers, in the clear.
fn clear_labels(fixture: &Fixture, without: &[u32], seed: &Seed) -> Vec<shield::Label> {
    let clear = ClearBackend::new(fixture.case.election.clone());
    let samples = fixture.backend.batch(0);
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
    for release_mode in [ReleaseMode::Reveal, ReleaseMode::Composable] {
        let fixture = fixture(100, release_mode);
        let Fixture { backend, keys, .. } = &fixture;
        let id = keys.public.id();
        let cheats = [
            (2, forged(&fixture, CHEATS[0].1, &[4, 9])),
            (11, forged(&fixture, CHEATS[4].1, &[9, 60])),
        ];
        let ballots = replaced(&fixture, &cheats);
        let release = backend.aggregate(&keys.evaluation, 0, &ballots, &first).expect("a release");
        let found = backend.inspect(&keys.secret, 0, &release).expect("labels");
        let spoiled = found.alarms.samples();
        assert_eq!(spoiled, [4, 9, 60]);
        assert!(found.alarms.to_string().contains("3 samples are spoiled"), "{}", found.alarms);

        let audit =
            backend.audit(&keys.evaluation, 0, &ballots, &audit_seed, &spoiled).expect("an audit");
        let bytes = backend.encode_audit(&audit);
        assert_eq!(bytes.len(), backend.plan().audit_bytes());
        let audit = backend.decode_audit(&bytes, 0, id).expect("an audit");
        let verdict = backend.read_audit(&keys.secret, 0, &audit).expect("a verdict");
        assert_eq!(verdict.accused(), [2, 11]);
        assert_eq!(verdict.spoiled(), spoiled);
        let bytes = backend.encode_verdict(&verdict);
        let verdict = backend.decode_verdict(&bytes, 0, id).expect("a verdict");

        let again = backend
            .aggregate_again(&keys.evaluation, &ballots, &verdict, &second)
            .expect("a release");
        let labels = backend.inspect(&keys.secret, 0, &again).expect("labels").labels;
        let expected = clear_labels(&fixture, &[2, 11], &second);
        for (sample, label) in labels.iter().enumerate() {
            let asked = spoiled.contains(&sample);
            assert_eq!(label.is_some(), asked, "sample {sample}");
            assert!(!asked || *label == expected[sample], "sample {sample}");
        }
    }
}

/// Teacher i cheats in the i-th way; who is left is honest.
#[test]
fn every_cheat_is_named() {
    let seed = Seed::from_number(5);
    for fixture in fixtures() {
        let Fixture { backend, keys, .. } = &fixture;
        let copies = (backend.plan().layout().groups() > 1).then_some(DIFFERENT_COPIES);
        let forgeries = CHEATS.into_iter().map(|(_, forgery)| forgery).chain(copies);
        let cheats: Vec<_> =
            (0..).zip(forgeries).map(|(t, f)| (t, forged(&fixture, f, &[3, 8]))).collect();
        let ballots = replaced(&fixture, &cheats);
        let audit = backend.audit(&keys.evaluation, 0, &ballots, &seed, &[3, 8, 9]);
        let verdict = backend.read_audit(&keys.secret, 0, &audit.expect("an audit"));
        let verdict = verdict.expect("a verdict");
        let expected: Vec<u32> = (0..cheats.len() as u32).collect();
        assert_eq!((verdict.accused(), verdict.spoiled()), (expected, vec![3, 8]));
    }
}

#[test]
fn damaged_audits_and_verdicts_are_refused() {
    let fixture = fixture(100, ReleaseMode::Reveal);
    let Fixture { backend, keys, ballots, .. } = &fixture;
    let id = keys.public.id();
    let audit =
        backend.audit(&keys.evaluation, 0, ballots, &Seed::from_number(1), &[0, 500, 9_000]);
    let audit = audit.expect("samples out of range are ignored");
    let verdict = backend.read_audit(&keys.secret, 0, &audit).expect("a verdict");
    assert!(verdict.accused().is_empty() && verdict.spoiled().is_empty());
    let (audit, verdict) = (backend.encode_audit(&audit), backend.encode_verdict(&verdict));
    for bytes in [&audit, &verdict] {
        for damage in [0, 5, 6, 40, 75, 87, 90, bytes.len() - 1] {
            let mut bytes = bytes.clone();
            bytes[damage] ^= 1;
            assert!(backend.decode_audit(&bytes, 0, id).is_err(), "byte {damage}");
            assert!(backend.decode_verdict(&bytes, 0, id).is_err(), "byte {damage}");
        }
        let cut = &bytes[..bytes.len() - 1];
        assert!(backend.decode_audit(cut, 0, id).is_err());
        assert!(backend.decode_verdict(cut, 0, id).is_err());
    }
    assert!(matches!(backend.decode_audit(&verdict, 0, id), Err(DecodeError::Kind { .. })));
    // A teacher that does not exist, with a right checksum.
    let mut forged = verdict;
    forged[crate::codec::HEADER + 7] = 0xff;
    assert!(matches!(
        backend.decode_verdict(&resealed(forged), 0, id),
        Err(DecodeError::Range { .. })
    ));
    assert!(ballots.open(0).is_ok());
}
