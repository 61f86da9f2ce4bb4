//! What is refused, as Python exceptions: the message is the one that the program prints.

use std::error::Error;

use pyo3::PyErr;
use pyo3::create_exception;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use shield_client::ClientError;
use shield_core::framing::DecodeError;
use shield_protocol::{Problem, ProtocolError, Refused};

create_exception!(
    shield_pate,
    ShieldError,
    PyValueError,
    "Input that SHIELD refuses; the message says what to do."
);
create_exception!(
    shield_pate,
    SecondDrawError,
    ShieldError,
    "A second release of the same ballots: their privacy would be paid twice."
);
create_exception!(
    shield_pate,
    DamagedError,
    ShieldError,
    "A file or a key that is cut off, foreign or changed."
);
create_exception!(
    shield_pate,
    ServerError,
    PyRuntimeError,
    "A server that does not answer, or says no."
);

/// Input that cannot be used.
pub(crate) fn refuse(error: impl std::fmt::Display) -> PyErr {
    ShieldError::new_err(error.to_string())
}

/// Bytes that are not what they should be.
pub(crate) fn damaged(error: impl std::fmt::Display) -> PyErr {
    DamagedError::new_err(error.to_string())
}

/// An error of the protocol, told apart by what can be done about it.
pub(crate) fn protocol(error: ProtocolError) -> PyErr {
    let message = error.to_string();
    match &error {
        ProtocolError::SecondDraw { .. } => SecondDrawError::new_err(message),
        ProtocolError::Write { .. } => PyOSError::new_err(message),
        _ if is_damage(&error) => DamagedError::new_err(message),
        error if error.is_bad_input() => ShieldError::new_err(message),
        _ => PyRuntimeError::new_err(message),
    }
}

/// Whether some file's bytes are wrong, whoever wrapped the error.
fn is_damage(error: &(dyn Error + 'static)) -> bool {
    if error.is::<DecodeError>() {
        return true;
    }
    if let Some(refused) = error.downcast_ref::<Refused>() {
        return matches!(
            refused.problem,
            Problem::Damaged
                | Problem::Bundle(_)
                | Problem::Key(_)
                | Problem::Batch { .. }
                | Problem::Changed { .. }
        );
    }
    if let Some(ProtocolError::Refused(refused)) = error.downcast_ref::<ProtocolError>() {
        return is_damage(refused);
    }
    error.source().is_some_and(is_damage)
}

/// What a client could not do.
pub(crate) fn client(error: ClientError) -> PyErr {
    match error {
        ClientError::Local(_)
        | ClientError::Certificate(_)
        | ClientError::Refused { status: 400 | 413 | 422, .. } => refuse(error),
        ClientError::Write { .. } => PyOSError::new_err(error.to_string()),
        _ => ServerError::new_err(error.to_string()),
    }
}
