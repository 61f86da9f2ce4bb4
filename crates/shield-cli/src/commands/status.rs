//! `status`: where an election stands, once or live; without a name, where all of them do.

use std::io::IsTerminal;
use std::path::Path;
use std::time::Duration;

use clap::Args;
use jiff::Timestamp;
use serde_json::json;
use shield_client::{self as client, Client, Invitation};
use shield_core::Epsilon;
use shield_core::Watch;
use shield_protocol::messages::Status;

use super::Output;
use crate::console;
use crate::failure::Failure;
use crate::inputs::InvitationArgs;

/// Show where an election stands, or all of them, and what to do next
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  shield election status --invitation invitations/student.toml \
    --watch\n  shield election status --invitation operator.toml\n  \
    shield election status --invitation operator.toml --election ward-7 --missing"
)]
pub(super) struct StatusArgs {
    #[command(flatten)]
    invitation: InvitationArgs,

    /// Keep watching until the results are out
    #[arg(long)]
    watch: bool,

    /// Print the names of those who have not voted, one per line, and nothing else (operator,
    /// student)
    #[arg(long, conflicts_with = "watch")]
    missing: bool,
}

pub(super) fn run(args: &StatusArgs, output: Output) -> Result<(), Failure> {
    let (client, invitation) = args.invitation.client()?;
    if invitation.role == "operator" && !args.invitation.names_one() && !args.watch && !args.missing
    {
        return list(&client, output);
    }
    let election = args.invitation.election(&invitation)?;
    let mut status = client::status(&client, &election)?;
    if args.watch {
        status = console::watched("waiting", |watch| -> Result<Status, Failure> {
            let mut said = String::new();
            while !is_over(&status) {
                let line = show(watch, &status);
                // Where no bar can be seen, every change is a line.
                if !std::io::stderr().is_terminal() && line != said {
                    console::note(&line);
                    said = line;
                }
                std::thread::sleep(Duration::from_secs(1));
                status = client::status(&client, &election)?;
            }
            Ok(status)
        })?;
    }
    if args.missing {
        let Some(missing) = &status.missing else {
            return Err(Failure::bad_input("only operator and student see who has not voted"));
        };
        let lines: String = missing.iter().flat_map(|name| [name.as_str(), "\n"]).collect();
        return console::show(output, &json!({ "missing": missing }), &lines);
    }
    console::show(output, &status, &describe(&status))?;
    console::next(output, &next(&status, &invitation, &args.invitation.invitation));
    match (&status.problem, args.watch) {
        (Some(problem), true) => Err(Failure::failed(format!("the aggregation failed: {problem}"))),
        _ => Ok(()),
    }
}

/// All elections, one per line.
fn list(client: &Client, output: Output) -> Result<(), Failure> {
    let statuses = client::statuses(client)?;
    if output == Output::Json {
        return console::print_json(&json!({ "elections": statuses }));
    }
    if statuses.is_empty() {
        console::next(output, "shield election submit --invitation operator.toml election.toml");
        return console::print("there are no elections yet\n");
    }
    let row = |status: &Status| {
        vec![
            status.name.clone(),
            status.stage.clone(),
            format!("{} of {}", status.voted, status.teachers),
            status.quorum.to_string(),
            status.deadline.map_or("none".to_owned(), |deadline| deadline.to_string()),
            epsilon(status).map_or("none".to_owned(), |epsilon| format!("{epsilon:.3}")),
        ]
    };
    let header = ["election", "stage", "voted", "quorum", "deadline", "epsilon"];
    console::print(&console::table(&header, statuses.iter().map(row)))?;
    console::next(output, "--election NAME shows one of them; --missing prints who has not voted");
    Ok(())
}

/// What the bearer of an invitation does next.
pub(super) fn next(status: &Status, invitation: &Invitation, file: &Path) -> String {
    let (file, name) = (file.display(), &status.name);
    let is_overdue = status.deadline.is_some_and(|deadline| deadline <= Timestamp::now());
    let has_quorum = status.voted >= status.quorum as usize;
    let for_operator =
        if invitation.role == "operator" { format!(" --election {name}") } else { String::new() };
    match (invitation.role.as_str(), status.stage.as_str()) {
        ("student", "awaiting-keys") => format!(
            "shield election fetch election --invitation {file} --out election.toml, then shield \
             keygen --election election.toml --out keys, then shield election submit --invitation \
             {file} keys/public.key keys/evaluation.key"
        ),
        ("teacher", "awaiting-keys") => {
            "nothing yet: the student has not sent its keys; try again later".to_owned()
        }
        (_, "awaiting-keys") => "wait for the student's keys".to_owned(),
        ("teacher", "open") if status.ballot_digest().is_some() => {
            "nothing: your ballot counts when the election is closed".to_owned()
        }
        ("teacher", "open") if is_overdue => {
            "nothing: the deadline has passed, and no ballot is taken any more".to_owned()
        }
        ("teacher", "open") => {
            format!("shield vote --invitation {file} --votes my-votes.csv")
        }
        ("student" | "operator", "open") if has_quorum => {
            format!(
                "wait for more ballots, or shield election close --invitation {file}{for_operator}"
            )
        }
        ("operator", "open") if is_overdue => format!(
            "too few have voted before the deadline: shield election close --withdraw --invitation \
             {file}{for_operator} calls the election off"
        ),
        (_, "open") => "wait for more ballots".to_owned(),
        ("student" | "operator", "closing") => {
            format!("shield election status --invitation {file}{for_operator} --watch")
        }
        ("student", "released") => {
            format!("shield election fetch results --invitation {file} --out results.bin")
        }
        (_, "released") => "nothing: the student can read the labels".to_owned(),
        ("student" | "operator", "failed") => format!(
            "once the problem is solved, shield election close --invitation {file}{for_operator} \
             goes on with the same ballots and draws"
        ),
        (_, "withdrawn") => "nothing: it was called off, and costs nothing".to_owned(),
        _ => "nothing: wait for the results".to_owned(),
    }
}

fn is_over(status: &Status) -> bool {
    matches!(status.stage.as_str(), "released" | "failed" | "withdrawn")
}

fn show(watch: &Watch, status: &Status) -> String {
    let (what, done, all) = match status.stage.as_str() {
        "closing" => ("aggregating", status.released_batches, status.batches),
        "open" => ("voting", status.voted, status.teachers),
        // Nothing that could be counted.
        stage => return format!("{stage}: waiting for the student's keys"),
    };
    watch.begin(what, all as u64);
    watch.add(done as u64);
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
    let few = |names: &[String]| {
        let shown = names.iter().take(20).cloned().collect::<Vec<_>>().join(", ");
        let more = names.len().saturating_sub(20);
        if more > 0 { format!("{shown} and {more} more") } else { shown }
    };
    if let Some(voters) = status.voters.as_ref().filter(|voters| !voters.is_empty()) {
        rows.push(("", few(voters)));
    }
    if let Some(missing) = status.missing.as_ref().filter(|missing| !missing.is_empty()) {
        rows.push(("missing", few(missing)));
    }
    if let Some(submitted) = &status.submitted {
        let own = match (status.ballot_digest(), submitted.len()) {
            (Some(digest), _) => format!("your ballot is in, digest {digest}"),
            (None, 0) => "not in yet".to_owned(),
            (None, parts) => {
                format!("{parts} of {} parts are in: run the same command again", status.batches)
            }
        };
        rows.push(("your ballot", own));
    }
    rows.push(("aggregated", format!("{} of {} batches", status.released_batches, status.batches)));
    if let Some(deadline) = status.deadline {
        rows.push(("deadline", deadline.to_string()));
    }
    if epsilon(status).is_some() {
        rows.push(("epsilon", cost(status)));
    }
    if let Some(problem) = &status.problem {
        rows.push(("problem", problem.clone()));
    }
    console::properties(&rows)
}

/// What an election costs, in words.
pub(super) fn cost(status: &Status) -> String {
    let Some(epsilon) = epsilon(status) else { return "nothing: it was called off".to_owned() };
    let spent = matches!(status.stage.as_str(), "closing" | "released" | "failed");
    let kind = if spent { "spent" } else { "set aside" };
    format!("{epsilon:.3} {kind} (data-independent, delta {})", status.delta)
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

    fn status(changes: &Value) -> Status {
        let mut status = json!({
            "name": "ward-7", "group": "wards", "stage": "open", "digest": "", "key_id": null,
            "samples": 6, "batches": 2, "released_batches": 0, "teachers": 5, "voted": 0,
            "voters": null, "quorum": 4, "deadline": null, "created": "2027-03-01T12:00:00Z",
            "closed": null, "problem": null, "epsilon": 1.0, "delta": 1e-5, "rehearsed": true,
            "audits": [],
            "submitted": null,
        });
        for (key, value) in changes.as_object().unwrap() {
            status[key] = value.clone();
        }
        serde_json::from_value(status).unwrap()
    }

    fn described(changes: &Value) -> String {
        describe(&status(changes))
    }

    /// Before the keys were there, every ten seconds a line once said ": 0 of 1".
    #[test]
    fn nothing_is_counted_before_anybody_can_vote() {
        use std::sync::{Arc, Mutex};
        let heard = Arc::new(Mutex::new(Vec::new()));
        let hearing = Arc::clone(&heard);
        let watch = Watch::new(move |now| {
            hearing.lock().unwrap().push((now.stage.clone(), now.of));
            std::ops::ControlFlow::Continue(())
        });
        let waiting = show(&watch, &status(&json!({ "stage": "awaiting-keys" })));
        assert!(waiting.contains("waiting for the student's keys"), "{waiting}");
        assert!(heard.lock().unwrap().is_empty());
        assert_eq!(show(&watch, &status(&json!({ "voted": 2 }))), "open: voting 2/5");
        assert!(heard.lock().unwrap().contains(&("voting".to_owned(), 5)));
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
    fn a_teacher_sees_its_ballot_and_what_comes_next() {
        let part = |batch: u32| json!({ "batch": batch, "hash": format!("{batch}f").repeat(32) });
        for (submitted, shown) in [
            (json!([]), "not in yet"),
            (json!([part(0)]), "1 of 2 parts are in"),
            (json!([part(0), part(1)]), "your ballot is in, digest "),
        ] {
            let text = described(&json!({ "submitted": submitted }));
            assert!(text.contains(shown), "{text}");
        }
        let (first, second) = (json!([part(0), part(1)]), json!([part(1), part(0)]));
        let digest = |submitted: &Value| status(&json!({ "submitted": submitted })).ballot_digest();
        assert_eq!(digest(&first), digest(&second), "the order of arrival does not matter");
        let receipt = "ab".repeat(32);
        let known = status(&json!({ "submitted": first, "receipt": receipt }));
        assert_eq!(known.ballot_digest(), Some(receipt), "the receipt's name for it counts");

        let token = "shield_".to_owned() + &"0".repeat(64);
        let role = shield_protocol::credentials::Role::Teacher {
            election: "ward-7".parse().unwrap(),
            teacher: 0,
        };
        let invitation = Invitation::new("https://a", &role, None, None, token.parse().unwrap());
        let next = |changes: Value| next(&status(&changes), &invitation, Path::new("a.toml"));
        assert!(next(json!({ "submitted": [] })).contains("shield vote --invitation a.toml"));
        assert!(next(json!({ "submitted": first })).starts_with("nothing"));
        assert!(next(json!({ "stage": "awaiting-keys" })).contains("keys"));
        let late = json!({ "deadline": "2020-03-01T12:00:00Z" });
        assert!(next(late).contains("deadline has passed"));
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
