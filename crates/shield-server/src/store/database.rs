//! Where the database is, and whether the way there is safe.

use std::fmt;
use std::str::FromStr;

use shield_protocol::this_machine::is_this_machine;
use sqlx::postgres::{PgConnectOptions, PgSslMode};

use super::StoreError;

/// A database's URL. It may hold a password, so it is not shown.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseUrl(String);

impl DatabaseUrl {
    /// The URL, password and all.
    pub fn secret(&self) -> &str {
        &self.0
    }
}

impl From<String> for DatabaseUrl {
    fn from(url: String) -> Self {
        Self(url)
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DatabaseUrl(secret)")
    }
}

/// Refuses a PostgreSQL on the network unless its certificate is checked.
///
/// The driver's default, `prefer`, speaks in the clear to whoever says that it has no TLS, and
/// `require` speaks to anybody: password and seeds would go to the first who stands in between.
pub(super) fn check_the_way(url: &str) -> Result<(), StoreError> {
    if !url.starts_with("postgres:") && !url.starts_with("postgresql:") {
        return Ok(());
    }
    // Parsed as the driver does it, with what the environment adds.
    let options = PgConnectOptions::from_str(url)?;
    let host = options.get_host().trim_matches(['[', ']']);
    let is_here = options.get_socket().is_some() || host.starts_with('/') || is_this_machine(host);
    let is_checked = matches!(options.get_ssl_mode(), PgSslMode::VerifyFull | PgSslMode::VerifyCa);
    if is_here || is_checked { Ok(()) } else { Err(StoreError::OpenWay { host: host.to_owned() }) }
}

/// An error of the database, with the file's name if it is a file that is no database.
pub(super) fn named(error: sqlx::Error, is_sqlite: bool, url: &str) -> StoreError {
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    // SQLite: malformed, not a database.
    let is_damaged = code.is_some_and(|code| ["11", "26", "267", "523", "779"].contains(&&*code));
    if is_sqlite && is_damaged { damaged(url, error.to_string()) } else { error.into() }
}

/// A SQLite file that is damaged.
pub(super) fn damaged(url: &str, problem: String) -> StoreError {
    let path = url.strip_prefix("sqlite://").unwrap_or(url);
    let path = path.split('?').next().unwrap_or(path).into();
    StoreError::DamagedDatabase { path, problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_data_base_on_the_network_needs_a_certificate_that_is_checked() {
        let at = |rest: &str| format!("postgres://shield:hunter2@{rest}");
        for fine in [
            "sqlite:///tmp/x?mode=rwc",
            &at("localhost/shield"),
            &at("127.0.0.1:5433/shield"),
            &at("[::1]:5433/shield"),
            &at("%2Fvar%2Frun%2Fpostgresql/shield"),
            "postgresql:///shield?host=/var/run/postgresql",
            &at("db.example.org/shield?sslmode=verify-full"),
            &at("db.example.org/shield?sslrootcert=/etc/root.pem&sslmode=verify-ca"),
            &at("localhost/shield?sslmode=disable"),
        ] {
            assert!(check_the_way(fine).is_ok(), "{fine}");
        }
        for wrong in [
            at("db.example.org/shield"),
            at("10.0.0.7:5432/shield"),
            at("[2001:db8::1]/shield"),
            at("localhost.example.org/shield"),
            at("127.0.0.1.example.org/shield"),
            at("db.example.org/shield?sslmode=disable"),
            at("db.example.org/shield?sslmode=prefer"),
            at("db.example.org/shield?sslmode=require"),
            at("localhost/shield?host=db.example.org"),
            "postgresql://db.example.org/shield".to_owned(),
        ] {
            let error = check_the_way(&wrong).expect_err(&wrong);
            assert!(matches!(error, StoreError::OpenWay { .. }), "{wrong}: {error}");
            let said = error.to_string();
            assert!(said.contains("sslmode=verify-full") && !said.contains("hunter2"), "{said}");
        }
    }

    #[test]
    fn the_password_is_not_shown() {
        let url = DatabaseUrl::from("postgres://shield:password@localhost/shield".to_owned());
        assert!(!format!("{url:?}").contains("password"));
    }
}
