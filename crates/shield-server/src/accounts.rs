//! What elections cost their group of teachers, and what it can afford.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde_json::Value;
use shield::Epsilon;
use shield_protocol::ElectionFile;
use shield_protocol::Name;
use shield_protocol::turnout::VoterCounts;

use crate::caller::Caller;
use crate::ledger::{Account, Cost, Entry};
use crate::problem::Problem;
use crate::service::Service;

pub(crate) async fn ledger(
    State(service): State<Arc<Service>>,
    caller: Caller,
) -> Result<Json<Vec<Account>>, Problem> {
    caller.operator()?;
    Ok(Json(service.accounts().await?))
}

impl Service {
    /// Refuses what the group's budget cannot pay, with the numbers.
    pub(crate) async fn afford(
        &self,
        file: &ElectionFile,
        mut costs: Vec<Cost>,
        voters: VoterCounts,
    ) -> Result<(), Problem> {
        let before = self.total(costs.clone()).await?;
        let cost = Cost::new(file, voters);
        let alone = self.total(vec![cost.clone()]).await?;
        costs.push(cost);
        let after = self.total(costs).await?;
        if after.get() <= self.budget.epsilon {
            return Ok(());
        }
        let detail = format!(
            "the group {} has epsilon {} spent or set aside of {}; this election costs {} on its \
             own and would bring it to {} (delta {}): ask fewer samples, raise the offset or the \
             quorum, or raise the budget",
            file.group(),
            short(before),
            self.budget.epsilon,
            short(alone),
            short(after),
            self.budget.delta,
        );
        Err(Problem::conflict("budget", detail)
            .with("budget", self.budget.epsilon)
            .with("before", number(before))
            .with("alone", number(alone))
            .with("after", number(after)))
    }

    /// What the other elections of a file's group cost, spent or set aside.
    pub(crate) async fn costs(&self, file: &ElectionFile) -> Result<Vec<Cost>, Problem> {
        let mut costs = Vec::new();
        for booking in self.store.bookings(file.group()).await? {
            if booking.election != *file.name() {
                let other = self.store.election(&booking.election).await?.file;
                costs.push(Cost::new(&other, booking.voters));
            }
        }
        Ok(costs)
    }

    /// The epsilon of some releases together, computed away from the threads that answer.
    pub(crate) async fn total(&self, costs: Vec<Cost>) -> Result<Epsilon, Problem> {
        let (accountant, delta) = (Arc::clone(&self.accountant), self.budget.delta);
        tokio::task::spawn_blocking(move || accountant.total(&costs, delta))
            .await
            .map_err(Problem::internal)
    }

    /// Every group's account.
    pub(crate) async fn accounts(&self) -> Result<Vec<Account>, Problem> {
        let elections = self.store.elections().await?;
        let files: BTreeMap<&Name, &ElectionFile> =
            elections.iter().map(|election| (election.file.name(), &election.file)).collect();
        let groups: BTreeSet<&Name> = files.values().map(|file| file.group()).collect();
        let mut accounts = Vec::new();
        for group in groups {
            let mut entries = Vec::new();
            let (mut spent, mut reserved) = (Vec::new(), Vec::new());
            for booking in self.store.bookings(group).await? {
                // One that was created since the list was read comes with the next look.
                let Some(file) = files.get(&booking.election) else { continue };
                let cost = Cost::new(file, booking.voters.clone());
                if booking.spent {
                    spent.push(cost.clone());
                }
                reserved.push(cost.clone());
                entries.push(Entry {
                    election: booking.election.to_string(),
                    spent: booking.spent,
                    queries: booking.voters.iter().map(|&(_, queries)| queries).sum(),
                    voters: booking.voters.iter().map(|&(voters, _)| voters).min().unwrap_or(0),
                    epsilon: self.total(vec![cost]).await?,
                });
            }
            accounts.push(Account {
                group: group.to_string(),
                entries,
                spent: self.total(spent).await?,
                reserved: self.total(reserved).await?,
                budget: self.budget.epsilon,
                delta: self.budget.delta,
            });
        }
        Ok(accounts)
    }
}

/// An epsilon with three decimals, rounded up: a bound stays one.
fn short(epsilon: Epsilon) -> String {
    match epsilon.get() {
        infinite if infinite.is_infinite() => "inf".to_owned(),
        finite => format!("{:.3}", (finite * 1000.0).ceil() / 1000.0),
    }
}

/// An epsilon for JSON, which knows no infinity.
fn number(epsilon: Epsilon) -> Value {
    serde_json::to_value(epsilon).unwrap_or(Value::Null)
}
