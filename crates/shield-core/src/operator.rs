//! The operator in the clear: the reference that every encrypted engine must agree with.
//!
//! A round succeeds with class k if all the votes it drew are for k. The label is the class of the
//! first round that succeeds. Rounds run in decreasing degree: the paper's text says so and its
//! recursion for the output law needs it, although its pseudocode counts upwards.

use rand::{CryptoRng, RngCore};

use crate::draws::{Drawn, Draws, Urn};
use crate::histogram::Histogram;
use crate::parameters::{Class, Classes};
use crate::setting::Setting;
use crate::votes::Label;

/// The class that a round is unanimous about, if it is.
///
/// `vote_of` tells the vote of a teacher who is in the urn.
pub fn unanimity(drawn: &[Drawn], vote_of: impl Fn(u32) -> Class) -> Label {
    let mut classes = drawn.iter().map(|entry| match *entry {
        Drawn::Teacher(teacher) => vote_of(teacher),
        Drawn::Dummy(class) => class,
    });
    let first = classes.next()?;
    classes.all(|class| class == first).then_some(first)
}

/// The label of a sample, given everything that was drawn for it.
pub fn elect(draws: &Draws, vote_of: impl Fn(u32) -> Class) -> Label {
    draws.rounds().find_map(|(_, drawn)| unanimity(drawn, &vote_of))
}

/// Runs the operator many times on one histogram, and counts the outputs: one count a class, then
/// the failures. For tests and demonstrations.
pub fn simulate<R: RngCore + CryptoRng>(
    setting: &Setting,
    histogram: &Histogram,
    runs: usize,
    rng: &mut R,
) -> Vec<u64> {
    let classes = Classes::new(histogram.classes()).expect("a histogram has a valid class count");
    let mut votes = Vec::new();
    for (class, &count) in classes.all().zip(histogram.counts()) {
        votes.extend(std::iter::repeat_n(class, count as usize));
    }
    let teachers = u32::try_from(votes.len()).expect("a histogram counts in 32 bits");
    let urn = Urn::of_all(teachers, classes, setting.offset);
    let mut outputs = vec![0; histogram.classes() + 1];
    let mut draws = Draws::empty(&setting.polynomial);
    for _ in 0..runs {
        draws.redraw(setting, &urn, rng);
        let label = elect(&draws, |teacher| votes[teacher as usize]);
        outputs[label.map_or(histogram.classes(), Class::index)] += 1;
    }
    outputs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_is_unanimous_or_not() {
        let votes = [Class(1), Class(1), Class(0)];
        let vote_of = |teacher: u32| votes[teacher as usize];
        let teacher = Drawn::Teacher;
        assert_eq!(unanimity(&[teacher(0), teacher(1)], vote_of), Some(Class(1)));
        assert_eq!(unanimity(&[teacher(0), teacher(2)], vote_of), None);
        assert_eq!(unanimity(&[teacher(2), Drawn::Dummy(Class(0))], vote_of), Some(Class(0)));
        assert_eq!(unanimity(&[teacher(2), Drawn::Dummy(Class(1))], vote_of), None);
        assert_eq!(unanimity(&[], vote_of), None);
    }
}
