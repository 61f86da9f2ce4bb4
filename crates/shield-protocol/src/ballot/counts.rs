//! A teacher's counts: how many voters behind it chose each class of every sample.

use std::path::Path;

use rand::CryptoRng;
use shield_data::{Ballot, Understood, Warning};

use super::{Cast, check_samples, read_with_ids, write};
use crate::election_file::{ElectionFile, PlannedElection};
use crate::error::{Problem, ProtocolError, Refused};

/// Reads one teacher's counts: one row per sample of the election, one column per class. Rows that
/// count more voters than the election allows are refused.
///
/// Where the election binds a list of samples, ids and lists are compared as for votes.
pub fn understand_counts(
    file: &ElectionFile,
    path: &Path,
    list: Option<&Path>,
) -> Result<Understood<Vec<Vec<u32>>>, ProtocolError> {
    let refuse = |problem| Refused { path: path.to_owned(), problem };
    let counts = file.spec().counts().ok_or_else(|| refuse(Problem::NeedsVotes))?;
    let most = counts.voters();
    let read = read_with_ids(file, |o| shield_data::understand_counts_ballot(path, o, most))?;
    let Ballot { entries: counts, ids, class_names } = read.value;
    if let (Some(names), None) = (&class_names, file.class_names()) {
        let (first, last) = (names.as_slice()[0].clone(), file.election().classes().count() - 1);
        return Err(refuse(Problem::NamedColumns { first, last }).into());
    }
    if let Some(bound) = file.samples_digest() {
        check_samples(path, ids.as_deref(), list, bound)?;
    }
    let samples = file.election().samples();
    if counts.len() != samples {
        return Err(refuse(Problem::CountRows { rows: counts.len(), samples }).into());
    }
    let compared = file.samples_digest().is_some();
    let news = |warning: &Warning| match warning {
        Warning::Header { .. } | Warning::IgnoredColumn { .. } => !compared,
        _ => true,
    };
    Ok(Understood { value: counts, warnings: read.warnings.into_iter().filter(news).collect() })
}

/// Writes the ballot of the teacher of that name from its counts; never over another file.
pub fn cast_counts<R: CryptoRng>(
    file: &PlannedElection,
    public_key: &Path,
    teacher: &str,
    counts: &[Vec<u32>],
    out: &Path,
    rng: &mut R,
) -> Result<Cast, ProtocolError> {
    let key = write(file, public_key, teacher, out, |voting, _, batch| {
        let samples = file.engine().batch(batch);
        Ok(voting.encrypt_counts(batch, counts.get(samples).unwrap_or_default(), rng)?)
    })?;
    let abstentions = counts.iter().filter(|sample| sample.iter().all(|&count| count == 0)).count();
    Ok(Cast { key, abstentions })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(classes: &str, samples: &str, lines: &str, counts: &str) -> Result<String, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("samples.csv"), "0\n1\n2\n").unwrap();
        let text = format!(
            "name = \"wards\"\ngroup = \"city\"\nclasses = {classes}\n{samples}\n{lines}\n\
             quorum = 2\nteachers = [\"north\", \"south\"]\n"
        );
        let file = ElectionFile::parse_in(&text, folder.path()).unwrap();
        let path = folder.path().join("north.csv");
        std::fs::write(&path, counts).unwrap();
        let read = understand_counts(&file, &path, None);
        read.map(|read| format!("{:?}", read.value)).map_err(|error| error.to_string())
    }

    const COUNTS: &str = "mechanism = \"noisy-argmax\"\nnoise = 3.0\nvoters_per_teacher = 10";

    #[test]
    fn counts_are_read_as_the_election_has_them() {
        let named = r#"["owl", "cat", "ant"]"#;
        for (classes, samples, counts, found) in [
            ("3", "samples = 2", "7,3,0\n0,0,0\n", "[[7, 3, 0], [0, 0, 0]]"),
            (named, "samples = 2", "cat,owl,ant\n1,2,3\n4,5,0\n", "[[2, 1, 3], [5, 4, 0]]"),
            (
                "2",
                "samples_file = \"samples.csv\"",
                "0,4,1\n1,4,2\n2,4,3\n",
                "[[4, 1], [4, 2], [4, 3]]",
            ),
        ] {
            assert_eq!(read(classes, samples, COUNTS, counts).unwrap(), found);
        }
        for (classes, samples, counts, words) in [
            ("3", "samples = 2", "7,3,0\n7,3,1\n", "row 2: the counts sum to 11"),
            ("3", "samples = 2", "7,3,0\n", "there are 1 rows of counts, and the election has 2"),
            ("3", "samples = 2", "7,3\n1,0\n", "one column per class"),
            ("3", "samples = 2", "owl,cat,ant\n7,3,0\n1,0,0\n", "the header names the classes"),
            ("2", "samples_file = \"samples.csv\"", "1,4,1\n0,4,2\n2,4,3\n", "columns of counts"),
            ("2", "samples_file = \"samples.csv\"", "4,1\n4,2\n4,3\n", "no sample ids"),
        ] {
            let error = read(classes, samples, COUNTS, counts).unwrap_err();
            assert!(error.contains(words) && error.contains("north.csv"), "{error}");
        }
    }

    #[test]
    fn counts_and_votes_are_not_taken_for_each_other() {
        let error = read("3", "samples = 2", "", "7,3,0\n7,3,0\n").unwrap_err();
        assert!(error.contains("one vote per sample") && error.contains("--counts"), "{error}");
        let text = format!(
            "name = \"a\"\ngroup = \"g\"\nclasses = 3\nsamples = 2\n{COUNTS}\nquorum = 1\n\
             teachers = [\"north\"]"
        );
        let file = ElectionFile::parse(&text).unwrap();
        let path = Path::new("votes.csv");
        let error = super::super::understand_votes(&file, path, None, None).unwrap_err();
        assert!(error.to_string().contains("of up to 10 voters"), "{error}");
    }
}
