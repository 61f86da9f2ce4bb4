//! A trustee's share of the key.

use std::fmt;

use shield_core::framing::{DecodeError, KeyId, Kind, MadeFor};
use zeroize::Zeroizing;

use super::derivation::SecretSeed;
use super::error::TrusteeError;
use super::messages::Format;
use super::parts::{self, Jointly};
use crate::ring::Poly;
use crate::scheme::SecretValues;

/// A trustee's share of the key: it opens nothing without those of others. Wiped from memory when
/// it goes.
pub struct TrusteeKey {
    pub(super) trustee: usize,
    /// At the level of a release, in Montgomery's form: the trustee's own secret where all open,
    /// else the sum of what was dealt to it.
    pub(super) share: SecretValues,
    /// What flooding is drawn from, bound to what is opened.
    pub(super) flooding: SecretSeed,
    pub(super) id: KeyId,
}

impl fmt::Debug for TrusteeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TrusteeKey")
            .field("trustee", &self.trustee)
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl TrusteeKey {
    /// Whose it is, counted from 0.
    pub fn trustee(&self) -> usize {
        self.trustee
    }

    /// The name of the keys.
    pub fn id(&self) -> KeyId {
        self.id
    }

    /// As bytes, to be kept where only the trustee reads.
    pub fn encode<E: Jointly>(&self, engine: &E) -> Result<Zeroizing<Vec<u8>>, TrusteeError> {
        let made_for = MadeFor { batch: 0, key: self.id };
        let polys: [&Poly<_>; 1] = [&self.share.0];
        with_format(engine, |format| {
            Zeroizing::new(format.write(made_for, self.trustee, &*self.flooding, polys))
        })
    }

    /// From bytes.
    pub fn decode<E: Jointly>(engine: &E, id: KeyId, bytes: &[u8]) -> Result<Self, TrusteeError> {
        let made_for = MadeFor { batch: 0, key: id };
        let message = with_format(engine, |format| format.read(made_for, bytes))??;
        let extra = Zeroizing::new(message.extra);
        let mut flooding = SecretSeed::default();
        flooding.copy_from_slice(&extra);
        let mut polys = message.polys;
        let share = SecretValues(polys.swap_remove(0));
        let count = parts::opening(engine)?.trustees.count();
        if message.trustee >= count {
            return Err(DecodeError::Range { kind: Kind::TrusteeKey }.into());
        }
        Ok(Self { trustee: message.trustee, share, flooding, id })
    }
}

fn with_format<E: Jointly, T>(
    engine: &E,
    act: impl FnOnce(Format<'_>) -> T,
) -> Result<T, TrusteeError> {
    let plan = parts::opening(engine)?;
    let (kind, binding, context) = (Kind::TrusteeKey, engine.binding(), parts::context(engine));
    Ok(act(Format { kind, binding, context, extra: 32, levels: &[plan.limbs] }))
}
