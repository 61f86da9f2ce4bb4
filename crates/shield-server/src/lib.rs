//! The server: an HTTP API over a store, a privacy ledger, and one worker that aggregates.
//!
//! ```
//! use std::net::TcpListener;
//! use std::time::Duration;
//!
//! use shield_server::ledger::Budget;
//! use shield_server::{Service, Settings, serve};
//!
//! # let folder = tempfile::tempdir()?;
//! let settings = Settings {
//!     data: folder.path().join("data"),
//!     database: None, // SQLite in the folder
//!     budget: Budget::default(),
//!     uploads: 32,
//!     patience: Duration::from_secs(30),
//! };
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! let service = Service::open(&settings).await?;
//! let listener = TcpListener::bind("127.0.0.1:0")?;
//! let stop = async {}; // as soon as it has started; a real server waits for a signal
//! serve(service, listener, None, stop).await?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | subject |
//! |---|---|
//! | [`store`] | what the server remembers, and what no crash may change |
//! | [`ledger`], `accounts` | what a group of teachers has spent, and what it can afford |
//! | `service`, `identity` | what all handlers share |
//! | `elections`, `objects`, `upload`, `about` | the handlers of the API |
//! | `rehearsals`, `audits`, `evidence` | keys that work, ballots that do not, draws to check |
//! | `caller`, `problem`, `metrics` | who asks, what is refused and how, what is counted |
//! | `page`, `sessions` | the page for people who run the server |
//! | `worker` | frozen ballots in, releases out |
//! | `routes`, `serve` | all of it behind a socket |
//! | [`tls`], `address` | certificates, and where others find the server |
//!
//! Parties talk to it with `shield-client`; what they say is in `shield-protocol`.

mod about;
mod accounts;
mod address;
mod audits;
mod ballot_box;
mod budget;
pub mod calculator;
mod caller;
mod elections;
mod error;
mod evidence;
mod explore;
mod identity;
pub mod ledger;
mod metrics;
mod objects;
mod page;
mod problem;
mod rehearsals;
mod routes;
mod serve;
mod service;
mod sessions;
pub mod store;
#[cfg(test)]
mod tests;
pub mod tls;
mod turnout;
mod upload;
mod worker;

pub use about::OPENAPI;
pub use address::{AddressError, public_url};
pub use error::ServeError;
pub use explore::Explorer;
pub use serve::serve;
pub use service::{Service, Settings};
