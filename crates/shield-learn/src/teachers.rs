//! Many teachers, each with its own shard, its own view of an image and its own model.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use rayon::prelude::*;
use shield::{Class, Classes, Votes};

use crate::data::{Images, Labelled};
use crate::network::Shape;
use crate::shards;
use crate::training::{Augmentation, Averaging, Targets, Training};
use crate::transform;

/// How a profile prepares images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preparation {
    /// As they are.
    Raw,
    /// Upright and centred.
    Deskewed,
}

/// How good the teachers are, and in which way they fail.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    /// What is done to every image.
    pub preparation: Preparation,
    /// Each teacher sees one square of this size, at a place of its own.
    pub crop: usize,
    /// How each is trained.
    pub training: Training,
}

impl Profile {
    /// Votes like the paper's: teachers about 71% right, who disagree a lot.
    pub fn paper() -> Self {
        Self::new(Preparation::Deskewed, 15, 12, 2.5e-2)
    }

    /// Votes like PATE's: teachers about 82% right.
    pub fn pate() -> Self {
        Self::new(Preparation::Raw, 20, 8, 2e-2)
    }

    fn new(preparation: Preparation, crop: usize, channels: usize, rate: f64) -> Self {
        let training = Training {
            channels,
            epochs: 8,
            batch: 16,
            rate,
            augmentation: Augmentation::None,
            averaging: Averaging::None,
        };
        Self { preparation, crop, training }
    }
}

/// Why teachers cannot be trained.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TeachError {
    /// More teachers than images.
    #[error(
        "{teachers} teachers cannot share {images} training images; give each at least {MIN_SHARD}"
    )]
    TooManyTeachers {
        /// How many teachers were asked for.
        teachers: usize,
        /// How many images there are to share.
        images: usize,
    },
}

/// The fewest images a teacher can learn from.
const MIN_SHARD: usize = 10;

/// Trains that many teachers on disjoint shards and lets them vote on some images.
///
/// `done` is called after each teacher, from any thread. The seed decides everything: shards,
/// crops, weights, order; the number of threads nothing.
pub fn teach(
    profile: &Profile,
    training: &Labelled,
    public: &Images,
    teachers: usize,
    seed: u64,
    done: impl Fn() + Sync,
) -> Result<Votes, TeachError> {
    let images = training.images.len();
    if teachers == 0 || images / teachers < MIN_SHARD {
        return Err(TeachError::TooManyTeachers { teachers, images });
    }
    let prepare = |images: &Images| match profile.preparation {
        Preparation::Raw => images.clone(),
        Preparation::Deskewed => transform::deskew(images),
    };
    let (own, public) = (prepare(&training.images), prepare(public));
    let classes = usize::from(training.classes.iter().copied().max().unwrap_or(0)).max(1) + 1;
    let shards = shards::disjoint(images, teachers, seed);
    let ballots: Vec<Vec<u8>> = shards
        .par_iter()
        .enumerate()
        .map(|(teacher, shard)| {
            let mut rng = ChaCha20Rng::seed_from_u64(seed);
            rng.set_stream(1 + teacher as u64);
            let crop = profile.crop.clamp(Shape::MIN_SIDE, own.side());
            let room = own.side() - crop;
            let (left, top) = (rng.random_range(0..=room), rng.random_range(0..=room));
            let images = transform::crop(&own.select(shard.iter().copied()), left, top, crop);
            let labels = shard.iter().map(|&index| usize::from(training.classes[index]));
            let targets = Targets::certain(classes, labels);
            let model = profile.training.run(&images, &targets, &mut rng);
            let votes = model.predict(&transform::crop(&public, left, top, crop));
            done();
            votes
        })
        .collect();
    let classes = Classes::new(classes).expect("at most 256 classes in a byte");
    let rows = (0..public.len())
        .map(|sample| ballots.iter().map(move |ballot| Some(Class(u16::from(ballot[sample])))));
    Ok(Votes::from_rows(classes, rows).expect("every teacher votes a class on every image"))
}
