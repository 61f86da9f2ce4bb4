//! Small checked types: what the operator and its analysis are told, validated once at the edge.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use thiserror::Error;

/// A parameter out of its range: which, what it was, and what it may be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{parameter} is {value}; {allowed}")]
pub struct ParameterError {
    /// The parameter's name, as a user knows it.
    pub parameter: &'static str,
    /// The value that was given.
    pub value: String,
    /// What is allowed.
    pub allowed: &'static str,
}

impl ParameterError {
    /// A parameter, its value, and what it may be.
    pub fn new(parameter: &'static str, value: impl fmt::Display, allowed: &'static str) -> Self {
        Self { parameter, value: value.to_string(), allowed }
    }
}

/// A class, counted from 0. That it lies below the number of classes is checked where votes are
/// made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Class(pub u16);

impl Class {
    /// The class as an index.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The number of classes, K: from 2 to [`Classes::MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Classes(u32);

impl Classes {
    /// The most classes accepted.
    pub const MAX: usize = 1 << 16;

    /// That many classes.
    pub fn new(count: usize) -> Result<Self, ParameterError> {
        match u32::try_from(count) {
            Ok(narrow @ 2..) if count <= Self::MAX => Ok(Self(narrow)),
            _ => Err(ParameterError::new(
                "the number of classes",
                count,
                "it must be from 2 to 65,536",
            )),
        }
    }

    /// How many there are.
    pub fn count(self) -> usize {
        self.0 as usize
    }

    /// All of them, in order.
    pub fn all(self) -> impl Iterator<Item = Class> {
        (0..=u16::MAX).take(self.count()).map(Class)
    }

    /// Whether the class is one of them.
    pub fn contains(self, class: Class) -> bool {
        class.index() < self.count()
    }
}

/// How a checked number is read from text, and printed.
macro_rules! from_text {
    ($type:ident, $number:ty, $name:literal, $allowed:literal) => {
        impl FromStr for $type {
            type Err = ParameterError;

            fn from_str(text: &str) -> Result<Self, ParameterError> {
                let number: $number = text
                    .trim()
                    .parse()
                    .map_err(|_| ParameterError::new($name, format!("`{text}`"), $allowed))?;
                Self::new(number)
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

/// A number of something, within a range.
macro_rules! counted {
    (
        $(#[$about:meta])*
        $type:ident($number:ty) from $least:literal to $most:literal;
        $count:ident, $name:literal, $allowed:literal
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        pub struct $type($number);

        impl $type {
            /// The most that is accepted.
            pub const MAX: $number = $most;

            /// That many, if there may be so many.
            pub fn new(count: $number) -> Result<Self, ParameterError> {
                if ($least..=Self::MAX).contains(&count) {
                    Ok(Self(count))
                } else {
                    Err(ParameterError::new($name, count, $allowed))
                }
            }

            /// How many there are.
            pub fn $count(self) -> $number {
                self.0
            }
        }

        from_text!($type, $number, $name, $allowed);
    };
}

counted! {
    /// The offset w: how many dummy votes the urn holds for each class. 0 means none, and no
    /// privacy.
    Offset(u32) from 0 to 100_000;
    dummies, "the offset", "it must be a whole number from 0 to 100,000"
}

counted! {
    /// How many samples the student asks about.
    Queries(u64) from 1 to 1_000_000_000;
    count, "the number of queries", "it must be a whole number from 1 to 1,000,000,000"
}

counted! {
    /// How many teachers vote on a sample.
    Voters(u32) from 1 to 10_000_000;
    count, "the number of teachers", "it must be a whole number from 1 to 10,000,000"
}

from_text!(Classes, usize, "the number of classes", "it must be a whole number from 2 to 65,536");
from_text!(Delta, f64, "delta", "it must be a number strictly between 0 and 1");

impl Offset {
    /// The paper's offset.
    pub const PAPER: Self = Self(1);
}

impl Default for Offset {
    /// Five dummies. The paper has one; five cost two points of accuracy and more than halve
    /// epsilon.
    fn default() -> Self {
        Self(5)
    }
}

/// How the votes of one round are drawn from the urn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sampling {
    /// Each draw sees the whole urn: the paper's rule.
    #[default]
    WithReplacement,
    /// The votes of one round are distinct entries of the urn; the next round sees the whole urn
    /// again.
    WithoutReplacement,
}

impl fmt::Display for Sampling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WithReplacement => "with-replacement",
            Self::WithoutReplacement => "without-replacement",
        })
    }
}

/// The failure probability delta of (epsilon, delta)-differential privacy: strictly between 0 and
/// 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
pub struct Delta(f64);

impl Delta {
    /// That probability.
    pub fn new(probability: f64) -> Result<Self, ParameterError> {
        if probability > 0.0 && probability < 1.0 {
            Ok(Self(probability))
        } else {
            Err(ParameterError::new("delta", probability, "it must lie strictly between 0 and 1"))
        }
    }

    /// The probability.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl Default for Delta {
    /// The paper's delta.
    fn default() -> Self {
        Self(1e-5)
    }
}

impl Default for Queries {
    /// The paper's number of queries.
    fn default() -> Self {
        Self(100)
    }
}

/// A privacy cost: not negative, and infinite where there is no privacy.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Epsilon(f64);

impl Epsilon {
    /// No privacy at all.
    pub const INFINITE: Self = Self(f64::INFINITY);
    /// No cost.
    pub const ZERO: Self = Self(0.0);

    /// That cost. Refuses what is not a number or is negative.
    pub fn new(cost: f64) -> Result<Self, ParameterError> {
        if cost >= 0.0 {
            Ok(Self(cost))
        } else {
            Err(ParameterError::new("epsilon", cost, "it must be 0 or more"))
        }
    }

    /// The cost.
    pub fn get(self) -> f64 {
        self.0
    }

    /// Whether there is any privacy.
    pub fn is_finite(self) -> bool {
        self.0.is_finite()
    }
}

impl fmt::Display for Epsilon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_infinite() {
            return f.write_str("inf");
        }
        match f.precision() {
            // Rounded up, never down: a printed figure must still be a bound.
            Some(digits) => {
                let scale = 10f64.powi(i32::try_from(digits).unwrap_or(15));
                write!(f, "{:.digits$}", (self.0 * scale).ceil() / scale)
            }
            None => self.0.fmt(f),
        }
    }
}

impl Serialize for Epsilon {
    /// JSON has no infinity: it is the string "inf".
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.is_infinite() {
            serializer.serialize_str("inf")
        } else {
            serializer.serialize_f64(self.0)
        }
    }
}

impl<'de> Deserialize<'de> for Epsilon {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(f64),
            Word(String),
        }
        match Written::deserialize(deserializer)? {
            Written::Number(cost) => Self::new(cost).map_err(de::Error::custom),
            Written::Word(word) if word == "inf" => Ok(Self::INFINITE),
            Written::Word(word) => Err(de::Error::custom(format!("`{word}` is not a cost"))),
        }
    }
}

impl<'de> Deserialize<'de> for Offset {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(u32::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

impl FromStr for Sampling {
    type Err = ParameterError;

    fn from_str(text: &str) -> Result<Self, ParameterError> {
        match text {
            "with-replacement" => Ok(Self::WithReplacement),
            "without-replacement" => Ok(Self::WithoutReplacement),
            _ => Err(ParameterError::new(
                "the sampling rule",
                format!("`{text}`"),
                "it must be with-replacement or without-replacement",
            )),
        }
    }
}

/// How much noise: the scale of Laplace noise, or the standard deviation of Gaussian noise.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Noise(f64);

impl Noise {
    /// More would cost nothing less, and drown any vote; sums over as much would never end.
    const MAX: f64 = 1e9;

    /// That much noise: positive, and at most a thousand million votes.
    pub fn new(amount: f64) -> Result<Self, ParameterError> {
        if amount > 0.0 && amount <= Self::MAX {
            Ok(Self(amount))
        } else {
            let allowed = "it must be a positive number, at most 1,000,000,000";
            Err(ParameterError::new("the noise", amount, allowed))
        }
    }

    /// The amount.
    pub fn get(self) -> f64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_kept() {
        assert!(
            Classes::new(1).is_err() && Classes::new(2).is_ok() && Classes::new(65_536).is_ok()
        );
        assert!(Classes::new(65_537).is_err());
        assert!("-1".parse::<Offset>().is_err() && "0".parse::<Offset>().is_ok());
        for bad in ["0", "1", "-0.1", "NaN", "inf", "x", ""] {
            assert!(bad.parse::<Delta>().is_err(), "{bad}");
        }
        assert!(Epsilon::new(f64::NAN).is_err() && Epsilon::new(-0.1).is_err());
    }

    #[test]
    fn what_json_says_comes_back() {
        for epsilon in [Epsilon::ZERO, Epsilon::new(1.25).unwrap(), Epsilon::INFINITE] {
            let text = serde_json::to_string(&epsilon).unwrap();
            assert_eq!(serde_json::from_str::<Epsilon>(&text).unwrap(), epsilon);
        }
        for bad in ["-1.0", "\"much\"", "null"] {
            assert!(serde_json::from_str::<Epsilon>(bad).is_err(), "{bad}");
        }
        assert_eq!(serde_json::from_str::<Offset>("5").unwrap().dummies(), 5);
        assert!(serde_json::from_str::<Offset>("100001").is_err());
    }

    #[test]
    fn a_printed_epsilon_never_falls_below_its_value() {
        assert_eq!(format!("{:.2}", Epsilon::new(1.911).unwrap()), "1.92");
        assert_eq!(format!("{:.2}", Epsilon::new(2.0).unwrap()), "2.00");
        assert_eq!(format!("{:.2}", Epsilon::INFINITE), "inf");
    }
}
