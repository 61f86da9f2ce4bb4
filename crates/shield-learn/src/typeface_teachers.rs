//! Teachers that own typefaces: each learns characters from its own fonts and reads those of
//! others.
//!
//! No typeface belongs to two teachers, and no style of a family whose members draw the public
//! images belongs to any: what is public says nothing about what a teacher owns.

use std::collections::BTreeMap;

use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use rayon::prelude::*;
use shield_core::{Class, Classes, Votes, Watch};

use crate::data::{Images, Labelled};
use crate::error::LearnError;
use crate::glyphs::{ALPHABET, Typeface};
use crate::linear::Linear;
use crate::student::gradients::gradients;

/// How many images of each character a teacher draws from all its typefaces together.
const COPIES: usize = 8;
/// How much small coefficients are preferred.
const RIDGE: f64 = 0.3;

/// Typefaces shared out: some draw what is public, all others belong to teachers.
#[derive(Debug)]
pub(crate) struct Shares {
    /// Complete typefaces that no teacher has.
    public: Vec<Typeface>,
    /// Each teacher's own.
    owned: Vec<Vec<Typeface>>,
}

impl Shares {
    /// Shares typefaces out among so many teachers, and at least so many complete ones to the
    /// public. `files` is how many files they came from, for the error.
    pub(crate) fn new(
        typefaces: Vec<Typeface>,
        files: usize,
        teachers: usize,
        public: usize,
        seed: u64,
    ) -> Result<Self, LearnError> {
        let found = typefaces.len();
        let complete = typefaces.iter().filter(|face| face.is_complete()).count();
        let mut families: BTreeMap<String, Vec<Typeface>> = BTreeMap::new();
        for face in typefaces {
            families.entry(face.family().to_owned()).or_default().push(face);
        }
        let mut families: Vec<Vec<Typeface>> = families.into_values().collect();
        families.shuffle(&mut ChaCha20Rng::seed_from_u64(seed));
        let (mut shown, mut rest) = (Vec::new(), Vec::new());
        for family in families {
            if shown.len() < public && family.iter().any(Typeface::is_complete) {
                shown.extend(family.into_iter().filter(Typeface::is_complete));
            } else {
                rest.extend(family);
            }
        }
        if shown.len() < public || rest.len() < teachers || teachers == 0 {
            let needed = teachers.max(1) + public;
            let characters = ALPHABET.chars().count();
            return Err(LearnError::TooFewTypefaces {
                characters,
                files,
                found,
                complete,
                needed,
                public,
            });
        }
        let mut owned = vec![Vec::new(); teachers];
        for (place, face) in rest.into_iter().enumerate() {
            owned[place % teachers].push(face);
        }
        Ok(Self { public: shown, owned })
    }

    /// How many teachers there are.
    pub(crate) fn teachers(&self) -> usize {
        self.owned.len()
    }

    /// Public images: so many of each class, the classes in turn.
    pub(crate) fn public_images(&self, copies: usize, seed: u64) -> Labelled {
        let classes = ALPHABET.chars().count();
        let drawn: Vec<(Vec<f32>, u8)> = (0..copies * classes)
            .into_par_iter()
            .map(|index| {
                let mut rng = ChaCha20Rng::seed_from_u64(seed);
                rng.set_stream(index as u64);
                let face = &self.public[rng.random_range(0..self.public.len())];
                let class = index % classes;
                let image = face.image(class, &mut rng).expect("public typefaces are complete");
                (image, u8::try_from(class).expect("150 classes"))
            })
            .collect();
        let side = drawn.first().map_or(1, |(image, _)| image.len().isqrt());
        let (pixels, classes): (Vec<Vec<f32>>, Vec<u8>) = drawn.into_iter().unzip();
        Labelled { images: Images::new(side, pixels.concat()), classes }
    }

    /// Fits a classifier for each teacher and lets it vote on some images.
    ///
    /// The watch counts teachers. The seed decides everything, the
    /// number of threads nothing.
    pub(crate) fn teach(&self, public: &Images, seed: u64, watch: &Watch) -> Votes {
        let classes = ALPHABET.chars().count();
        let features = gradients(public);
        let ballots: Vec<Vec<usize>> = self
            .owned
            .par_iter()
            .enumerate()
            .map(|(teacher, faces)| {
                let mut rng = ChaCha20Rng::seed_from_u64(seed);
                rng.set_stream(1 + teacher as u64);
                let copies = (COPIES / faces.len().max(1)).max(1);
                let (mut pixels, mut labels) = (Vec::new(), Vec::new());
                let mut side = 1;
                for face in faces {
                    let (images, own) = face.images(copies, &mut rng);
                    side = images.side();
                    pixels.extend_from_slice(images.pixels());
                    labels.extend(own);
                }
                let own = gradients(&Images::new(side, pixels));
                let votes = Linear::fit(&own, &labels, classes, RIDGE).predict(&features);
                watch.add(1);
                votes
            })
            .collect();
        let checked = Classes::new(classes).expect("150 classes are allowed");
        let vote = |class: usize| u16::try_from(class).ok().map(Class);
        let rows =
            (0..public.len()).map(|sample| ballots.iter().map(move |ballot| vote(ballot[sample])));
        Votes::from_rows(checked, rows).expect("every teacher votes a class on every image")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::glyphs::testing::many_typefaces;
    use rayon::ThreadPoolBuilder;

    #[test]
    fn nobody_shares_a_typeface_and_public_families_are_nobodys() {
        let shares = Shares::new(many_typefaces(12), 12, 4, 2, 1).unwrap();
        assert_eq!(shares.teachers(), 4);
        let families = |faces: &[Typeface]| -> Vec<String> {
            faces.iter().map(|face| face.family().to_owned()).collect()
        };
        let public = families(&shares.public);
        assert!(public.len() >= 2);
        let owned: Vec<String> = shares.owned.iter().flat_map(|faces| families(faces)).collect();
        assert!(owned.iter().all(|family| !public.contains(family)), "{owned:?} {public:?}");
        assert_eq!(owned.len() + public.len(), 12);
        let refused = Shares::new(many_typefaces(4), 9, 4, 2, 1).unwrap_err();
        let message = refused.to_string();
        assert!(message.contains("9 font files") && message.contains("--teachers"), "{message}");
        assert!(Shares::new(many_typefaces(4), 4, 0, 2, 1).is_err());
    }

    #[test]
    fn teachers_read_each_others_typefaces_on_any_number_of_threads() {
        let shares = Shares::new(many_typefaces(6), 6, 3, 2, 1).unwrap();
        let public = shares.public_images(1, 2);
        assert_eq!((public.images.len(), public.classes[149]), (150, 149));
        let votes = |threads: usize| {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| shares.teach(&public.images, 3, &Watch::default()))
        };
        let found = votes(1);
        assert_eq!(found, votes(3));
        let right = (0..150)
            .flat_map(|sample| found.sample(sample).map(move |vote| (sample, vote)))
            .filter(|&(sample, vote)| vote.is_some_and(|class| class.index() == sample))
            .count();
        assert!(right > 225, "{right} of 450 votes");
    }
}
