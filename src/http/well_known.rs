//! What verifiers of our tokens read: the discovery document (RFC 8414 and OpenID Connect Discovery) and the key set.

use actix_web::http::header;
use actix_web::{HttpResponse, Resource, web};
use callwright_domain::identity::Scope;
use serde_json::{Value, json};

use super::{IdentityRoutes, token};
use crate::web::problem::{Problem, method_not_allowed};

/// Verifiers may keep both documents for 5 minutes. A key id they do not know makes any sound verifier ask again.
const CACHEABLE: &str = "public, max-age=300";

const JWKS_PATH: &str = "/.well-known/jwks.json";

pub(super) fn discovery() -> Resource {
    web::resource("/.well-known/openid-configuration")
        .route(web::get().to(show_discovery))
        .default_service(method_not_allowed("GET"))
}

pub(super) fn jwks() -> Resource {
    web::resource(JWKS_PATH)
        .route(web::get().to(show_jwks))
        .default_service(method_not_allowed("GET"))
}

async fn show_discovery(routes: web::Data<IdentityRoutes>) -> Result<HttpResponse, Problem> {
    let issuer = routes.embedded()?.url();
    let base = issuer.trim_end_matches('/');
    let document = json!({
        "issuer": issuer,
        "token_endpoint": format!("{base}{}", token::PATH),
        "jwks_uri": format!("{base}{JWKS_PATH}"),
        "grant_types_supported": ["client_credentials"],
        "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
        "scopes_supported": Scope::ALL.map(Scope::as_str),
        "response_types_supported": [],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256"],
    });
    Ok(cacheable(&document))
}

async fn show_jwks(routes: web::Data<IdentityRoutes>) -> Result<HttpResponse, Problem> {
    let keys = routes.embedded()?.jwks().await.map_err(|cause| {
        tracing::warn!(cause = %cause, "the key set could not be read");
        Problem::unavailable("The keys cannot be read now.")
    })?;
    Ok(cacheable(&keys))
}

fn cacheable(document: &Value) -> HttpResponse {
    HttpResponse::Ok()
        .content_type("application/json")
        .insert_header((header::CACHE_CONTROL, CACHEABLE))
        .body(document.to_string())
}
