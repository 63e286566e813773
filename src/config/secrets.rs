//! Reads the secrets that are kept in files of their own.

use std::path::PathBuf;

use super::layers::Draft;
use super::schema;
use super::value::Value;

/// Each secret and the key that may name its file.
pub(super) const FILES: &[(&str, &str)] = &[("store.url", "store.url_file")];

/// Takes each secret from the file named for it.
pub(super) fn resolve(draft: &mut Draft) {
    for (secret, file_key) in FILES {
        let named = match draft.entry(file_key).map(|entry| &entry.value) {
            Some(Value::Text(path)) if !path.is_empty() => PathBuf::from(path),
            _ => continue,
        };
        let (Some(secret), Some(file_key)) = (schema::find(secret), schema::find(file_key)) else {
            continue;
        };
        if draft.entry(secret.path).is_some_and(|entry| entry.changed)
            || draft.is_faulty(secret.path)
        {
            draft.refuse_together(
                file_key.path,
                format!("{} is set too; set one of the two", secret.path),
            );
            continue;
        }
        match std::fs::read_to_string(&named) {
            // Editors and `echo` end a file with a line break that is no part of the secret.
            Ok(text) => {
                draft.set_from_secret_file(secret, text.trim_end_matches(['\r', '\n']), named)
            }
            Err(error) => {
                draft.refuse_together(file_key.path, format!("the file cannot be read: {error}"))
            }
        }
    }
}
