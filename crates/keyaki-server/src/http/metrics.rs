//! Metrics, as Prometheus reads them: what was answered and how fast, what is going on, and what the engines tell of
//! themselves.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use http::{Method, StatusCode};
use keyaki::catalog::{Backends, ReplicationSetting};
use keyaki::engine::{Measure, Measured};
use metrics::{Counter, Histogram};
use metrics_exporter_prometheus::PrometheusHandle;

const ANSWERED: &str = "keyaki_requests_total";
const TOOK: &str = "keyaki_request_seconds";
/// What comes before the names of engines' measures.
const ENGINE: &str = "keyaki_engine";
/// Samples are kept until they are counted.
const UPKEEP_APART: Duration = Duration::from_secs(5);

/// Counts what is answered, and what is going on.
pub struct Metrics {
    handle: PrometheusHandle,
    /// Looking a metric up by its labels costs more than counting.
    answered: RwLock<HashMap<Answered, (Counter, Histogram)>>,
    pub requests: Going,
    pub connections: Going,
    pub event_streams: Going,
}

/// By what answers are counted: method, route and status.
type Answered = (&'static str, &'static str, u16);

/// How many of something are going on.
#[derive(Default)]
pub struct Going(Arc<AtomicU64>);

/// One of them, until it is dropped.
pub struct Entered(Arc<AtomicU64>);

impl Going {
    pub fn enter(&self) -> Entered {
        self.0.fetch_add(1, Relaxed);
        Entered(self.0.clone())
    }

    /// One more, if fewer than so many are going on.
    pub fn enter_below(&self, most: usize) -> Option<Entered> {
        let more = |going: u64| (going < most as u64).then_some(going + 1);
        self.0.fetch_update(Relaxed, Relaxed, more).ok()?;
        Some(Entered(self.0.clone()))
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

impl Metrics {
    pub fn new(handle: PrometheusHandle) -> Self {
        metrics::describe_counter!(ANSWERED, "requests by route, method and status");
        metrics::describe_histogram!(TOOK, "how long answers took, by route");
        let keeper = handle.clone();
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(UPKEEP_APART).await;
                keeper.run_upkeep();
            }
        });
        Self {
            handle,
            answered: RwLock::default(),
            requests: Going::default(),
            connections: Going::default(),
            event_streams: Going::default(),
        }
    }

    pub fn count(&self, method: &Method, route: &'static str, status: StatusCode, took: Duration) {
        let answered = (name(method), route, status.as_u16());
        let known = self.answered.read().unwrap_or_else(PoisonError::into_inner);
        if let Some((counter, histogram)) = known.get(&answered) {
            counter.increment(1);
            histogram.record(took);
            return;
        }
        drop(known);
        let (counter, histogram) = register(answered);
        counter.increment(1);
        histogram.record(took);
        let mut known = self.answered.write().unwrap_or_else(PoisonError::into_inner);
        known.insert(answered, (counter, histogram));
    }

    /// All of it as text.
    pub async fn render(&self, backends: &Backends) -> String {
        let mut text = self.handle.render();
        for (name, meaning, going) in [
            ("keyaki_requests_in_flight", "requests being answered", &self.requests),
            ("keyaki_connections", "connections that are open", &self.connections),
            ("keyaki_event_streams", "change feeds being followed", &self.event_streams),
        ] {
            let now = Measure::now("", meaning, going.0.load(Relaxed));
            write_metric(&mut text, name, &[(String::new(), now)]);
        }
        let mut engines: BTreeMap<&str, Vec<(String, Measure)>> = BTreeMap::new();
        for (backend, replication, store) in backends.stores() {
            match store.engine().measures().await {
                Ok(measures) => {
                    let labels = labels(&backend, &replication);
                    for measure in measures {
                        engines.entry(measure.name).or_default().push((labels.clone(), measure));
                    }
                }
                Err(error) => tracing::warn!(%error, backend, "a backend can't be measured"),
            }
        }
        for (name, of_engines) in &engines {
            write_metric(&mut text, &format!("{ENGINE}_{name}"), of_engines);
        }
        text
    }
}

fn name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::PUT => "PUT",
        Method::POST => "POST",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

fn register((method, route, status): Answered) -> (Counter, Histogram) {
    let status = status.to_string();
    let counter =
        metrics::counter!(ANSWERED, "method" => method, "route" => route, "status" => status);
    (counter, metrics::histogram!(TOOK, "route" => route))
}

/// Names of backends and datacenters come from the configuration, and may hold anything.
fn labels(backend: &str, replication: &ReplicationSetting) -> String {
    let escaped = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    let mut labels = format!("backend=\"{}\"", escaped(backend));
    if let Some(replication) = replication {
        let copies: Vec<String> = replication.iter().map(|(at, n)| format!("{at}:{n}")).collect();
        let _ = write!(labels, ",replication=\"{}\"", escaped(&copies.join(",")));
    }
    labels
}

/// One metric with all its label sets, as the format wants it.
fn write_metric(text: &mut String, name: &str, measures: &[(String, Measure)]) {
    let Some((_, first)) = measures.first() else { return };
    let kind = match first.value {
        Measured::Now(_) => "gauge",
        Measured::Sizes(_) => "histogram",
    };
    let _ = writeln!(text, "# HELP {name} {}\n# TYPE {name} {kind}", first.meaning);
    for (labels, measure) in measures {
        write_value(text, name, labels, &measure.value);
    }
    text.push('\n');
}

fn write_value(text: &mut String, name: &str, labels: &str, value: &Measured) {
    let braced = |more: &str| match (labels.is_empty(), more.is_empty()) {
        (true, true) => String::new(),
        (false, false) => format!("{{{labels},{more}}}"),
        _ => format!("{{{labels}{more}}}"),
    };
    // Writing to a string can't fail.
    let _ = match value {
        Measured::Now(now) => writeln!(text, "{name}{} {now}", braced("")),
        Measured::Sizes(sizes) => {
            for (most, count) in &sizes.at_most {
                let le = format!("le=\"{most}\"");
                let _ = writeln!(text, "{name}_bucket{} {count}", braced(&le));
            }
            let _ = writeln!(text, "{name}_bucket{} {}", braced("le=\"+Inf\""), sizes.count);
            let _ = writeln!(text, "{name}_sum{} {}", braced(""), sizes.sum);
            writeln!(text, "{name}_count{} {}", braced(""), sizes.count)
        }
    };
}
