//! What the page shows, and how.

use std::fmt::Display;
use std::time::Duration;

use jiff::Timestamp;
use shield::Epsilon;
use shield_protocol::credentials::Role;
use shield_protocol::messages::Status;

use super::markup::{Markup, Template};
use super::{Shape, calculator, history};
use crate::ledger::{Account, Entry};
use crate::problem::Problem;
use crate::service::{Incident, Service};
use crate::store::{Stage, StoredToken};

const DASHBOARD: &str = include_str!("dashboard.html");
const ELECTION: &str = include_str!("election.html");
const ACCOUNT: &str = include_str!("account.html");

/// What the calculator starts with.
const SHAPE: Shape = Shape { teachers: 250, classes: 10, queries: 100 };

/// How many elections that are over are shown.
const PAST: usize = 40;

/// How many names are shown of those who have voted, and of those who have not.
const NAMES: usize = 500;

/// Everything on the page, at one moment.
#[derive(Default)]
pub(super) struct View {
    pub(super) elections: Vec<Election>,
    /// How many more are over.
    pub(super) older: usize,
    pub(super) accounts: Vec<Account>,
    pub(super) incidents: Vec<Incident>,
    pub(super) tokens: Vec<StoredToken>,
    /// Why something is missing.
    pub(super) alarm: Option<String>,
}

pub(super) struct Election {
    pub(super) status: Status,
    pub(super) stage: Stage,
    /// Who has not voted.
    pub(super) missing: Vec<String>,
}

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
            let voted = status.voters.as_deref().unwrap_or_default();
            let voted: std::collections::HashSet<&str> = voted.iter().map(String::as_str).collect();
            let teachers = election.file.teachers().iter();
            let missing = teachers.filter(|teacher| !voted.contains(teacher.as_str()));
            let missing = missing.map(ToString::to_string).collect();
            self.elections.push(Election { status, stage: election.stage, missing });
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
        self.tokens = service.store.first_tokens(500).await?;
        Ok(())
    }

    /// The page's body.
    pub(super) fn body(&self, uptime: Duration, now: Timestamp, certificate: &str) -> Markup {
        let alarm = self.alarm.as_ref().map_or_else(Markup::default, |alarm| {
            Template::new("<p class=\"alarm\" role=\"alert\">{{text}}</p>")
                .text("text", alarm)
                .fill()
        });
        Template::new(DASHBOARD)
            .text("version", env!("CARGO_PKG_VERSION"))
            .text("uptime", span(uptime))
            .text("moment", now)
            .text("clock", now.strftime("%H:%M:%S UTC"))
            .markup("alarm", alarm)
            .markup("elections", self.elections(now))
            .markup("ledger", self.ledger())
            .markup("errors", self.errors(now))
            .markup("tokens", self.tokens(now))
            .text("certificate", certificate)
            .text("polynomial", shield::Polynomial::default())
            .markup("calculator", calculator("/v1/calculator", SHAPE))
            .fill()
    }

    fn elections(&self, now: Timestamp) -> Markup {
        if self.elections.is_empty() {
            let text = "<p class=\"empty\">None yet. <code>shield submit election.toml</code> \
                creates one.</p>";
            return Markup::fixed(text);
        }
        let cards = self.elections.iter().map(|election| election.card(now));
        let older = match self.older {
            0 => Markup::default(),
            older => {
                let text = "\n<p class=\"quiet\">{{older}} older ones are over: GET /v1/elections \
                    lists them all.</p>";
                Template::new(text).text("older", older).fill()
            }
        };
        Template::new("<div class=\"cards\">\n{{cards}}</div>{{older}}")
            .markup("cards", Markup::join(cards))
            .markup("older", older)
            .fill()
    }

    fn ledger(&self) -> Markup {
        if self.accounts.is_empty() {
            return Markup::fixed(
                "<p class=\"empty\">No group has spent or set aside anything.</p>",
            );
        }
        Markup::join(self.accounts.iter().map(account))
    }

    /// Who has a token.
    fn tokens(&self, now: Timestamp) -> Markup {
        let rows = self.tokens.iter().map(|token| {
            let whose = match (&token.election, token.teacher) {
                (Some(election), Some(number)) => format!("{election}, teacher {number}"),
                (Some(election), None) => election.clone(),
                _ => token.note.clone().unwrap_or_default(),
            };
            let row = "<tr role=\"row\"><th role=\"rowheader\" scope=\"row\"><code>{{name}}</code>\
                </th><td role=\"cell\">{{role}}</td><td role=\"cell\">{{whose}}</td><td \
                role=\"cell\">{{created}}</td><td role=\"cell\" class=\"needs-script\"><button \
                type=\"button\" class=\"plain\" data-action=\"rotate\" data-election=\"{{name}}\" \
                id=\"rotate-{{name}}\">Rotate</button> <button type=\"button\" class=\"plain bad\" \
                data-action=\"revoke\" data-election=\"{{name}}\" id=\"revoke-{{name}}\">Revoke\
                </button></td></tr>\n";
            let created = token.created.map_or_else(Markup::default, |at| time(at, now));
            Template::new(row)
                .text("name", &token.name)
                .text("role", &token.role)
                .text("whose", whose)
                .markup("created", created)
                .fill()
        });
        Markup::join(rows)
    }

    fn errors(&self, now: Timestamp) -> Markup {
        if self.incidents.is_empty() {
            return Markup::fixed("<p class=\"empty\">None since the server was started.</p>");
        }
        let lines = self.incidents.iter().map(|incident| {
            Template::new("<li>{{time}}<b>{{election}}</b><span>{{message}}</span></li>\n")
                .markup("time", time(incident.moment, now))
                .text("election", incident.election.as_deref().unwrap_or("server"))
                .text("message", &incident.message)
                .fill()
        });
        Template::new("<ol class=\"errors card\">\n{{lines}}</ol>")
            .markup("lines", Markup::join(lines))
            .fill()
    }
}

impl Election {
    fn card(&self, now: Timestamp) -> Markup {
        let status = &self.status;
        let votes = Bar {
            label: format!(
                "{} of {} teachers have voted, the quorum is {}",
                status.voted, status.teachers, status.quorum
            ),
            whole: status.teachers as f64,
            full: status.voted as f64,
            part: 0.0,
            tick: Some(f64::from(status.quorum)),
        };
        let none = || Markup::fixed("<span class=\"quiet\">none</span>");
        let or_none =
            |moment: Option<Timestamp>| moment.map_or_else(none, |moment| time(moment, now));
        let cost = match status.epsilon.and_then(|epsilon| Epsilon::new(epsilon).ok()) {
            Some(epsilon) => {
                let kind = match status.closed {
                    Some(_) => "spent",
                    None => "set aside",
                };
                Template::new("{{epsilon}} <span class=\"quiet\">{{kind}}</span>")
                    .text("epsilon", format!("{epsilon:.3}"))
                    .text("kind", kind)
                    .fill()
            }
            None => none(),
        };
        let all = status.teachers.max(1) as f64;
        Template::new(ELECTION)
            .text("share", status.voted as f64 / all)
            .text("deadline text", status.deadline.map_or(String::new(), |at| at.to_string()))
            .text("created text", status.created)
            .markup("actions", self.actions())
            .text("name", &status.name)
            .text("stage", self.stage.name())
            .text("stage text", stage(self.stage))
            .markup("notice", self.notice(now))
            .markup("voted bar", votes.draw())
            .text("voted", status.voted)
            .text("teachers", status.teachers)
            .text("quorum", status.quorum)
            .markup("progress", self.progress())
            .markup("deadline", or_none(status.deadline))
            .text("samples", status.samples)
            .text("group", &status.group)
            .markup("cost", cost)
            .markup("created", time(status.created, now))
            .markup("closed", or_none(status.closed))
            .markup("voters", names(status.voters.as_deref().unwrap_or_default()))
            .markup("missing", names(&self.missing))
            .fill()
    }

    /// What to know or do, if anything.
    fn notice(&self, now: Timestamp) -> Markup {
        let bad = Template::new("<p class=\"notice bad\">{{text}}</p>\n  ");
        let plain = Template::new("<p class=\"notice\">{{text}}</p>\n  ");
        let overdue = self.status.deadline.is_some_and(|deadline| deadline <= now);
        let text = match (self.stage, &self.status.problem) {
            (Stage::Failed, Some(problem)) => {
                let again = "Closing it again goes on with the same ballots and draws.";
                return bad.text("text", format!("{problem}. {again}")).fill();
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
            (Stage::Open, _) if self.is_late(now) => {
                let late = self.missing.len();
                let have = if late == 1 { "teacher has" } else { "teachers have" };
                let text = format!("The deadline is close, and {late} {have} not voted.");
                return plain.text("text", text).fill();
            }
            _ => return Markup::default(),
        };
        plain.text("text", text).fill()
    }

    fn progress(&self) -> Markup {
        let (done, batches) = (self.status.released_batches, self.status.batches);
        if !matches!(self.stage, Stage::Closing | Stage::Failed | Stage::Released) {
            return Markup::default();
        }
        let bar = Bar {
            label: format!("{done} of {batches} batches are aggregated"),
            whole: batches as f64,
            full: done as f64,
            part: 0.0,
            tick: None,
        };
        let text = "<div class=\"wide\"><dt>Aggregated</dt><dd><b>{{done}}</b> of {{batches}} \
            {{unit}}</dd>{{bar}}</div>\n    ";
        Template::new(text)
            .markup("bar", bar.draw())
            .text("done", done)
            .text("batches", batches)
            .text("unit", if batches == 1 { "batch" } else { "batches" })
            .fill()
    }
}

fn account(account: &Account) -> Markup {
    let bar = Bar {
        label: format!(
            "epsilon {:.3} spent, {:.3} with what is set aside, of {}",
            account.spent, account.reserved, account.budget
        ),
        whole: account.budget,
        full: account.spent.get(),
        part: account.reserved.get(),
        tick: None,
    };
    Template::new(ACCOUNT)
        .text("group", &account.group)
        .markup("bar", bar.draw())
        .text("spent", format!("{:.3}", account.spent))
        .text("reserved", format!("{:.3}", account.reserved))
        .text("budget", account.budget)
        .text("delta", account.delta)
        .markup("left", left(account))
        .markup("history", history::draw(account))
        .markup("entries", Markup::join(account.entries.iter().map(entry)))
        .fill()
}

/// How many labels the budget still pays for.
fn left(account: &Account) -> Markup {
    let Some(labels) = account.labels_left else { return Markup::default() };
    Template::new(
        "<span>labels left <b>{{labels}}</b> <span class=\"quiet\">like the newest \
         election's</span></span> ",
    )
    .text("labels", labels)
    .fill()
}

fn entry(entry: &Entry) -> Markup {
    let row = "<tr role=\"row\"><th role=\"rowheader\" scope=\"row\">{{election}}</th>\
        <td role=\"cell\" class=\"number\">{{labels}}</td><td role=\"cell\" \
        class=\"number\">{{voters}}</td>\
        <td role=\"cell\" class=\"number\">{{epsilon}}</td><td role=\"cell\" \
        class=\"state\">{{state}}</td></tr>\n";
    Template::new(row)
        .text("election", &entry.election)
        .text("labels", entry.queries)
        .text("voters", entry.voters)
        .text("epsilon", format!("{:.3}", entry.epsilon))
        .text("state", if entry.spent { "spent" } else { "set aside" })
        .fill()
}

/// How much of a whole: `full` of it strongly, up to `part` faintly, with a mark at `tick`.
struct Bar {
    label: String,
    whole: f64,
    full: f64,
    part: f64,
    tick: Option<f64>,
}

impl Bar {
    /// As SVG, for its attributes may say how wide a thing is where the policy forbids styles to.
    fn draw(&self) -> Markup {
        let percent = |amount: f64| {
            let share = 100.0 * amount / self.whole;
            format!("{:.2}", if share.is_nan() { 0.0 } else { share.clamp(0.0, 100.0) })
        };
        let tick = self.tick.map_or_else(Markup::default, |tick| {
            let tick = percent(tick).parse().unwrap_or(0.0_f64).min(99.3);
            Template::new("<rect class=\"tick\" x=\"{{x}}\" width=\"0.7\" height=\"10\"/>")
                .text("x", format!("{tick:.2}"))
                .fill()
        });
        let text = "<svg class=\"bar\" viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" \
            role=\"img\" aria-label=\"{{label}}\">\
            <rect class=\"part\" width=\"{{part}}\" height=\"10\"/><rect class=\"full\" \
            width=\"{{full}}\" height=\"10\"/>\
            {{tick}}</svg>";
        Template::new(text)
            .text("label", &self.label)
            .text("part", percent(self.part))
            .text("full", percent(self.full))
            .markup("tick", tick)
            .fill()
    }
}

fn stage(stage: Stage) -> &'static str {
    match stage {
        Stage::AwaitingKeys => "Waiting for keys",
        Stage::Open => "Taking ballots",
        Stage::Closing => "Aggregating",
        Stage::Released => "Released",
        Stage::Failed => "Failed",
        Stage::Withdrawn => "Called off",
    }
}

fn names(names: &[String]) -> Markup {
    if names.is_empty() {
        return Markup::fixed("<p class=\"empty\">Nobody.</p>");
    }
    let item = |name: &dyn Display| Template::new("<li>{{name}}</li>").text("name", name).fill();
    let mut items: Vec<Markup> = names.iter().take(NAMES).map(|name| item(name)).collect();
    if names.len() > NAMES {
        items.push(item(&format!("and {} more", names.len() - NAMES)));
    }
    Template::new("<ul class=\"names\">{{items}}</ul>").markup("items", Markup::join(items)).fill()
}

/// A moment, and how far it is from now.
fn time(moment: Timestamp, now: Timestamp) -> Markup {
    let distance = now.duration_since(moment);
    let apart = span(distance.unsigned_abs());
    let distance = match (distance.is_negative(), distance.as_secs().abs() < 60) {
        (_, true) => "now".to_owned(),
        (true, _) => format!("in {apart}"),
        (false, _) => format!("{apart} ago"),
    };
    Template::new(
        "<span><time datetime=\"{{moment}}\">{{date}}</time> <span \
         class=\"quiet\">{{distance}}</span></span>",
    )
    .text("moment", moment)
    .text("date", moment.strftime("%Y-%m-%d %H:%M UTC"))
    .text("distance", distance)
    .fill()
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
        let time = |text: &str| time(text.parse().unwrap(), now).into_string();
        assert!(time("2027-03-01T11:59:01Z").contains(">now<"));
        assert!(time("2027-03-01T11:58:00Z").contains("2 min ago"));
        assert!(time("2027-03-01T12:05:00Z").contains("in 5 min"));
    }

    #[test]
    fn bars_stay_within_their_bounds() {
        let bar = |whole: f64, full: f64| {
            Bar { label: String::new(), whole, full, part: 0.0, tick: Some(whole) }
                .draw()
                .into_string()
        };
        assert!(bar(4.0, 1.0).contains("class=\"full\" width=\"25.00\""));
        assert!(bar(4.0, f64::INFINITY).contains("class=\"full\" width=\"100.00\""));
        assert!(bar(0.0, 0.0).contains("class=\"full\" width=\"0.00\""));
        assert!(bar(4.0, 1.0).contains("x=\"99.30\""));
    }
}
