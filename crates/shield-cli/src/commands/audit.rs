//! `audit`: whose ballot is no vote, and the spoiled samples once more without it.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::json;
use shield::Delta;
use shield_client as client;
use shield_protocol::{Name, Progress, audit};
use shield_server::ledger::{Accountant, Cost};

use super::Output;
use crate::console;
use crate::failure::Failure;
use crate::inputs::{ElectionArgs, InvitationArgs, on_threads};

/// After an alarm: name the teachers whose ballots are no votes, and aggregate without them
#[derive(Args, Debug)]
#[command(
    after_help = "Example with a server, the student alone:\n  shield audit online --invitation \
        student.toml --secret-key keys/secret.key --results results.bin\n  \
    shield fetch results --invitation student.toml --out results-2.bin\n\n\
    Over files, in turn:\n  \
    shield audit ask    --election ward-7.toml --secret-key keys/secret.key --results results.bin \
        --out question.toml      # student\n  \
    shield audit check  --election ward-7.toml --evaluation-key evaluation.key --ballots ballots \
        --results results.bin --question question.toml --out audit.bin      # server\n  \
    shield audit answer --election ward-7.toml --secret-key keys/secret.key --results results.bin \
        --audit audit.bin --out answer.toml      # student\n  \
    shield audit again  --election ward-7.toml --evaluation-key evaluation.key --ballots ballots \
        --results results.bin --answer answer.toml --out results-2.bin      # server\n\n\
    The student's answer is one bit per teacher. A server that does not follow the protocol could \
    ask for another bit instead; so the student answers only about samples that raised an alarm, \
    once, and not if more than a third of the voters would be accused."
)]
pub(super) struct AuditArgs {
    #[command(subcommand)]
    step: Step,
}

#[derive(Subcommand, Debug)]
enum Step {
    /// Student, with a server: ask, read, answer, and wait until all is aggregated again
    Online(OnlineArgs),
    /// Student: write down which samples were spoiled
    Ask(AskArgs),
    /// Server: compute the check of every teacher alone on those samples
    Check(CheckArgs),
    /// Student: read the checks, and name the teachers
    Answer(AnswerArgs),
    /// Server: aggregate those samples again, without those teachers
    Again(AgainArgs),
}

#[derive(Args, Debug)]
struct OnlineArgs {
    #[command(flatten)]
    invitation: InvitationArgs,

    #[command(flatten)]
    student: StudentArgs,
}

/// What the student has.
#[derive(Args, Debug)]
struct StudentArgs {
    /// The student's secret key
    #[arg(long, value_name = "FILE")]
    secret_key: PathBuf,

    /// The results with the spoiled samples
    #[arg(long, value_name = "FILE")]
    results: PathBuf,
}

#[derive(Args, Debug)]
struct AskArgs {
    #[command(flatten)]
    election: ElectionArgs,

    #[command(flatten)]
    student: StudentArgs,

    /// Where to write the question for the server
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

/// What the server has.
#[derive(Args, Debug)]
struct ServerArgs {
    #[command(flatten)]
    election: ElectionArgs,

    /// The student's evaluation key
    #[arg(long, value_name = "FILE")]
    evaluation_key: PathBuf,

    /// Folder of the ballots that were aggregated
    #[arg(long, value_name = "FOLDER")]
    ballots: PathBuf,

    /// The results with the spoiled samples
    #[arg(long, value_name = "FILE")]
    results: PathBuf,

    /// The server's part of the seed [default: beside the results; in a job: JOB/seed]
    #[arg(long, value_name = "FILE")]
    seed: Option<PathBuf>,

    /// Number of threads [default: all cores]
    #[arg(long, value_name = "T")]
    threads: Option<usize>,
}

#[derive(Args, Debug)]
struct CheckArgs {
    #[command(flatten)]
    server: ServerArgs,

    /// The student's question
    #[arg(long, value_name = "FILE")]
    question: PathBuf,

    /// Where to write the audit for the student
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

#[derive(Args, Debug)]
struct AnswerArgs {
    #[command(flatten)]
    election: ElectionArgs,

    #[command(flatten)]
    student: StudentArgs,

    /// What the server computed
    #[arg(long, value_name = "FILE")]
    audit: PathBuf,

    /// Where to write the answer for the server
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

#[derive(Args, Debug)]
struct AgainArgs {
    #[command(flatten)]
    server: ServerArgs,

    /// The student's answer
    #[arg(long, value_name = "FILE")]
    answer: PathBuf,

    /// Where to write all results, those samples among them; their seed is stored beside them
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

pub(super) fn run(args: &AuditArgs, output: Output) -> Result<(), Failure> {
    match &args.step {
        Step::Online(args) => online(args, output),
        Step::Ask(args) => {
            let file = args.election.load()?;
            let StudentArgs { secret_key, results } = &args.student;
            let question = audit::ask(&file, secret_key, results, &args.out)?;
            written(&args.out, ("spoiled", question.samples().into()), output)
        }
        Step::Check(args) => {
            let file = args.server.election.load()?;
            let (question, out) = (&args.question, &args.out);
            let asked = on_threads(args.server.threads, |_| {
                let bar = console::progress(1, "checking ballots");
                let asked = audit::check(args.server.with(&file), question, out, &shown(&bar));
                bar.finish_and_clear();
                asked
            })??;
            written(out, ("audited", asked.samples().into()), output)
        }
        Step::Answer(args) => {
            let file = args.election.load()?;
            let StudentArgs { secret_key, results } = &args.student;
            let answer = audit::answer(&file, secret_key, results, &args.audit, &args.out)?;
            written(&args.out, ("accused", json!(answer.accused)), output)
        }
        Step::Again(args) => again(args, output),
    }
}

impl ServerArgs {
    fn with<'a>(&'a self, file: &'a shield_protocol::ElectionFile) -> audit::Server<'a> {
        audit::Server {
            file,
            evaluation_key: &self.evaluation_key,
            ballots: &self.ballots,
            results: &self.results,
            seed: self.seed.as_deref(),
        }
    }
}

/// Progress as a bar.
fn shown(bar: &indicatif::ProgressBar) -> impl Fn(Progress) + Sync + '_ {
    |progress| match progress {
        Progress::Checked { of } => {
            bar.set_length(of as u64);
            bar.inc(1);
        }
        Progress::Aggregated { done, of } => {
            bar.set_message("computing");
            bar.set_length(of as u64);
            bar.set_position(done as u64);
        }
    }
}

fn online(args: &OnlineArgs, output: Output) -> Result<(), Failure> {
    let (client, invitation) = args.invitation.client()?;
    let election = args.invitation.election(&invitation)?;
    let StudentArgs { secret_key, results } = &args.student;
    let spinner = console::spinner("waiting for the server's audit");
    let audited = client::audit(&client, &election, secret_key, results, |_| {});
    spinner.finish_and_clear();
    let audited = audited?;
    console::note(
        "Those teachers were left out. Fetch the results anew, into another file: `shield fetch \
         results`.",
    );
    match output {
        Output::Json => console::print_json(&json!({
            "election": election,
            "accused": audited.accused,
            "samples": audited.samples,
        })),
        Output::Tables => console::print(&console::properties(&[
            ("election", election.to_string()),
            ("their ballots are no votes", names(&audited.accused)),
            ("aggregated again", format!("{} samples, without them", audited.samples)),
        ])),
    }
}

fn again(args: &AgainArgs, output: Output) -> Result<(), Failure> {
    let file = args.server.election.load()?;
    let repaired = on_threads(args.server.threads, |_| {
        let bar = console::progress(1, "checking ballots");
        let repaired = audit::again(args.server.with(&file), &args.answer, &args.out, &shown(&bar));
        bar.finish_and_clear();
        repaired
    })??;
    let delta = Delta::default();
    let samples: u64 = repaired.voters.iter().map(|&(_, samples)| samples).sum();
    let spinner = console::spinner("proving the privacy figure");
    let epsilon = Accountant::default().total(&[Cost::new(&file, repaired.voters.clone())], delta);
    spinner.finish_and_clear();
    console::note(
        "These samples are paid for again: nobody but the student knows that they had no label. \
         Give the results to the student.",
    );
    match output {
        Output::Json => console::print_json(&json!({
            "election": file.name(),
            "accused": repaired.accused,
            "samples": samples,
            "voters": repaired.voters.iter()
                .map(|(voters, samples)| json!({"voters": voters, "samples": samples}))
                .collect::<Vec<_>>(),
            "delta": delta,
            "epsilon": epsilon,
            "results": args.out.display().to_string(),
        })),
        Output::Tables => console::print(&console::properties(&[
            ("election", file.name().to_string()),
            ("left out", names(&repaired.accused)),
            ("aggregated again", format!("{samples} samples")),
            ("privacy", format!("epsilon {epsilon:.4} more, delta {:e}", delta.get())),
            ("results", args.out.display().to_string()),
        ])),
    }
}

fn names(names: &[Name]) -> String {
    names.iter().map(Name::as_str).collect::<Vec<_>>().join(", ")
}

/// A file for the other party, and what it says.
fn written(
    path: &Path,
    (key, value): (&'static str, serde_json::Value),
    output: Output,
) -> Result<(), Failure> {
    let file = path.display().to_string();
    match output {
        Output::Json => console::print_json(&json!({ "written": file, key: value })),
        Output::Tables => {
            let value = match value {
                serde_json::Value::Array(names) => {
                    names.iter().filter_map(|name| name.as_str()).collect::<Vec<_>>().join(", ")
                }
                number => format!("{number} samples"),
            };
            console::print(&console::properties(&[(key, value), ("written to", file)]))
        }
    }
}
