//! The labels that come out, and that they come out once.

use std::fs;
use std::path::{Path, PathBuf};

use rand::rngs::StdRng;
use rand::{CryptoRng, RngCore, SeedableRng};
use shield_core::Watch;
use shield_core::engine::{ClearEngine, ClearKey, Engine, MemoryBallotBox};
use shield_core::{Class, Label, Seed, Vote};
use tempfile::TempDir;

use super::freeze;
use super::{Aggregated, Inputs, aggregate};
use crate::engine::BallotBytes;
use crate::private::is_open_to_others;
use crate::{ElectionFile, KeyFiles, PlannedElection, ProtocolError, cast, make_keys, reveal};

mod audits;
mod engines;
mod folder;
mod leases;
mod refusals;

const TEACHERS: [&str; 5] = ["amber", "birch", "cedar", "dogwood", "elm"];

fn rng(seed: u64) -> StdRng {
    StdRng::seed_from_u64(seed)
}

/// An election that is being held, in a folder of its own.
struct Held {
    folder: TempDir,
    file: PlannedElection,
    votes: Vec<Vec<Vote>>,
    keys: KeyFiles,
}

impl Held {
    fn new(samples: usize, polynomial: &str) -> Self {
        Self::with(samples, &format!("polynomial = \"{polynomial}\""))
    }

    /// With further lines in the election file.
    fn with(samples: usize, lines: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let text = format!(
            "name = \"ward-7\"\ngroup = \"wards\"\nclasses = 3\nsamples = {samples}\n\
             {lines}\nquorum = 3\nteachers = {TEACHERS:?}\n"
        );
        let file = ElectionFile::parse(&text).unwrap().plan();
        // Every teacher leans to a class of its own; the second abstains now and then.
        let vote = |teacher: usize, sample: usize| {
            let class =
                if (sample + teacher).is_multiple_of(4) { sample + teacher } else { sample };
            let class = Class(u16::try_from(class % 3).unwrap());
            (teacher != 1 || !sample.is_multiple_of(5)).then_some(class)
        };
        let votes = (0..5).map(|t| (0..samples).map(|s| vote(t, s)).collect()).collect();
        fs::create_dir(folder.path().join("ballots")).unwrap();
        let keys = make_keys(&file, &folder.path().join("keys"), &mut rng(1)).unwrap().files;
        Self { folder, file, votes, keys }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn vote(&self, teacher: usize, name: &str) -> PathBuf {
        let out = self.path("ballots").join(name);
        let mut rng = StdRng::from_os_rng();
        let own = &self.votes[teacher];
        cast(&self.file, &self.keys.public, TEACHERS[teacher], own, &out, &mut rng).unwrap();
        out
    }

    /// The first so many teachers vote.
    fn all_vote(&self, teachers: usize) {
        for (teacher, name) in TEACHERS.iter().enumerate().take(teachers) {
            self.vote(teacher, name);
        }
    }

    fn aggregate(&self, out: &str, seed: u64) -> Result<Aggregated, ProtocolError> {
        self.aggregate_with(None, out, seed)
    }

    /// With the part of the seed that was committed to.
    fn aggregate_with(
        &self,
        part: Option<&Path>,
        out: &str,
        seed: u64,
    ) -> Result<Aggregated, ProtocolError> {
        let (ballots, out) = (self.path("ballots"), self.path(out));
        aggregate(&self.inputs(&ballots), &out, part, &mut rng(seed), &Watch::default())
    }

    fn inputs<'a>(&'a self, ballots: &'a Path) -> Inputs<'a> {
        Inputs::new(&self.file, &self.keys.evaluation, ballots)
    }

    fn labels(&self, results: &str) -> Vec<Label> {
        let labels = reveal(&self.file, &self.keys.secret, &self.path(results)).unwrap();
        labels.as_slice().to_vec()
    }

    /// What the operator says in the clear, if only `voters` voted.
    fn clear(&self, voters: &[usize], results: &Path) -> Vec<Label> {
        self.clear_with(voters, &freeze::seed_of(results))
    }

    fn clear_with(&self, voters: &[usize], seed: &Seed) -> Vec<Label> {
        let backend = ClearEngine::new(self.file.election().clone());
        let mut labels = Vec::new();
        for batch in 0..backend.batches() {
            let samples = backend.batch(batch);
            let ballot = |teacher: usize| {
                let own = &self.votes[teacher][samples.clone()];
                let cast = backend.encrypt(&ClearKey::default(), batch, own, &mut rng(0)).unwrap();
                voters.contains(&teacher).then_some(cast)
            };
            let ballots = MemoryBallotBox::new(samples.len(), (0..5).map(ballot).collect());
            let release = backend.aggregate(&ClearKey::default(), batch, &ballots, seed).unwrap();
            labels.extend(backend.decrypt(&ClearKey::default(), batch, &release).unwrap());
        }
        labels
    }
}

#[test]
fn labels_are_those_of_the_clear_operator_for_the_stored_seed() {
    let held = Held::new(24, "2X^2+X");
    for teacher in [4, 0, 1, 3] {
        held.vote(teacher, &format!("from-{teacher}"));
    }
    let done = held.aggregate("results", 7).unwrap();
    assert_eq!(done.voters, [(3, 5), (4, 19)]);
    assert_eq!(done.missing, ["cedar".parse().unwrap()]);
    let labels = held.labels("results");
    assert_eq!(labels, held.clear(&[0, 1, 3, 4], &held.path("results")));
    assert!(labels.iter().all(Option::is_some));
}

#[test]
fn elections_of_several_batches_come_out_too() {
    // Rounds of this degree have small batches.
    let held = Held::with(2500, "polynomial = \"X^4+X\"");
    assert!(held.file.batches() > 1, "the test needs several batches");
    held.all_vote(5);
    held.aggregate("results", 7).unwrap();
    assert_eq!(held.labels("results"), held.clear(&[0, 1, 2, 3, 4], &held.path("results")));
}

#[test]
fn one_set_of_ballots_has_one_release() {
    let held = Held::new(6, "X");
    held.all_vote(4);
    let (results, seed) = (held.path("results"), held.path("results.seed"));
    let first = held.aggregate("results", 7).unwrap();
    assert!(!first.again && first.seed == seed);
    let bytes = fs::read(&results).unwrap();

    // Again, after an interruption that lost the results, the record, or nothing: the same bytes.
    let record = held.path("ballots").join(freeze::RECORD);
    for lost in [None, Some(&results), Some(&record)] {
        if let Some(path) = lost {
            fs::remove_file(path).unwrap();
        }
        assert!(held.aggregate("results", 8).unwrap().again);
        assert!(fs::read(&results).unwrap() == bytes, "lost: {lost:?}");
    }
    // The same ballot under a second name is no other ballot.
    let copy = held.path("ballots/copy");
    fs::copy(held.path("ballots/amber"), &copy).unwrap();
    held.aggregate("results", 8).unwrap();
    assert!(fs::read(&results).unwrap() == bytes);
    fs::remove_file(copy).unwrap();

    let refused = |out: &str, words: &[&str]| {
        let error = held.aggregate(out, 8).expect_err("a second draw");
        assert!(matches!(error, ProtocolError::SecondDraw { .. }), "{error}");
        let said = error.to_string();
        for word in words.iter().chain(&["two draws"]) {
            assert!(said.contains(word), "{word}: {said}");
        }
    };
    // The same ballots into another file.
    refused("elsewhere", &["aggregated.toml", "results", "elsewhere.seed"]);
    // Another set: one more, one that is another, one less.
    held.vote(4, "elm");
    refused("results", &["the ballot of `elm` was not there", "new election"]);
    fs::remove_file(held.path("ballots/elm")).unwrap();
    fs::rename(held.path("ballots/birch"), held.path("kept")).unwrap();
    refused("results", &["the ballot of `birch` is missing"]);
    held.vote(1, "birch");
    refused("results", &["the ballot of `birch` was another one"]);
    // Without the record, the seed still knows its ballots.
    fs::rename(&record, held.path("record")).unwrap();
    refused("results", &["results.seed", "another set of ballots"]);
    fs::rename(held.path("kept"), held.path("ballots/birch")).unwrap();
    fs::rename(held.path("record"), &record).unwrap();
    // Another seed, drawn in between for the same ballots.
    fs::rename(&record, held.path("record")).unwrap();
    held.aggregate("elsewhere", 9).unwrap();
    refused("results", &["elsewhere", "another seed"]);
    fs::rename(held.path("record"), &record).unwrap();
    refused("elsewhere", &["another seed"]);
    // Results whose seed was lost.
    fs::rename(&seed, held.path("seed")).unwrap();
    refused("results", &["aggregated.toml", "results.seed"]);
    fs::remove_file(&record).unwrap();
    refused("results", &["restore the seed"]);
    // And a seed that was damaged.
    let mut damaged = fs::read(held.path("seed")).unwrap();
    damaged[80] ^= 1;
    fs::write(&seed, damaged).unwrap();
    assert!(held.aggregate("results", 8).unwrap_err().to_string().contains("damaged"));
    assert!(fs::read(&results).unwrap() == bytes, "whatever was refused, the results stay");
}

#[test]
fn a_ballot_that_changes_while_it_is_needed_is_noticed() {
    let held = Held::new(6, "X");
    let path = held.vote(0, "amber");
    let ballots = held.path("ballots");
    let checked = held.inputs(&ballots).open(&Watch::default()).unwrap();
    let open = || checked.ballots.batch(0).bytes(0).map(drop);
    open().unwrap();
    fs::remove_file(&path).unwrap();
    held.vote(0, "amber");
    let said = open().unwrap_err().to_string();
    assert!(said.contains("amber") && said.contains("has changed"), "{said}");
    fs::write(&path, "short").unwrap();
    assert!(open().unwrap_err().to_string().contains("has changed"));
}

/// A generator that lets somebody else write a file when it is first asked.
struct Meanwhile<'a> {
    rng: StdRng,
    file: Option<&'a Path>,
}

impl Meanwhile<'_> {
    fn asked(&mut self) -> &mut StdRng {
        if let Some(path) = self.file.take() {
            fs::write(path, "another").unwrap();
        }
        &mut self.rng
    }
}

impl RngCore for Meanwhile<'_> {
    fn next_u32(&mut self) -> u32 {
        self.asked().next_u32()
    }

    fn next_u64(&mut self) -> u64 {
        self.asked().next_u64()
    }

    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        self.asked().fill_bytes(bytes);
    }
}

impl CryptoRng for Meanwhile<'_> {}

#[test]
fn a_ballot_that_appears_meanwhile_is_not_overwritten() {
    let held = Held::new(6, "X");
    let out = held.path("ballots/amber");
    let mut rng = Meanwhile { rng: rng(3), file: Some(&out) };
    let cast = cast(&held.file, &held.keys.public, "amber", &held.votes[0], &out, &mut rng);
    let error = cast.expect_err("another ballot");
    assert!(
        error.is_bad_input() && error.to_string().contains("there is a file already"),
        "{error}"
    );
    assert_eq!(fs::read(&out).unwrap(), b"another");
    assert_eq!(fs::read_dir(held.path("ballots")).unwrap().count(), 1, "nothing is left over");
}

#[test]
fn seeds_and_secret_keys_are_for_their_owner() {
    let held = Held::new(6, "X");
    held.all_vote(4);
    held.aggregate("results", 7).unwrap();
    #[cfg(unix)]
    for secret in [&held.keys.secret, &held.path("results.seed")] {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(secret).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", secret.display());
        assert!(!is_open_to_others(secret).unwrap());
        fs::set_permissions(secret, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(is_open_to_others(secret).unwrap());
    }
    let left: Vec<_> = fs::read_dir(held.path("keys")).unwrap().collect();
    assert_eq!(left.len(), 3, "{left:?}");
}

#[test]
fn keys_are_all_written_or_none() {
    for name in ["secret.key", "public.key", "evaluation.key"] {
        let held = Held::new(6, "X");
        let folder = held.path("other");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join(name), "mine").unwrap();
        let error = make_keys(&held.file, &folder, &mut rng(2)).unwrap_err();
        assert!(error.is_bad_input() && error.to_string().contains(name), "{error}");
        assert_eq!(fs::read(folder.join(name)).unwrap(), b"mine");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    }
}
