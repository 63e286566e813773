//! What the service needs from others: its store, and the issuer of its tokens.

use crate::app;
use crate::config::{Issuer, Settings};
use crate::identity::key_cache::KeySource;
use crate::identity::oidc::{self, OidcKeys};
use crate::store::Store;

use super::finding::Finding;

/// Tries both. Makes nothing that is not there.
pub(super) fn examine(settings: &Settings) -> Vec<Finding> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    match runtime {
        Ok(runtime) => runtime.block_on(async {
            let mut findings = vec![store(settings).await];
            findings.extend(issuer(settings).await);
            findings
        }),
        Err(fault) => vec![Finding::fail(
            "store",
            format!("no runtime to try it with: {fault}"),
            "look at the limits of this user",
        )],
    }
}

async fn store(settings: &Settings) -> Finding {
    if let Some(file) = app::missing_database(settings) {
        let detail = format!("{} is made at the first start", file.display());
        return Finding::ok("store", detail);
    }
    let tried = async {
        let store = Store::open(app::store_options(settings)).await?;
        let pending = store.pending().await?;
        Ok::<_, crate::store::Error>((store.shown(), pending.len()))
    };
    match tried.await {
        Ok((shown, 0)) => Finding::ok("store", format!("{shown} answers and is up to date")),
        Ok((shown, count)) => Finding::ok(
            "store",
            format!("{shown} answers; {count} migrations are applied at the next start"),
        ),
        Err(fault) => Finding::fail(
            "store",
            fault.to_string(),
            "correct store.url, or start the database",
        ),
    }
}

async fn issuer(settings: &Settings) -> Option<Finding> {
    let Issuer::Url(url) = &settings.identity.issuer else {
        return None;
    };
    let keys = OidcKeys::new(oidc::Options {
        issuer: url.clone(),
        authorities_pem: None,
        fetch_timeout: settings.identity.fetch_timeout,
    });
    let read = match keys {
        Ok(keys) => keys.fetch().await,
        Err(fault) => Err(fault.to_string()),
    };
    Some(match read {
        Ok(keys) => Finding::ok("issuer", format!("{url} publishes {} keys", keys.len())),
        Err(fault) => Finding::fail(
            "issuer",
            format!("its keys cannot be read: {fault}"),
            "correct identity.issuer, or start the issuer: no token can be checked until then",
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::super::finding::Status;
    use super::*;
    use crate::config::{Sources, load};

    fn settings(flags: &[&str]) -> Settings {
        let flags = flags.iter().map(|flag| (*flag).to_owned()).collect();
        load(&Sources {
            flags,
            ..Sources::default()
        })
        .unwrap()
        .settings
    }

    #[test]
    fn a_store_and_an_issuer_that_do_not_answer_fail_without_the_password() {
        let findings = examine(&settings(&[
            "store.url=postgres://u:hush@127.0.0.1:1/x",
            "store.acquire_timeout_ms=100",
            "identity.issuer=http://127.0.0.1:1",
        ]));
        assert_eq!(findings.len(), 2);
        for finding in findings {
            assert_eq!(finding.status, Status::Fail, "{finding}");
            assert!(!finding.to_string().contains("hush"), "{finding}");
        }
    }

    #[test]
    fn a_store_that_is_not_there_yet_is_not_made() {
        let folder = tempfile::tempdir().unwrap();
        let findings = examine(&settings(&[&format!(
            "data_dir={}",
            folder.path().display()
        )]));
        assert_eq!(
            findings.first().map(|finding| finding.status),
            Some(Status::Ok)
        );
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
