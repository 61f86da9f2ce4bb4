//! What is studied: images, teachers, sizes, and the polynomials to choose from.

use std::path::Path;

use serde_json::{Map, Value, json};
use shield::privacy::Usage;
use shield::tune::Space;
use shield::{Class, Classes, Delta, Labels, Offset, Queries, Votes, files};

use super::classroom::Split;
use super::error::ExperimentError;
use super::rows::TuningSpace;
use crate::data::{Labelled, Mnist, drawn_digits};
use crate::student::Variant;
use crate::teachers::Profile;

/// What is studied, and how large everything is.
#[derive(Debug)]
pub struct Study {
    pub(super) name: String,
    pub(super) profile: Profile,
    pub(super) training: Labelled,
    pub(super) public: Labelled,
    pub(super) teachers: usize,
    /// How many of the public images a student sees; it is tested on the others.
    pub(super) seen: usize,
    pub(super) queries: usize,
    pub(super) usage: Usage,
    pub(super) tuning: TuningSpace,
}

impl Study {
    /// MNIST in a folder with the paper's sizes, with teachers of a profile and the profile's name.
    pub fn mnist(folder: &Path, name: &str, profile: Profile) -> Result<Self, ExperimentError> {
        let Mnist { training, test } = Mnist::load(folder)?;
        Ok(Self {
            name: format!("mnist, {name} profile"),
            profile,
            training,
            public: test,
            teachers: 250,
            seen: 8000,
            queries: 100,
            usage: Usage { queries: Queries::new(100)?, delta: Delta::default() },
            tuning: TuningSpace {
                space: Space { max_degree: 8, max_terms: 64 },
                offsets: offsets(&[1, 2, 3, 4, 6, 8, 10, 12])?,
                targets: vec![1.0, 2.0, 4.0],
                samples: 1000,
            },
        })
    }

    /// A small study for tests and first looks.
    pub fn digits() -> Result<Self, ExperimentError> {
        Ok(Self {
            name: "drawn digits".to_owned(),
            profile: Profile::pate(),
            training: drawn_digits(600, 1),
            public: drawn_digits(400, 2),
            teachers: 40,
            seen: 300,
            queries: 30,
            usage: Usage { queries: Queries::new(30)?, delta: Delta::default() },
            tuning: TuningSpace {
                space: Space { max_degree: 4, max_terms: 12 },
                offsets: offsets(&[1, 4])?,
                targets: vec![4.0, 6.0, 8.0],
                samples: 100,
            },
        })
    }

    /// Everything that results depend on, by name. How many students, rows and threads there are is
    /// not among it: what was finished with fewer stays true with more.
    pub(super) fn settings(&self, seed: u64, given: Option<&Votes>) -> Map<String, Value> {
        let Space { max_degree, max_terms } = self.tuning.space;
        let offsets: Vec<u32> = self.tuning.offsets.iter().map(|w| w.dummies()).collect();
        let student = |variant: Variant| format!("{:?}", variant.recipe());
        let settings = json!({
            "subject": self.name,
            "votes": given.map_or("trained here".to_owned(), fingerprint),
            "teachers": self.teachers,
            "seed": seed,
            "seen": self.seen,
            "queries": self.queries,
            "delta": self.usage.delta,
            "targets": self.tuning.targets,
            "search": format!("degree {max_degree}, {max_terms} rounds, offsets {offsets:?}"),
            "strong": student(Variant::Strong),
            "plain": student(Variant::Plain),
            "supervised": student(Variant::Supervised),
        });
        settings.as_object().cloned().unwrap_or_default()
    }

    /// Reads votes on the public images.
    pub(super) fn read_votes(&self, path: &Path) -> Result<Votes, ExperimentError> {
        let votes = files::read_votes(path, Some(Classes::new(10)?))?;
        if votes.samples() != self.public.images.len() {
            return Err(ExperimentError::OtherImages {
                path: path.to_owned(),
                found: votes.samples(),
                wanted: self.public.images.len(),
            });
        }
        Ok(votes)
    }

    /// The true digits of the public images.
    pub(super) fn truth(&self) -> Result<Labels, ExperimentError> {
        let digits = self.public.classes.iter().map(|&digit| Some(Class(u16::from(digit))));
        Ok(Labels::new(digits.collect())?)
    }

    /// One student's split.
    pub(super) fn split(&self, seed: u64, student: usize) -> Result<Split, ExperimentError> {
        Ok(Split::draw(self.public.images.len(), self.seen, self.queries, seed, student)?)
    }
}

fn offsets(dummies: &[u32]) -> Result<Vec<Offset>, ExperimentError> {
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
