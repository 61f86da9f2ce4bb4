//! The labels that each student gets, and what it learns from them.

use std::time::Instant;

use rand_chacha::ChaCha20Rng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use shield::{Class as Digit, Election, Label, Labels, Mechanism, Seed, Votes};
use shield_bfv::ReleaseMode;
use shield_learn::experiment::{Classroom, Split};
use shield_learn::student::Variant;

use super::folder::Folder;
use super::rows::{self, Row};
use super::study::Study;
use super::{right, variant_name};
use crate::commands::label::{self, Engine, Run};
use crate::console;
use crate::failure::Failure;

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
    pub(super) study: &'a Study,
    pub(super) votes: &'a Votes,
    pub(super) truth: &'a Labels,
    pub(super) seed: u64,
    pub(super) splits: Vec<Split>,
}

impl Class<'_> {
    /// For each row, the labels of each student.
    pub(super) fn label(
        &self,
        rows: &[(usize, Row)],
        folder: &Folder,
        threads: usize,
    ) -> Result<Vec<Vec<Labelled>>, Failure> {
        let bar = console::progress((rows.len() * self.splits.len()) as u64, "labelling");
        let mut all = Vec::with_capacity(rows.len());
        for (place, row) in rows {
            let mut own = Vec::with_capacity(self.splits.len());
            for (student, split) in self.splits.iter().enumerate() {
                let unit = format!("{}.labels.{}", row.key, student + 1);
                own.push(folder.unit_or(&unit, || {
                    // Repeatable on purpose: these labels protect nobody, the images are public.
                    let mut draws = Seed::from_number(self.seed)
                        .stream("shield 2026 experiment", (place * 1_000_000 + student) as u64);
                    self.label_one(&row.mechanism, split, &mut draws, threads)
                })?);
                bar.inc(1);
            }
            all.push(own);
        }
        bar.finish_and_clear();
        Ok(all)
    }

    fn label_one(
        &self,
        mechanism: &Mechanism,
        split: &Split,
        draws: &mut ChaCha20Rng,
        threads: usize,
    ) -> Result<Labelled, Failure> {
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
                let engine = Engine::Bfv(ReleaseMode::Reveal);
                let run = Run::new(&votes, &seed, threads, &|_| ());
                let labelling = label::label(engine, election.clone(), &run)?;
                let clear = label::label(Engine::Clear, election, &run)?;
                let same = labelling.labels.iter().zip(&clear.labels).filter(|(a, b)| a == b);
                let encrypted = Encrypted {
                    as_in_the_clear: same.count(),
                    encrypt_seconds: labelling.seconds.encrypt,
                    aggregate_seconds: labelling.seconds.aggregate,
                    threads,
                };
                (labelling.labels, Some(encrypted))
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
        folder: &Folder,
    ) -> Result<Vec<Vec<Mark>>, Failure> {
        let total = rows.len() * self.splits.len() * variants.len();
        let bar = console::progress(total as u64, "students");
        let mut marks: Vec<Vec<Mark>> = vec![Vec::new(); rows.len()];
        for (student, split) in self.splits.iter().enumerate() {
            for &variant in variants {
                let unit =
                    |row: &Row| format!("{}.{}.{}", row.key, variant_name(variant), student + 1);
                let known: Vec<Option<Mark>> =
                    rows.iter().map(|(_, row)| folder.finished(&unit(row))).collect();
                bar.inc(known.iter().flatten().count() as u64);
                if let Some(known) = known.iter().copied().collect::<Option<Vec<Mark>>>() {
                    marks.iter_mut().zip(known).for_each(|(marks, mark)| marks.push(mark));
                    continue;
                }
                let classroom = Classroom::new(variant, &self.study.public, split);
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
                        bar.inc(1);
                        Ok(mark)
                    })
                    .collect::<Result<Vec<Mark>, Failure>>()?;
                marks.iter_mut().zip(found).for_each(|(marks, mark)| marks.push(mark));
            }
        }
        bar.finish_and_clear();
        Ok(marks)
    }

    fn mark(
        &self,
        classroom: &Classroom,
        labelled: &Labelled,
        student: usize,
        variant: Variant,
    ) -> Result<Mark, Failure> {
        let start = Instant::now();
        // The same first weights in every row: only the labels differ.
        let seed = self.seed.wrapping_mul(1_000_003).wrapping_add(student as u64);
        let accuracy = classroom
            .accuracy(&labelled.labels(), self.votes.classes(), seed)
            .map_err(Failure::failed)?;
        Ok(Mark { student, variant, accuracy, seconds: start.elapsed().as_secs_f64() })
    }
}
