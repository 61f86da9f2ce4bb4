//! What elections cost: proven in the background, away from every transaction, and stored.
//!
//! Whoever looks at the ledger adds stored numbers. Creating an election proves the most that one
//! of its labels can cost, before it takes any lock; closing books that for every label and waits
//! for no proof; the background then proves what the turnouts really cost.

use std::sync::Arc;
use std::time::Duration;

use shield_privacy::filter::Price;
use shield_privacy::price::LogMoment;
use shield_protocol::turnout::VoterCounts;
use shield_protocol::{ElectionFile, Name};

use crate::problem::Problem;
use crate::service::Service;
use crate::store::{BookedPrice, Booking, Stage, StoredElection};
use shield_protocol::ledger::{GroupBudget, distance_of};

/// How many labels there are.
pub(crate) fn labels(voters: &VoterCounts) -> u64 {
    voters.iter().map(|&(_, labels)| labels).sum()
}

/// A booking's price, if it is known.
pub(crate) fn known(booking: &Booking) -> Option<Price> {
    let BookedPrice { log_moment, distance, each_label, .. } = booking.price;
    each_label?;
    Some(Price { log_moment: log_moment?, distance: distance? })
}

/// A price that is known in full.
pub(crate) fn as_price(price: BookedPrice) -> Price {
    Price {
        log_moment: price.log_moment.unwrap_or(LogMoment::UNKNOWN),
        distance: price.distance.unwrap_or(f64::INFINITY),
    }
}

/// Proves prices that are missing, then waits to be woken. Ends when the service is stopping.
pub(crate) async fn run(service: Arc<Service>) {
    while !service.is_stopping() {
        match service.store.unpriced().await {
            Ok(names) => {
                for name in names {
                    if service.is_stopping() {
                        return;
                    }
                    if let Err(problem) = service.price_election(&name).await {
                        tracing::error!(election = %name, reason = problem.detail(), "no price");
                    }
                }
            }
            Err(error) => tracing::error!(%error, "cannot read the ledger"),
        }
        let woken = service.prices.notified();
        let _ = tokio::time::timeout(Duration::from_secs(5), woken).await;
    }
}

impl Service {
    /// Proves what an election costs, as closely as it is proven at all, and stores it.
    pub(crate) async fn price_election(&self, name: &Name) -> Result<(), Problem> {
        let StoredElection { file, stage, .. } = self.store.election(name).await?;
        let Some(booking) = self.store.booking(name).await? else { return Ok(()) };
        let budget = self.group_budget(&file).await?;
        let budget = self.store.set_first_budget(file.group(), budget).await?;
        let again = self.batches_again(name).await?;
        // Of what was called off after it may have been drawn, and of audits that an older database
        // has forgotten, nobody knows the turnout.
        let is_known = stage != Stage::Withdrawn && !self.store.is_blocked(name).await?;
        let priced = booking.clone();
        let price = self.prove(move |accountant| {
            let each = booking
                .price
                .each_label
                .unwrap_or_else(|| accountant.each_label(&file, budget.order));
            let labels = labels(&booking.voters);
            let most = each.times(labels);
            let log_moment = if booking.spent && is_known {
                accountant.by_turnout(&file, &booking.voters, budget.order, each).smaller(most)
            } else {
                most
            };
            BookedPrice {
                log_moment: Some(log_moment),
                distance: Some(distance_of(&file, labels, again)),
                each_label: Some(each),
                tight: booking.spent,
            }
        });
        Ok(self.store.set_price(&priced, price.await?).await?)
    }

    /// The batches that were aggregated again after audits.
    async fn batches_again(&self, name: &Name) -> Result<u64, Problem> {
        use shield_protocol::job::audit::Question;
        let mut batches = 0;
        for round in self.store.rounds(name).await?.iter().filter(|round| round.answer.is_some()) {
            let question: Question = serde_json::from_str(&round.question)
                .map_err(|_| Problem::internal("a stored audit is damaged"))?;
            batches += question.asked.len() as u64;
        }
        Ok(batches)
    }

    /// What an election would set aside at its group's order.
    pub(crate) async fn reservation(
        &self,
        file: &Arc<ElectionFile>,
        budget: GroupBudget,
    ) -> Result<BookedPrice, Problem> {
        let file = Arc::clone(file);
        self.prove(move |accountant| {
            let each = accountant.each_label(&file, budget.order);
            let labels = file.election().samples() as u64;
            BookedPrice {
                log_moment: Some(each.times(labels)),
                distance: Some(distance_of(&file, labels, 0)),
                each_label: Some(each),
                tight: false,
            }
        })
        .await
    }

    /// Proves something away from the threads that answer, a few at a time.
    pub(crate) async fn prove<T: Send + 'static>(
        &self,
        work: impl FnOnce(&shield_protocol::ledger::Accountant) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let turn = Arc::clone(&self.proofs).acquire_owned().await.map_err(Problem::internal)?;
        let accountant = Arc::clone(&self.accountant);
        let work = move || {
            let _turn = turn;
            work(&accountant)
        };
        tokio::task::spawn_blocking(work).await.map_err(Problem::internal)
    }

    /// The prices of everything that a group has booked, but for one election. Gives the elections
    /// that have none yet.
    pub(crate) async fn booked(
        &self,
        group: &Name,
        without: &Name,
    ) -> Result<Result<Vec<Price>, Vec<Name>>, Problem> {
        let (mut prices, mut missing) = (Vec::new(), Vec::new());
        for booking in self.store.bookings(group).await? {
            if booking.election == *without {
                continue;
            }
            match known(&booking) {
                Some(price) => prices.push(price),
                None => missing.push(booking.election),
            }
        }
        Ok(if missing.is_empty() { Ok(prices) } else { Err(missing) })
    }

    /// Waits until everything that a group has booked has a price. Takes no lock.
    pub(crate) async fn price_group(&self, group: &Name) -> Result<(), Problem> {
        for booking in self.store.bookings(group).await? {
            if known(&booking).is_none() {
                self.price_election(&booking.election).await?;
            }
        }
        Ok(())
    }
}
