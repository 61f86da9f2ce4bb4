//! What can be done with an election at the page, where scripts run.

use jiff::Timestamp;

use super::markup::{Markup, Template};
use super::view::Election;
use crate::store::Stage;

/// How close a deadline is when those who have not voted are late, in seconds.
const LATE: i64 = 2 * 86_400;

impl Election {
    /// Whether the deadline is close and somebody has not voted.
    pub(super) fn is_late(&self, now: Timestamp) -> bool {
        let close = |deadline: Timestamp| deadline.duration_since(now).as_secs() < LATE;
        self.status.deadline.is_some_and(close) && !self.missing.is_empty()
    }

    /// What can be done with it; only where scripts run.
    pub(super) fn actions(&self) -> Markup {
        let mut all = Vec::new();
        let button = |action: &str, kind: &str, text: &str| {
            Template::new(
                "<button type=\"button\" id=\"{{action}}-{{name}}\" class=\"plain {{kind}}\" \
                 data-action=\"{{action}}\" data-election=\"{{name}}\">{{text}}</button> ",
            )
            .text("action", action)
            .text("kind", kind)
            .text("name", &self.status.name)
            .text("text", text)
            .fill()
        };
        match self.stage {
            Stage::AwaitingKeys => all.push(button("call-off", "bad", "Call off")),
            Stage::Open => {
                all.push(button("close", "", "Close"));
                all.push(button("call-off", "bad", "Call off"));
            }
            Stage::Failed => all.push(button("close", "", "Close again")),
            Stage::Closing | Stage::Released | Stage::Withdrawn => {}
        }
        if self.stage == Stage::Open && !self.missing.is_empty() {
            let text = "<button type=\"button\" id=\"copy-{{name}}\" class=\"plain\" \
                data-action=\"copy\" data-election=\"{{name}}\" data-names=\"{{names}}\">Copy who \
                is missing</button> ";
            let names = self.missing.join("\n");
            let name = &self.status.name;
            all.push(Template::new(text).text("name", name).text("names", names).fill());
        }
        if matches!(self.stage, Stage::AwaitingKeys | Stage::Open) {
            all.push(self.reissue());
        }
        if all.is_empty() {
            return Markup::default();
        }
        Template::new("<p class=\"actions needs-script\">{{all}}</p>\n  ")
            .markup("all", Markup::join(all))
            .fill()
    }

    /// A new invitation for one of the parties.
    fn reissue(&self) -> Markup {
        Template::new(
            "<label class=\"actions\">Lost token of <input id=\"party-{{name}}\" \
             placeholder=\"student, or a teacher\" autocomplete=\"off\" \
             spellcheck=\"false\"></label> <button type=\"button\" id=\"reissue-{{name}}\" \
             class=\"plain\" data-action=\"reissue\" data-election=\"{{name}}\">New \
             invitation</button>",
        )
        .text("name", &self.status.name)
        .fill()
    }
}
