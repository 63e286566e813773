//! How a client names and proves itself (RFC 6749, 2.3.1).

use actix_web::HttpRequest;
use actix_web::http::header;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::SecretString;

use super::refusal::Refused;

/// The client's id and secret, from the header (client_secret_basic) or the body (client_secret_post), never both.
pub(super) fn read(
    request: &HttpRequest,
    id: Option<String>,
    secret: Option<SecretString>,
) -> Result<(String, SecretString), Refused> {
    let Some(header) = request.headers().get(header::AUTHORIZATION) else {
        return match (id, secret) {
            (Some(id), Some(secret)) => Ok((id, secret)),
            (None, _) => Err(Refused::client("client_id is missing")),
            (Some(_), None) => Err(Refused::client("client_secret is missing")),
        };
    };
    if secret.is_some() {
        return Err(Refused::bad(
            "invalid_request",
            "send the client's secret in the header or in the body, not in both",
        ));
    }
    let basic = header.to_str().ok().and_then(basic);
    let (named, secret) = basic
        .ok_or_else(|| Refused::client("the Authorization header holds no Basic credentials"))?;
    if id.is_some_and(|id| id != named) {
        return Err(Refused::bad(
            "invalid_request",
            "header and body name different clients",
        ));
    }
    Ok((named, secret))
}

/// Reads Basic credentials; both halves are form-encoded first (RFC 6749, 2.3.1).
fn basic(value: &str) -> Option<(String, SecretString)> {
    let (scheme, encoded) = value.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()?;
    let (id, secret) = decoded.split_once(':')?;
    Some((form_decoded(id), SecretString::from(form_decoded(secret))))
}

fn form_decoded(text: &str) -> String {
    let pair = format!("v={}", text.replace('&', "%26"));
    url::form_urlencoded::parse(pair.as_bytes())
        .next()
        .map_or_else(String::new, |(_, value)| value.into_owned())
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;

    use super::*;

    #[test]
    fn basic_credentials_are_form_encoded_inside() {
        let encode = |text: &str| format!("Basic {}", STANDARD.encode(text));
        let cases = [
            (encode("id:secret"), Some(("id", "secret"))),
            (encode("a%3Ab:c+d%2B"), Some(("a:b", "c d+"))),
            (encode("id:a:b"), Some(("id", "a:b"))),
            (encode("id:a&b=c"), Some(("id", "a&b=c"))),
            (encode("no colon"), None),
            ("Bearer abc".to_owned(), None),
            ("Basic !!!".to_owned(), None),
            ("Basic".to_owned(), None),
        ];
        for (header, expected) in cases {
            let found = basic(&header);
            let found = found
                .as_ref()
                .map(|(id, secret)| (id.as_str(), secret.expose_secret()));
            assert_eq!(found, expected, "{header}");
        }
    }
}
