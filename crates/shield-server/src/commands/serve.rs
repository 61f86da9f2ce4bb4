//! `serve`: the server of SPEED, over HTTP.

use std::io::IsTerminal;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, io};

use clap::Args;
use rand::TryRngCore;
use rand::rngs::OsRng;
use serde_json::json;
use shield_client::Invitation;
use shield_core::Delta;
use shield_protocol::credentials::{Role, Token};
use shield_protocol::ledger::Budget;
use shield_server::store::DatabaseUrl;
use shield_server::tls::{self, Certificate};
use shield_server::{Aggregation, Service, Settings, public_url, serve};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use shield_terminal::{Failure, console};

/// Run the server: it takes encrypted ballots and aggregates them, and can read none of them
#[derive(Args, Debug)]
#[command(after_help = "Example, to try it out on this machine:\n  shield-server serve --data \
        server-data --dev\n\n\
    The first start writes the operator's invitation (operator.toml): with it, `shield election \
    submit election.toml`\n\
    creates elections, and a browser signs in at the server's address with the token in it.\n\n\
    Student and server must not collude: the one has the key, the other the ballots.")]
#[expect(clippy::struct_excessive_bools, reason = "flags of the command line, each for itself")]
pub(super) struct ServeArgs {
    /// A TOML file with any of these flags, named as here: `data = "/var/lib/shield"`, `dev =
    /// true`. What is given on the command line counts instead
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Data folder; created if missing
    #[arg(long, value_name = "FOLDER")]
    data: PathBuf,

    /// Where to listen
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8443")]
    listen: SocketAddr,

    /// Use a self-signed certificate for localhost; created if missing
    #[arg(long, conflicts_with_all = ["certificate", "plain"])]
    dev: bool,

    /// The certificate chain, PEM
    #[arg(long, value_name = "FILE", requires = "key")]
    certificate: Option<PathBuf>,

    /// The certificate's private key, PEM
    #[arg(long, value_name = "FILE", requires = "certificate")]
    key: Option<PathBuf>,

    /// The authority that has signed the certificate, PEM, if machines do not trust it by
    /// themselves: goes into invitations, whose bearers then trust this one alone
    #[arg(long, value_name = "FILE", conflicts_with = "dev")]
    authority: Option<PathBuf>,

    /// Speak plain HTTP: only behind a proxy on this machine that speaks TLS
    #[arg(long, conflicts_with = "certificate")]
    plain: bool,

    /// Public URL, written into invitations [default: from --listen]
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,

    /// A PostgreSQL URL, instead of SQLite in the data folder
    #[arg(long, value_name = "URL", env = "SHIELD_DATABASE", hide_env_values = true)]
    database: Option<DatabaseUrl>,

    /// The most that a group of teachers may spend in all its elections together
    #[arg(long, value_name = "EPSILON", default_value_t = Budget::default().epsilon)]
    budget: f64,

    /// The failure probability for which costs are stated
    #[arg(long, value_name = "D", default_value_t = Delta::default())]
    delta: Delta,

    /// The operator's invitation: written at the first start, read at later ones
    #[arg(long, value_name = "FILE", default_value = "operator.toml")]
    operator: PathBuf,

    /// Make another operator, with an invitation of its own
    #[arg(long)]
    new_operator: bool,

    /// An invitation that reads the metrics and nothing else: written at the first start that asks
    /// for it
    #[arg(long, value_name = "FILE")]
    monitor: Option<PathBuf>,

    /// Make another monitor, with an invitation of its own
    #[arg(long, requires = "monitor")]
    new_monitor: bool,

    /// How many uploads are taken at once; others are asked to come back
    #[arg(long, value_name = "N", default_value_t = 32)]
    uploads: usize,

    /// Leave the aggregation to others: every closed election is a job in `DATA/elections`, and the
    /// server takes the batches that `shield job work DATA/elections`, Ray or anybody else computes
    /// there. Nobody but the server and its workers may read them: the seeds of all draws are there
    #[arg(long)]
    jobs: bool,

    /// How many uploads one token may have under way
    #[arg(long, value_name = "N", default_value_t = 4)]
    uploads_per_token: u32,

    /// How many files one token may fetch at once
    #[arg(long, value_name = "N", default_value_t = 4)]
    downloads_per_token: u32,

    /// How many bytes per second an upload must bring on average
    #[arg(long, value_name = "BYTES", default_value_t = 4096)]
    pace: u64,

    /// The server is not ready with less than this free on the disk, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 256)]
    disk_reserve: u64,

    /// How much memory the server may take, in MiB: elections whose batches take more are refused
    /// [default: what its service or container may take, or else the machine's]
    #[arg(long, value_name = "MIB")]
    memory: Option<u64>,

    /// Delete the ballots of elections this many days after they were closed [default: never]
    #[arg(long, value_name = "DAYS")]
    keep_ballots: Option<u64>,
}

pub(super) fn run(args: &ServeArgs) -> Result<(), Failure> {
    if !(args.budget > 0.0 && args.budget.is_finite()) {
        return Err(Failure::bad_input(format!(
            "--budget is {}; give a number above 0",
            args.budget
        )));
    }
    if args.uploads == 0 || args.uploads_per_token == 0 || args.downloads_per_token == 0 {
        return Err(Failure::bad_input(
            "--uploads, --uploads-per-token or --downloads-per-token is 0; give 1 or more",
        ));
    }
    log_to_stderr();
    let certificate = certificate(args)?;
    let listener = TcpListener::bind(args.listen).map_err(|error| {
        let remedy = "choose another address with --listen, or stop what listens there";
        Failure::failed(format!("cannot listen on {}: {error}; {remedy}", args.listen))
    })?;
    let address = listener.local_addr().map_err(Failure::failed)?;
    let url = public_url(args.public_url.as_deref(), address, certificate.as_ref())
        .map_err(Failure::bad_input)?;
    // Ours for trying things out has signed itself.
    let own = certificate.as_ref().filter(|_| args.dev).map(|own| &own.chain);
    let authority = args.authority.as_ref().or(own).map(|path| tls::authority(path));
    let authority = authority.transpose().map_err(Failure::bad_input)?;
    let runtime = tokio::runtime::Runtime::new().map_err(Failure::failed)?;
    runtime.block_on(async {
        let hang_ups = HangUps::listen();
        let settings = Settings {
            data: args.data.clone(),
            database: args.database.clone(),
            budget: Budget { epsilon: args.budget, delta: args.delta },
            uploads: args.uploads,
            patience: Duration::from_secs(20),
            pace: args.pace,
            uploads_per_token: args.uploads_per_token,
            downloads_per_token: args.downloads_per_token,
            disk_reserve: args.disk_reserve << 20,
            memory: args.memory.map_or_else(memory, |mebibytes| mebibytes.saturating_mul(1 << 20)),
            // Checked only where the server is told its name; a proxy may pass on another.
            authority: authority.clone(),
            public_host: args.public_url.as_ref().and(host_of(&url)),
            keep_ballots: args
                .keep_ballots
                .map(|days| Duration::from_secs(days.saturating_mul(86_400))),
            ..Settings::default()
        };
        let service = Service::open(&settings).await.map_err(|error| match error {
            error if error.is_bad_input() => Failure::bad_input(error),
            error => Failure::failed(format!("{}: {error}", args.data.display())),
        })?;
        for seat in seats(args) {
            let name = seat.role.name();
            let is_taken = service.has_role(&seat.role).await?;
            match seat.invitation(is_taken, &url, authority.as_deref())? {
                Some(invitation) => {
                    service.add(&invitation.token.hash(), &seat.role).await?;
                    note(&format!("{name}'s invitation: {}", seat.file.display()));
                }
                None => note(&format!(
                    "the {name}'s invitation is elsewhere; --new-{name} makes another"
                )),
            }
        }
        note(&format!(
            "next: shield election submit --invitation {} election.toml; or open {url} in a \
             browser and sign in with the token in that file",
            args.operator.display()
        ));
        note(&format!("shield serves at {url}, data in {}", args.data.display()));
        let aggregation = if args.jobs { Aggregation::Elsewhere } else { Aggregation::Here };
        Ok(serve(service, listener, certificate, aggregation, stop(), || hang_ups.next()).await?)
    })
}

/// The certificate, which is read here: the server must not stumble over it once it has written
/// invitations.
fn certificate(args: &ServeArgs) -> Result<Option<Certificate>, Failure> {
    let certificate = match (&args.certificate, &args.key) {
        (Some(chain), Some(key)) => Certificate { chain: chain.clone(), key: key.clone() },
        _ if args.dev => {
            let failed =
                |error: io::Error| Failure::failed(format!("{}: {error}", args.data.display()));
            tls::self_signed(&args.data).map_err(failed)?
        }
        _ if args.plain => {
            if !args.listen.ip().is_loopback() {
                return Err(Failure::bad_input(
                    "--plain would send tokens in the clear; listen on 127.0.0.1, or give \
                     --certificate and --key",
                ));
            }
            return Ok(None);
        }
        _ => {
            return Err(Failure::bad_input(
                "there is no certificate; give --certificate and --key, or --dev to try things \
                 out on this machine",
            ));
        }
    };
    certificate.config().map_err(Failure::bad_input)?;
    Ok(Some(certificate))
}

/// A role of the server's own, and the file with its invitation.
struct Seat<'a> {
    role: Role,
    file: &'a Path,
    /// Whether there is to be one more bearer.
    another: bool,
}

fn seats(args: &ServeArgs) -> Vec<Seat<'_>> {
    let operator = Seat { role: Role::Operator, file: &args.operator, another: args.new_operator };
    let monitor = args.monitor.iter().map(|file| Seat {
        role: Role::Monitor,
        file,
        another: args.new_monitor,
    });
    std::iter::once(operator).chain(monitor).collect()
}

impl Seat<'_> {
    /// The invitation: the one of last time, or a new one for the first bearer, or for one more if
    /// that is asked for. None if it was moved to where it is safe, as it should be.
    fn invitation(
        &self,
        is_taken: bool,
        url: &str,
        pem: Option<&str>,
    ) -> Result<Option<Invitation>, Failure> {
        let (name, file) = (self.role.name(), self.file.display());
        if self.file.exists() {
            if self.another {
                return Err(Failure::bad_input(format!(
                    "{file}: this invitation is there already; name another file with --{name}"
                )));
            }
            let invitation = Invitation::read_file(self.file)?;
            if invitation.role != name {
                return Err(Failure::bad_input(format!(
                    "{file}: this is an invitation for the {}; give the {name}'s with --{name}",
                    invitation.role
                )));
            }
            return Ok(Some(invitation));
        }
        if is_taken && !self.another {
            return Ok(None);
        }
        let token = Token::random(&mut OsRng.unwrap_err());
        let invitation = Invitation::new(url, &self.role, None, pem, token);
        invitation.write(self.file).map_err(|error| Failure::failed(format!("{file}: {error}")))?;
        Ok(Some(invitation))
    }
}

/// How much memory this process may take: what its control group may, or else the machine's.
fn memory() -> u64 {
    let group = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let group = group.lines().find_map(|line| line.strip_prefix("0::/")).map(Path::new);
    let limits = group.into_iter().flat_map(Path::ancestors).filter_map(|group| {
        let file = Path::new("/sys/fs/cgroup").join(group).join("memory.max");
        std::fs::read_to_string(file).ok()?.trim().parse::<u64>().ok()
    });
    let machine = rustix::system::sysinfo();
    let machine = machine.totalram.saturating_mul(machine.mem_unit.into());
    limits.fold(machine, u64::min)
}

/// The host of an address.
fn host_of(url: &str) -> Option<String> {
    let rest = url.split_once("://")?.1;
    let authority = rest.split('/').next()?;
    let host = match authority.strip_prefix('[') {
        Some(literal) => literal.split(']').next()?,
        None => authority.split(':').next()?,
    };
    Some(host.to_owned())
}

/// Says something at the start: to people as a line, to programs as an event like all others.
fn note(text: &str) {
    if io::stderr().is_terminal() {
        console::note(text);
    } else {
        // Not an event that `RUST_LOG` could hide: whoever starts the server waits for it.
        let moment = jiff::Timestamp::now().to_string();
        let line = json!({ "timestamp": moment, "level": "INFO", "message": text });
        console::note(&line.to_string());
    }
}

/// Hang-ups, by which somebody asks to read the certificate again.
///
/// Listened to from the start: until then one would end the process, and one that comes while the
/// certificate is being read must not get lost.
struct HangUps(tokio::sync::Mutex<Option<Signal>>);

impl HangUps {
    fn listen() -> Self {
        Self(tokio::sync::Mutex::new(signal(SignalKind::hangup()).ok()))
    }

    async fn next(&self) {
        match &mut *self.0.lock().await {
            Some(signal) => {
                signal.recv().await;
            }
            None => std::future::pending().await,
        }
    }
}

/// Lines for people on a terminal, JSON for everything else. `RUST_LOG` chooses what.
fn log_to_stderr() {
    let wanted = env::var("RUST_LOG").ok().filter(|wanted| !wanted.is_empty());
    let wanted = wanted.and_then(|wanted| wanted.parse().ok());
    let filter: Targets = wanted.unwrap_or_else(usual_log);
    let lines = tracing_subscriber::fmt::layer().with_writer(io::stderr);
    let log = tracing_subscriber::registry().with(filter);
    // A second call in one process would be a mistake of ours, and harmless.
    let _ = if io::stderr().is_terminal() {
        log.with(lines.with_target(false)).try_init()
    } else {
        log.with(lines.json().flatten_event(true)).try_init()
    };
}

/// What is logged unless `RUST_LOG` says otherwise.
fn usual_log() -> Targets {
    Targets::new()
        .with_default(LevelFilter::INFO)
        .with_target("tower_http", LevelFilter::WARN)
        .with_target("sqlx", LevelFilter::WARN)
}

/// Ends at the first Ctrl-C or termination signal.
async fn stop() {
    let interrupt = tokio::signal::ctrl_c();
    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        let _ = interrupt.await;
        return;
    };
    tokio::select! {
        _ = interrupt => {}
        _ = terminate.recv() => {}
    }
}
