//! Every engine through the server: an election chooses it, and the labels are the clear
//! operator's.

use rand::SeedableRng;
use shield_client as client;
use shield_core::Seed;
use shield_protocol::engine::faults;
use shield_protocol::{PlannedElection, cast_counts};
use shield_server::store::Store;

use crate::harness::{election_with, open, until, votes, wait};

/// A small election of four teachers with further lines in its file.
fn election(name: &str, samples: usize, lines: &str) -> PlannedElection {
    election_with(&format!("classes = 3\n{lines}"), name, 4, samples, 3)
}

/// Five of six teachers vote, and one of them abstains once; the labels must be the clear
/// operator's on the stored seed.
fn is_the_clear_operator(samples: usize, engine: &str) {
    let lines = format!("classes = 3\npolynomial = \"2X^2+X\"\noffset = 2\n{engine}");
    let (folder, server, parties) = open(election_with(&lines, "small", 6, samples, 4));
    let mut all: Vec<_> = (0..6).map(|teacher| Some(votes(teacher, samples))).collect();
    all[2] = None;
    all[4].as_mut().unwrap()[1] = None;
    for (teacher, votes) in all.iter().enumerate() {
        if let Some(votes) = votes {
            parties.submit(&server, teacher, votes);
        }
    }
    parties.close(&server);
    let (results, labels) = parties.fetch(&server);
    // Closing again changes nothing.
    parties.close(&server);
    assert!(parties.fetch(&server).0 == results, "{engine}");
    server.stop();
    let (seed, frozen) = wait(async {
        let store = Store::open(&folder.path().join("data"), None).await.unwrap();
        store.frozen(parties.file.name()).await.unwrap()
    });
    assert_eq!(frozen.voters.len(), 5);
    assert_eq!(labels, parties.reference(&all, &seed), "{engine}");
    if samples > 20 {
        let other = parties.reference(&all, &Seed::from_number(1));
        assert_ne!(labels, other, "the reference must be able to differ");
    }
}

#[test]
fn bfv_is_the_clear_operator() {
    is_the_clear_operator(50, "engine = \"bfv\"");
}

#[test]
fn the_clear_engine_is_the_clear_operator() {
    is_the_clear_operator(50, faults::engine_line());
}

#[cfg(feature = "tfhe")]
#[test]
fn tfhe_is_the_clear_operator() {
    is_the_clear_operator(2, "engine = \"tfhe\"");
}

/// Noise this small is 0: the label is what all voted for. So little noise costs more than any
/// usual budget.
#[test]
fn the_noisy_argmax_runs_on_the_server() {
    let lines = "mechanism = \"noisy-argmax\"\nnoise = 0.02\ndropouts = 1";
    let (_folder, server, parties) = open(election("noisy", 1, lines));
    let vote = Some(shield_core::Class(1));
    for teacher in 0..3 {
        parties.submit(&server, teacher, &[vote]);
    }
    parties.close(&server);
    assert_eq!(parties.fetch(&server).1, [vote]);
}

/// An engine that fails leaves what it has done, and the next attempt does the rest with the same
/// seed.
#[test]
fn an_aggregation_that_fails_is_tried_again() {
    let lines = format!("polynomial = \"X\"\n{}", faults::engine_line());
    let (_folder, server, parties) = open(election("fails", 9, &lines));
    assert_eq!(parties.file.batches(), 3);
    for teacher in 0..4 {
        parties.submit(&server, teacher, &votes(teacher, 9));
    }
    faults::inject(parties.file.election(), 1, 1);
    let student = server.client(&parties.student());
    let name = parties.file.name();
    client::close(&student, name).unwrap();
    let status = || client::status(&student, name).unwrap();
    until("it fails", || status().stage != "closing");
    let failed = status();
    assert_eq!((failed.stage.as_str(), failed.released_batches), ("failed", 1));
    assert!(failed.problem.unwrap().contains("batch 1"));
    parties.close(&server);
    assert_eq!(parties.fetch(&server).1.len(), 9);
}

/// Teachers send counts of up to 12 voters; with no noise to speak of, the most votes of all win.
#[test]
fn counts_run_on_the_server() {
    let lines = "engine = \"bfv\"\nmechanism = \"noisy-argmax\"\nnoise = 0.02\ndropouts = 1\n\
                 voters_per_teacher = 12\nprotects = \"voter\"";
    let (folder, server, parties) = open(election("wards", 2, lines));
    let public = parties.folder.join("public.key");
    let all = [[[7, 0, 0], [0, 6, 6]], [[0, 6, 0], [0, 0, 0]], [[0, 0, 12], [0, 1, 0]]];
    for (teacher, counts) in all.iter().enumerate() {
        let counts: Vec<Vec<u32>> = counts.iter().map(|sample| sample.to_vec()).collect();
        let (name, path) = (format!("t{teacher}"), folder.path().join(format!("{teacher}.counts")));
        let mut rng = rand::rngs::StdRng::from_os_rng();
        cast_counts(&parties.file, &public, &name, &counts, &path, &mut rng).unwrap();
        parties.send(&server, teacher, &path).unwrap();
    }
    parties.close(&server);
    let class = |class| Some(shield_core::Class(class));
    assert_eq!(parties.fetch(&server).1, [class(2), class(1)]);
}
