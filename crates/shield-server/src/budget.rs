//! What a group of teachers may spend, as it is stored.

use shield::Delta;

/// A group's budget, and the order at which its moments add up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupBudget {
    /// The most that all releases together may cost.
    pub epsilon: f64,
    /// The failure probability for which it is stated.
    pub delta: Delta,
    /// The order of the group's moments, fixed for ever.
    pub order: f64,
}

impl GroupBudget {
    /// Half of delta: the other half is for what is only simulated.
    pub(crate) fn half(&self) -> Delta {
        Delta::new(self.delta.get() / 2.0).unwrap_or(self.delta)
    }
}

/// A change of a group's budget, for people to read.
#[derive(Clone, Debug, serde::Serialize)]
pub struct BudgetChange {
    /// When it was made.
    pub moment: jiff::Timestamp,
    /// The budget from then on.
    pub epsilon: f64,
    /// The failure probability from then on.
    pub delta: f64,
    /// Why.
    pub reason: String,
}
