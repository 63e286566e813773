//! A certificate authority of our own, for deployments that bring none.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Datelike, Days, Utc};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};

use super::Fault;

/// How long clients may trust the authority without being given a new one.
const AUTHORITY_DAYS: u64 = 3_650;
/// How long one certificate lasts; clients on some systems refuse more.
const CERTIFICATE_DAYS: u64 = 397;
/// Clocks of clients may be behind by as much.
const SKEW_DAYS: u64 = 1;

/// Certificate and key that the doors serve with.
pub(super) fn server_files(folder: &Path) -> (PathBuf, PathBuf) {
    (folder.join("server.pem"), folder.join("server-key.pem"))
}

/// Makes the authority if it is not there, and a fresh certificate in any case.
///
/// Clients trust the authority, so that a new certificate at each start changes nothing for them and never runs out.
pub(super) fn prepare(folder: &Path, names: &[String]) -> Result<(), Fault> {
    fs::create_dir_all(folder).map_err(|source| Fault::File {
        path: folder.to_owned(),
        source,
    })?;
    let (authority, authority_key) = (folder.join("ca.pem"), folder.join("ca-key.pem"));
    let now = Utc::now();
    if !authority.exists() {
        make_authority(&authority, &authority_key, now)?;
    }
    let issuer = read_authority(&authority, &authority_key)?;
    let (certificate, key) = server_files(folder);
    let pair = KeyPair::generate().map_err(making)?;
    let signed = server_params(names, now)?
        .signed_by(&pair, &issuer)
        .map_err(making)?;
    write(&key, pair.serialize_pem().as_bytes(), PRIVATE)?;
    write(&certificate, signed.pem().as_bytes(), PUBLIC)
}

fn make_authority(certificate: &Path, key: &Path, now: DateTime<Utc>) -> Result<(), Fault> {
    let pair = KeyPair::generate().map_err(making)?;
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::CrlSign,
        KeyUsagePurpose::DigitalSignature,
    ];
    let name = format!("Callwright authority of {}", machine());
    params.distinguished_name.push(DnType::CommonName, name);
    last(&mut params, now, AUTHORITY_DAYS);
    let signed = params.self_signed(&pair).map_err(making)?;
    // The key first: an authority without its key could never be used, and would not be made again.
    write(key, pair.serialize_pem().as_bytes(), PRIVATE)?;
    write(certificate, signed.pem().as_bytes(), PUBLIC)?;
    tracing::info!(certificate = %certificate.display(), "made a certificate authority; clients trust this file");
    Ok(())
}

fn read_authority(certificate: &Path, key: &Path) -> Result<Issuer<'static, KeyPair>, Fault> {
    let read = |path: &Path| {
        fs::read_to_string(path).map_err(|source| Fault::File {
            path: path.to_owned(),
            source,
        })
    };
    let content = |path: &Path, fault: rcgen::Error| Fault::Content {
        path: path.to_owned(),
        reason: fault.to_string(),
    };
    let pair = KeyPair::from_pem(&read(key)?).map_err(|fault| content(key, fault))?;
    Issuer::from_ca_cert_pem(&read(certificate)?, pair).map_err(|fault| content(certificate, fault))
}

fn server_params(names: &[String], now: DateTime<Utc>) -> Result<CertificateParams, Fault> {
    let mut all = vec![
        "localhost".to_owned(),
        "127.0.0.1".to_owned(),
        "::1".to_owned(),
        machine(),
    ];
    for name in names {
        if !all.contains(name) {
            all.push(name.clone());
        }
    }
    let mut params = CertificateParams::new(all).map_err(making)?;
    params
        .distinguished_name
        .push(DnType::CommonName, machine());
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    last(&mut params, now, CERTIFICATE_DAYS);
    Ok(params)
}

fn last(params: &mut CertificateParams, now: DateTime<Utc>, days: u64) {
    let day = |date: Option<DateTime<Utc>>| {
        let date = date.unwrap_or(now);
        // Months and days of a calendar fit a byte.
        date_time_ymd(
            date.year(),
            u8::try_from(date.month()).unwrap_or(1),
            u8::try_from(date.day()).unwrap_or(1),
        )
    };
    params.not_before = day(now.checked_sub_days(Days::new(SKEW_DAYS)));
    params.not_after = day(now.checked_add_days(Days::new(days)));
}

/// This machine's name, or `localhost` where it cannot be a DNS name.
fn machine() -> String {
    let name = gethostname::gethostname()
        .to_string_lossy()
        .to_ascii_lowercase();
    let fit = !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.'));
    if fit { name } else { "localhost".to_owned() }
}

fn making(fault: rcgen::Error) -> Fault {
    Fault::Making(fault.to_string())
}

const PRIVATE: u32 = 0o600;
const PUBLIC: u32 = 0o644;

/// Writes beside the file and renames, so that nobody ever reads half of it.
fn write(path: &Path, content: &[u8], mode: u32) -> Result<(), Fault> {
    let beside = path.with_extension("new");
    let written = || {
        // What a start that was cut short left there would keep its own mode.
        if beside.exists() {
            fs::remove_file(&beside)?;
        }
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(&beside)?;
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&beside, path)
    };
    written().map_err(|source| Fault::File {
        path: path.to_owned(),
        source,
    })
}
