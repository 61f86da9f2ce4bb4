//! Real programs that the tests start, use and end.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use shield_client::TOKEN_VARIABLE;

/// The first of some programs that is there, or a reason to skip the test.
///
/// # Panics
///
/// If there is none and `SHIELD_REQUIRE_SERVICES` is 1: then nothing may be skipped.
pub(crate) fn program(name: &str, places: &[PathBuf]) -> Option<PathBuf> {
    let found = places.iter().find(|place| place.is_file()).cloned();
    if found.is_none() {
        let advice = format!("{name} is missing; `bash tests/setup` installs it");
        let required = std::env::var("SHIELD_REQUIRE_SERVICES").is_ok_and(|value| value == "1");
        assert!(!required, "{advice}");
        eprintln!("skipped: {advice}");
    }
    found
}

/// The server, as its users run it.
pub(crate) fn shield_server() -> Command {
    Command::new(env!("CARGO_BIN_EXE_shield-server"))
}

/// The program of everybody else, as its users run it.
pub(crate) fn shield() -> Command {
    let program = folder().join("shield");
    assert!(
        program.is_file(),
        "{} is missing; build it as the tests are built: cargo build --release -p shield-cli",
        program.display()
    );
    Command::new(program)
}

/// Where both programs are.
pub(crate) fn folder() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_shield-server")).parent().expect("its folder")
}

/// What is found in the output of a program that goes on. Waits for at most two minutes, and reads
/// to the end: a full pipe would stop it.
pub(crate) fn found_in<T: Send + 'static>(
    output: impl Read + Send + 'static,
    what: &str,
    find: impl Fn(&str) -> Option<T> + Send + 'static,
) -> T {
    let (send, found) = mpsc::channel();
    let lines = BufReader::new(output).lines().map_while(Result::ok);
    thread::spawn(move || lines.filter_map(|line| find(&line)).for_each(|it| drop(send.send(it))));
    found.recv_timeout(Duration::from_mins(2)).unwrap_or_else(|_| panic!("it never says {what}"))
}

/// What a program wrote to stdout.
pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// What a program wrote to stderr.
pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Runs the program whose command it is, in a folder.
pub(crate) fn run(folder: &Path, arguments: &str) -> Output {
    let is_servers = ["backup", "restore"].iter().any(|own| arguments.starts_with(own));
    let mut command = if is_servers { shield_server() } else { shield() };
    command.args(arguments.split_whitespace()).current_dir(folder).env_remove(TOKEN_VARIABLE);
    command.output().expect("the program runs")
}

/// What a command says that must succeed: stdout, and stderr.
pub(crate) fn done(folder: &Path, arguments: &str) -> (String, String) {
    let output = run(folder, arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments}: {}", stderr(&output));
    (stdout(&output), stderr(&output))
}

/// What a command complains about that must fail.
pub(crate) fn refused(folder: &Path, arguments: &str, code: i32) -> String {
    let output = run(folder, arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments}: {}", stderr(&output));
    stderr(&output)
}
