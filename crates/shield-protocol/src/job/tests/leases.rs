//! Workers that share one job: who takes which batch, and what happens when one dies.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::super::lease::{Clock, LeaseLength, Worker};
use super::*;
use crate::Job;
use crate::engine::faults;
use shield_core::Watch;

fn length(seconds: u64) -> LeaseLength {
    LeaseLength::from_seconds(seconds).unwrap()
}

/// A clock that stands still, but for what a test lets pass.
#[derive(Debug)]
struct Hands {
    now: AtomicU64,
    waits: AtomicU64,
}

impl Hands {
    fn pass(&self, seconds: u64) {
        self.now.fetch_add(seconds, Ordering::Relaxed);
    }
}

impl Clock for Hands {
    fn now(&self) -> u64 {
        self.now.load(Ordering::Relaxed)
    }

    fn wait(&self, _: Duration) {
        let waits = self.waits.fetch_add(1, Ordering::Relaxed);
        assert!(waits < 60_000, "it waits for a lease that never expires");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Two workers, and the clock of both.
fn workers() -> ([Worker; 2], Arc<Hands>) {
    let clock = Arc::new(Hands { now: AtomicU64::new(1_800_000_000), waits: AtomicU64::default() });
    let worker =
        |number| Worker::with_clock(&mut rng(number), Arc::clone(&clock) as Arc<dyn Clock>);
    ([worker(1), worker(2)], clock)
}

/// A job of three batches, and the bytes of each.
fn job() -> (Held, Job, Vec<Vec<u8>>) {
    let held = Held::with(9, "polynomial = \"X^2+X\"\nengine = \"clear\"");
    held.all_vote(4);
    let job = held.freeze("job", 1).unwrap();
    let bytes = (0..3).map(|batch| job.run_batch(batch).unwrap()).collect();
    (held, job, bytes)
}

fn parts(held: &Held) -> Vec<Vec<u8>> {
    let part = |batch| fs::read(held.path("job/parts").join(format!("{batch}.release")));
    (0..3).map(|batch| part(batch).unwrap()).collect()
}

#[test]
fn a_batch_is_leased_to_one_worker_until_it_is_given_up() {
    let (held, job, bytes) = job();
    let ([one, other], _) = workers();
    let lease = job.lease(0, &one, length(60)).unwrap().unwrap();
    assert!(job.lease(0, &other, length(60)).unwrap().is_none());
    assert!(job.lease(1, &other, length(60)).unwrap().is_some());
    drop(lease);
    let lease = job.lease(0, &other, length(60)).unwrap();
    assert!(lease.is_some());
    // Nobody needs a batch that is there.
    job.put(0, &bytes[0]).unwrap();
    drop(lease);
    assert!(job.lease(0, &one, length(60)).unwrap().is_none());
    assert_eq!(fs::read_dir(held.path("job/leases")).unwrap().count(), 0);
    assert!(job.lease(3, &one, length(60)).is_err());
}

#[test]
fn an_expired_or_damaged_lease_is_taken_over() {
    let (held, job, bytes) = job();
    let ([one, other], clock) = workers();
    // A worker that died: it gives nothing up.
    std::mem::forget(job.lease(0, &one, length(1)).unwrap().unwrap());
    std::mem::forget(job.lease(1, &one, length(3600)).unwrap().unwrap());
    assert!(job.lease(0, &other, length(60)).unwrap().is_none());
    let lease = held.path("job/leases/1");
    let far = fs::read_to_string(&lease).unwrap().replace("until = ", "until = 9");
    for damaged in ["", "until = 1", "\u{0}", &far] {
        fs::write(&lease, damaged).unwrap();
        assert!(job.lease(1, &other, length(60)).unwrap().is_some(), "{damaged}");
    }
    // Until the second that a lease ends with is over.
    clock.pass(1);
    assert!(job.lease(0, &other, length(60)).unwrap().is_none());
    clock.pass(1);
    assert_eq!(job.share(|_| true, &other, length(60), &Watch::default()).unwrap(), 3);
    assert!(parts(&held) == bytes);
}

#[test]
fn a_lease_is_renewed_while_its_holder_works() {
    let (held, job, _) = job();
    let ([one, other], clock) = workers();
    let lease = job.lease(0, &one, length(3)).unwrap().unwrap();
    let until = || fs::read_to_string(held.path("job/leases/0")).unwrap_or_default();
    let first = until();
    clock.pass(2);
    lease.during(|| {
        let start = Instant::now();
        while until() == first {
            assert!(start.elapsed() < Duration::from_mins(2), "it is not renewed");
            std::thread::sleep(Duration::from_millis(20));
        }
        // By now the first would have ended.
        clock.pass(2);
        assert!(job.lease(0, &other, length(1)).unwrap().is_none());
    });
}

#[test]
fn a_slow_worker_gives_nothing_up_that_another_has() {
    let (held, job, _) = job();
    let ([one, other], _) = workers();
    let slow = job.lease(0, &one, length(1)).unwrap().unwrap();
    let lease = held.path("job/leases/0");
    let expired = fs::read_to_string(&lease).unwrap();
    let expired = expired.replace("until = ", "until = 1 #");
    fs::write(&lease, expired).unwrap();
    let _held = job.lease(0, &other, length(60)).unwrap().unwrap();
    drop(slow);
    assert!(job.lease(0, &one, length(60)).unwrap().is_none());
}

#[test]
fn workers_share_a_job_and_a_failure_is_left_to_others() {
    let (held, job, bytes) = job();
    let ([one, other], _) = workers();
    faults::inject(held.file.election(), 0, 1);
    assert!(job.share(|_| true, &one, length(60), &Watch::default()).is_err());
    let computed = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for worker in [&one, &other] {
            let (path, computed) = (held.path("job"), &computed);
            scope.spawn(move || {
                let job = Job::open(&path).unwrap();
                let own = job.share(|_| true, worker, length(60), &Watch::default()).unwrap();
                computed.fetch_add(own, Ordering::Relaxed);
            });
        }
    });
    assert_eq!(computed.load(Ordering::Relaxed), 3);
    assert!(parts(&held) == bytes);
}

#[test]
fn a_job_with_its_ballots_inside_can_be_moved() {
    let held = Held::with(9, "polynomial = \"X^2+X\"\nengine = \"clear\"");
    held.all_vote(4);
    fs::create_dir(held.path("job")).unwrap();
    fs::rename(held.path("ballots"), held.path("job/ballots")).unwrap();
    let (ballots, out) = (held.path("job/ballots"), held.path("job"));
    let inputs = held.inputs(&ballots);
    let job = Job::freeze(&inputs, &out, None, &mut rng(1), &Watch::default()).unwrap();
    let first = job.run_batch(0).unwrap();
    fs::rename(held.path("job"), held.path("moved")).unwrap();
    assert!(Job::open(&held.path("moved")).unwrap().run_batch(0).unwrap() == first);
}
