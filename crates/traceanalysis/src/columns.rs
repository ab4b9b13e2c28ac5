//! Typed access to the columns of an event table by row, over all its batches.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;

/// The columns that any analysis reads, by name; the others of an event table may be left out.
pub const ANALYSED_COLUMNS: [&str; 43] = [
    "time",
    "cpu",
    "common_flags",
    "common_pid",
    "pid",
    "tid",
    "comm",
    "prio",
    "prev_pid",
    "prev_tid",
    "prev_comm",
    "prev_prio",
    "prev_state",
    "next_pid",
    "next_tid",
    "next_comm",
    "next_prio",
    "child_pid",
    "child_tid",
    "child_comm",
    "child_prio",
    "old_pid",
    "old_tid",
    "target_cpu",
    "filename",
    "newcomm",
    "irq",
    "name",
    "vec",
    "id",
    "ret",
    "dev",
    "sector",
    "nr_sector",
    "bytes",
    "rwbs",
    "hrtimer",
    "timer",
    "function",
    "expires",
    "softexpires",
    "now",
    "success",
];

/// A row of a table: the batch, and the row in it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    batch: usize,
    row: usize,
}

/// Finds rows. Tables have few batches or many, of any size: the batch is looked up for every
/// 4,096th row and searched from there.
pub(crate) struct Rows {
    /// The first row of each batch, and the count of all.
    starts: Vec<usize>,
    near: Vec<u32>,
}

const STEP: usize = 4096;

impl Rows {
    pub(crate) fn new(batches: &[RecordBatch]) -> Self {
        let mut starts = vec![0];
        for batch in batches {
            starts.push(starts[starts.len() - 1] + batch.num_rows());
        }
        let mut near = Vec::new();
        let mut batch = 0;
        for row in (0..starts[starts.len() - 1]).step_by(STEP) {
            while starts[batch + 1] <= row {
                batch += 1;
            }
            near.push(batch as u32);
        }
        Self { starts, near }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.near.is_empty()
    }

    pub(crate) fn count(&self) -> usize {
        self.starts[self.starts.len() - 1]
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = Place> + '_ {
        let batches = self.starts.windows(2).enumerate();
        batches
            .flat_map(|(batch, ends)| (0..ends[1] - ends[0]).map(move |row| Place { batch, row }))
    }

    /// `None` when the table has no such row.
    #[inline]
    pub(crate) fn place(&self, row: u32) -> Option<Place> {
        let row = row as usize;
        let mut batch = *self.near.get(row / STEP)? as usize;
        while *self.starts.get(batch + 1)? <= row {
            batch += 1;
        }
        Some(Place { batch, row: row - self.starts[batch] })
    }
}

/// Integers of any width.
pub(crate) enum Ints<'a> {
    I8(Vec<&'a [i8]>),
    I16(Vec<&'a [i16]>),
    I32(Vec<&'a [i32]>),
    I64(Vec<&'a [i64]>),
    U8(Vec<&'a [u8]>),
    U16(Vec<&'a [u16]>),
    U32(Vec<&'a [u32]>),
    U64(Vec<&'a [u64]>),
}

impl<'a> Ints<'a> {
    /// The column of that name, if there is one, of integers.
    pub(crate) fn of(batches: &'a [RecordBatch], name: &str) -> Option<Self> {
        macro_rules! slices {
            ($variant:ident, $of:ty) => {
                Self::$variant(
                    columns(batches, name)?
                        .into_iter()
                        .map(|c| Some(c.as_primitive_opt::<$of>()?.values().as_ref()))
                        .collect::<Option<_>>()?,
                )
            };
        }
        Some(match batches.first()?.column_by_name(name)?.data_type() {
            DataType::Int8 => slices!(I8, Int8Type),
            DataType::Int16 => slices!(I16, Int16Type),
            DataType::Int32 => slices!(I32, Int32Type),
            DataType::Int64 => slices!(I64, Int64Type),
            DataType::UInt8 => slices!(U8, UInt8Type),
            DataType::UInt16 => slices!(U16, UInt16Type),
            DataType::UInt32 => slices!(U32, UInt32Type),
            DataType::UInt64 => slices!(U64, UInt64Type),
            _ => return None,
        })
    }

    /// The value; of 64-bit unsigned ones the same bits.
    #[inline(always)]
    pub(crate) fn get(&self, place: Place) -> i64 {
        let Place { batch, row } = place;
        match self {
            Self::I8(v) => i64::from(v[batch][row]),
            Self::I16(v) => i64::from(v[batch][row]),
            Self::I32(v) => i64::from(v[batch][row]),
            Self::I64(v) => v[batch][row],
            Self::U8(v) => i64::from(v[batch][row]),
            Self::U16(v) => i64::from(v[batch][row]),
            Self::U32(v) => i64::from(v[batch][row]),
            Self::U64(v) => v[batch][row] as i64,
        }
    }

    #[inline]
    pub(crate) fn i32(&self, place: Place) -> i32 {
        self.get(place) as i32
    }

    /// All values in order of rows.
    pub(crate) fn all_i32(&self) -> Vec<i32> {
        macro_rules! all {
            ($batches:expr) => {
                $batches.iter().flat_map(|batch| batch.iter()).map(|&value| value as i32).collect()
            };
        }
        match self {
            Self::I8(v) => all!(v),
            Self::I16(v) => all!(v),
            // As most tracers write thread ids: copied batch by batch.
            Self::I32(v) => v.concat(),
            Self::I64(v) => all!(v),
            Self::U8(v) => all!(v),
            Self::U16(v) => all!(v),
            Self::U32(v) => all!(v),
            Self::U64(v) => all!(v),
        }
    }
}

/// Texts.
pub(crate) struct Texts<'a> {
    batches: Vec<(&'a [i32], &'a [u8])>,
}

impl<'a> Texts<'a> {
    /// The column of that name, if there is one, of texts.
    pub(crate) fn of(batches: &'a [RecordBatch], name: &str) -> Option<Self> {
        let batches = columns(batches, name)?
            .into_iter()
            .map(|c| {
                let text = c.as_string_opt::<i32>()?;
                Some((text.value_offsets(), text.value_data()))
            })
            .collect::<Option<_>>()?;
        Some(Self { batches })
    }

    #[inline]
    pub(crate) fn get(&self, place: Place) -> &'a [u8] {
        let (offsets, bytes) = self.batches[place.batch];
        &bytes[offsets[place.row] as usize..offsets[place.row + 1] as usize]
    }
}

/// The column of that name in every batch; `None` when one has none.
fn columns<'a>(batches: &'a [RecordBatch], name: &str) -> Option<Vec<&'a dyn Array>> {
    batches.iter().map(|batch| batch.column_by_name(name).map(AsRef::as_ref)).collect()
}
