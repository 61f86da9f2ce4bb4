//! Ballot and result files: the encoded batches of one teacher, or of one election, in a row.
//!
//! ```text
//! magic "SHLB" | version u16 | content u8 | 0 u8 | election 32 | teacher u32 | parts u32 | check 8 | (length u64 | part)*
//! ```
//!
//! Integers are little-endian. The check is over everything before it: a ballot must not become
//! another teacher's by one wrong bit. A part is what an engine's codec wrote for one batch, with
//! its own checksum, keys and batch number. A bundle is written and read part by part: a ballot on
//! millions of samples never stands in memory. The first part of results is their transcript, the
//! first of an audit what was asked: see [`crate::results`] and [`crate::job::audit`].

use std::io::{self, Read, Write};

use thiserror::Error;

const MAGIC: [u8; 4] = *b"SHLB";
const VERSION: u16 = 2;

const HEAD: usize = 4 + 2 + 1 + 1 + 32 + 4 + 4;

/// Where the first part stands, counted from its length.
pub const START: u64 = HEAD as u64 + 8;
/// Bytes of a part's length, which stands before it.
pub const LENGTH: u64 = 8;

/// What a bundle holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// One teacher's ballots, a batch each. The number is the teacher's.
    Ballot {
        /// The teacher's number in the election file.
        teacher: u32,
    },
    /// What the student gets: a transcript, and a release for each batch.
    Results,
    /// The checks of every teacher, for the student.
    Audit,
}

impl Content {
    fn byte(self) -> u8 {
        match self {
            Self::Ballot { .. } => 1,
            Self::Results => 2,
            Self::Audit => 3,
        }
    }
}

/// Why a bundle was refused.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BundleError {
    /// It could not be read or written.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It is something else.
    #[error("this is not {expected}; give the file that {command} wrote")]
    NotOurs {
        /// What was needed.
        expected: &'static str,
        /// Which command writes such files.
        command: &'static str,
    },
    /// It was written by another version.
    #[error(
        "format version {found}; this program reads version {VERSION}: use the same release on \
         all sides"
    )]
    Version {
        /// The version found.
        found: u16,
    },
    /// Some bit at the start is wrong.
    #[error("the start of the file is damaged: make it or fetch it again")]
    Damaged,
    /// It belongs to another election.
    #[error("it belongs to another election; check that all parties have the same election file")]
    Election,
    /// It does not have the election's number of batches.
    #[error("it holds {found} batches where the election has {expected}")]
    Parts {
        /// How many there are.
        found: u32,
        /// How many there must be.
        expected: u32,
    },
    /// It is cut off, or something was appended.
    #[error("the file is cut off or has something appended: make it or fetch it again")]
    Length,
}

/// Writes a bundle part by part.
pub struct BundleWriter<W> {
    to: W,
}

impl<W: Write> BundleWriter<W> {
    /// Starts a bundle of `parts` parts.
    pub fn new(
        mut to: W,
        content: Content,
        election: &[u8; 32],
        parts: u32,
    ) -> Result<Self, BundleError> {
        let teacher = match content {
            Content::Ballot { teacher } => teacher,
            Content::Results | Content::Audit => 0,
        };
        let mut head = Vec::with_capacity(HEAD);
        head.extend(MAGIC);
        head.extend(VERSION.to_le_bytes());
        head.extend([content.byte(), 0]);
        head.extend(election);
        head.extend(teacher.to_le_bytes());
        head.extend(parts.to_le_bytes());
        to.write_all(&head)?;
        to.write_all(&check(&head))?;
        Ok(Self { to })
    }

    /// Appends a part.
    pub fn part(&mut self, part: &[u8]) -> Result<(), BundleError> {
        self.to.write_all(&(part.len() as u64).to_le_bytes())?;
        Ok(self.to.write_all(part)?)
    }
}

/// Reads a bundle part by part.
#[derive(Debug)]
pub struct BundleReader<R> {
    from: R,
    content: Content,
    left: u32,
}

impl<R: Read> BundleReader<R> {
    /// Reads the start, and checks that it is a bundle of this election with this many parts.
    pub fn ballot(from: R, election: &[u8; 32], parts: u32) -> Result<Self, BundleError> {
        let not_ours = BundleError::NotOurs { expected: "a ballot", command: "`shield vote`" };
        let reader = Self::open(from, 1, not_ours, election)?;
        let (found, expected) = (reader.left, parts);
        if found == expected { Ok(reader) } else { Err(BundleError::Parts { found, expected }) }
    }

    /// As [`Self::ballot`], for results. How many parts they have, their transcript says.
    pub fn results(from: R, election: &[u8; 32]) -> Result<Self, BundleError> {
        let command = "`shield aggregate` or `shield election fetch`";
        let not_ours = BundleError::NotOurs { expected: "a file of results", command };
        Self::open(from, 2, not_ours, election)
    }

    /// As [`Self::results`], for an audit.
    pub fn audit(from: R, election: &[u8; 32]) -> Result<Self, BundleError> {
        let command = "`shield audit check`";
        let not_ours = BundleError::NotOurs { expected: "an audit", command };
        Self::open(from, 3, not_ours, election)
    }

    fn open(
        mut from: R,
        content: u8,
        not_ours: BundleError,
        election: &[u8; 32],
    ) -> Result<Self, BundleError> {
        let mut start = [0; 8];
        match from.read_exact(&mut start) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Err(not_ours),
            read => read?,
        }
        if start[..4] != MAGIC {
            return Err(not_ours);
        }
        let found = u16::from_le_bytes([start[4], start[5]]);
        if found != VERSION {
            return Err(BundleError::Version { found });
        }
        if start[6] != content || start[7] != 0 {
            return Err(not_ours);
        }
        let named = array::<32>(&mut from)?;
        let numbers: [[u8; 4]; 2] = [array(&mut from)?, array(&mut from)?];
        let head = [&start[..], &named, &numbers[0], &numbers[1]].concat();
        if array::<8>(&mut from)? != check(&head) {
            return Err(BundleError::Damaged);
        }
        if named != *election {
            return Err(BundleError::Election);
        }
        let [teacher, found] = numbers.map(u32::from_le_bytes);
        let content = match content {
            1 => Content::Ballot { teacher },
            2 => Content::Results,
            _ => Content::Audit,
        };
        Ok(Self { from, content, left: found })
    }

    /// What it holds.
    pub fn content(&self) -> Content {
        self.content
    }

    /// How many parts are left.
    pub fn left(&self) -> u32 {
        self.left
    }

    /// The next part, of at most `limit` bytes; `None` after the last, if nothing follows it.
    pub fn part(&mut self, limit: usize) -> Result<Option<Vec<u8>>, BundleError> {
        if self.left == 0 {
            let more = self.from.by_ref().take(1).read_to_end(&mut Vec::new())?;
            return if more == 0 { Ok(None) } else { Err(BundleError::Length) };
        }
        let length = u64::from_le_bytes(array(&mut self.from)?);
        let length = usize::try_from(length).ok().filter(|&length| length <= limit);
        let mut part = vec![0; length.ok_or(BundleError::Length)?];
        whole(self.from.read_exact(&mut part))?;
        self.left -= 1;
        Ok(Some(part))
    }
}

fn check(head: &[u8]) -> [u8; 8] {
    let mut check = [0; 8];
    blake3::Hasher::new().update(head).finalize_xof().fill(&mut check);
    check
}

fn array<const N: usize>(from: &mut impl Read) -> Result<[u8; N], BundleError> {
    let mut bytes = [0; N];
    whole(from.read_exact(&mut bytes))?;
    Ok(bytes)
}

/// An end where there should be more is a cut-off file, anything else the system's error.
fn whole(read: io::Result<()>) -> Result<(), BundleError> {
    read.map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => BundleError::Length,
        _ => BundleError::Io(error),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ELECTION: [u8; 32] = [7; 32];

    fn bundle() -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer =
            BundleWriter::new(&mut bytes, Content::Ballot { teacher: 3 }, &ELECTION, 2).unwrap();
        writer.part(b"first").unwrap();
        writer.part(b"").unwrap();
        bytes
    }

    fn read(bytes: &[u8]) -> Result<Vec<Vec<u8>>, BundleError> {
        let mut reader = BundleReader::ballot(bytes, &ELECTION, 2)?;
        assert_eq!(reader.content(), Content::Ballot { teacher: 3 });
        let mut parts = Vec::new();
        while let Some(part) = reader.part(5)? {
            parts.push(part);
        }
        Ok(parts)
    }

    #[test]
    fn parts_come_back_in_order() {
        assert_eq!(bundle().len() as u64, START + 2 * LENGTH + 5);
        assert_eq!(read(&bundle()).unwrap(), [b"first".to_vec(), Vec::new()]);
    }

    #[test]
    fn cut_off_appended_foreign_and_oversized_are_refused() {
        let good = bundle();
        for end in 0..good.len() {
            assert!(read(&good[..end]).is_err(), "{end}");
        }
        assert!(matches!(read(&[&good[..], &[0]].concat()), Err(BundleError::Length)));
        for bit in 0..8 * HEAD + 64 {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            let reader = BundleReader::ballot(&bad[..], &ELECTION, 2);
            assert!(reader.is_err(), "bit {bit}");
        }
        let mut reader = BundleReader::ballot(&good[..], &ELECTION, 2).unwrap();
        assert!(matches!(reader.part(4), Err(BundleError::Length)));
        assert!(BundleReader::results(&good[..], &ELECTION).is_err());
        assert!(matches!(BundleReader::ballot(&good[..], &[8; 32], 2), Err(BundleError::Election)));
    }
}
