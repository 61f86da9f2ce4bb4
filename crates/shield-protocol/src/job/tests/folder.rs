//! Jobs: frozen once, computed by anybody, in any order, as often as it takes.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::super::storage::{ByteRange, LocalFiles, Storage};
use super::*;
use crate::engine::faults;
use crate::{Job, Problem, Refused};
use shield_core::Watch;

impl Held {
    /// Nine samples in three batches, on which everybody but one has voted.
    fn voted() -> Self {
        let held = Self::with(9, "polynomial = \"X^2+X\"\nengine = \"clear\"");
        held.all_vote(4);
        held
    }

    pub(super) fn freeze(&self, out: &str, seed: u64) -> Result<Job, ProtocolError> {
        let (ballots, out) = (self.path("ballots"), self.path(out));
        Job::freeze(&self.inputs(&ballots), &out, None, &mut rng(seed), &Watch::default())
    }
}

fn run(job: &Job, batch: usize) -> Vec<u8> {
    let release = job.run_batch(batch).unwrap();
    job.put(batch, &release).unwrap();
    release
}

#[test]
fn a_job_gives_the_bytes_of_one_aggregation() {
    let (one, other) = (Held::voted(), Held::voted());
    // The same ballots and the same seed, in two places.
    for name in ["amber", "birch", "cedar", "dogwood"] {
        let ballot = one.path("ballots").join(name);
        fs::copy(&ballot, other.path("ballots").join(name)).unwrap();
    }
    for key in [&one.keys.evaluation, &one.keys.secret, &one.keys.public] {
        let to = other.path("keys").join(key.file_name().unwrap());
        fs::remove_file(&to).unwrap();
        fs::copy(key, &to).unwrap();
    }
    one.aggregate("results", 7).unwrap();
    let job = other.freeze("job", 7).unwrap();
    assert_eq!((job.missing(), job.ballots().voted()), (vec![0, 1, 2], 4));
    assert_eq!(job.absent(), ["elm".parse().unwrap()]);
    let early = job.finish(&other.path("results")).unwrap_err().to_string();
    assert!(early.contains("3 of 3 batches"), "{early}");
    // By several, in another order, each from the folder alone.
    for batch in [2, 0, 1] {
        run(&Job::open(&other.path("job")).unwrap(), batch);
    }
    assert_eq!(job.missing(), Vec::<usize>::new());
    job.finish(&other.path("results")).unwrap();
    job.finish(&other.path("results")).unwrap();
    let read = |held: &Held| fs::read(held.path("results")).unwrap();
    assert!(read(&one) == read(&other));
    let ballots = other.path("ballots");
    let frozen = other.inputs(&ballots).open(&Watch::default()).unwrap().frozen;
    let part = freeze::stored_part(&frozen, &other.path("job").join("seed")).unwrap();
    let seed = part.seed(crate::seed::Purpose::Draws, &frozen.digest());
    assert_eq!(other.labels("results"), other.clear_with(&[0, 1, 2, 3], &seed));
}

#[test]
fn what_is_interrupted_goes_on() {
    let held = Held::voted();
    let job = held.freeze("job", 1).unwrap();
    let first = run(&job, 0);
    faults::inject(held.file.election(), 1, 1);
    assert!(job.run_batch(1).unwrap_err().to_string().contains("batch 1"));
    // Frozen again with another generator, it is the same job.
    let again = held.freeze("job", 2).unwrap();
    assert_eq!(again.missing(), [1, 2]);
    assert!(run(&again, 0) == first && run(&job, 1) == run(&again, 1));
    // A job that was interrupted while it was frozen keeps its seed.
    fs::remove_file(held.path("job/job.toml")).unwrap();
    assert!(Job::open(&held.path("job")).is_err());
    assert!(held.freeze("job", 3).unwrap().run_batch(0).unwrap() == first);
}

#[test]
fn a_batch_has_one_release() {
    let held = Held::voted();
    let job = held.freeze("job", 1).unwrap();
    let [first, second] = [0, 1].map(|batch| job.run_batch(batch).unwrap());
    let refuse = |batch, bytes: &[u8]| job.put(batch, bytes).unwrap_err();
    for (batch, bytes) in [(1, &first[..]), (0, &first[1..]), (0, b""), (0, &second)] {
        let error = refuse(batch, bytes);
        assert!(
            matches!(error, ProtocolError::Refused(Refused { problem: Problem::Batch { .. }, .. })),
            "{error}"
        );
    }
    assert!(matches!(refuse(3, &first), ProtocolError::NoBatch { batch: 3, batches: 3 }));
    assert!(matches!(job.run_batch(3), Err(ProtocolError::NoBatch { .. })));
    job.put(0, &first).unwrap();
    job.put(0, &first).unwrap();
    // A release of these keys for this batch, but not the one that follows from the seed.
    fs::write(held.path("job/parts/1.release"), b"other").unwrap();
    let error = refuse(1, &second);
    assert!(error.to_string().contains("one release"), "{error}");
    fs::remove_file(held.path("job/parts/1.release")).unwrap();
    job.put(1, &second).unwrap();
    run(&job, 2);
    // A part that was damaged since is found before anything is written.
    let part = held.path("job/parts/2.release");
    let mut bytes = fs::read(&part).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&part, bytes).unwrap();
    assert!(job.finish(&held.path("results")).is_err() && !held.path("results").exists());
}

#[test]
fn nothing_is_drawn_a_second_time() {
    let held = Held::voted();
    let job = held.freeze("job", 1).unwrap();
    let first = job.run_batch(0).unwrap();
    for refused in [held.freeze("other", 2).map(drop), held.aggregate("results", 2).map(drop)] {
        let said = refused.unwrap_err().to_string();
        assert!(said.contains("never be answered from two draws"), "{said}");
    }
    // A late ballot, and one that changed.
    held.vote(4, "elm");
    assert!(matches!(held.freeze("job", 2), Err(ProtocolError::SecondDraw { .. })));
    fs::remove_file(held.path("ballots/elm")).unwrap();
    assert!(held.freeze("job", 2).unwrap().run_batch(0).unwrap() == first);
    fs::remove_file(held.path("ballots/amber")).unwrap();
    held.vote(0, "amber");
    let said = Job::open(&held.path("job")).unwrap().run_batch(2).unwrap_err().to_string();
    assert!(said.contains("has changed"), "{said}");
}

#[test]
fn damage_is_noticed_and_the_seed_is_private() {
    let held = Held::voted();
    held.freeze("job", 1).unwrap();
    let seed = held.path("job/seed");
    assert!(!is_open_to_others(&seed).unwrap() && !is_open_to_others(&held.path("job")).unwrap());
    for name in ["job.toml", "election.toml", "evaluation.key", "ballots.index", "seed"] {
        let path = held.path("job").join(name);
        let sound = fs::read(&path).unwrap();
        let damages = [
            sound[..sound.len() / 2].to_vec(),
            sound.iter().enumerate().map(|(i, &b)| if i == 60 { b ^ 1 } else { b }).collect(),
            Vec::new(),
        ];
        for damaged in damages {
            fs::write(&path, damaged).unwrap();
            let run = Job::open(&held.path("job")).and_then(|job| job.run_batch(0));
            let said = run.expect_err(name).to_string();
            assert!(said.contains("/job/"), "{name}: {said}");
        }
        fs::write(&path, sound).unwrap();
    }
    Job::open(&held.path("job")).unwrap().run_batch(0).unwrap();
}

/// Files of this machine that pretend to be far away: two ballots per request, all counted.
#[derive(Default)]
struct FarAway(AtomicUsize);

impl Storage for FarAway {
    fn address(&self, folder: &Path) -> io::Result<String> {
        LocalFiles.address(folder)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        LocalFiles.list(folder)
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Read + '_>> {
        LocalFiles::open(&LocalFiles, path)
    }

    fn ranges(&self, wanted: &[ByteRange]) -> io::Result<Vec<Vec<u8>>> {
        self.0.fetch_add(wanted.len(), Ordering::Relaxed);
        LocalFiles.ranges(wanted)
    }

    fn write_new(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        LocalFiles.write_new(path, content)
    }

    fn read_ahead(&self) -> usize {
        2
    }
}

#[test]
fn no_ballot_is_read_twice_whatever_order_threads_ask_in() {
    let held = Held::voted();
    held.freeze("job", 1).unwrap();
    for order in [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2], [2, 0, 3, 1]] {
        let counted = Arc::new(FarAway::default());
        let ballots = held.path("ballots");
        let inputs = Inputs { storage: counted.clone(), ..held.inputs(&ballots) };
        let checked = inputs.open(&Watch::default()).unwrap();
        let batch = checked.ballots.batch(1);
        for teacher in order {
            assert!(!batch.bytes(teacher).unwrap().is_empty());
        }
        assert_eq!(counted.0.load(Ordering::Relaxed), 4, "{order:?}");
        // Whoever wants a ballot again gets it again.
        assert!(!batch.bytes(order[0]).unwrap().is_empty());
        // A shard reads nobody else's.
        let shard = checked.ballots.batch_of(1, 1..3);
        assert!(!shard.bytes(1).unwrap().is_empty());
        assert_eq!(counted.0.load(Ordering::Relaxed), 7, "{order:?}");
    }
}
