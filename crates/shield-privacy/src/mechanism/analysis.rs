//! A mechanism on given votes: its accuracy and its costs, as one document.

use serde::Serialize;

use super::{Costs, Description, Mechanism, Observed, Quote};
use crate::Usage;
use crate::server_view::ServerView;
use shield_core::Watch;
use shield_core::accuracy::Accuracy;
use shield_core::votes::Labels;

/// How many votes there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Shape {
    /// Samples.
    pub samples: usize,
    /// Teachers; the most that voted on a sample where only counts are known.
    pub teachers: usize,
    /// Classes.
    pub classes: usize,
}

/// Accuracy and privacy of a mechanism on given votes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Analysis {
    /// The votes.
    pub votes: Shape,
    /// The mechanism.
    pub mechanism: Description,
    /// How many samples the costs are stated for.
    pub queries: u64,
    /// The failure probability that the costs are stated for.
    pub delta: f64,
    /// How good the labels are.
    pub accuracy: Accuracy,
    /// What they cost: the figure that counts, and what it holds for.
    pub price: Quote,
    /// What they cost, by every accounting.
    pub epsilon: Costs,
    /// Which of the costs do not depend on the votes.
    pub may_be_published: &'static [&'static str],
    /// Whether the costs hold against the server that aggregates.
    pub holds_against_server: bool,
    /// What a server that also sees the labels could tell of one teacher, where that has a figure:
    /// SHIELD, whose draws it knows. Computed from the votes.
    pub server_view: Option<ServerView>,
}

impl Analysis {
    /// Analyses a mechanism; `labels`, where given, are as many as the samples.
    pub fn new(
        mechanism: &Mechanism,
        observed: Observed,
        labels: Option<&Labels>,
        usage: Usage,
        watch: &Watch,
    ) -> Self {
        let epsilon = mechanism.costs(observed, usage, &watch.part(0, 80));
        let (histograms, teachers) = (observed.histograms, observed.shape().teachers);
        let proof = epsilon.proof();
        let watch = &watch.part(80, 100);
        Self {
            price: Quote::of(mechanism, proof, histograms, teachers, usage, watch),
            votes: observed.shape(),
            mechanism: mechanism.description(),
            queries: usage.queries.count(),
            delta: usage.delta.get(),
            accuracy: mechanism.accuracy(observed.histograms, labels),
            epsilon,
            may_be_published: &["data_independent", "exact.data_independent"],
            holds_against_server: mechanism.against_server().holds(),
            server_view: mechanism.server_view(observed.histograms, usage.queries),
        }
    }
}
