//! What the students of an experiment share: how the public images are divided, and how one student
//! is taught.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha20Rng;
use shield_core::{Classes, Label};

use crate::data::{Images, Labelled};
use crate::error::LearnError;
use crate::student::Variant;
use crate::student::propagation::{Influence, Propagation};

/// One student's share of the public images, as indices into them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Split {
    /// What the student sees. It asks for the labels of the first `queries` of them.
    pub(crate) seen: Vec<usize>,
    /// How many labels it asks for.
    pub(crate) queries: usize,
    /// What it is tested on, and never sees before.
    pub(crate) tested: Vec<usize>,
}

impl Split {
    /// The split of one student: the same for every mechanism, so that mechanisms are compared on
    /// the same images.
    pub(crate) fn draw(
        images: usize,
        seen: usize,
        queries: usize,
        seed: u64,
        student: usize,
    ) -> Result<Self, LearnError> {
        if seen >= images || !(1..=seen).contains(&queries) {
            return Err(LearnError::Split { images, seen, queries });
        }
        let mut order: Vec<usize> = (0..images).collect();
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        rng.set_stream(student as u64);
        order.shuffle(&mut rng);
        let tested = order.split_off(seen);
        Ok(Self { seen: order, queries, tested })
    }

    /// The images whose labels are asked for.
    pub(crate) fn asked(&self) -> &[usize] {
        &self.seen[..self.queries]
    }
}

/// All that students with one split and one way of learning have in common: made once, used for
/// every mechanism.
#[derive(Clone, Debug)]
pub(crate) struct Classroom {
    variant: Variant,
    seen: Images,
    /// What each image that may be labelled says of all others.
    influence: Option<Influence>,
    tested: Images,
    truth: Vec<u8>,
}

impl Classroom {
    /// Prepares the images of a split and finds which are alike.
    pub(crate) fn new(variant: Variant, public: &Labelled, split: &Split) -> Self {
        let select = |indices: &[usize]| public.images.select(indices.iter().copied());
        let seen = variant.prepare(&select(&split.seen));
        let asked: Vec<usize> = (0..split.queries).collect();
        let influence =
            variant.neighbours(&seen).map(|graph| Propagation::default().influence(&graph, &asked));
        Self {
            variant,
            influence,
            seen,
            tested: variant.prepare(&select(&split.tested)),
            truth: split.tested.iter().map(|&image| public.classes[image]).collect(),
        }
    }

    /// Teaches one student the labels of the first images, and says for which share of the others
    /// it is right.
    pub(crate) fn accuracy(
        &self,
        labels: &[Label],
        classes: Classes,
        seed: u64,
    ) -> Result<f64, LearnError> {
        let mut all = labels.to_vec();
        all.resize(self.seen.len(), None);
        let targets = self.influence.as_ref().map(|influence| influence.spread(&all, classes));
        let model = self.variant.train(&self.seen, targets.as_ref(), &all, classes, seed)?;
        let found = model.predict(&self.tested);
        let right = found.iter().zip(&self.truth).filter(|(a, b)| a == b).count();
        Ok(right as f64 / self.truth.len() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_split_takes_every_image_once_and_differs_from_student_to_student() {
        let split = Split::draw(100, 80, 10, 1, 0).unwrap();
        let mut all = [split.seen.clone(), split.tested.clone()].concat();
        all.sort_unstable();
        assert_eq!(all, (0..100).collect::<Vec<_>>());
        assert_eq!((split.seen.len(), split.asked().len()), (80, 10));
        assert_eq!(split, Split::draw(100, 80, 10, 1, 0).unwrap());
        assert_ne!(split, Split::draw(100, 80, 10, 1, 1).unwrap());
        assert_ne!(split, Split::draw(100, 80, 10, 2, 0).unwrap());
    }

    #[test]
    fn sizes_that_leave_nothing_are_refused() {
        for (seen, queries) in [(100, 10), (120, 10), (80, 0), (80, 81), (0, 0)] {
            assert!(Split::draw(100, seen, queries, 1, 0).is_err(), "{seen} {queries}");
        }
    }
}
