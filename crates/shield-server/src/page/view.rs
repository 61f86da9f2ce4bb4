//! What the page shows, and how.

use std::sync::Arc;
use std::time::Duration;

use askama::Template;
use askama::filters::HtmlSafe;
use jiff::Timestamp;
use shield_core::Epsilon;
use shield_protocol::ElectionFile;
use shield_protocol::credentials::Role;
use shield_protocol::messages::Status;

use super::history::History;
use crate::account::Account;
use crate::problem::Problem;
use crate::service::{Incident, Service};
use crate::store::{Stage, Turn};
use crate::tokens::Known;

/// How many elections that are over are shown.
const PAST: usize = 40;

/// How close a deadline is when those who have not voted are late, in seconds.
const LATE: i64 = 2 * 86_400;

/// Everything on the page, at one moment.
#[derive(Default)]
pub(super) struct View {
    pub(super) elections: Vec<Election>,
    /// How many more are over.
    pub(super) older: usize,
    pub(super) accounts: Vec<Account>,
    pub(super) incidents: Vec<Incident>,
    pub(super) tokens: Vec<Known>,
    /// Why something is missing.
    pub(super) alarm: Option<String>,
}

pub(super) struct Election {
    pub(super) status: Status,
    pub(super) stage: Stage,
    pub(super) file: Arc<ElectionFile>,
    /// Its place among those that are aggregated.
    pub(super) turn: Turn,
}

/// How many elections are shown unfolded; more are rows of a table.
const UNFOLDED: usize = 8;

impl View {
    pub(super) async fn read(service: &Service) -> Self {
        let mut view = Self { incidents: service.incidents(), ..Self::default() };
        if !*service.database.borrow() {
            view.alarm = Some("The database does not answer; nobody waits for it.".to_owned());
            return view;
        }
        if let Err(problem) = view.read_store(service).await {
            let place = "The database or the data folder does not answer";
            view.alarm = Some(format!("{place}: {}.", problem.detail()));
        }
        view
    }

    async fn read_store(&mut self, service: &Service) -> Result<(), Problem> {
        let mut over = 0;
        for election in service.store.elections().await? {
            if matches!(election.stage, Stage::Released | Stage::Withdrawn) {
                over += 1;
                if over > PAST {
                    self.older += 1;
                    continue;
                }
            }
            let status = service.status(&election, &Role::Operator).await?;
            let turn = service.store.turn(election.file.name()).await?;
            let (stage, file) = (election.stage, election.file);
            self.elections.push(Election { status, stage, file, turn });
        }
        // What may need somebody comes first; the newest first among its like.
        self.elections.sort_by_key(|election| match election.stage {
            Stage::Failed => 0,
            Stage::Closing => 1,
            Stage::Open => 2,
            Stage::AwaitingKeys => 3,
            Stage::Released => 4,
            Stage::Withdrawn => 5,
        });
        self.accounts = service.accounts().await?;
        self.tokens = service.tokens(500).await?;
        Ok(())
    }

    /// Whether there are so many elections that each is one row.
    fn is_long(&self) -> bool {
        self.elections.len() > UNFOLDED
    }

    /// Whether all of an election is shown at once.
    fn unfolds(&self, election: &Election) -> bool {
        !self.is_long() || election.stage == Stage::Failed
    }
}

/// The page's body.
#[derive(Template)]
#[template(path = "dashboard.html")]
pub(super) struct Dashboard<'a> {
    pub(super) view: &'a View,
    pub(super) uptime: Duration,
    pub(super) now: Timestamp,
    /// The server's own certificate, as PEM, if invitations must carry it.
    pub(super) certificate: &'a str,
    /// The calculator, as HTML.
    pub(super) calculator: String,
}

impl Dashboard<'_> {
    fn up(&self) -> String {
        span(self.uptime)
    }

    fn time(&self, moment: &Timestamp) -> Time {
        Time { moment: *moment, now: self.now }
    }
}

impl Election {
    /// The mechanism and the engine, as people read them.
    fn mechanism(&self) -> String {
        self.file.spec().to_string()
    }

    /// The share of its teachers who have voted.
    fn share(&self) -> f64 {
        self.status.voted as f64 / self.status.teachers.max(1) as f64
    }

    fn voters(&self) -> &[String] {
        self.status.voters.as_deref().unwrap_or_default()
    }

    /// Who has not voted.
    fn missing(&self) -> &[String] {
        self.status.missing.as_deref().unwrap_or_default()
    }

    fn epsilon(&self) -> Option<Epsilon> {
        self.status.epsilon.and_then(|epsilon| Epsilon::new(epsilon).ok())
    }

    /// Whether the deadline is close and somebody has not voted.
    fn is_late(&self, now: Timestamp) -> bool {
        let close = |deadline: Timestamp| deadline.duration_since(now).as_secs() < LATE;
        self.status.deadline.is_some_and(close) && !self.missing().is_empty()
    }

    fn stage_text(&self) -> &'static str {
        match self.stage {
            Stage::AwaitingKeys => "Waiting for keys",
            Stage::Open => "Taking ballots",
            Stage::Closing => "Aggregating",
            Stage::Released => "Released",
            Stage::Failed => "Failed",
            Stage::Withdrawn => "Called off",
        }
    }

    /// What to know or do, if anything, and how it is shown.
    fn notice(&self, now: &Timestamp) -> Option<(&'static str, String)> {
        let overdue = self.status.deadline.is_some_and(|deadline| deadline <= *now);
        let text = match (self.stage, &self.status.problem) {
            (Stage::Failed, Some(problem)) => {
                let again = "Closing it again goes on with the same ballots and draws.";
                return Some(("notice bad", format!("{problem}. {again}")));
            }
            (Stage::AwaitingKeys, _) if overdue => {
                "The deadline has passed and the student has sent no keys. Call it off, and set a \
                 later one."
            }
            (Stage::AwaitingKeys, _) => "Waiting for the student's keys; then teachers can vote.",
            (Stage::Open, _) if overdue => {
                "The deadline has passed without a quorum on every sample. No ballot is taken any \
                 more: call it off."
            }
            (Stage::Open, _) if self.is_late(*now) => {
                let late = self.missing().len();
                let have = if late == 1 { "teacher has" } else { "teachers have" };
                return Some((
                    "notice",
                    format!("The deadline is close, and {late} {have} not voted."),
                ));
            }
            _ => return None,
        };
        Some(("notice", text.to_owned()))
    }
}

/// How much of a whole: `full` of it strongly, up to `part` faintly, with a mark at `tick`. An SVG,
/// for its attributes may say how wide a thing is where the policy forbids styles to.
#[derive(Template)]
#[template(path = "bar.html")]
struct Bar {
    label: String,
    whole: f64,
    full: f64,
    part: f64,
    tick: Option<f64>,
}

impl HtmlSafe for Bar {}

impl Bar {
    fn votes(status: &Status) -> Self {
        let Status { voted, teachers, quorum, .. } = status;
        Self {
            label: format!("{voted} of {teachers} teachers have voted, the quorum is {quorum}"),
            whole: *teachers as f64,
            full: *voted as f64,
            part: 0.0,
            tick: Some(f64::from(*quorum)),
        }
    }

    fn batches(status: &Status) -> Self {
        let Status { released_batches, batches, .. } = status;
        Self {
            label: format!("{released_batches} of {batches} batches are aggregated"),
            whole: *batches as f64,
            full: *released_batches as f64,
            part: 0.0,
            tick: None,
        }
    }

    fn spending(account: &Account) -> Self {
        let Account { spent, reserved, budget, .. } = account;
        Self {
            label: format!(
                "epsilon {spent:.3} spent, {reserved:.3} with what is set aside, of {budget}"
            ),
            whole: *budget,
            full: spent.get(),
            part: reserved.get(),
            tick: None,
        }
    }

    fn percent(&self, amount: f64) -> f64 {
        let share = 100.0 * amount / self.whole;
        if share.is_nan() { 0.0 } else { share.clamp(0.0, 100.0) }
    }
}

/// A moment, and how far it is from now.
#[derive(Template)]
#[template(path = "time.html")]
struct Time {
    moment: Timestamp,
    now: Timestamp,
}

impl HtmlSafe for Time {}

impl Time {
    fn distance(&self) -> String {
        let distance = self.now.duration_since(self.moment);
        let apart = span(distance.unsigned_abs());
        match (distance.is_negative(), distance.as_secs().abs() < 60) {
            (_, true) => "now".to_owned(),
            (true, _) => format!("in {apart}"),
            (false, _) => format!("{apart} ago"),
        }
    }
}

/// A duration, as exactly as it matters.
fn span(duration: Duration) -> String {
    let minutes = duration.as_secs() / 60;
    match minutes {
        0 => "under a minute".to_owned(),
        1..60 => format!("{minutes} min"),
        60..1440 => format!("{} h {} min", minutes / 60, minutes % 60),
        1440..14_400 => format!("{} d {} h", minutes / 1440, minutes % 1440 / 60),
        14_400..1_051_200 => format!("{} d", minutes / 1440),
        _ => format!("{} years", minutes / 525_600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_short_to_read() {
        let span = |seconds| super::span(Duration::from_secs(seconds));
        assert_eq!(span(59), "under a minute");
        assert_eq!(span(60), "1 min");
        assert_eq!(span(3 * 3600 + 61), "3 h 1 min");
        assert_eq!(span(9 * 86400 + 7200), "9 d 2 h");
        assert_eq!(span(300 * 86400 + 7200), "300 d");
        assert_eq!(span(3 * 366 * 86400), "3 years");
        let now: Timestamp = "2027-03-01T12:00:00Z".parse().unwrap();
        let time = |text: &str| Time { moment: text.parse().unwrap(), now }.to_string();
        assert!(time("2027-03-01T11:59:01Z").contains(">now<"));
        assert!(time("2027-03-01T11:58:00Z").contains("2 min ago"));
        assert!(time("2027-03-01T12:05:00Z").contains("in 5 min"));
    }

    #[test]
    fn bars_stay_within_their_bounds() {
        let bar = |whole: f64, full: f64| {
            Bar { label: String::new(), whole, full, part: 0.0, tick: Some(whole) }.to_string()
        };
        assert!(bar(4.0, 1.0).contains("class=\"full\" width=\"25.00\""));
        assert!(bar(4.0, f64::INFINITY).contains("class=\"full\" width=\"100.00\""));
        assert!(bar(0.0, 0.0).contains("class=\"full\" width=\"0.00\""));
        assert!(bar(4.0, 1.0).contains("x=\"99.30\""));
    }
}
