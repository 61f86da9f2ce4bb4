//! Every engine through keys, ballots, aggregation and labels.

use super::*;
use crate::engine::faults;

/// Everybody votes; the labels must be the clear operator's.
fn is_the_clear_operator(samples: usize, lines: &str) {
    let held = Held::with(samples, lines);
    held.all_vote(5);
    held.aggregate("results", 7).unwrap();
    let labels = held.labels("results");
    assert_eq!(labels, held.clear(&[0, 1, 2, 3, 4], &held.path("results")), "{lines}");
    assert!(labels.iter().all(Option::is_some));
}

#[test]
fn bfv_is_the_clear_operator() {
    is_the_clear_operator(9, "polynomial = \"X^2+X\"\nengine = \"bfv\"");
    is_the_clear_operator(9, "polynomial = \"X\"\nrelease = \"composable\"");
}

#[test]
fn the_clear_engine_is_the_clear_operator() {
    is_the_clear_operator(9, "polynomial = \"X^2+X\"\nengine = \"clear\"");
}

#[cfg(feature = "tfhe")]
#[test]
fn leveled_tfhe_is_the_clear_operator() {
    is_the_clear_operator(3, "polynomial = \"X^2+X\"\nengine = \"tfhe-leveled\"");
    let compact = "polynomial = \"X^2+X\"\nengine = \"tfhe-leveled\"\nupload = \"compact\"";
    is_the_clear_operator(2, compact);
}

#[cfg(feature = "tfhe")]
#[test]
fn bootstrapped_tfhe_is_the_clear_operator() {
    is_the_clear_operator(2, "polynomial = \"X^2+X\"\nengine = \"tfhe-bootstrapped\"");
}

/// Four of five teachers vote. Shares of noise this small are 0, so the label is the class with the
/// most votes, the lowest of several.
fn is_the_argmax(samples: usize, engine: &str) {
    let lines = format!("{engine}\nmechanism = \"noisy-argmax\"\nnoise = 0.02\ndropouts = 2");
    let held = Held::with(samples, &lines);
    held.all_vote(4);
    held.aggregate("results", 7).unwrap();
    let most = |sample: usize| {
        let count = |class: u16| {
            let votes = held.votes[..4].iter();
            votes.filter(|votes| votes[sample] == Some(Class(class))).count()
        };
        (0..3).max_by_key(|&class| (count(class), std::cmp::Reverse(class))).map(Class)
    };
    let expected: Vec<_> = (0..samples).map(most).collect();
    assert_eq!(held.labels("results"), expected, "{engine}");
}

#[test]
fn the_noisy_argmax_of_bfv_goes_over_files() {
    is_the_argmax(9, "engine = \"bfv\"");
    is_the_argmax(9, "engine = \"bfv\"\nnoise_law = \"laplace\"");
}

/// With more noise than votes, nobody could tell who won; but who is missing is known, and below
/// the number of shares there is no label at all.
#[test]
fn too_few_shares_of_noise_give_no_label() {
    let lines = "mechanism = \"noisy-argmax\"\nnoise = 3.0\ndropouts = 2";
    let held = Held::with(2, lines);
    held.all_vote(2);
    let said = held.aggregate("results", 7).unwrap_err().to_string();
    assert!(said.contains('3'), "{said}");
    assert!(!held.path("results").exists());
}

#[cfg(feature = "tfhe")]
#[test]
fn the_noisy_argmax_of_tfhe_goes_over_files() {
    is_the_argmax(2, "engine = \"tfhe-bootstrapped\"");
}

#[cfg(not(feature = "tfhe"))]
#[test]
fn a_program_without_an_engine_says_how_to_get_it() {
    let text = "name = \"a\"\ngroup = \"g\"\nclasses = 3\nsamples = 3\nquorum = 1\n\
                teachers = [\"t\"]\nengine = \"tfhe-leveled\"";
    let said = ElectionFile::parse(text).unwrap_err().to_string();
    assert!(said.contains("line 7") && said.contains("--features tfhe"), "{said}");
}

#[test]
fn failures_come_when_they_are_asked_for() {
    let held = Held::with(9, "polynomial = \"X\"\nengine = \"clear\"");
    held.all_vote(5);
    faults::inject(held.file.election(), 1, 1);
    let said = held.aggregate("results", 7).unwrap_err().to_string();
    assert!(said.contains("batch 1"), "{said}");
    assert!(!held.path("results").exists());
    assert!(held.aggregate("results", 8).unwrap().again, "with the seed of the first time");
}
