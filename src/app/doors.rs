//! Puts the HTTP doors together: the api listener and the admin listener.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::ServerHandle;
use actix_web::middleware::from_fn;
use actix_web::{App, HttpServer, web as actix};
use callwright_actors::directory::Directory;
use futures_util::future::join_all;
use rustls::ServerConfig;
use tokio::sync::watch;

use super::identity::Identity;
use super::{Fault, cores};
use crate::admin::{self, Check, Desk, Readiness};
use crate::config::{Authentication, CertificateFiles, Settings};
use crate::http::{self, IdentityRoutes};
use crate::store::Store;
use crate::tls::{Certificates, Source};
use crate::web::auth::{self, Guard};
use crate::web::problem;

/// Requests that are under way get so long when the service stops.
const HTTP_GOODBYE_S: u64 = 1;
/// Operators are few; one thread serves them, and a scrape of the figures never waits for calls.
const ADMIN_THREADS: usize = 1;
/// How often figures are tidied.
const UPKEEP: Duration = Duration::from_secs(5);

/// What each door serves TLS with.
pub(super) struct DoorCertificates {
    pub(super) stream: Option<Arc<ServerConfig>>,
    pub(super) api: Option<Arc<ServerConfig>>,
}

/// Opens the certificates and watches their files.
pub(super) fn certificates(settings: &Settings) -> Result<DoorCertificates, Fault> {
    let interval = settings.stream.tls.reload_interval;
    let open = |source: Source, protocols: &[&[u8]]| -> Result<_, Fault> {
        let certificates = Arc::new(Certificates::open(source)?);
        let config = certificates.server_config(protocols)?;
        actix_rt::spawn(certificates.watch(interval));
        Ok(config)
    };
    let files = |files: &CertificateFiles| Source::Files {
        certificate: files.certificate.clone(),
        key: files.key.clone(),
    };
    let made = || Source::Authority {
        folder: settings.tls_dir(),
        names: settings.stream.tls.names.clone(),
    };
    let stream_source = settings.stream.tls.files.as_ref().map_or_else(made, files);
    let stream = if settings.stream.plaintext {
        None
    } else {
        Some(open(stream_source, &[b"h2"])?)
    };
    let api = settings
        .api
        .tls
        .as_ref()
        .map(|own| open(files(own), &[b"http/1.1"]))
        .transpose()?;
    Ok(DoorCertificates { stream, api })
}

/// What the admin routes work with.
pub(super) fn desk(
    settings: &Settings,
    store: &Store,
    identity: &Identity,
    directory: &Arc<Directory>,
    (drain, stopping): (watch::Sender<bool>, watch::Receiver<bool>),
) -> Result<Desk, Fault> {
    let metrics = admin::install().map_err(Fault::Inside)?;
    let tidied = metrics.clone();
    actix_rt::spawn(async move {
        loop {
            tokio::time::sleep(UPKEEP).await;
            tidied.upkeep();
        }
    });
    let (pinged, keys, folder) = (
        store.clone(),
        identity.clone(),
        settings.recordings.directory.clone(),
    );
    let readiness = Readiness::of(vec![
        Check::new("store", move || {
            let store = pinged.clone();
            async move { store.ping().await.map_err(|fault| fault.to_string()) }
        }),
        Check::new("identity", move || {
            let identity = keys.clone();
            async move { identity.check().await }
        }),
        Check::new("recordings", move || {
            let folder = folder.clone();
            async move { writable(folder).await }
        }),
    ]);
    Ok(Desk {
        directory: Arc::clone(directory),
        readiness,
        metrics,
        drain,
        stopping,
    })
}

async fn writable(folder: std::path::PathBuf) -> Result<(), String> {
    let tried = tokio::task::spawn_blocking(move || tempfile::tempfile_in(folder).map(drop));
    match tried.await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(fault)) => Err(format!("the folder cannot be written: {fault}")),
        Err(fault) => Err(fault.to_string()),
    }
}

/// The running HTTP servers.
pub(super) struct Doors {
    handles: Vec<ServerHandle>,
}

impl Doors {
    /// Serves both listeners; the first is the api's, the second the admin's.
    pub(super) fn open(
        settings: &Settings,
        (api, admin): (TcpListener, TcpListener),
        identity: &Identity,
        desk: Desk,
        tls: Option<Arc<ServerConfig>>,
    ) -> Result<Self, Fault> {
        let inside = |fault: std::io::Error| Fault::Inside(fault.to_string());
        let routes = actix::Data::new(IdentityRoutes::new(identity.routes.clone()));
        let authentication = match settings.api.authentication {
            Authentication::Required => auth::Authentication::Required,
            Authentication::None => auth::Authentication::None,
        };
        let guard = actix::Data::new(Guard::new(identity.verifier.clone(), authentication));
        let body_limit = settings.api.max_body_bytes;
        let server = HttpServer::new(move || {
            App::new()
                .app_data(actix::PayloadConfig::new(body_limit))
                .configure(http::configure(routes.clone(), guard.clone()))
                .wrap(from_fn(problem::shape))
        })
        .workers(cores(settings.api.threads))
        .shutdown_timeout(HTTP_GOODBYE_S)
        .disable_signals();
        let api = match tls {
            None => server.listen(api),
            Some(config) => server.listen_rustls_0_23(api, ServerConfig::clone(&config)),
        };
        let api = api.map_err(inside)?.run();

        let drain = desk.drain.clone();
        let desk = actix::Data::new(desk);
        let guard = actix::Data::new(Guard::new(
            identity.verifier.clone(),
            auth::Authentication::Required,
        ));
        let admin = HttpServer::new(move || {
            App::new()
                .configure(admin::configure(desk.clone(), guard.clone()))
                .wrap(from_fn(problem::shape))
        })
        .workers(ADMIN_THREADS)
        .shutdown_timeout(HTTP_GOODBYE_S)
        .disable_signals()
        .listen(admin)
        .map_err(inside)?
        .run();

        let handles = vec![api.handle(), admin.handle()];
        for (name, server) in [("api", api), ("admin", admin)] {
            let drain = drain.clone();
            actix_rt::spawn(async move {
                if let Err(fault) = server.await {
                    // A service without one of its doors is better started anew than left half open.
                    tracing::error!(door = name, %fault, "an HTTP server failed; the service drains");
                    drain.send_replace(true);
                }
            });
        }
        Ok(Self { handles })
    }

    pub(super) async fn close(self) {
        join_all(self.handles.iter().map(|handle| handle.stop(true))).await;
    }
}
