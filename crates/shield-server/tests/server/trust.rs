//! Cheating teachers over the network: noticed, named, left out, and all of it checked.

use std::fs;

use shield_bfv::BfvEngine;
use shield_client as client;
use shield_core::Class;
use shield_core::Watch;
use shield_core::engine::Encoding;
use shield_protocol::job::verify::{Released, verify};
use shield_protocol::ledger::{Accountant, Cost, GroupBudget};
use shield_protocol::{Inputs, KeyFiles, ProtocolError, Receipt, inspect, make_keys};

use crate::harness::{Parties, Running, election, settings, votes};
use crate::protocol::ask;

const TEACHERS: usize = 20;
const SAMPLES: usize = 60;

/// A ballot that is no vote on some samples.
fn cheat(parties: &Parties, server: &Running, teacher: usize, cheated: &[usize]) {
    let election = parties.file.election().clone();
    let engine = BfvEngine::new(election).unwrap();
    let key = engine.decode_public_key(&parties.keys.public).unwrap();
    let mut rng = <rand::rngs::StdRng as rand::SeedableRng>::seed_from_u64(teacher as u64);
    let own = votes(teacher, SAMPLES);
    let ballot = engine.forge(&key, 0, &own, cheated, &mut rng).unwrap();
    let mut bytes = engine.encode_ballot(&ballot);
    bytes.extend([u8::try_from(teacher).unwrap(); 32]);
    let path = parties.write_parts(teacher, &[bytes]);
    parties.send(server, teacher, &path).unwrap();
}

#[test]
fn two_cheats_of_twenty_are_named_and_every_sample_has_a_label() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start_plain(settings(&folder.path().join("data")));
    let file = election("audited", TEACHERS, SAMPLES, 15);
    let parties = Parties::create(&server, file, folder.path());
    parties.submit_keys(&server);
    let name = parties.file.name();
    let student = server.client(&parties.student());
    let before = client::status(&student, name).unwrap();
    let commitment = before.commitment.clone().expect("committed before anyone votes");
    for teacher in (0..TEACHERS).filter(|teacher| ![3, 11].contains(teacher)) {
        parties.submit(&server, teacher, &votes(teacher, SAMPLES));
    }
    cheat(&parties, &server, 3, &(0..30).collect::<Vec<_>>());
    cheat(&parties, &server, 11, &(20..50).collect::<Vec<_>>());
    client::close(&student, name).unwrap();
    parties.wait(&server);

    // The first results: samples that no cheat touched have their labels, others may have none.
    let (first, secret) = (parties.folder.join("first"), parties.folder.join("secret.key"));
    client::fetch_results(&student, &parties.file, &first, &Watch::default()).unwrap();
    let found = inspect(&parties.file, &secret, &first).unwrap();
    let spoiled = found.spoiled();
    assert!(spoiled.len() > 5 && spoiled.iter().all(|&sample| sample < 50), "{spoiled:?}");
    assert!(found.labels.as_slice()[50..].iter().all(Option::is_some));

    let audited = client::audit(&student, name, &secret, &first).unwrap();
    let names: Vec<String> = audited.accused.iter().map(ToString::to_string).collect();
    assert_eq!(names, ["t3", "t11"]);
    assert_eq!(audited.samples, spoiled.len());
    let last = parties.folder.join("last");
    client::fetch_results(&student, &parties.file, &last, &Watch::default()).unwrap();
    let all = inspect(&parties.file, &secret, &last).unwrap();
    assert!(all.alarms.is_empty() && all.labels.as_slice().iter().all(Option::is_some));
    for (sample, label) in found.labels.as_slice().iter().enumerate() {
        assert!(label.is_none() || *label == all.labels.as_slice()[sample], "sample {sample}");
    }
    let right = all
        .labels
        .as_slice()
        .iter()
        .enumerate()
        .filter(|(sample, label)| **label == Some(Class(u16::try_from(sample % 3).unwrap())));
    assert!(right.count() > SAMPLES / 2);

    let path = "/v1/elections/audited";
    assert_eq!(ask(&server, &parties.student().token, "GET", path, b"").0, 200);

    // The ledger: all samples with 20 voters, and the spoiled ones again with 18.
    let operator = server.client(&server.operator);
    let accounts: serde_json::Value = operator.get("/v1/ledger").unwrap();
    let entry = &accounts[0]["entries"][0];
    assert_eq!(entry["queries"], SAMPLES + spoiled.len());
    assert_eq!(entry["voters"], 18);
    let voters = vec![(18, spoiled.len() as u64), (20, SAMPLES as u64)];
    let order = accounts[0]["order"].as_f64().unwrap();
    let budget = GroupBudget { epsilon: 1000.0, delta: shield_core::Delta::default(), order };
    let own = Accountant::default().sum(&[Cost::new(&parties.file, voters)], &budget);
    let booked = accounts[0]["spent"].as_f64().unwrap();
    assert!((booked / own.epsilon.get() - 1.0).abs() < 1e-6, "{booked} {own:?}");

    // Every teacher finds its ballot, with the commitment that it saw when it voted.
    let transcript = client::transcript(&student, &parties.file).unwrap();
    assert_eq!(transcript.commitment, commitment);
    assert!(transcript.voters().eq(std::iter::repeat_n(20, SAMPLES)));
    for teacher in 0..TEACHERS {
        let path = parties.folder.join(format!("t{teacher}.ballot.receipt"));
        let receipt = Receipt::read(&path).unwrap();
        assert_eq!(receipt.commitment.as_ref(), Some(&commitment));
        receipt.check(&transcript).unwrap();
    }

    // An auditor with the evidence agrees; without a ballot, or with another seed, it does not.
    let evidence = folder.path().join("evidence");
    client::fetch_evidence(&operator, &parties.file, &evidence).unwrap();
    let paths = ["evaluation.key", "ballots", "seed", "results.bin"].map(|n| evidence.join(n));
    let inputs = Inputs::new(&parties.file, &paths[0], &paths[1]);
    let released = Released::new(&paths[3], Some(&paths[2]));
    let commitment = shield_protocol::hex::unhex(&commitment);
    let verify = || verify(&inputs, &released, commitment, &Watch::default());
    let verified = verify().unwrap();
    assert_eq!(verified.releases, 2);
    assert!(fs::read(&paths[3]).unwrap() == fs::read(&last).unwrap());
    let refused = |reason: &str| {
        let error = verify().unwrap_err();
        assert!(matches!(error, ProtocolError::Disagrees { .. }), "{error}");
        assert!(error.to_string().contains(reason), "{error}");
    };
    let ballot = paths[1].join("t7.ballot");
    let bytes = fs::read(&ballot).unwrap();
    fs::remove_file(&ballot).unwrap();
    refused("`t7` is missing");
    fs::copy(parties.write_ballot(7, &votes(8, SAMPLES)), &ballot).unwrap();
    refused("`t7` was another one");
    fs::write(&ballot, bytes).unwrap();
    let digest = parties.file.digest();
    fs::remove_file(&paths[2]).unwrap();
    let mut rng = <rand::rngs::StdRng as rand::SeedableRng>::seed_from_u64(4);
    shield_protocol::job::freeze::commit(&digest, &paths[2], &mut rng).unwrap();
    refused("committed");
    server.stop();
}

#[test]
fn nobody_votes_before_the_keys_are_known_to_work() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(settings(&folder.path().join("data")));
    let file = election("rehearsed", 3, 8, 2);
    let parties = Parties::create(&server, file, folder.path());
    let name = parties.file.name();
    let student = server.client(&parties.student());
    for kind in ["public", "evaluation"] {
        let path = parties.folder.join(format!("{kind}.key"));
        client::submit_key(&student, name, &path).unwrap();
    }
    let path = parties.write_ballot(0, &votes(0, 8));
    let submit = || parties.send(&server, 0, &path);
    let early = submit().unwrap_err().to_string();
    assert!(early.contains("rehearse"), "{early}");
    assert!(!client::status(&student, name).unwrap().rehearsed);
    // The digest of another rehearsal confirms nothing, nor do other keys.
    let address = format!("/v1/elections/{name}/rehearsal");
    let wrong = serde_json::json!({ "digest": "0".repeat(64) });
    let refused = student.post::<serde_json::Value>(&address, &wrong).unwrap_err().to_string();
    assert!(refused.contains("different keys"), "{refused}");
    let mut rng = <rand::rngs::StdRng as rand::SeedableRng>::seed_from_u64(9);
    let other = make_keys(&parties.file, &folder.path().join("other"), &mut rng).unwrap().files;
    let refused = client::rehearse(&student, name, &other).unwrap_err().to_string();
    assert!(refused.contains("different keys"), "{refused}");
    assert!(!client::status(&student, name).unwrap().rehearsed);
    let keys = KeyFiles::in_folder(&parties.folder);
    assert_eq!(client::rehearse(&student, name, &keys).unwrap(), 8);
    assert!(client::status(&student, name).unwrap().rehearsed);
    let receipt = submit().unwrap();
    assert_eq!(Receipt::of_ballot(&parties.file, &path).unwrap().ballot, receipt.ballot);
    server.stop();
}

#[test]
fn a_budget_stays_until_somebody_changes_it_for_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = Running::start(settings(&data));
    Parties::create(&server, election("first", 4, 8, 3), folder.path());
    server.stop();
    // Another default for new groups changes nothing for this one.
    let mut other = settings(&data);
    other.budget.epsilon = 3.0;
    let server = Running::start(other);
    let operator = server.client(&server.operator);
    let account = || operator.get::<serde_json::Value>("/v1/ledger").unwrap()[0].clone();
    let (before, order) = (account()["budget"].as_f64().unwrap(), account()["order"].clone());
    assert!((before - 1000.0).abs() < 1e-9);
    let group = "everybody".parse().unwrap();
    assert!(client::change_budget(&operator, &group, 12.0, None, " ").is_err());
    let nobody = "nobody".parse().unwrap();
    assert!(client::change_budget(&operator, &nobody, 12.0, None, "a typo").is_err());
    client::change_budget(&operator, &group, 12.0, None, "agreed on Monday").unwrap();
    let account = account();
    assert_eq!(account["budget"], 12.0);
    assert_eq!(account["order"], order);
    let changes = account["changes"].as_array().unwrap();
    assert_eq!(changes.len(), 2);
    assert_eq!(changes[1]["reason"], "agreed on Monday");
    server.stop();
}
