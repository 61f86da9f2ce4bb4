//! Messages: polynomials in the common frame, after a trustee's number and a few fixed bytes.

use shield_core::framing::{DecodeError, Kind, MadeFor, Reader, check_place, open, seal};

use super::error::TrusteeError;
use crate::bytes::{poly_bytes, read_poly, write_poly};
use crate::quorum::OpeningPlan;
use crate::ring::{Context, Poly};

/// What a message of one kind looks like.
#[derive(Clone, Copy)]
pub(super) struct Format<'a> {
    pub(super) kind: Kind,
    pub(super) binding: &'a [u8; 32],
    pub(super) context: &'a Context,
    /// Bytes between the trustee's number and the polynomials.
    pub(super) extra: usize,
    /// Limbs of each polynomial.
    pub(super) levels: &'a [usize],
}

/// What a message says.
pub(super) struct Message<R> {
    pub(super) trustee: usize,
    pub(super) extra: Vec<u8>,
    pub(super) polys: Vec<Poly<R>>,
}

impl Format<'_> {
    /// Bytes without the frame.
    pub(super) fn length(self) -> usize {
        let bytes = |&limbs: &usize| poly_bytes(self.context, limbs);
        1 + self.extra + self.levels.iter().map(bytes).sum::<usize>()
    }

    /// A message as bytes.
    pub(super) fn write<'p, R: 'p>(
        self,
        made_for: MadeFor,
        trustee: usize,
        extra: &[u8],
        polys: impl IntoIterator<Item = &'p Poly<R>>,
    ) -> Vec<u8> {
        seal(self.kind, self.binding, made_for, self.length(), |out| {
            out.push(trustee as u8);
            out.extend(extra);
            polys.into_iter().for_each(|poly| write_poly(out, self.context, poly));
        })
    }

    /// A message from bytes, whoever it is from.
    pub(super) fn read<R>(
        self,
        made_for: MadeFor,
        bytes: &[u8],
    ) -> Result<Message<R>, DecodeError> {
        let Self { kind, binding, context, .. } = self;
        check_place(bytes, kind, binding, made_for.batch, Some(made_for.key))?;
        let (_, payload) = open(bytes, kind, binding, &[self.length()])?;
        let mut reader = Reader::new(payload);
        let mut message = || {
            let [trustee] = reader.array()?;
            let extra = reader.take(self.extra)?.to_vec();
            let polys = self.levels.iter().map(|&limbs| read_poly(&mut reader, context, limbs));
            Some(Message { trustee: trustee.into(), extra, polys: polys.collect::<Option<_>>()? })
        };
        message().ok_or(DecodeError::Range { kind })
    }

    /// The message of one trustee from bytes.
    pub(super) fn read_from<R>(
        self,
        made_for: MadeFor,
        trustee: usize,
        bytes: &[u8],
    ) -> Result<Message<R>, TrusteeError> {
        let message = self
            .read(made_for, bytes)
            .map_err(|source| TrusteeError::Message { trustee, source })?;
        match message.trustee {
            found if found == trustee => Ok(message),
            found => Err(TrusteeError::Number { trustee, found }),
        }
    }
}

/// Bytes between a trustee's number and the polynomials of an opening: its set, and the digest of
/// the release.
pub(super) const BOUND: usize = 2 + 32;

/// Bytes of an opening without the frame.
pub(super) fn opening_bytes(context: &Context, plan: OpeningPlan, limbs: usize) -> usize {
    1 + BOUND + plan.ciphertexts * poly_bytes(context, limbs)
}

/// As many messages as there are trustees.
pub(super) fn check_count(
    what: &'static str,
    found: usize,
    expected: usize,
) -> Result<(), TrusteeError> {
    if found == expected { Ok(()) } else { Err(TrusteeError::Count { what, found, expected }) }
}
