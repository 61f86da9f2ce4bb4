//! Opening a release with shares that are checked: who sent a wrong one is named.

use std::collections::HashMap;

use shield_core::engine::Revealed;
use shield_core::framing::KeyId;

use super::derivation::stream;
use super::error::TrusteeError;
use super::holder::TrusteeKey;
use super::opening::{Opened, partial};
use super::openings::Openings;
use super::parts::Jointly;
use crate::quorum::Trustees;
use crate::ring::{Coefficients, PLAINTEXT, Poly};
use crate::scheme::decoded;

/// What checked openings show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedReading {
    /// What the release shows.
    pub revealed: Revealed,
    /// The trustees whose openings contradict those of all others.
    pub liars: Vec<usize>,
}

/// The number of [`Openings`] that stands for a checked one.
const CHECKED: u16 = 0;

impl TrusteeKey {
    /// This trustee's checked opening of a release, the same whoever opens with it, to be sealed to
    /// the student: for releases that were opened and showed nothing but alarms, if fewer than all
    /// trustees open.
    pub fn open_checked<E: Jointly>(
        &self,
        engine: &E,
        batch: usize,
        release: &[u8],
        openings: &mut Openings,
    ) -> Result<Vec<u8>, TrusteeError> {
        let opened = Opened::new(engine, self.id, batch, release)?;
        check_sharing(opened.plan.trustees)?;
        openings.add(batch, opened.digest, CHECKED)?;
        let (context, bound) = (opened.context(), opened.bound(CHECKED));
        let mut floods = stream(&self.flooding, "checked opening", &[&bound]);
        let bits = opened.plan.checked;
        let part = |c| partial(context, c, &self.share, bits, &mut floods);
        let parts: Vec<Poly<Coefficients>> = opened.ciphertexts.iter().map(part).collect();
        let (made_for, limbs) = (opened.made_for(), opened.plan.limbs);
        Ok(opened.with_format(limbs, |format| format.write(made_for, self.trustee, &bound, &parts)))
    }
}

fn check_sharing(trustees: Trustees) -> Result<(), TrusteeError> {
    let remedy = "nobody can say whose opening is wrong; ask all for theirs again";
    if trustees.shares() { Ok(()) } else { Err(TrusteeError::Sharing { trustees, remedy }) }
}

/// What a release shows, and who lied, from the checked openings of more trustees than open.
pub fn combine_checked<E: Jointly>(
    engine: &E,
    id: KeyId,
    batch: usize,
    release: &[u8],
    openings: &[impl AsRef<[u8]>],
) -> Result<CheckedReading, TrusteeError> {
    let opened = Opened::new(engine, id, batch, release)?;
    let trustees = opened.plan.trustees;
    check_sharing(trustees)?;
    let (found, threshold) = (openings.len(), trustees.threshold());
    if found <= threshold {
        return Err(TrusteeError::TooFew { found, needed: threshold + 1 });
    }
    let read = opened.read(CHECKED, opened.plan.limbs, openings)?;
    let mut readings =
        Readings { opened, openings: read.into_iter().collect(), known: HashMap::new() };
    let present: Vec<usize> = {
        let mut present: Vec<usize> = readings.openings.keys().copied().collect();
        present.sort_unstable();
        present
    };
    // As few liars as possible; of more than half of those beyond t, nobody can tell.
    for liars in 0..=(found - threshold) / 2 {
        for set in trustees.sets(liars).filter(|set| set.iter().all(|i| present.contains(i))) {
            let honest: Vec<usize> =
                present.iter().copied().filter(|trustee| !set.contains(trustee)).collect();
            if let Some(slots) = readings.agreed(&honest) {
                let revealed = engine.read(batch, &slots);
                return Ok(CheckedReading { revealed, liars: set });
            }
        }
    }
    Err(TrusteeError::Contradiction { found })
}

/// What sets of t trustees read.
struct Readings<'a, E> {
    opened: Opened<'a, E>,
    openings: HashMap<usize, Vec<Poly<Coefficients>>>,
    known: HashMap<Vec<usize>, Option<Vec<Vec<u64>>>>,
}

impl<E: Jointly> Readings<'_, E> {
    /// The slots that every t of these trustees read, if they read the same.
    fn agreed(&mut self, trustees: &[usize]) -> Option<Vec<Vec<u64>>> {
        let all = self.opened.plan.trustees;
        let sets = all.sets(all.threshold());
        let mut sets = sets.filter(|set| set.iter().all(|trustee| trustees.contains(trustee)));
        let first = self.reading(sets.next()?)?;
        sets.all(|set| self.reading(set).as_ref() == Some(&first)).then_some(first)
    }

    fn reading(&mut self, set: Vec<usize>) -> Option<Vec<Vec<u64>>> {
        if let Some(known) = self.known.get(&set) {
            return known.clone();
        }
        let read = (0..self.opened.ciphertexts.len()).map(|i| self.slots(&set, i)).collect();
        self.known.insert(set, Option::clone(&read));
        read
    }

    /// The slots of one ciphertext that a set reads.
    fn slots(&self, set: &[usize], ciphertext: usize) -> Option<Vec<u64>> {
        let (context, plan) = (self.opened.context(), self.opened.plan);
        let (weights, common) = Trustees::weights(set);
        let scale = common * plan.trustees.scale();
        let mut phase = context.backward(self.opened.ciphertexts[ciphertext].parts[0].clone());
        context.scale(&mut phase, scale as i64);
        for (trustee, weight) in set.iter().zip(weights) {
            let mut part = self.openings.get(trustee)?[ciphertext].clone();
            context.scale(&mut part, weight as i64);
            context.add(&mut phase, &part);
        }
        context.drop_coefficients(&mut phase, 1);
        let t = context.t().modulus();
        let factor = t.inv((scale % i128::from(PLAINTEXT)) as u64);
        let slots = decoded(context, phase.limb(0).to_vec());
        Some(slots.into_iter().map(|slot| t.mul(slot, factor)).collect())
    }
}
