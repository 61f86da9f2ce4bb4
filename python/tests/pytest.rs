//! Runs the Python tests: builds the two programs, makes a virtual environment under the target
//! folder, builds and installs the package in it, and runs mypy, pyright and pytest. Without Python
//! 3.10 or later this is skipped with a message, unless `SHIELD_REQUIRE_SERVICES` is set.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A Python that can make environments: $PYTHON, or the first of the usual names.
fn python() -> Option<PathBuf> {
    let named = env::var_os("PYTHON").map(PathBuf::from);
    let usual = ["python3", "python3.13", "python3.12", "python3.11", "python3.10"];
    named.into_iter().chain(usual.map(PathBuf::from)).find(|candidate| {
        let check = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))";
        let mut command = Command::new(candidate);
        command.args(["-c", check]).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    })
}

/// Where Cargo builds: the environment goes there, so that `cargo clean` removes it.
fn target() -> PathBuf {
    let built = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    built.parent().map_or_else(|| built.clone(), Path::to_path_buf)
}

fn run(what: &str, command: &mut Command) {
    let status = command.status();
    let status = status.unwrap_or_else(|error| panic!("{what} cannot be started: {error}"));
    assert!(status.success(), "{what} failed: see above");
}

#[test]
fn the_package_installs_and_its_tests_pass() {
    let Some(python) = python() else {
        assert!(
            env::var_os("SHIELD_REQUIRE_SERVICES").is_none(),
            "Python 3.10 or later with venv and pip is needed here; install python3-venv"
        );
        eprintln!("skipped: there is no Python 3.10 or later with venv and pip");
        return;
    };
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (environment, bin) = (target().join("python/venv"), target().join("python/venv/bin"));
    // The programs that the package is compared with, and talks to.
    let mut programs = Command::new(env!("CARGO"));
    programs.args(["build", "--release", "--quiet", "-p", "shield-cli", "-p", "shield-server"]);
    programs.arg("--bins").current_dir(package).env("CARGO_TARGET_DIR", target());
    run("cargo build", &mut programs);
    // The build finds maturin where the environment has it.
    let others = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths(std::iter::once(bin.clone()).chain(env::split_paths(&others)));
    let path = path.expect("paths without colons");
    let mut make = Command::new("bash");
    make.arg(package.join("../tests/python-environment")).arg(&environment);
    make.arg(package.join("tests/requirements.txt")).env("PYTHON", &python);
    run("tests/python-environment", &mut make);
    // Cargo's own target folder: most of what the package needs is compiled there already.
    let mut install = Command::new(bin.join("python"));
    install.args(["-m", "pip", "--quiet", "--disable-pip-version-check", "install"]);
    install.args(["--no-build-isolation", "--no-deps", "--force-reinstall", "."]);
    install.current_dir(package).env("CARGO_TARGET_DIR", target()).env("PATH", &path);
    // What Cargo tells this test about its package would go to build scripts, one of which would
    // have its library compiled again, and all that use it.
    for (name, _) in env::vars_os() {
        if ["CARGO_PKG_", "CARGO_MANIFEST_"]
            .iter()
            .any(|own| name.to_string_lossy().starts_with(own))
        {
            install.env_remove(name);
        }
    }
    run("pip install ./python", &mut install);
    for tool in ["mypy", "pyright"] {
        run(tool, Command::new(bin.join(tool)).current_dir(package).env("PATH", &path));
    }
    // Not in the package's folder: Python would find the sources there, not what was installed.
    let mut tests = Command::new(bin.join("pytest"));
    tests.arg("--durations=5").arg(package.join("tests")).current_dir(&environment);
    tests.env("PATH", &path).env("SHIELD_PROGRAMS", target().join("release"));
    run("pytest", &mut tests);
}
