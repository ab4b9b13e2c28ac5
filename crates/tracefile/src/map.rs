//! Files as byte slices.

use std::fs::{File, Metadata, symlink_metadata};
use std::io::Read;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};

use flate2::read::MultiGzDecoder;

use crate::{Error, Result};

/// How a gzip file begins.
const GZIP: [u8; 3] = [0x1f, 0x8b, 8];
/// The most bytes that one unpacks to.
const MOST_UNPACKED: u64 = 4 << 30;

/// A file mapped for reading, or what it was unpacked to.
pub(crate) struct Mapped {
    path: PathBuf,
    bytes: Bytes,
}

enum Bytes {
    File(Arc<memmap2::Mmap>),
    /// Not of a file, or of an empty one.
    Own(Vec<u8>),
}

/// All files that are mapped, for [`release_pages`].
static MAPS: Mutex<Vec<Weak<memmap2::Mmap>>> = Mutex::new(Vec::new());

/// Whether an open file is the one that has the name, and not what a link of that name leads to.
#[cfg(unix)]
fn is_named(opened: &Metadata, named: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (opened.dev(), opened.ino()) == (named.dev(), named.ino())
}

/// The same where files have no numbers: whether the name is a link.
#[cfg(not(unix))]
fn is_named(_opened: &Metadata, named: &Metadata) -> bool {
    !named.file_type().is_symlink()
}

/// Takes the files of all open traces out of the memory of this process; what is read of them comes
/// back by itself. Windows does that unasked.
#[cfg(not(unix))]
pub fn release_pages() {}

/// Takes the files of all open traces out of the memory of this process; what is read of them comes
/// back by itself.
#[cfg(unix)]
pub fn release_pages() {
    let Ok(maps) = MAPS.lock() else { return };
    for map in maps.iter().filter_map(Weak::upgrade) {
        // SAFETY: it is a mapping of a file, for reading only: its pages come back as they were.
        // That nothing can be released is no fault.
        let _ = unsafe { map.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) };
    }
}

impl Mapped {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        Self::of_file(path, &File::open(path).map_err(|error| Error::io(path, error))?)
    }

    /// The same for a path that must not be a link, whatever it was when it was listed.
    pub(crate) fn open_unlinked(path: &Path) -> Result<Self> {
        let failed = |error| Error::io(path, error);
        let file = File::open(path).map_err(failed)?;
        if !is_named(&file.metadata().map_err(failed)?, &symlink_metadata(path).map_err(failed)?) {
            return Err(Error::linked(path));
        }
        Self::of_file(path, &file)
    }

    fn of_file(path: &Path, file: &File) -> Result<Self> {
        let length = file.metadata().map_err(|error| Error::io(path, error))?.len();
        let bytes = match length {
            0 => Bytes::Own(Vec::new()),
            _ => {
                // SAFETY: the map is private and read-only. A file that another process cuts short
                // while it is mapped raises SIGBUS, as in every tool that maps traces; its contents
                // are only ever read as plain bytes, so a change to them cannot break an invariant.
                let map = unsafe { memmap2::Mmap::map(file) };
                let map = Arc::new(map.map_err(|error| Error::io(path, error))?);
                if let Ok(mut maps) = MAPS.lock() {
                    maps.retain(|map| map.strong_count() > 0);
                    maps.push(Arc::downgrade(&map));
                }
                Bytes::File(map)
            }
        };
        Ok(Self { path: path.to_owned(), bytes })
    }

    /// Bytes that come from no file.
    pub(crate) fn of_bytes(bytes: Vec<u8>) -> Self {
        Self { path: PathBuf::from("bytes"), bytes: Bytes::Own(bytes) }
    }

    /// The same, or what is in it when it is a gzip file, as browsers save traces.
    pub(crate) fn unpacked(self) -> Result<Self> {
        if !self.starts_with(&GZIP) {
            return Ok(self);
        }
        let mut bytes = Vec::new();
        let mut reader = MultiGzDecoder::new(&*self).take(MOST_UNPACKED);
        // What could be read of a file that is cut short is opened, as that of any other.
        if let Err(error) = reader.read_to_end(&mut bytes)
            && bytes.is_empty()
        {
            return Err(Error::io(&self.path, error));
        }
        if bytes.len() as u64 == MOST_UNPACKED {
            return Err(Error::TooMuch("an unpacked file of more than 4 GB".into()));
        }
        Ok(Self { path: self.path, bytes: Bytes::Own(bytes) })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.bytes {
            Bytes::File(map) => map,
            Bytes::Own(bytes) => bytes,
        }
    }
}
