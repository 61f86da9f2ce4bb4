//! What the student sees: one clean cell at a uniform place, junk that is uniform, and nothing of
//! the rounds.
//!
//! Chi-square tests at level 1e-6 with fixed seeds; the same tests fail when the shift, the shift
//! of one digit or a mask is left out.

use shield_core::engine::{BallotBox, Engine, MemoryBallotBox, urns};
use shield_core::operator::unanimity;
use shield_core::{Draws, Seed};
use statrs::distribution::{ChiSquared, ContinuousCDF};

use super::cheats::{Slot, forged, replaced};
use super::{CODINGS, Fixture, shape};
use crate::reveal::Safeguards;
use crate::ring::PLAINTEXT;
use crate::{BallotCheck, Coding};

const LEVEL: f64 = 1e-6;

/// The chance of a chi-square statistic at least as large as that of these counts, all equally
/// likely.
fn p_value(counts: &[u64]) -> f64 {
    let expected = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
    let statistic: f64 =
        counts.iter().map(|&count| (count as f64 - expected).powi(2) / expected).sum();
    1.0 - ChiSquared::new(counts.len() as f64 - 1.0).expect("degrees of freedom").cdf(statistic)
}

/// What a student can count in releases.
struct View {
    /// Where the clean cell was, for each round that really won.
    places: Vec<Vec<u64>>,
    /// The residues of junk slots, in 64 bins.
    junk: Vec<u64>,
    /// Residues of junk slots in cells of rounds that succeeded after the first success.
    later: Vec<u64>,
}

const ROUNDS: usize = 4;
const BINS: u64 = 64;

/// The view of 500 samples in two groups of two ciphertexts, so that a place has two digits.
fn view(coding: Coding, safeguards: Safeguards) -> View {
    let mut fixture = Fixture::with_coding(shape(12, 3, 500, "X^3+2X^2+X"), coding);
    fixture.engine.safeguards = safeguards;
    let Fixture { case, engine, keys, ballots } = fixture;
    let setting = case.election.setting();
    let layout = engine.plan().layout();
    let value = match layout.coding() {
        Coding::OneHot => engine.plan().order().success(),
        _ => u64::from(engine.plan().order().get()),
    };
    let mut view = View {
        places: vec![vec![0; ROUNDS]; ROUNDS],
        junk: vec![0; BINS as usize],
        later: vec![0; BINS as usize],
    };
    let cells = layout.cells();
    assert_eq!(cells.count(), ROUNDS);
    let planes = layout.released_planes();
    for number in 0..8 {
        let seed = Seed::from_number(number);
        let release = engine.aggregate(&keys.evaluation, 0, &ballots, &seed).expect("a release");
        let slots = engine.slots(&keys.secret, &release);
        let urns = urns(&case.election, 500, &ballots).expect("urns");
        for (sample, urn) in urns.iter().enumerate() {
            let draws = Draws::seeded(setting, urn, &seed, sample as u64);
            let vote = |teacher: u32| case.votes.vote(sample, teacher as usize).expect("voted");
            let wins: Vec<bool> =
                draws.rounds().map(|(_, drawn)| unanimity(drawn, vote).is_some()).collect();
            let Some(winner) = wins.iter().position(|&win| win) else {
                continue;
            };
            let shift = safeguards.shift(&seed, sample as u64, cells);
            for (round, &won) in wins.iter().enumerate() {
                let place = cells.place(round, shift);
                let runs = engine.places().slots(place.group, sample);
                let cell = &slots[place.ciphertext * planes..][..planes];
                let slots: Vec<u64> = cell
                    .iter()
                    .flat_map(|slots| runs.iter().map(|&slot| slots[slot as usize]))
                    .collect();
                let clean = slots.iter().all(|&slot| slot == 0 || slot == value);
                assert!(round != winner || clean, "the first success is clean");
                if clean {
                    let number = place.ciphertext * layout.groups() + place.group;
                    view.places[winner][number] += 1;
                    continue;
                }
                for slot in slots {
                    let bin = (slot * BINS / 65_537) as usize;
                    view.junk[bin] += 1;
                    view.later[bin] += u64::from(won);
                }
            }
        }
    }
    view
}

fn places_are_uniform(view: &View) -> bool {
    view.places.iter().filter(|places| places.iter().sum::<u64>() > 100).all(|p| p_value(p) > LEVEL)
}

fn junk_is_uniform(view: &View) -> bool {
    p_value(&view.junk) > LEVEL && p_value(&view.later) > LEVEL
}

#[test]
fn the_view_follows_from_the_label() {
    for coding in CODINGS {
        let view = view(coding, Safeguards::Whole);
        assert!(view.places.iter().flatten().sum::<u64>() > 3_000);
        assert!(view.junk.iter().sum::<u64>() > 10_000);
        assert!(places_are_uniform(&view), "{coding:?}: {:?}", view.places);
        assert!(junk_is_uniform(&view), "{coding:?}: {:?}", view.junk);
    }
}

#[test]
fn a_missing_shift_is_noticed() {
    for coding in CODINGS {
        let view = view(coding, Safeguards::WithoutShift);
        assert!(!places_are_uniform(&view), "{coding:?}");
        assert!(junk_is_uniform(&view), "{coding:?}");
    }
}

#[test]
fn a_missing_shift_of_one_digit_is_noticed() {
    for digit in 0..2 {
        let view = view(Coding::OneHot, Safeguards::WithoutShiftOf(digit));
        assert!(!places_are_uniform(&view), "digit {digit}");
        assert!(junk_is_uniform(&view), "digit {digit}");
    }
}

#[test]
fn a_missing_mask_is_noticed() {
    for coding in CODINGS {
        assert!(!junk_is_uniform(&view(coding, Safeguards::WithoutMask)), "{coding:?}");
    }
}

/// What a student sees of samples on which a ballot cheats: residues in bins, and cells in which
/// three slots or more are zero, which uniform cells never have.
fn cheated_view(check: BallotCheck) -> (Vec<u64>, usize) {
    let fixture = Fixture::with_coding(shape(12, 3, 500, "X^3+2X^2+X"), Coding::OneHot);
    let cheated: Vec<usize> = (0..250).collect();
    // A vote for class 0, and -1 in the padding: with luck a colluding student sees a cell more.
    let forgery = |at: Slot<'_>| match at.number {
        0 => 1,
        5 => PLAINTEXT - 1,
        _ => 0,
    };
    let ballots = replaced(&fixture, &[(4, forged(&fixture, forgery, &cheated))]);
    let Fixture { engine, keys, .. } = fixture;
    let engine = engine.with_ballot_check(check);
    let layout = engine.plan().layout();
    let (mut junk, mut structured) = (vec![0; BINS as usize], 0);
    for number in 0..3 {
        let seed = Seed::from_number(number);
        let release = engine.aggregate(&keys.evaluation, 0, &ballots, &seed).expect("a release");
        let slots = engine.slots(&keys.secret, &release);
        for sample in 0..250 {
            for (group, slots) in
                (0..layout.groups()).flat_map(|g| slots.iter().map(move |s| (g, s)))
            {
                let classes = engine.places().slots(group, sample);
                let slot = |class: &u32| slots[*class as usize];
                structured += usize::from(classes.iter().filter(|c| slot(c) == 0).count() >= 3);
                for class in classes {
                    junk[(slot(class) * BINS / 65_537) as usize] += 1;
                }
            }
        }
    }
    (junk, structured)
}

#[test]
fn a_cheated_sample_shows_nothing_but_that_it_was_cheated() {
    let (junk, structured) = cheated_view(BallotCheck::On);
    assert!(p_value(&junk) > LEVEL, "{junk:?}");
    assert_eq!(structured, 0);
}

#[test]
fn a_missing_check_is_noticed() {
    let (junk, structured) = cheated_view(BallotCheck::Off);
    assert!(p_value(&junk) < LEVEL && structured > 0, "{structured}");
}

/// A seed must never meet two sets of ballots. Should it all the same, the masks are not shared:
/// else equal slots would show where the changed ballot was drawn.
#[test]
fn one_seed_on_two_sets_of_ballots_masks_them_differently() {
    let Fixture { case, engine, keys, ballots } = Fixture::new(shape(12, 3, 5, "X^3+2X^2+X"));
    let seed = Seed::from_number(1);
    let mut rng = seed.stream("another ballot of the first teacher", 0);
    let another = engine.encrypt(&keys.public, 0, &case.votes.teacher(0, 0..5), &mut rng);
    let changed = (0..12).map(|teacher| match teacher {
        0 => another.as_ref().ok().cloned(),
        _ => ballots.open(teacher).ok().map(std::borrow::Cow::into_owned),
    });
    let changed = MemoryBallotBox::new(5, changed.collect());
    let slots = |ballots: &MemoryBallotBox<_>| {
        let release = engine.aggregate(&keys.evaluation, 0, ballots, &seed).expect("a release");
        engine.slots(&keys.secret, &release).concat()
    };
    let (before, after) = (slots(&ballots), slots(&changed));
    let same = before.iter().zip(&after).filter(|(a, b)| a == b).count();
    // The clean cells, 5 runs of 8 slots, say the same; of the junk one slot in 65,537 does.
    assert!(same < 60, "{same} of {}", before.len());
}
