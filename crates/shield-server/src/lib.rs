//! The server: an HTTP API over a store, a privacy ledger, and one worker that aggregates.
//!
//! ```
//! use std::net::TcpListener;
//!
//! use shield_protocol::ledger::Budget;
//! use shield_server::{Aggregation, Service, Settings, serve};
//!
//! # let folder = tempfile::tempdir()?;
//! let settings = Settings {
//!     data: folder.path().join("data"), // with SQLite in it
//!     budget: Budget { epsilon: 4.0, ..Budget::default() },
//!     ..Settings::default()
//! };
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! let service = Service::open(&settings).await?;
//! let listener = TcpListener::bind("127.0.0.1:0")?;
//! let stop = async {}; // as soon as it has started; a real server waits for a signal
//! let renew = std::future::pending; // never; a real server reads its certificate again
//! serve(service, listener, None, Aggregation::Here, stop, renew).await?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | subject |
//! |---|---|
//! | [`store`] | what the server remembers, and what no crash may change |
//! | `account`, `accounts`, `pricing` | what a group of teachers has spent, and what it can afford |
//! | `service`, `identity`, `clock` | what all handlers share |
//! | `elections`, `objects`, `about`, `tokens`, `upkeep` | the handlers of the API |
//! | `upload`, `parts`, `download`, `limits`, `patient` | bytes in and out, bounded for each token |
//! | `rehearsals`, `audits`, `evidence` | keys that work, ballots that do not, draws to check |
//! | `caller`, `problem`, `metrics`, `health` | who asks, what is refused, what is counted |
//! | `page`, `sessions` | the page for people who run the server |
//! | `worker`, `jobs`, `heavy` | frozen ballots in, releases out, here or by others |
//! | `routes`, `description`, `schema` | the table of routes, and the document that is made from it |
//! | `serve` | all of it behind a socket |
//! | [`tls`], `address` | certificates, and where others find the server |
//! | `waiting` | how other crates wait for this one |
//!
//! Parties talk to it with `shield-client`; what they say is in `shield-protocol`.

mod about;
mod account;
mod accounts;
mod address;
mod audits;
mod caller;
mod clock;
mod description;
mod download;
mod elections;
mod error;
mod evidence;
mod health;
mod heavy;
mod identity;
mod jobs;
mod limits;
mod metrics;
mod objects;
mod page;
mod parts;
mod patient;
mod pricing;
mod problem;
mod rehearsals;
mod routes;
mod schema;
mod serve;
mod service;
mod sessions;
pub mod store;
#[cfg(test)]
mod tests;
pub mod tls;
mod tokens;
mod turnout;
mod upkeep;
mod upload;
mod waiting;
mod worker;

pub use address::{AddressError, public_url};
pub use error::ServeError;
pub use jobs::Aggregation;
pub use routes::openapi;
pub use serve::serve;
pub use service::{Service, Settings};
pub use waiting::Waiting;
