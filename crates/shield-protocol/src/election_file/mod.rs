//! The election file: what all parties agree on before anyone makes a key, as TOML.
//!
//! ```toml
//! name = "ward-7"                      # lower-case letters, digits, - and _
//! group = "hospitals"                  # whose privacy budget pays
//! classes = 10                         # or their names: ["cat", "dog", "owl"]
//! samples = 100                        # or samples_file = "samples.csv": their list is bound
//! polynomial = "8X^4+6X^3+4X^2+X"      # optional, this is the default
//! offset = 5                           # optional, 5 by default
//! sampling = "with-replacement"        # optional
//! engine = "bfv"                       # optional, or "tfhe"
//! mechanism = "shield"                 # optional, or "noisy-argmax"
//! proofs = true                        # optional, false by default; for votes on bfv
//! # noise = 40.0                       # for noisy-argmax: scale or deviation, in votes
//! # noise_law = "skellam"              # optional, or "laplace"; for noisy-argmax
//! # dropouts = 0                       # optional, for noisy-argmax: who may be missing
//! # voters_per_teacher = 40            # optional, for noisy-argmax on bfv: teachers send counts
//! # protects = "teacher"               # optional, with the key above: or "voter"
//! quorum = 4                           # voters that every sample must have
//! deadline = 2027-03-01T12:00:00Z      # optional: no ballot is taken later
//! teachers = ["amber", "birch", "cedar", "dogwood", "elm"]
//! ```
//!
//! An election is *signed* if its file has everybody's public line, as `shield identity new` prints
//! it, in place of names; then every step is a line of its [board](shield_board). An unsigned one
//! is for experiments, and for those who trust whoever runs the server with the names.
//!
//! ```toml
//! operator = "office shield1..."       # keeps the board and aggregates
//! student = "lab shield1..."
//! auditors = ["vera shield1..."]       # optional: they compute the results again
//! audits = 1                           # optional, all of them by default: how many must agree
//! teachers = ["amber shield1...", "birch shield1..."]
//! ```
//!
//! A file is checked as a whole: everything that is wrong with it is said at once, with the lines.
//! Whoever has the same file has the same [digest](ElectionFile::digest), and every key, ballot and
//! release carries it.

mod engine_keys;
mod mistakes;
mod planned;
mod reader;
mod signers;
mod subject;
#[cfg(test)]
mod tests;

use std::fmt::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use shield_board::{Digest, Parties, Role};
use shield_core::shared_noise::NoiseFamily;
use shield_core::{ClassNames, Election, Offset, Polynomial, Sampling, Setting};

use crate::engine::{Engine, EngineName, EngineSpec, NoisyArgmax, Outline, SpecError};
use crate::name::Name;
use crate::samples::SamplesDigest;
use engine_keys::EngineKeys;
pub use mistakes::{ElectionFileError, Mistake};
pub use planned::PlannedElection;
use reader::Reader;
use signers::Signers;

/// The longest election file that is read: room for 100,000 teachers.
pub const MAX_BYTES: usize = 8 << 20;

/// An election file that holds together.
#[derive(Clone, Debug, PartialEq)]
pub struct ElectionFile {
    name: Name,
    group: Name,
    class_names: Option<ClassNames>,
    samples_digest: Option<SamplesDigest>,
    election: Election,
    spec: EngineSpec,
    outline: Outline,
    quorum: u32,
    deadline: Option<Timestamp>,
    teachers: Vec<Name>,
    signers: Option<Signers>,
}

impl ElectionFile {
    /// Reads an election file that names no other file.
    pub fn parse(text: &str) -> Result<Self, ElectionFileError> {
        Self::read(text, None)
    }

    /// Reads an election file that may name a list of samples, by its place from this folder.
    pub fn parse_in(text: &str, folder: &Path) -> Result<Self, ElectionFileError> {
        Self::read(text, Some(folder))
    }

    fn read(text: &str, folder: Option<&Path>) -> Result<Self, ElectionFileError> {
        let mut reader = Reader::new(text)?;
        let name = reader.text::<Name>("name");
        let group = reader.text::<Name>("group");
        let (classes, class_names) = subject::classes(&mut reader).unzip();
        let (samples, samples_digest) = subject::samples(&mut reader, folder).unzip();
        let polynomial = reader.optional("polynomial", Reader::text::<Polynomial>);
        let offset = reader.optional("offset", |reader, key| {
            reader.whole(key, |count| count.to_string().parse::<Offset>())
        });
        let sampling = reader.optional("sampling", Reader::text::<Sampling>);
        let engine_keys = EngineKeys::read(&mut reader);
        let quorum = reader.whole("quorum", |count| Ok(u32::try_from(count).unwrap_or(u32::MAX)));
        let deadline = reader.optional("deadline", Reader::timestamp);
        let teachers = reader.parties("teachers");
        let signers = Signers::read(&mut reader, teachers.as_deref().unwrap_or_default());
        let teachers: Option<Vec<Name>> =
            teachers.map(|teachers| teachers.into_iter().map(|teacher| teacher.name).collect());
        reader.refuse_the_rest();

        let setting = Setting {
            polynomial: polynomial.unwrap_or_default(),
            offset: offset.unwrap_or_default(),
            sampling: sampling.unwrap_or_default(),
        };
        if let (Some(quorum), Some(teachers)) = (quorum, &teachers)
            && !(1..=teachers.len()).contains(&(quorum as usize))
        {
            let teachers = teachers.len();
            let problem = format!(
                "the quorum is {quorum} and there are {teachers} teachers; it must be from 1 to \
                 {teachers}"
            );
            reader.mistake_at("quorum", problem);
        }
        let mut election = None;
        if let (Some(classes), Some(samples), Some(teachers)) = (classes, samples, &teachers) {
            match Election::new(teachers.len(), classes, samples, setting) {
                Ok(sound) => election = Some(sound),
                Err(error) => {
                    let key = if samples_digest.flatten().is_some() && folder.is_some() {
                        "samples_file"
                    } else {
                        "samples"
                    };
                    reader.mistake_at(key, error.to_string());
                }
            }
        }
        let mut planned = None;
        if let (Some(election), Some(quorum)) = (&election, quorum) {
            let spec = engine_keys.spec(&mut reader, election.teachers(), quorum);
            if let (Some(spec), true) = (spec, reader.is_fine()) {
                match spec.outline(election) {
                    Ok(outline) => planned = Some((spec, outline)),
                    Err(error) => {
                        let key = match (&error, spec.argmax()) {
                            (SpecError::Plan(_), None) => "polynomial",
                            (SpecError::Plan(_), Some(_)) => "noise",
                            _ => "engine",
                        };
                        reader.mistake_at(key, error.to_string());
                    }
                }
            }
        }
        let (Some(name), Some(group), Some(election), Some(quorum), Some(teachers)) =
            (name, group, election, quorum, teachers)
        else {
            return Err(reader.into_error());
        };
        let (Some((spec, outline)), true) = (planned, reader.is_fine()) else {
            return Err(reader.into_error());
        };
        let (class_names, samples_digest) = (class_names.flatten(), samples_digest.flatten());
        let mut file = Self {
            name,
            group,
            class_names,
            samples_digest,
            election,
            spec,
            outline,
            quorum,
            deadline,
            teachers,
            signers,
        };
        let digest = file.digest();
        if let Some(signers) = &mut file.signers {
            signers.parties.bind_to(Digest(digest));
        }
        file.election = file.election.clone().bound_to(digest);
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

    /// The names of the classes, if the file has any.
    pub fn class_names(&self) -> Option<&ClassNames> {
        self.class_names.as_ref()
    }

    /// The digest of the list of samples, if the file binds one.
    pub fn samples_digest(&self) -> Option<SamplesDigest> {
        self.samples_digest
    }

    /// What the engines need to know, bound to this file.
    pub fn election(&self) -> &Election {
        &self.election
    }

    /// The engine and the mechanism.
    pub fn spec(&self) -> &EngineSpec {
        &self.spec
    }

    /// How many batches the engine makes of the samples: known without making the engine.
    pub fn batches(&self) -> usize {
        self.outline.batches
    }

    /// The engine's view of the election: known without making the engine.
    pub fn outline(&self) -> Outline {
        self.outline
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

    /// All parties with their keys, if the election is signed.
    pub fn parties(&self) -> Option<&Parties> {
        self.signers.as_ref().map(|signers| &signers.parties)
    }

    /// How many auditors must have computed the results again before the student opens them.
    pub fn audits(&self) -> u32 {
        self.signers.as_ref().map_or(0, |signers| signers.audits)
    }

    /// A new engine for this election.
    pub(crate) fn engine(&self) -> Arc<dyn Engine> {
        self.spec.engine(&self.election).expect("the plan was made when the file was read")
    }

    /// A digest of everything that the file says: the same for every way of writing it down.
    pub fn digest(&self) -> [u8; 32] {
        blake3::derive_key("shield 2026 election file v1", self.canonical().as_bytes())
    }

    /// The file as this program writes it: every key that counts, in a fixed order.
    ///
    /// Digests are made of this text. The default engine, mechanism and noise law are not in it.
    pub fn canonical(&self) -> String {
        let setting = self.election.setting();
        let mut text = String::new();
        let mut line = |key: &str, value: &dyn fmt::Display| {
            let _ = writeln!(text, "{key} = {value}");
        };
        let quoted = |value: &dyn fmt::Display| format!("\"{value}\"");
        line("name", &quoted(&self.name));
        line("group", &quoted(&self.group));
        match &self.class_names {
            None => line("classes", &self.election.classes().count()),
            Some(names) => {
                let text = |name: &String| toml::Value::String(name.clone()).to_string();
                let names: Vec<String> = names.as_slice().iter().map(text).collect();
                line("classes", &format!("[{}]", names.join(", ")));
            }
        }
        line("samples", &self.election.samples());
        if let Some(digest) = self.samples_digest {
            line("samples_digest", &quoted(&digest));
        }
        if self.spec.engine_name() != EngineName::default() {
            line("engine", &quoted(&self.spec.engine_name()));
        }
        if self.spec.proofs() {
            line("proofs", &true);
        }
        match self.spec.argmax() {
            None => {
                line("polynomial", &quoted(&setting.polynomial));
                line("offset", &setting.offset);
                line("sampling", &quoted(&setting.sampling));
            }
            Some(NoisyArgmax { noise, counts, threshold }) => {
                line("mechanism", &quoted(&self.spec.mechanism_name()));
                line("noise", &format!("{:?}", noise.scale().get()));
                if noise.family() != NoiseFamily::default() {
                    line("noise_law", &quoted(&noise.family()));
                }
                line("dropouts", &noise.dropouts());
                if let Some(threshold) = threshold {
                    line("threshold", &threshold);
                }
                if let Some(counts) = counts {
                    line("voters_per_teacher", &counts.voters());
                    line("protects", &quoted(&counts.protects()));
                }
            }
        }
        line("quorum", &self.quorum);
        if let Some(deadline) = self.deadline {
            line("deadline", &deadline);
        }
        let Some(Signers { parties, audits }) = &self.signers else {
            let teachers: Vec<String> = self.teachers.iter().map(|name| quoted(name)).collect();
            line("teachers", &format!("[{}]", teachers.join(", ")));
            return text;
        };
        let of = |role| parties.in_role(role).map(|party| quoted(&party.line));
        line("operator", &of(Role::Operator).collect::<String>());
        line("student", &of(Role::Student).collect::<String>());
        let auditors: Vec<String> = of(Role::Auditor).collect();
        if !auditors.is_empty() {
            line("auditors", &format!("[{}]", auditors.join(", ")));
            line("audits", audits);
        }
        // In the order of their numbers.
        let public = |name| parties.get(name).map(|party| quoted(&party.line));
        let teachers: Vec<String> = self.teachers.iter().filter_map(public).collect();
        line("teachers", &format!("[{}]", teachers.join(", ")));
        text
    }
}

fn usize_of(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
