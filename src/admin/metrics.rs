//! `/metrics`: the service's figures in the text format of Prometheus.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use actix_web::{HttpResponse, Resource, web};
use callwright_actors::directory::Directory;
use metrics::{Unit, counter, describe_counter, describe_gauge, gauge};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};

use super::Desk;

/// Gives the figures.
#[derive(Clone)]
pub struct Exporter(PrometheusHandle);

/// Starts gathering figures for the whole process; once.
///
/// # Errors
/// Somebody gathers already.
pub fn install() -> Result<Exporter, String> {
    let handle = PrometheusBuilder::new()
        .install_recorder()
        .map_err(|fault| fault.to_string())?;
    describe();
    gauge!("callwright_build_info", "version" => env!("CARGO_PKG_VERSION")).set(1.0);
    Ok(Exporter(handle))
}

impl Exporter {
    /// Forgets what is out of date; to be called now and then.
    pub fn upkeep(&self) {
        self.0.run_upkeep();
    }
}

pub(super) fn resource() -> Resource {
    web::resource("/metrics").get(render)
}

async fn render(desk: web::Data<Desk>) -> HttpResponse {
    observe(&desk.directory);
    let text = desk.metrics.0.render();
    HttpResponse::Ok()
        .content_type("text/plain; version=0.0.4; charset=utf-8")
        .body(text)
}

/// Figures that the directory keeps itself are read when asked for: the audio path counts nothing twice.
fn observe(directory: &Arc<Directory>) {
    let listings = directory.listings();
    let sum = |of: fn(&callwright_actors::directory::LiveSession) -> u64| {
        listings
            .iter()
            .map(|listing| of(&listing.session))
            .sum::<u64>()
    };
    let totals = &directory.totals;
    let audio = sum(|session| session.audio_bytes.load(Ordering::Relaxed));
    let events = sum(|session| session.events_sent.load(Ordering::Relaxed));
    counter!("callwright_sessions_started_total").absolute(totals.started.load(Ordering::Relaxed));
    counter!("callwright_stream_audio_bytes_total")
        .absolute(totals.audio_bytes.load(Ordering::Relaxed) + audio);
    counter!("callwright_stream_events_total")
        .absolute(totals.events_sent.load(Ordering::Relaxed) + events);
    gauge!("callwright_sessions").set(count(listings.len()));
    gauge!("callwright_streams").set(count(directory.places_taken()));
    gauge!("callwright_draining").set(f64::from(u8::from(directory.is_draining())));
}

fn count(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

fn describe() {
    describe_gauge!(
        "callwright_build_info",
        "1, labelled with the version that runs."
    );
    describe_gauge!("callwright_sessions", "Live sessions.");
    describe_gauge!(
        "callwright_streams",
        "Open streams: live sessions, and those that have not started."
    );
    describe_gauge!(
        "callwright_connections",
        "Open connections of the gRPC door."
    );
    describe_gauge!(
        "callwright_draining",
        "1 while new streams are refused because the service shuts down."
    );
    describe_counter!("callwright_sessions_started_total", "Sessions started.");
    describe_counter!(
        "callwright_sessions_ended_total",
        "Sessions ended, by reason."
    );
    describe_counter!(
        "callwright_streams_refused_total",
        "Streams refused, by error value."
    );
    describe_counter!(
        "callwright_connections_refused_total",
        "Connections refused because there were too many."
    );
    describe_counter!(
        "callwright_handshakes_failed_total",
        "Connections that ended before HTTP/2 began, by stage."
    );
    describe_counter!(
        "callwright_stream_audio_bytes_total",
        Unit::Bytes,
        "Call audio received."
    );
    describe_counter!("callwright_stream_events_total", "Events sent to clients.");
}
