//! Names of the classes: what stands in the files of people who do not count their classes.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::parameters::{Class, Classes, ParameterError};

/// One name per class, all different. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassNames(Arc<[String]>);

impl ClassNames {
    /// The longest name, in characters.
    pub const MAX_LENGTH: usize = 200;

    /// Names in the order of the classes.
    pub fn new(names: impl IntoIterator<Item = String>) -> Result<Self, ParameterError> {
        let names: Vec<String> = names.into_iter().map(|name| name.trim().to_owned()).collect();
        Classes::new(names.len())?;
        let refused = |value: &str, allowed| {
            ParameterError::new("a class name", format!("`{}`", value.escape_debug()), allowed)
        };
        let mut seen = HashSet::with_capacity(names.len());
        for name in &names {
            if name.is_empty() || name.chars().any(char::is_control) {
                return Err(refused(name, "it must be some text on one line"));
            }
            if name.chars().count() > Self::MAX_LENGTH {
                return Err(refused(name, "it must have 200 characters or fewer"));
            }
            if !seen.insert(name.as_str()) {
                return Err(refused(name, "it must be there once only; names are all different"));
            }
        }
        Ok(Self(names.into()))
    }

    /// How many classes there are.
    pub fn classes(&self) -> Classes {
        Classes::new(self.0.len()).expect("counted when the names were given")
    }

    /// The name of a class.
    pub fn name(&self, class: Class) -> Option<&str> {
        self.0.get(class.index()).map(String::as_str)
    }

    /// All names, in the order of the classes.
    pub fn as_slice(&self) -> &[String] {
        &self.0
    }

    /// The class of each name.
    pub fn numbers(&self) -> HashMap<String, u32> {
        self.0.iter().cloned().zip(0..).collect()
    }
}

/// Names between commas, as they are given on the command line.
impl FromStr for ClassNames {
    type Err = ParameterError;

    fn from_str(text: &str) -> Result<Self, ParameterError> {
        Self::new(text.split(',').map(str::to_owned))
    }
}

impl fmt::Display for ClassNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(","))
    }
}

impl serde::Serialize for ClassNames {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_some_and_different() {
        let names: ClassNames = "cat, dog,owl".parse().unwrap();
        assert_eq!(names.as_slice(), ["cat", "dog", "owl"]);
        assert_eq!((names.name(Class(1)), names.name(Class(3))), (Some("dog"), None));
        assert_eq!(names.numbers()["owl"], 2);
        for (text, words) in [
            ("cat", "from 2"),
            ("cat,dog,cat", "`cat`; it must be there once"),
            ("cat,,dog", "some text"),
            ("a\nb,c", "one line"),
        ] {
            let error = text.parse::<ClassNames>().unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
