//! Watching the files of a certificate.
//!
//! By looking at their content now and then: links that are swapped, as containers do, and files on network disks tell no
//! watcher of the system.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::sign::CertifiedKey;

use super::{Certificates, Fault, Source, authority, load, read};

/// A certificate of our own is made anew at this age, long before it runs out.
const RENEW_AFTER: Duration = Duration::from_secs(300 * 24 * 3_600);

pub(super) async fn watch(certificates: &Arc<Certificates>, interval: Duration) {
    let mut seen = content(&certificates.source).ok();
    let mut made = Instant::now();
    loop {
        tokio::time::sleep(interval).await;
        let source = certificates.source.clone();
        let renew = made.elapsed() >= RENEW_AFTER;
        let before = seen.take();
        let looked = tokio::task::spawn_blocking(move || look(&source, before, renew)).await;
        let Ok((now, changed)) = looked else { continue };
        seen = now;
        if renew {
            made = Instant::now();
        }
        match changed {
            None => {}
            Some(Ok(certificate)) => {
                certificates.swap(certificate);
                tracing::info!("the certificate changed; new connections get the new one");
            }
            Some(Err(fault)) => {
                tracing::error!(%fault, "the new certificate cannot be used; the old one stays");
            }
        }
    }
}

type Content = (Vec<u8>, Vec<u8>);

/// Gives what is in the files now, and the certificate if that is something new.
fn look(
    source: &Source,
    before: Option<Content>,
    renew: bool,
) -> (Option<Content>, Option<Result<CertifiedKey, Fault>>) {
    if renew
        && let Source::Authority { folder, names } = source
        && let Err(fault) = authority::prepare(folder, names)
    {
        return (before, Some(Err(fault)));
    }
    match content(source) {
        // A file may be away for a moment while it is replaced.
        Err(_) => (before, None),
        Ok(now) if Some(&now) == before.as_ref() => (Some(now), None),
        Ok(now) => (Some(now), Some(load(source))),
    }
}

fn content(source: &Source) -> Result<Content, Fault> {
    let (certificate, key) = source.files();
    Ok((read(&certificate)?, read(&key)?))
}
