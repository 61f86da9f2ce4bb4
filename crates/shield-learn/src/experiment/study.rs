//! What is studied: images, teachers, sizes, and the polynomials to choose from.

use std::path::Path;

use clap::ValueEnum as _;
use serde_json::{Map, Value, json};
use shield_core::Watch;
use shield_core::{Class, Classes, Delta, Labels, Offset, Queries, Votes};
use shield_privacy::Usage;
use shield_privacy::tune::Space;

use super::classroom::Split;
use super::tuning::{Choice, TuningSpace};
use crate::data::{Labelled, Mnist, drawn_digits};
use crate::error::LearnError;
use crate::glyphs::{self, ALPHABET};
use crate::student::Variant;
use crate::teachers::{Profile, teach};
use crate::typeface_teachers::Shares;

/// The polynomials of the paper's Table 1, at offset 1.
pub const PAPER: [&str; 4] =
    ["2X^3+3X^2+X", "2X^4+6X^3+3X^2+X", "6X^4+6X^3+4X^2+X", "8X^4+6X^3+4X^2+X"];

/// What is studied, and how large everything is.
#[derive(Debug)]
pub struct Study {
    pub(super) name: String,
    pub(super) classes: Classes,
    teaching: Teaching,
    pub(super) public: Labelled,
    pub(super) teachers: usize,
    /// How many of the public images a student sees; it is tested on the others.
    pub(super) seen: usize,
    pub(super) queries: usize,
    pub(super) usage: Usage,
    pub(super) tuning: Choice,
    /// How many of the paper's polynomials are shown: the last ones.
    pub(super) paper_rows: usize,
    pub(super) shared_noise: SharedNoiseRows,
    variant: Variant,
}

/// Whether SPEED's noisy argmax is among the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SharedNoiseRows {
    /// It is, at the costs of the tuned rows.
    Shown,
    /// It is not: the paper's table has none.
    Hidden,
}

/// How the teachers come to their votes.
#[derive(Debug)]
enum Teaching {
    /// Networks, each trained on a part of these images.
    Networks { profile: Profile, training: Labelled },
    /// Linear classifiers, each fitted to typefaces of its own.
    Typefaces(Shares),
}

/// Images of each character among the public ones of the glyphs.
const COPIES: usize = 30;

/// With fewer teachers, fewer images and queries will do.
const SMALL: usize = 100;

/// Complete typefaces that draw the public glyphs.
const PUBLIC_TYPEFACES: usize = 60;

impl Study {
    /// MNIST in a folder with the paper's sizes, with teachers of a profile.
    pub fn mnist(folder: &Path, profile: Profile) -> Result<Self, LearnError> {
        let name =
            profile.to_possible_value().map_or(String::new(), |name| name.get_name().to_owned());
        Self::like_the_paper(format!("mnist, {name} profile"), Mnist::load(folder)?, profile)
    }

    /// Fashion-MNIST in a folder, with the paper's sizes.
    pub fn fashion(folder: &Path) -> Result<Self, LearnError> {
        let data = Mnist::fashion(folder)?;
        let study = Self::like_the_paper("fashion".to_owned(), data, Profile::Pate)?;
        Ok(Self {
            // Chosen from what is known, not by a search on these votes.
            tuning: Choice::Table { targets: vec![1.0, 2.0, 4.0], curve: vec![0.5, 1.5, 3.0] },
            paper_rows: 1,
            shared_noise: SharedNoiseRows::Shown,
            variant: Variant::Shapes,
            ..study
        })
    }

    fn like_the_paper(name: String, data: Mnist, profile: Profile) -> Result<Self, LearnError> {
        Ok(Self {
            name,
            classes: Classes::new(10)?,
            teaching: Teaching::Networks { profile, training: data.training },
            public: data.test,
            teachers: 250,
            seen: 8000,
            queries: 100,
            usage: Usage { queries: Queries::new(100)?, delta: Delta::default() },
            tuning: Choice::Search(TuningSpace {
                space: Space { max_degree: 8, max_terms: 64 },
                offsets: offsets(&[1, 2, 3, 4, 6, 8, 10, 12])?,
                targets: vec![1.0, 2.0, 4.0],
                samples: 1000,
                known: vec![],
            }),
            paper_rows: PAPER.len(),
            shared_noise: SharedNoiseRows::Hidden,
            variant: Variant::Strong,
        })
    }

    /// A small study for tests and first looks.
    pub fn digits() -> Result<Self, LearnError> {
        let teaching =
            Teaching::Networks { profile: Profile::Pate, training: drawn_digits(600, 1) };
        Ok(Self {
            name: "drawn digits".to_owned(),
            classes: Classes::new(10)?,
            teaching,
            public: drawn_digits(400, 2),
            teachers: 40,
            seen: 300,
            queries: 30,
            usage: Usage { queries: Queries::new(30)?, delta: Delta::default() },
            tuning: Choice::Search(TuningSpace {
                space: Space { max_degree: 4, max_terms: 12 },
                offsets: offsets(&[1, 2])?,
                targets: vec![4.0, 6.0, 8.0],
                samples: 100,
                known: PAPER.iter().filter_map(|text| text.parse().ok()).collect(),
            }),
            paper_rows: PAPER.len(),
            shared_noise: SharedNoiseRows::Hidden,
            variant: Variant::Strong,
        })
    }

    /// The 150 characters of the typefaces in a folder, and so many teachers that own different
    /// ones. With few teachers everything is small: a first look.
    pub fn glyphs(folder: &Path, teachers: usize) -> Result<Self, LearnError> {
        let (typefaces, files) = glyphs::typefaces(folder)?;
        let small = teachers < SMALL;
        let (public, copies) = if small { (1, 4) } else { (PUBLIC_TYPEFACES, COPIES) };
        let shares = Shares::new(typefaces, files, teachers, public, 1)?;
        let public = shares.public_images(copies, 2);
        let classes = Classes::new(ALPHABET.chars().count())?;
        let seen = public.images.len() / 5 * 4;
        let queries = if small { classes.count() } else { 4 * classes.count() };
        let wide = if small { vec![100.0] } else { vec![2.0, 4.0, 8.0] };
        Ok(Self {
            name: "glyphs".to_owned(),
            classes,
            teachers: shares.teachers(),
            teaching: Teaching::Typefaces(shares),
            public,
            seen,
            queries,
            usage: Usage { queries: Queries::new(queries as u64)?, delta: Delta::default() },
            tuning: Choice::Table {
                targets: wide,
                curve: if small { vec![] } else { vec![1.0, 1.5, 3.0, 6.0] },
            },
            paper_rows: 1,
            shared_noise: SharedNoiseRows::Shown,
            variant: Variant::Shapes,
        })
    }

    /// How students learn unless it is said otherwise.
    pub fn variant(&self) -> Variant {
        self.variant
    }

    /// Trains the teachers and lets them vote on the public images.
    pub(super) fn teach(&self, seed: u64, watch: &Watch) -> Result<Votes, LearnError> {
        let images = &self.public.images;
        match &self.teaching {
            Teaching::Networks { profile, training } => {
                teach(*profile, training, images, self.teachers, seed, watch)
            }
            Teaching::Typefaces(shares) => Ok(shares.teach(images, seed, watch)),
        }
    }

    /// Everything that results depend on, by name. How many students, rows and threads there are is
    /// not among it: what was finished with fewer stays true with more.
    pub(super) fn settings(&self, seed: u64, given: Option<&Votes>) -> Map<String, Value> {
        let student = |variant: Variant| format!("{:?}", variant.recipe());
        let mut settings = json!({
            "subject": self.name,
            "votes": given.map_or("trained here".to_owned(), fingerprint),
            "teachers": self.teachers,
            "seed": seed,
            "seen": self.seen,
            "queries": self.queries,
            "delta": self.usage.delta,
            "targets": self.tuning.targets(),
            "search": self.tuning.describe(),
            "strong": student(Variant::Strong),
            "plain": student(Variant::Plain),
            "supervised": student(Variant::Supervised),
        });
        if self.variant == Variant::Shapes {
            settings["shapes"] = student(Variant::Shapes).into();
        }
        settings.as_object().cloned().unwrap_or_default()
    }

    /// Reads votes on the public images.
    pub(super) fn read_votes(&self, path: &Path) -> Result<Votes, LearnError> {
        let votes = shield_data::read_votes(path, Some(self.classes))?;
        if votes.samples() != self.public.images.len() {
            return Err(LearnError::OtherImages {
                path: path.to_owned(),
                found: votes.samples(),
                wanted: self.public.images.len(),
            });
        }
        Ok(votes)
    }

    /// The true classes of the public images.
    pub(super) fn truth(&self) -> Result<Labels, LearnError> {
        let digits = self.public.classes.iter().map(|&digit| Some(Class(u16::from(digit))));
        Ok(Labels::new(digits.collect())?)
    }

    /// One student's split.
    pub(super) fn split(&self, seed: u64, student: usize) -> Result<Split, LearnError> {
        Split::draw(self.public.images.len(), self.seen, self.queries, seed, student)
    }
}

fn offsets(dummies: &[u32]) -> Result<Vec<Offset>, LearnError> {
    Ok(dummies.iter().map(|&dummies| Offset::new(dummies)).collect::<Result<_, _>>()?)
}

/// Tells votes apart.
fn fingerprint(votes: &Votes) -> String {
    // FNV-1a: enough to notice a mistake, and nobody gains by a collision.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let cells = (0..votes.samples()).flat_map(|sample| votes.sample(sample));
    for vote in cells {
        hash ^= vote.map_or(u64::from(u16::MAX), |class| u64::from(class.0));
        hash = hash.wrapping_mul(0x0100_0000_01b3);
    }
    format!("{} x {}, {hash:016x}", votes.samples(), votes.teachers())
}
