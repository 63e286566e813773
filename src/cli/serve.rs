//! `callwright serve`: runs the service until it is told to stop.

use super::{Context, Failure, exit};
use crate::app::{Fault, Service};

/// Run the service until SIGTERM, SIGINT or POST /admin/drain.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Serves.
///
/// # Errors
/// A [`Failure`] that says in one sentence why the service did not start.
pub fn run(_args: &Args, context: &Context) -> Result<(), Failure> {
    let settings = context.begin()?;
    actix_rt::System::new().block_on(async {
        let service = Service::start(settings).await?;
        service.run().await;
        Ok(())
    })
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        let code = match &fault {
            Fault::DataFolder { .. }
            | Fault::DataFolderTaken(_)
            | Fault::Port(_)
            | Fault::Recordings { .. } => exit::CANNOT_CREATE,
            Fault::Store(_) => exit::UNAVAILABLE,
            Fault::Tls(_) => exit::SETTINGS,
            Fault::Identity(_) | Fault::Inside(_) => exit::FAILED,
        };
        Self {
            code,
            sentence: fault.to_string(),
        }
    }
}
