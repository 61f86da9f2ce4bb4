//! SPEED between parties who do not share a machine: files, a server, clients.
//!
//! | module | subject |
//! |---|---|
//! | [`election_file`], [`name`] | what all parties agree on before anyone makes a key |
//! | [`bundle`], [`private`], `new_file` | ballot and result files, and files that only their owner reads or that are written once |
//! | [`file_protocol`] | every role over files: keys, ballots, results, labels |
//! | [`credentials`] | who may do what |
//! | [`store`] | what the server remembers, and what no crash may change |
//! | [`ledger`] | what a group of teachers has spent, and what it can afford |
//! | `turnout` | how many voters each sample has, and whether that is a quorum |
//! | [`server`], `aggregation` | the HTTP API, and the work behind it |
//! | `this_machine` | what needs no TLS |
//! | [`client`] | what operator, student and teachers do with a server |

mod aggregation;
pub mod bundle;
pub mod client;
pub mod credentials;
pub mod election_file;
pub mod file_protocol;
pub mod ledger;
pub mod name;
mod new_file;
pub mod private;
pub mod server;
pub mod store;
mod this_machine;
mod turnout;

pub use election_file::ElectionFile;
pub use name::Name;
