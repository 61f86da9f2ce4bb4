//! Deals: what is no sharing of the dealer's secret is refused by everybody, and what a trustee
//! got that is not of the deal, by that trustee.

use shield_core::framing::Kind;

use super::*;
use crate::ring::{Poly, Values};

struct Dealt<'a> {
    ceremony: Ceremony<'a, ArgmaxEngine>,
    first: FirstRound,
    deals: Vec<Deal>,
}

fn dealt(engine: &ArgmaxEngine) -> Dealt<'_> {
    let ceremony = Ceremony::new(engine, &[1; 32]).expect("a ceremony");
    let count = ceremony.trustees().count();
    let makers: Vec<_> =
        (0..count).map(|i| ceremony.maker(i, [i as u8; 32]).expect("one")).collect();
    let firsts: Vec<_> = makers.iter().map(|maker| maker.first(0)).collect();
    let commitments: Vec<_> = firsts.iter().map(|first| commitment(first)).collect();
    let first = ceremony.first_round(0, &commitments, &firsts).expect("a round");
    let deals = makers.iter().map(|maker| maker.deal(&first).expect("a deal")).collect();
    drop(makers);
    Dealt { ceremony, first, deals }
}

impl Dealt<'_> {
    /// What trustee 1 makes of the deals.
    fn received(&self) -> Result<TrusteeKey, TrusteeError> {
        let id = self.ceremony.id(&self.first);
        let public: Vec<&[u8]> = self.deals.iter().map(|deal| &*deal.public).collect();
        let shares: Vec<&[u8]> = self.deals.iter().map(|deal| &**deal.shares[1]).collect();
        let maker = self.ceremony.maker(1, [1; 32]).expect("one");
        maker.receive(&self.first, id, &public, &shares)
    }

    /// A message of trustee 0 with its polynomials changed.
    fn changed(&self, kind: Kind, bytes: &[u8], change: impl Fn(&mut [Poly<Values>])) -> Vec<u8> {
        let mut message = self.ceremony.read(kind, 0, 0, bytes).expect("a message");
        change(&mut message.polys);
        self.ceremony.with_format(kind, |format| {
            format.write(self.ceremony.made_for(0), 0, &message.extra, &message.polys)
        })
    }
}

#[test]
fn honest_deals_are_received() {
    for (t, n) in [(2, 3), (3, 5), (6, 10)] {
        let engine = argmax(&case(3, 4, "X"), trustees(t, n), 256);
        let all = dealt(&engine);
        for (dealer, deal) in all.deals.iter().enumerate() {
            all.ceremony.check_deal(&all.first, dealer, &deal.public).expect("a deal");
        }
        all.received().expect("a key");
    }
}

#[test]
fn a_deal_that_shares_out_something_else_is_named() {
    let engine = argmax(&case(3, 4, "X"), trustees(3, 5), 256);
    let all = dealt(&engine);
    let context = &engine.context;
    // One residue of any of the B or B', or another secret altogether.
    for place in [0, 4, 5, 9] {
        let public = all.changed(Kind::Deal, &all.deals[0].public, |polys| {
            context.add_constant(&mut polys[place], 1);
        });
        let refused = all.ceremony.check_deal(&all.first, 0, &public);
        assert!(matches!(refused, Err(TrusteeError::Deal { dealer: 0 })), "{place}: {refused:?}");
    }
    let other = all.ceremony.maker(0, [77; 32]).expect("one").deal(&all.first).expect("a deal");
    let refused = all.ceremony.check_deal(&all.first, 0, &other.public);
    assert!(matches!(refused, Err(TrusteeError::Deal { dealer: 0 })));
    assert!(matches!(
        all.ceremony.check_deal(&all.first, 1, &all.deals[0].public),
        Err(TrusteeError::Number { trustee: 1, found: 0 })
    ));
}

#[test]
fn a_share_that_is_not_of_the_deal_is_named() {
    let engine = argmax(&case(3, 4, "X"), trustees(2, 3), 256);
    let mut all = dealt(&engine);
    let (context, honest) = (&engine.context, all.deals[0].clone());
    let mut attempt = |share: Vec<u8>| {
        all.deals[0].shares[1] = share.into();
        let refused = all.received();
        assert!(matches!(refused, Err(TrusteeError::DealtShare { dealer: 0 })), "{refused:?}");
    };
    // Somebody else's.
    attempt(honest.shares[2].to_vec());
    let all = dealt(&engine);
    let one = |polys: &mut [Poly<Values>]| context.add_constant(&mut polys[0], 1);
    let mut again = dealt(&engine);
    let share = all.changed(Kind::DealtShare, &honest.shares[1], one);
    again.deals[0].shares[1] = share.into();
    assert!(matches!(again.received(), Err(TrusteeError::DealtShare { dealer: 0 })));
}

/// Added to a share, 1/a changes the error of the public key's B by one: that check alone would let
/// it pass, and the key would read nothing.
#[test]
fn a_share_that_is_off_by_an_inverse_is_named() {
    let engine = argmax(&case(3, 4, "X"), trustees(2, 3), 256);
    let mut all = dealt(&engine);
    let context = &engine.context;
    let seed = super::super::derivation::uniform(all.ceremony.session, 0, ceremony::PUBLIC);
    let a = crate::scheme::expand_at(context, context.limbs(), &seed, 1).next().expect("one");
    let share = all.changed(Kind::DealtShare, &all.deals[0].shares[1], |polys| {
        for ((share, a), ntt) in polys[0].iter_mut().zip(a.iter()).zip(context.q()) {
            let q = ntt.modulus();
            for (share, a) in share.iter_mut().zip(a) {
                // Montgomery's forms: a R times x R is R^2, and 1 is R.
                let inverse = q.mul(q.montgomery(1), q.mul(q.montgomery(1), q.inv(*a)));
                *share = q.add(*share, inverse);
            }
        }
    });
    all.deals[0].shares[1] = share.into();
    let refused = all.received();
    assert!(matches!(refused, Err(TrusteeError::DealtShare { dealer: 0 })), "{refused:?}");
}

#[test]
fn where_all_open_there_is_nothing_to_deal() {
    let engine = argmax(&case(3, 4, "X"), trustees(3, 3), 256);
    let ceremony = Ceremony::new(&engine, &[1; 32]).expect("a ceremony");
    let makers: Vec<_> = (0..3).map(|i| ceremony.maker(i, [i as u8; 32]).expect("one")).collect();
    let firsts: Vec<_> = makers.iter().map(|maker| maker.first(0)).collect();
    let commitments: Vec<_> = firsts.iter().map(|first| commitment(first)).collect();
    let first = ceremony.first_round(0, &commitments, &firsts).expect("a round");
    assert!(matches!(makers[0].deal(&first), Err(TrusteeError::Sharing { .. })));
    let engine = argmax(&case(3, 4, "X"), trustees(2, 3), 256);
    let all = dealt(&engine);
    let maker = all.ceremony.maker(0, [0; 32]).expect("one");
    let id = all.ceremony.id(&all.first);
    assert!(matches!(maker.key(&all.first, id), Err(TrusteeError::Sharing { .. })));
}
