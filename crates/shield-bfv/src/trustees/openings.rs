//! What a trustee has opened: one release of a batch, ever, and not too often.

use std::collections::BTreeMap;

use shield_core::framing::Reader;

use super::error::TrusteeError;
use crate::quorum::MOST_OPENINGS;

/// What a trustee has opened. Kept by the trustee's program, which writes and syncs it *before* it
/// sends an opening.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Openings {
    batches: BTreeMap<u64, Opened>,
}

/// The one release of a batch, and the sets of trustees that it was opened with.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Opened {
    release: [u8; 32],
    sets: Vec<u16>,
}

impl Openings {
    /// Adds an opening, if it may be made: of the one release of a batch, with one of the first few
    /// sets of trustees. What was opened before may be opened again, as it gives the same bytes.
    pub(super) fn add(
        &mut self,
        batch: usize,
        release: [u8; 32],
        set: u16,
    ) -> Result<(), TrusteeError> {
        let none = || Opened { release, sets: vec![] };
        let opened = self.batches.entry(batch as u64).or_insert_with(none);
        if opened.release != release {
            return Err(TrusteeError::SecondRelease { batch });
        }
        // Set 0 stands for openings that are checked: its flooding is planned for by itself.
        if opened.sets.contains(&set) {
            return Ok(());
        }
        if set != 0 && opened.sets.iter().filter(|&&set| set != 0).count() >= MOST_OPENINGS {
            return Err(TrusteeError::TooOften { batch });
        }
        opened.sets.push(set);
        Ok(())
    }

    /// The digest of the release of a batch that was opened.
    pub fn release(&self, batch: usize) -> Option<[u8; 32]> {
        self.batches.get(&(batch as u64)).map(|opened| opened.release)
    }

    /// As bytes, to be kept.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for (batch, Opened { release, sets }) in &self.batches {
            out.extend(batch.to_le_bytes());
            out.extend(release);
            out.push(sets.len() as u8);
            out.extend(sets.iter().flat_map(|set| set.to_le_bytes()));
        }
        out.extend(blake3::hash(&out).as_bytes());
        out
    }

    /// From bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, TrusteeError> {
        let split = bytes.len().checked_sub(32).ok_or(TrusteeError::Openings)?;
        let (content, checksum) = bytes.split_at(split);
        if blake3::hash(content).as_bytes() != checksum {
            return Err(TrusteeError::Openings);
        }
        let (mut reader, mut batches) = (Reader::new(content), BTreeMap::new());
        let mut next = || {
            let batch = u64::from_le_bytes(reader.array()?);
            let release = reader.array()?;
            let [count] = reader.array()?;
            let sets = (0..count).map(|_| Some(u16::from_le_bytes(reader.array()?)));
            batches.insert(batch, Opened { release, sets: sets.collect::<Option<_>>()? });
            Some(reader.rest().is_empty())
        };
        let mut done = content.is_empty();
        while !done {
            done = next().ok_or(TrusteeError::Openings)?;
        }
        Ok(Self { batches })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_release_and_eight_sets() {
        let mut openings = Openings::default();
        for set in 0..=MOST_OPENINGS as u16 {
            openings.add(3, [1; 32], set).expect("one of the first");
        }
        openings.add(3, [1; 32], 4).expect("the same again");
        let ninth = openings.add(3, [1; 32], 100);
        assert!(matches!(ninth, Err(TrusteeError::TooOften { batch: 3 })));
        let other = openings.add(3, [2; 32], 1);
        assert!(matches!(other, Err(TrusteeError::SecondRelease { batch: 3 })));
        openings.add(4, [2; 32], 1).expect("another batch");
        assert_eq!(openings.release(4), Some([2; 32]));
        let bytes = openings.to_bytes();
        assert_eq!(Openings::from_bytes(&bytes).expect("openings"), openings);
        assert_eq!(Openings::from_bytes(&Openings::default().to_bytes()).unwrap().release(3), None);
        for end in 0..bytes.len() {
            assert!(Openings::from_bytes(&bytes[..end]).is_err());
            let mut flipped = bytes.clone();
            flipped[end] ^= 1;
            assert!(Openings::from_bytes(&flipped).is_err());
        }
    }
}
