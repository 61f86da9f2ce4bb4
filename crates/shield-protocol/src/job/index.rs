//! The ballots of a job as one file: where each is, what every batch of it hashes to, and who was
//! present. Written when the job is frozen, so that nobody has to read all ballots again.
//!
//! ```text
//! (teacher u32 | length u32 | name | partly u8 | split u8 | (length u64 | hash 32 | votes 32)* | presence*)*
//! ```
//!
//! One part and, for a teacher who abstained somewhere, one presence for each batch. A split ballot
//! is a folder with a file for each batch.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use shield_core::framing::{Reader, write_presence};

use super::ballot_folder::{Attendance, BallotFile, BallotFolder, Part};
use super::storage::Storage;
use crate::bundle;
use crate::election_file::PlannedElection;
use crate::error::{Problem, Refused};

impl BallotFolder {
    /// The index of these ballots.
    pub(super) fn index(&self) -> Result<Vec<u8>, Refused> {
        let mut out = Vec::new();
        for (teacher, ballot) in &*self.ballots {
            let name = ballot.path.file_name().and_then(|name| name.to_str());
            let name = name
                .ok_or_else(|| Refused { path: ballot.path.clone(), problem: Problem::FileName })?;
            out.extend(teacher.to_le_bytes());
            out.extend(u32::try_from(name.len()).unwrap_or(u32::MAX).to_le_bytes());
            out.extend(name.as_bytes());
            out.push(u8::from(matches!(ballot.attendance, Attendance::Partly(_))));
            out.push(u8::from(ballot.is_split));
            for part in &ballot.parts {
                out.extend((part.length as u64).to_le_bytes());
                out.extend(part.hash);
                out.extend(part.votes);
            }
            if let Attendance::Partly(batches) = &ballot.attendance {
                for presence in batches {
                    write_presence(&mut out, presence);
                }
            }
        }
        Ok(out)
    }

    /// The ballots of an index, in that folder; none if it cannot be one.
    pub(super) fn from_index(
        file: &PlannedElection,
        storage: &Arc<dyn Storage>,
        folder: &Path,
        index: &[u8],
    ) -> Option<Self> {
        let mut reader = Reader::new(index);
        let mut ballots = BTreeMap::new();
        while !reader.rest().is_empty() {
            let teacher = u32::from_le_bytes(reader.array()?);
            let length = u32::from_le_bytes(reader.array()?);
            let name = std::str::from_utf8(reader.take(usize::try_from(length).ok()?)?).ok()?;
            let plain = Path::new(name).file_name().is_some_and(|own| own == name);
            if teacher as usize >= file.teachers().len() || !plain {
                return None;
            }
            let [partly, split] = reader.array()?;
            if partly > 1 || split > 1 {
                return None;
            }
            let (mut parts, mut place) = (Vec::new(), bundle::START);
            for _ in 0..file.batches() {
                let length = u64::from_le_bytes(reader.array()?);
                place = place.checked_add(bundle::LENGTH)?;
                let (hash, votes) = (reader.array()?, reader.array()?);
                parts.push(Part { place, length: usize::try_from(length).ok()?, hash, votes });
                place = place.checked_add(length)?;
            }
            let attendance = if partly == 1 {
                let samples = (0..file.batches()).map(|batch| file.engine().batch(batch).len());
                let presences = samples.map(|samples| reader.presence(samples));
                Attendance::Partly(presences.collect::<Option<_>>()?)
            } else {
                Attendance::Everywhere
            };
            let path = folder.join(name);
            let ballot = BallotFile { path, is_split: split == 1, parts, attendance };
            if ballots.insert(teacher, ballot).is_some() {
                return None;
            }
        }
        Some(Self { file: file.clone(), storage: Arc::clone(storage), ballots: Arc::new(ballots) })
    }
}
