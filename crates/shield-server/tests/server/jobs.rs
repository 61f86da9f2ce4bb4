//! Aggregation that the server leaves to others, as jobs in its data folder.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::StdRng;
use shield_client as client;
use shield_core::Watch;
use shield_protocol::Job;
use shield_protocol::engine::faults;
use shield_protocol::job::lease::{Clock, LeaseLength, Worker};

use crate::harness::{Parties, Running, election_with, settings, until, votes};

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    fs::set_permissions(to, fs::metadata(from).unwrap().permissions()).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), &to).unwrap();
        }
    }
}

/// A clock that stands still, so many seconds after the others': no lease expires by chance.
#[derive(Debug)]
struct Still {
    late: u64,
    waits: AtomicU64,
}

impl Clock for Still {
    fn now(&self) -> u64 {
        1_800_000_000 + self.late
    }

    fn wait(&self, _: Duration) {
        let waits = self.waits.fetch_add(1, Ordering::Relaxed);
        assert!(waits < 60_000, "the other worker's batch never comes");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn worker(number: u64, late: u64) -> Worker {
    let clock = Still { late, waits: AtomicU64::default() };
    Worker::with_clock(&mut StdRng::seed_from_u64(number), Arc::new(clock))
}

fn minute() -> LeaseLength {
    LeaseLength::from_seconds(60).unwrap()
}

/// A worker on a job, as another process would be: it has the folder and nothing else.
fn work_on(job: &Path, worker: &Worker) -> usize {
    Job::open(job).unwrap().share(|_| true, worker, minute(), &Watch::default()).unwrap()
}

#[test]
fn others_aggregate_and_the_bytes_are_the_servers_own() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = Running::start_with_jobs(settings(&data));
    // Nine samples in three batches.
    let lines =
        format!("classes = 3\npolynomial = \"X^2+X\"\noffset = 2\n{}", faults::engine_line());
    let parties = Parties::create(&server, election_with(&lines, "ward", 4, 9, 3), folder.path());
    parties.submit_keys(&server);
    for teacher in [0, 1, 3] {
        parties.submit(&server, teacher, &votes(teacher, 9));
    }
    client::close(&server.client(&parties.student()), parties.file.name()).unwrap();
    let job = data.join("elections/ward");
    until("the election is frozen as a job", || job.join("job.toml").exists());
    server.stop();

    // The same ballots, in a server that does its own work.
    let other = folder.path().join("other");
    copy(&data, &other);
    let server = Running::start_plain(settings(&other));
    parties.wait(&server);
    let expected = parties.fetch(&server);
    server.stop();
    fs::remove_file(parties.folder.join("results")).unwrap();

    let server = Running::start_with_jobs(settings(&data));
    let status = || client::status(&server.client(&parties.student()), parties.file.name());
    // What is no release is put aside, and computed again.
    let part = job.join("parts/1.release");
    fs::write(&part, b"something else").unwrap();
    until("damage is put aside", || !part.exists());
    assert_eq!(status().unwrap().stage, "closing");
    // A worker that died in the middle: its lease expires for one of the others, who takes it over.
    let lease = Job::open(&job).unwrap().lease(0, &worker(3, 0), minute()).unwrap();
    std::mem::forget(lease.expect("nobody has it"));
    let computed: usize = std::thread::scope(|scope| {
        let workers = [worker(1, 30), worker(2, 90)].map(|worker| {
            let job = &job;
            scope.spawn(move || work_on(job, &worker))
        });
        workers.map(|worker| worker.join().unwrap()).into_iter().sum()
    });
    assert_eq!(computed, 3);
    parties.wait(&server);
    let found = parties.fetch(&server);
    assert!(found.0 == expected.0, "the results differ");
    assert_eq!(found.1, expected.1);
    assert_eq!(status().unwrap().released_batches, 3);
}
