//! How a command ends when it does not end well.

use std::fmt::Display;
use std::process::ExitCode;

use shield_client::{ClientError, InvitationError};
use shield_core::{ParameterError, VotesError};
use shield_data::FileError;
use shield_protocol::ProtocolError;
use shield_protocol::election_file::ElectionFileError;
use shield_protocol::engine::SpecError;

/// What went wrong, told apart by who can mend it.
#[derive(Debug)]
pub enum Failure {
    /// What was given cannot be used: exit code 2.
    BadInput(String),
    /// Something else failed on the way: exit code 1.
    Failed(String),
    /// The reader of our output has gone away (`| head`): no error.
    ReaderGone,
}

impl Failure {
    /// A failure that is nobody's input.
    pub fn failed(error: impl Display) -> Self {
        Self::Failed(error.to_string())
    }

    /// Input that cannot be used.
    pub fn bad_input(error: impl Display) -> Self {
        Self::BadInput(error.to_string())
    }

    /// Bad input if it is that, else a failure.
    pub fn of(is_bad_input: bool, error: impl Display) -> Self {
        if is_bad_input { Self::bad_input(error) } else { Self::failed(error) }
    }

    /// Says it on stderr and gives the exit code.
    pub fn report(&self) -> ExitCode {
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

/// Errors of what was given. Writing is turned into [`Failure::failed`] where it happens, so a
/// file's error is one of reading.
macro_rules! bad_input {
    ($($error:ty),*) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::bad_input(error)
            }
        }
    )*};
}
bad_input!(ElectionFileError, FileError, InvitationError, ParameterError, SpecError, VotesError);

impl From<ProtocolError> for Failure {
    fn from(error: ProtocolError) -> Self {
        Self::of(error.is_bad_input(), error)
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
