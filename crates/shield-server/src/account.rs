//! A group's account, for people to read.

use serde::Serialize;
use shield_core::Delta;
use shield_privacy::Proven;
use utoipa::ToSchema;

use crate::schema;

/// A group's account, for people to read.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Account {
    /// The group.
    pub(crate) group: String,
    /// Its releases and reservations.
    pub(crate) entries: Vec<Entry>,
    /// What the releases cost together.
    #[schema(value_type = schema::Epsilon)]
    pub(crate) spent: Proven,
    /// What releases and reservations cost together.
    #[schema(value_type = schema::Epsilon)]
    pub(crate) reserved: Proven,
    /// The most that it may be.
    pub(crate) budget: f64,
    /// The failure probability for which all of it is stated.
    #[schema(value_type = f64)]
    pub(crate) delta: Delta,
    /// The order at which its moments add up: fixed with its first election.
    pub(crate) order: f64,
    /// How the budget came to be what it is.
    pub(crate) changes: Vec<BudgetChange>,
    /// How many more labels like those of the group's newest election the budget pays for.
    pub(crate) labels_left: Option<u64>,
    /// What was spent or set aside after each election, the oldest first.
    pub(crate) history: Vec<Moment>,
}

/// What a group had spent or set aside at some time.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Moment {
    /// When an election was closed, or created if it is not closed.
    pub(crate) moment: jiff::Timestamp,
    /// The cost of all elections up to it together.
    #[schema(value_type = schema::Epsilon)]
    pub(crate) epsilon: Proven,
}

/// One election in an account.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Entry {
    /// The election.
    pub(crate) election: String,
    /// Whether its labels are out, or only set aside for.
    pub(crate) spent: bool,
    /// Labels released, or to be released.
    pub(crate) queries: u64,
    /// The fewest voters that a sample had, or must have.
    pub(crate) voters: u32,
    /// What it costs on its own; infinite until it is proven.
    #[schema(value_type = schema::Epsilon)]
    pub(crate) epsilon: Proven,
    /// Whether it is priced by its own turnouts, and not by the most that they could cost.
    pub(crate) tight: bool,
}

/// A change of a group's budget, for people to read.
#[derive(Clone, Debug, Serialize, ToSchema)]
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
