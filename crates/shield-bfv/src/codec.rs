//! Keys, ballots and releases as bytes, in the frame of [`shield::framing`].
//!
//! Residues are packed without gaps. Every kind has exactly one length under a plan, and every
//! residue is checked against its prime.

use crate::keys;
use crate::plan::Plan;
use crate::ring::{Context, Poly, packing};

mod audit;
mod objects;

pub(crate) use objects::key_id;
pub use shield::framing::{DecodeError, HEADER, Header, Holder, Kind, VERSION};
use shield::framing::{Reader, framed_bytes, presence_bytes};

/// Reading polynomials.
trait ReadPoly {
    /// A polynomial of `limbs` limbs whose residues are all below their prime.
    fn poly<R>(&mut self, context: &Context, limbs: usize) -> Option<Poly<R>>;
}

impl ReadPoly for Reader<'_> {
    fn poly<R>(&mut self, context: &Context, limbs: usize) -> Option<Poly<R>> {
        let mut poly = Poly::unset(context.degree(), limbs);
        for (limb, ntt) in poly.iter_mut().zip(context.q()) {
            let p = ntt.modulus().value();
            let bits = prime_bits(p);
            packing::unpack(self.take(limb.len() * bits as usize / 8)?, bits, limb);
            // No early end: the loop then runs on whole registers.
            if limb.iter().fold(0, |largest, &x| x.max(largest)) >= p {
                return None;
            }
        }
        Some(poly)
    }
}

fn prime_bits(p: u64) -> u32 {
    u64::BITS - p.leading_zeros()
}

fn write_poly<R>(out: &mut Vec<u8>, context: &Context, poly: &Poly<R>) {
    for (limb, ntt) in poly.iter().zip(context.q()) {
        packing::pack(out, limb, prime_bits(ntt.modulus().value()));
    }
}

fn poly_bytes(plan: &Plan, limbs: usize) -> usize {
    let bits = plan.moduli_bits().first().copied().unwrap_or(0) as usize;
    plan.ring_degree() * limbs * bits / 8
}

fn full_poly(plan: &Plan) -> usize {
    poly_bytes(plan, plan.moduli_bits().len())
}

/// Two bits per coefficient, which is -1, 0 or 1.
fn secret_payload(plan: &Plan) -> usize {
    plan.ring_degree() / 4
}

fn public_payload(plan: &Plan) -> usize {
    32 + full_poly(plan)
}

fn evaluation_payload(plan: &Plan) -> usize {
    let switch_key = 32 + plan.moduli_bits().len() * full_poly(plan);
    public_payload(plan) + keys::switch_keys(plan) * switch_key
}

/// A ballot without its presence.
fn votes_payload(plan: &Plan) -> usize {
    2 * plan.layout().planes() * full_poly(plan)
}

fn release_payload(plan: &Plan) -> usize {
    2 * plan.released_ciphertexts() * poly_bytes(plan, 1)
}

/// One bit per teacher, one per sample of a batch.
fn verdict_payload(plan: &Plan, samples: usize) -> usize {
    presence_bytes(plan.teachers()) + presence_bytes(samples)
}

fn audit_payload(plan: &Plan) -> usize {
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
