//! Tokens, one by one: who has one, another for somebody, a new one for an old one, none any more.

use std::collections::HashMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use shield_protocol::Name;
use shield_protocol::credentials::{Role, TokenHash};

use crate::caller::{Caller, Operator};
use crate::objects::see_through;
use crate::problem::Problem;
use crate::service::Service;

/// All tokens, with the names of the teachers whose they are.
pub(crate) async fn list(
    State(service): State<Arc<Service>>,
    caller: Caller,
) -> Result<Json<Vec<Value>>, Problem> {
    caller.operator()?;
    let mut tokens = Vec::new();
    // Thousands of teachers share a file.
    let mut files = HashMap::new();
    for token in service.store.tokens().await? {
        let teacher = match (&token.election, token.teacher) {
            (Some(election), Some(number)) => {
                let file = if let Some(known) = files.get(election) {
                    Arc::clone(known)
                } else {
                    let name = election.parse().map_err(Problem::internal)?;
                    let file = service.store.election(&name).await?.file;
                    files.insert(election.clone(), Arc::clone(&file));
                    file
                };
                file.teachers().get(number as usize).map(Name::to_string)
            }
            _ => None,
        };
        let own = crate::store::token_name(&caller.token) == token.name;
        tokens.push(json!({
            "name": token.name,
            "role": token.role,
            "election": token.election,
            "teacher": teacher,
            "created": token.created,
            "note": token.note,
            "yours": own,
        }));
    }
    Ok(Json(tokens))
}

/// A token for somebody who runs or watches the server.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Another {
    role: String,
    token: TokenHash,
    note: Option<String>,
}

pub(crate) async fn add(
    State(service): State<Arc<Service>>,
    operator: Operator,
    Json(new): Json<Another>,
) -> Result<(StatusCode, Json<Value>), Problem> {
    let role = match new.role.as_str() {
        "operator" => Role::Operator,
        "monitor" => Role::Monitor,
        _ => {
            return Err(Problem::unusable(
                "the role is `operator` or `monitor`; students and teachers get theirs with their \
                 election",
            ));
        }
    };
    if new.note.as_ref().is_some_and(|note| note.chars().count() > 200) {
        return Err(Problem::unusable("a note has at most 200 characters"));
    }
    see_through(async move {
        service.store.add_new_token(&new.token, &role, new.note.as_deref()).await?;
        let name = crate::store::token_name(&new.token);
        tracing::warn!(role = role.name(), name, "token added");
        let detail = format!("{} {name} {}", role.name(), new.note.as_deref().unwrap_or_default());
        service.log(&operator.0, "token added", None, detail.trim()).await?;
        Ok((StatusCode::CREATED, Json(json!({ "name": name, "role": role.name() }))))
    })
    .await
}

/// Takes a token back: whoever has it is a stranger from now on.
pub(crate) async fn revoke(
    State(service): State<Arc<Service>>,
    operator: Operator,
    Path(name): Path<String>,
) -> Result<StatusCode, Problem> {
    see_through(async move {
        let role = service.store.revoke_token(&name).await?;
        tracing::warn!(role = role.name(), name, "token revoked");
        let detail = format!("{} {name}", role.name());
        service.log(&operator.0, "token revoked", role.election(), &detail).await?;
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}

/// The hash of a token that is to replace another.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Replacement {
    token: TokenHash,
}

/// Puts a new token in the place of an old one, which stops working at once.
pub(crate) async fn rotate(
    State(service): State<Arc<Service>>,
    operator: Operator,
    Path(name): Path<String>,
    Json(new): Json<Replacement>,
) -> Result<Json<Value>, Problem> {
    see_through(async move {
        let role = service.store.rotate_token(&name, &new.token).await?;
        let fresh = crate::store::token_name(&new.token);
        tracing::warn!(role = role.name(), name, fresh, "token rotated");
        let detail = format!("{} {name} to {fresh}", role.name());
        service.log(&operator.0, "token rotated", role.election(), &detail).await?;
        let teacher = match &role {
            Role::Teacher { election, teacher } => {
                let file = service.store.election(election).await?.file;
                file.teachers().get(*teacher as usize).map(ToString::to_string)
            }
            _ => None,
        };
        Ok(Json(json!({
            "name": fresh,
            "role": role.name(),
            "election": role.election(),
            "teacher": teacher,
        })))
    })
    .await
}
