//! What an operator does over the years: tokens, the log, the ledger as a file, what is deleted,
//! and who goes first.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use shield_protocol::Name;
use shield_protocol::audit_log::LogLine;
use shield_protocol::credentials::{Role, Token};

use crate::http::{Client, ClientError};
use crate::invitation::Invitation;

/// A token as the server knows it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TokenEntry {
    /// Its name: tells it apart, opens nothing.
    pub name: String,
    /// Its role.
    pub role: String,
    /// The election that it is for.
    pub election: Option<Name>,
    /// The teacher whose it is.
    pub teacher: Option<Name>,
    /// When it was made.
    pub created: jiff::Timestamp,
    /// What whoever made it wrote down.
    pub note: Option<String>,
    /// Whether it is the calling one.
    pub yours: bool,
}

/// All tokens: for the operator.
pub fn tokens(client: &Client) -> Result<Vec<TokenEntry>, ClientError> {
    client.get("/v1/tokens")
}

/// Makes another operator or monitor, with an invitation like the operator's own.
pub fn add_token(
    client: &Client,
    operator: &Invitation,
    role: &Role,
    note: Option<&str>,
    token: Token,
) -> Result<Invitation, ClientError> {
    let document = json!({ "role": role.name(), "token": token.hash(), "note": note });
    let _: Value = client.post("/v1/tokens", &document)?;
    let certificate = operator.certificate.as_deref();
    Ok(Invitation::new(&operator.server, role, None, certificate, token))
}

/// Puts a new token in the place of one, and gives the invitation for it. The old one stops working
/// at once.
pub fn rotate_token(
    client: &Client,
    operator: &Invitation,
    entry: &TokenEntry,
    token: Token,
) -> Result<Invitation, ClientError> {
    let address = format!("/v1/tokens/{}/rotate", entry.name);
    let _: Value = client.post(&address, &json!({ "token": token.hash() }))?;
    let certificate = operator.certificate.as_deref();
    let strange = || client.strange("a token without its election");
    let election = || entry.election.clone().ok_or_else(strange);
    let role = match entry.role.as_str() {
        "operator" => Role::Operator,
        "monitor" => Role::Monitor,
        "student" => Role::Student { election: election()? },
        _ => Role::Teacher { election: election()?, teacher: 0 },
    };
    Ok(Invitation::new(&operator.server, &role, entry.teacher.as_ref(), certificate, token))
}

/// Takes a token back: it stops working at once.
pub fn revoke_token(client: &Client, name: &str) -> Result<(), ClientError> {
    client.delete(&format!("/v1/tokens/{name}"))
}

/// The whole log, or what is after a line.
pub fn audit_log(client: &Client, after: u32) -> Result<Vec<LogLine>, ClientError> {
    let mut lines: Vec<LogLine> = Vec::new();
    loop {
        let last = lines.last().map_or(after, |line| line.number);
        let more: Vec<LogLine> = client.get(&format!("/v1/audit-log?after={last}"))?;
        let Some(newest) = more.last() else { return Ok(lines) };
        // Else a server that repeats itself would keep us here for ever.
        if newest.number <= last {
            let reason = format!("asked for the log after line {last}, it gave earlier lines");
            return Err(client.strange(reason));
        }
        lines.extend(more);
    }
}

/// Every line of the ledger, as CSV or JSON.
pub fn export_ledger(client: &Client, format: &str) -> Result<Vec<u8>, ClientError> {
    client.get_bytes(&format!("/v1/ledger/export?format={format}"), 64 << 20)
}

/// Deletes the `ballots` of an election that is over, or `everything` but its ledger line.
pub fn erase(client: &Client, election: &Name, what: &str) -> Result<Value, ClientError> {
    client.post(&format!("/v1/elections/{election}/erase"), &json!({ "what": what }))
}

/// Gives an election another place among those that are aggregated.
pub fn schedule(
    client: &Client,
    election: &Name,
    priority: u32,
    paused: bool,
) -> Result<Value, ClientError> {
    let turn = json!({ "priority": priority, "paused": paused });
    client.post(&format!("/v1/elections/{election}/schedule"), &turn)
}
