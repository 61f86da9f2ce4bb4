//! Disjoint parts of the training set, one per teacher.
//!
//! The privacy analysis changes one teacher's votes at a time. If two teachers shared an image, one
//! image could change the votes of both: shards never overlap.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha20Rng;

/// For each of the teachers, the indices of its own images: as many for each, none twice.
pub fn disjoint(images: usize, teachers: usize, seed: u64) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..images).collect();
    order.shuffle(&mut ChaCha20Rng::seed_from_u64(seed));
    let size = images / teachers.max(1);
    order.chunks(size.max(1)).take(teachers).map(<[usize]>::to_vec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_image_is_in_two_shards() {
        for (images, teachers) in [(60_000, 250), (1003, 10), (7, 7)] {
            let shards = disjoint(images, teachers, 1);
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
