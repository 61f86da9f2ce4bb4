//! How many bytes keys, ballots and releases have: exactly one length per kind under a plan.

use shield_core::framing::{Kind, framed_bytes, presence_bytes};

use super::Plan;
use crate::keys;
use crate::proof::Proof;

/// Bytes of the range of a shard's teachers.
pub(crate) const RANGE: usize = 8;

/// Polynomials of the sums of the check in a shard, per ciphertext of a ballot.
pub(crate) const CHECK_POLYS: usize = 10;

impl Plan {
    /// Bytes of a kind without its frame, and of a ballot without its presence.
    pub(crate) fn payload_bytes(&self, kind: Kind) -> usize {
        let (ring, limbs) = (self.ring, self.ring.limbs);
        match kind {
            Kind::SecretKey => ring.secret_bytes(),
            Kind::PublicKey => ring.public_bytes(),
            Kind::EvaluationKey => {
                ring.public_bytes()
                    + ring.relinearisation_bytes(limbs)
                    + keys::rotations(&self.layout) * ring.switch_bytes(limbs)
            }
            Kind::Ballot => {
                let planes = self.layout.planes();
                let proof = if self.proofs() { Proof::bytes(ring.degree, planes) } else { 0 };
                2 * planes * ring.poly_bytes(limbs) + proof
            }
            Kind::Release => {
                2 * self.released_ciphertexts() * ring.poly_bytes(self.released_limbs())
            }
            Kind::Audit => 2 * self.teachers() * ring.poly_bytes(1),
            Kind::Shard => {
                let tallies = 2 * self.layout.ciphertexts();
                RANGE + (tallies + CHECK_POLYS) * self.layout.planes() * ring.poly_bytes(limbs)
            }
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

    /// Bytes that the student downloads for one batch.
    pub fn result_bytes(&self) -> usize {
        framed_bytes(self.payload_bytes(Kind::Release))
    }
}
