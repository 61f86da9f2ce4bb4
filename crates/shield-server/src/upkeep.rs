//! What keeps a server in order for years: its log, its ledger as a file, what is deleted and when,
//! and who goes first.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use shield_core::Delta;
use shield_data::csv_field;
use shield_privacy::Proven;
use shield_protocol::Name;
use utoipa::ToSchema;

use crate::caller::Operator;
use crate::objects::see_through;
use crate::problem::Problem;
use crate::schema;
use crate::service::Service;
use crate::store::{Erasure, Turn};

/// How an export is written, and from where.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Export {
    format: Format,
    after: u32,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Format {
    #[default]
    Json,
    Csv,
}

impl Export {
    /// Rows whose columns have these names.
    fn write<T: Serialize>(&self, columns: &str, rows: &[T]) -> Result<Response, Problem> {
        match self.format {
            Format::Json => Ok(Json(rows).into_response()),
            Format::Csv => {
                let text = csv(columns, rows).map_err(Problem::internal)?;
                Ok(([(header::CONTENT_TYPE, "text/csv; charset=utf-8")], text).into_response())
            }
        }
    }
}

fn csv<T: Serialize>(columns: &str, rows: &[T]) -> serde_json::Result<String> {
    let mut text = format!("{columns}\n");
    for row in rows {
        let row = serde_json::to_value(row)?;
        let fields = columns.split(',').map(|column| match &row[column] {
            Value::Null => String::new(),
            Value::String(text) => csv_field(text),
            // As people write it: JSON has exponents.
            Value::Number(number) if number.is_f64() => {
                number.as_f64().unwrap_or_default().to_string()
            }
            other => other.to_string(),
        });
        text += &(fields.collect::<Vec<String>>().join(",") + "\n");
    }
    Ok(text)
}

/// Who did what, up to 10,000 lines after a number.
pub(crate) async fn log(
    State(service): State<Arc<Service>>,
    _: Operator,
    Query(export): Query<Export>,
) -> Result<Response, Problem> {
    let columns = "number,moment,role,who,address,action,election,detail,chain";
    export.write(columns, &service.store.log_lines(export.after, 10_000).await?)
}

/// An election in the ledger, with its group's account.
#[derive(Serialize, ToSchema)]
pub(crate) struct LedgerLine {
    group: String,
    election: String,
    /// `spent` or `set aside`.
    state: &'static str,
    labels: u64,
    fewest_voters: u32,
    #[schema(value_type = schema::Epsilon)]
    epsilon: Proven,
    tight: bool,
    #[schema(value_type = schema::Epsilon)]
    group_spent: Proven,
    #[schema(value_type = schema::Epsilon)]
    group_reserved: Proven,
    budget: f64,
    #[schema(value_type = f64)]
    delta: Delta,
    order: f64,
}

/// Every line of the ledger.
pub(crate) async fn ledger(
    State(service): State<Arc<Service>>,
    _: Operator,
    Query(export): Query<Export>,
) -> Result<Response, Problem> {
    let accounts = service.accounts().await?;
    let lines = accounts.iter().flat_map(|account| {
        account.entries.iter().map(|entry| LedgerLine {
            group: account.group.clone(),
            election: entry.election.clone(),
            state: if entry.spent { "spent" } else { "set aside" },
            labels: entry.queries,
            fewest_voters: entry.voters,
            epsilon: entry.epsilon,
            tight: entry.tight,
            group_spent: account.spent,
            group_reserved: account.reserved,
            budget: account.budget,
            delta: account.delta,
            order: account.order,
        })
    });
    let columns = "group,election,state,labels,fewest_voters,epsilon,tight,group_spent,\
        group_reserved,budget,delta,order";
    export.write(columns, &lines.collect::<Vec<LedgerLine>>())
}

/// What to delete of an election.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Deletion {
    what: Erasure,
}

/// An election of which something is deleted.
#[derive(Serialize, ToSchema)]
pub(crate) struct Deleted {
    election: Name,
    deleted: Erasure,
}

/// Deletes the ballots of an election that is over, or everything but its ledger line.
pub(crate) async fn erase(
    State(service): State<Arc<Service>>,
    operator: Operator,
    Path(name): Path<Name>,
    Json(Deletion { what }): Json<Deletion>,
) -> Result<Json<Deleted>, Problem> {
    see_through(async move {
        service.store.erase(&name, what).await?;
        service.forget(&name);
        tracing::warn!(election = %name, what = what.name(), "deleted");
        service.log(&operator.0, "deleted", Some(&name), what.name()).await?;
        Ok(Json(Deleted { election: name, deleted: what }))
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
