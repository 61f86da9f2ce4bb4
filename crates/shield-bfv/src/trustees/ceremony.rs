//! The making of one election's keys, as everyone follows it: messages in, keys out.

use shield_core::engine::Key;
use shield_core::framing::{KeyId, Kind, MadeFor, framed_bytes};

use super::derivation::{derive, session, uniform};
use super::error::TrusteeError;
use super::messages::{Format, Message, check_count, opening_bytes};
use super::parts::{self, Jointly, KeyParts, Shape};
use crate::bytes;
use crate::keys::PublicKey;
use crate::quorum::{OpeningPlan, Trustees};
use crate::ring::{Context, Poly, Values};
use crate::scheme::{EncryptionKey, SwitchKey};

/// Purposes of the digests of first shares, and of the coin.
const COMMITMENT: &str = "shield 2026 bfv trustees commitment to a key share";
const FIRSTS: &str = "shield 2026 bfv trustees digest of all first key shares";
const COIN: &str = "shield 2026 bfv trustees coin of the key set that stays";

/// The making of one election's keys.
#[derive(Debug)]
pub struct Ceremony<'a, E> {
    pub(super) engine: &'a E,
    pub(super) plan: OpeningPlan,
    pub(super) shape: Shape,
    pub(super) session: KeyId,
}

/// All first shares of one set of keys, checked and summed.
pub struct FirstRound {
    pub(super) set: usize,
    /// Of each trustee's share, in order.
    commitments: Vec<[u8; 32]>,
    /// The sums, in the order of a share's polynomials.
    sums: Vec<Poly<Values>>,
    /// Of each trustee, at the level of a release: `b_i`, and `-h1` of the first digit, both of
    /// them encryptions of zero under its secret.
    pub(super) zeros: Vec<[Poly<Values>; 2]>,
    pub(super) digest: [u8; 32],
}

impl std::fmt::Debug for FirstRound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FirstRound").field("set", &self.set).finish_non_exhaustive()
    }
}

/// The keys that trustees made: the student's does not exist.
pub struct JointKeys<E: Jointly> {
    /// For the teachers.
    pub public: PublicKey,
    /// For the server.
    pub evaluation: E::EvaluationKey,
}

/// Bytes of what one trustee sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageBytes {
    /// Its first share of a set of keys.
    pub first: usize,
    /// Its second share of a set of keys.
    pub second: usize,
    /// The public side of its deal; nothing where all trustees open.
    pub deal: usize,
    /// What it deals to each trustee; nothing where all open.
    pub dealt: usize,
    /// Its opening of a batch.
    pub opening: usize,
    /// Its checked opening of a batch; nothing where all open.
    pub checked: usize,
}

/// What a trustee commits to before it shows its first share.
pub fn commitment(first: &[u8]) -> [u8; 32] {
    derive(COMMITMENT, &[first])
}

/// Adds polynomials one by one.
pub(super) fn add_all(context: &Context, sums: &mut Vec<Poly<Values>>, more: Vec<Poly<Values>>) {
    if sums.is_empty() {
        *sums = more;
        return;
    }
    for (sum, poly) in sums.iter_mut().zip(&more) {
        context.add(sum, poly);
    }
}

impl<'a, E: Jointly> Ceremony<'a, E> {
    /// The making of keys for an engine with trustees. The common string follows from everything
    /// that the parties agreed on, and must be the same for all.
    pub fn new(engine: &'a E, common: &[u8; 32]) -> Result<Self, TrusteeError> {
        let plan = parts::opening(engine)?;
        let session = session(common, engine.binding());
        Ok(Self { engine, plan, shape: engine.shape(), session })
    }

    /// The trustees.
    pub fn trustees(&self) -> Trustees {
        self.plan.trustees
    }

    /// Bytes of every message.
    pub fn bytes(&self) -> MessageBytes {
        let of = |kind| self.with_format(kind, |format| framed_bytes(format.length()));
        let shared = |bytes: usize| if self.plan.trustees.shares() { bytes } else { 0 };
        let opening = |limbs| framed_bytes(opening_bytes(self.context(), self.plan, limbs));
        MessageBytes {
            first: of(Kind::KeyShare),
            second: of(Kind::SecondKeyShare),
            deal: shared(of(Kind::Deal)),
            dealt: shared(of(Kind::DealtShare)),
            opening: opening(1),
            checked: shared(opening(self.plan.limbs)),
        }
    }

    pub(super) fn context(&self) -> &'a Context {
        parts::context(self.engine)
    }

    pub(super) fn made_for(&self, set: usize) -> MadeFor {
        MadeFor { batch: set, key: self.session }
    }

    /// Limbs of the polynomials of a first share: public key, the relinearisation key's h0 and h1,
    /// rotations.
    fn first_levels(&self) -> Vec<usize> {
        let mut levels = vec![self.context().limbs()];
        levels.extend(vec![self.shape.relinearisation; 2 * self.shape.relinearisation]);
        levels.extend(self.shape.rotations.iter().flat_map(|&(_, limbs)| vec![limbs; limbs]));
        levels
    }

    pub(super) fn with_format<T>(&self, kind: Kind, act: impl FnOnce(Format<'_>) -> T) -> T {
        let (relinearisation, count) = (self.shape.relinearisation, self.plan.trustees.count());
        let levels = match kind {
            Kind::KeyShare => self.first_levels(),
            Kind::SecondKeyShare => vec![relinearisation; relinearisation],
            Kind::Deal => vec![self.plan.limbs; 2 * count],
            _ => vec![self.plan.limbs],
        };
        let (binding, context) = (self.engine.binding(), self.context());
        act(Format { kind, binding, context, extra: 0, levels: &levels })
    }

    pub(super) fn write(
        &self,
        kind: Kind,
        set: usize,
        trustee: usize,
        polys: &[Poly<Values>],
    ) -> Vec<u8> {
        self.with_format(kind, |format| format.write(self.made_for(set), trustee, &[], polys))
    }

    pub(super) fn read(
        &self,
        kind: Kind,
        set: usize,
        trustee: usize,
        bytes: &[u8],
    ) -> Result<Message<Values>, TrusteeError> {
        self.with_format(kind, |format| format.read_from(self.made_for(set), trustee, bytes))
    }

    /// Checks and sums all first shares of one set of keys, in the order of trustees.
    pub fn first_round(
        &self,
        set: usize,
        commitments: &[[u8; 32]],
        firsts: &[impl AsRef<[u8]>],
    ) -> Result<FirstRound, TrusteeError> {
        let count = self.plan.trustees.count();
        check_count("commitments", commitments.len(), count)?;
        check_count("key shares", firsts.len(), count)?;
        let broken = |(bytes, expected): (_, &[u8; 32])| commitment(bytes) != *expected;
        let firsts = || firsts.iter().map(AsRef::as_ref);
        if let Some(trustee) = firsts().zip(commitments).position(broken) {
            return Err(TrusteeError::Commitment { trustee });
        }
        let context = self.context();
        let (mut sums, mut zeros) = (Vec::new(), Vec::with_capacity(count));
        for (trustee, bytes) in firsts().enumerate() {
            let polys = self.read(Kind::KeyShare, set, trustee, bytes)?.polys;
            let mut zero = [&polys[0], &polys[1 + self.shape.relinearisation]].map(Poly::clone);
            for poly in &mut zero {
                poly.truncate(self.plan.limbs);
            }
            context.scale(&mut zero[1], -1);
            zeros.push(zero);
            add_all(context, &mut sums, polys);
        }
        let digest =
            derive(FIRSTS, &commitments.iter().map(<[u8; 32]>::as_slice).collect::<Vec<_>>());
        Ok(FirstRound { set, commitments: commitments.to_vec(), sums, zeros, digest })
    }

    /// The keys, from all second shares in the order of trustees.
    pub fn keys(
        &self,
        first: FirstRound,
        seconds: &[impl AsRef<[u8]>],
    ) -> Result<JointKeys<E>, TrusteeError> {
        check_count("second key shares", seconds.len(), self.plan.trustees.count())?;
        let mut second = Vec::new();
        for (trustee, bytes) in seconds.iter().enumerate() {
            let share = self.read(Kind::SecondKeyShare, first.set, trustee, bytes.as_ref())?;
            add_all(self.context(), &mut second, share.polys);
        }
        Ok(self.assembled(first, second))
    }

    /// The name of the keys that first shares lead to.
    pub fn id(&self, first: &FirstRound) -> KeyId {
        let public = self.public(first.set, first.sums[0].clone());
        bytes::key_id(E::KEY_NAME, self.context(), &public)
    }

    fn public(&self, set: usize, b: Poly<Values>) -> EncryptionKey {
        EncryptionKey::from_parts(self.context(), uniform(self.session, set, PUBLIC), b)
    }

    fn assembled(&self, first: FirstRound, second: Vec<Poly<Values>>) -> JointKeys<E> {
        let (context, digits) = (self.context(), self.shape.relinearisation);
        let seed = |number| uniform(self.session, first.set, number);
        let mut sums = first.sums.into_iter();
        let b = sums.next().unwrap_or_else(|| Poly::zero(context.degree(), context.limbs()));
        let public = self.public(first.set, b);
        let h1: Vec<_> = sums.by_ref().take(2 * digits).skip(digits).collect();
        let digits = second.into_iter().zip(h1).map(|(r, h1)| [r, h1]).collect();
        let relinearisation = SwitchKey { seed: None, digits };
        let keys = self.shape.rotations.iter().enumerate().map(|(i, &(_, limbs))| {
            let firsts = sums.by_ref().take(limbs).collect();
            SwitchKey::from_parts(context, seed(ROTATIONS + i), firsts)
        });
        let rotations = parts::rotations(context.degree(), &self.shape, keys.collect());
        let id = bytes::key_id(E::KEY_NAME, context, &public);
        let evaluation = {
            let public = public.clone();
            self.engine.evaluation_key(KeyParts { public, relinearisation, rotations, id })
        };
        JointKeys { public: PublicKey { key: public, id }, evaluation }
    }

    /// Which of so many key sets stays, by the coins that all trustees opened. Each of them must be
    /// committed to before the first shares are shown, and opened after the second ones are in.
    pub fn kept(&self, sets: usize, coins: &[[u8; 32]]) -> Result<usize, TrusteeError> {
        check_count("coins", coins.len(), self.plan.trustees.count())?;
        let mut parts: Vec<&[u8]> = vec![self.session.as_bytes()];
        parts.extend(coins.iter().map(<[u8; 32]>::as_slice));
        let coin = derive(COIN, &parts);
        // A bias below 2^-60.
        let number = coin.iter().take(8).fold(0_u64, |sum, &byte| sum << 8 | u64::from(byte));
        Ok((number % sets.max(1) as u64) as usize)
    }
}

impl FirstRound {
    /// The sums of the first shares.
    pub(super) fn sums(&self) -> &[Poly<Values>] {
        &self.sums
    }

    /// Whether a share is the one that a trustee committed to.
    pub(super) fn has(&self, trustee: usize, first: &[u8]) -> bool {
        self.commitments.get(trustee) == Some(&commitment(first))
    }
}

impl<E: Jointly> std::fmt::Debug for JointKeys<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JointKeys").field("id", &self.id()).finish_non_exhaustive()
    }
}

impl<E: Jointly> JointKeys<E> {
    /// The name of the keys.
    pub fn id(&self) -> KeyId {
        self.public.id()
    }
}

/// Numbers of the uniform polynomials of a set: of the public key, of the relinearisation key, and
/// of the first rotation.
pub(super) const PUBLIC: usize = 0;
pub(super) const RELINEARISATION: usize = 1;
pub(super) const ROTATIONS: usize = 2;
