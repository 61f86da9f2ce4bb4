//! Every cheat spoils the samples it cheats on and nothing else, and the audit names it.

use shield_core::Seed;
use shield_core::engine::Alarm;

use super::{Fixture, cheats, fixture, fixtures, forged, inspect, replaced, shape};
use crate::{BallotCheck, Coding};

const CHEATED: [usize; 5] = [0, 1, 17, 50, 99];

/// Teacher i cheats in the i-th way, on two samples of its own.
#[test]
fn every_cheat_spoils_just_the_samples_it_cheats_on() {
    let seed = Seed::from_number(4);
    let own = |teacher: usize| [5 * teacher, 5 * teacher + 3];
    for fixture in fixtures() {
        let layout = fixture.engine.plan().layout();
        let cheats = cheats(layout);
        let boxed = |cheating: bool| {
            let ballots = cheats.iter().enumerate().map(|(teacher, &(_, forgery))| {
                let samples = own(teacher);
                let samples: &[usize] = if cheating { &samples } else { &[] };
                (teacher as u32, forged(&fixture, forgery, samples))
            });
            replaced(&fixture, &ballots.collect::<Vec<_>>())
        };
        let expected = inspect(&fixture, &boxed(false), &seed);
        assert!(expected.alarms.is_empty(), "votes are votes: {layout:?}");
        let found = inspect(&fixture, &boxed(true), &seed);
        for (teacher, (name, _)) in cheats.iter().enumerate() {
            for sample in own(teacher) {
                assert_eq!(found.labels[sample], None, "{name}: {layout:?}");
                assert!(found.alarms.contains(&(sample, Alarm::NoLabel)), "{name}: {layout:?}");
            }
        }
        let cheated: Vec<usize> = (0..cheats.len()).flat_map(own).collect();
        assert_eq!(found.spoiled(), cheated, "{layout:?}");
        for sample in (0..expected.labels.len()).filter(|sample| !cheated.contains(sample)) {
            assert_eq!(found.labels[sample], expected.labels[sample], "sample {sample}");
        }
    }
}

/// With the same weight for all teachers, what one has too much the other would have too little.
#[test]
fn two_cheats_with_opposite_violations_do_not_cancel_out() {
    let seed = Seed::from_number(5);
    for fixture in [fixture(300), fixture(100)] {
        let two = forged(&fixture, |at| u64::from(at.number == 3 || at.number == 4), &CHEATED);
        let none = forged(&fixture, |_| 0, &CHEATED);
        let found = inspect(&fixture, &replaced(&fixture, &[(2, two), (9, none)]), &seed);
        assert_eq!(found.spoiled(), CHEATED);
    }
}

/// What the check is for: without it, minus one wins far more often than a vote does.
#[test]
fn without_the_check_minus_one_decides_labels_in_silence() {
    let fixture = fixture(100);
    let Fixture { case, engine, keys, ballots } = fixture;
    let engine = engine.with_ballot_check(BallotCheck::Off);
    let fixture = Fixture { case, engine, keys, ballots };
    let everywhere: Vec<usize> = (0..100).collect();
    let minus_one = super::ONE_HOT[0].1;
    let cheat = replaced(&fixture, &[(7, forged(&fixture, minus_one, &everywhere))]);
    let found = inspect(&fixture, &cheat, &Seed::from_number(4));
    assert!(found.spoiled().len() < 60, "some labels are decided, unnoticed");
}

/// Twelve of ten classes: not refused, but an alarm where it wins, which it does not more often
/// than a class that has as many votes.
#[test]
fn a_code_that_is_no_class_is_a_vote_that_ends_in_an_alarm() {
    for coding in [Coding::PackedBits, Coding::BitsAcross] {
        let fixture = Fixture::with_coding(shape(8, 10, 200, "X^2+2X"), coding);
        let samples: Vec<usize> = (0..200).collect();
        let twelve =
            forged(&fixture, |at| u64::from(at.layout.is_one(12, at.plane, at.number)), &samples);
        let found = inspect(&fixture, &replaced(&fixture, &[(5, twelve)]), &Seed::from_number(4));
        let alarms = found.alarms;
        assert!(alarms.iter().all(|&(_, alarm)| alarm == Alarm::NoClass), "{alarms:?}");
        // One of 18 entries of an urn, twice: 11% of 200 samples at most.
        assert!((1..50).contains(&alarms.len()), "{}", alarms.len());
        assert!(alarms.iter().all(|&(sample, _)| found.labels[sample].is_none()));
    }
}
