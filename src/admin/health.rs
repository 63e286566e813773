//! `/livez` and `/readyz`: is the process there, and can it do its work.

use std::pin::Pin;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, Resource, web};
use serde::Serialize;
use tokio::time::timeout;

use super::Desk;
use crate::web::problem::Worded;

/// Longest wait for one dependency; orchestrators ask every few seconds and give up soon.
const CHECK_DEADLINE: Duration = Duration::from_secs(2);

type Probe =
    Box<dyn Fn() -> Pin<Box<dyn Future<Output = Result<(), String>> + Send>> + Send + Sync>;

/// Something that the service cannot do its work without.
pub struct Check {
    name: &'static str,
    probe: Probe,
    last_success: Mutex<Option<Instant>>,
    /// Whether it failed when it was last looked at: the log tells changes, not every look.
    failing: AtomicBool,
}

impl Check {
    /// A dependency `name` that is well when `probe` says so.
    pub fn new<F>(name: &'static str, probe: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<(), String>> + Send + 'static,
    {
        Self {
            name,
            probe: Box::new(move || Box::pin(probe())),
            last_success: Mutex::new(None),
            failing: AtomicBool::new(false),
        }
    }

    async fn look(&self) -> Dependency {
        let answer = timeout(CHECK_DEADLINE, (self.probe)()).await;
        let fault = match answer {
            Ok(Ok(())) => None,
            Ok(Err(fault)) => Some(fault),
            Err(_) => Some(format!("no answer within {} s", CHECK_DEADLINE.as_secs())),
        };
        self.log(fault.as_deref());
        let mut last = self
            .last_success
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if fault.is_none() {
            *last = Some(Instant::now());
        }
        Dependency {
            name: self.name,
            ok: fault.is_none(),
            last_success_age_ms: last
                .map(|at| u64::try_from(at.elapsed().as_millis()).unwrap_or(u64::MAX)),
            fault,
        }
    }
}

impl Check {
    fn log(&self, fault: Option<&str>) {
        let failed = self.failing.swap(fault.is_some(), Ordering::Relaxed);
        match fault {
            Some(fault) if !failed => {
                tracing::warn!(
                    dependency = self.name,
                    fault,
                    "a dependency does not answer"
                );
            }
            None if failed => tracing::info!(dependency = self.name, "it answers again"),
            _ => {}
        }
    }
}

/// Everything that the service cannot do its work without.
#[derive(Default)]
pub struct Readiness {
    checks: Vec<Check>,
}

impl Readiness {
    /// Looks at these, in this order.
    #[must_use]
    pub fn of(checks: Vec<Check>) -> Self {
        Self { checks }
    }
}

#[derive(Serialize)]
struct Dependency {
    name: &'static str,
    ok: bool,
    /// Milliseconds since it last answered as it should; null if it never did.
    last_success_age_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<String>,
}

#[derive(Serialize)]
struct Ready {
    ready: bool,
    draining: bool,
    dependencies: Vec<Dependency>,
}

pub(super) fn livez() -> Resource {
    web::resource("/livez").get(async || HttpResponse::Ok().content_type("text/plain").body("ok\n"))
}

pub(super) fn readyz() -> Resource {
    web::resource("/readyz").get(look)
}

async fn look(desk: web::Data<Desk>, request: HttpRequest) -> HttpResponse {
    let mut dependencies = Vec::new();
    for check in &desk.readiness.checks {
        dependencies.push(check.look().await);
    }
    let draining = desk.directory.is_draining();
    let ready = !draining && dependencies.iter().all(|dependency| dependency.ok);
    let status = if ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    let mut response = HttpResponse::build(status);
    if wants_detail(request.query_string()) {
        return response.json(Ready {
            ready,
            draining,
            dependencies,
        });
    }
    let word = if ready {
        "ready\n"
    } else if draining {
        "draining\n"
    } else {
        "not ready; ask /readyz?verbose\n"
    };
    let mut response = response.content_type("text/plain").body(word);
    response.extensions_mut().insert(Worded);
    response
}

fn wants_detail(query: &str) -> bool {
    query.split('&').any(|part| {
        part == "verbose"
            || (part.starts_with("verbose=") && part != "verbose=0" && part != "verbose=false")
    })
}
