//! How a command ends when it does not end well.

use std::fmt::Display;
use std::process::ExitCode;

use shield::files::FileError;
use shield::{ParameterError, VotesError};
use shield_client::{ClientError, InvitationError};
use shield_protocol::ProtocolError;
use shield_protocol::election_file::ElectionFileError;

/// What went wrong, told apart by who can mend it.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What was given cannot be used: exit code 2.
    BadInput(String),
    /// Something else failed on the way: exit code 1.
    Failed(String),
    /// Whoever read our output has gone away: nothing to say, nobody to tell.
    ReaderGone,
}

impl Failure {
    /// A failure that is nobody's input.
    pub(crate) fn failed(error: impl Display) -> Self {
        Self::Failed(error.to_string())
    }

    /// Input that cannot be used.
    pub(crate) fn bad_input(error: impl Display) -> Self {
        Self::BadInput(error.to_string())
    }

    /// Says it on stderr and gives the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        match self {
            Self::BadInput(message) => {
                eprintln!("error: {message}");
                ExitCode::from(2)
            }
            Self::Failed(message) => {
                eprintln!("error: {message}");
                ExitCode::FAILURE
            }
            Self::ReaderGone => ExitCode::SUCCESS,
        }
    }
}

impl From<ParameterError> for Failure {
    fn from(error: ParameterError) -> Self {
        Self::bad_input(error)
    }
}

impl From<VotesError> for Failure {
    fn from(error: VotesError) -> Self {
        Self::bad_input(error)
    }
}

/// Reading: the file is input. Writing is turned into [`Failure::failed`] where it happens.
impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        Self::bad_input(error)
    }
}

impl From<ProtocolError> for Failure {
    fn from(error: ProtocolError) -> Self {
        if error.is_bad_input() { Self::bad_input(error) } else { Self::failed(error) }
    }
}

#[cfg(feature = "learn")]
impl From<shield_learn::experiment::ExperimentError> for Failure {
    fn from(error: shield_learn::experiment::ExperimentError) -> Self {
        if error.is_bad_input() { Self::bad_input(error) } else { Self::failed(error) }
    }
}

impl From<InvitationError> for Failure {
    fn from(error: InvitationError) -> Self {
        Self::bad_input(error)
    }
}

impl From<ElectionFileError> for Failure {
    fn from(error: ElectionFileError) -> Self {
        Self::bad_input(error)
    }
}

/// What the server refuses as unusable is input, and so is a file that cannot be used; everything
/// else failed on the way.
impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Refused { status: 400 | 413 | 422, .. }
            | ClientError::Local(_)
            | ClientError::Certificate(_) => Self::bad_input(error),
            _ => Self::failed(error),
        }
    }
}
