//! Who did what, when and from where: rows that are only ever added, each with a hash of all
//! before.
//!
//! Nothing here changes or removes a row. Whoever does so in the database breaks the chain, which
//! [`LogLine::expected`] lets everybody check who has an earlier export.

use jiff::Timestamp;
use shield_protocol::Name;
use shield_protocol::audit_log::LogLine;
use sqlx::Row;

use super::{Store, StoreError, moment, now, small};

/// Something that somebody did.
#[derive(Clone, Debug)]
pub struct Deed<'a> {
    /// The role: `operator`, `student`, `teacher`, `monitor`, `server` or `nobody`.
    pub role: &'a str,
    /// The public name of the token, or nothing.
    pub who: &'a str,
    /// From which address.
    pub address: &'a str,
    /// What: a short word.
    pub action: &'a str,
    /// About which election.
    pub election: Option<&'a Name>,
    /// The rest, for people.
    pub detail: &'a str,
}

impl Store {
    /// Writes a line. One at a time, for each needs the hash of the one before.
    pub async fn log(&self, deed: Deed<'_>) -> Result<(), StoreError> {
        let _alone = self.logging.lock().await;
        let last = sqlx::query("SELECT number, chain FROM audit_log ORDER BY number DESC LIMIT 1")
            .fetch_optional(&self.pool)
            .await?;
        let (number, before) = match &last {
            Some(row) => (small(row.try_get("number")?)? + 1, row.try_get("chain")?),
            None => (1, String::new()),
        };
        let mut line = LogLine {
            number,
            moment: moment(now())?,
            role: deed.role.to_owned(),
            who: deed.who.to_owned(),
            address: deed.address.to_owned(),
            action: deed.action.to_owned(),
            election: deed.election.map(Name::to_string),
            detail: deed.detail.chars().take(500).collect(),
            chain: String::new(),
        };
        line.chain = line.expected(&before);
        sqlx::query(
            "INSERT INTO audit_log (number, moment, role, who, address, action, election, detail, \
             chain) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        )
        .bind(i64::from(line.number))
        .bind(line.moment.as_millisecond())
        .bind(line.role)
        .bind(line.who)
        .bind(line.address)
        .bind(line.action)
        .bind(line.election)
        .bind(line.detail)
        .bind(line.chain)
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// When the newest row was written.
    pub async fn newest(&self) -> Result<Option<Timestamp>, StoreError> {
        let newest: Option<i64> = sqlx::query_scalar(
            "SELECT MAX(moment) FROM (SELECT MAX(moment) AS moment FROM audit_log UNION ALL SELECT \
             MAX(created) FROM elections UNION ALL SELECT MAX(closed) FROM elections UNION ALL \
             SELECT MAX(received) FROM ballots) AS moments",
        )
        .fetch_one(&self.pool)
        .await?;
        newest.map(moment).transpose()
    }

    /// Sets when all ballots were received.
    #[cfg(test)]
    pub(crate) async fn age_ballots(&self, received: i64) {
        let aged = sqlx::query("UPDATE ballots SET received = $1").bind(received);
        aged.execute(&self.pool).await.unwrap();
    }

    /// Some lines of the log, in order, after a number.
    pub async fn log_lines(&self, after: u32, most: u32) -> Result<Vec<LogLine>, StoreError> {
        let rows = sqlx::query(
            "SELECT number, moment, role, who, address, action, election, detail, chain FROM \
             audit_log WHERE number > $1 ORDER BY number LIMIT $2",
        )
        .bind(i64::from(after))
        .bind(i64::from(most))
        .fetch_all(&self.pool)
        .await?;
        rows.iter()
            .map(|row| {
                Ok(LogLine {
                    number: small(row.try_get("number")?)?,
                    moment: moment(row.try_get("moment")?)?,
                    role: row.try_get("role")?,
                    who: row.try_get("who")?,
                    address: row.try_get("address")?,
                    action: row.try_get("action")?,
                    election: row.try_get("election")?,
                    detail: row.try_get("detail")?,
                    chain: row.try_get("chain")?,
                })
            })
            .collect()
    }
}
