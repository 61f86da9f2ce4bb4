//! What keys, ballots and releases are made of, as bytes: polynomials, ciphertexts, keys.
//!
//! Residues are packed without gaps, and every residue that is read is checked against its prime.

use shield_core::framing::Reader;

use zeroize::Zeroizing;

use crate::keys::{KeyId, PublicKey, Rotation, SecretKey};
use crate::ring::{Context, Ntt, Poly, packing};
use crate::scheme::{Automorphism, Ciphertext, EncryptionKey, Secret, SwitchKey};

/// Two bits per coefficient, which is -1, 0 or 1.
pub(crate) fn write_secret(out: &mut Vec<u8>, key: &SecretKey) {
    out.extend(key.secret.coefficients().chunks(4).map(|four| {
        four.iter().rev().fold(0, |byte, c| byte << 2 | (c + 1).cast_unsigned() as u8)
    }));
}

pub(crate) fn read_secret(payload: &mut Reader, degree: usize, id: KeyId) -> Option<SecretKey> {
    let bytes = payload.take(degree / 4)?;
    let trits = bytes.iter().flat_map(|&byte| (0..4).map(move |i| byte >> (2 * i) & 3));
    // Room for all at once: a vector that grows leaves copies behind that nobody wipes.
    let mut coefficients = Zeroizing::new(Vec::with_capacity(degree));
    coefficients.extend(trits.map(|trit| i64::from(trit) - 1));
    Some(SecretKey { secret: Secret::from_coefficients(coefficients)?, id })
}

/// Whether a public key is of this ring: its residues must not meet ours otherwise.
pub(crate) fn fits(context: &Context, key: &PublicKey) -> bool {
    let part = &key.key.parts[0];
    part.degree() == context.degree() && part.limbs() == context.limbs()
}

pub(crate) fn write_poly<R>(out: &mut Vec<u8>, context: &Context, poly: &Poly<R>) {
    for (limb, ntt) in poly.iter().zip(context.q()) {
        packing::pack(out, limb, prime_bits(ntt.modulus().value()));
    }
}

/// Bytes of a polynomial of so many limbs.
pub(crate) fn poly_bytes(context: &Context, limbs: usize) -> usize {
    let bits = |ntt: &Ntt| prime_bits(ntt.modulus().value()) as usize;
    context.q()[..limbs].iter().map(|ntt| context.degree() * bits(ntt) / 8).sum()
}

fn prime_bits(p: u64) -> u32 {
    u64::BITS - p.leading_zeros()
}

pub(crate) fn write_public(out: &mut Vec<u8>, context: &Context, key: &EncryptionKey) {
    out.extend(key.seed);
    write_poly(out, context, &key.parts[0]);
}

pub(crate) fn write_switch(out: &mut Vec<u8>, context: &Context, key: &SwitchKey) {
    if let Some(seed) = key.seed {
        out.extend(seed);
    }
    for [first, second] in &key.digits {
        write_poly(out, context, first);
        if key.seed.is_none() {
            write_poly(out, context, second);
        }
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

/// A relinearisation key, which has no seed where trustees made it.
pub(crate) fn read_relinearisation(
    payload: &mut Reader,
    context: &Context,
    limbs: usize,
    trustees: u32,
) -> Option<SwitchKey> {
    if trustees == 0 {
        return read_switch(payload, context, limbs);
    }
    let mut poly = || read_poly(payload, context, limbs);
    let digits = (0..limbs).map(|_| Some([poly()?, poly()?])).collect::<Option<_>>()?;
    Some(SwitchKey { seed: None, digits })
}

pub(crate) fn read_rotation(
    payload: &mut Reader,
    context: &Context,
    exponent: u64,
    limbs: usize,
) -> Option<Rotation> {
    let automorphism = Automorphism::new(context.degree(), exponent);
    Some(Rotation { automorphism, key: read_switch(payload, context, limbs)? })
}

pub(crate) fn write_ciphertexts(out: &mut Vec<u8>, context: &Context, all: &[Ciphertext]) {
    for part in all.iter().flat_map(|ciphertext| &ciphertext.parts) {
        write_poly(out, context, part);
    }
}

pub(crate) fn read_ciphertexts(
    payload: &mut Reader,
    context: &Context,
    count: usize,
    limbs: usize,
) -> Option<Vec<Ciphertext>> {
    let mut poly = || read_poly(payload, context, limbs);
    (0..count).map(|_| Some(Ciphertext { parts: [poly()?, poly()?] })).collect()
}

/// The name of the keys that a public key belongs to; `purpose` tells engines apart.
pub(crate) fn key_id(purpose: &str, context: &Context, key: &EncryptionKey) -> KeyId {
    let mut payload = Vec::new();
    write_public(&mut payload, context, key);
    KeyId::of_public_key(purpose, &payload)
}
