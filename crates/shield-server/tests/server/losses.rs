//! Files that the server loses, and how clients and the server itself bring them back.

use shield_client as client;

use crate::harness::{election, open, votes};

/// A client once took what the server had lost for arrived, and never sent it again.
#[test]
fn a_lost_ballot_is_missing_until_the_client_sends_it_again() {
    let (folder, server, parties) = open(election("lost", 3, 20, 3));
    (0..3).for_each(|teacher| parties.submit(&server, teacher, &votes(teacher, 20)));
    let own = folder.path().join("data/elections/lost");
    std::fs::remove_dir_all(own.join("ballots/1")).unwrap();
    let student = server.client(&parties.student());
    let closed = client::close(&student, parties.file.name());
    assert!(closed.unwrap_err().to_string().contains("2 of 3 teachers have voted"));
    let status = client::status(&student, parties.file.name()).unwrap();
    assert_eq!((status.voted, status.missing.unwrap()), (2, ["t1".to_owned()].to_vec()));
    let teacher = server.client(&parties.teacher(1));
    let status = client::status(&teacher, parties.file.name()).unwrap();
    assert!(status.submitted.unwrap().is_empty() && status.receipt.is_none());
    // The very same file, as it lies with the teacher.
    let ballot = parties.folder.join("t1.ballot");
    let before = std::fs::read(client::receipt_path(&ballot)).unwrap();
    parties.send(&server, 1, &ballot).unwrap();
    assert_eq!(std::fs::read(client::receipt_path(&ballot)).unwrap(), before);
    assert!(own.join("ballots/1").exists());
    parties.close(&server);
    let (results, labels) = parties.fetch(&server);
    // A release that is lost while the server runs is computed again: whoever fetches it waits.
    std::fs::remove_file(own.join("parts/0.release")).unwrap();
    std::fs::remove_file(parties.folder.join("results")).unwrap();
    assert_eq!(parties.fetch(&server), (results, labels));
}
