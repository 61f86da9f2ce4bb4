//! Tokens, one by one: who has one, another for somebody, a new one for an old one, none any more.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use shield_protocol::Name;
use shield_protocol::credentials::{Role, TokenHash};
use utoipa::ToSchema;

use crate::caller::Operator;
use crate::objects::see_through;
use crate::problem::Problem;
use crate::schema;
use crate::service::Service;
use crate::store::token_name;

/// A token, by its name.
#[derive(Serialize, ToSchema)]
#[schema(as = Token)]
pub(crate) struct Known {
    pub(crate) name: String,
    #[schema(value_type = schema::Role)]
    pub(crate) role: &'static str,
    pub(crate) election: Option<Name>,
    pub(crate) teacher: Option<Name>,
    pub(crate) created: Timestamp,
    pub(crate) note: Option<String>,
    /// Whether it is the calling one.
    yours: bool,
}

/// All tokens, with the names of the teachers whose they are.
pub(crate) async fn list(
    State(service): State<Arc<Service>>,
    operator: Operator,
) -> Result<Json<Vec<Known>>, Problem> {
    let mut tokens = service.tokens(u32::MAX).await?;
    for token in &mut tokens {
        token.yours = token.name == token_name(&operator.0.token);
    }
    Ok(Json(tokens))
}

impl Service {
    /// As many tokens as are wanted, none of them the caller's.
    pub(crate) async fn tokens(&self, most: u32) -> Result<Vec<Known>, Problem> {
        let mut tokens = Vec::new();
        for token in self.store.tokens(most).await? {
            tokens.push(Known {
                teacher: self.teacher(&token.role).await?,
                name: token.name,
                role: token.role.name(),
                election: token.role.election().cloned(),
                created: token.created,
                note: token.note,
                yours: false,
            });
        }
        Ok(tokens)
    }

    /// The name of the teacher whose role it is.
    pub(crate) async fn teacher(&self, role: &Role) -> Result<Option<Name>, Problem> {
        let Role::Teacher { election, teacher } = role else { return Ok(None) };
        let (file, _) = self.store.election_file(election.as_str()).await?;
        Ok(file.teachers().get(*teacher as usize).cloned())
    }
}

/// A token for somebody who runs or watches the server.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Another {
    role: Keeper,
    token: TokenHash,
    #[schema(max_length = 200)]
    note: Option<String>,
}

/// A role that belongs to no election: students and teachers get theirs with their election.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Keeper {
    Operator,
    Monitor,
}

/// A token that works from now on.
#[derive(Serialize, ToSchema)]
pub(crate) struct Fresh {
    name: String,
    #[schema(value_type = schema::Role)]
    role: &'static str,
    election: Option<Name>,
    teacher: Option<Name>,
}

impl Fresh {
    pub(crate) fn of(token: &TokenHash, role: &Role, teacher: Option<Name>) -> Self {
        let election = role.election().cloned();
        Self { name: token_name(token).to_owned(), role: role.name(), election, teacher }
    }
}

pub(crate) async fn add(
    State(service): State<Arc<Service>>,
    operator: Operator,
    Json(new): Json<Another>,
) -> Result<(StatusCode, Json<Fresh>), Problem> {
    let role = match new.role {
        Keeper::Operator => Role::Operator,
        Keeper::Monitor => Role::Monitor,
    };
    if new.note.as_ref().is_some_and(|note| note.chars().count() > 200) {
        return Err(Problem::unusable("a note has at most 200 characters"));
    }
    see_through(async move {
        service.store.add_new_token(&new.token, &role, new.note.as_deref()).await?;
        let name = token_name(&new.token);
        tracing::warn!(role = role.name(), name, "token added");
        let detail = format!("{} {name} {}", role.name(), new.note.as_deref().unwrap_or_default());
        service.log(&operator.0, "token added", None, detail.trim()).await?;
        let fresh = Fresh::of(&new.token, &role, None);
        Ok((StatusCode::CREATED, Json(fresh)))
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
#[derive(Debug, Deserialize, ToSchema)]
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
) -> Result<Json<Fresh>, Problem> {
    see_through(async move {
        let role = service.store.rotate_token(&name, &new.token).await?;
        let fresh = token_name(&new.token);
        tracing::warn!(role = role.name(), name, fresh, "token rotated");
        let detail = format!("{} {name} to {fresh}", role.name());
        service.log(&operator.0, "token rotated", role.election(), &detail).await?;
        Ok(Json(Fresh::of(&new.token, &role, service.teacher(&role).await?)))
    })
    .await
}
