//! `audit`: whose ballot is no vote, and the spoiled samples once more without it.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use shield_client as client;
use shield_core::Delta;
use shield_protocol::job::verify::Released;
use shield_protocol::ledger::{Accountant, Cost};
use shield_protocol::{Inputs, Name, PlannedElection, audit};

use super::Output;
use super::aggregate::voters_document;
use crate::console::{self, Report};
use crate::failure::Failure;
use crate::inputs::{ElectionArgs, InvitationArgs};

/// After an alarm: find ballots that are no votes, and leave them out
#[derive(Args, Debug)]
#[command(
    after_help = "Example with a server, the student alone:\n  shield audit online --invitation \
        student.toml --secret-key keys/secret.key --results results.bin\n  \
    shield election fetch results --invitation student.toml --out results-2.bin\n\n\
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
            let spoiled = question.samples();
            Report::default()
                .said("spoiled", spoiled, "spoiled", format!("{spoiled} samples"))
                .file("written", "written to", &args.out)
                .print(output)
        }
        Step::Check(args) => {
            let file = args.server.election.load()?;
            let (question, out) = (&args.question, &args.out);
            let asked = console::watched("checking ballots", |watch| {
                let (inputs, released) = args.server.with(&file);
                audit::check(&inputs, &released, question, out, watch)
            })?;
            let audited = asked.samples();
            Report::default()
                .said("audited", audited, "audited", format!("{audited} samples"))
                .file("written", "written to", out)
                .print(output)
        }
        Step::Answer(args) => {
            let file = args.election.load()?;
            let StudentArgs { secret_key, results } = &args.student;
            let answer = audit::answer(&file, secret_key, results, &args.audit, &args.out)?;
            Report::default()
                .said("accused", &answer.accused, "accused", names(&answer.accused))
                .file("written", "written to", &args.out)
                .print(output)
        }
        Step::Again(args) => again(args, output),
    }
}

impl ServerArgs {
    fn with<'a>(&'a self, file: &'a PlannedElection) -> (Inputs<'a>, Released) {
        let released = Released::new(&self.results, self.seed.as_deref());
        (Inputs::new(file, &self.evaluation_key, &self.ballots), released)
    }
}

fn online(args: &OnlineArgs, output: Output) -> Result<(), Failure> {
    let (client, invitation) = args.invitation.client()?;
    let election = args.invitation.election(&invitation)?;
    let StudentArgs { secret_key, results } = &args.student;
    let audited = console::watched("waiting for the server's audit", |_| {
        client::audit(&client, &election, secret_key, results)
    })?;
    console::note(
        "Those teachers were left out. Fetch the results anew, into another file: `shield \
         election fetch results`.",
    );
    let again = format!("{} samples, without them", audited.samples);
    Report::default()
        .fact("election", "election", &election)
        .said("accused", &audited.accused, "their ballots are no votes", names(&audited.accused))
        .said("samples", audited.samples, "aggregated again", again)
        .print(output)
}

fn again(args: &AgainArgs, output: Output) -> Result<(), Failure> {
    let file = args.server.election.load()?;
    let repaired = console::watched("checking ballots", |watch| {
        let (inputs, released) = args.server.with(&file);
        audit::again(&inputs, &released, &args.answer, &args.out, watch)
    })?;
    let delta = Delta::default();
    let samples: u64 = repaired.voters.iter().map(|&(_, samples)| samples).sum();
    let cost = Cost::new(&file, repaired.voters.clone());
    let epsilon = console::watched("proving the privacy figure", |_| {
        Accountant::default().total(&[cost], delta)
    });
    console::note(
        "These samples are paid for again: nobody but the student knows that they had no label. \
         Give the results to the student.",
    );
    let privacy = format!("epsilon {epsilon:.4} more, delta {:e}", delta.get());
    Report::default()
        .fact("election", "election", file.name())
        .said("accused", &repaired.accused, "left out", names(&repaired.accused))
        .said("samples", samples, "aggregated again", format!("{samples} samples"))
        .key("voters", voters_document(&repaired.voters))
        .key("delta", delta)
        .said("epsilon", epsilon, "privacy", privacy)
        .file("results", "results", &args.out)
        .print(output)
}

fn names(names: &[Name]) -> String {
    names.iter().map(Name::as_str).collect::<Vec<_>>().join(", ")
}
