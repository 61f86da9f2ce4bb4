//! Figures for Prometheus.

use std::sync::atomic::AtomicU64;

use axum::http::Method;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

/// What tells requests apart: few values, none of the caller's choosing.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(crate) struct Request {
    pub(crate) method: &'static str,
    pub(crate) route: String,
    pub(crate) status: u16,
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

/// The counters.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    pub(crate) requests: Family<Request, Counter>,
    pub(crate) request_seconds: Histogram,
    pub(crate) ballots: Counter,
    pub(crate) ballot_bytes: Counter,
    pub(crate) refused: Counter,
    pub(crate) batches: Counter,
    pub(crate) aggregation_seconds: Counter<f64, AtomicU64>,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("shield"),
            requests: Family::default(),
            request_seconds: Histogram::new(exponential_buckets(0.001, 4.0, 8)),
            ballots: Counter::default(),
            ballot_bytes: Counter::default(),
            refused: Counter::default(),
            batches: Counter::default(),
            aggregation_seconds: Counter::default(),
        };
        let registry = &mut metrics.registry;
        registry.register("requests", "Requests answered", metrics.requests.clone());
        registry.register(
            "request_seconds",
            "Time from request to answer",
            metrics.request_seconds.clone(),
        );
        registry.register("ballots", "Ballots accepted, a batch each", metrics.ballots.clone());
        registry.register("ballot_bytes", "Bytes of the ballots", metrics.ballot_bytes.clone());
        registry.register(
            "refused",
            "Uploads refused after a look at them",
            metrics.refused.clone(),
        );
        registry.register("batches", "Batches aggregated", metrics.batches.clone());
        registry.register(
            "aggregation_seconds",
            "Time spent on aggregation",
            metrics.aggregation_seconds.clone(),
        );
        metrics
    }

    pub(crate) fn text(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}
