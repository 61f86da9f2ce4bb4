//! How many bytes keys, ballots and releases have: exactly one length per kind under a plan, and
//! for tiny ballots one for each number of samples.

use shield_core::framing::{Kind, framed_bytes, presence_bytes};

use super::mlwe::{Grid, Route};
use super::plan::ArgmaxPlan;
use crate::plan::memory::{PROGRAM, ciphertext, key_memory};
use crate::proof::Proof;

/// Bytes of the student's sealing key, of the key that opens what is sealed with it, and of a
/// sealed seed: those of ML-KEM-768.
pub(crate) const SEALING_KEY: usize = 1_184;
pub(crate) const OPENING_KEY: usize = 64;
pub(crate) const CAPSULE: usize = 1_088;

/// Bits of a residue modulo t.
pub(crate) const RESIDUE_BITS: usize = 17;

/// Bytes of a digest.
const DIGEST: usize = 32;

impl ArgmaxPlan {
    /// Bytes of a kind without its frame, and of a ballot without its presence.
    pub(crate) fn payload_bytes(&self, kind: Kind, samples: usize) -> usize {
        let (ring, limbs) = (self.ring(), self.ring().limbs);
        match (kind, self.grid()) {
            (Kind::SecretKey, None) => ring.secret_bytes(),
            (Kind::SecretKey, Some(_)) => ring.secret_bytes() + OPENING_KEY,
            (Kind::PublicKey, None) => ring.public_bytes(),
            (Kind::PublicKey, Some(_)) => SEALING_KEY,
            (Kind::EvaluationKey, grid) => {
                let levels = [self.step(), self.wins()];
                ring.public_bytes()
                    + ring.relinearisation_bytes(self.start())
                    + levels.map(|limbs| ring.switch_bytes(limbs)).iter().sum::<usize>()
                    + grid.map_or(0, |grid| self.tiny_keys(grid))
            }
            (Kind::Ballot, None) => {
                let proof = if self.proofs() { Proof::bytes(ring.degree, 1) } else { 0 };
                2 * ring.poly_bytes(limbs) + proof
            }
            (Kind::Ballot, Some(grid)) => {
                CAPSULE + (samples * grid.classes() * RESIDUE_BITS).div_ceil(8)
            }
            (Kind::Release, _) => 2 * ring.poly_bytes(self.released_limbs()),
            (Kind::Request, Some(_)) => presence_bytes(self.teachers()) + self.teachers() * CAPSULE,
            (Kind::Unlocking, Some(_)) => DIGEST + ring.public_bytes(),
            _ => 0,
        }
    }

    /// Bytes of what the key of tiny ballots has more.
    fn tiny_keys(&self, grid: Grid) -> usize {
        let levels = self.tiny_levels(grid).map(|limbs| self.ring().switch_bytes(limbs));
        SEALING_KEY + levels.iter().sum::<usize>()
    }

    /// Limbs of the rotations that tiny ballots need: near, far, close, leap.
    pub(crate) fn tiny_levels(&self, _: Grid) -> [usize; 4] {
        let top = self.ring().limbs;
        [top, top - 1, top - 1, top - 1]
    }

    /// The rotations of tiny ballots.
    pub(crate) fn route(&self, grid: Grid) -> Route {
        Route::new(grid.module(), self.pairing().evaluations().len())
    }

    /// Bytes of one teacher's ballot for one full batch.
    pub fn ballot_bytes(&self) -> usize {
        self.bytes_of_ballot(self.samples_per_batch())
    }

    fn bytes_of_ballot(&self, samples: usize) -> usize {
        framed_bytes(presence_bytes(samples) + self.payload_bytes(Kind::Ballot, samples))
    }

    /// Everything that a teacher sends in the whole election, divided by its votes.
    pub fn bytes_per_vote(&self) -> f64 {
        let (all, batch) = (self.samples(), self.samples_per_batch());
        let rest = all % batch;
        let last = if rest > 0 { self.bytes_of_ballot(rest) } else { 0 };
        (all / batch * self.bytes_of_ballot(batch) + last) as f64 / all as f64
    }

    /// Bytes of the public key.
    pub fn public_key_bytes(&self) -> usize {
        framed_bytes(self.payload_bytes(Kind::PublicKey, 0))
    }

    /// Bytes of the evaluation key.
    pub fn evaluation_key_bytes(&self) -> usize {
        framed_bytes(self.payload_bytes(Kind::EvaluationKey, 0))
    }

    /// The most memory that aggregating a batch takes with this many threads: keys, and for every
    /// evaluation its powers. Ballots are summed one by one.
    pub fn memory_bytes(&self, threads: usize) -> usize {
        let front = self.grid().map_or(0, |grid| self.route(grid).ciphertexts(self.evaluations()));
        let ciphertexts = 6 * threads + 2 + 30 * self.evaluations() + front;
        PROGRAM + key_memory(self.evaluation_key_bytes()) + ciphertexts * ciphertext(self.ring())
    }

    /// Bytes that the student downloads for one batch.
    pub fn result_bytes(&self) -> usize {
        framed_bytes(self.payload_bytes(Kind::Release, 0))
    }

    /// Bytes that the student uploads for one batch to unlock it; none for checked ballots.
    pub fn unlocking_bytes(&self) -> usize {
        self.grid().map_or(0, |_| framed_bytes(self.payload_bytes(Kind::Unlocking, 0)))
    }
}
