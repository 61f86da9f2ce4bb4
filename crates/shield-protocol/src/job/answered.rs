//! What the student has asked and answered: so many audits with one key, and each once.
//!
//! A question names samples, and an answer names teachers. A server that does not follow the
//! protocol decides what they say: it can make up results in which a sample is spoiled if somebody
//! voted for some class on it, and put something else in place of the checks. It could do so again
//! and again. So the student's program writes down beside the secret key what it asks before it
//! asks, and what it has read before it says what it read: the very same again is fine, another
//! audit of the same question is never answered, and no more than [`MOST_ROUNDS`] are asked or
//! answered with one key. All that a server can ever get are that many bits per sample, and per
//! teacher.

use std::path::{Path, PathBuf};

use crate::error::ProtocolError;
use crate::hex::hex;
use crate::new_file::{Readers, Unnamed};
use crate::transcript::MOST_ROUNDS;

/// Writes a question down beside the secret key, unless that has been done. Fails if too many
/// others were asked.
pub(super) fn ask_once(question: &str, secret_key: &Path) -> Result<(), ProtocolError> {
    let text = format!("question = \"{question}\"\n");
    if write_down(secret_key, "question", &text, |_| Ok(()))? {
        return Ok(());
    }
    Err(ProtocolError::NoAudit(format!(
        "{MOST_ROUNDS} questions about other results were asked with this key ({}), and each tells \
         the server a bit of every sample; hold a new election",
        record_path(secret_key, "question", 1).display()
    )))
}

/// Writes a record beside the secret key, unless the very same is there; `other` looks at those
/// that are there. Gives whether there was room.
fn write_down(
    secret_key: &Path,
    what: &str,
    text: &str,
    other: impl Fn(&Path) -> Result<(), ProtocolError>,
) -> Result<bool, ProtocolError> {
    for number in 1..=MOST_ROUNDS {
        let path = record_path(secret_key, what, number);
        let written = Unnamed::write(&path, Readers::Owner, text.as_bytes());
        match written.and_then(|file| file.name_or_find(&path)) {
            Ok(()) => return Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => other(&path)?,
            Err(source) => return Err(ProtocolError::Write { path, source }),
        }
    }
    Ok(false)
}

/// An audit that the student is about to read.
#[derive(Debug)]
pub struct Reading {
    question: String,
    checks: blake3::Hasher,
}

impl Reading {
    /// The audit of the question with this digest.
    pub fn new(question: String) -> Self {
        let checks = blake3::Hasher::new_derive_key("shield 2026 checks of an audit v1");
        Self { question, checks }
    }

    /// Adds what the server computed for one batch.
    pub fn add(&mut self, checks: &[u8]) {
        self.checks.update(&(checks.len() as u64).to_le_bytes());
        self.checks.update(checks);
    }

    /// Writes it down beside the secret key, unless that has been done. Fails if another audit of
    /// the same question was read, or too many audits were.
    pub fn write_down(&self, secret_key: &Path) -> Result<(), ProtocolError> {
        let text = format!(
            "question = \"{}\"\nchecks = \"{}\"\n",
            self.question,
            hex(self.checks.finalize().as_bytes())
        );
        let other = |path: &Path| {
            let other = std::fs::read_to_string(path).unwrap_or_default();
            if !other.contains(&self.question) {
                return Ok(());
            }
            Err(ProtocolError::NoAudit(format!(
                "another audit of the same question was read before ({}): a server that asks \
                 twice learns more than it should, so this one is not answered; have an auditor \
                 run `shield verify`",
                path.display()
            )))
        };
        if write_down(secret_key, "audit", &text, other)? {
            return Ok(());
        }
        Err(ProtocolError::NoAudit(format!(
            "{MOST_ROUNDS} audits were read with this key ({}), and each tells the server a bit of \
             every teacher; hold a new election",
            record_path(secret_key, "audit", 1).display()
        )))
    }
}

fn record_path(secret_key: &Path, what: &str, number: usize) -> PathBuf {
    let mut name = secret_key.as_os_str().to_owned();
    name.push(format!(".{what}-{number}.toml"));
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_question_is_answered_once_and_only_a_few_are() {
        let folder = tempfile::tempdir().unwrap();
        let key = folder.path().join("secret.key");
        let read = |question: usize, checks: &[u8]| {
            let mut reading = Reading::new(format!("{question:064x}"));
            reading.add(checks);
            reading.write_down(&key)
        };
        read(3, b"one").unwrap();
        read(3, b"one").unwrap();
        let again = read(3, b"two").unwrap_err().to_string();
        assert!(again.contains("not answered") && again.contains("audit-1"), "{again}");
        for question in 4..3 + MOST_ROUNDS {
            read(question, b"one").unwrap();
        }
        let last = read(40, b"one").unwrap_err().to_string();
        assert!(last.contains("hold a new election"), "{last}");
        read(3, b"one").unwrap();
        assert!(!crate::private::is_open_to_others(&record_path(&key, "audit", 1)).unwrap());
    }

    #[test]
    fn only_a_few_questions_are_asked_with_one_key() {
        let folder = tempfile::tempdir().unwrap();
        let key = folder.path().join("secret.key");
        let ask = |question: usize| ask_once(&format!("{question:064x}"), &key);
        (0..MOST_ROUNDS).for_each(|question| ask(question).unwrap());
        let last = ask(MOST_ROUNDS).unwrap_err().to_string();
        assert!(last.contains("hold a new election"), "{last}");
        ask(0).unwrap();
    }
}
