//! Batches as Arrow IPC: to files, and to bytes and back.

use std::fs::File;
use std::io::Cursor;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{ArrowError, Schema, SchemaRef};

/// Writes a file for `KeptTable`.
pub(crate) fn write<'a>(
    batches: impl IntoIterator<Item = &'a RecordBatch>,
    schema: &Schema,
    path: &Path,
) -> Result<(), ArrowError> {
    let mut writer = FileWriter::try_new_buffered(File::create(path)?, schema)?;
    for batch in batches {
        writer.write(batch)?;
    }
    writer.finish()?;
    writer.flush()
}

pub(crate) fn to_stream(batches: &[RecordBatch], schema: &Schema) -> Result<Vec<u8>, ArrowError> {
    let mut bytes = Vec::new();
    let mut writer = StreamWriter::try_new(&mut bytes, schema)?;
    for batch in batches {
        writer.write(batch)?;
    }
    writer.finish()?;
    drop(writer);
    Ok(bytes)
}

pub(crate) fn from_stream(bytes: &[u8]) -> Result<(Vec<RecordBatch>, SchemaRef), ArrowError> {
    let reader = StreamReader::try_new(Cursor::new(bytes), None)?;
    let schema = reader.schema();
    Ok((reader.collect::<Result<_, _>>()?, schema))
}
