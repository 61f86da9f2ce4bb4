//! Bytes.
use thiserror::Error;

/// Why bytes were refused.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum DecodeError {}
