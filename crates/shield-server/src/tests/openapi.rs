//! The API's description and the API itself are the same.

use std::collections::BTreeSet;

use serde_json::Value;
use shield_protocol::ElectionFile;
use shield_protocol::messages::NewElection;

use crate::openapi;

pub(super) fn documented() -> Vec<(String, String)> {
    let document = openapi();
    let paths = document["paths"].as_object().unwrap();
    let operations = paths.iter().flat_map(|(path, methods)| {
        methods.as_object().unwrap().keys().map(|method| (method.clone(), path.clone()))
    });
    operations.collect()
}

/// Every value in a document, with the names that lead to it.
fn walk<'a>(value: &'a Value, visit: &mut impl FnMut(&str, &'a Value)) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                visit(name, member);
                walk(member, visit);
            }
        }
        Value::Array(members) => members.iter().for_each(|member| walk(member, visit)),
        _ => {}
    }
}

#[test]
fn the_document_holds_together() {
    let document = openapi();
    assert_eq!(document["openapi"], "3.1.0");
    let mut referred = BTreeSet::new();
    walk(&document, &mut |name, value| {
        if name == "$ref" {
            let place = value.as_str().unwrap().strip_prefix('#').unwrap();
            assert!(document.pointer(place).is_some(), "{place}");
            referred.insert(place.to_owned());
        }
    });
    for kind in ["parameters", "responses", "schemas"] {
        for name in document["components"][kind].as_object().unwrap().keys() {
            assert!(referred.contains(&format!("/components/{kind}/{name}")), "{name} is unused");
        }
    }
    let mut names = BTreeSet::new();
    for (method, path) in documented() {
        let operation = &document["paths"][&path][&method];
        let about = format!("{method} {path}");
        assert!(names.insert(operation["operationId"].as_str().unwrap().to_owned()), "{about}");
        assert!(!operation["summary"].as_str().unwrap().is_empty(), "{about}");
        assert!(!operation["x-shield-roles"].as_array().unwrap().is_empty(), "{about}");
        let tags = document["tags"].as_array().unwrap();
        assert!(tags.iter().any(|tag| tag["name"] == operation["tags"][0]), "{about}");
        assert_eq!(
            operation["security"].is_array(),
            !path.starts_with("/v1/") && path != "/metrics"
        );
        let responses = operation["responses"].as_object().unwrap();
        assert!(responses.keys().any(|status| status.starts_with(['2', '3'])), "{about}");
    }
}

#[test]
fn the_example_of_an_election_is_one() {
    let example = openapi()["components"]["schemas"]["NewElection"]["example"].clone();
    let new: NewElection = serde_json::from_value(example).unwrap();
    let file = ElectionFile::parse(&new.file).unwrap();
    assert!(file.teachers().iter().all(|teacher| new.teachers.contains_key(teacher.as_str())));
}
