//! A session under test, with a client's ends of its streams.

use std::sync::Arc;
use std::time::Duration;

use actix::Addr;
use actix_rt::Arbiter;
use callwright_domain::flow::{Definition, Plan};
use callwright_domain::identity::TenantId;
use callwright_domain::protocol::{Request, Start};
use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::nodes::registry;
use super::outlet::Heard;
use super::recordings::Memory;
use super::{roomy, settle};
use crate::directory::Directory;
use crate::reception::Admission;
use crate::session::{Inbound, Limits, Session, SessionStart, Verdict};

pub(crate) const LIMITS: Limits = Limits {
    silence: Duration::from_secs(60),
    duration: Duration::from_secs(4 * 3_600),
    audio_message: 65_536,
    finalize: Duration::from_secs(10),
    slow_reader_patience: Duration::from_secs(3),
    slow_reader_grace: Duration::from_secs(5),
};

/// How a call is set up.
pub(crate) struct Setup {
    pub(crate) project: String,
    pub(crate) start: Value,
    pub(crate) limits: Limits,
    pub(crate) heard: Heard,
    pub(crate) directory: Arc<Directory>,
    pub(crate) disk: Memory,
}

/// A call of 8 kHz μ-law, one channel, that runs `nodes` (TOML) wired as `wires` says.
pub(crate) fn call(wires: &str, nodes: &str) -> Setup {
    Setup {
        project: format!("name = \"p\"\nkind = \"flow\"\nwires = [{wires}]\n{nodes}"),
        start: json!({
            "MessageName": "Start", "Tenant": "acme", "Token": "t", "ProjectName": "p",
            "Audio": {"SampleRate": 8000, "ChannelCount": 1, "Encoding": "ulaw"},
        }),
        limits: LIMITS,
        heard: Heard::default(),
        directory: roomy(),
        disk: Memory::default(),
    }
}

/// A project of one node between entry and publisher, and client events past it.
pub(crate) fn one_node(kind: &str) -> Setup {
    call(
        "\"entry -> n -> publisher\", \"entry -> publisher\"",
        &format!("[[nodes]]\nid = \"n\"\ntype = \"{kind}\"\n"),
    )
}

/// Nothing but events, from the client and back.
pub(crate) fn echo() -> Setup {
    call("\"entry -> publisher\"", "")
}

/// A running session and the client's side of it.
pub(crate) struct Call {
    pub(crate) to: Option<mpsc::UnboundedSender<Inbound>>,
    pub(crate) heard: Heard,
    pub(crate) address: Addr<Session>,
    pub(crate) directory: Arc<Directory>,
    pub(crate) disk: Memory,
    pub(crate) began: Instant,
}

impl Setup {
    pub(crate) fn audio(mut self, rate: u32, channels: u8, encoding: &str) -> Self {
        self.start["Audio"] =
            json!({"SampleRate": rate, "ChannelCount": channels, "Encoding": encoding});
        self
    }

    pub(crate) fn settings(mut self, settings: Value) -> Self {
        self.start["Settings"] = settings;
        self
    }

    pub(crate) fn limits(mut self, change: impl FnOnce(&mut Limits)) -> Self {
        change(&mut self.limits);
        self
    }

    pub(crate) fn heard_by(mut self, heard: &Heard) -> Self {
        self.heard = heard.clone();
        self
    }

    pub(crate) fn in_directory(mut self, directory: &Arc<Directory>) -> Self {
        self.directory = Arc::clone(directory);
        self
    }

    fn asked(&self) -> Start {
        match Request::parse(&self.start.to_string()) {
            Ok(Request::Start(start)) => *start,
            other => panic!("no Start: {other:?}"),
        }
    }

    /// Starts the session on the thread of the test.
    pub(crate) fn begin(self) -> Call {
        let registry = Arc::new(registry(&self.disk));
        let definition = Definition::from_toml(&self.project).unwrap();
        let plan = Arc::new(Plan::new(&definition, registry.as_ref()).unwrap());
        let start = self.asked();
        let tenant: TenantId = start.tenant.parse().unwrap();
        let place = self.directory.enter().unwrap();
        let admission = Admission {
            settings: plan.settings(&start.parameters).unwrap(),
            subject: "robot".to_owned(),
            place: self.directory.enter_tenant(place, &tenant).unwrap(),
            tenant,
            start,
            plan,
        };
        let (to, from) = mpsc::unbounded_channel::<Inbound>();
        let inbound = futures_util::stream::unfold(from, |mut from| async move {
            from.recv().await.map(|message| (message, from))
        });
        let session = SessionStart {
            admission,
            peer: "192.0.2.1:5000".to_owned(),
            inbound: inbound.boxed(),
            outlet: Box::new(self.heard.clone()),
            limits: self.limits,
            directory: Arc::clone(&self.directory),
            registry,
        };
        Call {
            to: Some(to),
            heard: self.heard,
            address: Session::start_on(&Arbiter::current(), session),
            directory: self.directory,
            disk: self.disk,
            began: Instant::now(),
        }
    }
}

impl Call {
    /// Sends a message; a session that ended hears nothing.
    pub(crate) fn send(&self, message: Inbound) {
        let _ = self.to.as_ref().unwrap().send(message);
    }

    pub(crate) fn audio(&self, bytes: impl Into<Vec<u8>>) {
        self.send(Inbound::Audio(bytes.into().into()));
    }

    pub(crate) fn request(&self, name: &str) {
        self.send(Inbound::Request(json!({"MessageName": name}).to_string()));
    }

    pub(crate) fn event(&self, name: &str) {
        self.send(Inbound::Event(json!({"Event": {"Name": name}}).to_string()));
    }

    pub(crate) fn half_close(&mut self) {
        self.to = None;
    }

    /// The verdict, and how long after its start the session ended: to 10 ms, since every timer fires at the end of the
    /// millisecond it falls into.
    pub(crate) async fn verdict(&self) -> (Verdict, Duration) {
        let (verdict, at) = self.heard.verdict().await;
        settle().await;
        let hundredths = (at - self.began).as_millis() / 10;
        (
            verdict,
            Duration::from_millis(u64::try_from(hundredths).unwrap() * 10),
        )
    }

    /// Finalizes and waits for the end.
    pub(crate) async fn finalize(&self) -> Verdict {
        self.request("Finalize");
        self.verdict().await.0
    }
}
