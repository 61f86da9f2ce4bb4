//! What keeps a server in order for years: its log, its ledger as a file, what is deleted and when,
//! and who goes first.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use shield_protocol::Name;
use shield_protocol::audit_log::LogLine;

use crate::caller::{Caller, Operator};
use crate::objects::see_through;
use crate::problem::Problem;
use crate::service::Service;
use crate::store::{Erasure, Turn};

/// How an export is written, and from where.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Export {
    format: Option<String>,
    #[serde(default)]
    after: u32,
}

enum Format {
    Json,
    Csv,
}

impl Export {
    fn format(&self) -> Result<Format, Problem> {
        match self.format.as_deref() {
            None | Some("json") => Ok(Format::Json),
            Some("csv") => Ok(Format::Csv),
            Some(_) => Err(Problem::unusable("the format is `csv` or `json`")),
        }
    }
}

/// A field of CSV. What a spreadsheet would take for a formula is kept from being one.
fn field(text: &str) -> String {
    let text = match text.chars().next() {
        Some('=' | '+' | '-' | '@' | '\t' | '\r') => format!("'{text}"),
        _ => text.to_owned(),
    };
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

fn csv(text: String) -> Response {
    ([(header::CONTENT_TYPE, "text/csv; charset=utf-8")], text).into_response()
}

/// Who did what, up to 10,000 lines after a number.
pub(crate) async fn log(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Query(export): Query<Export>,
) -> Result<Response, Problem> {
    caller.operator()?;
    let lines = service.store.log_lines(export.after, 10_000).await?;
    match export.format()? {
        Format::Json => Ok(Json(lines).into_response()),
        Format::Csv => Ok(csv(log_csv(&lines))),
    }
}

fn log_csv(lines: &[LogLine]) -> String {
    let mut text = "number,moment,role,who,address,action,election,detail,chain\n".to_owned();
    for line in lines {
        let (number, moment) = (line.number.to_string(), line.moment.to_string());
        let election = line.election.as_deref().unwrap_or_default();
        let fields = [
            &number,
            &moment,
            &line.role,
            &line.who,
            &line.address,
            &line.action,
            election,
            &line.detail,
            &line.chain,
        ];
        let fields: Vec<String> = fields.into_iter().map(field).collect();
        let _ = writeln!(text, "{}", fields.join(","));
    }
    text
}

/// Every line of the ledger.
pub(crate) async fn ledger(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Query(export): Query<Export>,
) -> Result<Response, Problem> {
    caller.operator()?;
    let accounts = service.accounts().await?;
    let format = export.format()?;
    let mut rows = Vec::new();
    let mut text = "group,election,state,labels,fewest_voters,epsilon,tight,group_spent,\
        group_reserved,budget,delta,order\n"
        .to_owned();
    for account in &accounts {
        for entry in &account.entries {
            let state = if entry.spent { "spent" } else { "set aside" };
            let _ = writeln!(
                text,
                "{},{},{state},{},{},{},{},{},{},{},{},{}",
                field(&account.group),
                field(&entry.election),
                entry.queries,
                entry.voters,
                entry.epsilon,
                entry.tight,
                account.spent,
                account.reserved,
                account.budget,
                account.delta,
                account.order,
            );
            rows.push(json!({
                "group": account.group,
                "election": entry.election,
                "state": state,
                "labels": entry.queries,
                "fewest_voters": entry.voters,
                "epsilon": entry.epsilon,
                "tight": entry.tight,
                "group_spent": account.spent,
                "group_reserved": account.reserved,
                "budget": account.budget,
                "delta": account.delta,
                "order": account.order,
            }));
        }
    }
    Ok(match format {
        Format::Json => Json(rows).into_response(),
        Format::Csv => csv(text),
    })
}

/// What to delete of an election.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Deletion {
    what: String,
}

/// Deletes the ballots of an election that is over, or everything but its ledger line.
pub(crate) async fn erase(
    State(service): State<Arc<Service>>,
    operator: Operator,
    Path(name): Path<Name>,
    Json(deletion): Json<Deletion>,
) -> Result<Json<Value>, Problem> {
    see_through(async move {
        let what = match deletion.what.as_str() {
            "ballots" => Erasure::Ballots,
            "everything" => Erasure::Everything,
            _ => return Err(Problem::unusable("`what` is `ballots` or `everything`")),
        };
        service.store.erase(&name, what).await?;
        service.forget(&name);
        tracing::warn!(election = %name, what = what.name(), "deleted");
        service.log(&operator.0, "deleted", Some(&name), what.name()).await?;
        Ok(Json(json!({ "election": name, "deleted": what.name() })))
    })
    .await
}

/// Gives an election another place among those that are aggregated.
pub(crate) async fn schedule(
    State(service): State<Arc<Service>>,
    operator: Operator,
    Path(name): Path<Name>,
    Json(turn): Json<Turn>,
) -> Result<Json<Turn>, Problem> {
    see_through(async move {
        if !(1..=100).contains(&turn.priority) {
            return Err(Problem::unusable("a priority is a whole number from 1 to 100"));
        }
        service.store.set_turn(&name, turn).await?;
        service.work.notify_one();
        let detail = format!("priority {}, paused: {}", turn.priority, turn.paused);
        service.log(&operator.0, "schedule changed", Some(&name), &detail).await?;
        Ok(Json(turn))
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_and_no_formulas() {
        assert_eq!(field("ward-7"), "ward-7");
        assert_eq!(field("a, \"b\""), "\"a, \"\"b\"\"\"");
        assert_eq!(field("=1+1"), "'=1+1");
        assert_eq!(field("\t=1+1"), "'\t=1+1");
    }
}
