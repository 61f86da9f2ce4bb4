//! The labels that each student gets, and what it learns from them.

use std::time::Instant;

use rand_chacha::ChaCha20Rng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use shield_bfv::BfvEngine;
use shield_core::Watch;
use shield_core::engine::{ClearEngine, Engine};
use shield_core::labelling::{self, BallotRandomness};
use shield_core::{Class as Digit, Election, Label, Labels, Seed, Votes};
use shield_privacy::Mechanism;

use super::classroom::{Classroom, Split};
use super::rows::{self, Row};
use super::{Stages, right};
use crate::error::LearnError;
use crate::student::Variant;

/// One student's labels.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Labelled {
    /// -1 where there is none.
    labels: Vec<i32>,
    /// How many are right.
    pub(super) right: usize,
    /// What the encrypted engine took, where it was used.
    pub(super) encrypted: Option<Encrypted>,
}

/// How a labelling by the encrypted engine went.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Encrypted {
    /// How many labels equal those of the operator in the clear with the same draws: all, or
    /// something is broken.
    pub(super) as_in_the_clear: usize,
    pub(super) encrypt_seconds: f64,
    pub(super) aggregate_seconds: f64,
    pub(super) threads: usize,
}

impl Labelled {
    pub(super) fn labels(&self) -> Vec<Label> {
        self.labels.iter().map(|&label| u16::try_from(label).ok().map(Digit)).collect()
    }
}

/// What one student is worth.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Mark {
    pub(super) student: usize,
    pub(super) variant: Variant,
    pub(super) accuracy: f64,
    pub(super) seconds: f64,
}

/// All students, with what they share.
pub(super) struct Class<'a> {
    pub(super) stages: Stages<'a>,
    pub(super) votes: &'a Votes,
    pub(super) truth: &'a Labels,
    pub(super) splits: Vec<Split>,
}

impl Class<'_> {
    /// For each row, the labels of each student.
    pub(super) fn label(&self, rows: &[(usize, Row)]) -> Result<Vec<Vec<Labelled>>, LearnError> {
        let Stages { folder, watch, scope, .. } = self.stages;
        watch.begin("labelling", (rows.len() * self.splits.len()) as u64);
        let mut all = Vec::with_capacity(rows.len());
        for (place, row) in rows {
            let mut own = Vec::with_capacity(self.splits.len());
            for (student, split) in self.splits.iter().enumerate() {
                let unit = format!("{}.labels.{}", row.key, student + 1);
                own.push(folder.unit_or(&unit, || {
                    // Repeatable on purpose: these labels protect nobody, the images are public.
                    let mut draws = Seed::from_number(scope.seed)
                        .stream("shield 2026 experiment", (place * 1_000_000 + student) as u64);
                    self.label_one(&row.mechanism, split, &mut draws)
                })?);
                watch.add(1);
            }
            all.push(own);
        }
        Ok(all)
    }

    fn label_one(
        &self,
        mechanism: &Mechanism,
        split: &Split,
        draws: &mut ChaCha20Rng,
    ) -> Result<Labelled, LearnError> {
        let asked = split.asked();
        let rows = asked.iter().map(|&image| self.votes.sample(image));
        let votes = Votes::from_rows(self.votes.classes(), rows)?;
        let truth: Vec<Label> = asked.iter().map(|&image| self.truth.as_slice()[image]).collect();
        let (labels, encrypted) = match mechanism {
            Mechanism::Shield(setting) => {
                let election = Election::new(
                    votes.teachers(),
                    votes.classes(),
                    votes.samples(),
                    setting.clone(),
                )?;
                let seed = Seed::random(draws);
                let bfv = BfvEngine::new(election.clone()).map_err(LearnError::failed)?;
                let labelled = label_with(&bfv, &votes, &seed)?;
                let clear = label_with(&ClearEngine::new(election), &votes, &seed)?;
                let same = labelled.labels.iter().zip(&clear.labels).filter(|(a, b)| a == b);
                let encrypted = Encrypted {
                    as_in_the_clear: same.count(),
                    encrypt_seconds: labelled.seconds.encrypt,
                    aggregate_seconds: labelled.seconds.aggregate,
                    threads: rayon::current_num_threads(),
                };
                (labelled.labels, Some(encrypted))
            }
            clear => (rows::draw(&votes, draws, clear), None),
        };
        Ok(Labelled {
            right: right(&labels, &truth),
            labels: labels
                .iter()
                .map(|label| label.map_or(-1, |class| i32::from(class.0)))
                .collect(),
            encrypted,
        })
    }

    /// For each row, what each student is worth: students side by side, one thread each.
    pub(super) fn learn(
        &self,
        rows: &[(usize, Row)],
        labels: &[Vec<Labelled>],
        variants: &[Variant],
    ) -> Result<Vec<Vec<Mark>>, LearnError> {
        let total = rows.len() * self.splits.len() * variants.len();
        let Stages { folder, watch, study, .. } = self.stages;
        watch.begin("students", total as u64);
        let mut marks: Vec<Vec<Mark>> = vec![Vec::new(); rows.len()];
        for (student, split) in self.splits.iter().enumerate() {
            for &variant in variants {
                let unit = |row: &Row| format!("{}.{}.{}", row.key, variant.name(), student + 1);
                let known: Vec<Option<Mark>> =
                    rows.iter().map(|(_, row)| folder.finished(&unit(row))).collect();
                watch.add(known.iter().flatten().count() as u64);
                if let Some(known) = known.iter().copied().collect::<Option<Vec<Mark>>>() {
                    marks.iter_mut().zip(known).for_each(|(marks, mark)| marks.push(mark));
                    continue;
                }
                let classroom = Classroom::new(variant, &study.public, split);
                let found = rows
                    .par_iter()
                    .zip(labels)
                    .zip(&known)
                    .map(|(((_, row), labels), known)| {
                        if let Some(known) = known {
                            return Ok(*known);
                        }
                        let mark = self.mark(&classroom, &labels[student], student, variant)?;
                        let mark = folder.keep(&unit(row), &mark)?;
                        watch.add(1);
                        Ok(mark)
                    })
                    .collect::<Result<Vec<Mark>, LearnError>>()?;
                marks.iter_mut().zip(found).for_each(|(marks, mark)| marks.push(mark));
            }
        }
        Ok(marks)
    }

    fn mark(
        &self,
        classroom: &Classroom,
        labelled: &Labelled,
        student: usize,
        variant: Variant,
    ) -> Result<Mark, LearnError> {
        let start = Instant::now();
        // The same first weights in every row: only the labels differ.
        let seed = self.stages.scope.seed.wrapping_mul(1_000_003).wrapping_add(student as u64);
        let accuracy = classroom.accuracy(&labelled.labels(), self.votes.classes(), seed)?;
        Ok(Mark { student, variant, accuracy, seconds: start.elapsed().as_secs_f64() })
    }
}

/// Labels votes with an engine: every role in this process.
fn label_with<B: Engine>(
    engine: &B,
    votes: &Votes,
    seed: &Seed,
) -> Result<labelling::Labelled, LearnError> {
    labelling::label(engine, votes, seed, BallotRandomness::Fresh, &Watch::default())
        .map_err(LearnError::failed)
}
