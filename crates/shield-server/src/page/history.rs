//! A group's ledger over time, as a picture: what was spent or set aside, against the budget.

use std::fmt::Write as _;

use askama::Template;
use askama::filters::HtmlSafe;
use jiff::Timestamp;

use crate::account::Account;

/// The plot's edges, within the picture of the template.
const LEFT: f64 = 44.0;
const RIGHT: f64 = 628.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 122.0;

/// The picture.
#[derive(Template)]
#[template(path = "history.html")]
pub(super) struct History {
    label: String,
    path: String,
    /// Where the budget is.
    limit: f64,
    budget: f64,
    from: String,
    to: String,
}

impl HtmlSafe for History {}

impl History {
    /// The picture; none where nothing was ever booked.
    pub(super) fn of(account: &Account) -> Option<Self> {
        let (first, last) = (account.history.first()?, account.history.last()?);
        let (start, end) = (first.moment.as_second(), last.moment.as_second());
        // A little before the first and after the last, so that both are seen.
        let room = ((end - start) / 20).max(3_600);
        let (start, end) = (start - room, end + room);
        let highest = account.history.iter().map(|at| at.epsilon.get()).filter(|e| e.is_finite());
        let top = highest.fold(account.budget, f64::max);
        let x = |moment: Timestamp| {
            LEFT + (RIGHT - LEFT) * (moment.as_second() - start) as f64 / (end - start) as f64
        };
        let y = |epsilon: f64| BOTTOM - (BOTTOM - TOP) * (epsilon / top).clamp(0.0, 1.0);
        let mut path = format!("M{LEFT} {BOTTOM}");
        for at in &account.history {
            let _ = write!(path, "H{:.1}V{:.1}", x(at.moment), y(at.epsilon.get()));
        }
        let _ = write!(path, "H{RIGHT}");
        let date = |second: i64| {
            let moment = Timestamp::from_second(second).unwrap_or_default();
            // Two ends of one day would look the same.
            let format = if end - start < 3 * 86_400 { "%Y-%m-%d %H:%M" } else { "%Y-%m-%d" };
            moment.strftime(format).to_string()
        };
        let label = format!(
            "What the group {} has spent or set aside: epsilon {:.3} of {} after {} elections",
            account.group,
            last.epsilon,
            account.budget,
            account.history.len()
        );
        Some(Self {
            label,
            path,
            limit: y(account.budget),
            budget: account.budget,
            from: date(start),
            to: date(end),
        })
    }
}
