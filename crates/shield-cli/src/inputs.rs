//! Arguments that several commands share, and what they become.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use rand::rngs::{OsRng, StdRng};
use rand::{SeedableRng, TryRngCore};
use shield::files::{IgnoredColumns, ReadOptions, Severity, Warning};
use shield::parameters::Noise;
use shield::privacy::Usage;
use shield::shared_noise::NoiseFamily;
use shield::shared_noise::SharedNoise;
use shield::{
    ClassNames, Classes, Delta, Histograms, Labels, Offset, Polynomial, Queries, Sampling, Setting,
    Votes, files,
};
use shield_client::{Client, Invitation};
use shield_protocol::{ElectionFile, Name};

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
        let read = files::understand_votes(&self.votes, &options)?;
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
            files::understand_counts(&self.votes, &options)?
        } else {
            files::understand_histograms(&self.votes, &options)?
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
        let read = files::understand_labels(path, &options)?;
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

/// The operator's setting.
#[derive(Args, Debug)]
pub(crate) struct MechanismArgs {
    /// Rounds of the operator: 2X^3+X is two rounds of three draws, then one of one
    #[arg(long, value_name = "P", default_value_t, allow_hyphen_values = true)]
    pub(crate) polynomial: Polynomial,

    /// Dummy votes for each class; 0 gives no privacy
    #[arg(long, value_name = "W", default_value_t, allow_negative_numbers = true)]
    pub(crate) offset: Offset,

    /// How a round draws: with-replacement or without-replacement
    #[arg(long, value_name = "RULE", default_value_t)]
    pub(crate) sampling: Sampling,
}

impl MechanismArgs {
    /// The mechanism.
    pub(crate) fn mechanism(&self) -> Setting {
        Setting {
            polynomial: self.polynomial.clone(),
            offset: self.offset,
            sampling: self.sampling,
        }
    }
}

/// Noise in votes where none is given.
const DEFAULT_NOISE: f64 = 40.0;

/// The mechanisms that run encrypted, by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum MechanismName {
    /// SHIELD
    #[default]
    Shield,
    /// SPEED's argmax, with noise that the teachers add in shares
    NoisyArgmax,
}

/// The noise of an argmax.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct NoiseArgs {
    /// Noise of a noisy argmax, in votes: the scale of Laplace noise, the standard deviation of
    /// Gaussian and of Skellam noise
    #[arg(long, value_name = "B", default_value_t = DEFAULT_NOISE)]
    pub(crate) noise: f64,

    /// The law of the noise in shares of a noisy-argmax: skellam or laplace [default: skellam
    /// with the engine bfv, else laplace]
    #[arg(long, value_name = "LAW")]
    pub(crate) noise_law: Option<NoiseFamily>,

    /// How many teachers may be missing from a noisy-argmax: the others' shares of the noise make
    /// up for theirs
    #[arg(long, value_name = "D", default_value_t = 0)]
    pub(crate) dropouts: u32,
}

impl NoiseArgs {
    /// Noise in shares, one per teacher, of the law that was asked for, else of this one.
    pub(crate) fn shared(
        self,
        teachers: u32,
        default: NoiseFamily,
    ) -> Result<SharedNoise, Failure> {
        let law = self.noise_law.unwrap_or(default);
        Ok(SharedNoise::of(law, Noise::new(self.noise)?, teachers, self.dropouts)?)
    }
}

/// What a privacy cost is stated for.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct UsageArgs {
    /// How many samples the student asks about
    #[arg(long, value_name = "Q", default_value_t = Queries::default())]
    pub(crate) queries: Queries,

    /// The failure probability of (epsilon, delta)-differential privacy
    #[arg(long, value_name = "D", default_value_t = Delta::default())]
    pub(crate) delta: Delta,
}

impl UsageArgs {
    /// Queries and delta.
    pub(crate) fn usage(self) -> Usage {
        Usage { queries: self.queries, delta: self.delta }
    }
}

/// What a privacy cost is stated for, where the samples are known.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct FileUsageArgs {
    /// How many samples the student asks about [default: as many as the file has]
    #[arg(long, value_name = "Q")]
    queries: Option<Queries>,

    /// The failure probability of (epsilon, delta)-differential privacy
    #[arg(long, value_name = "D", default_value_t = Delta::default())]
    delta: Delta,
}

impl FileUsageArgs {
    /// Queries and delta, for a file of that many samples.
    pub(crate) fn usage(self, samples: usize) -> Result<Usage, Failure> {
        let queries = match self.queries {
            Some(queries) => queries,
            None => Queries::new(samples as u64)?,
        };
        Ok(Usage { queries, delta: self.delta })
    }
}

/// What all parties agreed on.
#[derive(Args, Debug)]
pub(crate) struct ElectionArgs {
    /// The election file (TOML) that all parties have
    #[arg(long, value_name = "FILE")]
    pub(crate) election: PathBuf,
}

impl ElectionArgs {
    /// Reads the election file.
    pub(crate) fn load(&self) -> Result<ElectionFile, Failure> {
        read_election(&self.election)
    }
}

/// A fresh generator, seeded by the system.
pub(crate) fn system_rng() -> StdRng {
    StdRng::from_rng(&mut OsRng.unwrap_err())
}

/// More threads than any machine has cores only wait for each other, for hours.
const MAX_THREADS: usize = 1024;

/// Runs some work on that many threads; without a number, on all cores.
pub(crate) fn on_threads<T: Send>(
    threads: Option<usize>,
    work: impl FnOnce(usize) -> T + Send,
) -> Result<T, Failure> {
    if let Some(threads) = threads.filter(|threads| !(1..=MAX_THREADS).contains(threads)) {
        return Err(Failure::bad_input(format!(
            "--threads is {threads}; give 1 to {MAX_THREADS}, or leave it out for all cores"
        )));
    }
    let builder = rayon::ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0));
    let pool = builder.build().map_err(Failure::failed)?;
    Ok(pool.install(|| work(rayon::current_num_threads())))
}

/// How to reach a server, and as whom.
#[derive(Args, Debug)]
pub(crate) struct InvitationArgs {
    /// Your invitation: the server's address and your token. The token in SHIELD_TOKEN counts
    /// instead, if it is set
    #[arg(long, value_name = "FILE", env = "SHIELD_INVITATION")]
    pub(crate) invitation: PathBuf,

    /// The election, for the operator; others are invited to one
    #[arg(long, value_name = "NAME")]
    election: Option<Name>,
}

impl InvitationArgs {
    /// Reads the invitation and makes the client.
    pub(crate) fn client(&self) -> Result<(Client, Invitation), Failure> {
        let invitation = Invitation::read(&self.invitation)?;
        Ok((Client::new(&invitation)?, invitation))
    }

    /// Whether an election is named beside the invitation.
    pub(crate) fn names_one(&self) -> bool {
        self.election.is_some()
    }

    /// The election that is meant.
    pub(crate) fn election(&self, invitation: &Invitation) -> Result<Name, Failure> {
        Ok(shield_client::election_of(invitation, self.election.as_ref())?)
    }
}

/// Reads an election file.
pub(crate) fn read_election(path: &Path) -> Result<ElectionFile, Failure> {
    Ok(shield_protocol::read_election(path)?)
}
