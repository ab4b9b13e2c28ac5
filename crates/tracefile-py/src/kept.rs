//! Tables in files of Arrow IPC that are mapped.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::ptr::NonNull;
use std::sync::Arc;

use arrow_buffer::Buffer;
use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::reader::{FileDecoder, read_footer_length};
use arrow_ipc::root_as_footer;
use arrow_schema::ArrowError;
use memmap2::Mmap;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::table::{Table, refused};

/// The end of a file: the length of what stands before it, and a magic number.
const TRAILER: usize = 10;

/// A file of a table, mapped: it stays, whatever other programs do to its name.
#[pyclass(frozen, module = "benchvise.trace.native")]
pub(crate) struct KeptTable(Buffer);

#[pymethods]
impl KeptTable {
    /// Of that size, last changed then in nanoseconds: else it is not as it was written.
    #[new]
    fn new(path: PathBuf, size: u64, changed: i128) -> PyResult<Self> {
        let file = File::open(&path)?;
        let found = file.metadata()?;
        let when = i128::from(found.mtime()) * 1_000_000_000 + i128::from(found.mtime_nsec());
        if (found.len(), when) != (size, changed) {
            let text = format!("{} is not as it was written", path.display());
            return Err(PyValueError::new_err(text));
        }
        // SAFETY: only this program's user can write to what he keeps, and he replaces files as a
        // whole.
        let map = unsafe { Mmap::map(&file) }?;
        let (first, length) = (NonNull::from(map.as_ref()).cast(), map.len());
        // SAFETY: the map lives as long as the buffer, and does not move.
        Ok(Self(unsafe { Buffer::from_custom_allocation(first, length, Arc::new(map)) }))
    }

    /// What is in it, without a copy.
    fn table(&self) -> PyResult<Table> {
        self.read().map_err(refused)
    }
}

impl KeptTable {
    fn read(&self) -> Result<Table, ArrowError> {
        let short = || ArrowError::IpcError("a file without its end".into());
        let end = self.0.len().checked_sub(TRAILER).ok_or_else(short)?;
        let trailer = self.0[end..].try_into().expect("it is as long");
        let begin = end.checked_sub(read_footer_length(trailer)?).ok_or_else(short)?;
        let footer = root_as_footer(&self.0[begin..end])
            .map_err(|error| ArrowError::IpcError(error.to_string()))?;
        let schema = Arc::new(fb_to_schema(footer.schema().ok_or_else(short)?));
        let decoder = FileDecoder::new(Arc::clone(&schema), footer.version());
        // SAFETY: the manifest that names the file is sealed with a key of its user, and tells its
        // size and time of change: it is as `write` left it.
        let decoder = unsafe { decoder.with_skip_validation(true) };
        let mut batches = Vec::new();
        for block in footer.recordBatches().iter().flatten() {
            let (offset, length) = (block.offset(), block.bodyLength());
            let length = length + i64::from(block.metaDataLength());
            let (Ok(offset), Ok(length)) = (usize::try_from(offset), usize::try_from(length))
            else {
                return Err(short());
            };
            if offset.checked_add(length).is_none_or(|until| until > begin) {
                return Err(short());
            }
            let bytes = self.0.slice_with_length(offset, length);
            batches.extend(decoder.read_record_batch(block, &bytes)?);
        }
        Ok(Table::new(batches, schema))
    }
}
