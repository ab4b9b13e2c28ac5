//! Which directories hold the trace that a path names.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::{Error, Result};

/// LTTng's session/archives/CHUNK/ust/uid/N/64-bit is the deepest that is known.
const MOST_DEPTH: usize = 7;

/// The directories with a metadata file at or below a path: one trace, or parts of one.
pub(super) fn directories(path: &Path) -> Result<Vec<PathBuf>> {
    if path.is_file() {
        return Ok(vec![path.parent().unwrap_or(Path::new(".")).to_owned()]);
    }
    if path.join("metadata").is_file() {
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
        let path = entry.map_err(|error| Error::io(directory, error))?.path();
        if !path.is_dir() {
            continue;
        }
        if path.join("metadata").is_file() {
            directories.push(path);
        } else if depth > 0 {
            search(&path, depth - 1, directories)?;
        }
    }
    Ok(())
}

/// The files with event data in a directory, by name.
pub(super) fn stream_files(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let entries = std::fs::read_dir(directory).map_err(|error| Error::io(directory, error))?;
    for entry in entries {
        let path = entry.map_err(|error| Error::io(directory, error))?.path();
        let hidden = path.file_name().is_none_or(|name| name.to_string_lossy().starts_with('.'));
        if path.is_file() && !hidden && path.file_name() != Some("metadata".as_ref()) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// The one logical trace among directories, by their traces' UUIDs: a rotated session has several of
/// one UUID.
pub(super) fn only<T>(
    path: &Path,
    parts: Vec<(PathBuf, Option<[u8; 16]>, T)>,
) -> Result<Vec<(PathBuf, T)>> {
    let mut traces: BTreeMap<Option<[u8; 16]>, usize> = BTreeMap::new();
    for (_, uuid, _) in &parts {
        *traces.entry(*uuid).or_default() += 1;
    }
    let is_one_trace = parts.len() == 1 || (traces.len() == 1 && parts[0].1.is_some());
    if !is_one_trace {
        let names: Vec<String> = parts
            .iter()
            .map(|(directory, ..)| directory.strip_prefix(path).unwrap_or(directory))
            .map(|directory| directory.display().to_string())
            .collect();
        let reason =
            format!("it holds {} traces; open one of them: {}", parts.len(), names.join(", "));
        return Err(Error::NotATrace { path: path.to_owned(), reason });
    }
    Ok(parts.into_iter().map(|(directory, _, rest)| (directory, rest)).collect())
}
