//! Files as byte slices.

use std::fs::{File, symlink_metadata};
use std::ops::Deref;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::{Error, Result};

/// A file mapped for reading; an empty one is an empty slice.
pub(crate) struct Mapped {
    path: PathBuf,
    map: Option<memmap2::Mmap>,
}

impl Mapped {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        Self::of_file(path, &File::open(path).map_err(|error| Error::io(path, error))?)
    }

    /// The same for a path that must not be a link, whatever it was when it was listed.
    pub(crate) fn open_unlinked(path: &Path) -> Result<Self> {
        let failed = |error| Error::io(path, error);
        let file = File::open(path).map_err(failed)?;
        let (opened, named) =
            (file.metadata().map_err(failed)?, symlink_metadata(path).map_err(failed)?);
        if (opened.dev(), opened.ino()) != (named.dev(), named.ino()) {
            return Err(Error::linked(path));
        }
        Self::of_file(path, &file)
    }

    fn of_file(path: &Path, file: &File) -> Result<Self> {
        let length = file.metadata().map_err(|error| Error::io(path, error))?.len();
        let map = match length {
            0 => None,
            _ => {
                // SAFETY: the map is private and read-only. A file that another process cuts short
                // while it is mapped raises SIGBUS, as in every tool that maps traces; its contents
                // are only ever read as plain bytes, so a change to them cannot break an invariant.
                let map = unsafe { memmap2::Mmap::map(file) };
                Some(map.map_err(|error| Error::io(path, error))?)
            }
        };
        Ok(Self { path: path.to_owned(), map })
    }

    /// A copy of bytes that come from no file.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Result<Self> {
        let path = PathBuf::from("bytes");
        if bytes.is_empty() {
            return Ok(Self { path, map: None });
        }
        let copy = || {
            let mut map = memmap2::MmapMut::map_anon(bytes.len())?;
            map.copy_from_slice(bytes);
            map.make_read_only()
        };
        let map = copy().map_err(|error| Error::io(&path, error))?;
        Ok(Self { path, map: Some(map) })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.map.as_deref().unwrap_or(&[])
    }
}
