//! A load test: many calls at once on an open-loop schedule, measured from when things were due.
//!
//! Everything runs on one thread. One pacer walks a fixed timetable in 1 ms turns, sends what has come due and
//! never waits for the server; one small task per call reads what comes back. It speaks HTTP/2 itself, without
//! the layers of a gRPC client: a chunk is a reference to bytes encoded once.
//!
//! ```text
//! opener ── Opened, Refused, Failed ──▶ pacer ── chunks, events ──▶ connection
//! reader ── Pong, Other, Ended ───────▶ pacer ── Snapshot ─────────▶ whoever watches
//! ```

mod lane;
mod link;
mod notice;
mod pacer;
mod plan;
mod report;
mod signal;
mod tally;
mod wire;

#[cfg(test)]
mod tests;

pub use self::plan::{Content, Plan};
pub use self::report::{Distribution, Report};
pub use self::tally::{Phase, Snapshot};

use std::sync::Arc;

use tokio::task::JoinSet;

use hdrhistogram::CreationError;

use super::fault::ClientFault;
use super::target::{Security, install_cryptography, tls_for_http2};

/// Why a load test could not begin.
#[derive(Debug, thiserror::Error)]
pub enum LoadFault {
    /// TLS cannot be set up.
    #[error(transparent)]
    Tls(#[from] ClientFault),
    /// The histograms cannot be made.
    #[error("the histograms cannot be made: {0}")]
    Histogram(#[from] CreationError),
}

/// Runs `plan` to its end, showing `watch` the counts about four times a second.
///
/// Takes at most the plan's ramp and duration and twice a grace of 5 s, whatever the server does.
///
/// # Errors
/// [`LoadFault`] before the first call; what goes wrong on the way is in the report.
pub async fn run(plan: Plan, watch: impl FnMut(&Snapshot)) -> Result<Report, LoadFault> {
    install_cryptography();
    let plan = Arc::new(plan);
    let tls = match &plan.target.security {
        Security::Tls { authorities } => Some(tls_for_http2(authorities)?),
        Security::Plaintext => None,
    };
    let (notices, inbox) = notice::channel(&plan);
    let start = tokio::time::Instant::now();
    let mut openers = JoinSet::new();
    for connection in 0..plan.connections {
        let opener = link::Opener::new(Arc::clone(&plan), tls.clone(), notices.clone());
        openers.spawn(opener.run(connection, start));
    }
    drop(notices);
    // Dropping the set ends every connection and reader that is still there.
    Ok(pacer::Pacer::new(plan, start)?.run(inbox, watch).await)
}
