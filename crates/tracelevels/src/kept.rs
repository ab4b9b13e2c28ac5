//! A timeline as tables that can be kept: all rows one behind the other in columns.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray, UInt16Array, UInt32Array};

use crate::columns::{Missing, batch, column, numbers, optional};
use crate::forest::{Content, Forest, Kind, Row};
use crate::level::{Entries, Level};
use crate::overview::Overview;
use crate::spans::{Growing, Spans};

type Columns = Vec<(&'static str, ArrayRef, bool)>;

impl Forest {
    /// The names of its tables, in the order of [`Forest::tables`].
    pub const TABLES: [&'static str; 5] = ["rows", "levels", "items", "entries", "overview"];

    /// The rows without what they show: `kind`, `actor`, `cpu`, `instances`, `ran`, `first`, `last`.
    pub fn row_table(&self) -> RecordBatch {
        batch(self.row_columns())
    }

    fn row_columns(&self) -> Columns {
        let rows = || self.rows.iter();
        let times = |at: fn(&Row) -> i64| column::<Int64Type>(rows().map(at).collect::<Vec<_>>());
        let kinds = StringArray::from_iter_values(rows().map(|row| row.kind.name()));
        let instances = rows().map(|row| row.instances).collect::<Vec<_>>();
        vec![
            ("kind", Arc::new(kinds), false),
            ("actor", Arc::new(UInt32Array::from_iter(rows().map(|row| row.actor))), true),
            ("cpu", Arc::new(UInt16Array::from_iter(rows().map(|row| row.cpu))), true),
            ("instances", column::<UInt64Type>(instances), false),
            ("ran", times(|row| row.ran), false),
            ("first", times(|row| row.first), false),
            ("last", times(|row| row.last), false),
        ]
    }

    /// As tables. `rows` and `levels` tell where their `items` and `entries` lie.
    pub fn tables(&self) -> [RecordBatch; 5] {
        self.prepare(self.contents.iter());
        let mut rows = self.row_columns();
        rows.extend(places(self.contents.iter().map(|content| content.spans.len())));
        let all = || {
            let numbered = (0u32..).zip(&self.contents);
            numbered
                .flat_map(|(row, content)| content.levels().iter().map(move |level| (row, level)))
        };
        let mut levels: Columns = vec![
            ("row", column::<UInt32Type>(all().map(|(row, _)| row).collect::<Vec<_>>()), false),
            ("shift", column::<UInt32Type>(all().map(|at| at.1.shift).collect::<Vec<_>>()), false),
        ];
        levels.extend(places(all().map(|(_, level)| level.entries.len())));
        let mut items =
            Growing::with_capacity(self.contents.iter().map(|content| content.spans.len()).sum());
        self.contents.iter().for_each(|content| items.append(&content.spans));
        let count = all().map(|(_, level)| level.entries.len()).sum();
        let mut spans = Growing::with_capacity(count);
        let (mut counts, mut ran) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for (_, Level { entries, .. }) in all() {
            spans.append(&entries.spans);
            counts.extend_from_slice(&entries.count);
            ran.extend_from_slice(&entries.ran);
        }
        let mut entries = spans.into_columns();
        entries.push(("count", column::<UInt32Type>(counts), false));
        entries.push(("ran", column::<Int64Type>(ran), false));
        let own = [rows, levels, items.into_columns(), entries].map(batch);
        let [rows, levels, items, entries] = own;
        [rows, levels, items, entries, self.overview.table()]
    }

    /// From tables that were kept, without a copy of what is large.
    ///
    /// # Errors
    /// [`Missing`] when they are not such tables, or do not fit to each other.
    pub fn from_tables(tables: [&RecordBatch; 5]) -> Result<Self, Missing> {
        let [rows, levels, items, entries, overview] = tables;
        let items = Spans::of(items)?;
        let entries = Entries {
            spans: Spans::of(entries)?,
            count: numbers::<UInt32Type>(entries, "count")?,
            ran: numbers::<Int64Type>(entries, "ran")?,
        };
        let mut contents = Vec::with_capacity(rows.num_rows());
        for place in places_of(rows, items.len())? {
            let (from, to) = place?;
            contents.push((items.slice(from, to), Vec::new()));
        }
        let of = numbers::<UInt32Type>(levels, "row")?;
        let shifts = numbers::<UInt32Type>(levels, "shift")?;
        let all = of.iter().zip(&shifts).zip(places_of(levels, entries.len())?);
        for ((&row, &shift), place) in all {
            let (_, levels) = contents.get_mut(row as usize).ok_or_else(outside)?;
            let (from, to) = place?;
            levels.push(Level { shift: shift.min(63), entries: entries.slice(from, to) });
        }
        let contents = contents.into_iter();
        let contents =
            contents.map(|(spans, levels)| Content::with_levels(spans, levels)).collect();
        let overview = Overview::from_table(overview)?;
        Ok(Self::new(rows_of(rows)?, contents, overview))
    }
}

/// Where parts of such lengths lie when they are put one behind the other.
fn places(lengths: impl Iterator<Item = usize>) -> Columns {
    let mut behind = 0;
    let (from, to): (Vec<u64>, Vec<u64>) = lengths
        .map(|length| {
            let from = behind;
            behind += length as u64;
            (from, behind)
        })
        .unzip();
    vec![("from", column::<UInt64Type>(from), false), ("to", column::<UInt64Type>(to), false)]
}

fn outside() -> Missing {
    Missing("a row lies outside".into())
}

/// Where parts lie among `most`.
fn places_of(
    table: &RecordBatch,
    most: usize,
) -> Result<impl Iterator<Item = Result<(usize, usize), Missing>>, Missing> {
    let (from, to) = (numbers::<UInt64Type>(table, "from")?, numbers::<UInt64Type>(table, "to")?);
    Ok((0..from.len()).map(move |at| {
        let place = usize::try_from(from[at]).ok().zip(usize::try_from(to[at]).ok());
        place.filter(|&(from, to)| from <= to && to <= most).ok_or_else(outside)
    }))
}

fn rows_of(table: &RecordBatch) -> Result<Vec<Row>, Missing> {
    let kinds = table.column_by_name("kind").and_then(|column| column.as_string_opt::<i32>());
    let kinds = kinds.ok_or_else(|| Missing("there is no column kind of text".into()))?;
    let actor = optional::<UInt32Type>(table, "actor")?;
    let cpu = optional::<UInt16Type>(table, "cpu")?;
    let instances = numbers::<UInt64Type>(table, "instances")?;
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
                instances: instances[at],
                ran: ran[at],
                first: first[at],
                last: last[at],
            })
        })
        .collect()
}
