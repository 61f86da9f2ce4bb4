//! Shamir shares of a trustee's secret, and the check that they are shares of it.
//!
//! Trustee i takes a uniform polynomial P of degree t - 1 with `P(0) = D s_i`
//! ([`crate::quorum`]), gives `S_j = P(x_j)` to trustee j in secret, and publishes two encryptions
//! of zero under each: `B_j = e - a S_j` and `B'_j = e - a' S_j`, where a is the public key's
//! polynomial and a' that of the relinearisation key's first digit. Everybody has the same two of
//! s_i itself, from its first share.
//!
//! **Claim.** If for every vector v of the dual code `v_0 D b_i + sum v_j B_j` and the same for a'
//! are short, and every trustee's S_j makes `B_j + a S_j` and `B'_j + a' S_j` short, then the S_j
//! are values of one polynomial of degree t - 1 with `P(0) = D s_i`.
//!
//! **Proof.** Let x be `v_0 D s_i` plus the sum of all `v_j S_j`: both `a x` and `a' x` are
//! short, with coefficients of at most b, the sum of the bounds. For a fixed x other than 0 that
//! holds with probability `((2b + 1) / Q)^2N` over uniform a and a', there are Q^N such x, and
//! the plan takes care that `4 (2b + 1)^2 <= Q`: so with a chance of at least `1 - 4^-N`, x is 0
//! for every v, and the dual vectors span everything that is orthogonal to the code modulo each
//! prime. [] (One a would not do: whoever adds 1/a times something short to a share passes.)

use shield_core::framing::Kind;
use zeroize::Zeroizing;

use super::ceremony::{Ceremony, FirstRound, PUBLIC, RELINEARISATION};
use super::error::TrusteeError;
use super::holder::TrusteeKey;
use super::maker::{KeyMaker, Mine, zero};
use super::messages::check_count;
use super::parts::Jointly;
use crate::keys::KeyId;
use crate::quorum::Trustees;
use crate::ring::{Context, Poly, Values};
use crate::scheme::{COINS, SecretValues, uniform};

/// A trustee's secret, shared out.
#[derive(Clone)]
pub struct Deal {
    /// For everyone: what the shares are checked against.
    pub public: Vec<u8>,
    /// For each trustee in order, to be sealed to it.
    pub shares: Vec<Zeroizing<Vec<u8>>>,
}

impl std::fmt::Debug for Deal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Deal").field("shares", &self.shares.len()).finish_non_exhaustive()
    }
}

/// Whether no coefficient is larger, of a polynomial in Montgomery's form.
fn is_short(context: &Context, poly: &Poly<Values>, bound: u64) -> bool {
    let mut one = Poly::zero(poly.degree(), poly.limbs());
    one.data_mut().fill(1);
    let plain = context.backward(context.product(poly, &one));
    let primes: Vec<u64> = context.q().iter().map(|ntt| ntt.modulus().value()).collect();
    let first = plain.limb(0);
    plain.iter().zip(&primes).all(|(limb, q)| {
        limb.iter().zip(first).all(|(&x, &y)| {
            // The same integer in every limb.
            if y <= bound { x == y } else { y + bound >= primes[0] && q - x == primes[0] - y }
        })
    })
}

/// A sum with integer weights.
fn weighted<'p>(
    context: &Context,
    terms: impl IntoIterator<Item = (i128, &'p Poly<Values>)>,
) -> Option<Poly<Values>> {
    terms.into_iter().fold(None, |sum: Option<Poly<Values>>, (weight, poly)| {
        let mut term = poly.clone();
        context.scale(&mut term, weight as i64);
        if let Some(sum) = &sum {
            context.add(&mut term, sum);
        }
        Some(term)
    })
}

impl<E: Jointly> Mine<'_, '_, E> {
    /// a and a' at the level of a release.
    fn checks(&self) -> [Poly<Values>; 2] {
        let (context, plan) = (self.ceremony.context(), self.ceremony.plan);
        let levels =
            [(PUBLIC, context.limbs()), (RELINEARISATION, self.ceremony.shape.relinearisation)];
        levels.map(|(number, limbs)| {
            let mut a = self.uniform(number, limbs).swap_remove(0);
            a.truncate(plan.limbs);
            a
        })
    }
}

impl<E: Jointly> KeyMaker<'_, '_, E> {
    /// Shares this trustee's secret out.
    pub fn deal(&self, first: &FirstRound) -> Result<Deal, TrusteeError> {
        let (ceremony, context) = (self.ceremony, self.ceremony.context());
        let trustees = ceremony.sharing()?;
        let (mine, limbs) = (self.of_set(first.set), ceremony.plan.limbs);
        let mut rng = mine.stream("deal", &[&first.digest]);
        let mut constant = mine.secret.multiplier(context, limbs);
        context.scale(&mut constant.0, trustees.scale() as i64);
        let mut terms = vec![constant];
        let further = (1..trustees.threshold()).map(|_| uniform(context, limbs, &mut rng));
        terms.extend(further.map(SecretValues));
        let shares: Vec<SecretValues> = (0..trustees.count())
            .map(|j| {
                let point = |power| Trustees::point(j).pow(power);
                let terms = (0..).zip(&terms).map(|(power, term)| (point(power), &term.0));
                let zero = || Poly::zero(context.degree(), limbs);
                SecretValues(weighted(context, terms).unwrap_or_else(zero))
            })
            .collect();
        let checks = mine.checks();
        let mut polys = Vec::with_capacity(2 * shares.len());
        for a in &checks {
            polys.extend(shares.iter().map(|share| zero(context, a, share, &mut rng)));
        }
        let public = ceremony.write(Kind::Deal, first.set, self.trustee, &polys);
        let made_for = ceremony.made_for(first.set);
        let dealt = |share: &SecretValues| {
            Zeroizing::new(ceremony.with_format(Kind::DealtShare, |format| {
                format.write(made_for, self.trustee, &[], [&share.0])
            }))
        };
        Ok(Deal { public, shares: shares.iter().map(dealt).collect() })
    }

    /// This trustee's key where fewer than all open, from everybody's public deals and from the
    /// shares that they dealt to it, in the order of trustees. Names the dealer of what is wrong.
    pub fn receive(
        &self,
        first: &FirstRound,
        id: KeyId,
        deals: &[impl AsRef<[u8]>],
        shares: &[impl AsRef<[u8]>],
    ) -> Result<TrusteeKey, TrusteeError> {
        let (ceremony, context) = (self.ceremony, self.ceremony.context());
        let count = ceremony.sharing()?.count();
        check_count("deals", deals.len(), count)?;
        check_count("dealt shares", shares.len(), count)?;
        let checks = self.of_set(first.set).checks();
        let mut sum = SecretValues(Poly::zero(context.degree(), ceremony.plan.limbs));
        for (dealer, (deal, share)) in deals.iter().zip(shares).enumerate() {
            let zeros = ceremony.dealt(first, dealer, deal.as_ref())?;
            let mut message = ceremony.read(Kind::DealtShare, first.set, dealer, share.as_ref())?;
            let share = SecretValues(message.polys.swap_remove(0));
            let fits = (0..).zip(&checks).all(|(check, a)| {
                let mut error = context.product(a, &share.0);
                context.add(&mut error, &zeros[check * count + self.trustee]);
                is_short(context, &error, COINS.into())
            });
            if !fits {
                return Err(TrusteeError::DealtShare { dealer });
            }
            context.add(&mut sum.0, &share.0);
        }
        Ok(self.holding(first, sum, id))
    }
}

impl<E: Jointly> Ceremony<'_, E> {
    /// The trustees, if fewer than all open.
    fn sharing(&self) -> Result<Trustees, TrusteeError> {
        let trustees = self.plan.trustees;
        let remedy = "there is nothing to deal; every trustee's key is its own secret";
        if trustees.shares() {
            return Ok(trustees);
        }
        Err(TrusteeError::Sharing { trustees, remedy })
    }

    /// Checks that a public deal shares out the dealer's secret, whoever got the shares.
    pub fn check_deal(
        &self,
        first: &FirstRound,
        dealer: usize,
        deal: &[u8],
    ) -> Result<(), TrusteeError> {
        self.dealt(first, dealer, deal).map(drop)
    }

    /// The B of a deal, then the B', after the check.
    fn dealt(
        &self,
        first: &FirstRound,
        dealer: usize,
        deal: &[u8],
    ) -> Result<Vec<Poly<Values>>, TrusteeError> {
        let trustees = self.sharing()?;
        let count = trustees.count();
        let secret =
            first.zeros.get(dealer).ok_or(TrusteeError::Nobody { trustee: dealer, count })?;
        let zeros = self.read(Kind::Deal, first.set, dealer, deal)?.polys;
        for vector in trustees.dual() {
            let bound = trustees.dual_bound(&vector) as u64;
            for (secret, zeros) in secret.iter().zip(zeros.chunks_exact(count)) {
                let of_secret = (vector[0] * trustees.scale(), secret);
                let terms = vector[1..].iter().copied().zip(zeros);
                let sum = weighted(self.context(), std::iter::once(of_secret).chain(terms));
                if !sum.is_some_and(|sum| is_short(self.context(), &sum, bound)) {
                    return Err(TrusteeError::Deal { dealer });
                }
            }
        }
        Ok(zeros)
    }
}
