//! The student: few private labels, many images without one, one model.
//!
//! Labels spread over a graph of similar images ([`crate::neighbours`], [`propagation`]), which
//! also outvotes the wrong ones among them; a network then learns from what every image was given.

pub mod gradients;
pub mod propagation;

use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};
use shield::{Class, Classes, Label};

use self::propagation::Propagation;
use crate::data::Images;
use crate::neighbours::{Neighbours, Points};
use crate::training::{Augmentation, Averaging, Model, Targets, Training};
use crate::transform;

/// How the student learns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// Semi-supervised, on deskewed images; similarity is that of their strokes.
    Strong,
    /// Semi-supervised, on images as they are, compared pixel by pixel and then by what a first
    /// network makes of them.
    Plain,
    /// On the labelled images alone, deskewed.
    Supervised,
    /// Semi-supervised, on images as they are; similarity is that of their strokes. For what is not
    /// written by hand, where a slant may be all that tells two classes apart.
    Shapes,
}

/// Why a student cannot learn.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LearnError {
    /// Another number of labels than images.
    #[error(
        "there are {labels} labels for {images} images; give each image one, absent where there \
         is none"
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

impl Variant {
    /// Its name in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Strong => "strong",
            Self::Plain => "plain",
            Self::Supervised => "supervised",
            Self::Shapes => "shapes",
        }
    }

    /// What this student sees of an image.
    pub fn prepare(self, images: &Images) -> Images {
        match self {
            Self::Strong | Self::Supervised => transform::deskew(images),
            Self::Plain | Self::Shapes => images.clone(),
        }
    }

    /// Which prepared images are alike; `None` where the student does not ask.
    pub fn neighbours(self, prepared: &Images) -> Option<Neighbours> {
        match self {
            Self::Strong | Self::Shapes => Some(Neighbours::of(&gradients::gradients(prepared))),
            Self::Plain => Some(Neighbours::of(&Points::from(prepared))),
            Self::Supervised => None,
        }
    }

    /// How its network is trained.
    pub fn recipe(self) -> Training {
        let base = Training {
            channels: 8,
            epochs: 4,
            batch: 64,
            rate: 6e-3,
            augmentation: Augmentation::Affine,
            averaging: Averaging::Exponential(0.99),
        };
        match self {
            Self::Strong | Self::Plain => base,
            Self::Shapes => Training { channels: 12, epochs: 8, ..base },
            // More epochs learn the wrong labels by heart.
            Self::Supervised => {
                Training { channels: 32, epochs: 40, batch: 16, rate: 4e-3, ..base }
            }
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
        if labels.iter().all(Option::is_none) {
            return Err(LearnError::NoLabels);
        }
        let targets = neighbours.map(|graph| Propagation::default().spread(graph, labels, classes));
        self.train(prepared, targets.as_ref(), labels, classes, seed)
    }

    /// The same, where it is known already what every image is taken for.
    pub fn train(
        self,
        prepared: &Images,
        targets: Option<&Targets>,
        labels: &[Label],
        classes: Classes,
        seed: u64,
    ) -> Result<Model, LearnError> {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let recipe = self.recipe();
        match targets {
            Some(targets) if self == Self::Plain => {
                // Pixels are a poor measure of likeness. What a first network makes of the images
                // is a better one (Iscen and others, "Label propagation for deep semi-supervised
                // learning", 2019).
                let first = recipe.run(prepared, targets, &mut rng);
                let graph = Neighbours::of(&first.features(prepared));
                let targets = Propagation::default().spread(&graph, labels, classes);
                Ok(recipe.run(prepared, &targets, &mut rng))
            }
            Some(targets) => Ok(recipe.run(prepared, targets, &mut rng)),
            None => {
                let labelled: Vec<usize> =
                    (0..labels.len()).filter(|&image| labels[image].is_some()).collect();
                if labelled.is_empty() {
                    return Err(LearnError::NoLabels);
                }
                let known = labelled.iter().filter_map(|&image| labels[image]).map(Class::index);
                let targets = Targets::certain(classes.count(), known.collect::<Vec<_>>());
                Ok(recipe.run(&prepared.select(labelled), &targets, &mut rng))
            }
        }
    }
}
