//! What is published of a closed election, as it is kept in memory.

use shield_protocol::transcript::{Frozen, Transcript};

use crate::store::Roll;

/// What is published of a closed election, but for its audits: it never changes.
pub(crate) struct FrozenElection {
    /// Everything that a release follows from, besides the server's part of the seed.
    pub(crate) frozen: Frozen,
    /// Who is in the urn.
    pub(crate) roll: Roll,
    /// What every party may see.
    pub(crate) transcript: Transcript,
}
