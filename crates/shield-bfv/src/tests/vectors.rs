//! Frozen vectors of both release modes.

use std::path::{Path, PathBuf};

use shield::backend::suite::{Case, vectors};

use super::shape;
use crate::{BfvBackend, ReleaseMode};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors").join(name)
}

/// The case of all vectors, and engines that `make` makes: for it, and for another election.
fn engines(make: impl Fn(shield::Election) -> BfvBackend) -> (Case, [BfvBackend; 2]) {
    let case = Case::new(shape(3, 3, 2, "X"), 5);
    let elsewhere = case.election.clone().bound_to([7; 32]);
    let engines = [case.election.clone(), elsewhere].map(make);
    (case, engines)
}

/// The engines of the frozen vectors, with their folders.
fn frozen() -> Vec<(PathBuf, (Case, [BfvBackend; 2]))> {
    let planned = [ReleaseMode::Reveal, ReleaseMode::Composable].map(|release| {
        let make = |election| BfvBackend::new(election, release).expect("a plan");
        (folder(&release.to_string()), engines(make))
    });
    planned.into()
}

#[test]
fn frozen_vectors_are_read() {
    for (folder, (case, [backend, elsewhere])) in frozen() {
        vectors::check(&folder, &backend, &elsewhere, &case);
    }
}

#[test]
#[ignore = "writes the frozen vectors anew"]
fn write_frozen_vectors() {
    for (folder, (case, [backend, elsewhere])) in frozen() {
        vectors::write(&folder, &backend, &elsewhere, &case);
    }
}
