//! Every engine through the server: an election chooses it, and the labels are the clear
//! operator's.

use rand::SeedableRng;
use shield_client as client;
use shield_protocol::engine::faults;
use shield_protocol::{ElectionFile, cast_counts};
use shield_server::store::Store;

use crate::harness::{Parties, Running, settings, votes};

/// A small election with further lines in its file.
fn election(name: &str, samples: usize, lines: &str) -> ElectionFile {
    let text = format!(
        "name = \"{name}\"\ngroup = \"everybody\"\nclasses = 3\nsamples = {samples}\n{lines}\n\
         quorum = 3\nteachers = [\"t0\", \"t1\", \"t2\", \"t3\"]\n"
    );
    ElectionFile::parse(&text).expect("a sound file")
}

/// Three of four teachers vote; the labels must be the clear operator's on the stored seed.
fn is_the_clear_operator(samples: usize, engine: &str) {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = Running::start(settings(&data));
    let lines = format!("polynomial = \"X^2+X\"\noffset = 2\n{engine}");
    let parties = Parties::create(&server, election("small", samples, &lines), folder.path());
    parties.submit_keys(&server);
    let mut all: Vec<_> = (0..4).map(|teacher| Some(votes(teacher, samples))).collect();
    all[1] = None;
    for (teacher, votes) in all.iter().enumerate() {
        if let Some(votes) = votes {
            parties.submit(&server, teacher, votes);
        }
    }
    client::close(&server.client(&parties.student()), parties.file.name()).unwrap();
    parties.wait(&server);
    let (_, labels) = parties.fetch(&server);
    server.stop();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let seed = runtime.block_on(async {
        let store = Store::open(&data, None).await.unwrap();
        store.frozen(parties.file.name()).await.unwrap().0
    });
    assert_eq!(labels, parties.reference(&all, &seed), "{engine}");
}

#[test]
fn bfv_is_the_clear_operator() {
    is_the_clear_operator(9, "engine = \"bfv\"");
    is_the_clear_operator(9, "release = \"composable\"");
}

#[test]
fn the_clear_engine_is_the_clear_operator() {
    is_the_clear_operator(9, faults::engine_line());
}

#[cfg(feature = "tfhe")]
#[test]
fn tfhe_is_the_clear_operator() {
    is_the_clear_operator(2, "engine = \"tfhe-leveled\"");
    is_the_clear_operator(2, "engine = \"tfhe-leveled\"\nupload = \"compact\"");
    is_the_clear_operator(1, "engine = \"tfhe-bootstrapped\"");
}

/// Noise this small is 0: the label is what all voted for. So little noise costs more than any
/// usual budget.
fn runs_the_noisy_argmax(engine: &str) {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(settings(&folder.path().join("data")));
    let lines =
        format!("engine = \"{engine}\"\nmechanism = \"noisy-argmax\"\nnoise = 0.02\ndropouts = 1");
    let parties = Parties::create(&server, election("noisy", 1, &lines), folder.path());
    parties.submit_keys(&server);
    let vote = Some(shield::Class(1));
    for teacher in 0..3 {
        parties.submit(&server, teacher, &[vote]);
    }
    client::close(&server.client(&parties.student()), parties.file.name()).unwrap();
    parties.wait(&server);
    assert_eq!(parties.fetch(&server).1, [vote]);
}

#[test]
fn the_noisy_argmax_of_bfv_runs_on_the_server() {
    runs_the_noisy_argmax("bfv");
}

#[cfg(feature = "tfhe")]
#[test]
fn the_noisy_argmax_of_tfhe_runs_on_the_server() {
    runs_the_noisy_argmax("tfhe-bootstrapped");
}

/// An engine that fails leaves what it has done, and the next attempt does the rest with the same
/// seed.
#[test]
fn an_aggregation_that_fails_is_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(settings(&folder.path().join("data")));
    let lines = format!("polynomial = \"X\"\n{}", faults::engine_line());
    let parties = Parties::create(&server, election("fails", 9, &lines), folder.path());
    assert_eq!(parties.file.batches(), 3);
    parties.submit_keys(&server);
    for teacher in 0..4 {
        parties.submit(&server, teacher, &votes(teacher, 9));
    }
    faults::inject(parties.file.election(), 1, 1);
    let student = server.client(&parties.student());
    let name = parties.file.name();
    client::close(&student, name).unwrap();
    let failed = loop {
        let status = client::status(&student, name).unwrap();
        if status.stage != "closing" {
            break status;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    };
    assert_eq!((failed.stage.as_str(), failed.released_batches), ("failed", 1));
    assert!(failed.problem.unwrap().contains("batch 1"));
    client::close(&student, name).unwrap();
    parties.wait(&server);
    assert_eq!(parties.fetch(&server).1.len(), 9);
}

/// Teachers send counts of up to 12 voters; with no noise to speak of, the most votes of all win.
#[test]
fn counts_run_on_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(settings(&folder.path().join("data")));
    let lines = "engine = \"bfv\"\nmechanism = \"noisy-argmax\"\nnoise = 0.02\ndropouts = 1\n\
                 voters_per_teacher = 12\nprotects = \"voter\"";
    let parties = Parties::create(&server, election("wards", 2, lines), folder.path());
    parties.submit_keys(&server);
    let public = parties.folder.join("public.key");
    let all = [[[7, 0, 0], [0, 6, 6]], [[0, 6, 0], [0, 0, 0]], [[0, 0, 12], [0, 1, 0]]];
    for (teacher, counts) in all.iter().enumerate() {
        let counts: Vec<Vec<u32>> = counts.iter().map(|sample| sample.to_vec()).collect();
        let (name, path) = (format!("t{teacher}"), folder.path().join(format!("{teacher}.counts")));
        let mut rng = rand::rngs::StdRng::from_os_rng();
        cast_counts(&parties.file, &public, &name, &counts, &path, &mut rng).unwrap();
        let invitation = parties.teacher(teacher);
        client::submit_ballot(&server.client(&invitation), &invitation, &path, |_, _| {}).unwrap();
    }
    client::close(&server.client(&parties.student()), parties.file.name()).unwrap();
    parties.wait(&server);
    let class = |class| Some(shield::Class(class));
    assert_eq!(parties.fetch(&server).1, [class(2), class(1)]);
}
