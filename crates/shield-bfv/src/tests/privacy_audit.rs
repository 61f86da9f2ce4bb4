//! The empirical audit of `shield_privacy::audit`, through ciphertexts.

use shield_privacy::audit::engine;

use crate::BfvEngine;

/// Stays below the proven epsilon with all safeguards in place, and exceeds it with any of them
/// broken.
#[test]
fn the_encrypted_engine_keeps_its_promise_unless_a_safeguard_is_broken() {
    engine::check(8192, |election| Ok(BfvEngine::new(election)?));
}
