//! `experiment`: the paper's experiment, from teachers to students, with every mechanism on the
//! same votes.

mod figures;
mod table;

use std::io::Write;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use clap::{Args, Subcommand};
use indicatif::ProgressBar;
use shield::files::write_atomically;
use shield_learn::experiment::{self, Progress, Scope, Study};
use shield_learn::student::Variant;

use super::Output;
use super::learn::VariantName;
use super::teach::ProfileName;
use crate::console;
use crate::failure::Failure;
use crate::inputs::on_threads;

/// The paper's experiment: teachers, private labels by every mechanism, students
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    shield experiment mnist --data mnist/package/data --out results\n  \
    shield experiment glyphs --fonts /usr/share/fonts --out glyphs\n  \
    shield experiment fashion --data usr/share/datasets/fashion-mnist --out fashion\n  \
    shield experiment digits --out try-it\n\n\
    What is finished is kept in the folder: run the same command again to go on after an \
    interruption.")]
pub(super) struct ExperimentArgs {
    #[command(subcommand)]
    subject: Subject,
}

#[derive(Debug, Subcommand)]
enum Subject {
    /// On MNIST, as in the paper
    Mnist(MnistArgs),
    /// On 150 characters, drawn from the fonts of a folder
    Glyphs(GlyphsArgs),
    /// On Fashion-MNIST: ten kinds of clothes
    Fashion(FashionArgs),
    /// On digits drawn by ourselves: a minute, and nothing to download
    Digits(CommonArgs),
}

#[derive(Args, Debug)]
struct MnistArgs {
    /// Folder with the four files of MNIST
    #[arg(long, value_name = "FOLDER")]
    data: PathBuf,

    /// What the teachers are like
    #[arg(long, value_enum, default_value_t = ProfileName::Paper)]
    profile: ProfileName,

    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Args, Debug)]
struct GlyphsArgs {
    /// Folder with TrueType and OpenType files, in subfolders, too
    #[arg(long, value_name = "FOLDER")]
    fonts: PathBuf,

    /// Number of teachers, each with typefaces of its own; with fewer than 100 everything is small
    #[arg(long, value_name = "N", default_value_t = 500)]
    teachers: usize,

    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Args, Debug)]
struct FashionArgs {
    /// Folder with the four files of Fashion-MNIST, compressed or not
    #[arg(long, value_name = "FOLDER")]
    data: PathBuf,

    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Args, Debug)]
struct CommonArgs {
    /// Where results go, and what is finished of them
    #[arg(long, value_name = "FOLDER", default_value = "experiment")]
    out: PathBuf,

    /// Students a row
    #[arg(long, value_name = "N", default_value_t = 10)]
    students: usize,

    /// How the students learn: one or more of strong, plain, supervised, shapes [default: strong;
    /// shapes for glyphs and fashion]
    #[arg(long, value_name = "NAME,...", value_enum, value_delimiter = ',')]
    variants: Vec<VariantName>,

    /// Only the rows whose names begin so: exact, paper, tuned, lnmax, gnmax, noisy, tuned-2 ...
    /// [default: all]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    rows: Vec<String>,

    /// Take these votes on the public images instead of training teachers
    #[arg(long, value_name = "FILE")]
    votes: Option<PathBuf>,

    /// Decides teachers, splits, draws and first weights: the labels of an experiment can be
    /// repeated, so they are not private
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,

    /// Number of threads [default: all cores]
    #[arg(long, value_name = "T")]
    threads: Option<usize>,
}

impl CommonArgs {
    fn scope(&self, study: &Study) -> Scope {
        let given: Vec<Variant> = self.variants.iter().map(|&name| name.into()).collect();
        Scope {
            students: self.students,
            variants: if given.is_empty() { vec![study.variant()] } else { given },
            rows: self.rows.clone(),
            votes: self.votes.clone(),
            seed: self.seed,
        }
    }
}

pub(super) fn run(args: &ExperimentArgs, output: Output) -> Result<(), Failure> {
    let (study, common) = match &args.subject {
        Subject::Mnist(args) => {
            let name = match args.profile {
                ProfileName::Paper => "paper",
                ProfileName::Pate => "pate",
            };
            (Study::mnist(&args.data, name, args.profile.into())?, &args.common)
        }
        Subject::Glyphs(args) => (Study::glyphs(&args.fonts, args.teachers)?, &args.common),
        Subject::Fashion(args) => (Study::fashion(&args.data)?, &args.common),
        Subject::Digits(common) => (Study::digits()?, common),
    };
    if common.students == 0 {
        return Err(Failure::bad_input("--students is 0; give 1 or more"));
    }
    let bars = Bars(Mutex::new(ProgressBar::hidden()));
    let findings = on_threads(common.threads, |_| {
        experiment::run(&study, &common.scope(&study), &common.out, &bars)
    })??;
    bars.clear();
    let table = table::table(&findings.results);
    let path = common.out.join("results.txt");
    write_atomically(&path, |file| file.write_all(table.as_bytes())).map_err(|error| {
        Failure::failed(format!("{}: cannot write it: {error}", path.display()))
    })?;
    figures::draw(&common.out, &findings)?;
    match output {
        Output::Json => console::print_json(&findings.results),
        Output::Tables => {
            console::print(&table)?;
            console::note(&format!("table, JSON and figures: {}", common.out.display()));
            Ok(())
        }
    }
}

/// One progress bar per stage, one after the other.
struct Bars(Mutex<ProgressBar>);

impl Bars {
    fn bar(&self) -> MutexGuard<'_, ProgressBar> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn clear(&self) {
        self.bar().finish_and_clear();
    }
}

impl Progress for Bars {
    fn stage(&self, name: &'static str, steps: u64) {
        let mut bar = self.bar();
        bar.finish_and_clear();
        *bar = console::progress(steps, name);
    }

    fn step(&self, steps: u64) {
        self.bar().inc(steps);
    }
}
