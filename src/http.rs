//! The api listener's routes, over HTTP.
//!
//! It owns paths, headers, bodies and how faults look on the wire. What the routes do lies behind ports: the embedded
//! issuer behind [`token::TokenIssuer`], tokens behind the verifier given to [`Guard`].

mod throttle;
pub mod token;
mod well_known;

use std::sync::Arc;

use actix_web::web::{self, ServiceConfig};

use crate::web::auth::Guard;
use crate::web::problem::{self, Problem};
use throttle::Throttle;
use token::TokenIssuer;

/// Where the tokens of this service come from.
#[derive(Clone)]
pub enum Identity {
    /// From itself.
    Embedded(Arc<dyn TokenIssuer>),
    /// From the OIDC issuer with this URL.
    External(String),
}

/// What the identity routes work with.
pub struct IdentityRoutes {
    identity: Identity,
    throttle: Throttle,
}

impl IdentityRoutes {
    /// Routes for tokens from `identity`.
    #[must_use]
    pub fn new(identity: Identity) -> Self {
        Self {
            identity,
            throttle: Throttle::default(),
        }
    }

    /// The embedded issuer, or the problem that says where to go instead.
    fn embedded(&self) -> Result<&Arc<dyn TokenIssuer>, Problem> {
        match &self.identity {
            Identity::Embedded(issuer) => Ok(issuer),
            Identity::External(issuer) => Err(Problem::not_found(
                "external-issuer",
                format!("This service issues no tokens of its own; its tokens come from {issuer}."),
            )
            .fix(format!(
                "Read {}/.well-known/openid-configuration and ask the token endpoint named there.",
                issuer.trim_end_matches('/')
            ))),
        }
    }
}

/// Adds the routes, the guard for those that need a token, and problem documents for all that goes wrong.
///
/// The app also needs `.wrap(actix_web::middleware::from_fn(problem::shape))`.
pub fn configure(
    identity: web::Data<IdentityRoutes>,
    guard: web::Data<Guard>,
) -> impl FnOnce(&mut ServiceConfig) + Clone {
    move |config| {
        config
            .app_data(identity)
            .app_data(guard)
            .configure(problem::handlers)
            .service(token::resource())
            .service(well_known::discovery())
            .service(well_known::jwks());
    }
}
