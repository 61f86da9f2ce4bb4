//! What elections cost their group of teachers, and what it can afford.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use shield::Epsilon;
use shield_protocol::ElectionFile;
use shield_protocol::Name;
use shield_protocol::turnout::VoterCounts;

use crate::caller::{Caller, Operator};
use crate::elections;
use crate::ledger::{Account, Cost, Entry, Moment};
use crate::problem::Problem;
use crate::service::Service;
use crate::store::Stage;

pub(crate) async fn ledger(
    State(service): State<Arc<Service>>,
    caller: Caller,
) -> Result<Json<Vec<Account>>, Problem> {
    caller.operator()?;
    Ok(Json(service.accounts().await?))
}

/// An election that somebody thinks of.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Planned {
    /// The election file, as TOML.
    file: String,
}

/// What an election would cost its group; nothing is set aside.
pub(crate) async fn price(
    State(service): State<Arc<Service>>,
    _: Operator,
    Json(planned): Json<Planned>,
) -> Result<Json<Value>, Problem> {
    let file = elections::read(&planned.file)?;
    let mut costs = service.costs(&file).await?;
    let before = service.total(costs.clone()).await?;
    let cost = Cost::new(&file, vec![(file.quorum(), file.election().samples() as u64)]);
    let alone = service.total(vec![cost.clone()]).await?;
    costs.push(cost);
    let after = service.total(costs.clone()).await?;
    Ok(Json(json!({
        "group": file.group(),
        "alone": number(alone),
        "before": number(before),
        "after": number(after),
        "budget": service.budget.epsilon,
        "delta": service.budget.delta,
        "fits": after.get() <= service.budget.epsilon,
        "labels_left": service.labels_left(&file, costs).await?,
    })))
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

    /// What the group had spent or set aside after each of its elections.
    async fn history(&self, mut booked: Vec<(Timestamp, Cost)>) -> Result<Vec<Moment>, Problem> {
        booked.sort_by_key(|(moment, _)| *moment);
        let (mut history, mut costs) = (Vec::new(), Vec::new());
        for (moment, cost) in booked {
            costs.push(cost);
            history.push(Moment { moment, epsilon: self.total(costs.clone()).await? });
        }
        Ok(history)
    }

    /// How many more labels like those of an election the budget pays for, beside some costs, with
    /// its quorum on each.
    async fn labels_left(&self, file: &ElectionFile, costs: Vec<Cost>) -> Result<u64, Problem> {
        let (accountant, budget) = (Arc::clone(&self.accountant), self.budget);
        let (file, quorum) = (file.clone(), file.quorum());
        let fits = move |labels: u64| {
            let mut costs = costs.clone();
            costs.push(Cost::new(&file, vec![(quorum, labels)]));
            accountant.total(&costs, budget.delta).get() <= budget.epsilon
        };
        tokio::task::spawn_blocking(move || most_that_fit(fits)).await.map_err(Problem::internal)
    }

    /// Every group's account.
    pub(crate) async fn accounts(&self) -> Result<Vec<Account>, Problem> {
        let elections = self.store.elections().await?;
        let files: BTreeMap<&Name, &ElectionFile> =
            elections.iter().map(|election| (election.file.name(), &election.file)).collect();
        let moments: BTreeMap<&Name, Timestamp> =
            elections.iter().map(|e| (e.file.name(), e.closed.unwrap_or(e.created))).collect();
        let groups: BTreeSet<&Name> = files.values().map(|file| file.group()).collect();
        let mut accounts = Vec::new();
        for group in groups {
            let mut entries = Vec::new();
            let mut booked: Vec<(Timestamp, Cost)> = Vec::new();
            let (mut spent, mut reserved) = (Vec::new(), Vec::new());
            for booking in self.store.bookings(group).await? {
                // One that was created since the list was read comes with the next look.
                let Some(file) = files.get(&booking.election) else { continue };
                if let Some(moment) = moments.get(&booking.election) {
                    booked.push((*moment, Cost::new(file, booking.voters.clone())));
                }
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
            let history = self.history(booked).await?;
            let newest = elections.iter().find(|election| {
                election.file.group() == group && election.stage != Stage::Withdrawn
            });
            let labels_left = match newest {
                Some(newest) => Some(self.labels_left(&newest.file, reserved.clone()).await?),
                None => None,
            };
            accounts.push(Account {
                history,
                labels_left,
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

/// The largest number that fits, where less fits whenever more does; 0 if not even 1 does.
fn most_that_fit(fits: impl Fn(u64) -> bool) -> u64 {
    const MOST: u64 = 1 << 30;
    let (mut fitting, mut too_many) = (0, 1);
    while too_many < MOST && fits(too_many) {
        (fitting, too_many) = (too_many, 2 * too_many);
    }
    while too_many - fitting > 1 {
        let middle = u64::midpoint(fitting, too_many);
        if fits(middle) { fitting = middle } else { too_many = middle }
    }
    fitting
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_number_that_fits_is_found() {
        for most in [0, 1, 2, 3, 7, 8, 1000, 123_456] {
            assert_eq!(most_that_fit(|labels| labels <= most), most);
        }
        assert!(most_that_fit(|_| true) >= 1 << 29, "it ends where everything fits");
    }
}
