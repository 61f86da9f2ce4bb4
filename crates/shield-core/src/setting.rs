//! One setting of the operator: polynomial, offset and sampling rule.

use serde::Serialize;

use crate::parameters::{Offset, Sampling};
use crate::polynomial::Polynomial;

/// SHIELD with its parameters. With the same votes, two equal mechanisms have the same output law.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct Setting {
    /// The rounds.
    pub polynomial: Polynomial,
    /// The dummies that each class has in the urn.
    pub offset: Offset,
    /// How a round draws.
    pub sampling: Sampling,
}
