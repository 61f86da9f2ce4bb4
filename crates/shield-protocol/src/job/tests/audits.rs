//! Cheats, audits and auditors, over files.

use std::path::Path;

use shield_bfv::BfvEngine;
use shield_core::Watch;
use shield_core::engine::{Encoding, Key};
use shield_core::framing::{Header, Kind, MadeFor, seal};

use super::super::audit;
use super::super::verify::{Released, Verified, verify};
use super::*;
use crate::bundle::{BundleReader, BundleWriter, Content};
use crate::receipt::Receipt;
use crate::rehearsal::Rehearsal;
use crate::transcript::{Transcript, transcript_path};
use crate::{Problem, Refused, inspect};

impl Held {
    fn backend(&self) -> BfvEngine {
        BfvEngine::new(self.file.election().clone()).unwrap()
    }

    /// A ballot that is no vote on some samples of the first batch.
    pub(super) fn cheat(&self, teacher: usize, cheated: &[usize]) {
        let backend = self.backend();
        let key = backend.decode_public_key(&fs::read(&self.keys.public).unwrap()).unwrap();
        let mut rng = rng(40 + teacher as u64);
        let own = &self.votes[teacher];
        let ballot = backend.forge(&key, 0, own, cheated, &mut rng).unwrap();
        let mut bytes = backend.encode_ballot(&ballot);
        bytes.extend([u8::try_from(teacher).unwrap(); 32]);
        let to = fs::File::create(self.path("ballots").join(TEACHERS[teacher])).unwrap();
        let content = Content::Ballot { teacher: u32::try_from(teacher).unwrap() };
        let mut bundle = BundleWriter::new(to, content, &self.file.digest(), 1).unwrap();
        bundle.part(&bytes).unwrap();
    }

    pub(super) fn released(&self, results: &str) -> Released {
        Released::new(&self.path(results), None)
    }

    pub(super) fn verify(&self, ballots: &str, results: &str) -> Result<Verified, ProtocolError> {
        let ballots = self.path(ballots);
        verify(&self.inputs(&ballots), &self.released(results), None, &Watch::default())
    }
}

#[test]
fn a_cheat_is_noticed_named_and_left_out() {
    let held = Held::new(24, "2X^2+X");
    for teacher in [0, 1, 2, 4] {
        held.vote(teacher, TEACHERS[teacher]);
    }
    held.cheat(3, &[2, 3, 5, 7, 11, 13]);
    held.aggregate("results", 7).unwrap();
    let first = inspect(&held.file, &held.keys.secret, &held.path("results")).unwrap();
    let spoiled = first.spoiled();
    assert!(!spoiled.is_empty() && spoiled.iter().all(|s| [2, 3, 5, 7, 11, 13].contains(s)));
    let warning = first.warning().unwrap();
    assert!(warning.contains("shield audit"), "{warning}");
    // The others are untouched.
    let reference = held.clear(&[0, 1, 2, 3, 4], &held.path("results"));
    for (sample, label) in first.labels.as_slice().iter().enumerate() {
        let expected = if spoiled.contains(&sample) { None } else { reference[sample] };
        assert_eq!(*label, expected, "sample {sample}");
    }

    let (file, secret) = (&held.file, &held.keys.secret);
    let [ballots, results] = ["ballots", "results"].map(|name| held.path(name));
    let [question, made, answer, again] =
        ["question", "audit", "answer", "again"].map(|name| held.path(name));
    let (inputs, released) = (held.inputs(&ballots), held.released("results"));
    let asked = audit::ask(file, secret, &results, &question).unwrap();
    assert_eq!(asked.samples(), spoiled.len());
    audit::check(&inputs, &released, &question, &made, &Watch::default()).unwrap();
    let bytes = fs::read(&made).unwrap();
    audit::check(&inputs, &released, &question, &made, &Watch::default()).unwrap();
    assert!(bytes == fs::read(&made).unwrap(), "the same audit");
    let named = audit::answer(file, secret, &results, &made, &answer).unwrap();
    assert_eq!(named.accused, ["dogwood".parse().unwrap()]);
    let repaired = audit::again(&inputs, &released, &answer, &again, &Watch::default()).unwrap();
    assert_eq!(repaired.voters.iter().map(|(_, n)| n).sum::<u64>(), spoiled.len() as u64);
    assert!(repaired.voters.iter().all(|&(voters, _)| voters <= 4));

    // Every sample has a label, and those that had one keep it.
    let last = inspect(file, secret, &again).unwrap();
    assert!(last.alarms.is_empty() && last.warning().is_none());
    for (sample, label) in first.labels.as_slice().iter().enumerate() {
        assert!(last.labels.as_slice()[sample].is_some());
        assert!(label.is_none() || *label == last.labels.as_slice()[sample]);
    }
    // The labels that came later are those of the others, on the draws of the later seed.
    let transcript = Transcript::read(&transcript_path(&again), file).unwrap();
    let frozen = transcript.frozen().unwrap();
    let part = freeze::stored_part(&frozen, &held.path("again.seed")).unwrap();
    let bound = transcript.answered(&frozen.digest(), 1);
    let seed = part.seed(crate::seed::Purpose::Again, &bound);
    let reference = held.clear_with(&[0, 1, 2, 4], &seed);
    for sample in spoiled {
        assert_eq!(last.labels.as_slice()[sample], reference[sample], "sample {sample}");
    }
    // An auditor agrees with both.
    for results in ["results", "again"] {
        let verified = held.verify("ballots", results).unwrap();
        assert_eq!(verified.releases, if results == "again" { 2 } else { 1 });
    }
    // Another question, or another answer, in the same place is refused.
    let other = fs::read_to_string(&answer).unwrap().replace("dogwood", "elm");
    fs::write(held.path("other"), other).unwrap();
    let refused =
        audit::again(&inputs, &released, &held.path("other"), &held.path("x"), &Watch::default())
            .unwrap_err();
    let refused =
        matches!(refused, ProtocolError::Refused(Refused { problem: Problem::OtherRound, .. }));
    assert!(refused);
}

#[test]
fn an_auditor_refuses_another_seed_another_urn_and_a_missing_ballot() {
    let held = Held::new(8, "2X^2+X");
    held.all_vote(5);
    held.aggregate("results", 7).unwrap();
    held.verify("ballots", "results").unwrap();
    let refused = |found: Result<Verified, ProtocolError>| {
        let error = found.unwrap_err();
        assert!(matches!(error, ProtocolError::Disagrees { .. }), "{error}");
        assert!(!error.is_bad_input());
        error.to_string()
    };
    let ballots = held.path("ballots");
    let (inputs, released) = (held.inputs(&ballots), held.released("results"));
    let nothing = Watch::default();
    // Another commitment was known before.
    let found = verify(&inputs, &released, Some([1; 32]), &nothing);
    assert!(refused(found).contains("given before"));
    // Another seed.
    let seed = held.path("other.seed");
    freeze::commit(&held.file.digest(), &seed, &mut rng(3)).unwrap();
    let other = Released { seed: seed.clone(), ..released.clone() };
    assert!(refused(verify(&inputs, &other, None, &nothing)).contains("committed"));
    // Results of another seed, with the transcript of the first: bytes differ.
    let second = Held::new(8, "2X^2+X");
    for name in TEACHERS {
        let to = second.path("ballots").join(name);
        fs::copy(held.path("ballots").join(name), to).unwrap();
    }
    let (out, copies) = (second.path("results"), second.path("ballots"));
    aggregate(&held.inputs(&copies), &out, None, &mut rng(8), &nothing).unwrap();
    let part_of = |path: &Path, number: usize| {
        let bytes = fs::read(path).unwrap();
        let mut reader = BundleReader::results(&bytes[..], &held.file.digest()).unwrap();
        (0..=number).map(|_| reader.part(1 << 30).unwrap().unwrap()).last().unwrap()
    };
    let mixed = held.path("mixed");
    let to = fs::File::create(&mixed).unwrap();
    let mut bundle = BundleWriter::new(to, Content::Results, &held.file.digest(), 2).unwrap();
    bundle.part(&part_of(&held.path("results"), 0)).unwrap();
    bundle.part(&part_of(&out, 1)).unwrap();
    drop(bundle);
    let other = Released { results: mixed, ..released };
    assert!(refused(verify(&inputs, &other, None, &nothing)).contains("batch 0"));
    // A missing ballot, another one, and one more.
    let urn = held.path("urn");
    fs::create_dir(&urn).unwrap();
    for name in &TEACHERS[..4] {
        fs::copy(held.path("ballots").join(name), urn.join(name)).unwrap();
    }
    let counted = || refused(held.verify("urn", "results"));
    assert!(counted().contains("`elm` is missing"));
    let mut os = StdRng::from_os_rng();
    let elm = urn.join("elm");
    cast(&held.file, &held.keys.public, "elm", &held.votes[4], &elm, &mut os).unwrap();
    assert!(counted().contains("`elm` was another one"));
}

#[test]
fn a_commitment_binds_the_seed_and_a_receipt_finds_its_ballot() {
    let held = Held::new(8, "X");
    let part = held.path("part");
    let commitment = freeze::commit(&held.file.digest(), &part, &mut rng(5)).unwrap();
    assert_eq!(freeze::commit(&held.file.digest(), &part, &mut rng(6)).unwrap(), commitment);
    assert!(!is_open_to_others(&part).unwrap());
    held.all_vote(4);
    let done = held.aggregate_with(Some(&part), "results", 9).unwrap();
    assert_eq!(done.commitment, commitment);
    let other = held.path("other");
    freeze::commit(&held.file.digest(), &other, &mut rng(7)).unwrap();
    let refused = held.aggregate_with(Some(&other), "results", 9).unwrap_err().to_string();
    assert!(refused.contains("committed"), "{refused}");
    let (ballots, out) = (held.path("ballots"), held.path("results"));
    let released = held.released("results");
    verify(&held.inputs(&ballots), &released, Some(commitment), &Watch::default()).unwrap();
    // The published transcript tells each teacher that its ballot was counted.
    let transcript = Transcript::read(&transcript_path(&out), &held.file).unwrap();
    assert!(transcript.voters().eq([3, 4, 4, 4, 4, 3, 4, 4]));
    let receipt = Receipt::of_ballot(&held.file, &ballots.join("amber")).unwrap();
    receipt.check(&transcript).unwrap();
    let late = held.path("late");
    let mut os = StdRng::from_os_rng();
    for (teacher, name) in [(4, "elm"), (0, "amber")] {
        cast(&held.file, &held.keys.public, name, &held.votes[teacher], &late, &mut os).unwrap();
        let receipt = Receipt::of_ballot(&held.file, &late).unwrap();
        assert!(receipt.check(&transcript).unwrap_err().contains("counted"));
        fs::remove_file(&late).unwrap();
    }
    let hidden = Receipt { commitment: Some("00".to_owned()), ..receipt };
    assert!(hidden.check(&transcript).unwrap_err().contains("chosen"));
}

/// What stops a copy that was made to look different: nothing in the ballot. So ballots stay
/// between their teacher and the server.
#[test]
fn a_copy_is_refused_unless_it_was_made_to_look_different() {
    let held = Held::new(24, "X");
    for teacher in [0, 1, 2, 3] {
        held.vote(teacher, TEACHERS[teacher]);
    }
    let digest = held.file.digest();
    let original = fs::read(held.path("ballots").join("amber")).unwrap();
    let mut reader = BundleReader::ballot(&original[..], &digest, 1).unwrap();
    let part = reader.part(1 << 30).unwrap().unwrap();
    let hand_in = |bytes: &[u8]| {
        let to = fs::File::create(held.path("ballots").join("elm")).unwrap();
        let content = Content::Ballot { teacher: 4 };
        let mut bundle = BundleWriter::new(to, content, &digest, 1).unwrap();
        bundle.part(bytes).unwrap();
    };
    // The very same votes, under another nonce.
    let mut other_nonce = part.clone();
    *other_nonce.last_mut().unwrap() ^= 1;
    for copy in [&part, &other_nonce] {
        hand_in(copy);
        let refused = held.aggregate("results", 7).unwrap_err().to_string();
        assert!(refused.contains("`amber`"), "{refused}");
    }
    // With an encryption of zero added, it is amber's second vote, and raises no alarm.
    let backend = held.backend();
    let key = backend.decode_public_key(&fs::read(&held.keys.public).unwrap()).unwrap();
    let own = backend.decode_ballot(&part[..part.len() - 32], 0, key.id()).unwrap();
    let copy = backend.disguise(&key, &own, &mut rng(6));
    let mut bytes = backend.encode_ballot(&copy);
    bytes.extend([4; 32]);
    hand_in(&bytes);
    held.aggregate("results", 7).unwrap();
    let found = inspect(&held.file, &held.keys.secret, &held.path("results")).unwrap();
    assert!(found.alarms.is_empty());
    let mut twice = held;
    twice.votes[4] = twice.votes[0].clone();
    let reference = twice.clear(&[0, 1, 2, 3, 4], &twice.path("results"));
    assert_eq!(found.labels.as_slice(), reference);
}

#[test]
fn a_rehearsal_finds_a_damaged_evaluation_key() {
    let held = Held::new(24, "2X^2+X");
    let read = |path: &Path| fs::read(path).unwrap();
    let (public, evaluation) = (read(&held.keys.public), read(&held.keys.evaluation));
    let rehearse = |evaluation: &[u8]| {
        let rehearsal = Rehearsal::new(&held.file, &public, evaluation).unwrap();
        (rehearsal.digest().to_owned(), rehearsal.hold(&held.file, &held.keys.secret))
    };
    let (digest, labels) = rehearse(&evaluation);
    assert_eq!(labels.unwrap(), 24);
    assert_eq!(rehearse(&evaluation).0, digest, "anyone who has the keys computes the same");
    // Residues of the relinearisation key are swapped; checksum and form are right.
    let key = Header::read(&evaluation).unwrap().key;
    let start = evaluation.len() - 32 - payload(&evaluation);
    let mut payload = evaluation[start..evaluation.len() - 32].to_vec();
    let (middle, length) = (payload.len() / 2, 4096);
    let (front, back) = payload.split_at_mut(middle);
    front[middle - length..].swap_with_slice(&mut back[..length]);
    let made_for = MadeFor { batch: 0, key };
    let binding = *held.backend().binding();
    let damaged = seal(Kind::EvaluationKey, &binding, made_for, payload.len(), |out| {
        out.extend(&payload);
    });
    let (other, labels) = rehearse(&damaged);
    let problem = labels.unwrap_err().to_string();
    assert!(problem.contains("keygen") && other != digest, "{problem}");
}

/// Bytes of a key's payload, without its frame.
fn payload(key: &[u8]) -> usize {
    let made_for = MadeFor { batch: 0, key: Header::read(key).unwrap().key };
    key.len() - seal(Kind::EvaluationKey, &[0; 32], made_for, 0, |_| {}).len()
}
