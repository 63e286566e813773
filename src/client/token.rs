//! Access tokens: fetched with client credentials (RFC 6749, section 4.4), and the tenant they name.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use url::Url;

use super::fault::root_cause;
use super::target::install_cryptography;

/// How long the token endpoint may take: it checks one hash and signs one token.
const DEADLINE: Duration = Duration::from_secs(15);
/// The path of the token endpoint of an embedded issuer.
const TOKEN_PATH: &str = "/connect/token";
/// The scope that streaming needs.
pub const STREAMING: &str = "streaming";

/// What a program proves itself with at the token endpoint.
#[derive(Debug, Clone)]
pub struct Credentials {
    /// The OAuth client.
    pub client_id: String,
    /// Its secret.
    pub client_secret: SecretString,
    /// The token endpoint; with no path of its own, `/connect/token` is meant.
    pub endpoint: Url,
}

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub enum TokenFault {
    /// Nothing answers at the endpoint, or too late.
    #[error("cannot reach the token endpoint {endpoint}: {reason}")]
    Unreachable {
        /// Where the token was asked for.
        endpoint: Url,
        /// The innermost cause.
        reason: String,
    },
    /// The endpoint does not accept the credentials.
    #[error("the token endpoint refused the client: {0}")]
    Refused(String),
    /// The answer is not one of a token endpoint.
    #[error("{endpoint} does not answer like a token endpoint: {reason}")]
    Unexpected {
        /// Where the token was asked for.
        endpoint: Url,
        /// What is odd about the answer.
        reason: String,
    },
}

/// Fetches a token with `scope` (names separated by spaces), or with all that the client has.
///
/// `authorities` (PEM) are trusted besides the machine's own when the endpoint is `https`.
///
/// # Errors
/// [`TokenFault`] says whether the endpoint was not reached, refused, or answered something else.
pub async fn fetch(
    credentials: &Credentials,
    scope: Option<&str>,
    authorities: Option<&[u8]>,
) -> Result<SecretString, TokenFault> {
    let endpoint = endpoint_of(&credentials.endpoint);
    let unreachable = |fault: reqwest::Error| TokenFault::Unreachable {
        endpoint: endpoint.clone(),
        reason: root_cause(&fault.without_url()),
    };
    let client = http_client(authorities).map_err(unreachable)?;
    let mut form = vec![
        ("grant_type", "client_credentials"),
        ("client_id", &credentials.client_id),
        ("client_secret", credentials.client_secret.expose_secret()),
    ];
    form.extend(scope.map(|scope| ("scope", scope)));
    let answer = client
        .post(endpoint.clone())
        .form(&form)
        .send()
        .await
        .map_err(unreachable)?;
    let status = answer.status();
    let body = answer.bytes().await.map_err(unreachable)?;
    if status.is_success() {
        read_grant(&body).map_err(|reason| TokenFault::Unexpected { endpoint, reason })
    } else if status.is_client_error() && status != reqwest::StatusCode::NOT_FOUND {
        Err(TokenFault::Refused(read_refusal(&body, status.as_u16())))
    } else {
        let reason = format!("HTTP {}", status.as_u16());
        Err(TokenFault::Unexpected { endpoint, reason })
    }
}

fn endpoint_of(url: &Url) -> Url {
    let mut endpoint = url.clone();
    if endpoint.path() == "/" {
        endpoint.set_path(TOKEN_PATH);
    }
    endpoint
}

fn http_client(authorities: Option<&[u8]>) -> Result<reqwest::Client, reqwest::Error> {
    install_cryptography();
    let mut builder = reqwest::Client::builder()
        .timeout(DEADLINE)
        .redirect(reqwest::redirect::Policy::none());
    if let Some(pem) = authorities {
        builder = builder.tls_certs_merge(reqwest::Certificate::from_pem_bundle(pem)?);
    }
    builder.build()
}

fn read_grant(body: &[u8]) -> Result<SecretString, String> {
    #[derive(Deserialize)]
    struct Grant {
        access_token: SecretString,
    }
    serde_json::from_slice::<Grant>(body)
        .map(|grant| grant.access_token)
        // The fault could quote the token, so it is not passed on.
        .map_err(|_| "there is no access_token in it".to_owned())
}

/// What the endpoint says about a refusal: an OAuth error (RFC 6749, 5.2) or problem details (RFC 9457).
fn read_refusal(body: &[u8], status: u16) -> String {
    #[derive(Deserialize, Default)]
    struct Problem {
        error: Option<String>,
        error_description: Option<String>,
        code: Option<String>,
        detail: Option<String>,
    }
    let problem: Problem = serde_json::from_slice(body).unwrap_or_default();
    let name = problem.error.or(problem.code);
    let words = problem.error_description.or(problem.detail);
    match (name, words) {
        (Some(name), Some(words)) => format!("{name}: {words}"),
        (Some(text), None) | (None, Some(text)) => text,
        (None, None) => format!("HTTP {status}"),
    }
}

/// The `tenant` claim of a token, read without verifying: the server does that, the client only repeats it.
#[must_use]
pub fn tenant_of(token: &SecretString) -> Option<String> {
    #[derive(Deserialize)]
    struct Claims {
        tenant: String,
    }
    let claims = token.expose_secret().split('.').nth(1)?;
    let json = URL_SAFE_NO_PAD.decode(claims.trim_end_matches('=')).ok()?;
    serde_json::from_slice::<Claims>(&json)
        .ok()
        .map(|claims| claims.tenant)
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    fn token(claims: &str) -> SecretString {
        format!("e30.{}.sig", URL_SAFE_NO_PAD.encode(claims)).into()
    }

    #[test]
    fn the_tenant_comes_out_of_the_claims() {
        assert_eq!(
            tenant_of(&token(r#"{"tenant":"acme"}"#)).as_deref(),
            Some("acme")
        );
    }

    #[test]
    fn a_token_that_names_no_tenant_gives_none() {
        for text in ["", "opaque", "a.b.c", "e30.e30.x"] {
            assert_eq!(tenant_of(&text.to_owned().into()), None, "{text}");
        }
        assert_eq!(tenant_of(&token(r#"{"tenant":7}"#)), None);
    }

    #[test]
    fn an_address_alone_stands_for_its_token_endpoint() {
        let full = |text: &str| endpoint_of(&text.parse().unwrap()).to_string();
        assert_eq!(
            full("http://127.0.0.1:8080"),
            "http://127.0.0.1:8080/connect/token"
        );
        assert_eq!(
            full("https://id.example/oauth/token"),
            "https://id.example/oauth/token"
        );
    }

    /// Answers one HTTP request with `status` and `body`, and gives back what was asked.
    async fn endpoint(
        status: &'static str,
        body: &'static str,
    ) -> (Url, tokio::task::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap())
            .parse()
            .unwrap();
        let served = tokio::spawn(async move {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut asked = Vec::new();
            while !String::from_utf8_lossy(&asked).contains("scope=") {
                let mut part = [0; 4_096];
                let count = socket.read(&mut part).await.unwrap();
                assert!(count > 0, "the request broke off");
                asked.extend_from_slice(&part[..count]);
            }
            let answer = format!(
                "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            socket.write_all(answer.as_bytes()).await.unwrap();
            String::from_utf8(asked).unwrap()
        });
        (url, served)
    }

    fn credentials(endpoint: Url) -> Credentials {
        Credentials {
            client_id: "caller".to_owned(),
            client_secret: "s3cret&more".to_owned().into(),
            endpoint,
        }
    }

    #[tokio::test]
    async fn credentials_become_a_token() {
        let (url, served) =
            endpoint("200 OK", r#"{"access_token":"abc","token_type":"Bearer"}"#).await;
        let token = fetch(&credentials(url), Some(STREAMING), None)
            .await
            .unwrap();
        assert_eq!(token.expose_secret(), "abc");
        let asked = served.await.unwrap();
        assert!(asked.starts_with("POST /connect/token "), "{asked}");
        assert!(
            asked.contains("grant_type=client_credentials&client_id=caller"),
            "{asked}"
        );
        assert!(asked.contains("client_secret=s3cret%26more"), "{asked}");
    }

    #[tokio::test]
    async fn refused_credentials_say_why_and_not_what_they_were() {
        let body = r#"{"error":"invalid_client","error_description":"no such client"}"#;
        let (url, _served) = endpoint("401 Unauthorized", body).await;
        let fault = fetch(&credentials(url), Some(STREAMING), None)
            .await
            .unwrap_err();
        assert!(matches!(fault, TokenFault::Refused(_)));
        assert!(
            fault
                .to_string()
                .ends_with("invalid_client: no such client"),
            "{fault}"
        );
        assert!(!format!("{fault:?}").contains("s3cret"));
    }

    #[tokio::test]
    async fn something_else_at_the_endpoint_is_told_apart_from_a_refusal() {
        let (url, _served) = endpoint("200 OK", r#"{"hello":1}"#).await;
        let fault = fetch(&credentials(url), Some(STREAMING), None)
            .await
            .unwrap_err();
        assert!(matches!(fault, TokenFault::Unexpected { .. }), "{fault}");
    }

    #[tokio::test]
    async fn an_endpoint_that_is_not_there_is_unreachable() {
        let free = TcpListener::bind("127.0.0.1:0")
            .await
            .unwrap()
            .local_addr()
            .unwrap();
        let fault = fetch(
            &credentials(format!("http://{free}").parse().unwrap()),
            Some(STREAMING),
            None,
        )
        .await
        .unwrap_err();
        assert!(matches!(fault, TokenFault::Unreachable { .. }), "{fault}");
    }
}
