//! Which server a client command talks to, and as whom: options that `stream` and `loadtest` share.
//!
//! What is not given comes from the data folder of a server on the same machine.

use std::convert::Infallible;
use std::path::{Path, PathBuf};

use clap::Args;
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::{Map, Value};
use tonic::Code;
use url::Url;

use super::{Failure, exit};
use crate::client::fault::ClientFault;
use crate::client::start::Setting;
use crate::client::target::{Security, ServerAddress, Target};
use crate::client::token::{Credentials, STREAMING, TokenFault, fetch, tenant_of};

/// The tenant that a server makes for itself.
const DEFAULT_TENANT: &str = "default";

/// Which server to talk to, and as whom.
#[derive(Debug, Clone, Args)]
pub struct ServerArgs {
    /// Where the server listens for streams [default: the one of the data folder]
    #[arg(long, value_name = "HOST:PORT", help_heading = "Server")]
    server: Option<String>,

    /// Certificate authorities to trust, PEM [default: tls/ca.pem in the data folder]
    #[arg(long, value_name = "FILE", help_heading = "Server")]
    ca: Option<PathBuf>,

    /// Use no TLS: for a server on this machine that has none
    #[arg(long, conflicts_with = "ca", help_heading = "Server")]
    plaintext: bool,

    /// Data folder of a server on this machine, for whatever is not given
    #[arg(
        long,
        value_name = "FOLDER",
        default_value = "data",
        help_heading = "Server"
    )]
    data_dir: PathBuf,

    /// Tenant [default: the one the token names, else `default`]
    #[arg(long, value_name = "TENANT", help_heading = "Identity")]
    tenant: Option<String>,

    /// Access token
    #[arg(long, env = "CALLWRIGHT_TOKEN", hide_env_values = true, value_parser = secret, help_heading = "Identity")]
    token: Option<SecretString>,

    /// OAuth client that a token is fetched for
    #[arg(
        long,
        value_name = "ID",
        conflicts_with = "token",
        help_heading = "Identity"
    )]
    client_id: Option<String>,

    /// Its secret
    // One in 64 secrets begins with a dash.
    #[arg(long, env = "CALLWRIGHT_CLIENT_SECRET", hide_env_values = true, value_name = "SECRET",
        allow_hyphen_values = true, value_parser = secret, help_heading = "Identity")]
    client_secret: Option<SecretString>,

    /// Token endpoint [default: the one of the data folder]
    #[arg(
        long,
        value_name = "URL",
        requires = "client_id",
        help_heading = "Identity"
    )]
    token_url: Option<Url>,
}

/// A secret is taken as it is.
#[expect(clippy::unnecessary_wraps, reason = "the shape of a clap value parser")]
fn secret(text: &str) -> Result<SecretString, Infallible> {
    Ok(text.to_owned().into())
}

/// Why it is not known which server, or as whom.
#[derive(Debug, thiserror::Error)]
pub enum ServerFault {
    /// No server is given, and none runs on the data folder.
    #[error(
        "no server: give --server HOST:PORT, or --data-dir of a server that runs on this machine ({path}: {reason})"
    )]
    NoServer {
        /// The file that would name one.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// No authorities are given, and the data folder has none.
    #[error(
        "no certificate authority to trust: give --ca FILE, or --plaintext for a server without TLS ({path}: {reason})"
    )]
    NoAuthority {
        /// The file that would hold them.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A project parameter that is none.
    #[error("--set {0}: a project parameter is written KEY=VALUE")]
    Setting(String),
    /// A client without its secret.
    #[error("--client-id needs --client-secret or CALLWRIGHT_CLIENT_SECRET")]
    NoSecret,
    /// Nobody to fetch a token for.
    #[error("give --client-id and --client-secret (or CALLWRIGHT_CLIENT_SECRET)")]
    NoCredentials,
    /// The server address is none.
    #[error(transparent)]
    Address(#[from] ClientFault),
    /// There is no token.
    #[error(transparent)]
    Token(#[from] TokenFault),
}

impl ServerFault {
    /// The exit code of a command that failed so.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::NoServer { .. }
            | Self::NoAuthority { .. }
            | Self::Setting(_)
            | Self::NoSecret
            | Self::NoCredentials => exit::SETTINGS,
            Self::Address(fault) => call_exit_code(fault),
            Self::Token(TokenFault::Unreachable { .. }) => exit::UNAVAILABLE,
            Self::Token(TokenFault::Refused(_)) => exit::REFUSED,
            Self::Token(TokenFault::Unexpected { .. }) => exit::PROTOCOL,
        }
    }
}

/// The exit code of a command whose call failed.
#[must_use]
pub fn call_exit_code(fault: &ClientFault) -> u8 {
    match fault {
        ClientFault::BadAddress(_) | ClientFault::BadAuthority(_) => exit::SETTINGS,
        ClientFault::Unreachable { .. } | ClientFault::Silent { .. } => exit::UNAVAILABLE,
        // What may pass when it is tried again is no refusal for good.
        ClientFault::Refused(refusal) => match refusal.value.as_str() {
            "draining" | "capacity-exceeded" | "service-unavailable" => exit::UNAVAILABLE,
            _ => exit::REFUSED,
        },
        ClientFault::Unexpected(_) => exit::PROTOCOL,
        ClientFault::Ended(status) => match status.code() {
            // A connection that is lost has no status of its own.
            Code::Unavailable | Code::Unknown => exit::UNAVAILABLE,
            Code::Unauthenticated | Code::PermissionDenied | Code::Aborted => exit::REFUSED,
            _ => exit::PROTOCOL,
        },
    }
}

/// Runs a client command on a runtime of one thread.
///
/// # Errors
/// The command's own, or a [`Failure`] when there is no runtime.
pub fn block_on(command: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|fault| Failure::failed(format!("no runtime: {fault}")))?;
    let outcome = runtime.block_on(command);
    // A name that is still being looked up must not hold the exit.
    runtime.shutdown_background();
    outcome
}

/// The project parameters given as `KEY=VALUE`; of one given twice the last counts.
///
/// # Errors
/// [`ServerFault::Setting`] for anything else.
pub fn project_settings(given: &[String]) -> Result<Map<String, Value>, ServerFault> {
    let mut settings = Map::new();
    for text in given {
        let Setting { key, value } = text
            .parse()
            .map_err(|_| ServerFault::Setting(text.clone()))?;
        settings.insert(key, value);
    }
    Ok(settings)
}

/// The addresses that a running server leaves in its data folder.
#[derive(Debug, Default, Deserialize)]
struct Addresses {
    stream: String,
    api: String,
}

/// A server, and who is calling.
#[derive(Debug)]
pub struct Caller {
    /// The server.
    pub target: Target,
    /// Whose call it is.
    pub tenant: String,
    /// The access token; empty where none was given.
    pub token: SecretString,
}

impl ServerArgs {
    /// Finds the server, and fetches a token where credentials are given.
    ///
    /// # Errors
    /// [`ServerFault`] says what is missing or was refused.
    pub async fn resolve(&self) -> Result<Caller, ServerFault> {
        let target = Target {
            address: self.address()?,
            security: self.security()?,
        };
        let token = self.find_token(&target.security, Some(STREAMING)).await?;
        let named = token.as_ref().and_then(tenant_of);
        let tenant = self.tenant.clone().or(named);
        Ok(Caller {
            target,
            tenant: tenant.unwrap_or_else(|| DEFAULT_TENANT.to_owned()),
            token: token.unwrap_or_default(),
        })
    }

    /// Fetches a token for the credentials given, without looking for a server to stream to.
    ///
    /// It is good for `scope` (names separated by spaces), or for all that the client may do.
    ///
    /// # Errors
    /// [`ServerFault`] says what is missing or was refused.
    pub async fn fetch_token(&self, scope: Option<&str>) -> Result<SecretString, ServerFault> {
        // A token endpoint without TLS, or with a public certificate, needs no authority of ours.
        let security = self.security().unwrap_or(Security::Plaintext);
        self.find_token(&security, scope)
            .await?
            .ok_or(ServerFault::NoCredentials)
    }

    fn address(&self) -> Result<ServerAddress, ServerFault> {
        let address = match &self.server {
            Some(address) => address.parse()?,
            None => self.addresses()?.stream.parse()?,
        };
        Ok(address)
    }

    fn security(&self) -> Result<Security, ServerFault> {
        if self.plaintext {
            return Ok(Security::Plaintext);
        }
        let path = self
            .ca
            .clone()
            .unwrap_or_else(|| self.data_dir.join("tls").join("ca.pem"));
        match std::fs::read(&path) {
            Ok(authorities) => Ok(Security::Tls { authorities }),
            Err(fault) => Err(ServerFault::NoAuthority {
                path,
                reason: fault.to_string(),
            }),
        }
    }

    async fn find_token(
        &self,
        security: &Security,
        scope: Option<&str>,
    ) -> Result<Option<SecretString>, ServerFault> {
        let Some(client_id) = self.client_id.clone() else {
            return Ok(self.token.clone());
        };
        let credentials = Credentials {
            client_id,
            client_secret: self.client_secret.clone().ok_or(ServerFault::NoSecret)?,
            endpoint: self.token_endpoint()?,
        };
        let authorities = match security {
            Security::Tls { authorities } => Some(authorities.as_slice()),
            Security::Plaintext => None,
        };
        Ok(Some(fetch(&credentials, scope, authorities).await?))
    }

    fn token_endpoint(&self) -> Result<Url, ServerFault> {
        if let Some(url) = &self.token_url {
            return Ok(url.clone());
        }
        let api = self.addresses()?.api;
        let text = if api.contains("://") {
            api
        } else {
            format!("http://{api}")
        };
        text.parse().map_err(|_| {
            self.no_server(&self.addresses_file(), "its `api` is no address".to_owned())
        })
    }

    fn addresses_file(&self) -> PathBuf {
        self.data_dir.join("addresses.json")
    }

    fn addresses(&self) -> Result<Addresses, ServerFault> {
        let path = self.addresses_file();
        let text =
            std::fs::read(&path).map_err(|fault| self.no_server(&path, fault.to_string()))?;
        serde_json::from_slice(&text).map_err(|fault| self.no_server(&path, fault.to_string()))
    }

    #[expect(clippy::unused_self, reason = "reads as a part of the resolution")]
    fn no_server(&self, path: &Path, reason: String) -> ServerFault {
        ServerFault::NoServer {
            path: path.to_owned(),
            reason,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use secrecy::ExposeSecret as _;
    use tonic::Status;

    use super::*;
    use crate::client::fault::Refusal;

    #[test]
    fn what_may_pass_when_tried_again_has_a_code_of_its_own() {
        let refused = |value: &str| {
            call_exit_code(&ClientFault::Refused(Refusal {
                value: value.to_owned(),
                message: String::new(),
            }))
        };
        for value in ["draining", "capacity-exceeded", "service-unavailable"] {
            assert_eq!(refused(value), exit::UNAVAILABLE, "{value}");
        }
        for value in ["invalid-token", "project-not-found", "unsupported-audio"] {
            assert_eq!(refused(value), exit::REFUSED, "{value}");
        }
        let ended = |code| call_exit_code(&ClientFault::Ended(Box::new(Status::new(code, ""))));
        assert_eq!(ended(Code::Unavailable), exit::UNAVAILABLE);
        assert_eq!(ended(Code::Unknown), exit::UNAVAILABLE, "a lost connection");
        assert_eq!(ended(Code::Aborted), exit::REFUSED, "ended by an operator");
        assert_eq!(ended(Code::ResourceExhausted), exit::PROTOCOL);
    }

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        server: ServerArgs,
    }

    fn args(line: &[&str]) -> ServerArgs {
        Line::parse_from(["x"].iter().chain(line)).server
    }

    fn data_folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let addresses =
            r#"{"stream":"0.0.0.0:41234","api":"127.0.0.1:41235","admin":"127.0.0.1:41236"}"#;
        std::fs::write(folder.path().join("addresses.json"), addresses).unwrap();
        std::fs::create_dir(folder.path().join("tls")).unwrap();
        std::fs::write(folder.path().join("tls/ca.pem"), "an authority").unwrap();
        folder
    }

    #[tokio::test]
    async fn a_server_on_this_machine_is_found_through_its_data_folder() {
        let folder = data_folder();
        let args = args(&["--data-dir", folder.path().to_str().unwrap()]);
        let caller = args.resolve().await.unwrap();
        assert_eq!(caller.target.uri(), "https://127.0.0.1:41234");
        assert_eq!(caller.tenant, "default");
        assert_eq!(
            args.token_endpoint().unwrap().as_str(),
            "http://127.0.0.1:41235/"
        );
    }

    #[tokio::test]
    async fn the_tenant_is_the_one_given_else_the_one_the_token_names() {
        // {"tenant":"acme"}
        let token = "e30.eyJ0ZW5hbnQiOiJhY21lIn0.x";
        let line = ["--server", "localhost:1", "--plaintext", "--token", token];
        let caller = args(&line).resolve().await.unwrap();
        assert_eq!(
            (caller.tenant.as_str(), caller.token.expose_secret()),
            ("acme", token)
        );
        let line = [line.as_slice(), &["--tenant", "other"]].concat();
        assert_eq!(args(&line).resolve().await.unwrap().tenant, "other");
    }

    #[tokio::test]
    async fn what_is_missing_is_named_with_the_option_that_gives_it() {
        let nowhere = ["--data-dir", "/nonexistent"];
        let fault = args(&nowhere).resolve().await.unwrap_err().to_string();
        assert!(fault.contains("--server"), "{fault}");
        let line = [nowhere.as_slice(), &["--server", "localhost:1"]].concat();
        let fault = args(&line).resolve().await.unwrap_err().to_string();
        assert!(
            fault.contains("--ca") && fault.contains("--plaintext"),
            "{fault}"
        );
        let line = [line.as_slice(), &["--plaintext", "--client-id", "c"]].concat();
        let fault = args(&line).resolve().await.unwrap_err().to_string();
        assert!(fault.contains("--client-secret"), "{fault}");
    }
}
