//! The server: an HTTP API over a store, a privacy ledger, and one worker that aggregates.
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
mod caller;
mod elections;
mod error;
mod evidence;
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
mod upload;
mod worker;

pub use about::OPENAPI;
pub use address::{AddressError, public_url};
pub use error::ServeError;
pub use serve::serve;
pub use service::{Service, Settings};
