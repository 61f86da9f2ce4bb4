//! Keys, ballots and releases as bytes, in the frame of [`shield::framing`].
//!
//! Residues are packed without gaps. Every kind has exactly one length under a plan, and every
//! residue is checked against its prime.

use crate::keys;
use crate::plan::Plan;
use crate::ring::{Context, Poly};

mod audit;
mod objects;

pub(crate) use objects::key_id;
pub use shield::framing::{DecodeError, HEADER, Header, Holder, Kind, VERSION};
use shield::framing::{Reader, framed_bytes, presence_bytes};

/// Reading polynomials.
pub(crate) trait ReadPoly {
    /// A polynomial of `limbs` limbs whose residues are all below their prime.
    fn poly<R>(&mut self, context: &Context, limbs: usize) -> Option<Poly<R>>;
}

impl ReadPoly for Reader<'_> {
    fn poly<R>(&mut self, context: &Context, limbs: usize) -> Option<Poly<R>> {
        let mut poly = Poly::zero(context.degree(), limbs);
        for (limb, ntt) in poly.iter_mut().zip(context.q()) {
            let p = ntt.modulus().value();
            let bits = prime_bits(p);
            unpack(self.take(limb.len() * bits as usize / 8)?, bits, limb);
            if limb.iter().any(|&x| x >= p) {
                return None;
            }
        }
        Some(poly)
    }
}

fn prime_bits(p: u64) -> u32 {
    u64::BITS - p.leading_zeros()
}

pub(crate) fn write_poly<R>(out: &mut Vec<u8>, context: &Context, poly: &Poly<R>) {
    for (limb, ntt) in poly.iter().zip(context.q()) {
        pack(out, limb, prime_bits(ntt.modulus().value()));
    }
}

/// Appends residues of `bits` bits, without gaps. Limbs have a multiple of 8 residues, so bytes
/// come out even.
fn pack(out: &mut Vec<u8>, residues: &[u64], bits: u32) {
    let (mut pending, mut filled) = (0_u128, 0);
    for &x in residues {
        pending |= u128::from(x) << filled;
        filled += bits;
        while filled >= 8 {
            out.push(pending as u8);
            pending >>= 8;
            filled -= 8;
        }
    }
}

/// The inverse of [`pack`], for residues of at most 57 bits: each lies within eight bytes.
pub(crate) fn unpack(bytes: &[u8], bits: u32, residues: &mut [u64]) {
    let mask = (1 << bits) - 1;
    for (i, x) in residues.iter_mut().enumerate() {
        let start = i * bits as usize;
        let word = match bytes.get(start / 8..).and_then(<[u8]>::first_chunk) {
            Some(word) => *word,
            // The last few: padded with zeros.
            None => std::array::from_fn(|j| bytes.get(start / 8 + j).copied().unwrap_or(0)),
        };
        *x = u64::from_le_bytes(word) >> (start % 8) & mask;
    }
}

pub(crate) fn poly_bytes(plan: &Plan, limbs: usize) -> usize {
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
