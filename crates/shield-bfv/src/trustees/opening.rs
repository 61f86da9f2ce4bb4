//! Opening a release: parts of a decryption that only their sum reads.

use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use shield_core::engine::{Encoding, Revealed};
use shield_core::framing::{KeyId, Kind, MadeFor};
use zeroize::{Zeroize, Zeroizing};

use super::derivation::{derive, stream};
use super::error::TrusteeError;
use super::holder::TrusteeKey;
use super::messages::{BOUND, Format, check_count};
use super::openings::Openings;
use super::parts::{self, Jointly};
use crate::flooding;
use crate::quorum::{OpeningPlan, Trustees};
use crate::release::Release;
use crate::ring::{Coefficients, Context, Poly, Values, limb};
use crate::scheme::{Ciphertext, SecretValues, decoded, uniform};

/// Purposes of the digest of a release, and of the parts of zero.
const RELEASE: &str = "shield 2026 bfv trustees digest of a release";
const PART: &str = "shield 2026 bfv trustees part of zero of two trustees";

/// A secret that this trustee shares with another one, and with nobody else.
#[derive(Clone)]
pub struct PairSecret {
    /// The other trustee, counted from 0.
    pub with: usize,
    /// The secret: the same on both sides.
    pub secret: Zeroizing<[u8; 32]>,
}

impl std::fmt::Debug for PairSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PairSecret").field("with", &self.with).finish_non_exhaustive()
    }
}

/// A trustee's number, and its part of each ciphertext.
pub(super) type Part = (usize, Vec<Poly<Coefficients>>);

/// A release to be opened, with everything that an opening of it is bound to.
pub(super) struct Opened<'a, E> {
    pub(super) engine: &'a E,
    pub(super) plan: OpeningPlan,
    pub(super) ciphertexts: Vec<Ciphertext>,
    pub(super) batch: usize,
    pub(super) digest: [u8; 32],
    pub(super) id: KeyId,
}

impl<'a, E: Jointly> Opened<'a, E> {
    pub(super) fn new(
        engine: &'a E,
        id: KeyId,
        batch: usize,
        release: &[u8],
    ) -> Result<Self, TrusteeError> {
        let plan = parts::opening(engine)?;
        let Release { ciphertexts, .. } = engine.decode_release(release, batch, id)?;
        let digest = derive(RELEASE, &[release]);
        Ok(Self { engine, plan, ciphertexts, batch, digest, id })
    }

    pub(super) fn context(&self) -> &'a Context {
        parts::context(self.engine)
    }

    /// What an opening with some set of trustees carries, 0 for one that is checked.
    pub(super) fn bound(&self, set: u16) -> Vec<u8> {
        [&set.to_le_bytes()[..], &self.digest].concat()
    }

    pub(super) fn with_format<T>(&self, limbs: usize, act: impl FnOnce(Format<'_>) -> T) -> T {
        let levels = vec![limbs; self.plan.ciphertexts];
        let (binding, context) = (self.engine.binding(), self.context());
        act(Format { kind: Kind::Opening, binding, context, extra: BOUND, levels: &levels })
    }

    pub(super) fn made_for(&self) -> MadeFor {
        MadeFor { batch: self.batch, key: self.id }
    }

    /// The openings of different trustees, checked for their form.
    pub(super) fn read(
        &self,
        set: u16,
        limbs: usize,
        openings: &[impl AsRef<[u8]>],
    ) -> Result<Vec<Part>, TrusteeError> {
        let mut read: Vec<Part> = Vec::new();
        for bytes in openings {
            let message =
                self.with_format(limbs, |format| format.read(self.made_for(), bytes.as_ref()))?;
            let trustee = message.trustee;
            if trustee >= self.plan.trustees.count() {
                let count = self.plan.trustees.count();
                return Err(TrusteeError::Nobody { trustee, count });
            }
            if message.extra != self.bound(set) || read.iter().any(|(other, _)| *other == trustee) {
                return Err(TrusteeError::OtherOpening { trustee });
            }
            read.push((trustee, message.polys));
        }
        read.sort_unstable_by_key(|(trustee, _)| *trustee);
        Ok(read)
    }
}

/// A set of trustees as bits.
fn bits(trustees: Trustees, set: &[usize]) -> Result<u16, TrusteeError> {
    let (count, threshold) = (trustees.count(), trustees.threshold());
    let mut bits = 0_u16;
    for &trustee in set {
        if trustee >= count {
            return Err(TrusteeError::Nobody { trustee, count });
        }
        bits |= 1 << trustee;
    }
    if set.len() != threshold || bits.count_ones() as usize != threshold {
        return Err(TrusteeError::Set { found: set.len(), threshold });
    }
    Ok(bits)
}

impl TrusteeKey {
    /// This trustee's opening of a release with a set of trustees, itself among them, to be sealed
    /// to the student. The secrets are those that it shares with the others. Only what the trustee
    /// computed itself may be opened: see [`crate::trustees`].
    pub fn open<E: Jointly>(
        &self,
        engine: &E,
        batch: usize,
        release: &[u8],
        set: &[usize],
        secrets: &[PairSecret],
        openings: &mut Openings,
    ) -> Result<Vec<u8>, TrusteeError> {
        let opened = Opened::new(engine, self.id, batch, release)?;
        let trustees = opened.plan.trustees;
        let set_bits = bits(trustees, set)?;
        if !set.contains(&self.trustee) {
            return Err(TrusteeError::Set { found: set.len(), threshold: trustees.threshold() });
        }
        let others = set.iter().filter(|&&other| other != self.trustee);
        let found = |&with: &usize| {
            let secret = secrets.iter().find(|secret| secret.with == with);
            secret.ok_or(TrusteeError::PairSecret { with })
        };
        let secrets = others.map(found).collect::<Result<Vec<_>, _>>()?;
        openings.add(batch, opened.digest, set_bits)?;
        let bound = opened.bound(set_bits);
        let (context, limbs) = (opened.context(), opened.plan.limbs);
        let share = self.additive(context, trustees, set);
        let mut floods = stream(&self.flooding, "opening", &[&bound]);
        let mut zeros: Vec<(bool, ChaCha20Rng)> = secrets
            .into_iter()
            .map(|PairSecret { with, secret }| {
                let seed = Zeroizing::new(derive(PART, &[&**secret, &bound]));
                (self.trustee < *with, ChaCha20Rng::from_seed(*seed))
            })
            .collect();
        let parts: Vec<Poly<Coefficients>> = opened
            .ciphertexts
            .iter()
            .map(|c| {
                let bits = opened.plan.flooding;
                let mut part = partial(context, c, &share, bits, &mut floods);
                for (adds, rng) in &mut zeros {
                    let mut zero = uniform(context, limbs, rng).reinterpret();
                    if !*adds {
                        context.scale(&mut zero, -1);
                    }
                    context.add(&mut part, &zero);
                }
                context.drop_coefficients(&mut part, 1);
                part
            })
            .collect();
        let made_for = opened.made_for();
        Ok(opened.with_format(1, |format| format.write(made_for, self.trustee, &bound, &parts)))
    }

    /// The share that adds up to the secret with those of the others in a set.
    fn additive(&self, context: &Context, trustees: Trustees, set: &[usize]) -> SecretValues {
        let mut share = SecretValues(self.share.0.clone());
        if !trustees.shares() {
            return share;
        }
        let (weights, common) = Trustees::weights(set);
        let own = set.iter().position(|&trustee| trustee == self.trustee).unwrap_or(0);
        for (part, ntt) in share.0.iter_mut().zip(context.q()) {
            let q = ntt.modulus();
            let below = q.signed((common * trustees.scale()) as i64);
            let factor = q.mul(q.signed(weights[own] as i64), q.inv(below));
            limb::scale(q, part, q.factor(factor));
        }
        share
    }
}

/// `c1 share` with flooding, by coefficients.
pub(super) fn partial(
    context: &Context,
    c: &Ciphertext,
    share: &SecretValues,
    bits: u32,
    floods: &mut ChaCha20Rng,
) -> Poly<Coefficients> {
    let product: Poly<Values> = context.product(&c.parts[1], &share.0);
    let mut part = context.backward(product);
    let mut flood = flooding::flood(context, bits, c.limbs(), floods);
    context.add(&mut part, &flood);
    // With the part, it would give the secret away.
    flood.data_mut().zeroize();
    part
}

/// What a release shows, from the openings of a set of trustees.
pub fn combine<E: Jointly>(
    engine: &E,
    id: KeyId,
    batch: usize,
    release: &[u8],
    set: &[usize],
    openings: &[impl AsRef<[u8]>],
) -> Result<Revealed, TrusteeError> {
    let opened = Opened::new(engine, id, batch, release)?;
    let trustees = opened.plan.trustees;
    check_count("openings", openings.len(), trustees.threshold())?;
    let set_bits = bits(trustees, set)?;
    let read = opened.read(set_bits, 1, openings)?;
    if let Some(&(trustee, _)) = read.iter().find(|(trustee, _)| !set.contains(trustee)) {
        return Err(TrusteeError::OtherOpening { trustee });
    }
    let context = opened.context();
    let slots = opened.ciphertexts.iter().enumerate().map(|(i, c)| {
        let mut phase = context.backward(c.parts[0].clone());
        context.drop_coefficients(&mut phase, 1);
        for (_, parts) in &read {
            context.add(&mut phase, &parts[i]);
        }
        decoded(context, phase.limb(0).to_vec())
    });
    Ok(engine.read(batch, &slots.collect::<Vec<_>>()))
}
