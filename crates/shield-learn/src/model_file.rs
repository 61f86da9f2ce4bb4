//! A trained student in a file: what it expects of images, its shape, its weights, a checksum.

use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};
use shield_core::{Classes, Label};
use shield_data::write_atomically;

use crate::data::Images;
use crate::error::LearnError;
use crate::network::{Model, Shape};
use crate::student::Variant;
use crate::student::propagation::Propagation;

const MAGIC: &[u8; 16] = b"SHIELD model v1\n";
/// A header has about 100 bytes.
const MAX_HEADER: usize = 4096;

/// A student's model with all that is needed to use it.
#[derive(Clone, Debug)]
pub struct Student {
    /// How it was made, which tells how images are prepared for it.
    variant: Variant,
    model: Model,
}

#[derive(Serialize, Deserialize)]
struct Header {
    variant: Variant,
    shape: Shape,
}

impl Student {
    /// Learns from images of which some are labelled.
    pub fn learn(
        variant: Variant,
        images: &Images,
        labels: &[Label],
        classes: Classes,
        seed: u64,
    ) -> Result<Self, LearnError> {
        if labels.len() != images.len() {
            return Err(LearnError::LabelCount { labels: labels.len(), images: images.len() });
        }
        if labels.iter().all(Option::is_none) {
            return Err(LearnError::NoLabels);
        }
        let prepared = variant.prepare(images);
        let graph = variant.neighbours(&prepared);
        let targets = graph.map(|graph| Propagation::default().spread(&graph, labels, classes));
        let model = variant.train(&prepared, targets.as_ref(), labels, classes, seed)?;
        Ok(Self { variant, model })
    }

    /// Width and height of the images that it can classify.
    pub fn side(&self) -> usize {
        self.model.shape().side
    }

    /// The class of each image.
    pub fn predict(&self, images: &Images) -> Vec<u8> {
        self.model.predict(&self.variant.prepare(images))
    }

    /// Writes it, whole or not at all.
    pub fn save(&self, path: &Path) -> Result<(), LearnError> {
        let bytes = self.to_bytes();
        let written = write_atomically(path, |file| file.write_all(&bytes));
        written.map_err(|error| LearnError::failed(format!("{}: {error}", path.display())))
    }

    /// Reads it back.
    pub fn load(path: &Path) -> Result<Self, LearnError> {
        let bytes = std::fs::read(path).map_err(|error| error.to_string());
        let read = bytes.and_then(|bytes| {
            Self::from_bytes(&bytes).map_err(|what| {
                format!(
                    "this is not a model of ours, or it is damaged ({what}); make it again with \
                     `shield learn student`"
                )
            })
        });
        read.map_err(|why| LearnError::Unusable { path: path.to_owned(), why })
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

    /// What is wrong, if it is not a model.
    fn from_bytes(bytes: &[u8]) -> Result<Self, &'static str> {
        let content = bytes.len().checked_sub(blake3::OUT_LEN).ok_or("too short")?;
        let (bytes, checksum) = bytes.split_at(content);
        let rest = bytes.strip_prefix(MAGIC).ok_or("it begins otherwise")?;
        if blake3::hash(bytes).as_bytes() != checksum {
            return Err("its checksum is wrong");
        }
        let (length, rest) = rest.split_first_chunk::<4>().ok_or("too short")?;
        let length = u32::from_le_bytes(*length) as usize;
        if length > MAX_HEADER.min(rest.len()) {
            return Err("its header is too long");
        }
        let (header, mut numbers) = rest.split_at(length);
        let Header { variant, shape } =
            serde_json::from_slice(header).map_err(|_| "its header is not readable")?;
        if !shape.is_valid() || shape.parameters().iter().sum::<usize>() * 4 != numbers.len() {
            return Err("its weights do not fit its shape");
        }
        let read = |four: &[u8]| f32::from_le_bytes([four[0], four[1], four[2], four[3]]);
        let weights = shape.parameters().map(|count| {
            let (own, later) = numbers.split_at(4 * count);
            numbers = later;
            own.chunks_exact(4).map(read).collect()
        });
        let model = Model::from_parts(shape, weights).ok_or("its parts do not fit")?;
        Ok(Self { variant, model })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn student() -> Student {
        let shape = Shape { side: 14, channels: 2, classes: 3 };
        let weights = shape.parameters().map(|count| vec![0.25; count]);
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
