//! What operator, student and teachers do with a server.
//!
//! | module | subject |
//! |---|---|
//! | `invitation` | everything that one party needs to talk to the server, in one secret file |
//! | `http` | requests that are tried again |
//! | `requests` | what each party asks of the server |
//! | `trust` | rehearsals, audits, and what an auditor needs |
//! | [`submission`] | what a file is that somebody wants to send, and what must never be sent |
//! | [`preflight`](mod@preflight) | everything that could go wrong later, looked at now |
//!
//! Everything here blocks: a teacher's program needs no runtime.

mod http;
mod invitation;
pub mod preflight;
mod requests;
pub mod submission;
mod trust;

pub use http::{Client, ClientError};
pub use invitation::{Invitation, InvitationError, TOKEN_VARIABLE};
pub use requests::{
    close, create_election, election_file, election_of, fetch_election, fetch_public_key,
    fetch_results, receipt_path, status, submit_ballot, submit_key, withdraw,
};
pub use submission::{KeyKind, Submission};
pub use trust::{
    Audited, audit, change_budget, fetch_evidence, fetch_transcript, rehearse, transcript,
};
