//! The list of samples that is voted on: one id per sample, in order.
//!
//! An election binds the list's digest, so that a teacher whose rows are in another order, or are
//! other samples, is refused before it votes on the wrong things. Only ids count: name samples
//! after their content where that may change.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use shield_data::FileError;

use crate::hex::{hex, unhex};

/// Sample ids, in the election's order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampleList(Vec<String>);

impl SampleList {
    /// Reads the first column of a text file: one id per row, all different.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        shield_data::read_ids(path).map(Self)
    }

    /// The ids.
    pub fn ids(&self) -> &[String] {
        &self.0
    }

    /// What an election binds.
    pub fn digest(&self) -> SamplesDigest {
        SamplesDigest::of(&self.0)
    }
}

/// The digest of a list of samples: tells ids and their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SamplesDigest([u8; 32]);

impl SamplesDigest {
    /// The digest of ids in their order.
    pub fn of(ids: &[String]) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("shield 2026 list of samples v1");
        for id in ids {
            // With lengths, so that no two lists run together.
            hasher.update(&(id.len() as u64).to_le_bytes());
            hasher.update(id.as_bytes());
        }
        Self(*hasher.finalize().as_bytes())
    }
}

impl fmt::Display for SamplesDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl FromStr for SamplesDigest {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        unhex::<32>(text).map(Self).ok_or(
            "this is written by the program: 64 hexadecimal digits; write `samples_file = \
             \"samples.csv\"` instead",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(folder: &tempfile::TempDir, text: &str) -> Result<SampleList, String> {
        let path = folder.path().join("samples.csv");
        std::fs::write(&path, text).unwrap();
        SampleList::read(&path).map_err(|error| error.to_string())
    }

    #[test]
    fn ids_and_their_order_count_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let plain = list(&folder, "x1\nx2\nx3\n").unwrap();
        assert_eq!(plain.ids(), ["x1", "x2", "x3"]);
        for same in ["id\nx1\nx2\nx3\n", "image;ward\r\nx1;a\r\nx2;b\r\n\"x3\";c\r\n", "x1\nx2\nx3"]
        {
            assert_eq!(list(&folder, same).unwrap().digest(), plain.digest(), "{same}");
        }
        for other in ["x2\nx1\nx3\n", "x1\nx2\n", "x1\nx2x3\n", "x1x2\nx3\n"] {
            assert_ne!(list(&folder, other).unwrap().digest(), plain.digest(), "{other}");
        }
        let text = plain.digest().to_string();
        assert_eq!(text.parse::<SamplesDigest>(), Ok(plain.digest()));
        assert!("12".parse::<SamplesDigest>().is_err());
    }

    #[test]
    fn a_list_without_ids_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        for (text, words) in [
            ("x1\nx2\nx1\n", "samples 1 and 3 are both called `x1`"),
            ("id\nx1\n\nx2\n", "sample 2 has no id"),
            ("", "empty"),
            ("id\n", "empty"),
        ] {
            let error = list(&folder, text).unwrap_err();
            assert!(error.contains(words), "{text:?}: {error}");
        }
    }
}
