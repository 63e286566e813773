//! The recordings in a data folder.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Server, wav_data};

/// Every recording of the service, and its audio.
pub(super) fn all(server: &Server) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    collect(&server.data("recordings"), &mut files);
    let read = |path: PathBuf| {
        let audio = wav_data(&fs::read(&path).unwrap()).to_vec();
        (path, audio)
    };
    files.into_iter().map(read).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}
