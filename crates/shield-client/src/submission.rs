//! What a file is that somebody wants to send, told by how it starts; and the one that must never
//! be sent.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use shield_core::framing::{DecodeError, Header, Kind};
use thiserror::Error;

/// Bytes that tell what a file is.
const START: u64 = 512;

/// A key that the server needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// What teachers encrypt with.
    Public,
    /// What the server computes with.
    Evaluation,
}

impl KeyKind {
    /// Its name, as in addresses and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Evaluation => "evaluation",
        }
    }
}

impl fmt::Display for KeyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Something that a server takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submission {
    /// An election file, or at least something that is none of the others.
    Election,
    /// One of the student's keys.
    Key(KeyKind),
    /// A ballot file.
    Ballot,
}

/// Something that must not or cannot be sent.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SubmissionError {
    /// The system would not read it.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The student's secret key.
    #[error("this is the secret key; it stays with the student, and the server must never have it")]
    SecretKey,
    /// A part of something.
    #[error("this is a {0}; submit the file that `shield vote` wrote")]
    Part(Kind),
    /// It starts like one of ours, and goes on differently.
    #[error(transparent)]
    Damaged(#[from] DecodeError),
}

impl Submission {
    /// What a file is.
    pub fn of_file(path: &Path) -> Result<Self, SubmissionError> {
        let mut start = Vec::new();
        File::open(path)?.take(START).read_to_end(&mut start)?;
        Self::of(&start)
    }

    /// What some bytes are, by their start.
    pub fn of(bytes: &[u8]) -> Result<Self, SubmissionError> {
        if bytes.starts_with(b"SHLB") {
            return Ok(Self::Ballot);
        }
        if !bytes.starts_with(b"SHLD") {
            return Ok(Self::Election);
        }
        match Header::read(bytes)?.kind {
            Kind::PublicKey => Ok(Self::Key(KeyKind::Public)),
            Kind::EvaluationKey => Ok(Self::Key(KeyKind::Evaluation)),
            Kind::SecretKey => Err(SubmissionError::SecretKey),
            kind => Err(SubmissionError::Part(kind)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::net::TcpListener;

    use rand::SeedableRng;
    use rand::rngs::StdRng;
    use shield_core::framing::{KeyId, MadeFor, seal};
    use shield_protocol::credentials::{Role, Token};

    use super::*;
    use crate::{Client, ClientError, Invitation, submit_key};

    fn framed(kind: Kind) -> Vec<u8> {
        let made_for = MadeFor { batch: 0, key: KeyId::from_bytes([2; 32]) };
        seal(kind, &[1; 32], made_for, 7, |out| out.extend(b"payload"))
    }

    #[test]
    fn files_are_told_by_how_they_start() {
        let of = |kind| Submission::of(&framed(kind));
        assert_eq!(of(Kind::PublicKey).unwrap(), Submission::Key(KeyKind::Public));
        assert_eq!(of(Kind::EvaluationKey).unwrap(), Submission::Key(KeyKind::Evaluation));
        assert!(matches!(of(Kind::SecretKey), Err(SubmissionError::SecretKey)));
        assert!(matches!(of(Kind::Ballot), Err(SubmissionError::Part(Kind::Ballot))));
        assert_eq!(Submission::of(b"SHLB...").unwrap(), Submission::Ballot);
        assert_eq!(Submission::of(b"name = \"ward-7\"").unwrap(), Submission::Election);
        assert!(matches!(Submission::of(b"SHLD"), Err(SubmissionError::Damaged(_))));
    }

    /// Nobody even connects: not for a whole secret key, and not for one that is cut off or of a
    /// version that this program does not know.
    #[test]
    fn a_secret_key_never_leaves() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let server = format!("http://{}", listener.local_addr().unwrap());
        let token = Token::random(&mut StdRng::seed_from_u64(1));
        let election: shield_protocol::Name = "ward-7".parse().unwrap();
        let role = Role::Student { election: election.clone() };
        let client = Client::new(&Invitation::new(&server, &role, None, None, token)).unwrap();
        let whole = framed(Kind::SecretKey);
        let mut other_version = whole.clone();
        other_version[4] = 9;
        let folder = tempfile::tempdir().unwrap();
        for secret in [&whole[..], &whole[..20], &other_version] {
            let path = folder.path().join("public.key");
            std::fs::write(&path, secret).unwrap();
            let sent = submit_key(&client, &election, &path);
            assert!(matches!(sent, Err(ClientError::Local(_))), "{sent:?}");
            let sent = client.put("/v1/elections/ward-7/keys/public", secret);
            assert!(matches!(sent, Err(ClientError::Local(_))), "{sent:?}");
        }
        assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    }
}
