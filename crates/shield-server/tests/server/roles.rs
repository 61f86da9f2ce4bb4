//! Each kind of user, with the commands that lead it by the hand.

use std::fs;
use std::path::PathBuf;

use crate::harness::{Running, settings};
use crate::programs::{done, refused};
use shield_protocol::ledger::Budget;
use shield_server::Settings;
use tempfile::TempDir;

/// A server with one election on three named samples and classes, and the folder that all use.
struct Ward {
    folder: TempDir,
    _server: Running,
}

impl Ward {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let budget = Budget { epsilon: 20.0, ..Budget::default() };
        let settings = Settings { budget, ..settings(&folder.path().join("data")) };
        let server = Running::start(settings);
        server.operator.write(&folder.path().join("operator.toml")).unwrap();
        let ward = Self { folder, _server: server };
        ward.write("samples.csv", "image\nx1.png\nx2.png\nx3.png\n");
        ward.write(
            "election.toml",
            "name = \"ward-7\"\ngroup = \"hospitals\"\nclasses = [\"owl\", \"cat\", \"dog\"]\n\
             samples_file = \"samples.csv\"\nquorum = 2\nteachers = [\"amber\", \"birch\"]\n\
             deadline = 2099-03-01T12:00:00Z\n",
        );
        ward
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, content: &str) {
        fs::write(self.path(name), content).unwrap();
    }

    fn done(&self, arguments: &str) -> (String, String) {
        done(self.folder.path(), arguments)
    }

    fn refused(&self, arguments: &str, code: i32) -> String {
        refused(self.folder.path(), arguments, code)
    }

    fn vote(&self, teacher: &str, votes: &str) -> String {
        self.write(&format!("{teacher}.csv"), votes);
        format!("vote --invitation invitations/teacher-{teacher}.toml --votes {teacher}.csv")
    }
}

#[test]
fn everybody_is_led_from_the_first_command_to_the_last() {
    let ward = Ward::new();
    // The operator.
    let (created, next) = ward
        .done("election submit --invitation operator.toml election.toml --invitations invitations");
    for word in ["ward-7", "set aside", "of the group's 20", "more labels", "2099-03-01"] {
        assert!(created.contains(word), "{word}: {created}");
    }
    assert!(next.contains("next: send each party"), "{next}");
    let (list, _) = ward.done("election status --invitation operator.toml");
    assert!(list.contains("ward-7") && list.contains("0 of 2"), "{list}");
    let (missing, _) =
        ward.done("election status --invitation operator.toml --election ward-7 --missing");
    assert_eq!(missing, "amber\nbirch\n");
    let teacher = fs::read_to_string(ward.path("invitations/teacher-amber.toml")).unwrap();
    assert!(teacher.contains("#     shield vote --invitation teacher-amber.toml"), "{teacher}");

    // A teacher who is too early.
    let early = ward.vote("amber", "image,vote\nx1.png,cat\nx2.png,dog\nx3.png,\n");
    let said = ward.refused(&early, 1);
    assert!(said.contains("awaiting-keys") && said.contains("try again later"), "{said}");

    // The student.
    let student = "--invitation invitations/student.toml";
    let (_, next) = ward.done(&format!("election fetch election {student} --out fetched.toml"));
    assert!(next.contains("next: shield keygen --election fetched.toml"), "{next}");
    let (_, next) = ward.done("keygen --election fetched.toml --out keys");
    assert!(next.contains("keys/public.key keys/evaluation.key"), "{next}");
    let (_, next) =
        ward.done(&format!("election submit {student} keys/public.key keys/evaluation.key"));
    assert!(next.contains("next: wait for more ballots"), "{next}");

    // The teachers.
    let (status, next) = ward.done("election status --invitation invitations/teacher-amber.toml");
    assert!(status.contains("not in yet") && next.contains("next: shield vote"), "{status}{next}");
    let permuted = ward.vote("amber", "image,vote\nx2.png,dog\nx1.png,cat\nx3.png,\n");
    assert!(ward.refused(&permuted, 2).contains("not in its order"));
    let hint = ward.refused(&format!("{permuted} --samples samples.csv"), 2);
    assert!(hint.contains("sample 1 is `x2.png` here and `x1.png`"), "{hint}");
    let bare = ward.vote("amber", "cat\ndog\n\n");
    assert!(ward.refused(&bare, 2).contains("--samples"));
    assert!(!ward.path("ward-7-amber.ballot").exists(), "nothing is left of what was refused");
    let amber = ward.vote("amber", "image,vote\nx1.png,cat\nx2.png,dog\nx3.png,\n");
    let (voted, next) = ward.done(&amber);
    assert!(voted.contains("is in, digest "), "{voted}");
    assert!(next.contains("next: nothing"), "{next}");
    assert!(!ward.path("ward-7-amber.ballot").exists(), "the server has it");
    let digest = voted.split("digest ").nth(1).unwrap().trim();
    let (status, _) = ward.done("election status --invitation invitations/teacher-amber.toml");
    assert!(status.contains(&format!("your ballot is in, digest {digest}")), "{status}");
    let again = ward.refused(&amber, 1);
    assert!(again.contains("in already") && again.contains(digest), "{again}");
    let (missing, _) =
        ward.done("election status --invitation operator.toml --election ward-7 --missing");
    assert_eq!(missing, "birch\n");
    let birch = ward.vote("birch", "cat\ndog\ncat\n");
    ward.done(&format!("{birch} --samples samples.csv --election election.toml"));

    // The student again: the third sample has one voter, so the quorum is missing.
    let said = ward.refused(&format!("election close {student}"), 1);
    assert!(said.contains("quorum"), "{said}");
}

#[test]
fn labels_come_out_by_name() {
    let ward = Ward::new();
    ward.done("election submit --invitation operator.toml election.toml --invitations invitations");
    ward.done("keygen --election election.toml --out keys");
    let student = "--invitation invitations/student.toml";
    ward.done(&format!("election submit {student} keys/public.key keys/evaluation.key"));
    for teacher in ["amber", "birch"] {
        ward.done(&ward.vote(teacher, "id;vote\nx1.png;cat\nx2.png;dog\nx3.png;owl\n"));
    }
    let (_, next) = ward.done(&format!("election close {student}"));
    assert!(next.contains("--watch"), "{next}");
    let (_, next) = ward.done(&format!("election status {student} --watch"));
    assert!(next.contains("next: shield election fetch results"), "{next}");
    let (_, next) = ward.done(&format!("election fetch results {student} --out results.bin"));
    assert!(next.contains("next: shield reveal"), "{next}");
    let reveal = "reveal --election election.toml --secret-key keys/secret.key --results \
                  results.bin";
    ward.done(&format!("{reveal} --out labels.csv"));
    let labels = fs::read_to_string(ward.path("labels.csv")).unwrap();
    let names: Vec<&str> = labels.lines().collect();
    assert_eq!(names.len(), 3);
    assert!(names.iter().all(|name| ["owl", "cat", "dog"].contains(name)), "{labels}");
    assert_eq!(ward.done(reveal).0, labels, "the same on stdout");
    let (json, _) = ward.done(&format!("{reveal} --json"));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["class_names"], serde_json::json!(["owl", "cat", "dog"]));
    assert!(json["labels"].as_array().unwrap().iter().all(serde_json::Value::is_u64));
}
