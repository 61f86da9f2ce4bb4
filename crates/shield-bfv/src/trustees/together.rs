//! All trustees of an election in one process: for demonstrations, benchmarks and tests, where
//! whoever runs it sees everything anyway.

use rand::{CryptoRng, RngCore};
use shield_core::engine::{Encoding, Revealed};
use shield_core::framing::KeyId;
use zeroize::Zeroizing;

use super::ceremony::{Ceremony, JointKeys};
use super::error::TrusteeError;
use super::holder::TrusteeKey;
use super::maker::KeyMaker;
use super::opening::{PairSecret, combine};
use super::openings::Openings;
use super::parts::{self, Jointly};

/// All trustees of an election, with the keys that they made.
pub struct Together<E: Jointly> {
    /// The keys for teachers and server.
    pub keys: JointKeys<E>,
    /// The trustees.
    pub openers: Openers,
}

/// All trustees of an election, to open its releases.
#[derive(Debug)]
pub struct Openers {
    id: KeyId,
    /// Every trustee's key.
    pub keys: Vec<TrusteeKey>,
    pairs: Vec<Vec<PairSecret>>,
}

fn secret<R: RngCore + CryptoRng>(rng: &mut R) -> [u8; 32] {
    let mut secret = [0; 32];
    rng.fill_bytes(&mut secret);
    secret
}

impl<E: Jointly> std::fmt::Debug for Together<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Together").field("keys", &self.keys).finish_non_exhaustive()
    }
}

impl<E: Jointly> Together<E> {
    /// Trustees and their keys: one set, because nobody here could cheat.
    pub fn new<R: RngCore + CryptoRng>(engine: &E, rng: &mut R) -> Result<Self, TrusteeError> {
        let ceremony = Ceremony::new(engine, &secret(rng))?;
        let trustees = ceremony.trustees();
        let makers = (0..trustees.count()).map(|trustee| ceremony.maker(trustee, secret(rng)));
        let makers = makers.collect::<Result<Vec<_>, _>>()?;
        let firsts: Vec<_> = makers.iter().map(|maker| maker.first(0)).collect();
        let commitments: Vec<_> = firsts.iter().map(|first| super::commitment(first)).collect();
        let first = ceremony.first_round(0, &commitments, &firsts)?;
        let second = |maker: &KeyMaker<'_, '_, E>| maker.second(&first);
        let seconds = makers.iter().map(second).collect::<Result<Vec<_>, _>>()?;
        let id = ceremony.id(&first);
        let keys = if trustees.shares() {
            let deal = |maker: &KeyMaker<'_, '_, E>| maker.deal(&first);
            let deals = makers.iter().map(deal).collect::<Result<Vec<_>, _>>()?;
            let public: Vec<&[u8]> = deals.iter().map(|deal| &*deal.public).collect();
            let receive = |(j, maker): (usize, &KeyMaker<'_, '_, E>)| {
                let dealt: Vec<&[u8]> = deals.iter().map(|deal| &**deal.shares[j]).collect();
                maker.receive(&first, id, &public, &dealt)
            };
            makers.iter().enumerate().map(receive).collect::<Result<Vec<_>, _>>()?
        } else {
            makers.iter().map(|maker| maker.key(&first, id)).collect::<Result<_, _>>()?
        };
        let mut pairs = vec![Vec::new(); trustees.count()];
        for i in 0..trustees.count() {
            for j in 0..i {
                let secret = Zeroizing::new(secret(rng));
                pairs[i].push(PairSecret { with: j, secret: secret.clone() });
                pairs[j].push(PairSecret { with: i, secret });
            }
        }
        let openers = Openers { id, keys, pairs };
        Ok(Self { keys: ceremony.keys(first, &seconds)?, openers })
    }
}

impl Openers {
    /// The secrets that a trustee shares with the others.
    pub fn pairs(&self, trustee: usize) -> &[PairSecret] {
        &self.pairs[trustee]
    }

    /// The openings of a release by a set of trustees.
    pub fn open<E: Jointly>(
        &self,
        engine: &E,
        batch: usize,
        release: &[u8],
        set: &[usize],
    ) -> Result<Vec<Vec<u8>>, TrusteeError> {
        let open = |&trustee: &usize| {
            let (key, pairs) = (&self.keys[trustee], &self.pairs[trustee]);
            key.open(engine, batch, release, set, pairs, &mut Openings::default())
        };
        set.iter().map(open).collect()
    }

    /// What a release shows, opened by the first trustees.
    pub fn reveal<E: Jointly>(
        &self,
        engine: &E,
        batch: usize,
        release: &E::Release,
    ) -> Result<Revealed, TrusteeError> {
        let plan = parts::opening(engine)?;
        let set: Vec<usize> = (0..plan.trustees.threshold()).collect();
        let release = engine.encode_release(release);
        let openings = self.open(engine, batch, &release, &set)?;
        self.combine(engine, batch, &release, &set, &openings)
    }

    /// What a release shows, from the openings of a set of trustees.
    pub fn combine<E: Jointly>(
        &self,
        engine: &E,
        batch: usize,
        release: &[u8],
        set: &[usize],
        openings: &[Vec<u8>],
    ) -> Result<Revealed, TrusteeError> {
        combine(engine, self.id, batch, release, set, openings)
    }
}
