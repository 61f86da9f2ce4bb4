//! The parties that a user knows: one file, like `known_hosts`.
//!
//! ```toml
//! ["zoos/amber"]
//! keys = "shield1..."
//! ```
//!
//! A party that is not in it is confirmed once, by the fingerprint of all parties of an election,
//! compared by telephone. A party whose keys changed is refused until somebody removes the entry.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{BoardError, Fault, read_bounded};
use crate::fingerprint::Fingerprint;
use crate::name::Name;
use crate::new_file::folder_of;
use crate::parties::Parties;
use crate::private;
use crate::public::PublicKeys;

/// Room for 100,000 parties.
const MAX_BYTES: usize = 32 << 20;

/// The parties that a user knows.
#[derive(Debug)]
pub struct Roster {
    path: PathBuf,
    entries: BTreeMap<String, PublicKeys>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    keys: String,
}

impl Roster {
    /// Reads a roster; one that is not there is empty.
    pub fn read(path: &Path) -> Result<Self, BoardError> {
        let refuse = |fault| BoardError::refused(path, fault);
        let bytes = match read_bounded(path, MAX_BYTES) {
            Err(Fault::Io(error)) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            read => read.map_err(refuse)?,
        };
        let bad = |error: &dyn std::fmt::Display| refuse(Fault::Roster(error.to_string()));
        let text = String::from_utf8(bytes).map_err(|error| bad(&error))?;
        let read: BTreeMap<String, Entry> = toml::from_str(&text).map_err(|error| bad(&error))?;
        let parsed = read.into_iter().map(|(name, Entry { keys })| Ok((name, keys.parse()?)));
        let entries: Result<_, Fault> = parsed.collect();
        Ok(Self { path: path.to_owned(), entries: entries.map_err(refuse)? })
    }

    /// Fails unless every party of an election of this group is known with these keys. New parties
    /// become known if `trust` is the fingerprint of all of them.
    pub fn check(
        &mut self,
        group: &Name,
        parties: &Parties,
        trust: Option<Fingerprint>,
    ) -> Result<(), BoardError> {
        let fingerprint = parties.fingerprint();
        let mut new = Vec::new();
        for party in parties.iter() {
            let name = format!("{group}/{}", party.line.name);
            match self.entries.get(&name) {
                Some(known) if *known == party.line.keys => {}
                Some(known) => {
                    return Err(BoardError::ChangedKey {
                        name,
                        known: known.fingerprint().to_string(),
                        found: party.line.keys.fingerprint().to_string(),
                        roster: self.path.clone(),
                    });
                }
                None => new.push((name, party.line.keys)),
            }
        }
        match trust {
            Some(given) if given != fingerprint => Err(BoardError::OtherFingerprint {
                given: given.to_string(),
                found: fingerprint.to_string(),
            }),
            _ if new.is_empty() => Ok(()),
            Some(_) => {
                self.entries.extend(new);
                self.write()
            }
            None => Err(BoardError::Unknown {
                count: new.len(),
                first: new[0].0.clone(),
                fingerprint: fingerprint.to_string(),
                roster: self.path.clone(),
            }),
        }
    }

    fn write(&self) -> Result<(), BoardError> {
        let cannot = |error| BoardError::cannot_write(&self.path, error);
        let entry =
            |(name, keys): (&String, &PublicKeys)| (name.clone(), Entry { keys: keys.to_string() });
        let entries: BTreeMap<String, Entry> = self.entries.iter().map(entry).collect();
        let text = toml::to_string(&entries).expect("a table of strings");
        let folder = folder_of(&self.path);
        private::make_folder(folder).map_err(cannot)?;
        let mut file = tempfile::NamedTempFile::new_in(folder).map_err(cannot)?;
        io::Write::write_all(&mut file, text.as_bytes()).map_err(cannot)?;
        file.as_file().sync_all().map_err(cannot)?;
        file.persist(&self.path).map_err(|error| cannot(error.error))?;
        Ok(())
    }
}
