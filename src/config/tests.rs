//! Stories of whole loads; each part tests itself.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;

use secrecy::ExposeSecret as _;

use super::layers::DEFAULTS;
use super::schema::KEYS;
use super::*;

fn environment(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
    pairs
        .iter()
        .map(|(name, value)| (OsString::from(name), OsString::from(value)))
        .collect()
}

fn flags(pairs: &[&str]) -> Sources {
    Sources {
        flags: pairs.iter().map(|&pair| pair.to_owned()).collect(),
        ..Sources::default()
    }
}

fn faults(sources: &Sources) -> Vec<String> {
    load(sources)
        .unwrap_err()
        .0
        .iter()
        .map(ToString::to_string)
        .collect()
}

fn leaves(section: &str, table: &toml::Table, found: &mut BTreeSet<String>) {
    for (name, value) in table {
        let path = if section.is_empty() {
            name.clone()
        } else {
            format!("{section}.{name}")
        };
        match value {
            toml::Value::Table(inner) => leaves(&path, inner, found),
            _ => _ = found.insert(path),
        }
    }
}

#[test]
fn the_file_of_defaults_and_the_table_of_keys_name_the_same_keys() {
    let mut in_file = BTreeSet::new();
    leaves("", &toml::from_str(DEFAULTS).unwrap(), &mut in_file);
    let in_table: BTreeSet<_> = KEYS.iter().map(|key| key.path.to_owned()).collect();
    assert_eq!(in_file, in_table);
}

#[test]
fn every_default_has_its_reason_above_it() {
    let lines: Vec<_> = DEFAULTS.lines().collect();
    for pair in lines
        .windows(2)
        .filter(|pair| pair[1].contains(" = ") && !pair[1].starts_with('#'))
    {
        assert!(pair[0].starts_with("# "), "no comment above: {}", pair[1]);
    }
}

#[test]
fn the_defaults_alone_are_a_working_whole() {
    let loaded = load(&Sources::default()).unwrap();
    assert_eq!(loaded.effective.len(), KEYS.len());
    assert!(
        loaded
            .effective
            .iter()
            .all(|setting| setting.origin == Origin::Default)
    );
    let settings = loaded.settings;
    assert_eq!(
        settings.store.url.expose_secret(),
        "sqlite:data/callwright.db"
    );
    assert_eq!(
        settings.recordings.directory,
        PathBuf::from("data/recordings")
    );
    assert_eq!(settings.identity.issuer, Issuer::Embedded);
    assert_eq!(settings.stream.start_timeout.as_millis(), 5_000);
    assert_eq!(
        settings.stream.max_sessions_per_tenant,
        settings.stream.max_sessions
    );
    assert_eq!(settings.stream.tls.files, None);
}

#[test]
fn later_layers_win() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("my.toml");
    fs::write(
        &file,
        "[stream]\nthreads = 1\nevent_queue = 101\nretry_after_ms = 201\n",
    )
    .unwrap();
    let sources = Sources {
        file: Some(file.clone()),
        usual_file: Some(folder.path().join("not-read.toml")),
        environment: environment(&[
            ("CALLWRIGHT__STREAM__EVENT_QUEUE", "102"),
            ("callwright__stream__retry_after_ms", "202"),
            ("CALLWRIGHT_TEST_POSTGRES", "none of ours"),
        ]),
        flags: vec!["stream.retry_after_ms=203".to_owned()],
    };
    let loaded = load(&sources).unwrap();
    let stream = &loaded.settings.stream;
    assert_eq!(
        (
            stream.threads,
            stream.event_queue,
            stream.retry_after.as_millis()
        ),
        (1, 102, 203)
    );
    let origin = |key| {
        loaded
            .effective
            .iter()
            .find(|setting| setting.key == key)
            .unwrap()
            .origin
            .clone()
    };
    assert_eq!(origin("stream.threads"), Origin::File(file));
    assert_eq!(
        origin("stream.event_queue"),
        Origin::Environment("CALLWRIGHT__STREAM__EVENT_QUEUE".to_owned())
    );
    assert_eq!(origin("stream.retry_after_ms"), Origin::Flag);
    assert_eq!(origin("stream.listen"), Origin::Default);
}

#[test]
fn the_data_folder_takes_along_what_lies_in_it() {
    let settings = load(&flags(&["data_dir=/srv/calls"])).unwrap().settings;
    assert_eq!(
        settings.store.url.expose_secret(),
        "sqlite:/srv/calls/callwright.db"
    );
    assert_eq!(
        settings.recordings.directory,
        PathBuf::from("/srv/calls/recordings")
    );
    assert_eq!(
        settings.addresses_file(),
        PathBuf::from("/srv/calls/addresses.json")
    );
}

#[test]
fn all_faults_are_told_at_once_with_key_value_origin_and_what_is_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("my.toml");
    fs::write(
        &file,
        "speed = 1\n[stream]\nstart_timeout_ms = \"soon\"\nlisen = \"0.0.0.0:1\"\n",
    )
    .unwrap();
    let shown = file.display();
    let sources = Sources {
        file: Some(file.clone()),
        environment: environment(&[
            ("CALLWRIGHT__API__LISTEN", "localhost:80"),
            ("CALLWRIGHT__ADMIN", "x"),
        ]),
        flags: vec![
            "log.format=xml".to_owned(),
            "service.drain_timeout_s=0".to_owned(),
            "oops".to_owned(),
        ],
        ..Sources::default()
    };
    let mut told = faults(&sources);
    told.sort();
    let mut expected = vec![
        format!("stream.start_timeout_ms = \"soon\" (file {shown}): allowed is 100 to 60000 milliseconds, a whole number"),
        format!("stream.lisen (file {shown}): there is no such key; the nearest is stream.listen"),
        format!("speed (file {shown}): there is no such key; the nearest is {}", schema::nearest("speed").unwrap()),
        "api.listen = localhost:80 (environment CALLWRIGHT__API__LISTEN): allowed is an IP address and a port, such as 127.0.0.1:8080 or [::1]:8080".to_owned(),
        format!("admin (environment CALLWRIGHT__ADMIN): there is no such key; the nearest is {}", schema::nearest("admin").unwrap()),
        "log.format = xml (flag --set): allowed is text or json".to_owned(),
        "service.drain_timeout_s = 0 (flag --set): allowed is 1 to 600 seconds, a whole number".to_owned(),
        "(flag --set): a flag reads --set section.key=value".to_owned(),
    ];
    expected.sort();
    assert_eq!(told, expected);
}

#[test]
fn a_missing_file_is_a_fault_only_when_it_was_asked_for() {
    let missing = PathBuf::from("/nonexistent/config.toml");
    assert!(
        load(&Sources {
            usual_file: Some(missing.clone()),
            ..Sources::default()
        })
        .is_ok()
    );
    let told = faults(&Sources {
        file: Some(missing),
        ..Sources::default()
    });
    assert!(
        told.len() == 1 && told[0].contains("/nonexistent/config.toml"),
        "{told:?}"
    );
}

#[test]
fn a_file_that_is_not_toml_is_refused_by_line_and_not_quoted() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("my.toml");
    fs::write(&file, "[store]\n\nurl = postgres://me:pw4711@host/db\n").unwrap();
    let told = faults(&Sources {
        file: Some(file),
        ..Sources::default()
    });
    assert!(
        told.len() == 1 && told[0].contains("line 3 is not TOML"),
        "{told:?}"
    );
    assert!(!told[0].contains("pw4711"), "{told:?}");
}

#[test]
fn a_secret_is_shown_by_no_fault() {
    for flag in [
        "store.url=mysql://me:pw4711@host/db",
        "store.ulr=postgres://me:pw4711@host/db",
    ] {
        let told = faults(&flags(&[flag]));
        assert!(told.len() == 1 && !told[0].contains("pw4711"), "{told:?}");
    }
}

#[test]
fn a_secret_may_come_from_a_file_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("url");
    fs::write(&file, "postgres://me:pw4711@host/db\n").unwrap();
    let named = format!("store.url_file={}", file.display());

    let loaded = load(&flags(&[&named])).unwrap();
    assert_eq!(
        loaded.settings.store.url.expose_secret(),
        "postgres://me:pw4711@host/db"
    );
    assert!(!format!("{loaded:?}").contains("pw4711"));

    let told = faults(&flags(&[&named, "store.url=postgres://other/db"]));
    assert!(
        told.len() == 1 && told[0].contains("store.url is set too"),
        "{told:?}"
    );
    let told = faults(&flags(&["store.url_file=/nonexistent/url"]));
    assert!(
        told.len() == 1 && told[0].contains("/nonexistent/url"),
        "{told:?}"
    );
    fs::write(&file, "mysql://me:pw4711@host/db").unwrap();
    let told = faults(&flags(&[&named]));
    assert!(
        told.len() == 1 && told[0].starts_with("store.url = (hidden)"),
        "{told:?}"
    );
}

#[test]
fn a_copy_of_the_defaults_with_a_secret_file_beside_it_is_no_fault() {
    let folder = tempfile::tempdir().unwrap();
    let (copy, secret) = (folder.path().join("config.toml"), folder.path().join("url"));
    fs::write(&copy, DEFAULTS).unwrap();
    fs::write(&secret, "sqlite:elsewhere.db").unwrap();
    let sources = Sources {
        usual_file: Some(copy),
        environment: environment(&[("CALLWRIGHT__STORE__URL_FILE", secret.to_str().unwrap())]),
        ..Sources::default()
    };
    assert_eq!(
        load(&sources).unwrap().settings.store.url.expose_secret(),
        "sqlite:elsewhere.db"
    );
}

#[test]
fn a_secret_at_its_default_is_shown_and_any_other_is_not() {
    let shown = |sources| {
        let effective = load(&sources).unwrap().effective;
        effective
            .iter()
            .find(|setting| setting.key == "store.url")
            .unwrap()
            .value
            .shown()
    };
    assert_eq!(shown(Sources::default()), "\"embedded\"");
    assert_eq!(shown(flags(&["store.url=sqlite:x.db"])), "(hidden)");
    assert_eq!(
        shown(flags(&["store.url=sqlite:x.db", "store.url=embedded"])),
        "(hidden)"
    );
}

#[test]
fn lists_are_separated_by_commas_outside_toml() {
    let sources = Sources {
        environment: environment(&[("CALLWRIGHT__STREAM__TLS__NAMES", "calls.example, 10.0.0.1")]),
        ..Sources::default()
    };
    assert_eq!(
        load(&sources).unwrap().settings.stream.tls.names,
        ["calls.example", "10.0.0.1"]
    );
}

#[test]
fn settings_that_do_not_go_together_are_refused() {
    for (set, key, hint) in [
        (
            &["stream.plaintext=true"][..],
            "stream.plaintext",
            "not loopback",
        ),
        (
            &["api.listen=0.0.0.0:8080"],
            "api.authentication",
            "not loopback",
        ),
        (
            &["admin.listen=127.0.0.1:8080"],
            "admin.listen",
            "api.listen already takes",
        ),
        (
            &["api.tls.certificate=a.pem"],
            "api.tls.certificate",
            "api.tls.key is missing",
        ),
        (
            &["stream.tls.key=a.pem"],
            "stream.tls.key",
            "stream.tls.certificate is missing",
        ),
        (
            &["stream.max_streams_per_connection=300"],
            "stream.connection_window_bytes",
            "need at least",
        ),
        (
            &["stream.max_sessions=5", "stream.max_sessions_per_tenant=6"],
            "stream.max_sessions_per_tenant",
            "at most",
        ),
        (
            &["service.drain_timeout_s=5"],
            "stream.finalize_timeout_ms",
            "at most",
        ),
        (
            &["stream.max_session_s=30"],
            "stream.silence_timeout_s",
            "at most",
        ),
    ] {
        let told = faults(&flags(set));
        assert!(
            told.len() == 1 && told[0].starts_with(key) && told[0].contains(hint),
            "{set:?}: {told:?}"
        );
    }
}

#[test]
fn settings_that_go_together_are_taken() {
    for set in [
        &["stream.plaintext=true", "stream.listen=127.0.0.1:0"][..],
        &["api.listen=0.0.0.0:8080", "api.authentication=required"],
        &["api.listen=127.0.0.1:0", "admin.listen=127.0.0.1:0"],
        &["api.tls.certificate=a.pem", "api.tls.key=b.pem"],
        &[
            "stream.max_streams_per_connection=300",
            "stream.connection_window_bytes=33554432",
        ],
    ] {
        assert!(load(&flags(set)).is_ok(), "{set:?}");
    }
}
