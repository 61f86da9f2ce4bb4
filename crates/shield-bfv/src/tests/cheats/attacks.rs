//! Every cheat spoils the samples it cheats on and nothing else, and the audit names it.

use shield::backend::{Backend, MemoryBallotBox};
use shield::{Label, Seed};

use super::{CHEATS, DIFFERENT_COPIES, Fixture, Forgery, fixture, fixtures, forged, replaced};
use crate::alarms::{Alarm, Inspection};
use crate::{BallotCheck, BfvBallot, ReleaseMode};

const CHEATED: [usize; 5] = [0, 1, 17, 50, 99];

fn inspect(fixture: &Fixture, ballots: &MemoryBallotBox<BfvBallot>, seed: &Seed) -> Inspection {
    let Fixture { backend, keys, .. } = fixture;
    let release = backend.aggregate(&keys.evaluation, 0, ballots, seed).expect("a release");
    backend.inspect(&keys.secret, 0, &release).expect("labels")
}

/// The labels if the cheat had voted for the wanted class everywhere.
fn honest(fixture: &Fixture, teacher: u32, seed: &Seed) -> Vec<Label> {
    let vote = forged(fixture, |_, _, _| 0, &[]);
    let inspection = inspect(fixture, &replaced(fixture, &[(teacher, vote)]), seed);
    assert!(inspection.alarms.is_empty(), "a vote is a vote");
    inspection.labels
}

/// Teacher i cheats in the i-th way, on two samples of its own.
#[test]
fn every_cheat_spoils_just_the_samples_it_cheats_on() {
    let seed = Seed::from_number(4);
    let own = |teacher: usize| [7 * teacher, 7 * teacher + 3];
    for fixture in fixtures() {
        let copies = (fixture.backend.plan().layout().groups() > 1)
            .then_some(("different copies", DIFFERENT_COPIES));
        let cheats: Vec<_> = CHEATS.into_iter().chain(copies).collect();
        let boxed = |cheating: bool| {
            let ballot = |(teacher, &(_, forgery)): (usize, &(_, Forgery))| {
                let samples = own(teacher);
                let samples: &[usize] = if cheating { &samples } else { &[] };
                (teacher as u32, forged(&fixture, forgery, samples))
            };
            replaced(&fixture, &cheats.iter().enumerate().map(ballot).collect::<Vec<_>>())
        };
        let expected = inspect(&fixture, &boxed(false), &seed);
        assert!(expected.alarms.is_empty(), "votes are votes");
        let found = inspect(&fixture, &boxed(true), &seed);
        for (teacher, (name, _)) in cheats.iter().enumerate() {
            for sample in own(teacher) {
                assert_eq!(found.labels[sample], None, "{name}");
                assert!(found.alarms.raised().contains(&(sample, Alarm::NoLabel)), "{name}");
            }
        }
        let cheated: Vec<usize> = (0..cheats.len()).flat_map(own).collect();
        assert_eq!(found.alarms.samples(), cheated);
        for sample in (0..expected.labels.len()).filter(|sample| !cheated.contains(sample)) {
            assert_eq!(found.labels[sample], expected.labels[sample], "sample {sample}");
        }
    }
}

/// With the same weight for all teachers, what one has too much the other would have too little.
#[test]
fn two_cheats_with_opposite_violations_do_not_cancel_out() {
    let seed = Seed::from_number(5);
    for fixture in fixtures() {
        let two = forged(&fixture, |_, _, class| u64::from(class == 3 || class == 4), &CHEATED);
        let none = forged(&fixture, |_, _, _| 0, &CHEATED);
        let found = inspect(&fixture, &replaced(&fixture, &[(2, two), (9, none)]), &seed);
        assert_eq!(found.alarms.samples(), CHEATED);
    }
}

#[test]
fn a_composable_label_of_a_cheated_sample_is_junk() {
    let seed = Seed::from_number(6);
    let fixture = fixture(100, ReleaseMode::Composable);
    let expected = honest(&fixture, 7, &seed);
    for (name, forgery) in [CHEATS[0], CHEATS[4], CHEATS[6]] {
        let ballots = replaced(&fixture, &[(7, forged(&fixture, forgery, &CHEATED))]);
        let found = inspect(&fixture, &ballots, &seed);
        assert_eq!(found.alarms.samples(), CHEATED, "{name}");
        assert!(found.alarms.raised().iter().all(|&(_, alarm)| alarm == Alarm::Junk), "{name}");
        let same = found.labels.iter().zip(&expected).enumerate();
        for (sample, (label, expected)) in same.filter(|(s, _)| !CHEATED.contains(s)) {
            assert_eq!(label, expected, "{name}: sample {sample}");
        }
    }
}

/// What the check is for: without it, minus one wins far more often than a vote does.
#[test]
fn without_the_check_minus_one_decides_labels_in_silence() {
    let fixture = fixture(100, ReleaseMode::Reveal);
    let Fixture { case, backend, keys, ballots } = fixture;
    let backend = backend.with_ballot_check(BallotCheck::Off);
    let fixture = Fixture { case, backend, keys, ballots };
    let everywhere: Vec<usize> = (0..100).collect();
    let cheat = replaced(&fixture, &[(7, forged(&fixture, CHEATS[0].1, &everywhere))]);
    let found = inspect(&fixture, &cheat, &Seed::from_number(4));
    assert!(found.alarms.samples().len() < 60, "some labels are decided, unnoticed");
}
