//! The engine against the operator in the clear.
use shield::backend::suite;

use crate::{BfvBackend, ReleaseMode};

#[test]
fn the_suite_of_all_engines() {
    suite::run(&suite::small_elections(), |e| {
        BfvBackend::new(e.clone(), ReleaseMode::Reveal)
    });
}

#[test]
fn the_suite_of_all_engines_composable() {
    suite::run(&suite::small_elections()[..4], |e| {
        BfvBackend::new(e.clone(), ReleaseMode::Composable)
    });
}
