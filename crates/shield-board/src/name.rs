//! Names of elections, groups and teachers: they become folders, addresses and table cells.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// 1 to 64 lower-case letters, digits, `-` and `_`, the first a letter or a digit.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", schema(value_type = String, pattern = "^[a-z0-9][a-z0-9_-]{0,63}$"))]
#[serde(try_from = "String", into = "String")]
pub struct Name(String);

/// Text that is not a name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "`{shown}` is not a name; use 1 to 64 lower-case letters, digits, - and _, starting with a \
     letter or a digit"
)]
pub struct NameError {
    shown: String,
}

impl Name {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Name {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let bytes = text.as_bytes();
        let sound = (1..=64).contains(&bytes.len())
            && plain(bytes[0])
            && bytes.iter().all(|&byte| plain(byte) || byte == b'-' || byte == b'_');
        if sound {
            return Ok(Self(text.to_owned()));
        }
        let shown: String = text.chars().take(80).flat_map(char::escape_default).collect();
        Err(NameError { shown })
    }
}

impl TryFrom<String> for Name {
    type Error = NameError;

    fn try_from(text: String) -> Result<Self, NameError> {
        text.parse()
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_could_leave_a_folder_is_a_name() {
        for good in ["a", "ward-7", "0_x", &"a".repeat(64)] {
            assert!(good.parse::<Name>().is_ok(), "{good}");
        }
        for bad in ["", ".", "..", "a/b", "A", "-a", "a b", "ä", "a\0", &"a".repeat(65)] {
            assert!(bad.parse::<Name>().is_err(), "{bad}");
        }
    }
}
