//! All rows with their levels, in columns.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch, StringArray, UInt16Array, UInt32Array};
use arrow_buffer::ScalarBuffer;

use crate::columns::{Missing, batch, column, numbers, optional};
use crate::lane::Span;
use crate::level::Entry;
use crate::overview::Overview;

/// What a row shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// What runs on a CPU.
    Cpu,
    /// An interrupt's handler on a CPU.
    Irq,
    /// A softirq on a CPU.
    Softirq,
    /// The states of a thread.
    Thread,
}

impl Kind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Irq => "irq",
            Self::Softirq => "softirq",
            Self::Thread => "thread",
        }
    }

    fn of(name: &str) -> Option<Self> {
        [Self::Cpu, Self::Irq, Self::Softirq, Self::Thread].into_iter().find(|k| k.name() == name)
    }
}

/// A row of the time line. Its place is its number: CPUs, interrupts, softirqs, threads, those that
/// used the CPUs most first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// What it shows.
    pub kind: Kind,
    /// Whose row it is; `None` for a CPU.
    pub actor: Option<u32>,
    /// Where; `None` for a thread, which may run anywhere.
    pub cpu: Option<u16>,
    /// For how long (ns) it used a CPU.
    pub ran: i64,
    /// When the first span begins and the last ends.
    pub first: i64,
    /// See `first`.
    pub last: i64,
}

/// Where the entries of a level lie.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Level {
    pub(crate) shift: u32,
    pub(crate) from: usize,
    pub(crate) to: usize,
}

/// Where the spans of a row lie, and its levels from the finest to the coarsest.
#[derive(Debug, Clone, Default)]
pub(crate) struct Place {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) levels: Vec<Level>,
}

/// Spans in columns.
#[derive(Debug, Clone)]
pub(crate) struct Spans {
    pub(crate) begin: ScalarBuffer<i64>,
    pub(crate) end: ScalarBuffer<i64>,
    pub(crate) actor: ScalarBuffer<u32>,
    pub(crate) state: ScalarBuffer<u8>,
}

impl Spans {
    #[inline]
    pub(crate) fn get(&self, at: usize) -> Span {
        Span {
            begin: self.begin[at],
            end: self.end[at],
            actor: self.actor[at],
            state: self.state[at],
        }
    }

    fn of(batch: &RecordBatch) -> Result<Self, Missing> {
        Ok(Self {
            begin: numbers::<Int64Type>(batch, "begin")?,
            end: numbers::<Int64Type>(batch, "end")?,
            actor: numbers::<UInt32Type>(batch, "actor")?,
            state: numbers::<UInt8Type>(batch, "state")?,
        })
    }

    fn columns(&self) -> Vec<(&'static str, arrow_array::ArrayRef, bool)> {
        vec![
            ("begin", column::<Int64Type>(self.begin.clone()), false),
            ("end", column::<Int64Type>(self.end.clone()), false),
            ("actor", column::<UInt32Type>(self.actor.clone()), false),
            ("state", column::<UInt8Type>(self.state.clone()), false),
        ]
    }
}

/// The time line of a trace. All times are nanoseconds since its first event.
#[derive(Debug, Clone)]
pub struct Forest {
    pub(crate) rows: Vec<Row>,
    pub(crate) places: Vec<Place>,
    pub(crate) items: Spans,
    /// The spans of entries.
    pub(crate) entries: Spans,
    pub(crate) count: ScalarBuffer<u32>,
    pub(crate) ran: ScalarBuffer<i64>,
    pub(crate) overview: Overview,
}

impl Forest {
    /// The names of its tables, in the order of [`Forest::into_tables`].
    pub const TABLES: [&'static str; 5] = ["rows", "levels", "items", "entries", "overview"];

    /// Its rows.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The whole trace at a glance.
    pub fn overview(&self) -> &Overview {
        &self.overview
    }

    #[inline]
    pub(crate) fn entry(&self, at: usize) -> Entry {
        Entry { span: self.entries.get(at), count: self.count[at], ran: self.ran[at] }
    }

    /// As tables that can be kept, without a copy of what is large.
    pub fn tables(&self) -> [RecordBatch; 5] {
        let items = |at: fn(&Place) -> usize| {
            column::<UInt64Type>(self.places.iter().map(|p| at(p) as u64).collect::<Vec<_>>())
        };
        let times =
            |at: fn(&Row) -> i64| column::<Int64Type>(self.rows.iter().map(at).collect::<Vec<_>>());
        let kinds = StringArray::from_iter_values(self.rows.iter().map(|row| row.kind.name()));
        let rows = batch(vec![
            ("kind", Arc::new(kinds), false),
            ("actor", Arc::new(UInt32Array::from_iter(self.rows.iter().map(|r| r.actor))), true),
            ("cpu", Arc::new(UInt16Array::from_iter(self.rows.iter().map(|r| r.cpu))), true),
            ("ran", times(|row| row.ran), false),
            ("first", times(|row| row.first), false),
            ("last", times(|row| row.last), false),
            ("from", items(|place| place.from), false),
            ("to", items(|place| place.to), false),
        ]);
        let all = || {
            let numbered = self.places.iter().enumerate();
            numbered.flat_map(|(row, place)| place.levels.iter().map(move |level| (row, level)))
        };
        let levels = batch(vec![
            ("row", column::<UInt32Type>(all().map(|(r, _)| r as u32).collect::<Vec<_>>()), false),
            ("shift", column::<UInt32Type>(all().map(|l| l.1.shift).collect::<Vec<_>>()), false),
            (
                "from",
                column::<UInt64Type>(all().map(|l| l.1.from as u64).collect::<Vec<_>>()),
                false,
            ),
            ("to", column::<UInt64Type>(all().map(|l| l.1.to as u64).collect::<Vec<_>>()), false),
        ]);
        let mut entries = self.entries.columns();
        entries.push(("count", column::<UInt32Type>(self.count.clone()), false));
        entries.push(("ran", column::<Int64Type>(self.ran.clone()), false));
        [rows, levels, batch(self.items.columns()), batch(entries), self.overview.table()]
    }

    /// From tables that were kept.
    ///
    /// # Errors
    /// [`Missing`] when they are not such tables, or do not fit to each other.
    pub fn from_tables(tables: [&RecordBatch; 5]) -> Result<Self, Missing> {
        let [rows, levels, items, entries, overview] = tables;
        let items = Spans::of(items)?;
        let (count, ran) =
            (numbers::<UInt32Type>(entries, "count")?, numbers::<Int64Type>(entries, "ran")?);
        let entries = Spans::of(entries)?;
        let within = |from: u64, to: u64, most: usize| {
            let (from, to) = (usize::try_from(from).ok()?, usize::try_from(to).ok()?);
            (from <= to && to <= most).then_some((from, to))
        };
        let outside = || Missing("a row lies outside".into());
        let (from, to) = (numbers::<UInt64Type>(rows, "from")?, numbers::<UInt64Type>(rows, "to")?);
        let mut places = Vec::with_capacity(rows.num_rows());
        for (&from, &to) in from.iter().zip(&to) {
            let (from, to) = within(from, to, items.begin.len()).ok_or_else(outside)?;
            places.push(Place { from, to, levels: Vec::new() });
        }
        let of = numbers::<UInt32Type>(levels, "row")?;
        let shift = numbers::<UInt32Type>(levels, "shift")?;
        let (from, to) =
            (numbers::<UInt64Type>(levels, "from")?, numbers::<UInt64Type>(levels, "to")?);
        for at in 0..of.len() {
            let place = places.get_mut(of[at] as usize).ok_or_else(outside)?;
            let (from, to) = within(from[at], to[at], entries.begin.len()).ok_or_else(outside)?;
            place.levels.push(Level { shift: shift[at].min(63), from, to });
        }
        let overview = Overview::from_table(overview)?;
        Ok(Self { rows: rows_of(rows)?, places, items, entries, count, ran, overview })
    }
}

fn rows_of(table: &RecordBatch) -> Result<Vec<Row>, Missing> {
    let kinds = table.column_by_name("kind").and_then(|column| column.as_string_opt::<i32>());
    let kinds = kinds.ok_or_else(|| Missing("there is no column kind of text".into()))?;
    let actor = optional::<UInt32Type>(table, "actor")?;
    let cpu = optional::<UInt16Type>(table, "cpu")?;
    let ran = numbers::<Int64Type>(table, "ran")?;
    let first = numbers::<Int64Type>(table, "first")?;
    let last = numbers::<Int64Type>(table, "last")?;
    (0..table.num_rows())
        .map(|at| {
            let kind = Kind::of(kinds.value(at));
            Ok(Row {
                kind: kind.ok_or_else(|| Missing(format!("a row of kind {}", kinds.value(at))))?,
                actor: actor.is_valid(at).then(|| actor.value(at)),
                cpu: cpu.is_valid(at).then(|| cpu.value(at)),
                ran: ran[at],
                first: first[at],
                last: last[at],
            })
        })
        .collect()
}
