//! Real programs that the tests start, use and end.

use std::path::PathBuf;

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
