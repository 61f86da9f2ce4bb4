//! What the program says of the parts it was built without.

use crate::common::{shield, stderr};

#[cfg(not(feature = "learn"))]
#[test]
fn commands_that_were_left_out_say_how_to_get_them() {
    use crate::common::stdout;

    let overview = stdout(&shield(&["--help"]));
    let cases: [&[&str]; 6] = [
        &["teach", "--data", "mnist", "--votes", "votes.npy"],
        &["learn", "--data", "mnist", "--labels", "l.csv", "--out", "student.model"],
        &["predict", "-x"],
        &["experiment", "digits", "--out", "try-it", "--json"],
        &["experiment"],
        &["--json", "teach"],
    ];
    for arguments in cases {
        let output = shield(arguments);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(stdout(&output).is_empty(), "{arguments:?}");
        let name = arguments.iter().find(|argument| !argument.starts_with('-')).unwrap();
        assert!(said.contains("built without"), "{said}");
        assert!(said.contains(&format!("--features learn -- {name}")), "{said}");
        let listed = overview.lines().find(|line| line.trim_start().starts_with(name));
        assert!(listed.is_some_and(|line| line.contains("--features learn")), "{overview}");
    }
    let said = stderr(&shield(cases[0]));
    assert!(said.ends_with("-- teach --data mnist --votes votes.npy\n"), "{said}");
}

#[cfg(not(feature = "tfhe"))]
#[test]
fn without_the_engine_the_program_says_how_to_get_it() {
    for command in [
        &["plan", "--backend", "tfhe", "--teachers", "9", "--classes", "3", "--samples", "2"][..],
        &["bench", "--backend", "tfhe"],
    ] {
        let output = shield(command);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains("--features tfhe"), "{}", stderr(&output));
    }
}

/// The engine without encryption is for tests of the server: nobody can choose it.
#[cfg(not(feature = "tfhe"))]
#[test]
fn election_files_name_no_engine_that_was_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let (file, keys) = (folder.path().join("e.toml"), folder.path().join("keys"));
    for (engine, advice) in [("tfhe-leveled", "--features tfhe"), ("clear", "is not an engine")] {
        let election = "name = \"a\"\ngroup = \"g\"\nclasses = 3\nsamples = 3\nquorum = 1\n\
                        teachers = [\"t\"]\nengine = ";
        std::fs::write(&file, format!("{election}\"{engine}\"\n")).unwrap();
        let (file, keys) = (file.to_str().unwrap(), keys.to_str().unwrap());
        let output = shield(&["keygen", "--election", file, "--out", keys]);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("line 7") && said.contains(advice), "{said}");
    }
    assert!(!keys.exists());
}

#[cfg(not(feature = "arrow"))]
#[test]
fn files_of_a_kind_that_was_left_out_are_refused_with_two_ways_out() {
    let folder = tempfile::tempdir().unwrap();
    let votes = folder.path().join("votes.parquet");
    std::fs::write(&votes, b"PAR1 and the rest").unwrap();
    let output = shield(&["analyze", "--votes", votes.to_str().unwrap()]);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("--features arrow") && said.contains("to_csv"), "{said}");
}
