//! Votes and labels from files, as several commands take them.

use std::path::{Path, PathBuf};

use clap::Args;
use shield_core::{ClassNames, Classes, Histograms, Labels, Votes};
use shield_data::{IgnoredColumns, ReadOptions, Severity, Warning};

use crate::console;
use crate::failure::Failure;

/// The votes, and what is known about them.
#[derive(Args, Debug)]
pub(crate) struct VotesArgs {
    /// Votes, samples x teachers: .csv (also with header, ids, class names), .npy, .npz, .parquet
    /// or .feather, also as .gz; `-` is standard input. Empty cells, NaN and -1 abstain
    #[arg(long, value_name = "FILE")]
    pub(crate) votes: PathBuf,

    /// True labels to compare with, one per sample: the same kinds of files
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: Option<PathBuf>,

    /// Number of classes [default: one more than the largest vote or label]
    #[arg(long, value_name = "K")]
    pub(crate) classes: Option<Classes>,

    /// Names of the classes, in their order [default: those in the file, by the alphabet]
    #[arg(long, value_name = "NAMES", conflicts_with = "classes")]
    pub(crate) class_names: Option<ClassNames>,

    /// Columns without votes, by number or name, or `none` [default: a first column of ids]
    #[arg(long, value_name = "COLUMNS")]
    pub(crate) ignore_columns: Option<IgnoredColumns>,

    /// The votes are counts: one column per class, in each cell how many teachers chose it. Where
    /// only these are needed: analyze, tune, compare
    #[arg(long)]
    pub(crate) counts: bool,
}

impl VotesArgs {
    /// Reads the files and checks that they fit each other.
    pub(crate) fn load(&self) -> Result<(Votes, Option<Labels>), Failure> {
        if self.counts {
            return Err(Failure::bad_input(
                "--counts gives histograms, and this needs who voted what; leave it out and give \
                 the votes themselves, samples x teachers",
            ));
        }
        let options = self.options()?;
        let read = shield_data::understand_votes(&self.votes, &options)?;
        tell(&self.votes, &read.warnings);
        let (mut votes, known) = (read.value, read.warnings);
        let Some((labels, names)) = self.read_labels(&options, votes.class_names())? else {
            self.tell_classes(votes.classes(), votes.class_names(), &known);
            return Ok((votes, None));
        };
        let (labels, fit) = self.fit(labels, names, votes.class_names(), votes.classes())?;
        votes = match fit {
            Fit::Named(names) => votes.named(names)?,
            Fit::Counted(classes) => votes.among(classes)?,
            Fit::Same => votes,
        };
        self.tell_classes(votes.classes(), votes.class_names(), &known);
        self.check_labels(&labels, votes.samples(), votes.classes())?;
        Ok((votes, Some(labels)))
    }

    /// Reads histograms alone, of votes or of counts: in little memory, however many teachers there
    /// are.
    pub(crate) fn load_histograms(&self) -> Result<(Histograms, Option<Labels>), Failure> {
        let options = self.options()?;
        let read = if self.counts {
            shield_data::understand_counts(&self.votes, &options)?
        } else {
            shield_data::understand_histograms(&self.votes, &options)?
        };
        tell(&self.votes, &read.warnings);
        let (mut histograms, known) = (read.value, read.warnings);
        let found = self.read_labels(&options, histograms.class_names())?;
        let Some((labels, names)) = found else {
            self.tell_classes(histograms.classes(), histograms.class_names(), &known);
            return Ok((histograms, None));
        };
        let (labels, fit) =
            self.fit(labels, names, histograms.class_names(), histograms.classes())?;
        histograms = match fit {
            Fit::Named(names) => histograms.named(names)?,
            Fit::Counted(classes) => histograms.among(classes)?,
            Fit::Same => histograms,
        };
        self.tell_classes(histograms.classes(), histograms.class_names(), &known);
        self.check_labels(&labels, histograms.as_slice().len(), histograms.classes())?;
        Ok((histograms, Some(labels)))
    }

    /// Reads the votes, or their counts where those are given, and the histograms of either.
    pub(crate) fn load_either(
        &self,
    ) -> Result<(Option<Votes>, Histograms, Option<Labels>), Failure> {
        if self.counts {
            let (histograms, labels) = self.load_histograms()?;
            return Ok((None, histograms, labels));
        }
        let (votes, labels) = self.load()?;
        let histograms = Histograms::from(&votes);
        Ok((Some(votes), histograms, labels))
    }

    fn options(&self) -> Result<ReadOptions, Failure> {
        if self.votes == Path::new("-") && self.labels.as_deref() == Some(Path::new("-")) {
            return Err(Failure::bad_input(
                "--votes and --labels are both `-`; standard input is read once, so give one of \
                 them as a file",
            ));
        }
        Ok(ReadOptions {
            classes: self.classes,
            names: self.class_names.clone(),
            ignored: self.ignore_columns.clone().unwrap_or_default(),
        })
    }

    /// The labels, and the names they bring. Columns to leave out are those of the votes.
    fn read_labels(
        &self,
        options: &ReadOptions,
        names: Option<&ClassNames>,
    ) -> Result<Option<(Labels, Option<ClassNames>)>, Failure> {
        let Some(path) = &self.labels else { return Ok(None) };
        // That they are classes of the votes is checked below, where more classes may be had.
        let options = ReadOptions { names: options.names.clone(), ..ReadOptions::default() };
        let read = shield_data::understand_labels(path, &options)?;
        let is_note = |warning: &&Warning| warning.severity() == Severity::Note;
        tell(path, &read.warnings.iter().filter(is_note).cloned().collect::<Vec<_>>());
        let (labels, found) = read.value;
        if found.is_none() && names.is_some() && labels.as_slice().iter().flatten().next().is_some()
        {
            return Err(Failure::bad_input(format!(
                "{}: the labels are numbers and the votes are class names; use the same in both, \
                 or give --class-names",
                path.display()
            )));
        }
        Ok(Some((labels, found)))
    }

    /// Labels in the classes of the votes, or what the votes' classes must become.
    fn fit(
        &self,
        labels: Labels,
        names: Option<ClassNames>,
        votes: Option<&ClassNames>,
        classes: Classes,
    ) -> Result<(Labels, Fit), Failure> {
        match (names, votes) {
            (None, _) => {
                let largest = labels.as_slice().iter().flatten().max();
                match largest.filter(|&&class| !classes.contains(class)) {
                    Some(class) if self.classes.is_none() => {
                        let fit = Fit::Counted(Classes::new(class.index() + 1)?);
                        Ok((labels, fit))
                    }
                    _ => Ok((labels, Fit::Same)),
                }
            }
            (Some(names), Some(votes)) if &names == votes => Ok((labels, Fit::Same)),
            (Some(names), Some(votes)) => {
                let all = names.as_slice().iter().chain(votes.as_slice()).cloned();
                let all: std::collections::BTreeSet<String> = all.collect();
                let all = ClassNames::new(all)?;
                Ok((labels.named(&names, &all)?, Fit::Named(all)))
            }
            (Some(_), None) => Err(Failure::bad_input(format!(
                "{}: the labels are class names and the votes are numbers; use the same in both, \
                 or give --class-names",
                self.labels.as_deref().unwrap_or(Path::new("-")).display()
            ))),
        }
    }

    fn check_labels(
        &self,
        labels: &Labels,
        samples: usize,
        classes: Classes,
    ) -> Result<(), Failure> {
        let path = self.labels.as_deref().unwrap_or(Path::new("-"));
        labels
            .check(samples, classes)
            .map_err(|error| Failure::bad_input(format!("{}: {error}", path.display())))
    }

    fn tell_classes(&self, classes: Classes, names: Option<&ClassNames>, said: &[Warning]) {
        let said = said.iter().any(|warning| matches!(warning, Warning::Names { .. }));
        if self.classes.is_none() && names.is_none() && !self.counts && !said {
            console::warn(&format!(
                "took {classes} classes from the largest vote; give --classes if there are more"
            ));
        }
    }
}

/// Reads the histograms of votes, and labels that fit them.
pub(crate) fn read_histograms(
    votes: &Path,
    labels: Option<&Path>,
) -> Result<(Histograms, Option<Labels>), Failure> {
    let args = VotesArgs {
        votes: votes.to_owned(),
        labels: labels.map(Path::to_owned),
        classes: None,
        class_names: None,
        ignore_columns: None,
        counts: false,
    };
    args.load_histograms()
}

/// What the votes' classes must become for the labels to be among them.
enum Fit {
    Same,
    Counted(Classes),
    Named(ClassNames),
}

/// Says how a file was understood, and what looks wrong with it.
pub(crate) fn tell(path: &Path, warnings: &[Warning]) {
    let name = match path.to_str() {
        Some("-") => "standard input".to_owned(),
        _ => path.display().to_string(),
    };
    for warning in warnings {
        let text = format!("{name}: {warning}");
        match warning.severity() {
            Severity::Note => console::note(&text),
            Severity::Suspicious => console::warn(&text),
        }
    }
}
