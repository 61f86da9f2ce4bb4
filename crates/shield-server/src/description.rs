//! The API's description as an OpenAPI document, made from the table of routes and from the types
//! that handlers read and write.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use shield_protocol::Name;
use utoipa::ToSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;

use crate::problem;

/// What is the same however many routes there are: names, parameters and refusals.
const FRAME: &str = include_str!("openapi.json");

/// Whoever asks, with a token or without.
pub(crate) const ANYBODY: &[&str] = &["anybody"];
pub(crate) const ANY_TOKEN: &[&str] = &["anybody with a token"];

/// The content of a request or an answer.
#[derive(Clone, Copy)]
pub(crate) enum Content {
    Nothing,
    /// Anything of a media type.
    Any(&'static str),
    /// What a schema says, in a media type.
    As(&'static str, fn(&mut Schemas) -> Value),
    /// A table: for programs, or for spreadsheets.
    Table(fn(&mut Schemas) -> Value),
}

pub(crate) const HTML: Content = Content::Any("text/html");
pub(crate) const TEXT: Content = Content::Any("text/plain");
pub(crate) const BYTES: Content = Content::Any("application/octet-stream");

pub(crate) const ANY_JSON: Content = Content::As(JSON, |_| json!({ "type": "object" }));
const JSON: &str = "application/json";

/// What a form in a browser sends.
pub(crate) fn form<T: ToSchema>() -> Content {
    Content::As("application/x-www-form-urlencoded", Schemas::one::<T>)
}

/// A JSON document.
pub(crate) fn json<T: ToSchema>() -> Content {
    Content::As(JSON, Schemas::one::<T>)
}

/// A JSON array.
pub(crate) fn list<T: ToSchema>() -> Content {
    Content::As(JSON, Schemas::many::<T>)
}

/// A JSON array, or the same as CSV.
pub(crate) fn table<T: ToSchema>() -> Content {
    Content::Table(Schemas::many::<T>)
}

impl Content {
    fn describe(self, schemas: &mut Schemas) -> Value {
        match self {
            Self::Nothing => Value::Null,
            Self::Any(kind) => json!({ kind: { "schema": { "type": "string" } } }),
            Self::As(kind, schema) => json!({ kind: { "schema": schema(schemas) } }),
            Self::Table(schema) => json!({
                "application/json": { "schema": schema(schemas) },
                "text/csv": { "schema": { "type": "string" } },
            }),
        }
    }
}

/// The schemas that a description refers to, by name.
#[derive(Default)]
pub(crate) struct Schemas(BTreeMap<String, Value>);

impl Schemas {
    fn one<T: ToSchema>(&mut self) -> Value {
        let mut found: Vec<(String, RefOr<Schema>)> = Vec::new();
        T::schemas(&mut found);
        found.push((T::name().into_owned(), T::schema()));
        self.0.extend(found.into_iter().map(|(name, schema)| (name, json!(schema))));
        json!({ "$ref": format!("#/components/schemas/{}", T::name()) })
    }

    fn many<T: ToSchema>(&mut self) -> Value {
        json!({ "type": "array", "items": self.one::<T>() })
    }

    /// Says that every member is there, be it null: so it is in all that the server writes.
    fn require_all(&mut self) {
        self.0.values_mut().for_each(require_all);
    }
}

fn require_all(schema: &mut Value) {
    let Value::Object(members) = schema else { return };
    if let Some(Value::Object(properties)) = members.get("properties") {
        let names: Vec<&String> = properties.keys().collect();
        let names = json!(names);
        members.insert("required".to_owned(), names);
    }
    for part in ["oneOf", "allOf"] {
        if let Some(Value::Array(parts)) = members.get_mut(part) {
            parts.iter_mut().for_each(require_all);
        }
    }
}

/// What can be asked for at an address. All that follows from its path, its roles and what it takes
/// goes without saying.
pub(crate) struct Operation {
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    pub(crate) is_open: bool,
    pub(crate) tag: &'static str,
    id: &'static str,
    roles: &'static [&'static str],
    summary: &'static str,
    detail: &'static str,
    parameters: &'static [&'static str],
    takes: Content,
    answers: Vec<(u16, &'static str, Content)>,
    refusals: &'static [u16],
}

/// An operation by its id, who may ask for it, and what it is.
pub(crate) fn told(
    id: &'static str,
    roles: &'static [&'static str],
    summary: &'static str,
) -> Operation {
    Operation {
        method: "",
        path: "",
        is_open: false,
        tag: "",
        id,
        roles,
        summary,
        detail: "",
        parameters: &[],
        takes: Content::Nothing,
        answers: Vec::new(),
        refusals: &[],
    }
}

impl Operation {
    pub(crate) fn more(self, detail: &'static str) -> Self {
        Self { detail, ..self }
    }

    /// Parameters that are not in the path.
    pub(crate) fn with(self, parameters: &'static [&'static str]) -> Self {
        Self { parameters, ..self }
    }

    pub(crate) fn takes(self, takes: Content) -> Self {
        Self { takes, ..self }
    }

    pub(crate) fn gives(mut self, status: u16, what: &'static str, content: Content) -> Self {
        self.answers.push((status, what, content));
        self
    }

    /// Refusals that do not follow from the rest.
    pub(crate) fn refuses(self, refusals: &'static [u16]) -> Self {
        Self { refusals, ..self }
    }

    /// The names of the path's parameters.
    fn gaps(&self) -> impl Iterator<Item = &'static str> {
        self.path.split('{').skip(1).filter_map(|piece| piece.split_once('}')).map(|(gap, _)| gap)
    }

    /// The statuses of the refusals that its callers may see.
    fn refusals(&self) -> Vec<u16> {
        let mut all = self.refusals.to_vec();
        if self.roles != ANYBODY {
            all.extend([408, 421, 500, 503]);
        }
        if !self.is_open {
            all.extend([401, 429]);
            if self.roles != ANY_TOKEN {
                all.push(403);
            }
        }
        if self.gaps().next().is_some() {
            all.extend([400, 404]);
        }
        if !self.parameters.is_empty() && !self.is_open {
            all.push(400);
        }
        match self.takes {
            Content::As(JSON, _) => all.extend([400, 413, 415, 422]),
            Content::Any(_) => all.push(413),
            _ => {}
        }
        all.sort_unstable();
        all.dedup();
        all
    }

    fn describe(&self, requests: &mut Schemas, answers: &mut Schemas) -> Value {
        let refer =
            |kind: &str, name: &str| json!({ "$ref": format!("#/components/{kind}/{name}") });
        let mut responses = Map::new();
        for (status, what, content) in &self.answers {
            let mut response = json!({ "description": what });
            if !matches!(content, Content::Nothing) {
                response["content"] = content.describe(answers);
            }
            responses.insert(status.to_string(), response);
        }
        for refusal in self.refusals() {
            let status = refusal.to_string();
            let shared = refer("responses", &status);
            responses.entry(status).or_insert(shared);
        }
        let names = self.gaps().chain(self.parameters.iter().copied());
        let parameters: Vec<Value> = names.map(|name| refer("parameters", name)).collect();
        let mut operation = json!({
            "operationId": self.id,
            "tags": [self.tag],
            "summary": self.summary,
            "x-shield-roles": self.roles,
            "parameters": parameters,
            "responses": responses,
        });
        if !self.detail.is_empty() {
            operation["description"] = json!(self.detail);
        }
        if self.is_open {
            operation["security"] = json!([]);
        }
        if !matches!(self.takes, Content::Nothing) {
            let content = self.takes.describe(requests);
            operation["requestBody"] = json!({ "required": true, "content": content });
        }
        operation
    }
}

/// The description of these operations.
pub(crate) fn document(operations: impl IntoIterator<Item = Operation>) -> Value {
    let mut document: Value = serde_json::from_str(FRAME).expect("a JSON document");
    let (mut requests, mut answers) = (Schemas::default(), Schemas::default());
    // Parameters and refusals refer to these.
    requests.one::<Name>();
    answers.one::<problem::Document>();
    for operation in operations {
        document["paths"][operation.path][operation.method] =
            operation.describe(&mut requests, &mut answers);
    }
    answers.require_all();
    requests.0.extend(answers.0);
    document["components"]["schemas"] = json!(requests.0);
    document
}
