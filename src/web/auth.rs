//! Who calls: the bearer token of a request, checked for the scope that the route needs.

use std::marker::PhantomData;
use std::sync::Arc;

use actix_web::dev::Payload;
use actix_web::http::StatusCode;
use actix_web::http::header;
use actix_web::{FromRequest, HttpRequest, web};
use callwright_actors::ports::{TokenFault, TokenVerifier};
use callwright_domain::identity::{DEFAULT_TENANT, Principal, Scope};
use futures_util::future::LocalBoxFuture;

use super::problem::Problem;

/// Whether a call needs a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Authentication {
    /// Every call needs one.
    Required,
    /// A call without one is the default tenant's and may do everything. A token, once sent, is still checked.
    None,
}

/// Checks the tokens of calls.
pub struct Guard {
    verifier: Arc<dyn TokenVerifier>,
    authentication: Authentication,
}

impl Guard {
    /// A guard that asks `verifier`.
    #[must_use]
    pub fn new(verifier: Arc<dyn TokenVerifier>, authentication: Authentication) -> Self {
        Self {
            verifier,
            authentication,
        }
    }

    /// The principal behind an `Authorization` header, if it may do what `scope` allows.
    ///
    /// # Errors
    /// The problem to answer with: 401 for a token that is absent or bad, 403 for one without the scope, 503 when it
    /// cannot be checked now.
    pub async fn admit(
        &self,
        authorization: Option<&str>,
        scope: Scope,
    ) -> Result<Principal, Problem> {
        let token = match (authorization, self.authentication) {
            (None, Authentication::None) => return anonymous(),
            (None, Authentication::Required) => return Err(no_token()),
            (Some(value), _) => bearer(value).ok_or_else(not_bearer)?,
        };
        let principal = self
            .verifier
            .verify(token)
            .await
            .map_err(|fault| match fault {
                TokenFault::Refused(said) => bad_token(&said),
                TokenFault::Unavailable(said) => Problem::unavailable(said),
            })?;
        if principal.allows(scope) {
            Ok(principal)
        } else {
            Err(missing_scope(scope))
        }
    }
}

/// A scope in the type of a handler's argument.
pub trait RequiredScope: 'static {
    /// The scope.
    const SCOPE: Scope;
}

macro_rules! required_scopes {
    ($($name:ident)*) => {
        $(
            #[doc = concat!("The scope of the same name, for [`Allowed<", stringify!($name), ">`](Allowed).")]
            #[derive(Debug)]
            pub struct $name;

            impl RequiredScope for $name {
                const SCOPE: Scope = Scope::$name;
            }
        )*
    };
}

required_scopes! { Streaming Abbreviations Evaluator Analytics Operator }

/// The caller of a route that needs the scope `S`: `async fn add(caller: Allowed<Abbreviations>, …)`.
#[derive(Debug)]
pub struct Allowed<S> {
    /// Who calls.
    pub principal: Principal,
    scope: PhantomData<S>,
}

impl<S: RequiredScope> FromRequest for Allowed<S> {
    type Error = Problem;
    type Future = LocalBoxFuture<'static, Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let guard = request.app_data::<web::Data<Guard>>().cloned();
        let header = authorization(request);
        Box::pin(async move {
            let Some(guard) = guard else {
                return Err(Problem::unavailable(
                    "This route was set up without a guard, so it admits nobody.",
                ));
            };
            let principal = guard.admit(header?.as_deref(), S::SCOPE).await?;
            Ok(Self {
                principal,
                scope: PhantomData,
            })
        })
    }
}

/// The one `Authorization` header of a request, if it has one.
fn authorization(request: &HttpRequest) -> Result<Option<String>, Problem> {
    let mut all = request.headers().get_all(header::AUTHORIZATION);
    let Some(value) = all.next() else {
        return Ok(None);
    };
    if all.next().is_some() {
        return Err(bad_token("the request has several Authorization headers"));
    }
    value
        .to_str()
        .map(|text| Some(text.to_owned()))
        .map_err(|_| not_bearer())
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.trim().split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

fn anonymous() -> Result<Principal, Problem> {
    let tenant = DEFAULT_TENANT
        .parse()
        .map_err(|_| Problem::unavailable("There is no default tenant."))?;
    Ok(Principal {
        tenant,
        subject: "anonymous".to_owned(),
        scopes: Scope::ALL.to_vec(),
        expires_at: i64::MAX,
    })
}

fn unauthorized(code: &'static str, detail: String, challenge: &str) -> Problem {
    Problem::new(StatusCode::UNAUTHORIZED, code, "Not authenticated", detail)
        .fix("Send the header `Authorization: Bearer <access token>` with a token of this service's issuer.")
        .header(header::WWW_AUTHENTICATE, challenge)
}

fn no_token() -> Problem {
    // RFC 6750, 3.1: a request without any token gets no error code in the challenge.
    unauthorized(
        "no-token",
        "This call needs an access token.".to_owned(),
        "Bearer realm=\"callwright\"",
    )
}

fn not_bearer() -> Problem {
    bad_token("the Authorization header holds no bearer token")
}

fn bad_token(said: &str) -> Problem {
    let challenge = "Bearer realm=\"callwright\", error=\"invalid_token\"";
    unauthorized(
        "invalid-token",
        format!("The access token is not accepted: {said}."),
        challenge,
    )
}

fn missing_scope(scope: Scope) -> Problem {
    let detail = format!("The access token does not have the scope `{scope}`.");
    Problem::new(
        StatusCode::FORBIDDEN,
        "missing-scope",
        "Not allowed",
        detail,
    )
    .fix(format!(
        "Ask for a token with the scope `{scope}`, with a client that may have it."
    ))
    .header(
        header::WWW_AUTHENTICATE,
        &format!("Bearer realm=\"callwright\", error=\"insufficient_scope\", scope=\"{scope}\""),
    )
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;

    use super::*;

    /// Takes `good`, which belongs to tenant `acme` and may stream.
    struct OneToken;

    #[async_trait]
    impl TokenVerifier for OneToken {
        async fn verify(&self, token: &str) -> Result<Principal, TokenFault> {
            match token {
                "good" => Ok(Principal {
                    tenant: "acme".parse().unwrap(),
                    subject: "robot".to_owned(),
                    scopes: vec![Scope::Streaming],
                    expires_at: 0,
                }),
                "later" => Err(TokenFault::Unavailable("the issuer is down".to_owned())),
                _ => Err(TokenFault::Refused("the token expired".to_owned())),
            }
        }
    }

    async fn admit(
        authentication: Authentication,
        header: Option<&str>,
    ) -> Result<Principal, (u16, &'static str)> {
        let guard = Guard::new(Arc::new(OneToken), authentication);
        guard
            .admit(header, Scope::Streaming)
            .await
            .map_err(|problem| (problem.status.as_u16(), problem.code))
    }

    #[actix_web::test]
    async fn a_call_without_a_token_is_the_default_tenants_only_where_that_is_allowed() {
        let principal = admit(Authentication::None, None).await.unwrap();
        assert_eq!(principal.tenant.as_str(), "default");
        assert_eq!(principal.scopes, Scope::ALL);
        assert_eq!(
            admit(Authentication::Required, None).await,
            Err((401, "no-token"))
        );
    }

    #[actix_web::test]
    async fn a_token_once_sent_is_always_checked() {
        for authentication in [Authentication::None, Authentication::Required] {
            let principal = admit(authentication, Some("bearer good")).await.unwrap();
            assert_eq!(principal.tenant.as_str(), "acme");
            for (header, expected) in [
                ("Bearer bad", (401, "invalid-token")),
                ("Bearer ", (401, "invalid-token")),
                ("Bearer", (401, "invalid-token")),
                ("", (401, "invalid-token")),
                ("Basic Z29vZDpnb29k", (401, "invalid-token")),
                ("Bearer later", (503, "unavailable")),
            ] {
                assert_eq!(
                    admit(authentication, Some(header)).await,
                    Err(expected),
                    "{header}"
                );
            }
        }
    }

    #[actix_web::test]
    async fn a_token_without_the_scope_is_forbidden() {
        let guard = Guard::new(Arc::new(OneToken), Authentication::None);
        let problem = guard
            .admit(Some("Bearer good"), Scope::Operator)
            .await
            .unwrap_err();
        assert_eq!(
            (problem.status.as_u16(), problem.code),
            (403, "missing-scope")
        );
    }
}
