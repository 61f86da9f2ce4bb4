//! What a mechanism costs at least, by pairs of neighbours that are likely to be bad: cheap enough
//! for searches that look at thousands of mechanisms.

use super::pair::Pair;
use super::{DataIndependent, Regime, worst};
use crate::Usage;

/// Pairs of neighbours that were bad for some mechanism, to be tried on others with the same urn.
#[derive(Clone, Debug, Default)]
pub(crate) struct Suspects(Vec<Pair>);

impl Suspects {
    /// Adds those that are new, up to a handful.
    pub(crate) fn merge(&mut self, others: &[Pair]) {
        const HANDFUL: usize = 10;
        for pair in others.iter().rev().take(2) {
            if !self.0.contains(pair) {
                self.0.push(pair.clone());
            }
        }
        let surplus = self.0.len().saturating_sub(HANDFUL);
        self.0.drain(..surplus);
    }
}

impl DataIndependent {
    /// The worst pairs met, the latest last.
    pub(crate) fn suspects(&self) -> &[Pair] {
        &self.hints
    }

    /// Adds the worst pair that a search finds from the suspects outwards, without proving
    /// anything.
    pub(crate) fn suspect(&self, suspects: &mut Suspects, usage: Usage) {
        let mut starts = self.starts();
        starts.extend(suspects.0.iter().cloned());
        if let Some((pair, _)) = worst::climb(&self.rounds, &starts, usage.queries, usage.delta) {
            suspects.merge(&[pair]);
        }
    }

    /// What the cost by moments is at least, and hardly more: what the worst pair costs that a
    /// quick search finds.
    pub fn worst_suspect(&self, usage: Usage) -> f64 {
        let mut suspects = Suspects::default();
        if self.regime == Regime::Ordinary {
            self.suspect(&mut suspects, usage);
        }
        self.at_least(&suspects, usage)
    }

    /// What the cost by moments is at least: what the worst of the suspects costs.
    pub(crate) fn at_least(&self, suspects: &Suspects, usage: Usage) -> f64 {
        match self.regime {
            Regime::Free => 0.0,
            Regime::Infinite => f64::INFINITY,
            Regime::Ordinary => suspects
                .0
                .iter()
                .map(|pair| worst::epsilon(&self.rounds, pair, usage.queries, usage.delta))
                .fold(0.0, f64::max),
        }
    }
}
