//! Joins projects in the store to those who run them, and gives a new store what it begins with.

use std::sync::Arc;

use async_trait::async_trait;
use callwright_actors::ports::{Projects, StoreUnavailable, StoredProject};
use callwright_domain::identity::{DEFAULT_TENANT, TenantId};
use chrono::Utc;

use super::Fault;
use crate::store::{Project, Store};

/// The flow project of a new default tenant.
pub const DEMO_STREAM: &str = include_str!("demo-stream.toml");

/// The store as the reception sees it.
#[derive(Debug, Clone)]
pub struct StoredProjects(pub Store);

#[async_trait]
impl Projects for StoredProjects {
    async fn find(
        &self,
        tenant: &TenantId,
        name: &str,
    ) -> Result<Option<Arc<StoredProject>>, StoreUnavailable> {
        let found = self
            .0
            .find_project(tenant.as_str(), name)
            .await
            .map_err(|fault| {
                tracing::error!(%fault, "a project could not be read");
                StoreUnavailable("projects cannot be read now; try again".to_owned())
            })?;
        Ok(found.map(|project| {
            Arc::new(StoredProject {
                name: project.name,
                kind: project.kind,
                version: project.version,
                definition: project.definition,
            })
        }))
    }
}

/// Makes the default tenant; a new one gets the demo project. One that was removed stays removed.
pub(super) async fn seed(store: &Store) -> Result<(), Fault> {
    let now = Utc::now();
    if !store.ensure_tenant(DEFAULT_TENANT, now).await? {
        return Ok(());
    }
    let applied = store
        .apply_project(Project {
            tenant: DEFAULT_TENANT.to_owned(),
            name: "demo-stream".to_owned(),
            kind: "flow".to_owned(),
            definition: DEMO_STREAM.to_owned(),
            version: 0,
            updated_at: now,
        })
        .await?;
    tracing::info!(
        version = applied.version,
        "made tenant `default` with project `demo-stream`"
    );
    Ok(())
}
