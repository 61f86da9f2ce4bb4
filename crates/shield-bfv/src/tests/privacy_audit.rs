//! The empirical audit of `shield::privacy::audit`, through ciphertexts.

use shield::privacy::audit::engine;

use crate::{BfvBackend, ReleaseMode};

/// Stays below the proven epsilon with all safeguards in place, and exceeds it with any of them
/// broken.
#[test]
fn the_encrypted_engine_keeps_its_promise_unless_a_safeguard_is_broken() {
    engine::check(8192, |election| Ok(BfvBackend::new(election, ReleaseMode::Reveal)?));
}
