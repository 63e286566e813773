//! The keys of an OIDC issuer, by discovery (OpenID Connect Discovery 1.0, 4) and its key set.

use std::time::Duration;

use async_trait::async_trait;
use reqwest::{Certificate, Client, redirect};
use serde::Deserialize;
use serde_json::Value;
use url::{Host, Url};

use super::key_cache::KeySource;
use super::{Error, shown};

/// Largest answer read. Large key sets have some tens of keys of 2 KiB each.
const ANSWER_LIMIT: usize = 256 * 1024;

/// How to reach an OIDC issuer.
#[derive(Debug, Clone)]
pub struct Options {
    /// The issuer's URL, as its tokens and its discovery document name it. `https`, unless the host is a loopback one.
    pub issuer: String,
    /// Certificate authorities in PEM to trust beside those of the system.
    pub authorities_pem: Option<Vec<u8>>,
    /// Longest wait for each of its two pages.
    pub fetch_timeout: Duration,
}

/// Reads the keys of an OIDC issuer over HTTP.
pub struct OidcKeys {
    issuer: String,
    discovery: Url,
    client: Client,
}

#[derive(Deserialize)]
struct Discovery {
    issuer: String,
    jwks_uri: String,
}

#[derive(Deserialize)]
struct KeySet {
    keys: Vec<Value>,
}

impl OidcKeys {
    /// A reader for the issuer of `options`. Asks nothing yet.
    ///
    /// # Errors
    /// [`Error::Issuer`] when the URL or the certificates cannot be used.
    pub fn new(options: Options) -> Result<Self, Error> {
        let address = format!(
            "{}/.well-known/openid-configuration",
            options.issuer.trim_end_matches('/')
        );
        let discovery = safe_url(&address).map_err(Error::Issuer)?;
        let client = client(options.authorities_pem.as_deref(), options.fetch_timeout)?;
        Ok(Self {
            issuer: options.issuer,
            discovery,
            client,
        })
    }

    async fn get(&self, url: Url) -> Result<Vec<u8>, String> {
        let place = url.to_string();
        let failed = |fault: reqwest::Error| format!("{place}: {}", root_cause(&fault));
        let mut response = self.client.get(url).send().await.map_err(failed)?;
        if !response.status().is_success() {
            return Err(format!("{place} answered {}", response.status()));
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            if body.len() + chunk.len() > ANSWER_LIMIT {
                return Err(format!(
                    "{place} answered with more than {} KiB",
                    ANSWER_LIMIT / 1024
                ));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    async fn get_json<T: for<'a> Deserialize<'a>>(&self, url: Url) -> Result<T, String> {
        let place = url.to_string();
        let body = self.get(url).await?;
        serde_json::from_slice(&body)
            .map_err(|fault| format!("{place} did not answer as expected: {fault}"))
    }
}

#[async_trait]
impl KeySource for OidcKeys {
    async fn fetch(&self) -> Result<Vec<Value>, String> {
        let found: Discovery = self.get_json(self.discovery.clone()).await?;
        if found.issuer != self.issuer {
            return Err(format!(
                "{} names the issuer `{}`, not `{}`",
                self.discovery,
                shown(&found.issuer),
                self.issuer
            ));
        }
        let set: KeySet = self.get_json(safe_url(&found.jwks_uri)?).await?;
        Ok(set.keys)
    }
}

fn client(authorities: Option<&[u8]>, deadline: Duration) -> Result<Client, Error> {
    // A second installation is refused and changes nothing: the provider is there either way.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let unusable = |fault: reqwest::Error| Error::Issuer(root_cause(&fault));
    let authorities = match authorities {
        Some(pem) => Certificate::from_pem_bundle(pem).map_err(unusable)?,
        None => Vec::new(),
    };
    Client::builder()
        .timeout(deadline)
        .connect_timeout(deadline)
        // A redirect could lead from the trusted address to any other.
        .redirect(redirect::Policy::none())
        .tls_certs_merge(authorities)
        .build()
        .map_err(unusable)
}

/// Reads a URL that keys may come from: `https`, or anything on this machine.
fn safe_url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|fault| format!("`{}` is no URL: {fault}", shown(text)))?;
    let loopback = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    match url.scheme() {
        "https" => Ok(url),
        "http" if loopback => Ok(url),
        _ => Err(format!(
            "`{}` is not an https URL: its keys could be anyone's",
            shown(text)
        )),
    }
}

/// The innermost cause, which is the one that says what happened.
fn root_cause(fault: &dyn std::error::Error) -> String {
    let mut cause = fault;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_over_https_or_from_this_machine() {
        for good in [
            "https://id.example/a",
            "http://127.0.0.1:9/x",
            "http://[::1]:9/x",
            "http://localhost/x",
        ] {
            assert!(safe_url(good).is_ok(), "{good}");
        }
        for bad in [
            "http://id.example/a",
            "http://localhost.example/",
            "ftp://127.0.0.1/",
            "file:///etc/passwd",
            "x",
        ] {
            assert!(safe_url(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_issuer_that_cannot_be_trusted_is_refused_at_once() {
        let options = |issuer: &str| Options {
            issuer: issuer.to_owned(),
            authorities_pem: None,
            fetch_timeout: Duration::from_secs(5),
        };
        assert!(OidcKeys::new(options("https://id.example")).is_ok());
        let fault = OidcKeys::new(options("http://id.example"))
            .err()
            .expect("it is refused");
        assert!(fault.to_string().contains("not an https URL"), "{fault}");
    }
}
