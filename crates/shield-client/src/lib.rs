//! What operator, student and teachers do with a server.
//!
//! | module | subject |
//! |---|---|
//! | `invitation` | everything that one party needs to talk to the server, in one secret file |
//! | `http` | requests that are tried again |
//! | `requests` | what each party asks of the server |
//! | `trust` | rehearsals, audits, and what an auditor needs |
//! | `upkeep` | tokens, the log, the ledger as a file, what is deleted, who goes first |
//! | [`submission`] | what a file is that somebody wants to send, and what must never be sent |
//! | [`preflight`](mod@preflight) | everything that could go wrong later, looked at now |
//!
//! A teacher's part, from its invitation to the ballot on the server:
//!
//! ```no_run
//! use std::path::Path;
//!
//! use shield_client::{Client, Invitation, election_file, election_of, submit_ballot};
//! use shield_core::Watch;
//!
//! let invitation = Invitation::read(Path::new("anna.invitation"))?;
//! let election = election_of(&invitation, None)?;
//! let client = Client::new(&invitation)?;
//! let file = election_file(&client, &election)?;
//! println!("{} asks for {} votes", file.name(), file.election().samples());
//! submit_ballot(&client, &invitation, &file, Path::new("anna.ballot"), &Watch::default())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Everything here blocks: a teacher's program needs no runtime.

mod authorities;
mod http;
mod invitation;
pub mod preflight;
mod requests;
pub mod submission;
mod trust;
mod upkeep;

pub use http::{Client, ClientError};
pub use invitation::{Invitation, InvitationError, TOKEN_VARIABLE};
pub use requests::{
    Account, Created, close, create_election, election_file, election_of, fetch_public_key,
    fetch_results, ledger, receipt_path, replace_token, status, statuses, submit_ballot,
    submit_key, transcript, withdraw, write,
};
pub use submission::{KeyKind, Submission};
pub use trust::{Audited, audit, change_budget, fetch_evidence, rehearse};
pub use upkeep::{
    TokenEntry, add_token, audit_log, erase, export_ledger, revoke_token, rotate_token, schedule,
    tokens,
};
