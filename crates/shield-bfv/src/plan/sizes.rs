//! How many bytes keys, ballots and releases have: exactly one length per kind under a plan.

use shield::framing::{framed_bytes, presence_bytes};

use super::Plan;
use crate::keys;

pub(crate) fn poly_bytes(plan: &Plan, limbs: usize) -> usize {
    let bits = plan.moduli_bits().first().copied().unwrap_or(0) as usize;
    plan.ring_degree() * limbs * bits / 8
}

fn full_poly(plan: &Plan) -> usize {
    poly_bytes(plan, plan.moduli_bits().len())
}

/// Two bits per coefficient, which is -1, 0 or 1.
pub(crate) fn secret_payload(plan: &Plan) -> usize {
    plan.ring_degree() / 4
}

pub(crate) fn public_payload(plan: &Plan) -> usize {
    32 + full_poly(plan)
}

pub(crate) fn evaluation_payload(plan: &Plan) -> usize {
    let switch_key = 32 + plan.moduli_bits().len() * full_poly(plan);
    public_payload(plan) + keys::switch_keys(plan.layout()) * switch_key
}

/// A ballot without its presence.
pub(crate) fn votes_payload(plan: &Plan) -> usize {
    2 * plan.layout().planes() * full_poly(plan)
}

pub(crate) fn release_payload(plan: &Plan) -> usize {
    2 * plan.released_ciphertexts() * poly_bytes(plan, 1)
}

/// One bit per teacher, one per sample of a batch.
pub(crate) fn verdict_payload(plan: &Plan, samples: usize) -> usize {
    presence_bytes(plan.teachers()) + presence_bytes(samples)
}

pub(crate) fn audit_payload(plan: &Plan) -> usize {
    2 * plan.audit().ciphertexts * poly_bytes(plan, 1)
}

/// Bytes of a batch's audit.
pub(crate) fn audit_bytes(plan: &Plan) -> usize {
    framed_bytes(audit_payload(plan))
}

/// Bytes of a full batch's ballot.
pub(crate) fn ballot_bytes(plan: &Plan) -> usize {
    framed_bytes(presence_bytes(plan.samples_per_batch()) + votes_payload(plan))
}

/// Bytes of the public key.
pub(crate) fn public_key_bytes(plan: &Plan) -> usize {
    framed_bytes(public_payload(plan))
}

/// Bytes of the evaluation key.
pub(crate) fn evaluation_key_bytes(plan: &Plan) -> usize {
    framed_bytes(evaluation_payload(plan))
}

/// Bytes of a batch's release.
pub(crate) fn release_bytes(plan: &Plan) -> usize {
    framed_bytes(release_payload(plan))
}
