//! `experiment`: the paper's experiment, from teachers to students, with every mechanism on the
//! same votes.
//!
//! | file | holds |
//! |---|---|
//! | [`study`] | what is studied: images, teachers, sizes, the space of polynomials |
//! | [`rows`] | the mechanisms, their accuracy and their cost |
//! | [`students`] | the labels that each student gets, and what it learns from them |
//! | [`folder`] | what is finished, so that a second run goes on |
//! | [`report`], [`curves`], [`figures`] | tables, JSON and figures |

mod curves;
mod figures;
mod folder;
mod report;
mod rows;
mod students;
mod study;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use shield::{Histogram, Label, Votes, files};
use shield_learn::student::Variant;
use shield_learn::teachers::teach;

use super::Output;
use super::learn::VariantName;
use super::teach::ProfileName;
use crate::console;
use crate::failure::Failure;
use crate::inputs::on_threads;
use folder::Folder;
use rows::{Analysis, Row, Tuning};
use students::{Labelled, Mark};
use study::Study;

/// The paper's experiment: teachers, private labels by every mechanism, students
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    shield experiment mnist --data mnist/package/data --out results\n  \
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
struct CommonArgs {
    /// Where results go, and what is finished of them
    #[arg(long, value_name = "FOLDER", default_value = "experiment")]
    out: PathBuf,

    /// Students a row
    #[arg(long, value_name = "N", default_value_t = 10)]
    students: usize,

    /// How the students learn: one or more of strong, plain, supervised
    #[arg(
        long,
        value_name = "NAME,...",
        value_enum,
        value_delimiter = ',',
        default_value = "strong"
    )]
    variants: Vec<VariantName>,

    /// Only the rows whose names begin so: exact, paper, tuned, lnmax, gnmax, tuned-2 ... [default:
    /// all]
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

/// All that an experiment found out.
struct Findings {
    votes: Votes,
    tuning: Tuning,
    rows: Vec<(Row, Analysis)>,
    /// For each row, the labels of each student.
    labels: Vec<Vec<Labelled>>,
    /// For each row, the accuracies of each student, by variant.
    marks: Vec<Vec<Mark>>,
}

pub(super) fn run(args: &ExperimentArgs, output: Output) -> Result<(), Failure> {
    let (study, common) = match &args.subject {
        Subject::Mnist(args) => (Study::mnist(&args.data, args.profile)?, &args.common),
        Subject::Digits(common) => (Study::digits()?, common),
    };
    if common.students == 0 {
        return Err(Failure::bad_input("--students is 0; give 1 or more"));
    }
    let results = on_threads(common.threads, |threads| study_all(&study, common, threads))??;
    match output {
        Output::Json => console::print_json(&results),
        Output::Tables => {
            console::print(&results.table())?;
            console::note(&format!("table, JSON and figures: {}", common.out.display()));
            Ok(())
        }
    }
}

/// All stages, and their results in the folder.
fn study_all(study: &Study, args: &CommonArgs, threads: usize) -> Result<report::Results, Failure> {
    let given = args.votes.as_deref().map(|path| study.read_votes(path)).transpose()?;
    let folder = Folder::open(&args.out, &study.settings(args.seed, given.as_ref()))?;
    let findings = find_out(study, args, given, &folder, threads)?;
    let results = report::Results::new(study, args.seed, &findings);
    folder.write("results.json", &results)?;
    folder.write_text("results.txt", &results.table())?;
    illustrate(study, &findings, &results, &folder)?;
    Ok(results)
}

/// The figures, and what they need besides the rows.
fn illustrate(
    study: &Study,
    findings: &Findings,
    results: &report::Results,
    folder: &Folder,
) -> Result<(), Failure> {
    let histograms: Vec<Histogram> = findings.votes.histograms().collect();
    let fronts = curves::paper_fronts(study, &histograms, folder)?;
    let curves = curves::curves(study, &findings.tuning, &histograms, &study.truth()?, folder)?;
    figures::draw(folder, &fronts, &curves, results)
}

/// Every stage, each taken up where an earlier run left it.
fn find_out(
    study: &Study,
    args: &CommonArgs,
    given: Option<Votes>,
    folder: &Folder,
    threads: usize,
) -> Result<Findings, Failure> {
    let votes = match given {
        Some(votes) => votes,
        None => trained(study, args.seed, folder)?,
    };
    let truth = study.truth()?;
    let histograms: Vec<Histogram> = votes.histograms().collect();

    let tuning = folder.unit_or("tuning", || {
        let bar = console::progress(study.tuning.search(study.usage).work(), "tuning");
        let tuning = study.tuning.tune(&votes, study.queries, study.usage, &|done| bar.inc(done));
        bar.finish_and_clear();
        tuning
    })?;
    let all = rows::rows(&tuning.chosen, study.usage)?;
    let known = |name: &String| all.iter().any(|row| row.key.starts_with(name.as_str()));
    if let Some(unknown) = args.rows.iter().find(|name| !known(name)) {
        let keys: Vec<&str> = all.iter().map(|row| row.key.as_str()).collect();
        return Err(Failure::bad_input(format!(
            "--rows {unknown}: there is no such row; the rows are {}",
            keys.join(", ")
        )));
    }
    let wanted = |row: &Row| {
        args.rows.is_empty() || args.rows.iter().any(|name| row.key.starts_with(name.as_str()))
    };

    // A row's place among all rows decides its draws, so the choice of rows changes no label.
    let rows: Vec<(usize, Row)> =
        all.into_iter().enumerate().filter(|(_, row)| wanted(row)).collect();
    let bar = console::progress(rows.len() as u64, "accounting");
    let mut analysed = Vec::new();
    for (_, row) in &rows {
        let analysis = folder.unit_or(&format!("{}.analysis", row.key), || {
            Ok(row.analyse(&votes, &histograms, &truth, study.usage))
        })?;
        analysed.push((row.clone(), analysis));
        bar.inc(1);
    }
    bar.finish_and_clear();

    let splits = (0..args.students)
        .map(|student| study.split(args.seed, student))
        .collect::<Result<Vec<_>, _>>()?;
    let classes = students::Class { study, votes: &votes, truth: &truth, seed: args.seed, splits };
    let labels = classes.label(&rows, folder, threads)?;
    let variants: Vec<Variant> = args.variants.iter().map(|&name| name.into()).collect();
    let marks = classes.learn(&rows, &labels, &variants, folder)?;
    Ok(Findings { votes, tuning, rows: analysed, labels, marks })
}

/// The votes of teachers trained here, now or by an earlier run.
fn trained(study: &Study, seed: u64, folder: &Folder) -> Result<Votes, Failure> {
    let path = folder.path("votes.npy.gz");
    if path.exists() {
        return study.read_votes(&path);
    }
    let bar = console::progress(study.teachers as u64, "teaching");
    let votes =
        teach(&study.profile, &study.training, &study.public.images, study.teachers, seed, || {
            bar.inc(1);
        })
        .map_err(Failure::bad_input)?;
    bar.finish_and_clear();
    files::write_votes(&path, &votes).map_err(Failure::failed)?;
    Ok(votes)
}

/// How many labels are right.
fn right(labels: &[Label], truth: &[Label]) -> usize {
    labels.iter().zip(truth).filter(|(label, truth)| label.is_some() && label == truth).count()
}

/// The name of a variant on the command line.
fn variant_name(variant: Variant) -> &'static str {
    match variant {
        Variant::Strong => "strong",
        Variant::Plain => "plain",
        Variant::Supervised => "supervised",
    }
}
