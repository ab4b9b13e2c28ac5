//! Columns of Arrow batches by name.

use std::fmt;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::ArrowPrimitiveType;
use arrow_array::{ArrayRef, PrimitiveArray, RecordBatch};
use arrow_buffer::ScalarBuffer;
use arrow_schema::{Field, Schema};

/// A table is not what it should be: a column is missing, or of another type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing(pub String);

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a table of a timeline: {}", self.0)
    }
}

impl std::error::Error for Missing {}

/// A column of numbers.
pub(crate) fn numbers<T: ArrowPrimitiveType>(
    batch: &RecordBatch,
    name: &str,
) -> Result<ScalarBuffer<T::Native>, Missing> {
    optional::<T>(batch, name).map(|column| column.values().clone())
}

/// A column of numbers, some of which may be null.
pub(crate) fn optional<T: ArrowPrimitiveType>(
    batch: &RecordBatch,
    name: &str,
) -> Result<PrimitiveArray<T>, Missing> {
    let column = batch.column_by_name(name).and_then(|column| column.as_primitive_opt::<T>());
    column.cloned().ok_or_else(|| Missing(format!("there is no column {name} of {}", T::DATA_TYPE)))
}

/// A batch of columns of one length; only `Option` columns may have nulls.
pub(crate) fn batch(columns: Vec<(&str, ArrayRef, bool)>) -> RecordBatch {
    let fields: Vec<Field> = columns
        .iter()
        .map(|(name, column, null)| Field::new(*name, column.data_type().clone(), *null))
        .collect();
    let columns = columns.into_iter().map(|(_, column, _)| column).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).expect("columns of one length")
}

/// The values as an Arrow column, without a copy.
pub(crate) fn column<T: ArrowPrimitiveType>(
    values: impl Into<ScalarBuffer<T::Native>>,
) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::new(values.into(), None))
}
