//! The ledger's rows: what is set aside and spent, and what it costs.
//!
//! Prices are stored, so that nobody who looks at the ledger has to prove anything. A row without
//! one waits for the background to fill it in.

use std::collections::BTreeMap;
use std::sync::Arc;

use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row};

use shield_privacy::price::LogMoment;
use shield_protocol::transcript::MOST_ROUNDS;
use shield_protocol::turnout::VoterCounts;
use shield_protocol::{ElectionFile, Name, PlannedElection};

use super::{Booking, Store, StoreError, voters_text};

/// What a line of the ledger costs its group, at the group's order.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BookedPrice {
    /// The sum of its moments, or a bound of it.
    pub log_moment: Option<LogMoment>,
    /// The statistical distance of its releases from what the labels alone would give.
    pub distance: Option<f64>,
    /// The most that one label can cost, over every turnout from the quorum to all teachers.
    pub each_label: Option<LogMoment>,
    /// Whether it is priced by its own turnouts.
    pub tight: bool,
}

impl Store {
    /// What a group has set aside and spent, in the order of booking.
    pub async fn bookings(&self, group: &Name) -> Result<Vec<Booking>, StoreError> {
        let rows = sqlx::query(
            "SELECT election, stage, voters, log_moment, distance, each_label, tight FROM ledger \
             WHERE grp = $1 ORDER BY booked, election",
        )
        .bind(group.as_str())
        .fetch_all(&self.pool)
        .await?;
        rows.iter().map(stored_booking).collect()
    }

    /// What is booked for one election.
    pub async fn booking(&self, election: &Name) -> Result<Option<Booking>, StoreError> {
        let row = sqlx::query(
            "SELECT election, stage, voters, log_moment, distance, each_label, tight FROM ledger \
             WHERE election = $1",
        )
        .bind(election.as_str())
        .fetch_optional(&self.pool)
        .await?;
        row.as_ref().map(stored_booking).transpose()
    }

    /// The elections whose booking has no price, or none by their own turnouts.
    pub async fn unpriced(&self) -> Result<Vec<Name>, StoreError> {
        let names: Vec<String> = sqlx::query_scalar(
            "SELECT election FROM ledger WHERE log_moment IS NULL OR each_label IS NULL OR (stage \
             = 'spent' AND tight = 0) ORDER BY election",
        )
        .fetch_all(&self.pool)
        .await?;
        names.iter().map(|name| name.parse().map_err(|_| StoreError::Damaged("name"))).collect()
    }

    /// Writes down what a booking costs, if it is still what was priced.
    pub async fn set_price(&self, priced: &Booking, price: BookedPrice) -> Result<(), StoreError> {
        sqlx::query(
            "UPDATE ledger SET log_moment = $1, distance = $2, each_label = $3, tight = $4 WHERE \
             election = $5 AND stage = $6 AND voters = $7",
        )
        .bind(text(price.log_moment))
        .bind(text(price.distance))
        .bind(text(price.each_label))
        .bind(i64::from(price.tight))
        .bind(priced.election.as_str())
        .bind(if priced.spent { "spent" } else { "reserved" })
        .bind(voters_text(&priced.voters))
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Books the audits that these tables may have forgotten, as if each of those that were still
    /// possible had labelled every sample again.
    pub(super) async fn book_forgotten_audits(
        &self,
        file: &Arc<ElectionFile>,
    ) -> Result<(), StoreError> {
        let Some(booking) = self.booking(file.name()).await? else { return Ok(()) };
        if PlannedElection::from(file.clone()).engine().audit_bytes().is_none() {
            return Ok(());
        }
        let rounds = self.rounds(file.name()).await?;
        let known = rounds.iter().filter(|round| round.answer.is_some()).count();
        let forgotten = MOST_ROUNDS.saturating_sub(known) * file.election().samples();
        let mut voters: BTreeMap<u32, u64> = booking.voters.into_iter().collect();
        *voters.entry(file.quorum()).or_default() += forgotten as u64;
        let voters: VoterCounts = voters.into_iter().collect();
        sqlx::query(
            "UPDATE ledger SET voters = $1, log_moment = NULL, tight = 0 WHERE election = $2",
        )
        .bind(voters_text(&voters))
        .bind(file.name().as_str())
        .execute(&self.pool)
        .await?;
        Ok(())
    }
}

/// Books what a new election sets aside.
pub(super) async fn reserve(
    connection: &mut AnyConnection,
    election: &Name,
    group: &Name,
    agreed: &VoterCounts,
    price: BookedPrice,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO ledger (election, grp, stage, voters, booked, log_moment, distance, \
         each_label, tight) VALUES ($1, $2, 'reserved', $3, $4, $5, $6, $7, 0)",
    )
    .bind(election.as_str())
    .bind(group.as_str())
    .bind(voters_text(agreed))
    .bind(super::now())
    .bind(text(price.log_moment))
    .bind(text(price.distance))
    .bind(text(price.each_label))
    .execute(connection)
    .await?;
    Ok(())
}

fn text(number: Option<impl ToString>) -> Option<String> {
    number.map(|number| number.to_string())
}

fn stored_booking(row: &AnyRow) -> Result<Booking, StoreError> {
    let damaged = || StoreError::Damaged("ledger");
    let election: String = row.try_get("election")?;
    let voters: String = row.try_get("voters")?;
    let number = |name: &str| -> Result<Option<f64>, StoreError> {
        let text: Option<String> = row.try_get(name)?;
        text.map(|text| text.parse().map_err(|_| damaged())).transpose()
    };
    Ok(Booking {
        election: election.parse().map_err(|_| damaged())?,
        spent: row.try_get::<String, _>("stage")? == "spent",
        voters: serde_json::from_str(&voters).map_err(|_| damaged())?,
        price: BookedPrice {
            log_moment: number("log_moment")?.map(LogMoment::booked),
            distance: number("distance")?,
            each_label: number("each_label")?.map(LogMoment::booked),
            tight: row.try_get::<i64, _>("tight")? != 0,
        },
    })
}
