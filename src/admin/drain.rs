//! `POST /admin/drain`: shut down without hurting a call. The same as SIGTERM.

use actix_web::{HttpResponse, Resource, web};
use serde::Serialize;

use super::Desk;
use crate::web::auth::{Allowed, Operator};

#[derive(Serialize)]
struct Draining {
    draining: bool,
    /// Sessions that are still live.
    sessions: usize,
}

pub(super) fn resource() -> Resource {
    web::resource("/drain").post(drain)
}

async fn drain(caller: Allowed<Operator>, desk: web::Data<Desk>) -> HttpResponse {
    tracing::info!(
        operator = caller.principal.subject,
        "an operator asks the service to drain"
    );
    desk.directory.drain();
    desk.drain.send_replace(true);
    HttpResponse::Accepted().json(Draining {
        draining: true,
        sessions: desk.directory.listings().len(),
    })
}
