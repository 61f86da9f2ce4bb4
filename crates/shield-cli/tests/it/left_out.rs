//! What the program says of the parts it was built without.

use crate::common::Folder;

#[cfg(not(feature = "learn"))]
#[test]
fn commands_that_were_left_out_say_how_to_get_them() {
    let folder = Folder::new();
    let overview = crate::common::stdout(&folder.run("--help"));
    let listed = overview.lines().find(|line| line.trim_start().starts_with("learn"));
    assert!(listed.is_some_and(|line| line.contains("--features learn")), "{overview}");
    for (line, end) in [
        ("learn teach --data mnist", "learn teach --data mnist\n"),
        ("learn predict -x", "learn predict -x\n"),
        ("learn", "learn\n"),
        ("--json learn experiment", "learn experiment\n"),
    ] {
        folder.refused(line, &["built without", &format!("--features learn -- {end}")]);
    }
}

#[cfg(not(feature = "tfhe"))]
#[test]
fn without_the_engine_the_program_says_how_to_get_it() {
    for line in ["plan --backend tfhe --teachers 9 --classes 3 --samples 2", "bench --backend tfhe"]
    {
        Folder::new().refused(line, &["--features tfhe"]);
    }
}

/// The engine without encryption is for tests of the server: nobody can choose it.
#[cfg(not(feature = "tfhe"))]
#[test]
fn election_files_name_no_engine_that_was_left_out() {
    let folder = Folder::new();
    for (engine, advice) in [("tfhe", "--features tfhe"), ("clear", "encrypts nothing")] {
        let election = "name = \"a\"\ngroup = \"g\"\nclasses = 3\nsamples = 3\nquorum = 1\n\
                        teachers = [\"t\"]\nengine = ";
        folder.write("e.toml", format!("{election}\"{engine}\"\n"));
        folder.refused("keygen --election e.toml --out keys", &["line 7", advice]);
    }
    assert!(!folder.path("keys").exists());
}

#[cfg(not(feature = "arrow"))]
#[test]
fn files_of_a_kind_that_was_left_out_are_refused_with_two_ways_out() {
    let folder = Folder::new();
    folder.write("votes.parquet", b"PAR1 and the rest");
    folder.refused("analyze --votes votes.parquet", &["--features arrow", "to_csv"]);
}
