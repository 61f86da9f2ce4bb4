//! Whether an answer is one that the API's description has for its request. Every answer that a
//! test sees goes through here.

use serde_json::{Map, Value};

/// An answer to a request.
pub(crate) struct Answered<'a> {
    pub(crate) method: &'a str,
    /// The path with its query.
    pub(crate) path: &'a str,
    pub(crate) status: u16,
    /// Its content type.
    pub(crate) kind: &'a str,
    pub(crate) body: &'a [u8],
}

/// Panics if the description does not have this answer.
pub(crate) fn check(document: &Value, answered: &Answered<'_>) {
    let Answered { method, path, status, kind, body } = answered;
    let about = format!("{method} {path}: {status} {kind} {}", String::from_utf8_lossy(body));
    let kind = kind.split(';').next().unwrap_or_default();
    let Some(operation) = operation(document, method, path) else {
        // Nothing is at that address, or only for another method.
        assert!([401, 403, 404, 405, 421].contains(status), "{about}");
        let problem = &document["components"]["schemas"]["Problem"];
        let read = serde_json::from_slice(body).unwrap_or_else(|error| panic!("{error}: {about}"));
        assert_eq!(
            (kind, validate(document, problem, &read)),
            ("application/problem+json", Ok(()))
        );
        return;
    };
    let response = &operation["responses"][status.to_string()];
    assert!(!response.is_null(), "this status is not described: {about}");
    let content = &resolve(document, response)["content"];
    if content.is_null() {
        assert!(body.is_empty(), "{about}");
        return;
    }
    let content = &content[kind];
    assert!(!content.is_null(), "this content type is not described: {about}");
    if kind.ends_with("json") {
        let read = serde_json::from_slice(body).unwrap_or_else(|error| panic!("{error}: {about}"));
        let valid = validate(document, &content["schema"], &read);
        assert_eq!(valid, Ok(()), "{about}");
    }
}

/// What is described for a method and a path, if anything is.
fn operation<'a>(document: &'a Value, method: &str, path: &str) -> Option<&'a Value> {
    let pieces: Vec<&str> = path.split('?').next()?.split('/').collect();
    let fits = |template: &str| {
        let template: Vec<&str> = template.split('/').collect();
        template.len() == pieces.len()
            && template.iter().zip(&pieces).all(|(gap, piece)| gap.starts_with('{') || gap == piece)
    };
    let mut fitting = document["paths"].as_object()?.iter().filter(|(template, _)| fits(template));
    let found = fitting.next()?.1.get(method.to_lowercase());
    assert!(fitting.next().is_none(), "two templates fit {path}");
    found
}

fn resolve<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    match value["$ref"].as_str() {
        Some(place) => document.pointer(place.trim_start_matches('#')).expect("a known place"),
        None => value,
    }
}

/// Whether a value is what a schema says, and has no member that the schema does not name.
pub(crate) fn validate(document: &Value, schema: &Value, value: &Value) -> Result<(), String> {
    let schema = resolve(document, schema).as_object().ok_or("a schema is an object")?;
    let fail = |what: &str| Err(format!("{what}: {value} against {schema:?}"));
    for (keyword, rule) in schema {
        match keyword.as_str() {
            "type" if !is_of_type(rule, value) => return fail("type"),
            "enum" if !rule.as_array().is_some_and(|all| all.contains(value)) => {
                return fail("enum");
            }
            "pattern" if !is_one_of(rule, value) => return fail("pattern"),
            "const" if rule != value => return fail("const"),
            "minimum" if value.as_f64() < rule.as_f64() => return fail("minimum"),
            "maximum" if value.as_f64() > rule.as_f64() => return fail("maximum"),
            "oneOf" => {
                let all = rule.as_array().ok_or("oneOf is a list")?;
                let fitting = all.iter().filter(|one| validate(document, one, value).is_ok());
                if fitting.count() != 1 {
                    return fail("oneOf");
                }
            }
            "items" => {
                for item in value.as_array().into_iter().flatten() {
                    validate(document, rule, item)?;
                }
            }
            "properties" => {
                let Some(members) = value.as_object() else { continue };
                members_fit(document, schema, members)?;
            }
            // The rest is said for people, or goes with one of the others.
            "type"
            | "enum"
            | "const"
            | "minimum"
            | "maximum"
            | "required"
            | "description"
            | "example"
            | "format"
            | "pattern"
            | "additionalProperties" => {}
            other => return Err(format!("{other} is a keyword that nothing here knows")),
        }
    }
    Ok(())
}

fn members_fit(
    document: &Value,
    schema: &Map<String, Value>,
    members: &Map<String, Value>,
) -> Result<(), String> {
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    for name in required.filter_map(Value::as_str) {
        if !members.contains_key(name) {
            return Err(format!("{name} is missing in {members:?}"));
        }
    }
    for (name, member) in members {
        match schema["properties"].get(name) {
            Some(rule) => validate(document, rule, member)?,
            // A problem has more to say than all problems have in common.
            None if schema["properties"].get("detail").is_some()
                && members.contains_key("title") => {}
            None => return Err(format!("{name} is not described: {schema:?}")),
        }
    }
    Ok(())
}

/// Whether a text is one of those that a pattern lists; other patterns are for people.
fn is_one_of(rule: &Value, value: &Value) -> bool {
    let list = rule.as_str().and_then(|rule| rule.strip_prefix("^(")?.strip_suffix(")$"));
    let Some((list, text)) = list.zip(value.as_str()) else { return true };
    list.split('|').any(|word| word == text)
}

fn is_of_type(rule: &Value, value: &Value) -> bool {
    let is = |name: &Value| match name.as_str() {
        Some("null") => value.is_null(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some("string") => value.is_string(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        _ => false,
    };
    match rule {
        Value::Array(names) => names.iter().any(is),
        name => is(name),
    }
}
