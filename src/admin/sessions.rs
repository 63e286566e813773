//! `/admin/sessions`: who is on the line.

use std::sync::atomic::Ordering;
use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, Resource, web};
use callwright_actors::directory::{Listing, LiveSession};
use callwright_actors::session::{DescribeNodes, EndSession};
use callwright_domain::audio::AudioFormat;
use callwright_domain::flow::NodeStatus;
use callwright_domain::protocol::EndReason;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use tokio::time::timeout;
use uuid::Uuid;

use super::Desk;
use crate::web::auth::{Allowed, Operator};
use crate::web::problem::Problem;

/// Longest wait for a session to answer; it answers between two pieces of audio.
const ANSWER_DEADLINE: Duration = Duration::from_secs(2);
/// Longest reason, in characters: it goes to the client.
const REASON_LIMIT: usize = 500;

/// A live session on the wire.
#[derive(Serialize)]
struct Shown<'a> {
    id: Uuid,
    tenant: &'a str,
    project: &'a str,
    subject: &'a str,
    peer: &'a str,
    external_id: Option<&'a str>,
    format: AudioFormat,
    started_at: DateTime<Utc>,
    audio_bytes: u64,
    audio_ms: u64,
    events_sent: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes: Option<Vec<Node>>,
}

#[derive(Serialize)]
struct Node {
    id: String,
    #[serde(rename = "type")]
    kind: &'static str,
    state: &'static str,
}

#[derive(Serialize)]
struct All<'a> {
    count: usize,
    sessions: Vec<Shown<'a>>,
}

#[derive(Deserialize)]
struct Filter {
    tenant: Option<String>,
    project: Option<String>,
}

#[derive(Deserialize)]
struct Why {
    reason: Option<String>,
}

pub(super) fn list() -> Resource {
    web::resource("/sessions").get(all)
}

pub(super) fn one() -> Resource {
    web::resource("/sessions/{id}").get(describe).delete(end)
}

impl<'a> Shown<'a> {
    fn of(session: &'a LiveSession) -> Self {
        let audio_bytes = session.audio_bytes.load(Ordering::Relaxed);
        let frames = audio_bytes / session.format.frame_bytes().max(1) as u64;
        Self {
            id: session.id,
            tenant: session.tenant.as_str(),
            project: &session.project,
            subject: &session.subject,
            peer: &session.peer,
            external_id: session.external_id.as_deref(),
            format: session.format,
            started_at: session.started_at,
            audio_bytes,
            audio_ms: session.format.rate.msec_of(frames),
            events_sent: session.events_sent.load(Ordering::Relaxed),
            nodes: None,
        }
    }
}

async fn all(
    _: Allowed<Operator>,
    desk: web::Data<Desk>,
    filter: web::Query<Filter>,
) -> HttpResponse {
    let wanted = |listing: &Listing| {
        let is =
            |wish: &Option<String>, value: &str| wish.as_deref().is_none_or(|wish| wish == value);
        is(&filter.tenant, listing.session.tenant.as_str())
            && is(&filter.project, &listing.session.project)
    };
    let listings: Vec<_> = desk
        .directory
        .listings()
        .into_iter()
        .filter(wanted)
        .collect();
    let sessions: Vec<_> = listings
        .iter()
        .map(|listing| Shown::of(&listing.session))
        .collect();
    HttpResponse::Ok().json(All {
        count: sessions.len(),
        sessions,
    })
}

async fn describe(
    _: Allowed<Operator>,
    desk: web::Data<Desk>,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let listing = find(&desk, &id)?;
    let answer = timeout(ANSWER_DEADLINE, listing.address.send(DescribeNodes)).await;
    let statuses = answer.map_err(|_| Problem::unavailable("The session does not answer."))?;
    let statuses = statuses.map_err(|_| gone(&id))?;
    let mut shown = Shown::of(&listing.session);
    shown.nodes = Some(statuses.into_iter().map(Node::from).collect());
    Ok(HttpResponse::Ok().json(shown))
}

impl From<NodeStatus> for Node {
    fn from(status: NodeStatus) -> Self {
        Self {
            id: status.id,
            kind: status.kind,
            state: status.doing,
        }
    }
}

/// The reason comes in the query or in a JSON body.
async fn end(
    caller: Allowed<Operator>,
    desk: web::Data<Desk>,
    id: web::Path<String>,
    query: web::Query<Why>,
    body: web::Bytes,
) -> Result<HttpResponse, Problem> {
    let listing = find(&desk, &id)?;
    let message = reason(query.into_inner(), &body)?;
    tracing::info!(session = %listing.session.id, operator = caller.principal.subject, "an operator ends a session");
    let order = EndSession {
        reason: EndReason::EndedByOperator,
        message,
        within: None,
    };
    let told = timeout(ANSWER_DEADLINE, listing.address.send(order)).await;
    told.map_err(|_| Problem::unavailable("The session does not answer."))?
        .map_err(|_| gone(&id))?;
    Ok(HttpResponse::NoContent().finish())
}

fn reason(query: Why, body: &[u8]) -> Result<String, Problem> {
    let missing = || {
        Problem::bad_request(
            "reason-missing",
            "A session is ended with a reason, which its client is told.",
        )
        .fix("Send ?reason=… or a JSON body {\"reason\":\"…\"}.")
    };
    let given = match query.reason {
        Some(reason) => Some(reason),
        None if body.is_empty() => None,
        None => {
            serde_json::from_slice::<Why>(body)
                .map_err(|_| missing())?
                .reason
        }
    };
    let reason = given
        .map(|reason| reason.trim().to_owned())
        .filter(|reason| !reason.is_empty())
        .ok_or_else(missing)?;
    if reason.chars().count() > REASON_LIMIT {
        let detail = format!("The reason has more than {REASON_LIMIT} characters.");
        return Err(Problem::new(
            StatusCode::BAD_REQUEST,
            "reason-too-long",
            "Bad request",
            detail,
        ));
    }
    Ok(reason)
}

pub(super) fn find(desk: &Desk, id: &str) -> Result<Listing, Problem> {
    let listing = id.parse().ok().and_then(|id| desk.directory.find(id));
    listing.ok_or_else(|| gone(id))
}

pub(super) fn gone(id: &str) -> Problem {
    let shown: String = id.chars().take(64).collect();
    Problem::not_found(
        "session-not-found",
        format!("There is no live session `{shown}`."),
    )
}
