//! Alarms: what a release shows that honest ballots and an honest server cannot make.
//!
//! | alarm | why it cannot happen | what it means |
//! |---|---|---|
//! | [`Alarm::NoLabel`] | a round of degree 1 draws one entry, and is always unanimous | a ballot is no vote, or the evaluation key is damaged |
//! | [`Alarm::SeveralLabels`] | exactly one cell has v = 0: see [`crate::reveal`] | a ballot is no vote and the check missed it (2^-29), or the server does not follow the protocol |
//! | [`Alarm::EmptyCell`] | junk is uniform and a clean cell shows a class, which is one-hot | the same |
//! | [`Alarm::NoClass`] | votes and dummies are codes of classes | ballots vote for a code that is no class: see [below](#codes-that-are-no-class) |
//!
//! Under a polynomial without a term of degree 1, or with offset 0 on a sample on which nobody
//! voted, "no label" is an outcome like any other, and is no alarm.
//!
//! # Codes that are no class
//!
//! Where classes are in bits and their number K is not a power of two, some codes are no class, and
//! the check lets them pass: to refuse them, it would have to multiply as many bits as a class has,
//! which costs levels that the check does not need otherwise. They do no harm that a vote does not.
//! Honest votes and dummies never have such a code, so a round that draws one is unanimous only if
//! it draws nothing else. To the operator it is a vote for a class that nobody else votes for and
//! that has no dummies: the round fails, as it does for any vote that others disagree with, or it
//! succeeds, no more often than if the same ballots voted for a class. In the latter case the
//! student sees this alarm and has no label. How many ballots hold such a code does not depend on
//! any honest vote; but the proven epsilon counts K outcomes and does not speak of this one, which
//! such teachers could agree on with the student. An audit accuses nobody, because the check of
//! each such ballot is zero.

use shield_core::Election;
use shield_core::engine::{Alarm, Revealed};

use crate::layout::{Coding, Places};
use crate::plan::Plan;
use crate::release;

/// Reads the first `samples` samples of a release's slots.
pub(crate) fn inspect(
    election: &Election,
    plan: &Plan,
    places: &Places,
    slots: &[Vec<u64>],
    samples: usize,
) -> Revealed {
    let mut labels = release::labels(plan, places, slots, samples);
    let mut raised = Vec::new();
    for (sample, label) in labels.iter_mut().enumerate() {
        let found = revealed(plan, places, slots, sample);
        if found.contains(&Alarm::SeveralLabels) {
            *label = None;
        }
        let missing = label.is_none() && found.is_empty() && election.always_labels();
        let missing = missing.then_some(Alarm::NoLabel);
        raised.extend(found.into_iter().chain(missing).map(|alarm| (sample, alarm)));
    }
    Revealed { labels, alarms: raised }
}

fn revealed(plan: &Plan, places: &Places, slots: &[Vec<u64>], sample: usize) -> Vec<Alarm> {
    let layout = plan.layout();
    let mut found = Vec::new();
    let codes: Vec<usize> = release::codes(plan, places, slots, sample).collect();
    let (mut clean, mut empty) = (codes.len(), 0);
    if layout.coding() == Coding::OneHot {
        // One-hot cells are also clean with any other value than that of a success.
        let runs = slots.iter().flat_map(|slots| {
            (0..layout.groups()).map(move |group| filled(places.slots(group, sample), slots))
        });
        let filled: Vec<usize> = runs.collect();
        clean = filled.iter().filter(|&&filled| filled == 1).count();
        empty = filled.iter().filter(|&&filled| filled == 0).count();
    }
    if clean > 1 {
        found.push(Alarm::SeveralLabels);
    }
    if empty > 0 {
        found.push(Alarm::EmptyCell);
    }
    if codes.iter().any(|&code| code >= layout.classes()) {
        found.push(Alarm::NoClass);
    }
    found
}

/// Slots of a run that are not zero.
fn filled(run: &[u32], slots: &[u64]) -> usize {
    run.iter().filter(|&&place| slots[place as usize] != 0).count()
}
