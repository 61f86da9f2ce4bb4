//! `budget`: what a group of teachers may spend, changed for a reason.

use clap::Args;
use serde_json::json;
use shield_client as client;
use shield_protocol::Name;

use super::Output;
use crate::console;
use crate::failure::Failure;
use crate::inputs::InvitationArgs;

/// Operator: change what a group of teachers may spend; the reason stays in the ledger
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  shield budget --invitation operator.toml --group hospitals \
        --epsilon 4 --reason \"agreed by all hospitals on 3 March\"\n\n\
    A group gets its budget with its first election; `serve --budget` is for groups that are new. \
    What is spent stays spent.")]
pub(super) struct BudgetArgs {
    #[command(flatten)]
    invitation: InvitationArgs,

    /// The group
    #[arg(long, value_name = "NAME")]
    group: Name,

    /// The most that all its releases together may cost
    #[arg(long, value_name = "EPSILON")]
    epsilon: f64,

    /// The failure probability for which it is stated [default: what it is]
    #[arg(long, value_name = "DELTA")]
    delta: Option<f64>,

    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

pub(super) fn run(args: &BudgetArgs, output: Output) -> Result<(), Failure> {
    let (client, _) = args.invitation.client()?;
    let BudgetArgs { group, epsilon, delta, reason, .. } = args;
    let changed = client::change_budget(&client, group, *epsilon, *delta, reason)?;
    match output {
        Output::Json => console::print_json(&json!(changed)),
        Output::Tables => {
            let number = |key: &str| changed[key].to_string();
            console::print(&console::properties(&[
                ("group", group.to_string()),
                ("budget", format!("epsilon {} (before: {})", number("epsilon"), number("before"))),
                ("delta", number("delta")),
                ("reason", reason.clone()),
            ]))
        }
    }
}
