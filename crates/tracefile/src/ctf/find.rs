//! Which directories hold the trace that a path names.
//!
//! A link inside them is not followed: who sends somebody a trace must not choose which of their
//! files are read.

use std::path::{Path, PathBuf};

use crate::{Error, Result};

/// LTTng's session/archives/CHUNK/ust/uid/N/64-bit is the deepest that is known.
const MOST_DEPTH: usize = 7;

/// The directories with a metadata file at or below a path: one trace, or parts of one.
pub(super) fn directories(path: &Path) -> Result<Vec<PathBuf>> {
    if path.is_file() {
        return Ok(vec![path.parent().unwrap_or(Path::new(".")).to_owned()]);
    }
    if has_metadata(path) {
        return Ok(vec![path.to_owned()]);
    }
    let mut directories = Vec::new();
    search(path, MOST_DEPTH, &mut directories)?;
    directories.sort();
    if directories.is_empty() {
        let reason = "no file named metadata in it or below it".into();
        return Err(Error::NotATrace { path: path.to_owned(), reason });
    }
    Ok(directories)
}

fn search(directory: &Path, depth: usize, directories: &mut Vec<PathBuf>) -> Result<()> {
    let entries = std::fs::read_dir(directory).map_err(|error| Error::io(directory, error))?;
    for entry in entries {
        let entry = entry.map_err(|error| Error::io(directory, error))?;
        let path = entry.path();
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        if has_metadata(&path) {
            directories.push(path);
        } else if depth > 0 {
            search(&path, depth - 1, directories)?;
        }
    }
    Ok(())
}

fn has_metadata(directory: &Path) -> bool {
    std::fs::symlink_metadata(directory.join("metadata")).is_ok_and(|found| found.is_file())
}

/// The files with event data in a directory, by name. A link is an error: without what it leads to,
/// the trace would look whole and not be.
pub(super) fn stream_files(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let entries = std::fs::read_dir(directory).map_err(|error| Error::io(directory, error))?;
    for entry in entries {
        let entry = entry.map_err(|error| Error::io(directory, error))?;
        let path = entry.path();
        let kind = entry.file_type().map_err(|error| Error::io(&path, error))?;
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        if hidden || entry.file_name() == "metadata" || path.is_dir() {
            continue;
        }
        if kind.is_symlink() {
            return Err(Error::linked(&path));
        }
        if kind.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Directories by the logical traces that they are parts of, by their traces' UUIDs: a rotated
/// session has several of one UUID. In the order of each trace's first directory.
pub(super) fn traces<T>(parts: Vec<(PathBuf, Option<[u8; 16]>, T)>) -> Vec<Vec<(PathBuf, T)>> {
    let (mut uuids, mut traces) = (Vec::new(), Vec::<Vec<(PathBuf, T)>>::new());
    for (directory, uuid, rest) in parts {
        let known = uuids.iter().position(|known| uuid.is_some() && *known == uuid);
        match known {
            Some(at) => traces[at].push((directory, rest)),
            None => {
                uuids.push(uuid);
                traces.push(vec![(directory, rest)]);
            }
        }
    }
    traces
}
