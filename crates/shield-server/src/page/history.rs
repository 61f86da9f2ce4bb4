//! A group's ledger over time, as a picture: what was spent or set aside, against the budget.

use std::fmt::Write as _;

use jiff::Timestamp;

use super::markup::{Markup, Template};
use crate::ledger::Account;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 150.0;
const LEFT: f64 = 44.0;
const RIGHT: f64 = 628.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 122.0;

/// The picture; nothing where nothing was ever booked.
pub(super) fn draw(account: &Account) -> Markup {
    let (Some(first), Some(last)) = (account.history.first(), account.history.last()) else {
        return Markup::default();
    };
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
    Template::new(
        "<svg class=\"history\" viewBox=\"0 0 {{width}} {{height}}\" role=\"img\" \
         aria-label=\"{{label}}\"><line class=\"grid\" x1=\"{{left}}\" x2=\"{{right}}\" \
         y1=\"{{bottom}}\" y2=\"{{bottom}}\"/><line class=\"limit\" x1=\"{{left}}\" \
         x2=\"{{right}}\" y1=\"{{limit}}\" y2=\"{{limit}}\"/><path class=\"spent-line\" \
         d=\"{{path}}\"/><text x=\"{{tick}}\" y=\"{{zero}}\" class=\"end\">0</text><text \
         x=\"{{tick}}\" y=\"{{limit text}}\" class=\"end\">{{budget}}</text><text \
         x=\"{{left}}\" y=\"{{dates}}\">{{from}}</text><text x=\"{{right}}\" y=\"{{dates}}\" \
         class=\"end\">{{to}}</text></svg>",
    )
    .text("width", WIDTH)
    .text("height", HEIGHT)
    .text("label", label)
    .text("left", LEFT)
    .text("right", RIGHT)
    .text("bottom", BOTTOM)
    .text("limit", format!("{:.1}", y(account.budget)))
    .text("limit text", format!("{:.1}", y(account.budget) + 4.0))
    .text("path", path)
    .text("tick", LEFT - 6.0)
    .text("zero", BOTTOM + 4.0)
    .text("budget", account.budget)
    .text("dates", BOTTOM + 18.0)
    .text("from", date(start))
    .text("to", date(end))
    .fill()
}
