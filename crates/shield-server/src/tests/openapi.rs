//! The API's description and the API itself are the same.

use std::collections::BTreeSet;

use serde_json::Value;
use shield_protocol::ElectionFile;
use shield_protocol::messages::{NewElection, Status};

use crate::{OPENAPI, routes};

fn document() -> Value {
    serde_json::from_str(OPENAPI).unwrap()
}

pub(super) fn documented() -> BTreeSet<(String, String)> {
    let document = document();
    let paths = document["paths"].as_object().unwrap();
    let operations = paths.iter().flat_map(|(path, methods)| {
        methods.as_object().unwrap().keys().map(|method| (method.clone(), path.clone()))
    });
    operations.collect()
}

#[test]
fn what_is_documented_is_served_and_what_is_served_is_documented() {
    let served = [routes::open().list, routes::guarded().list].concat();
    let count = served.len();
    let served: BTreeSet<(String, String)> =
        served.into_iter().map(|(method, path)| (method.to_owned(), path.to_owned())).collect();
    assert_eq!(served.len(), count);
    assert_eq!(served, documented());
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
    let document = document();
    assert_eq!(document["openapi"], "3.1.0");
    let mut references = 0;
    walk(&document, &mut |name, value| {
        if name == "$ref" {
            let place = value.as_str().unwrap().strip_prefix('#').unwrap();
            assert!(document.pointer(place).is_some(), "{place}");
            references += 1;
        }
    });
    assert!(references > 50);
    let mut names = BTreeSet::new();
    for (method, path) in documented() {
        let operation = &document["paths"][&path][&method];
        let about = format!("{method} {path}");
        assert!(names.insert(operation["operationId"].as_str().unwrap().to_owned()), "{about}");
        assert!(!operation["summary"].as_str().unwrap().is_empty(), "{about}");
        assert!(!operation["x-shield-roles"].as_array().unwrap().is_empty(), "{about}");
        let gaps = path.matches('{').count();
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let in_path = parameters.filter(|parameter| {
            let place = parameter["$ref"].as_str().unwrap().trim_start_matches('#');
            document.pointer(place).unwrap()["in"] == "path"
        });
        assert_eq!(in_path.count(), gaps, "{about}");
        let probes = ["/livez", "/readyz", "/healthz"];
        if !probes.contains(&&*path) {
            // What the layers around every route can answer.
            let always: &[&str] = match &*path {
                "/session/end" => &["408", "421"],
                "/" | "/session" => &["408", "421", "500", "503"],
                _ => &["401", "408", "421", "429", "500", "503"],
            };
            for status in always {
                assert!(operation["responses"][status].is_object(), "{about}: {status}");
            }
        }
        let is_open = routes::open().list.iter().any(|route| *route == (&*method, &*path));
        assert_eq!(operation["security"].is_array(), is_open, "{about}");
    }
}

#[test]
fn examples_are_what_the_program_reads_and_writes() {
    let document = document();
    let example = |place: &str| document.pointer(place).unwrap().clone();
    let content = "content/application~1json/example";
    let new = example(&format!("/paths/~1v1~1elections/post/requestBody/{content}"));
    let new: NewElection = serde_json::from_value(new).unwrap();
    let file = ElectionFile::parse(&new.file).unwrap();
    assert!(file.teachers().iter().all(|teacher| new.teachers.contains_key(teacher.as_str())));
    let status = format!("/paths/~1v1~1elections~1{{election}}/get/responses/200/{content}");
    let status = example(&status);
    let read: Status = serde_json::from_value(status.clone()).unwrap();
    assert_eq!(serde_json::to_value(&read).unwrap(), status);
    let names = |value: &Value| -> BTreeSet<String> {
        value.as_object().unwrap().keys().cloned().collect()
    };
    assert_eq!(names(&example("/components/schemas/Status/properties")), names(&status));
}
