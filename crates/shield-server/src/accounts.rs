//! What elections cost their group of teachers, and what it can afford.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use shield_core::Delta;
use shield_privacy::Proven;
use shield_privacy::filter::Price;
use shield_privacy::price::LogMoment;
use shield_protocol::{ElectionFile, Name};
use utoipa::ToSchema;

use crate::account::{Account, BudgetChange, Entry, Moment};
use crate::caller::{Caller, Operator};
use crate::elections;
use crate::objects::see_through;
use crate::pricing::{as_price, known, labels};
use crate::problem::Problem;
use crate::schema;
use crate::service::Service;
use crate::store::{BookedPrice, Booking, Stage, StoreError};
use shield_protocol::ledger::{Cost, GroupBudget, distance_of};

pub(crate) async fn ledger(
    State(service): State<Arc<Service>>,
    caller: Caller,
) -> Result<Json<Vec<Account>>, Problem> {
    caller.operator()?;
    Ok(Json(service.accounts().await?))
}

/// An election that somebody thinks of.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Planned {
    /// The election file, as TOML.
    file: String,
}

/// The cost of an election to its group.
#[derive(Serialize, ToSchema)]
#[schema(as = Price)]
pub(crate) struct Quote {
    group: Name,
    /// As the only election of a group, at the order that suits it best.
    #[schema(value_type = schema::Epsilon)]
    only: Proven,
    /// At the order of its group, without the group's other elections.
    #[schema(value_type = schema::Epsilon)]
    alone: Proven,
    /// Of what the group has spent or set aside.
    #[schema(value_type = schema::Epsilon)]
    before: Proven,
    #[schema(value_type = schema::Epsilon)]
    after: Proven,
    budget: f64,
    #[schema(value_type = f64)]
    delta: Delta,
    fits: bool,
    /// How many more labels like these the budget pays for after it.
    labels_left: u64,
    /// How much memory the server takes at most to aggregate a batch, in bytes.
    memory: usize,
}

/// What an election would cost its group; nothing is set aside.
pub(crate) async fn price(
    State(service): State<Arc<Service>>,
    _: Operator,
    Json(planned): Json<Planned>,
) -> Result<Json<Quote>, Problem> {
    let file = elections::read(planned.file).await?;
    let memory = service.memory(&file).await?;
    let budget = service.group_budget(&file).await?;
    service.price_group(file.group()).await?;
    let price = service.reservation(&file, budget).await?;
    let planned = Arc::clone(&file);
    let only = service
        .prove(move |accountant| accountant.total(&[Cost::reserved(&planned)], budget.delta));
    let only = only.await?;
    let mut prices = service
        .booked(file.group(), file.name())
        .await?
        .map_err(|_| Problem::busy("the group's elections are being priced"))?;
    let before = budget.add_up(&prices).epsilon;
    let own = as_price(price);
    let alone = budget.add_up(&[own]).epsilon;
    prices.push(own);
    let after = budget.add_up(&prices);
    Ok(Json(Quote {
        group: file.group().clone(),
        only,
        alone,
        before,
        after: after.epsilon,
        budget: budget.epsilon,
        delta: budget.delta,
        fits: after.covered,
        labels_left: labels_left(&file, &prices, budget, price),
        memory,
    }))
}

/// How many more labels like those of an election the budget pays for, beside some prices.
fn labels_left(
    file: &ElectionFile,
    prices: &[Price],
    budget: GroupBudget,
    like: BookedPrice,
) -> u64 {
    let each = like.each_label.unwrap_or(LogMoment::UNKNOWN);
    let fits = |labels: u64| {
        let distance = distance_of(file, labels, 0);
        let more = Price { log_moment: each.times(labels), distance };
        budget.add_up(&[prices, &[more]].concat()).covered
    };
    most_that_fit(fits)
}

impl Service {
    /// Refuses what the group's budget cannot pay, with the numbers. Adds, and proves nothing.
    pub(crate) fn afford(
        file: &ElectionFile,
        budget: GroupBudget,
        others: &[Price],
        own: Price,
    ) -> Result<(), Problem> {
        let before = budget.add_up(others).epsilon;
        let alone = budget.add_up(&[own]).epsilon;
        let sum = budget.add_up(&[others, &[own]].concat());
        if sum.covered {
            return Ok(());
        }
        let after = sum.epsilon;
        let detail = if after.get() <= budget.epsilon {
            format!(
                "what the releases of the group {} leave to be told apart from their labels would \
                 take {:e} of its delta of {}, and half of it is for that: take fewer samples",
                file.group(),
                sum.simulated,
                budget.delta,
            )
        } else {
            format!(
                "the group {} has epsilon {:.3} spent or set aside of {}; this election costs \
                 {:.3} on its own and would bring it to {:.3} (delta {}): ask fewer samples, raise \
                 the offset or the quorum, or raise the budget",
                file.group(),
                before,
                budget.epsilon,
                alone,
                after,
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
        let (first, file) = (self.budget, file.clone());
        let order = self.prove(move |accountant| accountant.order(&file, &first)).await?;
        Ok(GroupBudget { epsilon: first.epsilon, delta: first.delta, order })
    }

    /// Every group's account, from what is stored.
    pub(crate) async fn accounts(&self) -> Result<Vec<Account>, Problem> {
        let elections = self.store.elections().await?;
        let moments: BTreeMap<&Name, Timestamp> =
            elections.iter().map(|e| (e.file.name(), e.closed.unwrap_or(e.created))).collect();
        let groups: BTreeSet<&Name> =
            elections.iter().map(|election| election.file.group()).collect();
        let mut accounts = Vec::new();
        for group in groups {
            // The background gives one to a group that has none.
            let Some(budget) = self.store.budget(group).await? else { continue };
            let mut account = Tally::default();
            for booking in self.store.bookings(group).await? {
                // One that was created since the list was read comes with the next look.
                let Some(&moment) = moments.get(&booking.election) else { continue };
                account.add(&booking, moment, budget);
            }
            let newest = elections.iter().find(|election| {
                election.file.group() == group && election.stage != Stage::Withdrawn
            });
            let labels_left = match newest {
                Some(newest) => {
                    let like = self.store.booking(newest.file.name()).await?;
                    like.filter(|_| account.unpriced == 0).map(|like| {
                        labels_left(&newest.file, &account.reserved, budget, like.price)
                    })
                }
                None => None,
            };
            accounts.push(account.finish(
                group,
                budget,
                self.store.budget_changes(group).await?,
                labels_left,
            ));
        }
        Ok(accounts)
    }
}

/// What is not proven yet.
const UNPRICED: Price = Price { log_moment: LogMoment::UNKNOWN, distance: 0.0 };

/// A group's account while it is added up.
#[derive(Default)]
struct Tally {
    entries: Vec<Entry>,
    dated: Vec<(Timestamp, Price)>,
    spent: Vec<Price>,
    reserved: Vec<Price>,
    unpriced: usize,
}

impl Tally {
    fn add(&mut self, booking: &Booking, moment: Timestamp, budget: GroupBudget) {
        let price = known(booking);
        if let Some(price) = price {
            self.dated.push((moment, price));
            if booking.spent {
                self.spent.push(price);
            }
            self.reserved.push(price);
        } else {
            self.unpriced += 1;
        }
        self.entries.push(Entry {
            election: booking.election.to_string(),
            spent: booking.spent,
            queries: labels(&booking.voters),
            voters: booking.voters.iter().map(|&(voters, _)| voters).min().unwrap_or(0),
            epsilon: budget.add_up(&[price.unwrap_or(UNPRICED)]).epsilon,
            tight: booking.price.tight,
        });
    }

    fn finish(
        mut self,
        group: &Name,
        budget: GroupBudget,
        changes: Vec<BudgetChange>,
        labels_left: Option<u64>,
    ) -> Account {
        self.dated.sort_by_key(|(moment, _)| *moment);
        let mut history = Vec::new();
        let mut sum = Price::default();
        for (moment, price) in self.dated {
            sum.log_moment = sum.log_moment + price.log_moment;
            sum.distance += price.distance;
            history.push(Moment { moment, epsilon: budget.add_up(&[sum]).epsilon });
        }
        // What is not proven yet may be anything.
        let of = |prices: &[Price]| match self.unpriced {
            0 => budget.add_up(prices).epsilon,
            _ => budget.add_up(&[UNPRICED]).epsilon,
        };
        Account {
            group: group.to_string(),
            spent: of(&self.spent),
            reserved: of(&self.reserved),
            entries: self.entries,
            budget: budget.epsilon,
            delta: budget.delta,
            order: budget.order,
            changes,
            labels_left,
            history,
        }
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
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewBudget {
    #[schema(exclusive_minimum = 0)]
    epsilon: f64,
    /// Unchanged without one.
    delta: Option<f64>,
    #[schema(min_length = 1, max_length = 1000)]
    reason: String,
}

/// A group's budget from now on.
#[derive(Serialize, ToSchema)]
#[schema(as = Budget)]
pub(crate) struct ChangedBudget {
    group: Name,
    epsilon: f64,
    #[schema(value_type = f64)]
    delta: Delta,
    /// The order at which moments add up, fixed with the group's first election.
    order: f64,
    /// The epsilon until now.
    before: f64,
}

/// Changes a group's budget, and writes down when and why. What is spent stays spent.
pub(crate) async fn change_budget(
    State(service): State<Arc<Service>>,
    operator: Operator,
    Path(group): Path<Name>,
    Json(new): Json<NewBudget>,
) -> Result<Json<ChangedBudget>, Problem> {
    see_through(async move {
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
        let detail = format!("{group}: epsilon {before} to {after}: {}", new.reason);
        service.log(&operator.0, "budget changed", None, &detail).await?;
        let GroupBudget { epsilon, delta, order } = budget;
        Ok(Json(ChangedBudget { group, epsilon, delta, order, before }))
    })
    .await
}

/// An epsilon for JSON, which knows no infinity.
fn number(epsilon: Proven) -> Value {
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
