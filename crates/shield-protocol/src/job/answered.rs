//! What the student has answered: at most so many audits with one key, and each question once.
//!
//! A student's answer is one bit per teacher, and a server that does not follow the protocol
//! decides what the bit says. It could ask about the same samples again and again, each time with
//! something else in place of the checks, or make up results with alarms. So the student's program
//! writes down beside the secret key what it has read, before it says what it read: the very same
//! audit may be answered again, another one in its place never, and no more than
//! [`MOST_ROUNDS`] with one key. All that a server can ever get are that many bits per teacher.

use std::path::{Path, PathBuf};

use crate::error::ProtocolError;
use crate::hex::hex;
use crate::new_file::{Readers, Unnamed};
use crate::transcript::MOST_ROUNDS;

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
        for number in 1..=MOST_ROUNDS {
            let path = record_path(secret_key, number);
            let written = Unnamed::write(&path, Readers::Owner, text.as_bytes());
            match written.and_then(|file| file.name_or_find(&path)) {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(source) => return Err(ProtocolError::Write { path, source }),
            }
            let other = std::fs::read_to_string(&path).unwrap_or_default();
            if other.contains(&self.question) {
                return Err(ProtocolError::NoAudit(format!(
                    "another audit of the same question was read before ({}): a server that asks \
                     twice learns more than it should, so this one is not answered; have an \
                     auditor run `shield verify`",
                    path.display()
                )));
            }
        }
        Err(ProtocolError::NoAudit(format!(
            "{MOST_ROUNDS} audits were read with this key ({}), and each tells the server a bit of \
             every teacher; hold a new election",
            record_path(secret_key, 1).display()
        )))
    }
}

fn record_path(secret_key: &Path, number: usize) -> PathBuf {
    let mut name = secret_key.as_os_str().to_owned();
    name.push(format!(".audit-{number}.toml"));
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
        assert!(!crate::private::is_open_to_others(&record_path(&key, 1)).unwrap());
    }
}
