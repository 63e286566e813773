//! The service as a child process.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use reqwest::{Client, Response};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;
use tonic::transport::Channel;

use super::call::{Call, dial};
use super::program::{Outcome, command, ended, to_end};
use super::start::Start;
use crate::store::Place;

/// A cold start of an unoptimised binary on a machine that compiles beside it takes seconds; a minute means it hangs.
const START_DEADLINE: Duration = Duration::from_secs(60);
const COMMAND_DEADLINE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(10);

/// Settings of a [`Server`] before it starts.
#[derive(Default)]
pub(crate) struct ServerBuilder {
    settings: Vec<(String, String)>,
    place: Option<Place>,
}

/// A running service. Killed when dropped; its log is printed if the test is failing then.
pub(crate) struct Server {
    child: Child,
    settings: Vec<(String, String)>,
    folder: TempDir,
    addresses: Value,
    http: Client,
    /// Dropped after the process that uses it.
    _place: Option<Place>,
}

impl ServerBuilder {
    /// One setting, by the name that `config.toml` gives it: `stream.start_timeout_ms`.
    pub(crate) fn set(mut self, name: &str, value: impl ToString) -> Self {
        let variable = format!("CALLWRIGHT__{}", name.to_uppercase().replace('.', "__"));
        self.settings.push((variable, value.to_string()));
        self
    }

    /// The store in a fresh database of the PostgreSQL of the tests.
    pub(crate) fn on_postgres(self) -> Self {
        let place = Place::postgres();
        let url = place.url.clone();
        Self {
            place: Some(place),
            ..self.set("store.url", url)
        }
    }

    /// Starts the service and waits until it is ready.
    pub(crate) async fn start(self) -> Server {
        let folder = tempfile::tempdir().unwrap();
        let mut settings = vec![
            ("CALLWRIGHT__STREAM__LISTEN".to_owned(), local()),
            ("CALLWRIGHT__API__LISTEN".to_owned(), local()),
            ("CALLWRIGHT__ADMIN__LISTEN".to_owned(), local()),
        ];
        settings.extend(self.settings);
        let log = File::create(folder.path().join("log")).unwrap();
        let mut command = command(folder.path(), &settings);
        let child = command.arg("serve").stdout(Stdio::null()).stderr(log);
        let mut server = Server {
            child: child.spawn().unwrap(),
            settings,
            folder,
            addresses: Value::Null,
            http: http(),
            _place: self.place,
        };
        server.await_ready().await;
        server
    }
}

impl Server {
    /// A service with the defaults, on free ports.
    pub(crate) async fn start() -> Self {
        Self::builder().start().await
    }

    pub(crate) fn builder() -> ServerBuilder {
        ServerBuilder::default()
    }

    async fn await_ready(&mut self) {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                panic!("the service ended at its start: {status}");
            }
            assert!(
                begun.elapsed() < START_DEADLINE,
                "the service is not ready after {START_DEADLINE:?}"
            );
            if let Ok(text) = fs::read_to_string(self.data("addresses.json")) {
                self.addresses = serde_json::from_str(&text).unwrap();
                let ready = self
                    .http
                    .get(format!("{}/readyz", self.admin()))
                    .send()
                    .await;
                if ready.is_ok_and(|answer| answer.status().is_success()) {
                    return;
                }
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// A path in the data folder.
    pub(crate) fn data(&self, name: &str) -> PathBuf {
        self.folder.path().join("data").join(name)
    }

    /// The folder in which the service and its commands run.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// `host:port` of the door `stream`, `api` or `admin`.
    pub(crate) fn address(&self, door: &str) -> &str {
        self.addresses[door].as_str().unwrap()
    }

    /// Base URL of the admin listener.
    pub(crate) fn admin(&self) -> String {
        format!("http://{}", self.address("admin"))
    }

    /// Base URL of the api listener.
    pub(crate) fn api(&self) -> String {
        format!("http://{}", self.address("api"))
    }

    pub(crate) fn http(&self) -> &Client {
        &self.http
    }

    /// What clients trust.
    pub(crate) fn ca(&self) -> String {
        fs::read_to_string(self.data("tls/ca.pem")).unwrap()
    }

    /// What the service has logged so far.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// The program beside this service, with its settings.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(self.folder.path(), &self.settings);
        command.args(arguments);
        command
    }

    /// Runs the program beside this service to its end.
    pub(crate) async fn run(&self, arguments: &[&str]) -> Outcome {
        to_end(self.command(arguments), COMMAND_DEADLINE).await
    }

    /// Runs the program, which must succeed, and gives what it printed.
    pub(crate) async fn done(&self, arguments: &[&str]) -> String {
        let outcome = self.run(arguments).await;
        assert_eq!(outcome.code, Some(0), "{arguments:?}: {outcome:?}");
        outcome.out
    }

    /// Registers an OAuth client: its id and its secret.
    pub(crate) async fn client(&self, tenant: &str, scopes: &[&str]) -> (String, String) {
        let scopes = scopes.join(",");
        let arguments = [
            "client", "add", "--tenant", tenant, "--scope", &scopes, "--json",
        ];
        let made: Value = serde_json::from_str(&self.done(&arguments).await).unwrap();
        let field = |name: &str| made[name].as_str().unwrap().to_owned();
        (field("client_id"), field("client_secret"))
    }

    /// A token of a new client, from `POST /connect/token`.
    pub(crate) async fn token(&self, tenant: &str, scopes: &[&str]) -> String {
        let (id, secret) = self.client(tenant, scopes).await;
        let form = [
            ("grant_type", "client_credentials"),
            ("client_id", &id),
            ("client_secret", &secret),
        ];
        let request = self.http.post(format!("{}/connect/token", self.api()));
        let answer = request.form(&form).send().await.unwrap();
        assert!(answer.status().is_success(), "{answer:?}");
        let answer: Value = answer.json().await.unwrap();
        answer["access_token"].as_str().unwrap().to_owned()
    }

    /// A token to stream with, of the tenant `default`.
    pub(crate) async fn streaming_token(&self) -> String {
        self.token("default", &["streaming"]).await
    }

    /// Puts a project of the tenant `default` into force.
    pub(crate) async fn apply_project(&self, toml: &str) {
        self.apply_project_of("default", toml).await;
    }

    /// Puts a project into force.
    pub(crate) async fn apply_project_of(&self, tenant: &str, toml: &str) {
        let file = self.folder.path().join("project.toml");
        fs::write(&file, toml).unwrap();
        let file = file.to_str().unwrap();
        self.done(&["project", "apply", file, "--tenant", tenant])
            .await;
    }

    /// A new connection.
    pub(crate) async fn connect(&self) -> Channel {
        dial(self.address("stream"), &self.ca()).await
    }

    /// A call on a connection of its own, not started yet.
    pub(crate) async fn stream(&self) -> Call {
        Call::open(self.connect().await).await
    }

    /// A call on a connection of its own, started.
    pub(crate) async fn call(&self, start: &Start) -> Call {
        Call::started(self.connect().await, start).await
    }

    /// Asks an admin route as an operator.
    pub(crate) async fn admin_get(&self, path: &str, operator: &str) -> Response {
        let request = self.http.get(format!("{}{path}", self.admin()));
        request.bearer_auth(operator).send().await.unwrap()
    }

    /// The live sessions, by `/admin/sessions`.
    pub(crate) async fn sessions(&self, operator: &str) -> Vec<Value> {
        let answer = self.admin_get("/admin/sessions", operator).await;
        let all: Value = answer.json().await.unwrap();
        all["sessions"].as_array().unwrap().clone()
    }

    /// Waits until as many sessions live as are wanted.
    pub(crate) async fn await_sessions(&self, count: usize, operator: &str) {
        let begun = Instant::now();
        loop {
            let found = self.sessions(operator).await.len();
            if found == count {
                return;
            }
            assert!(
                begun.elapsed() < super::WAIT,
                "{found} sessions live, not {count}"
            );
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Sends a signal to the process.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits until the process has exited by itself.
    pub(crate) async fn exited(&mut self, within: Duration) -> ExitStatus {
        let ended = ended(&mut self.child, within).await;
        ended.unwrap_or_else(|| panic!("the service has not exited in {within:?}"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail only on a process that has been waited for already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("--- log of the service\n{}--- end of the log", self.log());
        }
    }
}

fn local() -> String {
    "127.0.0.1:0".to_owned()
}

fn http() -> Client {
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    Client::builder().timeout(super::WAIT).build().unwrap()
}
