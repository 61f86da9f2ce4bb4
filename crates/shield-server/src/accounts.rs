//! What elections cost their group of teachers, and what it can afford.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use shield::{Delta, Epsilon};
use shield_protocol::ElectionFile;
use shield_protocol::Name;

use crate::caller::{Caller, Operator};
use crate::elections;
use crate::ledger::{Account, Cost, Entry, GroupBudget, Moment, Sum};
use crate::problem::Problem;
use crate::service::Service;
use crate::store::{Stage, StoreError};

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
    let budget = service.group_budget(&file).await?;
    let mut costs = service.costs(&file).await?;
    let before = service.sum(costs.clone(), budget).await?.epsilon;
    let cost = Cost::reserved(&file);
    let alone = service.sum(vec![cost.clone()], budget).await?.epsilon;
    costs.push(cost);
    let after = service.sum(costs.clone(), budget).await?;
    Ok(Json(json!({
        "group": file.group(),
        "alone": number(alone),
        "before": number(before),
        "after": number(after.epsilon),
        "budget": budget.epsilon,
        "delta": budget.delta,
        "fits": after.covered,
        "labels_left": service.labels_left(&file, costs, budget).await?,
    })))
}

impl Service {
    /// Refuses what the group's budget cannot pay, with the numbers.
    /// Reads nothing from the store: it may be asked while a transaction is open.
    pub(crate) async fn afford(
        &self,
        file: &ElectionFile,
        budget: GroupBudget,
        mut costs: Vec<Cost>,
        cost: Cost,
    ) -> Result<(), Problem> {
        let before = self.sum(costs.clone(), budget).await?.epsilon;
        let alone = self.sum(vec![cost.clone()], budget).await?.epsilon;
        costs.push(cost);
        let sum = self.sum(costs, budget).await?;
        if sum.covered {
            return Ok(());
        }
        let after = sum.epsilon;
        let detail = if after.get() <= budget.epsilon {
            format!(
                "what the releases of the group {} leave to be told apart from their labels would \
                 take {:e} of its delta of {}, and half of it is for that: take an engine that \
                 hides more (`upload = \"plain\"`), or fewer samples",
                file.group(),
                sum.simulated,
                budget.delta,
            )
        } else {
            format!(
                "the group {} has epsilon {} spent or set aside of {}; this election costs {} on \
                 its own and would bring it to {} (delta {}): ask fewer samples, raise the offset \
                 or the quorum, or raise the budget",
                file.group(),
                short(before),
                budget.epsilon,
                short(alone),
                short(after),
                budget.delta,
            )
        };
        Err(Problem::conflict("budget", detail)
            .with("budget", budget.epsilon)
            .with("before", number(before))
            .with("alone", number(alone))
            .with("after", number(after)))
    }

    /// A group's budget: the stored one, or what a group whose first election this is would get.
    pub(crate) async fn group_budget(&self, file: &ElectionFile) -> Result<GroupBudget, Problem> {
        if let Some(budget) = self.store.budget(file.group()).await? {
            return Ok(budget);
        }
        let (accountant, first) = (Arc::clone(&self.accountant), self.budget);
        let file = file.clone();
        let order = tokio::task::spawn_blocking(move || accountant.order(&file, &first));
        let order = order.await.map_err(Problem::internal)?;
        Ok(GroupBudget { epsilon: first.epsilon, delta: first.delta, order })
    }

    /// What the other elections of a file's group cost, spent or set aside.
    pub(crate) async fn costs(&self, file: &ElectionFile) -> Result<Vec<Cost>, Problem> {
        let mut costs = Vec::new();
        for booking in self.store.bookings(file.group()).await? {
            if booking.election != *file.name() {
                let other = self.store.election(&booking.election).await?.file;
                costs.push(Cost::booked(&other, &booking));
            }
        }
        Ok(costs)
    }

    /// What some releases cost together, computed away from the threads that answer.
    pub(crate) async fn sum(&self, costs: Vec<Cost>, budget: GroupBudget) -> Result<Sum, Problem> {
        let accountant = Arc::clone(&self.accountant);
        tokio::task::spawn_blocking(move || accountant.sum(&costs, &budget))
            .await
            .map_err(Problem::internal)
    }

    /// What the group had spent or set aside after each of its elections.
    async fn history(
        &self,
        mut dated: Vec<(Timestamp, Cost)>,
        budget: GroupBudget,
    ) -> Result<Vec<Moment>, Problem> {
        dated.sort_by_key(|(moment, _)| *moment);
        let (mut history, mut costs) = (Vec::new(), Vec::new());
        for (moment, cost) in dated {
            costs.push(cost);
            let epsilon = self.sum(costs.clone(), budget).await?.epsilon;
            history.push(Moment { moment, epsilon });
        }
        Ok(history)
    }

    /// How many more labels like those of an election the budget pays for, beside some costs, with
    /// its quorum on each.
    async fn labels_left(
        &self,
        file: &ElectionFile,
        costs: Vec<Cost>,
        budget: GroupBudget,
    ) -> Result<u64, Problem> {
        let accountant = Arc::clone(&self.accountant);
        let like = Cost::reserved(file);
        let fits = move |labels: u64| {
            let mut costs = costs.clone();
            costs.push(like.with_labels(labels));
            accountant.sum(&costs, &budget).covered
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
            let mut dated: Vec<(Timestamp, Cost)> = Vec::new();
            let Some(any) = files.values().find(|file| file.group() == group) else { continue };
            let budget = self.group_budget(any).await?;
            let (mut spent, mut reserved) = (Vec::new(), Vec::new());
            for booking in self.store.bookings(group).await? {
                // One that was created since the list was read comes with the next look.
                let Some(file) = files.get(&booking.election) else { continue };
                let cost = Cost::booked(file, &booking);
                if let Some(moment) = moments.get(&booking.election) {
                    dated.push((*moment, cost.clone()));
                }
                if booking.spent {
                    spent.push(cost.clone());
                }
                reserved.push(cost.clone());
                entries.push(Entry {
                    election: booking.election.to_string(),
                    spent: booking.spent,
                    queries: booking.voters.iter().map(|&(_, queries)| queries).sum(),
                    voters: booking.voters.iter().map(|&(voters, _)| voters).min().unwrap_or(0),
                    epsilon: self.sum(vec![cost], budget).await?.epsilon,
                });
            }
            let history = self.history(dated, budget).await?;
            let newest = elections.iter().find(|election| {
                election.file.group() == group && election.stage != Stage::Withdrawn
            });
            let labels_left = match newest {
                Some(newest) => {
                    Some(self.labels_left(&newest.file, reserved.clone(), budget).await?)
                }
                None => None,
            };
            accounts.push(Account {
                history,
                labels_left,
                group: group.to_string(),
                entries,
                spent: self.sum(spent, budget).await?.epsilon,
                reserved: self.sum(reserved, budget).await?.epsilon,
                budget: budget.epsilon,
                delta: budget.delta,
                order: budget.order,
                changes: self.store.budget_changes(group).await?,
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

/// What the operator wants a group's budget to be.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewBudget {
    epsilon: f64,
    delta: Option<f64>,
    reason: String,
}

/// Changes a group's budget, and writes down when and why. What is spent stays spent.
pub(crate) async fn change_budget(
    State(service): State<Arc<Service>>,
    _: Operator,
    Path(group): Path<Name>,
    Json(new): Json<NewBudget>,
) -> Result<Json<Value>, Problem> {
    if !(new.epsilon > 0.0 && new.epsilon.is_finite()) {
        return Err(Problem::unusable("epsilon must be a number above 0"));
    }
    if new.reason.trim().is_empty() || new.reason.len() > 1000 {
        return Err(Problem::unusable("give a reason of at most 1,000 characters"));
    }
    let _one_at_a_time = service.booking.lock().await;
    let known = service.store.budget(&group).await?.ok_or(StoreError::NoGroup)?;
    let delta = new.delta.map(Delta::new).transpose().map_err(Problem::unusable)?;
    let delta = delta.unwrap_or(known.delta);
    let budget = service.store.change_budget(&group, new.epsilon, delta, &new.reason).await?;
    let (before, after) = (known.epsilon, budget.epsilon);
    tracing::warn!(%group, before, after, reason = new.reason, "budget changed");
    Ok(Json(json!({
        "group": group,
        "epsilon": budget.epsilon,
        "delta": budget.delta,
        "order": budget.order,
        "before": before,
    })))
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
