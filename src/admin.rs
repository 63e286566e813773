//! The operators' door: health, metrics, live sessions, draining.
//!
//! Health and metrics are open, everything else needs a token with the scope `operator`, which is for the whole service
//! and not for one tenant: it is the people who run it.

mod drain;
mod events;
mod health;
mod metrics;
mod sessions;

use std::sync::Arc;

use actix_web::web::{self, ServiceConfig};
use callwright_actors::directory::Directory;
use tokio::sync::watch;

use crate::web::auth::Guard;
use crate::web::problem;

pub use health::{Check, Readiness};
pub use metrics::{Exporter, install};

/// What the admin routes work with.
pub struct Desk {
    /// The live sessions.
    pub directory: Arc<Directory>,
    /// Whether the service can do its work.
    pub readiness: Readiness,
    /// The figures.
    pub metrics: Exporter,
    /// Set to begin draining.
    pub drain: watch::Sender<bool>,
    /// Set when the service stops: streams of events end then.
    pub stopping: watch::Receiver<bool>,
}

/// Adds the routes. The app also needs `.wrap(actix_web::middleware::from_fn(problem::shape))`.
pub fn configure(
    desk: web::Data<Desk>,
    guard: web::Data<Guard>,
) -> impl FnOnce(&mut ServiceConfig) + Clone {
    move |config| {
        config
            .app_data(desk)
            .app_data(guard)
            .configure(problem::handlers)
            .service(health::livez())
            .service(health::readyz())
            .service(metrics::resource())
            .service(
                web::scope("/admin")
                    .service(sessions::list())
                    .service(events::resource())
                    .service(sessions::one())
                    .service(drain::resource()),
            );
    }
}
