//! Tables for Python: the memory stays here, and goes to others by Arrow's C stream interface.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::RecordBatchReader;
use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::{BooleanArray, RecordBatch, RecordBatchIterator, RecordBatchOptions};
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;
use arrow_select::interleave::interleave_record_batch;
use pyo3::exceptions::{PyIndexError, PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict, PyList};

use crate::column::{Column, object};
use crate::{given, ipc, values};

/// Columns of the same length, in as many pieces as they were made in.
#[pyclass(frozen, module = "benchvise.trace.native")]
pub(crate) struct Table {
    pub(crate) batches: Vec<RecordBatch>,
    pub(crate) schema: SchemaRef,
}

pub(crate) fn refused(error: ArrowError) -> PyErr {
    match error {
        ArrowError::IoError(_, error) => error.into(),
        other => PyValueError::new_err(other.to_string()),
    }
}

impl Table {
    pub(crate) fn new(batches: Vec<RecordBatch>, schema: SchemaRef) -> Self {
        Self { batches, schema }
    }

    pub(crate) fn of(batch: RecordBatch) -> Self {
        Self { schema: batch.schema(), batches: vec![batch] }
    }

    pub(crate) fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// All rows in one piece, without a copy where they are in one.
    pub(crate) fn joined(&self) -> Result<RecordBatch, ArrowError> {
        match self.batches.as_slice() {
            [batch] => Ok(batch.clone()),
            several => concat_batches(&self.schema, several),
        }
    }

    fn place(&self, name: &str) -> PyResult<usize> {
        self.schema.index_of(name).map_err(|_| PyKeyError::new_err(name.to_owned()))
    }
}

#[pymethods]
impl Table {
    #[new]
    #[pyo3(signature = (columns, metadata=None))]
    fn from_columns(
        columns: &Bound<'_, PyDict>,
        metadata: Option<HashMap<String, String>>,
    ) -> PyResult<Self> {
        let mut fields = Vec::with_capacity(columns.len());
        let mut arrays = Vec::with_capacity(columns.len());
        for (name, of_column) in columns {
            let array = given::array(&of_column)?;
            fields.push(Field::new(name.extract::<String>()?, array.data_type().clone(), true));
            arrays.push(array);
        }
        let schema = Arc::new(Schema::new_with_metadata(fields, metadata.unwrap_or_default()));
        RecordBatch::try_new(schema, arrays).map(Self::of).map_err(refused)
    }

    #[staticmethod]
    fn from_arrow(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let stream = object.call_method0("__arrow_c_stream__")?;
        let stream = stream.cast::<PyCapsule>()?.pointer_checked(Some(c"arrow_array_stream"))?;
        // SAFETY: a capsule of that name holds such a stream, which is taken out of it.
        let reader = unsafe { ArrowArrayStreamReader::from_raw(stream.cast().as_ptr()) };
        let reader = reader.map_err(refused)?;
        let schema = reader.schema();
        let batches = object.py().detach(|| reader.collect::<Result<Vec<_>, _>>());
        Ok(Self { batches: batches.map_err(refused)?, schema })
    }

    #[staticmethod]
    fn from_stream(bytes: &[u8]) -> PyResult<Self> {
        let read = ipc::from_stream(bytes);
        let (batches, schema) = read.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self { batches, schema })
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema; // a wish, which nobody has to fulfil
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, Arc::clone(&self.schema));
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema.as_ref()).map_err(refused)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    fn __len__(&self) -> usize {
        self.rows()
    }

    #[getter]
    fn num_rows(&self) -> usize {
        self.rows()
    }

    #[getter]
    fn column_names(&self) -> Vec<&str> {
        self.schema.fields().iter().map(|field| field.name().as_str()).collect()
    }

    #[getter]
    fn metadata(&self) -> HashMap<String, String> {
        self.schema.metadata().clone()
    }

    #[getter]
    fn nbytes(&self) -> PyResult<usize> {
        let columns = self.batches.iter().flat_map(RecordBatch::columns);
        let sizes = columns.map(|column| column.to_data().get_slice_memory_size());
        sizes.sum::<Result<_, _>>().map_err(refused)
    }

    fn column(&self, name: &str) -> PyResult<Column> {
        let at = self.place(name)?;
        let pieces = self.batches.iter().map(|batch| Arc::clone(batch.column(at))).collect();
        Ok(Column::new(pieces, self.schema.field(at).data_type().clone()))
    }

    fn __getitem__(&self, name: &str) -> PyResult<Column> {
        self.column(name)
    }

    fn __repr__(&self) -> String {
        format!("<{} rows: {}>", self.rows(), self.column_names().join(", "))
    }

    fn to_pylist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for batch in &self.batches {
            for row in 0..batch.num_rows() {
                let record = PyDict::new(py);
                for (field, column) in self.schema.fields().iter().zip(batch.columns()) {
                    record.set_item(field.name(), object(py, column, row)?)?;
                }
                list.append(record)?;
            }
        }
        Ok(list)
    }

    fn select(&self, names: Vec<String>) -> PyResult<Self> {
        let places = names.iter().map(|name| self.place(name)).collect::<PyResult<Vec<usize>>>()?;
        let schema = Arc::new(self.schema.project(&places).map_err(refused)?);
        let batches = self.batches.iter().map(|batch| batch.project(&places));
        Ok(Self { batches: batches.collect::<Result<_, _>>().map_err(refused)?, schema })
    }

    fn take(&self, py: Python<'_>, rows: &Bound<'_, PyAny>) -> PyResult<Self> {
        let rows: Vec<i64> = values::numbers(rows)?;
        let mut ends = Vec::with_capacity(self.batches.len());
        let mut end = 0;
        for batch in &self.batches {
            end += batch.num_rows();
            ends.push(end);
        }
        let places = rows.into_iter().map(|row| {
            let row = usize::try_from(row).ok().filter(|&row| row < end);
            let row = row.ok_or_else(|| PyIndexError::new_err("a row that there is not"))?;
            let piece = ends.partition_point(|&end| end <= row);
            Ok((piece, row - (ends[piece] - self.batches[piece].num_rows())))
        });
        let places = places.collect::<PyResult<Vec<_>>>()?;
        let taken = py.detach(|| {
            if places.is_empty() {
                return Ok(RecordBatch::new_empty(Arc::clone(&self.schema)));
            }
            interleave_record_batch(&self.batches.iter().collect::<Vec<_>>(), &places)
        });
        taken.map(Self::of).map_err(refused)
    }

    fn filter(&self, py: Python<'_>, kept: &Bound<'_, PyAny>) -> PyResult<Self> {
        let kept = BooleanArray::from(values::truths(kept)?);
        if kept.len() != self.rows() {
            return Err(PyTypeError::new_err("another number of rows"));
        }
        let batches = py.detach(|| {
            let mut first = 0;
            let filtered = self.batches.iter().map(|batch| {
                let of_batch = kept.slice(first, batch.num_rows());
                first += batch.num_rows();
                filter_record_batch(batch, &of_batch)
            });
            filtered.collect::<Result<_, _>>()
        });
        Ok(Self { batches: batches.map_err(refused)?, schema: Arc::clone(&self.schema) })
    }

    fn with_metadata(&self, metadata: HashMap<String, String>) -> PyResult<Self> {
        let schema = self.schema.as_ref().clone().with_metadata(metadata);
        let schema = Arc::new(schema);
        let batches = self.batches.iter().map(|batch| {
            let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            let columns = batch.columns().to_vec();
            RecordBatch::try_new_with_options(Arc::clone(&schema), columns, &options)
        });
        let batches = batches.collect::<Result<_, _>>().map_err(refused)?;
        Ok(Self { batches, schema })
    }

    fn stream<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| ipc::to_stream(&self.batches, &self.schema)).map_err(refused)?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn write(&self, py: Python<'_>, path: std::path::PathBuf, in_one_piece: bool) -> PyResult<()> {
        let written = py.detach(|| match in_one_piece {
            true => ipc::write([&self.joined()?], &self.schema, &path),
            false => ipc::write(&self.batches, &self.schema, &path),
        });
        written.map_err(refused)
    }
}
