//! How much memory the server's work on a batch takes: an upper bound. The constants are from
//! measured peaks of the whole process, from 19 to 3,000 rounds, which were 55 to 96% of it.

use super::Plan;
use crate::layout::Coding;
use crate::noise::Ring;
use crate::tally::{OPEN_BALLOTS, dense};

/// What a process has before it opens a key.
pub(crate) const PROGRAM: usize = 32 << 20;

/// Ciphertexts whose buffers a thread keeps for the next one.
const KEPT: usize = 48;

/// Memory for an evaluation key of so many bytes on the disk: the file while it is read, and twice
/// its residues, unpacked, for second parts come from a seed.
pub(crate) fn key_memory(bytes: usize) -> usize {
    bytes * 9 / 2
}

/// Bytes of a ciphertext of full level.
pub(crate) fn ciphertext(ring: Ring) -> usize {
    2 * size_of::<u64>() * ring.degree * ring.limbs
}

impl Plan {
    /// The most memory that aggregating a batch takes with this many threads, keys and open
    /// ballots included.
    pub fn memory_bytes(&self, threads: usize) -> usize {
        let (layout, full) = (&self.layout, ciphertext(self.ring));
        let cells = layout.ciphertexts() * layout.planes() * full;
        // Ballots with their masks, the sums, and the tallies made from them.
        let tally = match layout.coding() {
            Coding::OneHot | Coding::PackedBits => OPEN_BALLOTS * full * 11 / 5 + 3 * cells,
            Coding::BitsAcross => {
                let word = size_of::<u64>() * self.ring.degree;
                let (ballot, masks) = (layout.planes() * full, 2 * layout.ciphertexts() * word);
                let open = dense::open_ballots(ballot, masks);
                open * (ballot + masks) * 11 / 10 + 2 * cells
            }
        };
        // Tallies, outcomes, successes and what is released of them; successes moved between
        // groups, with their digits.
        let reveal = cells * 27 / 10 + layout.groups() * 3 * full;
        let key = key_memory(self.evaluation_key_bytes());
        PROGRAM + key + threads * KEPT * full + tally.max(reveal)
    }
}
