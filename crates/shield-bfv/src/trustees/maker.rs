//! A trustee's side of the ceremony: everything that it sends follows from one seed.

use rand::CryptoRng;
use shield_core::framing::{KeyId, Kind};
use zeroize::Zeroizing;

use super::ceremony::{Ceremony, FirstRound, PUBLIC, RELINEARISATION, ROTATIONS, commitment};
use super::derivation::{SecretSeed, of_set, secret, stream, uniform};
use super::error::TrusteeError;
use super::holder::TrusteeKey;
use super::parts::Jointly;
use crate::ring::{Context, Poly, Values, limb};
use crate::scheme::{Automorphism, Secret, SecretValues, errors, expand_at, inverse};

/// A trustee while keys are made. It keeps nothing but its seed: messages are made anew when they
/// are asked for, and are always the same.
pub struct KeyMaker<'c, 'a, E> {
    pub(super) ceremony: &'c Ceremony<'a, E>,
    pub(super) trustee: usize,
    seed: SecretSeed,
}

impl<E> std::fmt::Debug for KeyMaker<'_, '_, E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyMaker").field("trustee", &self.trustee).finish_non_exhaustive()
    }
}

impl<'c, 'a, E: Jointly> KeyMaker<'c, 'a, E> {
    pub(super) fn new(ceremony: &'c Ceremony<'a, E>, trustee: usize, seed: [u8; 32]) -> Self {
        Self { ceremony, trustee, seed: Zeroizing::new(seed) }
    }

    pub(super) fn of_set(&self, set: usize) -> Mine<'c, 'a, E> {
        Mine::of_set(self.ceremony, self.trustee, set, &of_set(&self.seed, set))
    }

    /// The commitment to the first share of a set: send it first of all.
    pub fn commitment(&self, set: usize) -> [u8; 32] {
        commitment(&self.first(set))
    }

    /// The first share of a set: send it when everybody's commitments are in.
    pub fn first(&self, set: usize) -> Vec<u8> {
        self.of_set(set).first()
    }

    /// The second share of a set, once everybody's first shares are checked and summed.
    pub fn second(&self, first: &FirstRound) -> Result<Vec<u8>, TrusteeError> {
        let mine = self.of_set(first.set);
        if !first.has(self.trustee, &mine.first()) {
            return Err(TrusteeError::NotMine);
        }
        Ok(mine.second(first.sums(), &first.digest))
    }

    /// The seed of a set that was discarded, to be opened. The seed of the set that stays must
    /// never be.
    pub fn discarded(&self, set: usize) -> SecretSeed {
        of_set(&self.seed, set)
    }

    /// This trustee's key where all trustees open.
    pub fn key(&self, first: &FirstRound, id: KeyId) -> Result<TrusteeKey, TrusteeError> {
        let trustees = self.ceremony.plan.trustees;
        if trustees.shares() {
            let remedy = "deal first, and take everybody's dealt shares";
            return Err(TrusteeError::Sharing { trustees, remedy });
        }
        let mine = self.of_set(first.set);
        let share = mine.secret.multiplier(self.ceremony.context(), self.ceremony.plan.limbs);
        Ok(self.holding(first, share, id))
    }

    pub(super) fn holding(&self, first: &FirstRound, share: SecretValues, id: KeyId) -> TrusteeKey {
        let flooding = secret(&of_set(&self.seed, first.set), "flooding", &[&first.digest]);
        TrusteeKey { trustee: self.trustee, share, flooding, id }
    }
}

impl<'a, E: Jointly> Ceremony<'a, E> {
    /// A trustee that draws everything from a seed.
    pub fn maker(
        &self,
        trustee: usize,
        seed: [u8; 32],
    ) -> Result<KeyMaker<'_, 'a, E>, TrusteeError> {
        self.check_number(trustee)?;
        Ok(KeyMaker::new(self, trustee, seed))
    }

    /// Checks every byte that a trustee sent for a set that was discarded against its opened seed.
    pub fn check_discarded(
        &self,
        first: &FirstRound,
        trustee: usize,
        opened: &[u8; 32],
        second: &[u8],
    ) -> Result<(), TrusteeError> {
        self.check_number(trustee)?;
        let mine = Mine::of_set(self, trustee, first.set, opened);
        let wrong = |what| TrusteeError::Seed { what, trustee, set: first.set };
        if !first.has(trustee, &mine.first()) {
            return Err(wrong("key share"));
        }
        if mine.second(first.sums(), &first.digest) != second {
            return Err(wrong("second key share"));
        }
        Ok(())
    }

    fn check_number(&self, trustee: usize) -> Result<(), TrusteeError> {
        let count = self.plan.trustees.count();
        if trustee < count { Ok(()) } else { Err(TrusteeError::Nobody { trustee, count }) }
    }
}

/// What a trustee draws for one set of keys.
pub(super) struct Mine<'c, 'a, E> {
    pub(super) ceremony: &'c Ceremony<'a, E>,
    trustee: usize,
    set: usize,
    seed: SecretSeed,
    pub(super) secret: Secret,
    /// For the relinearisation key alone.
    u: Secret,
}

/// An error in Montgomery's form.
pub(super) fn error(context: &Context, limbs: usize, rng: &mut impl CryptoRng) -> SecretValues {
    let mut error = SecretValues(context.small(&errors(context.degree(), rng), limbs));
    context.to_montgomery(&mut error.0);
    error
}

/// `error - a secret`.
pub(super) fn zero(
    context: &Context,
    a: &Poly<Values>,
    secret: &SecretValues,
    rng: &mut impl CryptoRng,
) -> Poly<Values> {
    let mut b = context.product(a, &secret.0);
    context.subtract_from(&mut b, &error(context, a.limbs(), rng).0);
    b
}

impl<'c, 'a, E: Jointly> Mine<'c, 'a, E> {
    /// From the seed of a set.
    pub(super) fn of_set(
        ceremony: &'c Ceremony<'a, E>,
        trustee: usize,
        set: usize,
        seed: &[u8; 32],
    ) -> Self {
        let mut rng = stream(seed, "secrets", &[]);
        let mut secret = || Secret::random(ceremony.context(), &mut rng);
        let (s, u) = (secret(), secret());
        Self { ceremony, trustee, set, seed: Zeroizing::new(*seed), secret: s, u }
    }

    pub(super) fn stream(&self, purpose: &str, about: &[&[u8]]) -> rand_chacha::ChaCha20Rng {
        stream(&self.seed, purpose, about)
    }

    /// The uniform polynomials of one key: as many as it has limbs.
    pub(super) fn uniform(&self, number: usize, limbs: usize) -> Vec<Poly<Values>> {
        let seed = uniform(self.ceremony.session, self.set, number);
        expand_at(self.ceremony.context(), limbs, &seed, limbs).collect()
    }

    /// The first share.
    pub(super) fn first(&self) -> Vec<u8> {
        let (context, shape) = (self.ceremony.context(), &self.ceremony.shape);
        let (full, limbs) = (context.limbs(), shape.relinearisation);
        let mut rng = self.stream("first share", &[]);
        let multiplier = |limbs| self.secret.multiplier(context, limbs);
        let mut polys = Vec::new();
        for a in &self.uniform(PUBLIC, full)[..1] {
            polys.push(zero(context, a, &multiplier(full), &mut rng));
        }
        let (u, s) = (self.u.multiplier(context, limbs), multiplier(limbs));
        self.gadget(RELINEARISATION, &u, &s, &mut rng, &mut polys);
        for a in self.uniform(RELINEARISATION, limbs) {
            let mut h1 = context.product(&a, &s.0);
            context.add(&mut h1, &error(context, limbs, &mut rng).0);
            polys.push(h1);
        }
        let order = 2 * context.degree() as u64;
        for (i, &(exponent, limbs)) in shape.rotations.iter().enumerate() {
            let back = Automorphism::new(context.degree(), inverse(exponent, order));
            let s = multiplier(limbs);
            let moved = SecretValues(back.apply(&s.0));
            self.gadget(ROTATIONS + i, &moved, &s, &mut rng, &mut polys);
        }
        self.ceremony.write(Kind::KeyShare, self.set, self.trustee, &polys)
    }

    /// `error + g_d target - a_d secret` for each digit, all in Montgomery's form.
    fn gadget(
        &self,
        number: usize,
        secret: &SecretValues,
        target: &SecretValues,
        rng: &mut impl CryptoRng,
        polys: &mut Vec<Poly<Values>>,
    ) {
        let context = self.ceremony.context();
        for (digit, a) in self.uniform(number, target.0.limbs()).iter().enumerate() {
            let mut share = zero(context, a, secret, rng);
            let q = context.q()[digit].modulus();
            limb::add(q, share.limb_mut(digit), target.0.limb(digit));
            polys.push(share);
        }
    }

    /// The second share: `s h0 + (u - s) h1 + error` for each digit. The errors belong to these
    /// first shares alone: the same errors for others would give s away.
    pub(super) fn second(&self, sums: &[Poly<Values>], digest: &[u8; 32]) -> Vec<u8> {
        let (context, limbs) = (self.ceremony.context(), self.ceremony.shape.relinearisation);
        let mut rng = self.stream("second share", &[digest]);
        let s = self.secret.multiplier(context, limbs);
        let mut v = SecretValues(s.0.clone());
        context.subtract_from(&mut v.0, &self.u.multiplier(context, limbs).0);
        let (h0, h1) = (&sums[1..=limbs], &sums[1 + limbs..]);
        let polys: Vec<_> = h0
            .iter()
            .zip(h1)
            .map(|(h0, h1)| {
                let mut share = context.product(h0, &s.0);
                context.add(&mut share, &context.product(h1, &v.0));
                context.add(&mut share, &error(context, limbs, &mut rng).0);
                share
            })
            .collect();
        self.ceremony.write(Kind::SecondKeyShare, self.set, self.trustee, &polys)
    }
}
