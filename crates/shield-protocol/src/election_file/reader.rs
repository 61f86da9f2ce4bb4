//! Reads TOML key by key, and collects everything that is wrong with it.

use std::collections::HashSet;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use jiff::Timestamp;
use shield_board::public::KeyError;
use shield_board::{PublicKeys, PublicLine};
use shield_core::ParameterError;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::MAX_BYTES;
use super::mistakes::{ElectionFileError, Mistake};
use crate::name::Name;

/// How many mistakes are told: whoever makes more has sent something else.
const MOST: usize = 20;

/// A party of a list: its name, and its public keys in a signed election.
pub(super) struct Entry {
    pub(super) name: Name,
    pub(super) keys: Option<PublicKeys>,
}

impl FromStr for Entry {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        if !text.contains(' ') {
            return Ok(Self { name: text.parse()?, keys: None });
        }
        let PublicLine { name, keys } = text.parse()?;
        Ok(Self { name, keys: Some(keys) })
    }
}

/// Takes the keys out of a table one by one and collects what is wrong.
pub(super) struct Reader<'a> {
    text: &'a str,
    table: DeTable<'a>,
    /// Where each key that was taken stands.
    places: Vec<(&'static str, Range<usize>)>,
    mistakes: Vec<Mistake>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str) -> Result<Self, ElectionFileError> {
        let refuse =
            |line, problem| ElectionFileError { mistakes: vec![Mistake { line, problem }] };
        if text.len() > MAX_BYTES {
            return Err(refuse(None, format!("the file is larger than {MAX_BYTES} bytes")));
        }
        let table = DeTable::parse(text).map_err(|error| {
            let line = error.span().map(|span| line_of(text, span.start));
            refuse(line, format!("not TOML: {}", error.message()))
        })?;
        Ok(Self { text, table: table.into_inner(), places: Vec::new(), mistakes: Vec::new() })
    }

    pub(super) fn take(&mut self, key: &'static str) -> Option<Spanned<DeValue<'a>>> {
        let value = self.table.remove(key);
        match &value {
            Some(value) => self.places.push((key, value.span())),
            None => self.mistake(None, || format!("`{key}` is missing")),
        }
        value
    }

    /// Whether a key is there and was not taken yet.
    pub(super) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// Whether a key was there and was taken.
    pub(super) fn was_taken(&self, key: &str) -> bool {
        self.places.iter().any(|(given, _)| *given == key)
    }

    /// Whether a key that was not taken yet is a list.
    pub(super) fn is_list(&self, key: &str) -> bool {
        self.table.get(key).is_some_and(|value| value.get_ref().as_array().is_some())
    }

    /// Reads a key that may be left out.
    pub(super) fn optional<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&mut Self, &'static str) -> Option<T>,
    ) -> Option<T> {
        if self.table.contains_key(key) { read(self, key) } else { None }
    }

    /// True or false.
    pub(super) fn boolean(&mut self, key: &'static str) -> Option<bool> {
        let value = self.take(key)?;
        let found = value.get_ref().as_bool();
        if found.is_none() {
            self.mistake_at(key, format!("`{key}` must be true or false"));
        }
        found
    }

    pub(super) fn text<T: FromStr<Err: fmt::Display>>(&mut self, key: &'static str) -> Option<T> {
        let value = self.take(key)?;
        let Some(text) = value.get_ref().as_str() else {
            self.mistake_at(key, format!("`{key}` must be text in quotes"));
            return None;
        };
        text.parse().map_err(|error| self.mistake_at(key, format!("`{key}`: {error}"))).ok()
    }

    pub(super) fn whole<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(u64) -> Result<T, ParameterError>,
    ) -> Option<T> {
        let value = self.take(key)?;
        let number = value
            .get_ref()
            .as_integer()
            .and_then(|digits| u64::from_str_radix(digits.as_str(), digits.radix()).ok());
        let Some(number) = number else {
            self.mistake_at(key, format!("`{key}` must be a whole number"));
            return None;
        };
        read(number).map_err(|error| self.mistake_at(key, format!("`{key}`: {error}"))).ok()
    }

    /// A number with or without a fraction.
    pub(super) fn number<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(f64) -> Result<T, ParameterError>,
    ) -> Option<T> {
        let value = self.take(key)?;
        let number = match value.get_ref() {
            DeValue::Float(digits) => digits.as_str().parse::<f64>().ok(),
            DeValue::Integer(digits) if digits.radix() == 10 => digits.as_str().parse().ok(),
            _ => None,
        };
        let Some(number) = number else {
            self.mistake_at(key, format!("`{key}` must be a number"));
            return None;
        };
        read(number).map_err(|error| self.mistake_at(key, format!("`{key}`: {error}"))).ok()
    }

    /// Refuses keys that the others make meaningless.
    pub(super) fn refuse_keys(&mut self, keys: &[&'static str], reason: &str) {
        for key in keys {
            if self.was_taken(key) {
                self.mistake_at(key, format!("`{key}` means nothing here: {reason}; remove it"));
            }
        }
    }

    pub(super) fn timestamp(&mut self, key: &'static str) -> Option<Timestamp> {
        let value = self.take(key)?;
        let written = value.get_ref().as_datetime().map(ToString::to_string);
        let written = written.or_else(|| value.get_ref().as_str().map(str::to_owned));
        let timestamp = written.and_then(|text| text.parse().ok());
        if timestamp.is_none() {
            let problem =
                format!("`{key}` must be a time with its zone, such as 2027-03-01T12:00:00Z");
            self.mistake_at(key, problem);
        }
        timestamp
    }

    /// A list of texts.
    pub(super) fn texts(&mut self, key: &'static str) -> Option<Vec<String>> {
        let value = self.take(key)?;
        let entries = value.get_ref().as_array().into_iter().flatten();
        let texts: Option<Vec<String>> =
            entries.map(|entry| entry.get_ref().as_str().map(str::to_owned)).collect();
        if texts.is_none() {
            let problem = format!("`{key}` must be a number or a list: [\"cat\", \"dog\"]");
            self.mistake_at(key, problem);
        }
        texts
    }

    /// A list of parties: names, or public lines.
    pub(super) fn parties(&mut self, key: &'static str) -> Option<Vec<Entry>> {
        let value = self.take(key)?;
        let Some(array) = value.get_ref().as_array() else {
            self.mistake_at(
                key,
                format!("`{key}` must be a list of names: [\"amber\", \"birch\"]"),
            );
            return None;
        };
        let before = self.mistakes.len();
        let mut entries: Vec<Entry> = Vec::with_capacity(array.len());
        let mut met = HashSet::new();
        for entry in array {
            let parsed = entry.get_ref().as_str().map(Entry::from_str);
            let problem = match parsed {
                _ if self.is_full() => break,
                Some(Ok(entry)) if met.insert(entry.name.clone()) => {
                    entries.push(entry);
                    continue;
                }
                Some(Ok(entry)) => {
                    format!("the {} `{}` is there twice", key.trim_end_matches('s'), entry.name)
                }
                Some(Err(error)) => format!("`{key}`: {error}"),
                None => format!("`{key}` must hold names in quotes"),
            };
            self.mistake(Some(entry.span().start), || problem);
        }
        if array.is_empty() {
            self.mistake_at(key, format!("`{key}` is empty; name at least one"));
        }
        (self.mistakes.len() == before).then_some(entries)
    }

    pub(super) fn refuse_the_rest(&mut self) {
        let rest: Vec<_> = self.table.keys().take(MOST + 1).cloned().collect();
        for key in rest {
            let problem = || format!("`{}` is not a key of an election file", key.get_ref());
            self.mistake(Some(key.span().start), problem);
        }
    }

    pub(super) fn mistake_at(&mut self, key: &'static str, problem: String) {
        let place = self.places.iter().find(|(known, _)| *known == key);
        let start = place.map(|(_, span)| span.start);
        self.mistake(start, || problem);
    }

    /// Whether so much is wrong that nothing more is told.
    fn is_full(&self) -> bool {
        self.mistakes.len() > MOST
    }

    /// Notes a mistake at a place in the text, if there are not too many already: finding its line
    /// takes time.
    fn mistake(&mut self, start: Option<usize>, problem: impl FnOnce() -> String) {
        let mistake = match self.mistakes.len() {
            ..MOST => {
                Mistake { line: start.map(|start| line_of(self.text, start)), problem: problem() }
            }
            MOST => {
                Mistake { line: None, problem: "there are more: put these right first".to_owned() }
            }
            _ => return,
        };
        self.mistakes.push(mistake);
    }

    /// Whether nothing is wrong so far.
    pub(super) fn is_fine(&self) -> bool {
        self.mistakes.is_empty()
    }

    pub(super) fn into_error(mut self) -> ElectionFileError {
        self.mistakes.sort_by_key(|mistake| mistake.line.unwrap_or(usize::MAX));
        ElectionFileError { mistakes: self.mistakes }
    }
}

fn line_of(text: &str, position: usize) -> usize {
    1 + text.bytes().take(position).filter(|&byte| byte == b'\n').count()
}
