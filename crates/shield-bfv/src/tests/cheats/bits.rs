//! Cheats where classes are in bits.

use shield::Seed;
use shield::backend::Backend;

use super::{Fixture, WANTED, forged_planes, replaced, shape};
use crate::alarms::{Alarm, Inspection};
use crate::layout::Layout;
use crate::ring::PLAINTEXT;
use crate::{BfvBallot, Coding, Design};

const CHEATED: [usize; 3] = [0, 17, 50];

/// Bits packed in runs, with copies in a run and with padding, and across ciphertexts; one group,
/// and several.
pub(super) fn fixtures() -> Vec<Fixture> {
    [
        (Coding::PackedBits, 10, 600),
        (Coding::PackedBits, 10, 60),
        (Coding::PackedBits, 2, 60),
        (Coding::PackedBits, 300, 60),
        (Coding::BitsAcross, 10, 5_000),
        (Coding::BitsAcross, 10, 2_000),
        (Coding::BitsAcross, 10, 60),
    ]
    .map(|(coding, classes, samples)| {
        Fixture::with_design(shape(8, classes, samples, "X^2+2X"), Design::linear(coding))
    })
    .into()
}

type Forgery = fn(&Layout, usize, usize, usize) -> u64;

/// The bit of an honest vote, for a class that every election here has.
fn bit(layout: &Layout, plane: usize, slot: usize) -> u64 {
    u64::from(layout.is_one(WANTED % layout.classes(), plane, slot))
}

const CHEATS: [(&str, Forgery); 4] = [
    ("minus ones", |layout, plane, _, slot| (PLAINTEXT - bit(layout, plane, slot)) % PLAINTEXT),
    ("a thousand", |layout, plane, _, slot| 1_000 * bit(layout, plane, slot)),
    ("different copies in a run", |layout, plane, _, slot| match layout.run() {
        1 => 2,
        run => bit(layout, plane, slot) ^ u64::from(slot + 1 == run),
    }),
    ("different copies in groups", |layout, plane, group, slot| match layout.groups() {
        1 => 2,
        groups => bit(layout, plane, slot) ^ u64::from(group + 1 == groups),
    }),
];

fn forged(fixture: &Fixture, forgery: Forgery, cheated: &[usize]) -> BfvBallot {
    let layout = fixture.backend.plan().layout();
    let forgery = |_: &mut _, plane, group, slot| forgery(layout, plane, group, slot);
    forged_planes(fixture, forgery, cheated)
}

fn inspect(fixture: &Fixture, cheats: &[(u32, BfvBallot)]) -> Inspection {
    let Fixture { backend, keys, .. } = fixture;
    let ballots = replaced(fixture, cheats);
    let release = backend.aggregate(&keys.evaluation, 0, &ballots, &Seed::from_number(4));
    backend.inspect(&keys.secret, 0, &release.expect("a release")).expect("labels")
}

#[test]
fn every_cheat_spoils_just_the_samples_it_cheats_on() {
    for fixture in fixtures() {
        let own = |i: usize| CHEATED.map(|sample| sample + i);
        let cheats = |cheating: bool| -> Vec<(u32, BfvBallot)> {
            let ballot = |(i, (_, forgery)): (usize, (&str, Forgery))| {
                let samples = own(i);
                (i as u32, forged(&fixture, forgery, if cheating { &samples } else { &[] }))
            };
            CHEATS.into_iter().enumerate().map(ballot).collect()
        };
        let layout = fixture.backend.plan().layout();
        let expected = inspect(&fixture, &cheats(false));
        assert!(expected.alarms.is_empty(), "votes are votes: {layout:?}");
        let found = inspect(&fixture, &cheats(true));
        for (i, (name, _)) in CHEATS.iter().enumerate() {
            for sample in own(i) {
                assert_eq!(found.labels[sample], None, "{name}: {layout:?}");
            }
        }
        let mut cheated: Vec<usize> = (0..CHEATS.len()).flat_map(own).collect();
        cheated.sort_unstable();
        assert_eq!(found.alarms.samples(), cheated, "{layout:?}");
        for sample in (0..expected.labels.len()).filter(|sample| !cheated.contains(sample)) {
            assert_eq!(found.labels[sample], expected.labels[sample], "sample {sample}");
        }
    }
}

#[test]
fn the_audit_names_the_cheats() {
    let seed = Seed::from_number(5);
    for fixture in fixtures() {
        let Fixture { backend, keys, .. } = &fixture;
        let cheats: Vec<(u32, BfvBallot)> =
            (2..).zip(CHEATS).map(|(t, (_, f))| (t, forged(&fixture, f, &[3, 8]))).collect();
        let ballots = replaced(&fixture, &cheats);
        let audit = backend.audit(&keys.evaluation, 0, &ballots, &seed, &[3, 8, 9]);
        let verdict = backend.read_audit(&keys.secret, 0, &audit.expect("an audit"));
        let verdict = verdict.expect("a verdict");
        assert_eq!((verdict.accused(), verdict.spoiled()), (vec![2, 3, 4, 5], vec![3, 8]));
    }
}

/// Twelve of ten classes: not refused, but an alarm where it wins, which it does not more often
/// than a class that has as many votes.
#[test]
fn a_code_that_is_no_class_is_a_vote_that_ends_in_an_alarm() {
    for coding in [Coding::PackedBits, Coding::BitsAcross] {
        let fixture = Fixture::with_design(shape(8, 10, 200, "X^2+2X"), Design::linear(coding));
        let samples: Vec<usize> = (0..200).collect();
        let twelve: Forgery = |layout, plane, _, slot| u64::from(layout.is_one(12, plane, slot));
        let found = inspect(&fixture, &[(5, forged(&fixture, twelve, &samples))]);
        let alarms = found.alarms.raised();
        assert!(alarms.iter().all(|&(_, alarm)| alarm == Alarm::NoClass), "{alarms:?}");
        // One of 18 entries of an urn, twice: 11% of 200 samples at most.
        assert!((1..50).contains(&alarms.len()), "{}", alarms.len());
        assert!(alarms.iter().all(|&(sample, _)| found.labels[sample].is_none()));
    }
}
