//! `callwright check-config`: the settings in force, each with the layer it came from.

use serde_json::{Value, json};

use super::{Context, Failure, print, print_json};
use crate::config::Effective;

/// What `check-config` takes.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print a JSON list of key, value and origin.
    #[arg(long)]
    json: bool,
}

/// Prints the settings, secrets hidden.
///
/// # Errors
/// A [`Failure`] that names every fault when the settings are not usable.
pub fn run(args: &Args, context: &Context) -> Result<(), Failure> {
    let effective = context.load()?.effective;
    if args.json {
        return print_json(&effective.iter().map(object).collect::<Vec<_>>());
    }
    print(&table(&effective))
}

fn object(setting: &Effective) -> Value {
    json!({
        "key": setting.key,
        "value": setting.value.to_json(),
        "origin": setting.origin.to_string(),
    })
}

fn table(effective: &[Effective]) -> String {
    let lines: Vec<_> = effective
        .iter()
        .map(|setting| {
            (
                format!("{} = {}", setting.key, setting.value.shown()),
                &setting.origin,
            )
        })
        .collect();
    let width = lines
        .iter()
        .map(|(line, _)| line.chars().count())
        .max()
        .unwrap_or(0);
    let rows: Vec<_> = lines
        .iter()
        .map(|(line, origin)| format!("{line:width$}  # {origin}"))
        .collect();
    rows.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Sources, load};

    fn with_password() -> Vec<Effective> {
        let flags = vec!["store.url=postgres://me:pw4711@localhost/db".to_owned()];
        load(&Sources {
            flags,
            ..Sources::default()
        })
        .unwrap()
        .effective
    }

    #[test]
    fn a_password_in_the_store_url_is_shown_in_neither_form() {
        let effective = with_password();
        let json = json!(effective.iter().map(object).collect::<Vec<_>>()).to_string();
        for text in [table(&effective), json, format!("{effective:?}")] {
            assert!(!text.contains("pw4711"), "{text}");
            assert!(text.contains("store.url"));
        }
    }

    #[test]
    fn every_line_says_where_its_value_came_from() {
        let table = table(&with_password());
        assert!(table.lines().all(|line| line.contains("  # ")));
        assert!(
            table
                .lines()
                .any(|line| line.starts_with("store.url = ") && line.ends_with("# flag --set"))
        );
        assert!(
            table
                .lines()
                .any(|line| line.starts_with("data_dir = \"data\"") && line.ends_with("# default"))
        );
    }
}
