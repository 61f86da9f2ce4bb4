//! Exactly one release: what the server fixes before it aggregates.
//!
//! Two files, both written once and never changed:
//!
//! - beside the results, `<results>.seed`, for the server alone: its part of the seed (see
//!   [`crate::seed`]), bound to a digest of the election, the evaluation key and the ballots;
//! - among the ballots, [`RECORD`], for anybody: which ballots were frozen, and a digest of their
//!   seed.
//!
//! The seed is on the disk before the record, and the record before anything is aggregated. A seed
//! is used only with what it is bound to, and ballots that have a record only with the seed it
//! names. Aggregation is a pure function of all these, so that whatever interrupts it, running it
//! again gives the same bytes; and with a late ballot, a corrected one, or the same ones under
//! another name of results, it is refused.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rand::CryptoRng;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::storage::Storage;
use crate::error::{Problem, ProtocolError, Refused};
use crate::files::read_bounded;
use crate::hex::hex;
use crate::new_file::{Readers, write_new};
use crate::seed::SeedPart;
pub use crate::transcript::Frozen;

/// The name of the record in the folder of the ballots.
pub const RECORD: &str = "aggregated.toml";

const MAGIC: [u8; 4] = *b"SHSD";
const VERSION: u16 = 2;
const SEED_BYTES: usize = 4 + 2 + 2 + 4 * 32;
/// Room for a million teachers.
const MAX_RECORD: usize = 160 << 20;

const RECORD_START: &str = "\
# Written by `shield aggregate` when it froze the ballots in this folder. Keep it: it is what \
stops them from being\n\
# answered a second time. It holds digests only, nothing secret.\n";

/// The names of an audit's records in the folder of the ballots: what was asked, what was answered.
pub(super) fn audit_records(round: usize) -> [String; 2] {
    ["asked", "answered"].map(|what| format!("audit-{round}.{what}.toml"))
}

/// Whether a file among the ballots is a record of an audit.
pub(super) fn is_audit_record(name: &std::ffi::OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.starts_with(b"audit-") && name.ends_with(b"ed.toml")
}

/// Where the seed of some results is.
pub fn seed_path(results: &Path) -> PathBuf {
    let mut name = results.as_os_str().to_owned();
    name.push(".seed");
    name.into()
}

/// Where a release goes, and its seed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    /// A file of results, or a job's folder.
    pub(super) out: &'a Path,
    /// The server's part of the seed.
    pub(super) seed: &'a Path,
}

/// What [`RECORD`] says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    results: String,
    election: String,
    evaluation_key: String,
    commitment: String,
    seed: String,
    ballots: BTreeMap<String, String>,
}

impl Record {
    fn new(frozen: &Frozen, part: &SeedPart, results: &Path) -> Self {
        let ballots = frozen.ballots.iter();
        Self {
            results: results.display().to_string(),
            election: hex(&frozen.election),
            evaluation_key: hex(&frozen.evaluation_key),
            commitment: hex(&part.commitment(&frozen.election)),
            seed: hex(&part.name()),
            ballots: ballots.map(|(name, hash)| (name.clone(), hex(hash))).collect(),
        }
    }

    fn read(storage: &dyn Storage, path: &Path) -> Result<Option<Self>, Refused> {
        let mut bytes = Vec::new();
        let read = storage
            .open(path)
            .and_then(|file| file.take(MAX_RECORD as u64 + 1).read_to_end(&mut bytes));
        match read {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read.map_err(|error| Refused::new(path, error))?,
        };
        let text = String::from_utf8(bytes).ok();
        let record = text.and_then(|text| toml::from_str(&text).ok());
        record.ok_or_else(|| Refused::new(path, Problem::Damaged)).map(Some)
    }

    fn check(&self, path: &Path, frozen: &Frozen) -> Result<(), ProtocolError> {
        let differences = if self.election == hex(&frozen.election) {
            frozen.differences(&self.evaluation_key, &self.ballots)
        } else {
            vec!["they were the ballots of another election".to_owned()]
        };
        if differences.is_empty() {
            return Ok(());
        }
        Err(second_draw(
            path,
            format!(
                "the ballots in this folder were aggregated into {}, and then {}; put them back \
                 as they were, and hold a new election for other ballots",
                self.results,
                differences.join(", ")
            ),
        ))
    }
}

/// The server's part of the seed, and what it is bound to.
pub(crate) struct BoundSeed {
    pub(crate) election: [u8; 32],
    /// What is frozen; zeros as long as nothing is.
    pub(crate) frozen: [u8; 32],
    pub(crate) part: SeedPart,
}

impl BoundSeed {
    pub(crate) fn encode(&self) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(SEED_BYTES));
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend([0; 2]);
        bytes.extend(self.election);
        bytes.extend(self.frozen);
        bytes.extend(self.part.as_bytes());
        let checksum = blake3::hash(&bytes);
        bytes.extend(checksum.as_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; SEED_BYTES] = bytes.try_into().ok()?;
        let (content, checksum) = bytes.split_at(SEED_BYTES - 32);
        let (start, fields) = content.split_at(8);
        let sound = start[..4] == MAGIC
            && start[4..6] == VERSION.to_le_bytes()
            && start[6..] == [0; 2]
            && blake3::hash(content) == *<&[u8; 32]>::try_from(checksum).ok()?;
        let field = |place: usize| <[u8; 32]>::try_from(&fields[32 * place..][..32]).ok();
        let part = SeedPart::from_bytes(field(2)?);
        sound.then_some(Self { election: field(0)?, frozen: field(1)?, part })
    }

    pub(crate) fn read(path: &Path) -> Result<Option<Self>, Refused> {
        let Some(bytes) = read_if_there(path, SEED_BYTES)? else { return Ok(None) };
        let bytes = Zeroizing::new(bytes);
        if let Some(found) = other_version(&bytes) {
            return Err(Refused::new(path, Problem::SeedVersion { found, known: VERSION }));
        }
        Self::decode(&bytes).ok_or_else(|| Refused::new(path, Problem::Damaged)).map(Some)
    }

    fn check(&self, path: &Path, frozen: &Frozen) -> Result<(), ProtocolError> {
        let of = if self.election != frozen.election {
            "election; write the results of this one somewhere else"
        } else if self.frozen != frozen.digest() {
            "set of ballots or evaluation key; put them back as they were, and hold a new \
             election for other ballots"
        } else {
            return Ok(());
        };
        Err(second_draw(path, format!("this seed was drawn for another {of}")))
    }
}

/// The version of a seed file, if it is one that another version of this program wrote.
fn other_version(bytes: &[u8]) -> Option<u16> {
    let version = bytes.strip_prefix(&MAGIC)?.first_chunk()?;
    Some(u16::from_le_bytes(*version)).filter(|&version| version != VERSION)
}

/// The server's part of the seed of a release that stands for ever.
pub(super) struct Settled {
    pub(super) part: SeedPart,
    /// Whether it was there already.
    pub(super) again: bool,
}

/// Refuses ballots that differ from those that were aggregated from the same folder.
pub(super) fn check_record(
    frozen: &Frozen,
    storage: &dyn Storage,
    ballots: &Path,
) -> Result<(), ProtocolError> {
    let path = ballots.join(RECORD);
    match Record::read(storage, &path)? {
        Some(record) => record.check(&path, frozen),
        None => Ok(()),
    }
}

/// The server's part that a commitment was made to, if it is this election's.
pub(crate) fn committed(path: &Path, election: &[u8; 32]) -> Result<SeedPart, ProtocolError> {
    let Some(bound) = BoundSeed::read(path)? else {
        return Err(Refused::new(path, Problem::Io(io::ErrorKind::NotFound.into())).into());
    };
    if bound.election == *election {
        return Ok(bound.part);
    }
    let reason = "this part of a seed was committed for another election; give this one's";
    Err(second_draw(path, reason.to_owned()))
}

/// The server commits to its part of the seed: writes it, once, and gives the commitment. The same
/// again gives the same.
pub fn commit<R: CryptoRng>(
    election: &[u8; 32],
    out: &Path,
    rng: &mut R,
) -> Result<[u8; 32], ProtocolError> {
    crate::files::check_folder_of(out)?;
    let part = SeedPart::random(rng);
    let fresh = BoundSeed { election: *election, frozen: [0; 32], part };
    write_once(out, Readers::Owner, &fresh.encode())?;
    Ok(committed(out, election)?.commitment(election))
}

/// The one part for what is frozen: the stored one, the committed one, or a fresh one. Stored now.
pub(super) fn settle<R: CryptoRng>(
    frozen: &Frozen,
    ballots: &Path,
    storage: &dyn Storage,
    Place { out, seed: seed_path }: Place<'_>,
    committed: Option<SeedPart>,
    rng: &mut R,
) -> Result<Settled, ProtocolError> {
    let record_path = ballots.join(RECORD);
    let record = Record::read(storage, &record_path)?;
    if let Some(record) = &record {
        record.check(&record_path, frozen)?;
    }
    let stored = BoundSeed::read(seed_path)?;
    let again = stored.is_some();
    let bound = match (stored, &record) {
        (Some(stored), _) => stored,
        (None, Some(record)) => {
            return Err(second_draw(
                &record_path,
                format!(
                    "these ballots were aggregated into {}, and there is no seed at {}; write to \
                     the same file as before, with its seed beside it",
                    record.results,
                    seed_path.display()
                ),
            ));
        }
        (None, None) if out.symlink_metadata().is_ok_and(|found| !found.is_dir()) => {
            return Err(second_draw(
                out,
                format!(
                    "the file exists, but not {}, the seed that results come from; restore the \
                     seed from a backup, or write somewhere else if these are not the results of \
                     this election",
                    seed_path.display()
                ),
            ));
        }
        (None, None) => {
            let fresh = BoundSeed {
                election: frozen.election,
                frozen: frozen.digest(),
                part: committed.clone().unwrap_or_else(|| SeedPart::random(rng)),
            };
            write_once(seed_path, Readers::Owner, &fresh.encode())?;
            // Whoever was first, if two run at once: what stands there is the seed.
            BoundSeed::read(seed_path)?.ok_or_else(|| Refused::new(seed_path, Problem::Damaged))?
        }
    };
    bound.check(seed_path, frozen)?;
    if committed.is_some_and(|committed| committed != bound.part) {
        let reason = "these ballots were frozen with another part of the seed than the committed \
                      one; go on without --committed, and tell the parties";
        return Err(second_draw(seed_path, reason.to_owned()));
    }
    if record.is_none() {
        let record = Record::new(frozen, &bound.part, out);
        let text = toml::to_string(&record).expect("strings and a table of strings");
        let text = RECORD_START.to_owned() + &text;
        match storage.write_new(&record_path, text.as_bytes()) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            written => {
                written.map_err(|error| ProtocolError::cannot_write(&record_path, error))?;
            }
        }
    }
    let record = Record::read(storage, &record_path)?;
    let record = record.ok_or_else(|| Refused::new(&record_path, Problem::Damaged))?;
    record.check(&record_path, frozen)?;
    if record.seed != hex(&bound.part.name()) {
        return Err(second_draw(
            seed_path,
            format!(
                "the ballots in {} were aggregated into {}, with another seed than this one; \
                 write to the same file as before",
                ballots.display(),
                record.results
            ),
        ));
    }
    Ok(Settled { part: bound.part, again })
}

/// The part of the seed that was stored for what is frozen.
pub(crate) fn stored_part(frozen: &Frozen, seed_path: &Path) -> Result<SeedPart, ProtocolError> {
    let Some(bound) = BoundSeed::read(seed_path)? else {
        let problem = Problem::Io(io::ErrorKind::NotFound.into());
        return Err(Refused::new(seed_path, problem).into());
    };
    bound.check(seed_path, frozen)?;
    Ok(bound.part)
}

/// The bytes of a seed file, for an auditor: the server's part, bound to what is frozen.
pub fn encode_part(frozen: &Frozen, part: &SeedPart) -> Zeroizing<Vec<u8>> {
    let (election, frozen) = (frozen.election, frozen.digest());
    BoundSeed { election, frozen, part: part.clone() }.encode()
}

/// Writes a file unless one is there.
pub(super) fn write_once(
    path: &Path,
    readers: Readers,
    content: &[u8],
) -> Result<(), ProtocolError> {
    match write_new(path, readers, content) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        written => written.map_err(|error| ProtocolError::cannot_write(path, error)),
    }
}

fn read_if_there(path: &Path, limit: usize) -> Result<Option<Vec<u8>>, Refused> {
    match read_bounded(path, limit) {
        Err(Problem::Io(error)) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some).map_err(|problem| Refused::new(path, problem)),
    }
}

fn second_draw(path: &Path, reason: String) -> ProtocolError {
    ProtocolError::SecondDraw { path: path.to_owned(), reason }
}

#[cfg(test)]
pub(crate) fn seed_of(results: &Path) -> shield_core::Seed {
    let bound = BoundSeed::read(&seed_path(results)).unwrap().unwrap();
    bound.part.seed(crate::seed::Purpose::Draws, &bound.frozen)
}
