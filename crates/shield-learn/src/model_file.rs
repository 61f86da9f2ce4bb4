//! A trained student in a file: what it expects of images, its shape, its weights, a checksum.

use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};
use shield::files::write_atomically;
use thiserror::Error;

use crate::data::Images;
use crate::network::Shape;
use crate::student::Variant;
use crate::training::Model;

const MAGIC: &[u8; 16] = b"SHIELD model v1\n";
/// A header has about 100 bytes.
const MAX_HEADER: usize = 4096;

/// A student's model with all that is needed to use it.
#[derive(Clone, Debug)]
pub struct Student {
    /// How it was made, which tells how images are prepared for it.
    pub variant: Variant,
    /// The network.
    pub model: Model,
}

#[derive(Serialize, Deserialize)]
struct Header {
    variant: Variant,
    shape: Shape,
}

/// Why a model file cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The system would not read or write it.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// It is something else, cut off or damaged.
    #[error(
        "this is not a model of ours, or it is damaged ({0}); make it again with `shield learn`"
    )]
    Damaged(&'static str),
}

impl Student {
    /// The class of each image.
    pub fn predict(&self, images: &Images) -> Vec<u8> {
        self.model.predict(&self.variant.prepare(images))
    }

    /// Writes it, whole or not at all.
    pub fn save(&self, path: &Path) -> Result<(), ModelError> {
        let bytes = self.to_bytes();
        write_atomically(path, |file| file.write_all(&bytes))?;
        Ok(())
    }

    /// Reads it back.
    pub fn load(path: &Path) -> Result<Self, ModelError> {
        Self::from_bytes(&std::fs::read(path)?)
    }

    fn to_bytes(&self) -> Vec<u8> {
        let header = Header { variant: self.variant, shape: self.model.shape() };
        let header = serde_json::to_vec(&header).expect("a header is plain data");
        let mut bytes = MAGIC.to_vec();
        bytes.extend(u32::try_from(header.len()).expect("a short header").to_le_bytes());
        bytes.extend(header);
        for weight in self.model.weights().iter().flatten() {
            bytes.extend(weight.to_le_bytes());
        }
        let checksum = blake3::hash(&bytes);
        bytes.extend(checksum.as_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, ModelError> {
        let damaged = ModelError::Damaged;
        let content = bytes.len().checked_sub(blake3::OUT_LEN).ok_or(damaged("too short"))?;
        let (bytes, checksum) = bytes.split_at(content);
        let rest = bytes.strip_prefix(MAGIC).ok_or(damaged("it begins otherwise"))?;
        if blake3::hash(bytes).as_bytes() != checksum {
            return Err(damaged("its checksum is wrong"));
        }
        let (length, rest) = rest.split_first_chunk::<4>().ok_or(damaged("too short"))?;
        let length = u32::from_le_bytes(*length) as usize;
        if length > MAX_HEADER.min(rest.len()) {
            return Err(damaged("its header is too long"));
        }
        let (header, mut numbers) = rest.split_at(length);
        let Header { variant, shape } =
            serde_json::from_slice(header).map_err(|_| damaged("its header is not readable"))?;
        if !shape.is_valid() || shape.parameters().iter().sum::<usize>() * 4 != numbers.len() {
            return Err(damaged("its weights do not fit its shape"));
        }
        let mut weights = Vec::new();
        for count in shape.parameters() {
            let (own, later) = numbers.split_at(4 * count);
            let read = |four: &[u8]| f32::from_le_bytes([four[0], four[1], four[2], four[3]]);
            weights.push(own.chunks_exact(4).map(read).collect());
            numbers = later;
        }
        let model = Model::from_parts(shape, weights).ok_or(damaged("its parts do not fit"))?;
        Ok(Self { variant, model })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn student() -> Student {
        let shape = Shape { side: 14, channels: 2, classes: 3 };
        let weights = shape.parameters().iter().map(|&count| vec![0.25; count]).collect();
        Student { variant: Variant::Plain, model: Model::from_parts(shape, weights).unwrap() }
    }

    #[test]
    fn comes_back_and_refuses_every_damage() {
        let bytes = student().to_bytes();
        let back = Student::from_bytes(&bytes).unwrap();
        assert_eq!(back.model.weights(), student().model.weights());
        for place in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[place] ^= 1;
            assert!(Student::from_bytes(&damaged).is_err(), "byte {place}");
            assert!(Student::from_bytes(&bytes[..place]).is_err(), "cut at {place}");
        }
    }
}
