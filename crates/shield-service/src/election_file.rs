//! The election file: what all parties agree on before anyone makes a key, as TOML.
//!
//! ```toml
//! name = "ward-7"                      # lower-case letters, digits, - and _
//! group = "hospitals"                  # whose privacy budget pays
//! classes = 10
//! samples = 100
//! polynomial = "8X^4+6X^3+4X^2+X"      # optional, this is the default
//! offset = 5                           # optional, 1 by default
//! sampling = "with-replacement"        # optional
//! release = "reveal"                   # optional, or "composable"
//! quorum = 4                           # voters that every sample must have
//! deadline = 2027-03-01T12:00:00Z      # optional: no ballot is taken later
//! teachers = ["amber", "birch", "cedar", "dogwood", "elm"]
//! ```
//!
//! A file is checked as a whole: everything that is wrong with it is said at once, with the lines.
//! Whoever has the same file has the same [digest](ElectionFile::digest), and every key, ballot and
//! release carries it.

use std::collections::HashSet;
use std::fmt::{self, Write as _};
use std::ops::Range;
use std::str::FromStr;

use jiff::Timestamp;
use shield::{Classes, Election, Offset, ParameterError, Polynomial, Sampling, Setting};
use shield_bfv::{BfvBackend, ReleaseMode};
use thiserror::Error;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::name::Name;

/// The longest election file that is read: room for 100,000 teachers.
pub const MAX_BYTES: usize = 8 << 20;

/// An election file that holds together.
#[derive(Clone, Debug, PartialEq)]
pub struct ElectionFile {
    name: Name,
    group: Name,
    election: Election,
    release: ReleaseMode,
    batches: usize,
    quorum: u32,
    deadline: Option<Timestamp>,
    teachers: Vec<Name>,
}

/// One thing that is wrong with an election file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The line, counted from 1; none for what is missing.
    pub line: Option<usize>,
    /// What is wrong, and what to write instead.
    pub problem: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.problem),
            None => f.write_str(&self.problem),
        }
    }
}

/// Everything that is wrong with an election file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", list(mistakes))]
pub struct ElectionFileError {
    /// At least one, in the order of the file.
    pub mistakes: Vec<Mistake>,
}

fn list(mistakes: &[Mistake]) -> String {
    match mistakes {
        [only] => only.to_string(),
        several => several.iter().fold(
            format!("{} mistakes in the election file:", several.len()),
            |mut text, mistake| {
                let _ = write!(text, "\n  {mistake}");
                text
            },
        ),
    }
}

impl ElectionFile {
    /// Reads an election file.
    pub fn parse(text: &str) -> Result<Self, ElectionFileError> {
        let mut reader = Reader::new(text)?;
        let name = reader.text::<Name>("name");
        let group = reader.text::<Name>("group");
        let classes = reader.whole("classes", |count| Classes::new(usize_of(count)));
        let samples = reader.whole("samples", |count| Ok(usize_of(count)));
        let polynomial = reader.optional("polynomial", Reader::text::<Polynomial>);
        let offset = reader.optional("offset", |reader, key| {
            reader.whole(key, |count| count.to_string().parse::<Offset>())
        });
        let sampling = reader.optional("sampling", Reader::text::<Sampling>);
        let release = reader.optional("release", Reader::text::<ReleaseMode>);
        let quorum = reader.whole("quorum", |count| Ok(u32::try_from(count).unwrap_or(u32::MAX)));
        let deadline = reader.optional("deadline", Reader::timestamp);
        let teachers = reader.names("teachers");
        reader.refuse_the_rest();

        let mechanism = Setting {
            polynomial: polynomial.unwrap_or_default(),
            offset: offset.unwrap_or_default(),
            sampling: sampling.unwrap_or_default(),
        };
        if let (Some(quorum), Some(teachers)) = (quorum, &teachers)
            && !(1..=teachers.len()).contains(&(quorum as usize))
        {
            let teachers = teachers.len();
            let problem = format!(
                "the quorum is {quorum} and there are {teachers} teachers; it must be from 1 to {teachers}"
            );
            reader.mistake_at("quorum", problem);
        }
        let mut election = None;
        if let (Some(classes), Some(samples), Some(teachers)) = (classes, samples, &teachers) {
            match Election::new(teachers.len(), classes, samples, mechanism) {
                Ok(sound) => election = Some(sound),
                Err(error) => reader.mistake_at("samples", error.to_string()),
            }
        }
        let release = release.unwrap_or_default();
        let mut batches = 0;
        if let (Some(election), true) = (&election, reader.mistakes.is_empty()) {
            match shield_bfv::Plan::new(election, release) {
                Ok(plan) => batches = plan.batches(),
                Err(error) => reader.mistake_at("polynomial", error.to_string()),
            }
        }
        let (Some(name), Some(group), Some(election), Some(quorum), Some(teachers), true) =
            (name, group, election, quorum, teachers, reader.mistakes.is_empty())
        else {
            return Err(reader.into_error());
        };
        let mut file = Self { name, group, election, release, batches, quorum, deadline, teachers };
        file.election = file.election.clone().bound_to(file.digest());
        Ok(file)
    }

    /// The election's name.
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// The group of teachers whose privacy budget pays.
    pub fn group(&self) -> &Name {
        &self.group
    }

    /// What the engines need to know, bound to this file.
    pub fn election(&self) -> &Election {
        &self.election
    }

    /// What the student gets.
    pub fn release(&self) -> ReleaseMode {
        self.release
    }

    /// How many batches the engine makes of the samples: known without making the engine.
    pub fn batches(&self) -> usize {
        self.batches
    }

    /// How many voters every sample must have.
    pub fn quorum(&self) -> u32 {
        self.quorum
    }

    /// When the last ballot is taken.
    pub fn deadline(&self) -> Option<Timestamp> {
        self.deadline
    }

    /// The teachers, in the order in which they are numbered.
    pub fn teachers(&self) -> &[Name] {
        &self.teachers
    }

    /// The number of a teacher.
    pub fn teacher(&self, name: &str) -> Option<u32> {
        let place = self.teachers.iter().position(|teacher| teacher.as_str() == name)?;
        u32::try_from(place).ok()
    }

    /// The engine for this election.
    pub fn backend(&self) -> BfvBackend {
        BfvBackend::new(self.election.clone(), self.release)
            .expect("the plan was made when the file was read")
    }

    /// A digest of everything that the file says: the same for every way of writing it down.
    pub fn digest(&self) -> [u8; 32] {
        blake3::derive_key("shield 2026 election file v1", self.canonical().as_bytes())
    }

    /// The file as this program writes it: every key, in a fixed order.
    pub fn canonical(&self) -> String {
        let mechanism = self.election.setting();
        let mut text = String::new();
        let mut line = |key: &str, value: &dyn fmt::Display| {
            let _ = writeln!(text, "{key} = {value}");
        };
        let quoted = |value: &dyn fmt::Display| format!("\"{value}\"");
        line("name", &quoted(&self.name));
        line("group", &quoted(&self.group));
        line("classes", &self.election.classes().count());
        line("samples", &self.election.samples());
        line("polynomial", &quoted(&mechanism.polynomial));
        line("offset", &mechanism.offset);
        line("sampling", &quoted(&mechanism.sampling));
        line("release", &quoted(&self.release));
        line("quorum", &self.quorum);
        if let Some(deadline) = self.deadline {
            line("deadline", &deadline);
        }
        let teachers: Vec<String> = self.teachers.iter().map(|name| quoted(name)).collect();
        line("teachers", &format!("[{}]", teachers.join(", ")));
        text
    }
}

fn usize_of(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

/// Takes the keys out of a table one by one and collects what is wrong.
struct Reader<'a> {
    text: &'a str,
    table: DeTable<'a>,
    /// Where each key that was taken stands.
    places: Vec<(&'static str, Range<usize>)>,
    mistakes: Vec<Mistake>,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Result<Self, ElectionFileError> {
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

    fn take(&mut self, key: &'static str) -> Option<Spanned<DeValue<'a>>> {
        let value = self.table.remove(key);
        match &value {
            Some(value) => self.places.push((key, value.span())),
            None => {
                self.mistakes.push(Mistake { line: None, problem: format!("`{key}` is missing") });
            }
        }
        value
    }

    /// Reads a key that may be left out.
    fn optional<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&mut Self, &'static str) -> Option<T>,
    ) -> Option<T> {
        if self.table.contains_key(key) { read(self, key) } else { None }
    }

    fn text<T: FromStr<Err: fmt::Display>>(&mut self, key: &'static str) -> Option<T> {
        let value = self.take(key)?;
        let Some(text) = value.get_ref().as_str() else {
            self.mistake_at(key, format!("`{key}` must be text in quotes"));
            return None;
        };
        text.parse().map_err(|error| self.mistake_at(key, format!("`{key}`: {error}"))).ok()
    }

    fn whole<T>(
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

    fn timestamp(&mut self, key: &'static str) -> Option<Timestamp> {
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

    fn names(&mut self, key: &'static str) -> Option<Vec<Name>> {
        let value = self.take(key)?;
        let Some(array) = value.get_ref().as_array() else {
            self.mistake_at(
                key,
                format!("`{key}` must be a list of names: [\"amber\", \"birch\"]"),
            );
            return None;
        };
        let before = self.mistakes.len();
        let mut names: Vec<Name> = Vec::with_capacity(array.len());
        let mut met = HashSet::new();
        for entry in array {
            let parsed = entry.get_ref().as_str().map(Name::from_str);
            let problem = match parsed {
                Some(Ok(name)) if met.insert(name.clone()) => {
                    names.push(name);
                    continue;
                }
                Some(Ok(name)) => format!("the teacher `{name}` stands there twice"),
                Some(Err(error)) => format!("`{key}`: {error}"),
                None => format!("`{key}` must hold names in quotes"),
            };
            let line = Some(line_of(self.text, entry.span().start));
            self.mistakes.push(Mistake { line, problem });
        }
        if array.is_empty() {
            self.mistake_at(key, format!("`{key}` is empty; name at least one"));
        }
        (self.mistakes.len() == before).then_some(names)
    }

    fn refuse_the_rest(&mut self) {
        for key in self.table.keys() {
            let line = Some(line_of(self.text, key.span().start));
            let problem = format!("`{}` is not a key of an election file", key.get_ref());
            self.mistakes.push(Mistake { line, problem });
        }
    }

    fn mistake_at(&mut self, key: &'static str, problem: String) {
        let place = self.places.iter().find(|(known, _)| *known == key);
        let line = place.map(|(_, span)| line_of(self.text, span.start));
        self.mistakes.push(Mistake { line, problem });
    }

    fn into_error(mut self) -> ElectionFileError {
        self.mistakes.sort_by_key(|mistake| mistake.line.unwrap_or(usize::MAX));
        ElectionFileError { mistakes: self.mistakes }
    }
}

fn line_of(text: &str, position: usize) -> usize {
    1 + text.bytes().take(position).filter(|&byte| byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
name = "ward-7"
group = "hospitals"
classes = 10
samples = 100
offset = 5
quorum = 2
deadline = 2027-03-01T12:00:00+01:00
teachers = ["amber", "birch", "cedar"]
"#;

    fn mistakes(text: &str) -> Vec<String> {
        let error = ElectionFile::parse(text).expect_err("there are mistakes");
        error.mistakes.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_file_and_its_canonical_form_say_the_same() {
        let file = ElectionFile::parse(GOOD).unwrap();
        let again = ElectionFile::parse(&file.canonical()).unwrap();
        assert_eq!(file, again);
        assert_eq!(file.digest(), again.digest());
        assert_eq!(file.election().fingerprint(), again.election().fingerprint());
        assert_eq!(file.teacher("cedar"), Some(2));
        assert_eq!(file.deadline().unwrap().to_string(), "2027-03-01T11:00:00Z");
    }

    #[test]
    fn every_key_changes_the_digest() {
        let file = ElectionFile::parse(GOOD).unwrap();
        for (from, to) in [
            ("ward-7", "ward-8"),
            ("hospitals", "labs"),
            ("classes = 10", "classes = 9"),
            ("samples = 100", "samples = 101"),
            ("offset = 5", "offset = 4"),
            ("quorum = 2", "quorum = 3"),
            ("+01:00", "+02:00"),
            ("\"amber\", \"birch\"", "\"birch\", \"amber\""),
            ("quorum", "polynomial = \"X\"\nquorum"),
            ("quorum", "sampling = \"without-replacement\"\nquorum"),
            ("quorum", "release = \"composable\"\nquorum"),
        ] {
            let other = ElectionFile::parse(&GOOD.replace(from, to)).expect(to);
            assert_ne!(file.digest(), other.digest(), "{from} -> {to}");
        }
    }

    #[test]
    fn all_mistakes_are_said_at_once_with_their_lines() {
        let text = r#"
name = "Ward 7"
classes = 1
samples = "many"
polynomial = "8Y"
quorum = 9
deadline = "tomorrow"
teachers = ["amber", "amber", 3]
colour = "red"
"#;
        let found = mistakes(text);
        for (line, word) in
            [(2, "name"), (3, "classes"), (4, "samples"), (5, "polynomial"), (7, "deadline")]
        {
            let start = format!("line {line}: ");
            assert!(
                found.iter().any(|m| m.starts_with(&start) && m.contains(word)),
                "{word}: {found:#?}"
            );
        }
        assert!(found.iter().any(|m| m.contains("`amber` stands there twice")), "{found:#?}");
        assert!(found.iter().any(|m| m.contains("`group` is missing")), "{found:#?}");
        assert!(found.iter().any(|m| m.contains("`colour` is not a key")), "{found:#?}");
        assert!(found.len() >= 9, "{found:#?}");
    }

    #[test]
    fn a_quorum_beyond_the_teachers_is_refused() {
        let found = mistakes(&GOOD.replace("quorum = 2", "quorum = 4"));
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("from 1 to 3"), "{found:?}");
    }

    #[test]
    fn what_is_not_toml_is_placed() {
        let found = mistakes("name = \"a\"\nclasses = = 3\n");
        assert!(found[0].starts_with("line 2: not TOML"), "{found:?}");
    }
}
