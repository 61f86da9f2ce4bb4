//! `verify`: an auditor computes everything again; a teacher finds its ballot.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use shield_protocol::hex::unhex;
use shield_protocol::job::verify::{Evidence, verify};
use shield_protocol::{ElectionFile, Progress, Receipt, Transcript};

use super::Output;
use crate::console;
use crate::failure::Failure;
use crate::inputs::{ElectionArgs, on_threads};

/// Check a finished election: every byte of its results, or that your ballot was counted
#[derive(Args, Debug)]
#[command(after_help = "Example for an auditor, who must not see the labels:\n  \
        shield fetch evidence --invitation operator.toml --election ward-7 --out evidence\n  \
    shield verify --election evidence/election.toml --evaluation-key evidence/evaluation.key \
        --ballots evidence/ballots --seed evidence/seed --results evidence/results.bin\n\n\
    Teacher:\n  shield verify --election ward-7.toml --receipt amber.ballot.receipt --transcript \
        results.bin.transcript.toml\n\n\
    Exit code 1 if something does not agree.")]
pub(super) struct VerifyArgs {
    #[command(flatten)]
    election: ElectionArgs,

    /// The student's evaluation key
    #[arg(long, value_name = "FILE", requires_all = ["ballots", "seed", "results"])]
    evaluation_key: Option<PathBuf>,

    /// Folder of all ballots
    #[arg(long, value_name = "FOLDER", requires = "evaluation_key")]
    ballots: Option<PathBuf>,

    /// The server's part of the seed
    #[arg(long, value_name = "FILE", requires = "evaluation_key")]
    seed: Option<PathBuf>,

    /// What the student got
    #[arg(long, value_name = "FILE", requires = "evaluation_key")]
    results: Option<PathBuf>,

    /// The commitment that was known before the first ballot, as hexadecimal digits
    #[arg(long, value_name = "HEX")]
    commitment: Option<String>,

    /// A teacher's receipt
    #[arg(long, value_name = "FILE", requires = "transcript")]
    receipt: Option<PathBuf>,

    /// A teacher's ballot, where there is no receipt
    #[arg(long, value_name = "FILE", requires = "transcript", conflicts_with = "receipt")]
    ballot: Option<PathBuf>,

    /// What the server published with the results
    #[arg(long, value_name = "FILE")]
    transcript: Option<PathBuf>,

    /// Number of threads [default: all cores]
    #[arg(long, value_name = "T")]
    threads: Option<usize>,
}

pub(super) fn run(args: &VerifyArgs, output: Output) -> Result<(), Failure> {
    let file = args.election.load()?;
    let commitment = match args.commitment.as_deref().map(unhex::<32>) {
        Some(None) => {
            return Err(Failure::bad_input("--commitment needs 64 hexadecimal digits"));
        }
        given => given.flatten(),
    };
    if let (Some(evaluation_key), Some(ballots), Some(seed), Some(results)) =
        (&args.evaluation_key, &args.ballots, &args.seed, &args.results)
    {
        let file = &file;
        let evidence = Evidence { file, evaluation_key, ballots, seed, results, commitment };
        return recompute(evidence, args.threads, output);
    }
    let (Some(transcript), true) =
        (&args.transcript, args.receipt.is_some() || args.ballot.is_some())
    else {
        return Err(Failure::bad_input(
            "give --evaluation-key, --ballots, --seed and --results to check everything, or \
             --transcript with --receipt or --ballot to find one ballot",
        ));
    };
    find(args, &file, transcript, commitment, output)
}

fn recompute(
    evidence: Evidence<'_>,
    threads: Option<usize>,
    output: Output,
) -> Result<(), Failure> {
    let verified = on_threads(threads, |_| {
        let bar = console::progress(1, "checking ballots");
        let verified = verify(evidence, &|progress| match progress {
            Progress::Checked { of } => {
                bar.set_length(of as u64);
                bar.inc(1);
            }
            Progress::Aggregated { done, of } => {
                bar.set_message("computing again");
                bar.set_length(of as u64);
                bar.set_position(done as u64);
            }
        });
        bar.finish_and_clear();
        verified
    })??;
    let transcript = &verified.transcript;
    if evidence.commitment.is_none() {
        console::note(
            "Without --commitment nobody knows whether the server's part of the seed was fixed \
             before the first ballot: compare the one below with what the parties were told.",
        );
    }
    match output {
        Output::Json => console::print_json(&json!({
            "agrees": true,
            "election": evidence.file.name(),
            "ballots": transcript.ballots.len(),
            "releases": verified.releases,
            "audits": transcript.rounds.len(),
            "commitment": transcript.commitment,
        })),
        Output::Tables => console::print(&console::properties(&[
            ("election", evidence.file.name().to_string()),
            (
                "ballots",
                format!("{} of {}", transcript.ballots.len(), evidence.file.teachers().len()),
            ),
            ("releases", format!("{} computed again, the same bytes", verified.releases)),
            ("audits", transcript.rounds.len().to_string()),
            ("commitment", transcript.commitment.clone()),
        ])),
    }
}

fn find(
    args: &VerifyArgs,
    file: &ElectionFile,
    transcript: &Path,
    commitment: Option<[u8; 32]>,
    output: Output,
) -> Result<(), Failure> {
    let published = Transcript::read(transcript, file)?;
    let mut receipt = match (&args.receipt, &args.ballot) {
        (Some(receipt), _) => Receipt::read(receipt)?,
        (None, Some(ballot)) => Receipt::of_ballot(file, ballot)?,
        (None, None) => return Err(Failure::bad_input("give --receipt or --ballot")),
    };
    if let Some(commitment) = commitment {
        receipt.commitment = Some(shield_protocol::hex::hex(&commitment));
    }
    receipt.check(&published).map_err(|reason| {
        Failure::failed(format!("{reason}; tell the other parties, and ask the server why"))
    })?;
    let excluded = published.excluded(published.rounds.len());
    let accused = excluded.contains(&&receipt.teacher);
    match output {
        Output::Json => console::print_json(&json!({
            "counted": true,
            "teacher": receipt.teacher,
            "ballot": receipt.ballot,
            "accused": accused,
            "voted": published.ballots.len(),
        })),
        Output::Tables => {
            let counted = if accused {
                "yes, but an audit says that it is no vote, and left it out of the spoiled samples"
            } else {
                "yes"
            };
            console::print(&console::properties(&[
                ("teacher", receipt.teacher.to_string()),
                ("counted", counted.to_owned()),
                ("ballot", receipt.ballot.clone()),
                ("ballots in all", published.ballots.len().to_string()),
            ]))
        }
    }
}
