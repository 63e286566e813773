//! Reads which modules a source file names, well enough for the shapes that rustfmt leaves.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// One source file of the service crate.
pub(super) struct Source {
    path: String,
    code: String,
}

/// Every source file under a folder.
pub(super) fn sources(folder: &Path) -> Vec<Source> {
    let found = rust_files(folder);
    assert!(!found.is_empty(), "no sources in {}", folder.display());
    let read = |path: &PathBuf| {
        let name = path.strip_prefix(folder).unwrap().display().to_string();
        Source::new(&name, &fs::read_to_string(path).unwrap())
    };
    found.iter().map(read).collect()
}

/// Every `.rs` file under a folder, in no order.
pub(super) fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

impl Source {
    /// A file at a path relative to `src`.
    pub(super) fn new(path: &str, text: &str) -> Self {
        let code = text
            .lines()
            .map(|line| line.split("//").next().unwrap_or_default());
        Self {
            path: path.to_owned(),
            code: code.collect::<Vec<_>>().join("\n"),
        }
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// The top module of the file: `http` for `http.rs` and for `http/token.rs`.
    pub(super) fn module(&self) -> &str {
        let first = self.path.split('/').next().unwrap_or_default();
        first.strip_suffix(".rs").unwrap_or(first)
    }

    /// How many modules deep the file is: 1 for `http.rs`, 2 for `http/token.rs`.
    fn depth(&self) -> usize {
        self.path.split('/').count()
    }

    /// The top modules of its own crate that the file names.
    pub(super) fn crate_imports(&self) -> BTreeSet<String> {
        let mut found = self.imports_of("crate");
        let climb = vec!["super"; self.depth()].join("::");
        found.extend(self.imports_of(&climb));
        found.extend(self.imports_of("callwright"));
        found
    }

    /// The first names after each `root::`, groups in braces included.
    pub(super) fn imports_of(&self, root: &str) -> BTreeSet<String> {
        let needle = format!("{root}::");
        let mut found = BTreeSet::new();
        for (at, _) in self.code.match_indices(&needle) {
            let begins_a_path =
                !self.code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':');
            if begins_a_path {
                found.extend(first_names(&self.code[at + needle.len()..]));
            }
        }
        found
    }
}

/// `a::b` gives a; `{a::b, c::{d}}` gives a and c.
fn first_names(rest: &str) -> Vec<String> {
    match rest.strip_prefix('{') {
        None => identifier(rest).into_iter().collect(),
        Some(group) => top_items(group)
            .iter()
            .filter_map(|item| identifier(item.trim_start()))
            .collect(),
    }
}

/// The items of a group up to its closing brace, split at its own commas only.
fn top_items(group: &str) -> Vec<String> {
    let mut items = vec![String::new()];
    let mut depth = 0;
    for c in group.chars() {
        match c {
            '}' if depth == 0 => break,
            ',' if depth == 0 => items.push(String::new()),
            _ => {
                depth += i32::from(c == '{') - i32::from(c == '}');
                items.last_mut().unwrap().push(c);
            }
        }
    }
    items
}

fn identifier(text: &str) -> Option<String> {
    let name: String = text
        .chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect();
    (!name.is_empty()).then_some(name)
}
