//! Audits and verdicts as bytes.

use shield::backend::Backend;
use shield::framing::{MadeFor, Reader, check_place, framed_bytes, open, seal, write_presence};

use super::{DecodeError, Kind};
use crate::audit::{Audit, Verdict};
use crate::backend::BfvBackend;
use crate::bytes::{read_ciphertext, write_poly};
use crate::keys::KeyId;
use crate::plan::sizes;

impl BfvBackend {
    /// Bytes of an encoded audit.
    pub fn audit_bytes(&self) -> usize {
        framed_bytes(sizes::audit_payload(self.plan()))
    }

    /// An audit as bytes.
    pub fn encode_audit(&self, audit: &Audit) -> Vec<u8> {
        let made_for = MadeFor { batch: audit.batch, key: audit.key };
        let length = sizes::audit_payload(self.plan());
        seal(Kind::Audit, &self.binding, made_for, length, |out| {
            for part in audit.ciphertexts.iter().flat_map(|c| &c.parts) {
                write_poly(out, self.context(), part);
            }
        })
    }

    /// An audit of a batch, under some keys, from bytes.
    pub fn decode_audit(
        &self,
        bytes: &[u8],
        batch: usize,
        key: KeyId,
    ) -> Result<Audit, DecodeError> {
        let kind = Kind::Audit;
        check_place(bytes, kind, &self.binding, batch, Some(key))?;
        let length = sizes::audit_payload(self.plan());
        let (_, payload) = open(bytes, kind, &self.binding, &[length])?;
        let mut reader = Reader::new(payload);
        let ciphertexts = (0..self.plan().audit().ciphertexts)
            .map(|_| read_ciphertext(&mut reader, self.context(), 1))
            .collect::<Option<_>>()
            .ok_or(DecodeError::Range { kind })?;
        Ok(Audit { ciphertexts, batch, key })
    }

    /// A verdict as bytes: one bit per teacher, one per sample.
    pub fn encode_verdict(&self, verdict: &Verdict) -> Vec<u8> {
        let made_for = MadeFor { batch: verdict.batch, key: verdict.key };
        let length = sizes::verdict_payload(self.plan(), verdict.spoiled.len());
        seal(Kind::Verdict, &self.binding, made_for, length, |out| {
            write_presence(out, &verdict.accused);
            write_presence(out, &verdict.spoiled);
        })
    }

    /// A verdict on a batch, under some keys, from bytes.
    pub fn decode_verdict(
        &self,
        bytes: &[u8],
        batch: usize,
        key: KeyId,
    ) -> Result<Verdict, DecodeError> {
        let kind = Kind::Verdict;
        check_place(bytes, kind, &self.binding, batch, Some(key))?;
        let (teachers, samples) = (self.election().teachers() as usize, self.batch(batch).len());
        let length = sizes::verdict_payload(self.plan(), samples);
        let (_, payload) = open(bytes, kind, &self.binding, &[length])?;
        let mut reader = Reader::new(payload);
        let mut read = || Some((reader.presence(teachers)?, reader.presence(samples)?));
        let (accused, spoiled) = read().ok_or(DecodeError::Range { kind })?;
        Ok(Verdict { accused, spoiled, batch, key })
    }
}
