//! Schemas of what other crates define: the API's description needs them, and nothing else does.

#![expect(dead_code, reason = "only their schemas are used")]

use serde::Serialize;
use utoipa::ToSchema;

/// A BLAKE3 hash, in hexadecimal digits.
#[derive(ToSchema)]
#[schema(pattern = "^[0-9a-f]{64}$")]
pub(crate) struct Digest(String);

/// 0 or more; the string "inf" where there is no privacy.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum Epsilon {
    Finite(f64),
    Infinite(Infinite),
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Infinite {
    Inf,
}

/// What a token is for.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Role {
    Operator,
    Monitor,
    Student,
    Teacher,
}
