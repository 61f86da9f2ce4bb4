//! Figures for Prometheus: what is counted as it happens, and what is measured when it is asked
//! for.

use std::sync::atomic::AtomicU64;

use axum::http::Method;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Metric, Registry};

/// What tells requests apart: few values, none of the caller's choosing.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(crate) struct Request {
    pub(crate) method: &'static str,
    pub(crate) route: String,
    pub(crate) status: u16,
}

/// A route, for the times that it takes.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(crate) struct Route {
    pub(crate) method: &'static str,
    pub(crate) route: String,
}

/// A stage of elections.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(crate) struct InStage {
    pub(crate) stage: &'static str,
}

/// A group of teachers.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(crate) struct OfGroup {
    pub(crate) group: String,
}

/// A request's method as a label. Any word is a method, so those that no route takes share one
/// label: otherwise every new word would stay in memory for ever.
pub(crate) fn method(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        _ => "other",
    }
}

type Float = Gauge<f64, AtomicU64>;

/// The figures.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    pub(crate) requests: Family<Request, Counter>,
    pub(crate) request_seconds: Histogram,
    pub(crate) route_seconds: Family<Route, Histogram>,
    pub(crate) ballots: Counter,
    pub(crate) ballot_bytes: Counter,
    pub(crate) refused: Counter,
    pub(crate) batches: Counter,
    pub(crate) aggregation_seconds: Counter<f64, AtomicU64>,
    pub(crate) elections: Family<InStage, Gauge>,
    pub(crate) budget_left: Family<OfGroup, Float>,
    pub(crate) disk_free: Gauge,
    pub(crate) ready: Gauge,
    pub(crate) database: Gauge,
    pub(crate) uploads: Gauge,
    pub(crate) downloads: Gauge,
    pub(crate) unpriced: Gauge,
    pub(crate) incidents: Gauge,
}

fn times() -> Histogram {
    Histogram::new(exponential_buckets(0.001, 4.0, 8))
}

fn registered<M: Metric + Clone>(to: &mut Registry, name: &str, help: &str, metric: M) -> M {
    to.register(name, help, metric.clone());
    metric
}

fn new<M: Metric + Clone + Default>(to: &mut Registry, name: &str, help: &str) -> M {
    registered(to, name, help, M::default())
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("shield");
        let to = &mut registry;
        let by_route = Family::new_with_constructor(times as fn() -> Histogram);
        Self {
            requests: new(to, "requests", "Requests answered"),
            request_seconds: registered(
                to,
                "request_seconds",
                "Time from request to answer",
                times(),
            ),
            route_seconds: registered(
                to,
                "route_seconds",
                "Time from request to answer, by route",
                by_route,
            ),
            ballots: new(to, "ballots", "Ballots accepted, a batch each"),
            ballot_bytes: new(to, "ballot_bytes", "Bytes of the ballots"),
            refused: new(to, "refused", "Uploads refused after a look at them"),
            batches: new(to, "batches", "Batches aggregated"),
            aggregation_seconds: new(to, "aggregation_seconds", "Time spent on aggregation"),
            elections: new(to, "elections", "Elections, by stage"),
            budget_left: new(
                to,
                "budget_left",
                "Epsilon that a group has neither spent nor set aside",
            ),
            disk_free: new(to, "disk_free_bytes", "Free on the disk"),
            ready: new(to, "ready", "Whether the server is ready"),
            database: new(to, "database_up", "Whether the database answers"),
            uploads: new(to, "uploads_in_flight", "Uploads under way"),
            downloads: new(to, "downloads_in_flight", "Files on their way out"),
            unpriced: new(to, "unpriced", "Ledger lines that wait for a proof"),
            incidents: new(to, "incidents", "Recent errors that are remembered"),
            registry,
        }
    }

    pub(crate) fn text(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}
