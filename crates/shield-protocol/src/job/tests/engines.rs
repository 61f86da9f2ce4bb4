//! Every engine through keys, ballots, aggregation and labels.

use super::*;
use shield_core::engine::noisy_argmax::argmax as argmax_of;
use shield_core::shared_noise::Shares;

use crate::bundle::{BundleReader, BundleWriter, Content};
use crate::cast_counts;
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
}

#[test]
fn the_clear_engine_is_the_clear_operator() {
    is_the_clear_operator(9, "polynomial = \"X^2+X\"\nengine = \"clear\"");
}

#[cfg(feature = "tfhe")]
#[test]
fn tfhe_is_the_clear_operator() {
    is_the_clear_operator(3, "polynomial = \"X^2+X\"\nengine = \"tfhe\"");
}

#[test]
fn proven_ballots_are_the_clear_operators() {
    is_the_clear_operator(9, "polynomial = \"X^2+X\"\nproofs = true");
}

/// Another's votes under the name of the one who sends them: refused when ballots are frozen, by
/// teacher and file.
#[test]
fn a_proof_does_not_go_with_another_name() {
    let held = Held::with(9, "polynomial = \"X^2+X\"\nproofs = true");
    held.all_vote(4);
    let mut bytes = std::fs::read(held.path("ballots").join(TEACHERS[0])).unwrap();
    let mut reader = BundleReader::ballot(&bytes[..], &held.file.digest(), 1).unwrap();
    let part = reader.part(bytes.len()).unwrap().unwrap();
    let digest = held.file.digest();
    bytes.clear();
    let content = Content::Ballot { teacher: 4 };
    BundleWriter::new(&mut bytes, content, &digest, 1).unwrap().part(&part).unwrap();
    std::fs::write(held.path("ballots").join("stolen"), bytes).unwrap();
    let said = held.aggregate("results", 7).unwrap_err().to_string();
    assert!(said.contains("stolen") && said.contains("teacher 4"), "{said}");
    assert!(!held.path("results").exists());
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
    is_the_argmax(9, "proofs = true");
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

#[cfg(not(feature = "tfhe"))]
#[test]
fn a_program_without_an_engine_says_how_to_get_it() {
    let text = "name = \"a\"\ngroup = \"g\"\nclasses = 3\nsamples = 3\nquorum = 1\n\
                teachers = [\"t\"]\nengine = \"tfhe\"";
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

/// Five teachers send counts of up to 40 voters. The labels are the argmax of counts and noise,
/// where the noise is what the teachers' generators gave: recomputed here, ties and all.
#[test]
fn counts_go_over_files_with_the_labels_of_the_clear_argmax_on_the_same_noise() {
    let samples = 120;
    let lines = "mechanism = \"noisy-argmax\"\nnoise = 4.0\ndropouts = 2\nvoters_per_teacher = 40";
    let held = Held::with(samples, lines);
    let argmax = held.file.spec().argmax().unwrap();
    let shares = Shares::new(&argmax.noise);
    let mut sums = vec![[0_i64; 3]; samples];
    for (teacher, name) in TEACHERS.iter().enumerate().take(4) {
        // Two thirds of the samples are ties, but for the noise; some abstain.
        let count = |sample: usize, class: usize| match (sample + teacher) % 3 {
            0 => [20, 20, 0][class],
            1 => [13, 13, 13][class],
            _ => [0, 0, u32::try_from(sample % 41).unwrap()][class],
        };
        let counts: Vec<Vec<u32>> =
            (0..samples).map(|sample| (0..3).map(|class| count(sample, class)).collect()).collect();
        let (out, seed) = (held.path("ballots").join(name), 100 + teacher as u64);
        let made = cast_counts(&held.file, &held.keys.public, name, &counts, &out, &mut rng(seed))
            .unwrap();
        let nobody = counts.iter().filter(|counts| counts.iter().all(|&count| count == 0)).count();
        assert_eq!(made.abstentions, nobody);
        let mut same = rng(seed);
        for (sum, counts) in sums.iter_mut().zip(&counts) {
            for (sum, &count) in sum.iter_mut().zip(counts) {
                *sum += i64::from(count) + shares.share(&mut same);
            }
        }
    }
    held.aggregate("results", 7).unwrap();
    let expected: Vec<_> = sums.iter().map(|sum| Some(argmax_of(sum))).collect();
    assert_eq!(held.labels("results"), expected);
    let tie = |sum: &&[i64; 3]| {
        sum.iter().filter(|&count| count == sum.iter().max().unwrap()).count() > 1
    };
    assert!(sums.iter().filter(tie).count() > 5, "no ties to decide");
    let voted = held.path("votes");
    let error =
        cast_counts(&held.file, &held.keys.public, "elm", &[vec![41, 0, 0]], &voted, &mut rng(1));
    assert!(error.is_err() && !voted.exists(), "no ballot above the bound");
}
