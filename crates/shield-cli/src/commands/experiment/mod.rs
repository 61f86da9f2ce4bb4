//! `experiment`: the paper's experiment, from teachers to students, with every mechanism on the
//! same votes.

mod figures;
mod table;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use shield_learn::experiment::{self, Scope, Study};
use shield_learn::student::Variant;
use shield_learn::teachers::Profile;

use super::Output;
use crate::console;
use crate::failure::Failure;
use crate::inputs::{learn_failed, write};

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
    #[arg(long, value_enum, default_value_t = Profile::Paper)]
    profile: Profile,

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
    variants: Vec<Variant>,

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
}

impl CommonArgs {
    fn scope(&self, study: &Study) -> Scope {
        let variants = self.variants.clone();
        Scope {
            students: self.students,
            variants: if variants.is_empty() { vec![study.variant()] } else { variants },
            rows: self.rows.clone(),
            votes: self.votes.clone(),
            seed: self.seed,
        }
    }
}

pub(super) fn run(args: &ExperimentArgs, output: Output) -> Result<(), Failure> {
    let (study, common) = match &args.subject {
        Subject::Mnist(args) => (Study::mnist(&args.data, args.profile), &args.common),
        Subject::Glyphs(args) => (Study::glyphs(&args.fonts, args.teachers), &args.common),
        Subject::Fashion(args) => (Study::fashion(&args.data), &args.common),
        Subject::Digits(common) => (Study::digits(), common),
    };
    let study = study.map_err(learn_failed)?;
    if common.students == 0 {
        return Err(Failure::bad_input("--students is 0; give 1 or more"));
    }
    let findings = console::watched("experiment", |watch| {
        experiment::run(&study, &common.scope(&study), &common.out, watch)
    });
    let findings = findings.map_err(learn_failed)?;
    let table = table::table(&findings.results);
    let path = common.out.join("results.txt");
    write(&path, table.as_bytes())?;
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
