//! What keys, ballots and releases are made of, as bytes: polynomials, ciphertexts, keys.
//!
//! Residues are packed without gaps, and every residue that is read is checked against its prime.

use shield::framing::Reader;

use crate::keys::KeyId;
use crate::ring::{Context, Poly, packing};
use crate::scheme::{Ciphertext, EncryptionKey, SwitchKey};

pub(crate) fn write_poly<R>(out: &mut Vec<u8>, context: &Context, poly: &Poly<R>) {
    for (limb, ntt) in poly.iter().zip(context.q()) {
        packing::pack(out, limb, prime_bits(ntt.modulus().value()));
    }
}

fn prime_bits(p: u64) -> u32 {
    u64::BITS - p.leading_zeros()
}

pub(crate) fn write_public(out: &mut Vec<u8>, context: &Context, key: &EncryptionKey) {
    out.extend(key.seed);
    write_poly(out, context, &key.parts[0]);
}

pub(crate) fn write_switch(out: &mut Vec<u8>, context: &Context, key: &SwitchKey) {
    out.extend(key.seed);
    for [first, _] in &key.digits {
        write_poly(out, context, first);
    }
}

pub(crate) fn read_poly<R>(
    payload: &mut Reader,
    context: &Context,
    limbs: usize,
) -> Option<Poly<R>> {
    let mut poly = Poly::unset(context.degree(), limbs);
    for (limb, ntt) in poly.iter_mut().zip(context.q()) {
        let p = ntt.modulus().value();
        let bits = prime_bits(p);
        packing::unpack(payload.take(limb.len() * bits as usize / 8)?, bits, limb);
        // No early end: the loop then runs on whole registers.
        if limb.iter().fold(0, |largest, &x| x.max(largest)) >= p {
            return None;
        }
    }
    Some(poly)
}

pub(crate) fn read_public(payload: &mut Reader, context: &Context) -> Option<EncryptionKey> {
    let seed = payload.array()?;
    let first = read_poly(payload, context, context.limbs())?;
    Some(EncryptionKey::from_parts(context, seed, first))
}

pub(crate) fn read_switch(
    payload: &mut Reader,
    context: &Context,
    limbs: usize,
) -> Option<SwitchKey> {
    let seed = payload.array()?;
    let first = (0..limbs).map(|_| read_poly(payload, context, limbs));
    let first = first.collect::<Option<Vec<_>>>()?;
    Some(SwitchKey::from_parts(context, seed, first))
}

pub(crate) fn read_ciphertext(
    payload: &mut Reader,
    context: &Context,
    limbs: usize,
) -> Option<Ciphertext> {
    let (first, second) =
        (read_poly(payload, context, limbs)?, read_poly(payload, context, limbs)?);
    Some(Ciphertext { parts: [first, second] })
}

/// The name of the keys that a public key belongs to; `purpose` tells engines apart.
pub(crate) fn key_id(purpose: &str, context: &Context, key: &EncryptionKey) -> KeyId {
    let mut payload = Vec::new();
    write_public(&mut payload, context, key);
    KeyId::of_public_key(purpose, &payload)
}
