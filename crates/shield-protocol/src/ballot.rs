//! A teacher's ballot: its votes on every sample, or its counts, encrypted, in one file.

mod counts;

use std::path::Path;
use std::sync::Arc;

use rand::CryptoRng;
use shield_core::framing::{KeyId, Kind};
use shield_core::votes::Vote;
use shield_data::{Ballot, FileError, IgnoredColumns, ReadOptions, Understood, Warning};

pub use counts::{cast_counts, understand_counts};

use crate::bundle::Content;
use crate::election_file::{ElectionFile, PlannedElection};
use crate::engine::Voting;
use crate::error::{Problem, ProtocolError, Refused};
use crate::files::{Existing, check_folder_of, read_bounded, write_bundle};
use crate::samples::{SampleList, SamplesDigest};

/// A ballot that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cast {
    /// The keys it is for.
    pub key: KeyId,
    /// On how many samples the teacher abstained.
    pub abstentions: usize,
}

/// Reads one teacher's votes: one a sample of the election, all of its classes or abstentions.
///
/// The file has one column, one row, or a column for each teacher; then `column`, counted from 1,
/// says which.
pub fn read_votes(
    file: &ElectionFile,
    path: &Path,
    column: Option<usize>,
) -> Result<Vec<Vote>, ProtocolError> {
    Ok(understand_votes(file, path, column, None)?.value)
}

/// Reads one teacher's votes, and says how they were understood.
///
/// Where the election binds a list of samples, the ids beside the votes must be that list; votes
/// without ids need the list itself, which must be the election's.
pub fn understand_votes(
    file: &ElectionFile,
    path: &Path,
    column: Option<usize>,
    list: Option<&Path>,
) -> Result<Understood<Vec<Vote>>, ProtocolError> {
    let election = file.election();
    let refuse = |problem| Refused { path: path.to_owned(), problem };
    if let Some(counts) = file.spec().counts() {
        return Err(refuse(Problem::NeedsCounts { voters: counts.voters() }).into());
    }
    let read = read_with_ids(file, |o| shield_data::understand_ballot(path, o, column))?;
    let Ballot { entries: votes, ids, class_names } = read.value;
    if let (Some(names), None) = (&class_names, file.class_names()) {
        let (first, last) = (names.as_slice()[0].clone(), election.classes().count() - 1);
        return Err(refuse(Problem::Named { first, last }).into());
    }
    if let Some(bound) = file.samples_digest() {
        check_samples(path, ids.as_deref(), list, bound)?;
    }
    let samples = election.samples();
    if votes.len() != samples {
        return Err(refuse(Problem::VoteCount { votes: votes.len(), samples }).into());
    }
    // The names are the election's, and so are ids that were compared: nothing to hear about.
    let compared = file.samples_digest().is_some();
    let news = |warning: &Warning| match warning {
        Warning::Names { .. } => false,
        Warning::Header { .. } | Warning::IgnoredColumn { .. } => !compared,
        _ => true,
    };
    Ok(Understood { value: votes, warnings: read.warnings.into_iter().filter(news).collect() })
}

/// Reads votes or counts, with the sample ids beside them where the election binds a list.
fn read_with_ids<Entry>(
    file: &ElectionFile,
    read: impl Fn(&ReadOptions) -> Result<Understood<Ballot<Entry>>, FileError>,
) -> Result<Understood<Ballot<Entry>>, ProtocolError> {
    let options = |ignored| ReadOptions {
        classes: Some(file.election().classes()),
        names: file.class_names().cloned(),
        ignored,
    };
    let guessed = read(&options(IgnoredColumns::Guess));
    if let Some(bound) = file.samples_digest()
        && !matches!(&guessed, Ok(read) if read.value.ids.is_some())
    {
        // Short ids look like votes; if they are the election's samples, they are none.
        let first = read(&options(IgnoredColumns::These(vec!["1".to_owned()])));
        let is_list = |ids: &Vec<String>| SamplesDigest::of(ids) == bound;
        if let Ok(read) = first
            && read.value.ids.as_ref().is_some_and(is_list)
        {
            return Ok(read);
        }
    }
    Ok(guessed?)
}

/// Compares the ids beside some votes, and the list that was labelled, with the election's.
fn check_samples(
    votes: &Path,
    ids: Option<&[String]>,
    list: Option<&Path>,
    bound: SamplesDigest,
) -> Result<(), ProtocolError> {
    let refuse = |path: &Path, problem| Refused { path: path.to_owned(), problem };
    let known = list.map(SampleList::read).transpose()?;
    if let (Some(known), Some(path)) = (&known, list)
        && known.digest() != bound
    {
        let problem = Problem::OtherSamples { found: known.digest(), bound };
        return Err(refuse(path, problem).into());
    }
    match (ids, known) {
        (None, None) => Err(refuse(votes, Problem::NoIds).into()),
        (None, Some(_)) => Ok(()),
        (Some(ids), _) if SamplesDigest::of(ids) == bound => Ok(()),
        (Some(ids), Some(known)) => {
            let mut rows = (1..).zip(ids.iter().zip(known.ids()));
            let other = rows.find(|(_, (found, expected))| found != expected);
            let problem = match other {
                Some((row, (found, expected))) => {
                    Problem::OtherRow { row, found: found.clone(), expected: expected.clone() }
                }
                None => Problem::VoteCount { votes: ids.len(), samples: known.ids().len() },
            };
            Err(refuse(votes, problem).into())
        }
        (Some(ids), None) => {
            let problem = Problem::OtherSamples { found: SamplesDigest::of(ids), bound };
            Err(refuse(votes, problem).into())
        }
    }
}

/// Writes the ballot of the teacher of that name, batch by batch; never over another file.
pub fn cast<R: CryptoRng>(
    file: &PlannedElection,
    public_key: &Path,
    teacher: &str,
    votes: &[Vote],
    out: &Path,
    rng: &mut R,
) -> Result<Cast, ProtocolError> {
    let key = write(file, public_key, teacher, out, |voting, teacher, batch| {
        let samples = file.engine().batch(batch);
        Ok(voting.encrypt(batch, teacher, votes.get(samples).unwrap_or_default(), rng)?)
    })?;
    let abstentions = votes.iter().filter(|vote| vote.is_none()).count();
    Ok(Cast { key, abstentions })
}

/// Writes a ballot whose batches are made one by one.
fn write(
    file: &PlannedElection,
    public_key: &Path,
    teacher: &str,
    out: &Path,
    mut encrypt: impl FnMut(&dyn Voting, u32, usize) -> Result<Vec<u8>, ProtocolError>,
) -> Result<KeyId, ProtocolError> {
    let number = file.teacher(teacher).ok_or_else(|| ProtocolError::NotATeacher {
        name: teacher.to_owned(),
        known: file.teachers().to_vec(),
    })?;
    check_folder_of(out)?;
    if out.symlink_metadata().is_ok() {
        return Err(Refused { path: out.to_owned(), problem: Problem::BallotExists }.into());
    }
    let engine = file.engine();
    let refuse = |problem| Refused { path: public_key.to_owned(), problem };
    let bytes = read_bounded(public_key, engine.max_bytes(Kind::PublicKey)).map_err(refuse)?;
    let voting = Arc::clone(engine).voting(&bytes).map_err(|error| refuse(error.into()))?;
    let content = Content::Ballot { teacher: number };
    write_bundle(out, content, Existing::Refused, file, file.batches(), |batch| {
        encrypt(&*voting, number, batch)
    })?;
    Ok(voting.key())
}

#[cfg(test)]
mod tests {
    use shield_core::Class;

    use super::*;

    struct Case {
        folder: tempfile::TempDir,
        file: ElectionFile,
    }

    impl Case {
        fn new(classes: &str, samples: &str) -> Self {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("samples.csv"), "image\nx1\nx2\nx3\n").unwrap();
            let text = format!(
                "name = \"ward-7\"\ngroup = \"wards\"\nclasses = {classes}\n{samples}\nquorum = 1\n\
                 teachers = [\"amber\"]\n"
            );
            let file = ElectionFile::parse_in(&text, folder.path()).unwrap();
            Self { folder, file }
        }

        fn read(&self, votes: &str, list: Option<&str>) -> Result<Vec<Vote>, String> {
            let path = self.folder.path().join("votes.csv");
            std::fs::write(&path, votes).unwrap();
            let list = list.map(|list| {
                let path = self.folder.path().join("own.csv");
                std::fs::write(&path, list).unwrap();
                path
            });
            let read = understand_votes(&self.file, &path, None, list.as_deref());
            read.map(|read| read.value).map_err(|error| error.to_string())
        }
    }

    const VOTES: [Vote; 3] = [Some(Class(2)), Some(Class(0)), None];

    #[test]
    fn votes_are_names_where_the_classes_have_some() {
        let named = Case::new("[\"dog\", \"cat\", \"owl\"]", "samples = 3");
        assert_eq!(named.read("owl\ndog\n\n", None).unwrap(), VOTES);
        assert_eq!(named.read("2\n0\n\n", None).unwrap(), VOTES);
        let error = named.read("owl\nfox\n\n", None).unwrap_err();
        assert!(error.contains("`fox` is not one of the classes"), "{error}");
        // Numbering them by the alphabet would differ from teacher to teacher.
        let counted = Case::new("3", "samples = 3");
        let error = counted.read("owl\ndog\ncat\n", None).unwrap_err();
        assert!(error.contains("counts its classes from 0 to 2"), "{error}");
    }

    #[test]
    fn other_rows_than_the_election_s_are_refused() {
        let case = Case::new("3", "samples_file = \"samples.csv\"");
        for votes in ["id,vote\nx1,2\nx2,0\nx3,\n", "x1,2\nx2,0\nx3,\n", "x1;2\nx2;0\nx3;\n"] {
            assert_eq!(case.read(votes, None).unwrap(), VOTES, "{votes}");
        }
        let list = Some("x1\nx2\nx3\n");
        assert_eq!(case.read("2\n0\n\n", list).unwrap(), VOTES, "the list takes the ids' place");
        for (votes, list, words) in [
            ("2\n0\n\n", None, "add the ids as a first column"),
            ("id,vote\nx2,0\nx1,2\nx3,\n", None, "not in its order"),
            ("id,vote\nx2,0\nx1,2\nx3,\n", list, "sample 1 is `x2` here and `x1`"),
            ("id,vote\nx1,2\nx2,0\n", list, "there are 2 votes"),
            ("id,vote\nx1,2\nx2,0\nx4,\n", None, "not the election's samples"),
            ("2\n0\n\n", Some("x1\nx3\nx2\n"), "not the election's samples"),
        ] {
            let error = case.read(votes, list).unwrap_err();
            assert!(error.contains(words), "{votes}: {error}");
        }
    }

    #[test]
    fn short_ids_that_look_like_votes_are_ids_if_the_election_says_so() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("samples.csv"), "0\n1\n2\n").unwrap();
        let mut case = Case::new("3", "samples = 3");
        let text = case.file.canonical().replace("samples = 3", "samples_file = \"samples.csv\"");
        case.file = ElectionFile::parse_in(&text, folder.path()).unwrap();
        assert_eq!(case.read("0,2\n1,0\n2,\n", None).unwrap(), VOTES);
        assert!(case.read("1,2\n0,0\n2,\n", None).is_err());
    }
}
