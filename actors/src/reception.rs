//! The reception: hears a stream's first message and decides whether a session starts.
//!
//! Checks in the order in which a client can mend them: shape, audio, token, tenant, project, capacity, settings. Owns no
//! state of its own; edges call it once per stream and hand what it gives to [`Session`](crate::session::Session).

use std::sync::Arc;
use std::time::Duration;

use callwright_domain::flow::{Definition, Plan, Settings};
use callwright_domain::identity::{Scope, TenantId};
use callwright_domain::protocol::{ErrorValue, Refusal, Request, Start};
use tokio::time::timeout;

use crate::directory::{Directory, Place, TenantPlace};
use crate::nodes::Registry;
use crate::ports::{Projects, TokenFault, TokenVerifier};

/// How long identity and store together may take to answer a Start. Longer than either's own deadline; only a backstop.
const CHECK_DEADLINE: Duration = Duration::from_secs(15);

/// What the reception works with.
pub struct Reception {
    /// Checks tokens.
    pub tokens: Arc<dyn TokenVerifier>,
    /// Finds projects.
    pub projects: Arc<dyn Projects>,
    /// The node types.
    pub registry: Arc<Registry>,
    /// Who is here.
    pub directory: Arc<Directory>,
}

/// A Start that was accepted.
pub struct Admission {
    /// What the client asked for.
    pub start: Start,
    /// Whose session it is.
    pub tenant: TenantId,
    /// The OAuth client or user.
    pub subject: String,
    /// The project, ready to run.
    pub plan: Arc<Plan>,
    /// The settings of each node of the plan.
    pub settings: Vec<Settings>,
    /// The place taken.
    pub place: TenantPlace,
}

impl std::fmt::Debug for Admission {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Admission")
            .field("start", &self.start)
            .finish_non_exhaustive()
    }
}

impl Reception {
    /// Decides on the first request of a stream.
    ///
    /// # Errors
    /// The name of the request to answer, and the [`Refusal`].
    pub async fn admit(&self, content: &str, place: Place) -> Result<Admission, (String, Refusal)> {
        let start = match Request::parse(content) {
            Ok(Request::Start(start)) => *start,
            Ok(other) => return Err((other.name().to_owned(), not_started())),
            Err((name, refusal)) if refusal.value == ErrorValue::UnknownRequest => {
                return Err((name, not_started()));
            }
            Err((_, refusal)) => return Err((START.to_owned(), refusal)),
        };
        match timeout(CHECK_DEADLINE, self.check(start, place)).await {
            Ok(checked) => checked.map_err(|refusal| (START.to_owned(), refusal)),
            Err(_) => Err((
                START.to_owned(),
                unavailable("checking the Start took too long; try again"),
            )),
        }
    }

    async fn check(&self, start: Start, place: Place) -> Result<Admission, Refusal> {
        let principal = self
            .tokens
            .verify(&start.token)
            .await
            .map_err(|fault| match fault {
                TokenFault::Refused(message) => Refusal::new(ErrorValue::InvalidToken, message),
                TokenFault::Unavailable(message) => unavailable(message),
            })?;
        if !principal.allows(Scope::Streaming) {
            return Err(Refusal::new(
                ErrorValue::InvalidToken,
                "the token does not have the scope `streaming`",
            ));
        }
        if principal.tenant.as_str() != start.tenant {
            return Err(Refusal::new(
                ErrorValue::TenantMismatch,
                "`Tenant` is not the tenant of the token",
            ));
        }
        let plan = self.plan(&principal.tenant, &start.project).await?;
        let settings = plan.settings(&start.parameters).map_err(|faults| {
            Refusal::new(ErrorValue::InvalidRequest, format!("`Settings`: {faults}"))
        })?;
        let place = self.directory.enter_tenant(place, &principal.tenant)?;
        Ok(Admission {
            start,
            tenant: principal.tenant,
            subject: principal.subject,
            plan,
            settings,
            place,
        })
    }

    async fn plan(&self, tenant: &TenantId, name: &str) -> Result<Arc<Plan>, Refusal> {
        let found = self
            .projects
            .find(tenant, name)
            .await
            .map_err(|fault| unavailable(fault.to_string()))?;
        let stored = found
            .filter(|project| project.kind == "flow")
            .ok_or_else(|| {
                Refusal::new(
                    ErrorValue::ProjectNotFound,
                    format!("tenant `{tenant}` has no flow project of that name"),
                )
            })?;
        let definition = Definition::from_toml(&stored.definition)
            .map_err(|fault| unusable(&stored.name, &fault.to_string()))?;
        let plan = Plan::new(&definition, self.registry.as_ref())
            .map_err(|faults| unusable(&stored.name, &faults.to_string()))?;
        Ok(Arc::new(plan))
    }
}

const START: &str = "Start";

/// A project that was valid when it was applied and is not under this version of the service.
fn unusable(project: &str, fault: &str) -> Refusal {
    tracing::error!(
        project,
        fault,
        "a stored project cannot run; apply it again"
    );
    Refusal::new(
        ErrorValue::ProjectNotFound,
        format!("project `{project}` cannot run: {fault}"),
    )
}

fn not_started() -> Refusal {
    Refusal::new(
        ErrorValue::NotStarted,
        "the first message must be a Start request",
    )
}

fn unavailable(message: impl Into<String>) -> Refusal {
    Refusal::new(ErrorValue::ServiceUnavailable, message)
}

#[cfg(test)]
mod tests;
