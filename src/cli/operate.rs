//! Commands of operators that work on the store directly, beside a running service or without one.

use std::io::Write as _;

use callwright_domain::identity::TenantId;

use super::server::block_on;
use super::{Context, Failure};
use crate::app::{self, Fault};
use crate::config::Settings;
use crate::store::{self, Store};

/// Opens the store, up to date, and lets `work` at it.
///
/// # Errors
/// The work's own, or a [`Failure`] when settings or store cannot be used.
pub(super) fn with_store<F>(
    context: &Context,
    work: impl FnOnce(Settings, Store) -> F,
) -> Result<(), Failure>
where
    F: Future<Output = Result<(), Failure>>,
{
    let settings = context.begin_saying(Some("warn"))?;
    if let Some(file) = app::missing_database(&settings) {
        // Rather than refused, since a service may be prepared before its first start.
        let said = format!(
            "there was no store at {}, so a new one is made; is this the service's folder?",
            file.display()
        );
        _ = writeln!(std::io::stderr(), "callwright: {said}");
    }
    block_on(async {
        let store = app::open_store(&settings).await?;
        work(settings, store).await
    })
}

/// Reads a tenant's name.
///
/// # Errors
/// What a name may be, in words; for clap.
pub(super) fn tenant(name: &str) -> Result<TenantId, String> {
    name.parse()
        .map_err(|fault: callwright_domain::identity::BadTenantName| fault.to_string())
}

impl From<store::Error> for Failure {
    fn from(fault: store::Error) -> Self {
        Fault::Store(fault).into()
    }
}

impl From<crate::identity::Error> for Failure {
    fn from(fault: crate::identity::Error) -> Self {
        Fault::Identity(fault).into()
    }
}
