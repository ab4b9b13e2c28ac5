//! The heap of this module where no file can stand in for memory: the system's.

use std::io;
use std::path::Path;

pub(crate) use std::alloc::System as Heap;

/// Fails: holes in files that are mapped, which this takes, are Linux's.
pub(crate) fn bound(_directory: &Path, _bytes: usize) -> io::Result<()> {
    Err(io::Error::other("the memory of a command can be bounded on Linux alone"))
}
