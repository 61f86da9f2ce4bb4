//! The student: few private labels, many images without one, one model.
//!
//! Labels spread over a graph of similar images (`neighbours`, `propagation`), which
//! also outvotes the wrong ones among them; a network then learns from what every image was given.

pub(crate) mod gradients;
pub(crate) mod propagation;

use clap::ValueEnum;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};
use shield_core::{Class, Classes, Label};

use self::propagation::Propagation;
use crate::data::Images;
use crate::error::LearnError;
use crate::neighbours::{Neighbours, Points};
use crate::network::Model;
use crate::training::{Augmentation, Averaging, Targets, Training};
use crate::transform;

/// How the student learns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// Semi-supervised, on upright images, compared by their strokes
    Strong,
    /// Semi-supervised, on images as they are
    // Compared pixel by pixel, and then by what a first network makes of them.
    Plain,
    /// On the labelled images alone, upright
    Supervised,
    /// Semi-supervised, on images as they are, compared by their strokes
    // For what is not written by hand, where a slant may be all that tells two classes apart.
    Shapes,
}

impl Variant {
    /// Its name in files and on the command line.
    pub fn name(self) -> String {
        self.to_possible_value().expect("no variant is hidden").get_name().to_owned()
    }

    /// What this student sees of an image.
    pub(crate) fn prepare(self, images: &Images) -> Images {
        match self {
            Self::Strong | Self::Supervised => transform::deskew(images),
            Self::Plain | Self::Shapes => images.clone(),
        }
    }

    /// Which prepared images are alike; `None` where the student does not ask.
    pub(crate) fn neighbours(self, prepared: &Images) -> Option<Neighbours> {
        match self {
            Self::Strong | Self::Shapes => Some(Neighbours::of(&gradients::gradients(prepared))),
            Self::Plain => Some(Neighbours::of(&Points::from(prepared))),
            Self::Supervised => None,
        }
    }

    /// How its network is trained.
    pub(crate) fn recipe(self) -> Training {
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

    /// Trains on prepared images, given what each is taken for; a student who does not ask for
    /// that learns from the labelled ones alone.
    pub(crate) fn train(
        self,
        prepared: &Images,
        targets: Option<&Targets>,
        labels: &[Label],
        classes: Classes,
        seed: u64,
    ) -> Result<Model, LearnError> {
        if labels.iter().all(Option::is_none) {
            return Err(LearnError::NoLabels);
        }
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
                let known = labelled.iter().filter_map(|&image| labels[image]).map(Class::index);
                let targets = Targets::certain(classes.count(), known.collect::<Vec<_>>());
                Ok(recipe.run(&prepared.select(labelled), &targets, &mut rng))
            }
        }
    }
}
