//! Everything that could go wrong later, looked at now.

use std::fs;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use shield_core::framing::{Header, Kind};

use shield_protocol::hex::hex;
use shield_protocol::messages::Status;
use shield_protocol::private;

use crate::http::{Client, ClientError};
use crate::invitation::Invitation;
use crate::requests;

/// How a check came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Nothing to do.
    Fine,
    /// It will work, but somebody should look at it.
    Warning,
    /// It will not work.
    Wrong,
}

/// One check.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    /// What was looked at.
    pub subject: &'static str,
    /// How it came out.
    pub verdict: Verdict,
    /// What was found, and what to do about it.
    pub finding: String,
}

/// What to compare with the server.
#[derive(Clone, Copy, Debug, Default)]
pub struct Own<'a> {
    /// The party's copy of the election file.
    pub election: Option<&'a Path>,
    /// The party's copy of a key, public, evaluation or secret.
    pub key: Option<&'a Path>,
    /// The folder that files will be written to.
    pub folder: Option<&'a Path>,
}

/// A clock that is off by more than this makes deadlines come as a surprise.
const CLOCK_TOLERANCE: i64 = 60;

struct Report(Vec<Check>);

impl Report {
    fn add(&mut self, subject: &'static str, verdict: Verdict, finding: impl Into<String>) {
        self.0.push(Check { subject, verdict, finding: finding.into() });
    }

    fn fine(&mut self, subject: &'static str, finding: impl Into<String>) {
        self.add(subject, Verdict::Fine, finding);
    }

    fn wrong(&mut self, subject: &'static str, finding: impl Into<String>) {
        self.add(subject, Verdict::Wrong, finding);
    }
}

/// Runs all checks that make sense for an invitation; goes on after what is wrong.
pub fn preflight(path: &Path, invitation: &Invitation, own: Own) -> Vec<Check> {
    let mut report = Report(Vec::new());
    check_invitation(&mut report, path, invitation);
    check_disk(&mut report, own.folder.unwrap_or(Path::new(".")));
    let client = match Client::new(invitation) {
        Ok(client) => client.with_patience(Duration::from_secs(5)),
        Err(error) => {
            report.wrong("certificate", error.to_string());
            return report.0;
        }
    };
    match client.get_bytes("/healthz", 1024) {
        Ok(_) => {
            report.fine("server", format!("{} is up", invitation.server));
            if invitation.server.starts_with("https://") {
                report.fine(
                    "certificate",
                    if invitation.certificate.is_some() {
                        "the authority in the invitation has signed it, for this address"
                    } else {
                        "an authority that this machine trusts has signed it, for this address"
                    },
                );
            } else {
                let finding = "plain HTTP, which stays on this machine; others need https://";
                report.add("certificate", Verdict::Warning, finding);
            }
        }
        Err(error) => {
            report.wrong("server", error.to_string());
            return report.0;
        }
    }
    match client.get::<Value>("/v1/whoami") {
        Ok(answer) => check_answer(&mut report, invitation, &answer),
        Err(error) => {
            let finding = match error {
                ClientError::Refused { status: 401, .. } => {
                    "the server does not know it; ask the operator for a new invitation".to_owned()
                }
                other => other.to_string(),
            };
            report.wrong("token", finding);
            return report.0;
        }
    }
    if let Some(election) = &invitation.election {
        match requests::status(&client, election) {
            Ok(status) => check_election(&mut report, &status, own),
            Err(error) => report.wrong("election", error.to_string()),
        }
    }
    report.0
}

fn check_invitation(report: &mut Report, path: &Path, invitation: &Invitation) {
    if private::is_open_to_others(path).unwrap_or(false) {
        let finding =
            format!("others on this machine can read it; run: chmod 600 {}", path.display());
        report.add("invitation", Verdict::Warning, finding);
        return;
    }
    report.fine("invitation", format!("the {}'s, private", invitation.role));
}

fn check_disk(report: &mut Report, folder: &Path) {
    const ROOM: u64 = 1 << 30;
    let subject = "disk";
    match rustix::fs::statvfs(folder) {
        Ok(disk) => {
            let free = disk.f_bavail.saturating_mul(disk.f_frsize);
            let finding = format!("{:.1} GiB free", free as f64 / f64::from(1 << 30));
            if free < ROOM {
                report.add(
                    subject,
                    Verdict::Warning,
                    format!("only {finding}; make room for at least 1 GiB"),
                );
            } else {
                report.fine(subject, finding);
            }
        }
        Err(error) => report.wrong(subject, format!("{}: {error}", folder.display())),
    }
}

fn check_answer(report: &mut Report, invitation: &Invitation, answer: &Value) {
    let text = |key: &str| answer.get(key).and_then(Value::as_str).unwrap_or("?").to_owned();
    let role = text("role");
    if role == invitation.role {
        report.fine("token", format!("accepted, as {role}"));
    } else {
        let expected = &invitation.role;
        let what = format!(
            "the server takes it for a {role}'s, the invitation says {expected}; ask the operator \
             for a new one"
        );
        report.wrong("token", what);
    }
    let (own, theirs) = (env!("CARGO_PKG_VERSION"), text("version"));
    let format = answer.get("format").and_then(Value::as_u64);
    if format != Some(u64::from(shield_core::framing::VERSION)) {
        let what = format!(
            "the server is {theirs}, this is {own}, and their files differ; use the same release"
        );
        report.wrong("version", what);
    } else if own == theirs {
        report.fine("version", format!("{own} on both sides"));
    } else {
        let finding = format!("the server is {theirs}, this is {own}; their files are the same");
        report.add("version", Verdict::Warning, finding);
    }
    match text("time").parse::<Timestamp>() {
        Ok(theirs) => {
            let apart = theirs.as_second() - Timestamp::now().as_second();
            if apart.abs() <= CLOCK_TOLERANCE {
                report.fine("clock", format!("{} s apart from the server's", apart.abs()));
            } else {
                let finding =
                    format!("{} s apart from the server's; set one of them by NTP", apart.abs());
                report.add("clock", Verdict::Warning, finding);
            }
        }
        Err(_) => report.wrong("clock", "the server does not tell its time"),
    }
}

fn check_election(report: &mut Report, status: &Status, own: Own) {
    let subject = "election";
    let overdue = status.deadline.is_some_and(|deadline| deadline <= Timestamp::now());
    match status.stage.as_str() {
        "open" if overdue => report.wrong(subject, "its deadline has passed"),
        "open" => report.fine(subject, format!("{} is open", status.name)),
        "awaiting-keys" => {
            let finding = "it waits for the student's keys: `shield election submit` them";
            report.add(subject, Verdict::Warning, finding);
        }
        stage => report.add(subject, Verdict::Warning, format!("{} is {stage}", status.name)),
    }
    if let Some(path) = own.election {
        match shield_protocol::read_election(path) {
            Ok(file) if hex(&file.digest()) == status.digest => {
                report.fine("election file", "the same as the server's");
            }
            Ok(_) => report.wrong(
                "election file",
                "not the server's; get that with `shield election fetch election`",
            ),
            Err(error) => report.wrong("election file", error.to_string()),
        }
    }
    if let Some(path) = own.key {
        let header = fs::read(path)
            .map_err(|error| error.to_string())
            .and_then(|bytes| Header::read(&bytes).map_err(|error| error.to_string()));
        match (header, &status.key_id) {
            (Ok(header), _) if matches!(header.kind, Kind::Ballot | Kind::Release) => {
                report.wrong("key", format!("{} is a {}, not a key", path.display(), header.kind));
            }
            (Ok(_), None) => {
                report.add("key", Verdict::Warning, "the server has no keys yet to compare with");
            }
            (Ok(header), Some(id)) if hex(header.key.as_bytes()) == *id => {
                report.fine("key", format!("belongs to the server's keys {}", header.key));
            }
            (Ok(header), Some(_)) => report.wrong(
                "key",
                format!(
                    "it belongs to other keys ({}); `shield election fetch public-key` gets the \
                     right one",
                    header.key
                ),
            ),
            (Err(error), _) => report.wrong("key", format!("{}: {error}", path.display())),
        }
    }
}
