//! Where the store is: reads its URL, and keeps the password of it out of every text.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use url::Url;

use super::error::Error;

/// What stands in a text where a password was.
const REDACTED: &str = "***";

/// A store's place, with what is needed to connect to it.
#[derive(Debug)]
pub(super) enum Location {
    /// A file of SQLite.
    Sqlite { path: PathBuf },
    /// A database of a PostgreSQL server.
    Postgres {
        /// The URL as libpq takes it.
        url: SecretString,
        /// Every spelling of the password, to be struck out of the client library's messages.
        secrets: Vec<SecretString>,
        /// `postgres://host:port/database`.
        shown: String,
    },
}

impl Location {
    /// Reads a store URL.
    pub(super) fn parse(url: &SecretString) -> Result<Self, Error> {
        let text = url.expose_secret();
        if let Some(path) = text.strip_prefix("sqlite:") {
            return sqlite(path);
        }
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return postgres(text);
        }
        Err(Error::BadUrl(
            "it begins with neither `sqlite:` nor `postgres://`".to_owned(),
        ))
    }

    /// The location as it may be shown to anyone.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Sqlite { path } => format!("sqlite:{}", path.display()),
            Self::Postgres { shown, .. } => shown.clone(),
        }
    }

    /// Strikes the password out of `text`.
    pub(super) fn redact(&self, text: &str) -> String {
        match self {
            Self::Sqlite { .. } => text.to_owned(),
            Self::Postgres { secrets, .. } => {
                secrets.iter().fold(text.to_owned(), |text, secret| {
                    text.replace(secret.expose_secret(), REDACTED)
                })
            }
        }
    }
}

fn sqlite(path: &str) -> Result<Location, Error> {
    let path = path.strip_prefix("//").unwrap_or(path);
    if path.is_empty() || path.starts_with(':') {
        return Err(Error::BadUrl(
            "an SQLite store is a file, and no file is named".to_owned(),
        ));
    }
    Ok(Location::Sqlite {
        path: PathBuf::from(path),
    })
}

fn postgres(text: &str) -> Result<Location, Error> {
    // The parser's own message is left out: it may quote the part it stumbled over, which may be the password.
    let url = Url::parse(text).map_err(|_| {
        Error::BadUrl(
            "it is not a valid URL (characters such as `/`, `@`, `#` and `%` in a password must be percent-encoded)"
                .to_owned(),
        )
    })?;
    let host = url.host_str().unwrap_or("localhost");
    let shown = format!(
        "postgres://{host}:{}{}",
        url.port().unwrap_or(5432),
        url.path()
    );
    Ok(Location::Postgres {
        secrets: passwords(&url),
        url: SecretString::from(text.to_owned()),
        shown,
    })
}

/// The passwords in `url` as written and as meant, the longest first, so that no part of one survives another.
fn passwords(url: &Url) -> Vec<SecretString> {
    let mut found: Vec<String> = url
        .query_pairs()
        .filter(|(key, _)| key.as_ref() == "password" || key.as_ref() == "sslpassword")
        .map(|(_, value)| value.into_owned())
        .collect();
    if let Some(password) = url.password() {
        found.push(password.to_owned());
        found.push(percent_decoded(password));
    }
    found.retain(|password| !password.is_empty());
    found.sort_by_key(|password| std::cmp::Reverse(password.len()));
    found.into_iter().map(SecretString::from).collect()
}

fn percent_decoded(text: &str) -> String {
    // A form-encoded pair decodes `%xx`; a literal plus sign must not become a space on the way.
    let pair = format!("p={}", text.replace('+', "%2B"));
    url::form_urlencoded::parse(pair.as_bytes())
        .next()
        .map_or_else(String::new, |(_, value)| value.into_owned())
}

/// The URL for libpq, with limits on how long a dead server can hold a thread.
///
/// The values the operator wrote win.
pub(super) fn with_deadlines(
    url: &SecretString,
    connect: Duration,
    answer: Duration,
) -> SecretString {
    let Ok(mut url) = Url::parse(url.expose_secret()) else {
        return url.clone();
    };
    let given: Vec<String> = url.query_pairs().map(|(key, _)| key.into_owned()).collect();
    let limits = [
        // libpq reads whole seconds and takes anything under 2 as 2.
        ("connect_timeout", connect.as_secs().max(2).to_string()),
        ("tcp_user_timeout", answer.as_millis().to_string()),
        ("application_name", "callwright".to_owned()),
    ];
    for (key, value) in limits {
        if !given.iter().any(|name| name == key) {
            url.query_pairs_mut().append_pair(key, &value);
        }
    }
    SecretString::from(String::from(url))
}

/// Makes the folder and the file of an SQLite store, the file readable by its owner alone: it holds the signing keys.
pub(super) fn prepare_file(path: &Path) -> Result<(), Error> {
    if let Some(folder) = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        fs::create_dir_all(folder).map_err(|source| Error::File {
            what: format!("the folder {} for the database", folder.display()),
            source,
        })?;
    }
    private_file(path).map(drop).map_err(|source| Error::File {
        what: format!("the database file {}", path.display()),
        source,
    })
}

/// Opens `path` for reading and writing, creating it with mode 0600.
pub(super) fn private_file(path: &Path) -> std::io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options.open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<Location, Error> {
        Location::parse(&SecretString::from(url))
    }

    #[test]
    fn an_sqlite_url_names_a_file() {
        for (url, path) in [
            ("sqlite:data/callwright.db", "data/callwright.db"),
            ("sqlite:/var/lib/c.db", "/var/lib/c.db"),
            ("sqlite:///var/lib/c.db", "/var/lib/c.db"),
        ] {
            let Location::Sqlite { path: found } = parse(url).unwrap() else {
                panic!("{url} is SQLite")
            };
            assert_eq!(found, PathBuf::from(path), "{url}");
        }
    }

    #[test]
    fn a_url_that_names_no_store_is_refused_without_being_repeated() {
        for url in [
            "",
            "sqlite:",
            "sqlite::memory:",
            "mysql://u:hunter2@h/d",
            "postgres://u:hunter2/x@h:1/d",
        ] {
            let fault = parse(url).expect_err(url).to_string();
            assert!(fault.contains("sqlite:path/to/file.db"), "{fault}");
            assert!(!fault.contains("hunter2"), "{fault}");
        }
    }

    #[test]
    fn the_password_is_struck_out_however_it_is_spelled() {
        let place =
            parse("postgres://ann:p%40ss+word@db.example:6432/calls?sslpassword=other").unwrap();
        assert_eq!(place.shown(), "postgres://db.example:6432/calls");
        let said = place.redact("bad: p%40ss+word p@ss+word other");
        assert_eq!(said, "bad: *** *** ***");
        assert!(!format!("{place:?}").contains("word"), "{place:?}");
    }

    #[test]
    fn the_operators_own_limits_win() {
        let url = SecretString::from("postgres://h/d?connect_timeout=9");
        let full = with_deadlines(&url, Duration::from_secs(5), Duration::from_secs(10));
        let full = full.expose_secret();
        assert!(
            full.contains("connect_timeout=9") && !full.contains("connect_timeout=5"),
            "{full}"
        );
        assert!(full.contains("tcp_user_timeout=10000"), "{full}");
    }
}
