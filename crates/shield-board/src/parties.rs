//! Who takes part in an election, and in which role.

use std::collections::{BTreeMap, HashSet};

use crate::digest::Digest;
use crate::error::BoardError;
use crate::fingerprint::Fingerprint;
use crate::identity::Identity;
pub use crate::kinds::Role;
use crate::name::Name;
use crate::public::PublicLine;

const FINGERPRINT: &str = "shield 2026 parties fingerprint v1";

/// A party of an election.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Party {
    /// What it does.
    pub role: Role,
    /// Its name and keys.
    pub line: PublicLine,
}

impl Party {
    /// A party in a role.
    pub fn new(role: Role, line: PublicLine) -> Self {
        Self { role, line }
    }
}

/// All parties of one election: one operator, and nobody twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parties {
    election: Digest,
    by_name: BTreeMap<Name, Party>,
    operator: Name,
}

impl Parties {
    /// The parties that an election file lists; `election` is the file's digest.
    pub fn new(
        election: Digest,
        parties: impl IntoIterator<Item = Party>,
    ) -> Result<Self, BoardError> {
        let mut by_name = BTreeMap::new();
        let mut keys = HashSet::new();
        let mut operator = None;
        for party in parties {
            let name = party.line.name.clone();
            // One half would be enough to sign, or to read, for both.
            let bytes = party.line.keys.to_bytes();
            let (signing, sealing) = bytes.split_at(32);
            if !keys.insert(signing.to_vec()) || !keys.insert(sealing.to_vec()) {
                let problem = format!("`{name}` has the keys of another party");
                return Err(BoardError::Parties(problem));
            }
            if party.role == Role::Operator && operator.replace(name.clone()).is_some() {
                return Err(BoardError::Parties("there are two operators".to_owned()));
            }
            if by_name.insert(name.clone(), party).is_some() {
                return Err(BoardError::Parties(format!("there are two parties named `{name}`")));
            }
        }
        let operator =
            operator.ok_or_else(|| BoardError::Parties("there is no operator".to_owned()))?;
        Ok(Self { election, by_name, operator })
    }

    /// Says in which election they take part, once the digest of its file is known.
    pub fn bind_to(&mut self, election: Digest) {
        self.election = election;
    }

    /// The digest of the election file.
    pub fn election(&self) -> Digest {
        self.election
    }

    /// The party of that name.
    pub fn get(&self, name: &Name) -> Option<&Party> {
        self.by_name.get(name)
    }

    /// The party that keeps the board.
    pub fn operator(&self) -> &Party {
        &self.by_name[&self.operator]
    }

    /// The party that an identity is, found by its keys.
    pub fn find(&self, identity: &Identity) -> Option<&Party> {
        self.by_name.values().find(|party| party.line.keys == *identity.public())
    }

    /// All parties by name.
    pub fn iter(&self) -> impl Iterator<Item = &Party> {
        self.by_name.values()
    }

    /// All parties in a role, by name.
    pub fn in_role(&self, role: Role) -> impl Iterator<Item = &Party> {
        self.iter().filter(move |party| party.role == role)
    }

    /// The number that parties compare by telephone: it is the same for two elections only if the
    /// same parties with the same keys take part in the same roles.
    pub fn fingerprint(&self) -> Fingerprint {
        let lines = self.iter().map(|party| format!("{} {}\n", party.role, party.line));
        Fingerprint::of(FINGERPRINT, lines.collect::<String>().as_bytes())
    }
}
