//! The session while the call runs.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use actix::{
    Actor, ActorContext, Addr, ArbiterHandle, AsyncContext, Context, Handler, MessageResult,
    StreamHandler,
};
use callwright_domain::audio::framer::Framer;
use callwright_domain::audio::{AudioFormat, Encoding};
use callwright_domain::event::{Event, names};
use callwright_domain::flow::{Flow, Parameters, Plan};
use callwright_domain::protocol::{self, EndReason, ErrorValue, Refusal};
use chrono::Utc;
use futures_util::Stream;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep_until};
use uuid::Uuid;

use super::exit::Exit;
use super::messages::{
    DescribeNodes, EndSession, Inbound, LookAtDeadlines, NodeSignal, NoticeDraining, WatchEvents,
};
use super::outlet::{Outgoing, Outlet};
use super::pacing::{Paced, Patience};
use crate::directory::{Directory, LiveSession};
use crate::nodes::{NodeContext, Registry, SignalSender};
use crate::reception::Admission;

/// Most operators watching one session; one more takes the place of nobody.
const WATCHER_LIMIT: usize = 8;

/// The deadlines and limits of a session.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Longest time with nothing on the wire.
    pub silence: Duration,
    /// Longest session.
    pub duration: Duration,
    /// Largest audio message, in bytes.
    pub audio_message: usize,
    /// How long nodes may take to finish.
    pub finalize: Duration,
    /// How long a client may leave more than half of its queue unread.
    pub slow_reader_patience: Duration,
    /// How long a client that does not read keeps its stream after its session ended.
    pub slow_reader_grace: Duration,
}

/// What a session starts with.
pub struct SessionStart {
    /// The accepted Start.
    pub admission: Admission,
    /// Where the client is, `address:port`.
    pub peer: String,
    /// What the client sends after its Start.
    pub inbound: Pin<Box<dyn Stream<Item = Inbound> + Send>>,
    /// The way to the client.
    pub outlet: Box<dyn Outlet>,
    /// Deadlines and limits.
    pub limits: Limits,
    /// Where to be listed.
    pub directory: Arc<Directory>,
    /// The node types.
    pub registry: Arc<Registry>,
}

/// One call. See the module.
pub struct Session {
    id: Uuid,
    pub(super) format: AudioFormat,
    pub(super) plan: Arc<Plan>,
    pub(super) parameters: Parameters,
    pub(super) channel_tags: Vec<Vec<String>>,
    pub(super) output: Encoding,
    pub(super) flow: Flow,
    pub(super) framer: Framer,
    pub(super) exit: Exit,
    pub(super) limits: Limits,
    pub(super) watchers: Vec<mpsc::Sender<Arc<Event>>>,
    began: Instant,
    watch: Option<Watch>,
    last_heard: Instant,
    /// Set once the session finishes: why, and by when.
    pub(super) ending: Option<super::ending::Ending>,
    /// Audio that came too late to be heard, in bytes.
    pub(super) late_bytes: u64,
}

impl Session {
    /// Starts a session on `arbiter`, which must be the thread that carries the connection.
    ///
    /// The client gets its StartResponse first; a node whose building panics ends the session with `internal-error`.
    pub fn start_on(arbiter: &ArbiterHandle, start: SessionStart) -> Addr<Self> {
        Self::start_in_arbiter(arbiter, |ctx| Self::new(start, ctx))
    }

    fn new(start: SessionStart, ctx: &mut Context<Self>) -> Self {
        let SessionStart {
            admission,
            peer,
            inbound,
            outlet,
            limits,
            directory,
            registry,
        } = start;
        let id = Uuid::now_v7();
        let asked = admission.start;
        let live = LiveSession {
            id,
            tenant: admission.tenant.clone(),
            project: admission.plan.project.clone(),
            subject: admission.subject,
            peer,
            external_id: external_id(&asked.call_properties),
            format: asked.format,
            started_at: Utc::now(),
            audio_bytes: 0.into(),
            events_sent: 0.into(),
        };
        tracing::info!(session = %id, tenant = %live.tenant, project = %live.project, peer = %live.peer, "session started");
        let listed = directory.list(admission.place, live, ctx.address());
        let crowded = outlet.crowded();
        let mut exit = Exit::new(outlet, listed);
        if let Some(outlet) = exit.outlet() {
            // The queue is empty: this cannot be refused but by a client that is gone, which the stream will tell.
            let _ = outlet.give(Outgoing::Response(protocol::started(id)));
        }
        let nodes = admission
            .plan
            .nodes
            .iter()
            .zip(&admission.settings)
            .enumerate();
        let nodes = nodes
            .map(|(index, (node, settings))| {
                registry.build(
                    node.schema.name,
                    NodeContext {
                        session: id,
                        tenant: admission.tenant.clone(),
                        node: node.id.clone(),
                        format: asked.format,
                        language: asked.language.clone(),
                        settings: settings.clone(),
                        signals: SignalSender::new(index, ctx.address()),
                    },
                )
            })
            .collect();
        let rate = asked.format.frame_bytes() as u64 * u64::from(asked.format.rate.hertz());
        ctx.add_stream(Paced::new(
            inbound,
            rate,
            Patience::new(crowded, limits.slow_reader_patience),
        ));
        let now = Instant::now();
        Self {
            id,
            format: asked.format,
            flow: Flow::new(Arc::clone(&admission.plan), asked.format, nodes),
            plan: admission.plan,
            parameters: asked.parameters,
            channel_tags: asked.channel_tags,
            output: asked.output,
            framer: Framer::new(asked.format),
            exit,
            limits,
            watchers: Vec::new(),
            began: now,
            watch: None,
            last_heard: now,
            ending: None,
            late_bytes: 0,
        }
    }

    /// Acts on the deadline that is due, or gives the next one.
    fn look_at_deadlines(&mut self, ctx: &mut Context<Self>) -> Option<Instant> {
        if self.exit.is_closed() {
            return None;
        }
        let now = Instant::now();
        let due = match &self.ending {
            Some(ending) => ending.deadline,
            None => (self.last_heard + self.limits.silence).min(self.began + self.limits.duration),
        };
        if due > now {
            return Some(due);
        }
        if let Some(ending) = self.ending.take() {
            self.end(ending.reason, &ending.unfinished(&self.flow), ctx);
        } else if now >= self.began + self.limits.duration {
            let message = format!(
                "the session reached its maximum of {} s",
                self.limits.duration.as_secs()
            );
            self.finish(EndReason::MaximumDuration, &message, ctx);
        } else {
            let message = format!("nothing came for {} s", self.limits.silence.as_secs_f64());
            self.finish(EndReason::SilenceTimeout, &message, ctx);
        }
        None
    }

    /// Looks at the deadlines after `wait`, and again as long as one is left.
    pub(super) fn look_after(wait: Duration, ctx: &mut Context<Self>) {
        ctx.run_later(wait, |session, ctx| {
            if let Some(due) = session.look_at_deadlines(ctx) {
                Self::look_after(due.saturating_duration_since(Instant::now()), ctx);
            }
        });
    }
}

fn external_id(properties: &serde_json::Map<String, serde_json::Value>) -> Option<String> {
    const LONGEST: usize = 256;
    let (_, value) = properties
        .iter()
        .find(|(key, _)| protocol::fold_key(key) == "externalid")?;
    let text = value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned);
    Some(text.chars().take(LONGEST).collect())
}

/// A task that looks at a session's deadlines when they are due; it ends with the session.
///
/// Not a timer of the actor's own: an actor looks at its timers with each piece of audio.
struct Watch(AbortHandle);

impl Watch {
    fn over(session: Addr<Session>) -> Self {
        let watching = actix::spawn(async move {
            while let Ok(Some(due)) = session.send(LookAtDeadlines).await {
                sleep_until(due).await;
            }
        });
        Self(watching.abort_handle())
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Actor for Session {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        self.watch = Some(Watch::over(ctx.address()));
    }
}

impl StreamHandler<Inbound> for Session {
    fn handle(&mut self, message: Inbound, ctx: &mut Self::Context) {
        if self.exit.is_closed() {
            return;
        }
        self.last_heard = Instant::now();
        match message {
            Inbound::Audio(bytes) if bytes.is_empty() => {}
            Inbound::Audio(bytes) => self.audio(bytes, ctx),
            Inbound::Request(content) => self.request(&content, ctx),
            Inbound::Event(content) => self.client_event(&content, ctx),
            Inbound::Unusable(why) => {
                let refusal = Refusal::new(ErrorValue::InvalidRequest, why);
                self.answer(protocol::refused("", &refusal), ctx);
            }
            Inbound::Fault(fault) => self.fault(fault, ctx),
        }
    }

    /// A half-close finalizes. A reset looks the same from here; then nobody hears the rest.
    fn finished(&mut self, ctx: &mut Self::Context) {
        let gone = self.exit.outlet().is_none_or(|outlet| outlet.is_closed());
        let reason = if gone {
            EndReason::ClientGone
        } else {
            EndReason::HalfClosed
        };
        self.finish(reason, "", ctx);
    }
}

impl Handler<LookAtDeadlines> for Session {
    type Result = Option<Instant>;

    fn handle(&mut self, _: LookAtDeadlines, ctx: &mut Self::Context) -> Option<Instant> {
        self.look_at_deadlines(ctx)
    }
}

impl Handler<NodeSignal> for Session {
    type Result = ();

    fn handle(&mut self, signal: NodeSignal, ctx: &mut Self::Context) {
        self.flow.signal(signal.node, signal.result);
        self.speak(ctx);
        self.end_if_finished(ctx);
    }
}

impl Handler<EndSession> for Session {
    type Result = ();

    fn handle(&mut self, order: EndSession, ctx: &mut Self::Context) {
        tracing::info!(session = %self.id, reason = order.reason.as_str(), "session told to end");
        if let Some(within) = order.within {
            self.hurry(within, ctx);
        }
        self.finish(order.reason, &order.message, ctx);
    }
}

impl Handler<NoticeDraining> for Session {
    type Result = ();

    fn handle(&mut self, notice: NoticeDraining, ctx: &mut Self::Context) {
        let event = Event::new(names::SERVER_DRAINING).with("DeadlineMsec", notice.deadline_msec);
        self.say(Arc::new(event), ctx);
    }
}

impl Handler<DescribeNodes> for Session {
    type Result = MessageResult<DescribeNodes>;

    fn handle(&mut self, _: DescribeNodes, _ctx: &mut Self::Context) -> Self::Result {
        MessageResult(self.flow.statuses())
    }
}

impl Handler<WatchEvents> for Session {
    type Result = ();

    fn handle(&mut self, watch: WatchEvents, _ctx: &mut Self::Context) {
        self.watchers.retain(|watcher| !watcher.is_closed());
        if self.watchers.len() < WATCHER_LIMIT {
            self.watchers.push(watch.to);
        }
    }
}

impl Session {
    /// Ends at once: what nodes have not said yet stays unsaid.
    pub(super) fn end(&mut self, reason: EndReason, message: &str, ctx: &mut Context<Self>) {
        let cut_after = (reason == EndReason::SlowReader).then_some(self.limits.slow_reader_grace);
        self.discard_late(ctx);
        if let Some(last) = self.exit.close(reason, message, cut_after) {
            self.show(&last);
        }
        ctx.stop();
    }
}
