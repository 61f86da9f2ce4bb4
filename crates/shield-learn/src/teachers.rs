//! Many teachers, each with its own shard, its own view of an image and its own model.

use clap::ValueEnum;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use rayon::prelude::*;
use shield_core::Watch;
use shield_core::{Class, Classes, Votes};

use crate::data::{Images, Labelled};
use crate::error::LearnError;
use crate::network::Shape;
use crate::training::{Augmentation, Averaging, Targets, Training};
use crate::transform;

/// How good the teachers are, and in which way they fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Profile {
    /// Like the paper's votes: teachers about 71% right, each seeing a part of an upright image
    Paper,
    /// Like PATE's votes: teachers about 82% right, each seeing a larger part of a raw image
    Pate,
}

impl Profile {
    /// The size of the square that each teacher sees, at a place of its own.
    fn crop(self) -> usize {
        match self {
            Self::Paper => 15,
            Self::Pate => 20,
        }
    }

    /// What is done to every image.
    fn prepare(self, images: &Images) -> Images {
        match self {
            Self::Paper => transform::deskew(images),
            Self::Pate => images.clone(),
        }
    }

    fn training(self) -> Training {
        let (channels, rate) = match self {
            Self::Paper => (12, 2.5e-2),
            Self::Pate => (8, 2e-2),
        };
        Training {
            channels,
            epochs: 8,
            batch: 16,
            rate,
            augmentation: Augmentation::None,
            averaging: Averaging::None,
        }
    }
}

/// The fewest images a teacher can learn from.
const MIN_SHARD: usize = 10;

/// Trains that many teachers on disjoint shards and lets them vote on some images.
///
/// The watch counts teachers. The seed decides everything: shards,
/// crops, weights, order; the number of threads nothing.
pub fn teach(
    profile: Profile,
    training: &Labelled,
    public: &Images,
    teachers: usize,
    seed: u64,
    watch: &Watch,
) -> Result<Votes, LearnError> {
    let images = training.images.len();
    if teachers == 0 || images / teachers < MIN_SHARD {
        return Err(LearnError::TooManyTeachers { teachers, images, least: MIN_SHARD });
    }
    let (own, public) = (profile.prepare(&training.images), profile.prepare(public));
    let classes = usize::from(training.classes.iter().copied().max().unwrap_or(0)).max(1) + 1;
    watch.begin("teaching", teachers as u64);
    let shards = shards(images, teachers, seed);
    let ballots: Vec<Vec<u8>> = shards
        .par_iter()
        .enumerate()
        .map(|(teacher, shard)| {
            let mut rng = ChaCha20Rng::seed_from_u64(seed);
            rng.set_stream(1 + teacher as u64);
            let crop = profile.crop().clamp(Shape::MIN_SIDE, own.side());
            let room = own.side() - crop;
            let (left, top) = (rng.random_range(0..=room), rng.random_range(0..=room));
            let images = transform::crop(&own.select(shard.iter().copied()), left, top, crop);
            let labels = shard.iter().map(|&index| usize::from(training.classes[index]));
            let targets = Targets::certain(classes, labels);
            let model = profile.training().run(&images, &targets, &mut rng);
            let votes = model.predict(&transform::crop(&public, left, top, crop));
            watch.add(1);
            votes
        })
        .collect();
    let classes = Classes::new(classes).expect("at most 256 classes in a byte");
    let rows = (0..public.len())
        .map(|sample| ballots.iter().map(move |ballot| Some(Class(u16::from(ballot[sample])))));
    Ok(Votes::from_rows(classes, rows).expect("every teacher votes a class on every image"))
}

/// For each of the teachers, the indices of its own images: as many for each, none twice. The
/// privacy analysis changes one teacher's votes at a time, so no image may be in two shards.
fn shards(images: usize, teachers: usize, seed: u64) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..images).collect();
    order.shuffle(&mut ChaCha20Rng::seed_from_u64(seed));
    order.chunks(images / teachers).take(teachers).map(<[usize]>::to_vec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_image_is_in_two_shards() {
        for (images, teachers) in [(60_000, 250), (1003, 10), (7, 7)] {
            let shards = shards(images, teachers, 1);
            assert_eq!(shards.len(), teachers);
            assert!(shards.iter().all(|shard| shard.len() == images / teachers));
            let mut all = shards.concat();
            let count = all.len();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), count);
        }
    }
}
