//! What student, server and auditor refuse in an audit: each safeguard alone.

use std::collections::{BTreeMap, BTreeSet};

use super::super::audit::{self, Answer, Question, judge};
use super::super::freeze::Frozen;
use super::super::verify::{Released, verify};
use super::*;
use crate::bundle::{BundleReader, BundleWriter, Content};
use crate::engine::Alarm;
use crate::hex::hex;
use crate::receipt::Receipt;
use crate::rehearsal::{Rehearsal, RehearsalError};
use crate::transcript::{AskedBatch, MOST_ROUNDS, Round, Transcript, transcript_path};
use crate::{Name, inspect};
use shield_core::Watch;

/// An election with one cheat, and everything that an audit of it makes.
struct Audited {
    held: Held,
    question: PathBuf,
    made: PathBuf,
    answer: PathBuf,
}

impl Audited {
    fn new() -> Self {
        let held = Held::new(24, "2X^2+X");
        for teacher in [0, 1, 2, 4] {
            held.vote(teacher, TEACHERS[teacher]);
        }
        held.cheat(3, &[2, 3, 5]);
        held.aggregate("results", 7).unwrap();
        let [question, made, answer] = ["question", "audit", "answer"].map(|name| held.path(name));
        let (ballots, results) = (held.path("ballots"), held.path("results"));
        audit::ask(&held.file, &held.keys.secret, &results, &question).unwrap();
        let (inputs, released) = (held.inputs(&ballots), held.released("results"));
        audit::check(&inputs, &released, &question, &made, &Watch::default()).unwrap();
        Self { held, question, made, answer }
    }

    fn transcript(&self) -> Transcript {
        let path = transcript_path(&self.held.path("results"));
        Transcript::read(&path, &self.held.file).unwrap()
    }

    fn answered(&self, made: &Path, out: &Path) -> Result<Answer, String> {
        let (file, secret) = (&self.held.file, &self.held.keys.secret);
        audit::answer(file, secret, &self.held.path("results"), made, out)
            .map_err(|error| error.to_string())
    }

    fn again(&self, answer: &Path, out: &str) -> Result<audit::Repaired, String> {
        let (ballots, released) = (self.held.path("ballots"), self.held.released("results"));
        let (inputs, out) = (self.held.inputs(&ballots), self.held.path(out));
        audit::again(&inputs, &released, answer, &out, &Watch::default())
            .map_err(|error| error.to_string())
    }
}

fn said(found: Result<impl Sized, String>, words: &str) {
    let error = found.err().unwrap_or_else(|| panic!("this was accepted; expected: {words}"));
    assert!(error.contains(words), "{words}: {error}");
}

#[test]
fn an_answer_names_somebody_and_at_most_a_third() {
    let file = Held::new(8, "X").file;
    let ballots: BTreeMap<_, _> =
        TEACHERS.iter().map(|name| ((*name).to_owned(), "00".to_owned())).collect();
    let transcript = Transcript {
        election: hex(&file.digest()),
        evaluation_key: String::new(),
        commitment: String::new(),
        turnout: vec![],
        ballots,
        rounds: vec![],
    };
    let judged = |accused: &[u32]| {
        let accused: BTreeSet<u32> = accused.iter().copied().collect();
        judge(&file, &transcript, &accused).map_err(|error| error.to_string())
    };
    assert_eq!(judged(&[3]).unwrap(), ["dogwood".parse::<Name>().unwrap()]);
    said(judged(&[]), "no ballot is at fault");
    said(judged(&[1, 3]), "2 of 5 voters");
}

#[test]
fn a_question_is_about_these_results_and_asked_a_few_times_at_most() {
    let held = Held::new(24, "X");
    held.all_vote(4);
    held.aggregate("results", 7).unwrap();
    let path = transcript_path(&held.path("results"));
    let mut transcript = Transcript::read(&path, &held.file).unwrap();
    let mut found = inspect(&held.file, &held.keys.secret, &held.path("results")).unwrap();
    assert!(Question::new(&held.file, &found).is_err(), "nothing is spoiled");
    found.alarms = vec![(4, Alarm::NoLabel), (7, Alarm::SeveralLabels), (9, Alarm::NoLabel)];
    let question = Question::new(&held.file, &found).unwrap();
    let asked = vec![AskedBatch { batch: 0, samples: vec![4, 9] }];
    assert_eq!(question.asked, asked, "a sample that showed something is not drawn again");
    question.check(&held.file, &transcript).unwrap();
    let check =
        |question: Question, transcript: &Transcript| question.check(&held.file, transcript);
    let other = Question { election: "00".to_owned(), ..question.clone() };
    said(check(other, &transcript), "another election");
    let other = Question { results: "00".to_owned(), ..question.clone() };
    said(check(other, &transcript), "other results");
    for samples in [vec![], vec![9, 4], vec![4, 4], vec![24]] {
        let asked = vec![AskedBatch { batch: 0, samples }];
        said(check(Question { asked, ..question.clone() }, &transcript), "does not have");
    }
    let round = Round { asked, accused: vec!["elm".parse().unwrap()] };
    transcript.rounds = vec![round.clone(); MOST_ROUNDS];
    assert!(Transcript::decode(&transcript.encode(), &held.file).is_some());
    found.transcript = transcript.clone();
    let last = Question::new(&held.file, &found).unwrap();
    said(check(last, &transcript), "hold a new election");
    transcript.rounds.push(round);
    assert!(Transcript::decode(&transcript.encode(), &held.file).is_none(), "too many rounds");
    transcript.rounds.truncate(1);
    transcript.rounds[0].asked[0].samples = vec![24];
    assert!(Transcript::decode(&transcript.encode(), &held.file).is_none(), "no such sample");
}

/// The server asks about a sample that raised no alarm, in the place of the student's question.
#[test]
fn a_student_answers_its_own_question_and_each_once() {
    let audited = Audited::new();
    let held = &audited.held;
    let text = fs::read_to_string(&audited.question).unwrap();
    let question: Question = toml::from_str(&text).unwrap();
    let swap = |from: &Path, to: &Path, change: &dyn Fn(usize, Vec<u8>) -> Vec<u8>| {
        let bytes = fs::read(from).unwrap();
        let digest = held.file.digest();
        let mut reader = BundleReader::audit(&bytes[..], &digest).unwrap();
        let file = fs::File::create(to).unwrap();
        let mut writer = BundleWriter::new(file, Content::Audit, &digest, 2).unwrap();
        for part in 0..2 {
            writer.part(&change(part, reader.part(1 << 30).unwrap().unwrap())).unwrap();
        }
    };
    let mut other = question.clone();
    other.asked[0].samples.push(20);
    let other = toml::to_string(&other).unwrap().into_bytes();
    let asked = held.path("asked");
    swap(&audited.made, &asked, &|part, own| if part == 0 { other.clone() } else { own });
    said(audited.answered(&asked, &audited.answer), "it is not answered");
    // The very same question may be answered again, and not with other checks.
    audited.answered(&audited.made, &audited.answer).unwrap();
    audited.answered(&audited.made, &audited.answer).unwrap();
    let second = held.path("second");
    swap(&audited.made, &second, &|part, mut own| {
        let last = own.len() - 1;
        own[last] ^= u8::from(part == 1);
        own
    });
    said(audited.answered(&second, &held.path("x")), "this one is not answered");
    assert!(!held.path("x").exists());
}

#[test]
fn a_server_takes_the_answer_to_its_question_once() {
    let audited = Audited::new();
    let held = &audited.held;
    let given = audited.answered(&audited.made, &audited.answer).unwrap();
    let write = |name: &str, answer: &Answer| {
        fs::write(held.path(name), toml::to_string(answer).unwrap()).unwrap();
        held.path(name)
    };
    let other = Answer { question: "00".to_owned(), ..given.clone() };
    said(audited.again(&write("a", &other), "x"), "another audit");
    let other = Answer { election: "00".to_owned(), ..given.clone() };
    said(audited.again(&write("b", &other), "x"), "another audit");
    for accused in [vec![], vec!["fir".parse().unwrap()]] {
        let other = Answer { accused, ..given.clone() };
        said(audited.again(&write("c", &other), "x"), "accuses nobody");
    }
    // Without three of five there is no quorum of three.
    let accused = ["amber", "birch", "cedar"].map(|name| name.parse().unwrap()).to_vec();
    said(audited.again(&write("d", &Answer { accused, ..given }), "x"), "quorum");
    audited.again(&audited.answer, "again").unwrap();
    // Another question in the same round.
    let text = fs::read_to_string(&audited.question).unwrap();
    let mut question: Question = toml::from_str(&text).unwrap();
    question.asked[0].samples.pop();
    let path = held.path("other.toml");
    fs::write(&path, toml::to_string(&question).unwrap()).unwrap();
    let (ballots, released) = (held.path("ballots"), held.released("results"));
    let inputs = held.inputs(&ballots);
    let other = audit::check(&inputs, &released, &path, &held.path("y"), &Watch::default());
    said(other.map_err(|error| error.to_string()), "another audit was asked");
    // Results of other ballots.
    fs::remove_file(ballots.join("elm")).unwrap();
    fs::remove_file(ballots.join("aggregated.toml")).unwrap();
    let gone =
        audit::check(&inputs, &released, &audited.question, &held.path("z"), &Watch::default());
    said(gone.map_err(|error| error.to_string()), "`elm` is missing");
    // Nor does an auditor take an urn with one more, or another turnout than the published one.
    let gone = held.verify("ballots", "again").map(drop);
    said(gone.map_err(|error| error.to_string()), "`elm` is missing");
}

/// The seed of what comes later follows from what was asked and answered.
#[test]
fn every_seed_is_bound_to_what_came_before() {
    let audited = Audited::new();
    let transcript = audited.transcript();
    let frozen = transcript.frozen().unwrap();
    let digest = frozen.digest();
    let asked = |samples: &[usize]| vec![AskedBatch { batch: 0, samples: samples.to_vec() }];
    let round = |samples: &[usize], accused: &str| {
        let accused = vec![accused.parse().unwrap()];
        let rounds = vec![Round { asked: asked(samples), accused }];
        Transcript { rounds, ..transcript.clone() }
    };
    let mut all = vec![
        digest,
        transcript.asked(&digest, &asked(&[2])),
        transcript.asked(&digest, &asked(&[3])),
        round(&[2], "elm").asked(&digest, &asked(&[2])),
        round(&[2], "elm").answered(&digest, 1),
        round(&[3], "elm").answered(&digest, 1),
        round(&[2], "fir").answered(&digest, 1),
    ];
    let mut other = frozen.clone();
    other.evaluation_key[0] ^= 1;
    all.push(other.digest());
    other = frozen.clone();
    other.ballots.get_mut("elm").unwrap()[0] ^= 1;
    all.push(other.digest());
    let part = crate::seed::SeedPart::from_bytes([7; 32]);
    let purposes =
        [crate::seed::Purpose::Draws, crate::seed::Purpose::Audit, crate::seed::Purpose::Again];
    let seed = |purpose, bound: &[u8; 32]| *part.seed(purpose, bound).as_bytes();
    let mut seeds: Vec<[u8; 32]> =
        all.iter().flat_map(|bound| purposes.map(|purpose| seed(purpose, bound))).collect();
    seeds.push(part.commitment(&[1; 32]));
    seeds.push(part.commitment(&[2; 32]));
    let count = seeds.len();
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds.len(), count);
}

#[test]
fn nobody_takes_another_election_s_part_receipt_or_transcript_or_another_turnout() {
    let held = Held::new(8, "X");
    held.all_vote(4);
    let part = held.path("part");
    freeze::commit(&[1; 32], &part, &mut rng(5)).unwrap();
    let (ballots, out) = (held.path("ballots"), held.path("results"));
    let other = held.aggregate_with(Some(&part), "results", 9);
    said(other.map_err(|error| error.to_string()), "committed for another election");
    held.aggregate("results", 7).unwrap();

    let path = transcript_path(&out);
    let mut transcript = Transcript::read(&path, &held.file).unwrap();
    let elsewhere = Held::new(8, "X^2+X").file;
    said(Transcript::read(&path, &elsewhere).map_err(|error| error.to_string()), "election");
    let receipt = Receipt::of_ballot(&held.file, &ballots.join("amber")).unwrap();
    receipt.check(&transcript).unwrap();
    let other = Receipt { election: "00".to_owned(), ..receipt };
    said(other.check(&transcript), "another election");

    let mut frozen = transcript.frozen().unwrap();
    let found =
        |frozen: &Frozen| frozen.differences(&transcript.evaluation_key, &transcript.ballots);
    assert!(found(&frozen).is_empty());
    frozen.evaluation_key[0] ^= 1;
    assert_eq!(found(&frozen), ["the evaluation key is another one"]);

    // The releases as they are, beside a turnout that looks better.
    let bytes = fs::read(&out).unwrap();
    let digest = held.file.digest();
    let mut reader = BundleReader::results(&bytes[..], &digest).unwrap();
    let release = (0..2).map(|_| reader.part(1 << 30).unwrap().unwrap()).last().unwrap();
    transcript.turnout = vec![(8, 4)];
    let to = fs::File::create(held.path("better")).unwrap();
    let mut bundle = BundleWriter::new(to, Content::Results, &digest, 2).unwrap();
    bundle.part(&transcript.encode()).unwrap();
    bundle.part(&release).unwrap();
    drop(bundle);
    let better = Released { results: held.path("better"), ..held.released("results") };
    let found = verify(&held.inputs(&ballots), &better, None, &Watch::default()).map(drop);
    said(found.map_err(|error| error.to_string()), "turnout");
}

#[test]
fn every_ballot_ends_with_bytes_that_nobody_knew() {
    let held = Held::new(8, "X");
    let nonce = |teacher: usize| {
        let bytes = fs::read(held.vote(teacher, TEACHERS[teacher])).unwrap();
        let mut reader = BundleReader::ballot(&bytes[..], &held.file.digest(), 1).unwrap();
        let part = reader.part(1 << 30).unwrap().unwrap();
        *part.last_chunk::<{ crate::engine::NONCE }>().unwrap()
    };
    let nonces = [nonce(0), nonce(1), nonce(2)];
    assert!(nonces[0] != nonces[1] && nonces[1] != nonces[2] && nonces[0] != nonces[2]);
}

#[test]
fn keys_of_two_sets_are_not_rehearsed_together() {
    let held = Held::new(8, "X");
    let other = make_keys(&held.file, &held.path("others"), &mut rng(2)).unwrap().files;
    let read = |path: &Path| fs::read(path).unwrap();
    let (public, evaluation) = (read(&held.keys.public), read(&other.evaluation));
    let refused = Rehearsal::new(&held.file, &public, &evaluation);
    assert!(matches!(refused, Err(RehearsalError::Keys)), "{refused:?}");
}

#[test]
fn ballots_results_and_seeds_of_another_version_are_refused_by_it() {
    let held = Held::new(8, "X");
    held.all_vote(4);
    let age = |path: &Path| {
        let mut bytes = fs::read(path).unwrap();
        assert_eq!(bytes[4..6], [2, 0]);
        bytes[4] = 1;
        fs::write(path, bytes).unwrap();
    };
    let mut seed = b"SHSD\x01\0\0\0".to_vec();
    seed.extend([7; 128]);
    fs::write(held.path("results.seed"), seed).unwrap();
    let refused = held.aggregate("results", 7).map_err(|error| error.to_string());
    said(refused, "a seed of format version 1, and this program reads version 2; finish");
    fs::remove_file(held.path("results.seed")).unwrap();

    held.aggregate("results", 7).unwrap();
    age(&held.path("results"));
    let results = inspect(&held.file, &held.keys.secret, &held.path("results"));
    said(results.map(drop).map_err(|error| error.to_string()), "format version 1");
    age(&held.path("ballots").join("amber"));
    let refused = held.aggregate("results", 7).map_err(|error| error.to_string());
    said(refused, "format version 1");
}
