//! `status`: where an election stands, once or live.

use std::io::IsTerminal;
use std::time::Duration;

use clap::Args;
use indicatif::ProgressBar;
use shield_service::client;
use shield_service::server::Status;

use super::Output;
use crate::console;
use crate::failure::Failure;
use crate::inputs::InvitationArgs;

/// Show where an election stands
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  shield status --invitation invitations/student.toml --watch")]
pub(super) struct StatusArgs {
    #[command(flatten)]
    invitation: InvitationArgs,

    /// Keep watching until the results are out
    #[arg(long)]
    watch: bool,
}

pub(super) fn run(args: &StatusArgs, output: Output) -> Result<(), Failure> {
    let (client, invitation) = args.invitation.client()?;
    let election = args.invitation.election(&invitation)?;
    let mut status = client::status(&client, &election)?;
    if args.watch {
        let bar = console::progress(1, "");
        let mut said = String::new();
        while !is_over(&status) {
            let line = show(&bar, &status);
            // Where no bar can be seen, every change is a line.
            if !std::io::stderr().is_terminal() && line != said {
                console::note(&line);
                said = line;
            }
            std::thread::sleep(Duration::from_secs(1));
            status = client::status(&client, &election)?;
        }
        bar.finish_and_clear();
    }
    match output {
        Output::Json => console::print_json(&status),
        Output::Tables => console::print(&describe(&status)),
    }?;
    match (&status.problem, args.watch) {
        (Some(problem), true) => Err(Failure::failed(format!("the aggregation failed: {problem}"))),
        _ => Ok(()),
    }
}

fn is_over(status: &Status) -> bool {
    matches!(status.stage.as_str(), "released" | "failed" | "withdrawn")
}

fn show(bar: &ProgressBar, status: &Status) -> String {
    let (what, done, all) = match status.stage.as_str() {
        "closing" => ("aggregating", status.released_batches, status.batches),
        "open" => ("voting", status.voted, status.teachers),
        _ => ("waiting", 0, 1),
    };
    bar.set_message(what);
    bar.set_length(all as u64);
    bar.set_position(done as u64);
    format!("{}: {what} {done}/{all}", status.stage)
}

/// An election in a few lines.
pub(super) fn describe(status: &Status) -> String {
    let mut rows = vec![
        ("election", format!("{} (group {})", status.name, status.group)),
        ("stage", status.stage.clone()),
        ("keys", status.key_id.as_ref().map_or("none yet".to_owned(), |id| id[..16].to_owned())),
        (
            "voted",
            format!("{} of {} teachers, quorum {}", status.voted, status.teachers, status.quorum),
        ),
    ];
    if let Some(voters) = status.voters.as_ref().filter(|voters| !voters.is_empty()) {
        let shown = voters.iter().take(20).cloned().collect::<Vec<_>>().join(", ");
        let more = voters.len().saturating_sub(20);
        rows.push(("", if more > 0 { format!("{shown} and {more} more") } else { shown }));
    }
    rows.push(("aggregated", format!("{} of {} batches", status.released_batches, status.batches)));
    if let Some(deadline) = status.deadline {
        rows.push(("deadline", deadline.to_string()));
    }
    let spent = matches!(status.stage.as_str(), "closing" | "released" | "failed");
    let epsilon = status.epsilon.map_or("inf".to_owned(), |epsilon| format!("{epsilon:.3}"));
    rows.push((
        "epsilon",
        format!(
            "{epsilon} {} (data-independent, delta {})",
            if spent { "spent" } else { "set aside" },
            status.delta
        ),
    ));
    if let Some(problem) = &status.problem {
        rows.push(("problem", problem.clone()));
    }
    console::properties(&rows)
}
