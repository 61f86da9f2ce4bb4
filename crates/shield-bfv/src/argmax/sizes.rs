//! How many bytes keys, ballots and releases have: exactly one length per kind under a plan.

use shield_core::framing::{Kind, framed_bytes, presence_bytes};

use super::plan::ArgmaxPlan;
use crate::plan::memory::{PROGRAM, ciphertext, key_memory};
use crate::proof::Proof;

impl ArgmaxPlan {
    /// Bytes of a kind without its frame, and of a ballot without its presence.
    pub(crate) fn payload_bytes(&self, kind: Kind) -> usize {
        let (ring, limbs) = (self.ring(), self.ring().limbs);
        match kind {
            Kind::SecretKey => ring.secret_bytes(),
            Kind::PublicKey => ring.public_bytes(),
            Kind::EvaluationKey => {
                let levels = [limbs, self.wins()];
                ring.public_bytes()
                    + ring.relinearisation_bytes(self.start())
                    + levels.map(|limbs| ring.switch_bytes(limbs)).iter().sum::<usize>()
            }
            Kind::Ballot => {
                let proof = if self.proofs() { Proof::bytes(ring.degree, 1) } else { 0 };
                2 * ring.poly_bytes(limbs) + proof
            }
            Kind::Release => 2 * ring.poly_bytes(self.released_limbs()),
            _ => 0,
        }
    }

    /// Bytes of one teacher's ballot for one batch.
    pub fn ballot_bytes(&self) -> usize {
        framed_bytes(presence_bytes(self.samples_per_batch()) + self.payload_bytes(Kind::Ballot))
    }

    /// Bytes of the public key.
    pub fn public_key_bytes(&self) -> usize {
        framed_bytes(self.payload_bytes(Kind::PublicKey))
    }

    /// Bytes of the evaluation key.
    pub fn evaluation_key_bytes(&self) -> usize {
        framed_bytes(self.payload_bytes(Kind::EvaluationKey))
    }

    /// The most memory that aggregating a batch takes with this many threads: keys, and for every
    /// evaluation its powers. Ballots are summed one by one.
    pub fn memory_bytes(&self, threads: usize) -> usize {
        let ciphertexts = 6 * threads + 2 + 30 * self.evaluations();
        PROGRAM + key_memory(self.evaluation_key_bytes()) + ciphertexts * ciphertext(self.ring())
    }

    /// Bytes that the student downloads for one batch.
    pub fn result_bytes(&self) -> usize {
        framed_bytes(self.payload_bytes(Kind::Release))
    }
}
