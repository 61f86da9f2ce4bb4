//! SHIELD with one vote in one ciphertext, on the `tfhe` crate: an answer for a single sample, without batching.
//!
//! | module | subject |
//! |---|---|
//! | [`leveled`] | external products alone: no bootstrap, no server key |

pub mod leveled;
