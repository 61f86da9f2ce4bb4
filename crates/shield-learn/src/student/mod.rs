//! The student: few private labels, many images without one, one model.
//!
//! Labels spread over a graph of similar images ([`neighbours`], [`propagation`]), which also outvotes
//! the wrong ones among them; a network then learns from what every image was given.

pub mod neighbours;
pub mod propagation;

use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};
use shield::{Class, Classes, Label};

use self::neighbours::Neighbours;
use self::propagation::Propagation;
use crate::data::Images;
use crate::training::{Augmentation, Averaging, Model, Targets, Training};
use crate::transform;

/// How the student learns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// Semi-supervised, on deskewed images; similarity is that of softened images.
    Strong,
    /// Semi-supervised, on images as they are.
    Plain,
    /// On the labelled images alone.
    Supervised,
}

/// Why a student cannot learn.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LearnError {
    /// Another number of labels than images.
    #[error(
        "there are {labels} labels for {images} images; give one a image, absent where there is none"
    )]
    LabelCount {
        /// How many labels.
        labels: usize,
        /// How many images.
        images: usize,
    },
    /// All labels are absent.
    #[error("none of the images has a label; label some first")]
    NoLabels,
}

/// How wide images are softened before they are compared, in pixels.
const BLUR: f32 = 1.0;

impl Variant {
    /// What this student sees of an image.
    pub fn prepare(self, images: &Images) -> Images {
        match self {
            Self::Strong => transform::deskew(images),
            Self::Plain | Self::Supervised => images.clone(),
        }
    }

    /// Which prepared images are alike; `None` where the student does not ask.
    pub fn neighbours(self, prepared: &Images) -> Option<Neighbours> {
        match self {
            Self::Strong => Some(Neighbours::of(&transform::blur(prepared, BLUR))),
            Self::Plain => Some(Neighbours::of(prepared)),
            Self::Supervised => None,
        }
    }

    /// How its network is trained.
    pub fn recipe(self) -> Training {
        let base = Training {
            channels: 16,
            epochs: 5,
            batch: 64,
            rate: 4e-3,
            augmentation: Augmentation::Affine,
            averaging: Averaging::Exponential(0.99),
        };
        match self {
            Self::Strong | Self::Plain => base,
            // As many steps on a hundred images as others take on thousands would only overfit.
            Self::Supervised => Training { epochs: 200, batch: 16, ..base },
        }
    }

    /// Learns from images that are prepared and, some of them, labelled.
    pub fn learn(
        self,
        prepared: &Images,
        neighbours: Option<&Neighbours>,
        labels: &[Label],
        classes: Classes,
        seed: u64,
    ) -> Result<Model, LearnError> {
        if labels.len() != prepared.len() {
            return Err(LearnError::LabelCount { labels: labels.len(), images: prepared.len() });
        }
        let labelled: Vec<usize> = (0..labels.len()).filter(|&i| labels[i].is_some()).collect();
        if labelled.is_empty() {
            return Err(LearnError::NoLabels);
        }
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        if let Some(neighbours) = neighbours {
            let targets = Propagation::default().spread(neighbours, labels, classes);
            return Ok(self.recipe().run(prepared, &targets, &mut rng));
        }
        let known = labelled.iter().filter_map(|&index| labels[index]);
        let known: Vec<usize> = known.map(Class::index).collect();
        let targets = Targets::certain(classes.count(), known);
        Ok(self.recipe().run(&prepared.select(labelled), &targets, &mut rng))
    }
}
