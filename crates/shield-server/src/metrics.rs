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
use prometheus_client::registry::Registry;

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

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut metrics = Self {
            registry: Registry::default(),
            requests: Family::default(),
            request_seconds: times(),
            route_seconds: Family::new_with_constructor(times as fn() -> Histogram),
            ballots: Counter::default(),
            ballot_bytes: Counter::default(),
            refused: Counter::default(),
            batches: Counter::default(),
            aggregation_seconds: Counter::default(),
            elections: Family::default(),
            budget_left: Family::default(),
            disk_free: Gauge::default(),
            ready: Gauge::default(),
            database: Gauge::default(),
            uploads: Gauge::default(),
            downloads: Gauge::default(),
            unpriced: Gauge::default(),
            incidents: Gauge::default(),
        };
        let m = &metrics;
        let mut registry = Registry::with_prefix("shield");
        registry.register("requests", "Requests answered", m.requests.clone());
        registry.register(
            "request_seconds",
            "Time from request to answer",
            m.request_seconds.clone(),
        );
        registry.register(
            "route_seconds",
            "Time from request to answer, by route",
            m.route_seconds.clone(),
        );
        registry.register("ballots", "Ballots accepted, a batch each", m.ballots.clone());
        registry.register("ballot_bytes", "Bytes of the ballots", m.ballot_bytes.clone());
        registry.register("refused", "Uploads refused after a look at them", m.refused.clone());
        registry.register("batches", "Batches aggregated", m.batches.clone());
        registry.register(
            "aggregation_seconds",
            "Time spent on aggregation",
            m.aggregation_seconds.clone(),
        );
        registry.register("elections", "Elections, by stage", m.elections.clone());
        registry.register(
            "budget_left",
            "Epsilon that a group has neither spent nor set aside",
            m.budget_left.clone(),
        );
        registry.register("disk_free_bytes", "Free on the disk", m.disk_free.clone());
        registry.register("ready", "Whether the server is ready", m.ready.clone());
        registry.register("database_up", "Whether the database answers", m.database.clone());
        registry.register("uploads_in_flight", "Uploads under way", m.uploads.clone());
        registry.register("downloads_in_flight", "Files on their way out", m.downloads.clone());
        registry.register("unpriced", "Ledger lines that wait for a proof", m.unpriced.clone());
        registry.register("incidents", "Recent errors that are remembered", m.incidents.clone());
        metrics.registry = registry;
        metrics
    }

    pub(crate) fn text(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}
