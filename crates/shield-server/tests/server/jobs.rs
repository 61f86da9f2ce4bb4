//! Aggregation that the server leaves to others, as jobs in a folder.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand::rngs::StdRng;
use shield_client as client;
use shield_protocol::engine::faults;
use shield_protocol::job::lease::{LeaseLength, Worker};
use shield_protocol::{ElectionFile, Job};

use crate::harness::{Parties, Running, settings, votes};

/// Nine samples in three batches.
fn election(name: &str) -> ElectionFile {
    let text = format!(
        "name = \"{name}\"\ngroup = \"everybody\"\nclasses = 3\nsamples = 9\npolynomial = \
         \"X^2+X\"\noffset = 2\n{}\nquorum = 3\n\
         teachers = [\"t0\", \"t1\", \"t2\", \"t3\"]\n",
        faults::engine_line()
    );
    ElectionFile::parse(&text).expect("a sound file")
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_mins(1), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

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

/// A worker on a job, as another process would be: it has the folder and nothing else.
fn work_on(job: &Path, worker: u64) -> usize {
    let worker = Worker::new(&mut StdRng::seed_from_u64(worker));
    let length = LeaseLength::from_seconds(2).unwrap();
    Job::open(job).unwrap().share(|_| true, &worker, length, &|_| {}).unwrap()
}

#[test]
fn others_aggregate_and_the_bytes_are_the_servers_own() {
    let folder = tempfile::tempdir().unwrap();
    let (data, jobs) = (folder.path().join("data"), folder.path().join("jobs"));
    let server = Running::start_with_jobs(settings(&data), &jobs);
    let parties = Parties::create(&server, election("ward"), folder.path());
    parties.submit_keys(&server);
    for teacher in [0, 1, 3] {
        parties.submit(&server, teacher, &votes(teacher, 9));
    }
    client::close(&server.client(&parties.student()), parties.file.name()).unwrap();
    let job = jobs.join("ward");
    wait_until("the election is frozen as a job", || job.join("job.toml").exists());
    server.stop();

    // The same ballots, in a server that does its own work.
    let other = folder.path().join("other");
    copy(&data, &other);
    let server = Running::start_plain(settings(&other));
    parties.wait(&server);
    let expected = parties.fetch(&server);
    server.stop();
    fs::remove_file(parties.folder.join("results")).unwrap();

    let server = Running::start_with_jobs(settings(&data), &jobs);
    let status = || client::status(&server.client(&parties.student()), parties.file.name());
    // What is no release is put aside, and computed again.
    let part = job.join("parts/1.release");
    fs::write(&part, b"something else").unwrap();
    wait_until("damage is put aside", || !part.exists());
    assert_eq!(status().unwrap().stage, "closing");
    // A worker that died in the middle: its lease expires, and the others take it over.
    let dead = Worker::new(&mut StdRng::seed_from_u64(3));
    let lease = Job::open(&job).unwrap();
    let lease = lease.lease(0, &dead, LeaseLength::from_seconds(1).unwrap()).unwrap();
    std::mem::forget(lease.expect("nobody has it"));
    let computed: usize = std::thread::scope(|scope| {
        let workers = [1, 2].map(|worker| {
            scope.spawn({
                let job = &job;
                move || work_on(job, worker)
            })
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

#[test]
fn a_folder_that_others_can_read_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let said = shield_server::Aggregation::jobs_in(folder.path()).unwrap_err().to_string();
    assert!(said.contains("chmod 700"), "{said}");
}
