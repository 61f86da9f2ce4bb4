//! `status`: where an election stands, once or live.

use std::io::IsTerminal;
use std::time::Duration;

use clap::Args;
use indicatif::ProgressBar;
use shield::Epsilon;
use shield_client as client;
use shield_protocol::messages::Status;

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
        ("keys", status.key_id.as_deref().map_or("none yet".to_owned(), key_name)),
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
    if let Some(epsilon) = epsilon(status) {
        let spent = matches!(status.stage.as_str(), "closing" | "released" | "failed");
        rows.push((
            "epsilon",
            format!(
                "{epsilon:.3} {} (data-independent, delta {})",
                if spent { "spent" } else { "set aside" },
                status.delta
            ),
        ));
    }
    if let Some(problem) = &status.problem {
        rows.push(("problem", problem.clone()));
    }
    console::properties(&rows)
}

/// Enough of a key's name to tell it from others.
fn key_name(id: &str) -> String {
    id.chars().take(16).collect()
}

/// What the election costs, unless it was called off and costs nothing. JSON knows no infinity: the
/// server leaves it out.
fn epsilon(status: &Status) -> Option<Epsilon> {
    let known = status.epsilon.map(|epsilon| Epsilon::new(epsilon).unwrap_or(Epsilon::INFINITE));
    match known {
        None if status.stage == "withdrawn" => None,
        None => Some(Epsilon::INFINITE),
        known => known,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn described(changes: &Value) -> String {
        let mut status = json!({
            "name": "ward-7", "group": "wards", "stage": "open", "digest": "", "key_id": null,
            "samples": 6,
            "batches": 1, "released_batches": 0, "teachers": 5, "voted": 0, "voters": null,
            "quorum": 4,
            "deadline": null, "created": "2027-03-01T12:00:00Z", "closed": null, "problem": null,
            "epsilon": 1.0, "delta": 1e-5, "submitted": null,
        });
        for (key, value) in changes.as_object().unwrap() {
            status[key] = value.clone();
        }
        describe(&serde_json::from_value(status).unwrap())
    }

    #[test]
    fn the_name_of_a_key_may_be_anything() {
        for (sent, shown) in [
            ("0123456789abcdef0123", "0123456789abcdef\n"),
            ("short", "short\n"),
            ("\u{e4}\u{f6}\u{fc}0123456789abcdef", "\u{e4}\u{f6}\u{fc}0123456789abc\n"),
            ("", "keys"),
        ] {
            let text = described(&json!({ "key_id": sent }));
            assert!(text.contains(shown), "{sent}: {text}");
        }
    }

    #[test]
    fn the_cost_is_rounded_up_and_an_election_called_off_has_none() {
        let cases = [
            (json!({ "epsilon": 1.0001 }), "1.001 set aside"),
            (json!({ "epsilon": 1.0001, "stage": "released" }), "1.001 spent"),
            (json!({ "epsilon": null }), "inf set aside"),
            (json!({ "epsilon": -1.0 }), "inf set aside"),
        ];
        for (changes, shown) in cases {
            let text = described(&changes);
            assert!(text.contains(shown), "{changes}: {text}");
        }
        let text = described(&json!({ "epsilon": null, "stage": "withdrawn" }));
        assert!(!text.contains("epsilon") && !text.contains("inf"), "{text}");
    }
}
