//! Are the certificates readable, and for how long are they valid?

use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use x509_parser::parse_x509_certificate;

use super::finding::Finding;
use crate::config::{CertificateFiles, Settings};

/// Time for an operator to renew before clients are refused.
const SOON_DAYS: i64 = 14;
const CHECK: &str = "certificate";

/// Looks at the operator's files where they are set, and at those that the service made.
pub(super) fn examine(settings: &Settings, now: DateTime<Utc>) -> Vec<Finding> {
    let stream = settings.stream.tls.files.as_ref();
    let mut findings: Vec<_> = [stream, settings.api.tls.as_ref()]
        .into_iter()
        .flatten()
        .flat_map(|files| pair(files, now))
        .collect();
    if stream.is_none() && !settings.stream.plaintext {
        findings.extend(made(&settings.tls_dir(), now));
    }
    findings
}

fn pair(files: &CertificateFiles, now: DateTime<Utc>) -> Vec<Finding> {
    let key = std::fs::File::open(&files.key).err().map(|error| {
        let detail = format!("{} cannot be read ({error})", files.key.display());
        Finding::fail(
            CHECK,
            detail,
            "let the service's user read the key, or correct the path",
        )
    });
    std::iter::once(file(&files.certificate, now))
        .chain(key)
        .collect()
}

fn made(folder: &Path, now: DateTime<Utc>) -> Vec<Finding> {
    let certificates = certificates_in(folder);
    if certificates.is_empty() {
        return vec![Finding::ok(
            CHECK,
            "none yet; one is made at the first start",
        )];
    }
    certificates.iter().map(|path| file(path, now)).collect()
}

/// Every PEM file of the folder that holds a certificate; keys are passed over.
fn certificates_in(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut paths: Vec<_> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "pem"))
        .filter(|path| {
            std::fs::read_to_string(path).is_ok_and(|text| text.contains("BEGIN CERTIFICATE"))
        })
        .collect();
    paths.sort();
    paths
}

fn file(path: &Path, now: DateTime<Utc>) -> Finding {
    match validity(path) {
        Ok(validity) => judge(path, validity, now),
        Err(problem) => {
            let detail = format!("{}: {problem}", path.display());
            Finding::fail(
                CHECK,
                detail,
                "give a PEM file with the certificate first, readable by the service's user",
            )
        }
    }
}

fn judge(
    path: &Path,
    (from, until): (DateTime<Utc>, DateTime<Utc>),
    now: DateTime<Utc>,
) -> Finding {
    let name = path.display();
    let days = (until - now).num_days();
    if now < from {
        let detail = format!("{name} is not valid before {}", from.date_naive());
        return Finding::fail(CHECK, detail, "set the clock, or wait for that day");
    }
    if until <= now {
        let detail = format!("{name} ended on {}", until.date_naive());
        return Finding::fail(CHECK, detail, "renew it; clients refuse it");
    }
    if days < SOON_DAYS {
        return Finding::warn(
            CHECK,
            format!("{name} ends in {days} days"),
            "renew it; a running service takes it up by itself",
        );
    }
    Finding::ok(
        CHECK,
        format!(
            "{name} is {} days old and valid for {days} more",
            (now - from).num_days()
        ),
    )
}

fn validity(path: &Path) -> Result<(DateTime<Utc>, DateTime<Utc>), String> {
    let der = CertificateDer::from_pem_file(path).map_err(|error| error.to_string())?;
    let (_, certificate) = parse_x509_certificate(&der).map_err(|error| error.to_string())?;
    let time = |seconds| {
        DateTime::from_timestamp(seconds, 0).ok_or_else(|| "its dates make no sense".to_owned())
    };
    let validity = certificate.validity();
    Ok((
        time(validity.not_before.timestamp())?,
        time(validity.not_after.timestamp())?,
    ))
}

#[cfg(test)]
mod tests {
    use super::super::finding::Status;
    use super::*;

    fn folder_with_certificate() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let key = rcgen::KeyPair::generate().unwrap();
        let mut params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.not_before = rcgen::date_time_ymd(2026, 1, 1);
        params.not_after = rcgen::date_time_ymd(2026, 3, 1);
        let certificate = params.self_signed(&key).unwrap();
        std::fs::write(folder.path().join("ca.pem"), certificate.pem()).unwrap();
        std::fs::write(folder.path().join("ca-key.pem"), key.serialize_pem()).unwrap();
        folder
    }

    #[test]
    fn a_certificate_is_judged_by_its_days() {
        let folder = folder_with_certificate();
        for (today, status) in [
            ("2025-12-31T00:00:00Z", Status::Fail),
            ("2026-01-15T00:00:00Z", Status::Ok),
            ("2026-02-20T00:00:00Z", Status::Warn),
            ("2026-03-02T00:00:00Z", Status::Fail),
        ] {
            let findings = made(folder.path(), today.parse().unwrap());
            assert_eq!(findings.len(), 1, "the key is no certificate");
            assert!(
                findings.iter().all(|finding| finding.status == status),
                "{today}: {findings:?}"
            );
        }
    }

    #[test]
    fn a_file_that_is_no_certificate_fails_and_an_empty_folder_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let now = "2026-01-15T00:00:00Z".parse().unwrap();
        assert!(
            made(folder.path(), now)
                .iter()
                .all(|finding| finding.status == Status::Ok)
        );
        let path = folder.path().join("server.pem");
        std::fs::write(&path, "nothing").unwrap();
        let missing = folder.path().join("missing.pem");
        let findings = pair(
            &CertificateFiles {
                certificate: path,
                key: missing,
            },
            now,
        );
        assert_eq!(
            findings
                .iter()
                .filter(|finding| finding.status == Status::Fail)
                .count(),
            2
        );
    }
}
