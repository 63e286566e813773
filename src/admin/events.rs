//! `/admin/sessions/{id}/events`: a session's events as they happen, as server-sent events.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use actix_web::http::header;
use actix_web::{HttpResponse, Resource, web};
use bytes::Bytes;
use callwright_actors::session::WatchEvents;
use callwright_domain::event::{Event, names};
use futures_util::Stream;
use futures_util::stream::unfold;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use super::{Desk, sessions};
use crate::web::auth::{Allowed, Operator};
use crate::web::problem::Problem;

/// Events that may wait for a watcher; one that falls further behind is cut off and told so.
const QUEUE: usize = 256;
/// A comment is sent when nothing has been said for so long, or proxies would close the stream.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Longest wait for the session to take a watcher.
const ANSWER_DEADLINE: Duration = Duration::from_secs(2);

pub(super) fn resource() -> Resource {
    web::resource("/sessions/{id}/events").get(watch_session)
}

async fn watch_session(
    _: Allowed<Operator>,
    desk: web::Data<Desk>,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let listing = sessions::find(&desk, &id)?;
    let (to, events) = mpsc::channel(QUEUE);
    let told = timeout(ANSWER_DEADLINE, listing.address.send(WatchEvents { to })).await;
    told.map_err(|_| Problem::unavailable("The session does not answer."))?
        .map_err(|_| sessions::gone(&id))?;
    Ok(HttpResponse::Ok()
        .content_type("text/event-stream")
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .streaming(lines(Watching {
            events,
            stopping: desk.stopping.clone(),
            ended: false,
        })))
}

struct Watching {
    events: mpsc::Receiver<Arc<Event>>,
    stopping: watch::Receiver<bool>,
    ended: bool,
}

enum Next {
    Event(Option<Arc<Event>>),
    Quiet,
    Stopping,
}

fn lines(watching: Watching) -> impl Stream<Item = Result<Bytes, Infallible>> {
    unfold(Some(watching), |watching| async move {
        let mut watching = watching?;
        match watching.next().await {
            Next::Event(Some(event)) => {
                watching.ended = event.name == names::SESSION_ENDED;
                let line = format!(
                    "event: {}\ndata: {}\n\n",
                    one_line(&event.name),
                    event.to_wire()
                );
                Some((Ok(Bytes::from(line)), Some(watching)))
            }
            Next::Event(None) if watching.ended => None,
            Next::Event(None) => {
                let line = "event: lagged\ndata: this watcher did not keep up or is one too many; connect again\n\n";
                Some((Ok(Bytes::from_static(line.as_bytes())), None))
            }
            Next::Quiet => Some((Ok(Bytes::from_static(b": still here\n\n")), Some(watching))),
            Next::Stopping => None,
        }
    })
}

impl Watching {
    async fn next(&mut self) -> Next {
        tokio::select! {
            event = self.events.recv() => Next::Event(event),
            () = tokio::time::sleep(KEEP_ALIVE) => Next::Quiet,
            _ = self.stopping.wait_for(|stopping| *stopping) => Next::Stopping,
        }
    }
}

/// A client's event may be named anything; a line break would begin a field of its own.
fn one_line(name: &str) -> String {
    name.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}
