//! `explore`: a page on this machine that shows what a setting costs and how good its labels are.

use std::fmt::Write as _;
use std::io::Read;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use rand::TryRngCore;
use rand::rngs::OsRng;
use serde_json::json;
use shield_privacy::explore::page::{self, Shape};
use shield_privacy::explore::{Calculator, Observed};
use shield_protocol::hex::hex;
use shield_protocol::this_machine::is_this_machine;
use tiny_http::{Header, Method, Request, Response, Server};

use super::Output;
use crate::console;
use crate::failure::Failure;
use crate::inputs::read_histograms;

/// Explore settings interactively in a browser
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
        let most = all.iter().map(shield_core::Histogram::voters).max().unwrap_or(1);
        Ok(Observed {
            name: votes.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            argument,
            histograms: all,
            labels,
            teachers: u32::try_from(most).map_err(Failure::bad_input)?,
            names: histograms
                .class_names()
                .map_or_else(Vec::new, |names| names.as_slice().to_vec()),
        })
    });
    let calculator = Calculator::new(observed.transpose()?);
    let listener = TcpListener::bind(args.listen).map_err(|error| {
        let remedy = "choose another address with --listen";
        Failure::failed(format!("cannot listen on {}: {error}; {remedy}", args.listen))
    })?;
    let address = listener.local_addr().map_err(Failure::failed)?;
    let explorer = Explorer { calculator, key: random() };
    let url = format!("http://{address}/{}/", explorer.key);
    let server = Server::from_listener(listener, None).map_err(Failure::failed)?;
    console::show(output, &json!({ "url": url }), &format!("{url}\n"))?;
    console::next(output, "open this address in a browser; Ctrl-C ends it");
    let explorer = Arc::new(explorer);
    for request in server.incoming_requests() {
        let explorer = Arc::clone(&explorer);
        // Each in a thread of its own: a proof must not keep an estimate waiting.
        std::thread::spawn(move || explorer.answer(request));
    }
    Ok(())
}

/// Sixteen random bytes, as text.
fn random() -> String {
    let mut bytes = [0; 16];
    OsRng.unwrap_err().try_fill_bytes(&mut bytes).unwrap_or_else(|never| match never {});
    hex(&bytes)
}

/// The longest question, in bytes.
const LONGEST: u64 = 64 << 10;

/// A calculator behind a local address.
struct Explorer {
    calculator: Calculator,
    /// The random part of the address: figures may depend on votes, and others on this machine need
    /// not see them.
    key: String,
}

impl Explorer {
    fn answer(&self, mut request: Request) {
        let response = self.response(&mut request);
        // The browser may have gone away; then there is nobody to answer.
        let _ = request.respond(response);
    }

    fn response(&self, request: &mut Request) -> Response<std::io::Cursor<Vec<u8>>> {
        // A page elsewhere whose name was pointed at this machine must not get in.
        let host = request.headers().iter().find(|header| header.field.equiv("Host"));
        let name = host.and_then(|host| host.value.as_str().rsplit_once(':'));
        if !name.is_some_and(|(name, _)| is_this_machine(name)) {
            return Response::from_data([]).with_status_code(403);
        }
        let path = request.url().strip_prefix('/').and_then(|url| url.strip_prefix(&*self.key));
        match (request.method(), path) {
            (Method::Get, Some("/")) => {
                let nonce = random();
                let page = page::document(&nonce, &Shape::of(&self.calculator));
                let policy = format!(
                    "default-src 'none'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; \
                     connect-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; \
                     frame-ancestors 'none'"
                );
                let headers = [
                    ("Content-Type", "text/html; charset=utf-8"),
                    ("Content-Security-Policy", &policy),
                    ("Referrer-Policy", "same-origin"),
                ];
                let headers = headers.iter().filter_map(|(name, value)| {
                    Header::from_bytes(name.as_bytes(), value.as_bytes()).ok()
                });
                headers.fold(Response::from_data(page), Response::with_header)
            }
            (Method::Post, Some("/calculator")) => {
                let mut text = Vec::new();
                let read = request.as_reader().take(LONGEST).read_to_end(&mut text);
                let answer = read.map_err(|error| error.to_string()).and_then(|_| {
                    let question =
                        serde_json::from_slice(&text).map_err(|error| error.to_string())?;
                    self.calculator.answer(&question)
                });
                let (status, document) = match answer {
                    Ok(answer) => (200, json!(answer)),
                    Err(problem) => (422, json!({ "detail": problem })),
                };
                Response::from_data(document.to_string()).with_status_code(status)
            }
            _ => Response::from_data([]).with_status_code(404),
        }
    }
}
