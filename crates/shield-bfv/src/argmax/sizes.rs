//! How many bytes keys, ballots and releases have: exactly one length per kind under a plan.

use shield::framing::{Kind, framed_bytes, presence_bytes};

use super::plan::ArgmaxPlan;

fn poly_bytes(plan: &ArgmaxPlan, limbs: usize) -> usize {
    let bits = plan.moduli_bits().first().copied().unwrap_or(0) as usize;
    plan.ring_degree() * limbs * bits / 8
}

fn switch_bytes(plan: &ArgmaxPlan, limbs: usize) -> usize {
    32 + limbs * poly_bytes(plan, limbs)
}

pub(super) fn payload_bytes(plan: &ArgmaxPlan, kind: Kind) -> usize {
    let limbs = plan.moduli_bits().len();
    let public = 32 + poly_bytes(plan, limbs);
    match kind {
        // Two bits per coefficient, which is -1, 0 or 1.
        Kind::SecretKey => plan.ring_degree() / 4,
        Kind::PublicKey => public,
        Kind::EvaluationKey => {
            let levels = [plan.start(), limbs, plan.wins()];
            public + levels.map(|limbs| switch_bytes(plan, limbs)).iter().sum::<usize>()
        }
        Kind::Ballot => 2 * poly_bytes(plan, limbs),
        Kind::Release => 2 * poly_bytes(plan, 1),
        Kind::Audit | Kind::Verdict => 0,
    }
}

impl ArgmaxPlan {
    /// Bytes of one teacher's ballot for one batch.
    pub fn ballot_bytes(&self) -> usize {
        framed_bytes(presence_bytes(self.samples_per_batch()) + payload_bytes(self, Kind::Ballot))
    }

    /// Bytes of the public key.
    pub fn public_key_bytes(&self) -> usize {
        framed_bytes(payload_bytes(self, Kind::PublicKey))
    }

    /// Bytes of the evaluation key.
    pub fn evaluation_key_bytes(&self) -> usize {
        framed_bytes(payload_bytes(self, Kind::EvaluationKey))
    }

    /// Bytes that the student downloads for one batch.
    pub fn result_bytes(&self) -> usize {
        framed_bytes(payload_bytes(self, Kind::Release))
    }
}
