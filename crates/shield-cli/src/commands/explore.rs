//! `explore`: a page on this machine that shows what a setting costs and how good its labels are.

use std::fmt::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use shield_server::Explorer;
use shield_server::calculator::{Calculator, Observed};

use super::Output;
use crate::console;
use crate::failure::Failure;
use crate::inputs::read_histograms;

/// Turn the knobs of a setting on a local page: cost, right labels, output law
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  shield explore\n  \
    shield explore --votes examples/mnist/paper-votes.npy.gz --labels \
    examples/mnist/digits.npy.gz\n\n\
    Prints an address to open in a browser. Only this machine reaches it; Ctrl-C ends it.")]
pub(super) struct ExploreArgs {
    /// Votes to count right labels on, samples x teachers; without them, made-up ones
    #[arg(long, value_name = "FILE")]
    votes: Option<PathBuf>,

    /// True labels to compare with, one per sample
    #[arg(long, value_name = "FILE", requires = "votes")]
    labels: Option<PathBuf>,

    /// Where to listen, on this machine
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
}

pub(super) fn run(args: &ExploreArgs, output: Output) -> Result<(), Failure> {
    if !args.listen.ip().is_loopback() {
        return Err(Failure::bad_input(format!(
            "--listen is {}; the page is for this machine alone, so give 127.0.0.1 and a port",
            args.listen
        )));
    }
    let observed = args.votes.as_ref().map(|votes| -> Result<Observed, Failure> {
        let (histograms, labels) = read_histograms(votes, args.labels.as_deref())?;
        let mut argument = format!("--votes {}", votes.display());
        if let Some(labels) = &args.labels {
            let _ = write!(argument, " --labels {}", labels.display());
        }
        let all = histograms.as_slice().to_vec();
        let most = all.iter().map(shield::Histogram::voters).max().unwrap_or(1);
        Ok(Observed {
            name: votes.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            argument,
            histograms: all,
            labels,
            teachers: u32::try_from(most).map_err(Failure::bad_input)?,
        })
    });
    let calculator = Calculator::new(observed.transpose()?);
    let listener = TcpListener::bind(args.listen).map_err(|error| {
        let remedy = "choose another address with --listen";
        Failure::failed(format!("cannot listen on {}: {error}; {remedy}", args.listen))
    })?;
    let explorer = Explorer::new(listener, calculator);
    let url = explorer.url()?;
    match output {
        Output::Json => console::print_json(&json!({ "url": url }))?,
        Output::Tables => console::print(&format!("{url}\n"))?,
    }
    console::next(output, "open this address in a browser; Ctrl-C ends it");
    let runtime = tokio::runtime::Runtime::new().map_err(Failure::failed)?;
    runtime.block_on(explorer.serve(async {
        let _ = tokio::signal::ctrl_c().await;
    }))?;
    Ok(())
}
