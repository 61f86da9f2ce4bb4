//! Teachers that send counts of many voters, over files.

use std::fs;

use crate::common::{json, shield, stderr};

const ELECTION: &str = r#"
name = "wards"
group = "city"
classes = ["park", "road", "pool"]
samples = 2
mechanism = "noisy-argmax"
noise = 0.02
voters_per_teacher = 40
quorum = 3
teachers = ["north", "south", "east"]
"#;

#[test]
fn counts_become_labels_and_are_priced_by_their_bound() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("election.toml"), ELECTION).unwrap();
    fs::create_dir(path("ballots")).unwrap();
    let election = path("election.toml");
    let both = |command, rest: &[&str]| {
        json(&[&[command, "--json", "--election", &election], rest].concat())
    };
    both("keygen", &["--out", &path("keys")]);
    let voting = |teacher: &str, counts: &str, flag: &[&str]| {
        let votes = path(&format!("{teacher}.csv"));
        fs::write(&votes, counts).unwrap();
        let (key, out) = (path("keys/public.key"), path(&format!("ballots/{teacher}")));
        let base = ["vote", "--json", "--election", &election, "--public-key", &key];
        let rest = ["--teacher", teacher, "--votes", &votes, "--out", &out];
        shield(&[&base[..], &rest, flag].concat())
    };
    let refused = |counts: &str, flag: &[&str], words: &[&str]| {
        let output = voting("north", counts, flag);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(words.iter().all(|word| said.contains(word)), "{said}");
        assert!(!std::path::Path::new(&path("ballots/north")).exists());
    };
    let counted = ["--counts"];
    let over = ["north.csv", "row 3", "sum to 41", "voters_per_teacher"];
    refused("park,road,pool\n40,0,0\n1,40,0\n", &counted, &over);
    refused("park,road\n40,0\n1,0\n", &counted, &["north.csv", "2 columns of counts"]);
    refused("40,0,0\n", &counted, &["north.csv", "1 rows of counts", "2 samples"]);
    refused("park\nroad\n", &[], &["north.csv", "up to 40 voters", "--counts"]);
    for (teacher, counts) in [
        ("north", "road,park,pool\n0,40,0\n20,0,20\n"),
        ("south", "0,13,0\n0,0,0\n"),
        ("east", "0,26,1\n0,0,1\n"),
    ] {
        let output = voting(teacher, counts, &counted);
        assert!(output.status.success(), "{}", stderr(&output));
    }
    let (key, ballots, out) = (path("keys/evaluation.key"), path("ballots"), path("results"));
    let rest = ["--evaluation-key", &key, "--ballots", &ballots, "--out", &out];
    both("aggregate", &rest);
    let secret = path("keys/secret.key");
    let labels = both("reveal", &["--secret-key", &secret, "--results", &out]);
    // 40 to 39, and 20 to 21.
    assert_eq!(labels["labels"], serde_json::json!([0, 2]));
}

#[test]
fn plan_prices_counts_for_whom_they_protect() {
    let base = ["plan", "--json", "--mechanism", "noisy-argmax", "--teachers", "12", "--classes"];
    let plan = |rest: &[&str]| json(&[&base[..], &["3", "--samples", "9"], rest].concat());
    let votes = plan(&["--noise", "60"]);
    let voter = plan(&["--noise", "60", "--voters-per-teacher", "30", "--protects", "voter"]);
    let teacher = plan(&["--noise", "60", "--voters-per-teacher", "30"]);
    assert_eq!((&votes["protects"], &voter["protects"]), (&"teacher".into(), &"voter".into()));
    assert_eq!(votes["epsilon"], voter["epsilon"]);
    let epsilon = |plan: &serde_json::Value| plan["epsilon"].as_f64().unwrap();
    assert!(epsilon(&teacher) > 20.0 * epsilon(&voter), "{teacher} {voter}");
    assert!(teacher["range"].as_u64() > votes["range"].as_u64(), "room for 360 votes");
    let shield_plan = ["plan", "--teachers", "12", "--classes", "3", "--samples", "9"];
    let output = shield(&[&shield_plan[..], &["--voters-per-teacher", "30"]].concat());
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("noisy-argmax"), "{}", stderr(&output));
}
