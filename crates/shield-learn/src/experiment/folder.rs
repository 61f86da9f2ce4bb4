//! Where an experiment keeps what it has finished, so that a second run goes on where the first one
//! ended.
//!
//! Every unit of work is one file, written whole or not at all. The settings that all units depend
//! on are beside them: a folder with other settings is refused, never mixed.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use shield_data::write_atomically;

use crate::error::LearnError;

const SETTINGS: &str = "settings.json";
const UNITS: &str = "units";

/// The folder of one experiment.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Opens the folder, or makes it. Refuses one that holds an experiment with other settings.
    pub(super) fn open(path: &Path, settings: &Map<String, Value>) -> Result<Self, LearnError> {
        let bad = |why: String| LearnError::Unusable { path: path.to_owned(), why };
        let units = path.join(UNITS);
        fs::create_dir_all(&units).map_err(|error| {
            bad(format!("cannot make the folder ({error}); give another --out"))
        })?;
        let folder = Self { path: path.to_owned() };
        match fs::read(path.join(SETTINGS)) {
            Ok(bytes) => {
                let remedy = "give another --out, or remove this folder to start again";
                let found: Map<String, Value> = serde_json::from_slice(&bytes)
                    .map_err(|error| bad(format!("{SETTINGS} is damaged ({error}); {remedy}")))?;
                let changes = changes(&found, settings);
                if !changes.is_empty() {
                    return Err(bad(format!(
                        "it holds an experiment with other settings ({}); {remedy}",
                        changes.join("; ")
                    )));
                }
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                folder.write(SETTINGS, settings)?;
            }
            Err(error) => return Err(bad(format!("cannot read {SETTINGS}: {error}"))),
        }
        Ok(folder)
    }

    /// The path of a file in it.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// A unit that was finished before. One that cannot be read is done again.
    pub(super) fn finished<T: DeserializeOwned>(&self, unit: &str) -> Option<T> {
        let bytes = fs::read(self.unit(unit)).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Keeps a finished unit, and gives back what a later run will read: the last digit of a number
    /// may change on its way through a file, and results must not depend on where a run was
    /// interrupted.
    pub(super) fn keep<T: Serialize + DeserializeOwned>(
        &self,
        unit: &str,
        result: &T,
    ) -> Result<T, LearnError> {
        let text = document(result)?;
        write_text(&self.unit(unit), &text)?;
        serde_json::from_str(&text).map_err(LearnError::failed)
    }

    /// A unit from the folder, or else made now and kept.
    pub(super) fn unit_or<T: Serialize + DeserializeOwned>(
        &self,
        unit: &str,
        make: impl FnOnce() -> Result<T, LearnError>,
    ) -> Result<T, LearnError> {
        if let Some(known) = self.finished(unit) {
            return Ok(known);
        }
        self.keep(unit, &make()?)
    }

    /// Writes a document beside the units.
    pub(super) fn write<T: Serialize>(&self, name: &str, content: &T) -> Result<(), LearnError> {
        write_text(&self.path(name), &document(content)?)
    }

    fn unit(&self, name: &str) -> PathBuf {
        self.path.join(UNITS).join(format!("{name}.json"))
    }
}

fn document<T: Serialize>(content: &T) -> Result<String, LearnError> {
    Ok(serde_json::to_string_pretty(content).map_err(LearnError::failed)? + "\n")
}

fn write_text(path: &Path, text: &str) -> Result<(), LearnError> {
    write_atomically(path, |file| file.write_all(text.as_bytes())).map_err(|error| {
        LearnError::failed(format!("{}: cannot write it: {error}", path.display()))
    })
}

/// What differs, in words.
fn changes(found: &Map<String, Value>, wanted: &Map<String, Value>) -> Vec<String> {
    let names = found.keys().chain(wanted.keys().filter(|name| !found.contains_key(*name)));
    let show = |value: Option<&Value>| value.map_or("nothing".to_owned(), Value::to_string);
    names
        .filter(|name| found.get(*name) != wanted.get(*name))
        .map(|name| {
            format!("{name}: {} there, {} now", show(found.get(name)), show(wanted.get(name)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn settings(seed: u64) -> Map<String, Value> {
        json!({ "seed": seed, "queries": 100 }).as_object().unwrap().clone()
    }

    #[test]
    fn what_is_kept_comes_back_and_damage_is_done_again() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::open(place.path(), &settings(1)).unwrap();
        let make = |value: u64| folder.unit_or("a", || Ok(value)).unwrap();
        assert_eq!((make(1), make(2)), (1, 1));
        // 279.98621970931475 is one of many numbers whose last digit changes on the way.
        let number = |unit: &str| folder.unit_or(unit, || Ok(279.986_219_709_314_75_f64)).unwrap();
        assert_eq!(number("b").to_bits(), number("b").to_bits());
        fs::write(place.path().join("units/a.json"), "{").unwrap();
        assert_eq!((make(3), make(4)), (3, 3));
    }

    #[test]
    fn other_settings_are_refused_by_name() {
        let place = tempfile::tempdir().unwrap();
        Folder::open(place.path(), &settings(1)).unwrap();
        Folder::open(place.path(), &settings(1)).unwrap();
        let refused = Folder::open(place.path(), &settings(2)).unwrap_err();
        assert!(refused.is_bad_input());
        let message = refused.to_string();
        assert!(message.contains("seed: 1 there, 2 now") && message.contains("--out"), "{message}");
        assert!(!message.contains("queries"), "{message}");
    }
}
