//! Records sorted by event type, a block at a time, on their way to columns.

use crate::ByteOrder;
use crate::dat::events::Events;
use crate::dat::layout::Record;
use crate::decode::Rows;
use crate::select::Chosen;

/// The chosen records of a block by event type.
pub(crate) struct Buckets {
    records: Vec<Vec<Record>>,
    /// Types with records.
    touched: Vec<u16>,
}

/// Records of a type in a block, from which on the next blocks are taken to be alike.
const LEAST_ALIKE: usize = 16;

/// Why a record does not go into a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left {
    NotChosen,
    /// Shorter than the format of its type; `None`: too short to have a type.
    Short(Option<usize>),
}

impl Buckets {
    pub(crate) fn new(events: &Events) -> Self {
        Self { records: events.layouts.iter().map(|_| Vec::new()).collect(), touched: Vec::new() }
    }

    /// Puts a record of the block into the bucket of its type, which is returned.
    ///
    /// `record` must lie within `block`, or this panics.
    #[inline]
    pub(crate) fn push<const BIG: bool>(
        &mut self,
        events: &Events,
        chosen: &Chosen,
        block: &[u8],
        record: Record,
    ) -> Result<usize, Left> {
        let length = record.length as usize;
        if length < events.type_at + 2 {
            return Err(Left::Short(None));
        }
        let id = crate::dat::page::u16_at::<BIG>(block, record.at as usize + events.type_at);
        let event = events.of_id(id);
        if chosen.fields(event).is_none() || !chosen.at(record.time) {
            return Err(Left::NotChosen);
        }
        if record.length < events.layouts[event].least {
            return Err(Left::Short(Some(event)));
        }
        let bucket = &mut self.records[event];
        if bucket.is_empty() {
            self.touched.push(event as u16);
        }
        bucket.push(record);
        Ok(event)
    }

    /// Appends the records of the block to their tables, and forgets them.
    ///
    /// The block is one of about `blocks` that are alike: room is made for all of them at the first,
    /// because growing by doubling copies everything once more, and first writes to memory cost more
    /// than decoding.
    pub(crate) fn gather(
        &mut self,
        events: &Events,
        chosen: &Chosen,
        block: &[u8],
        order: ByteOrder,
        blocks: usize,
        rows: &mut Rows,
    ) {
        for event in self.touched.drain(..).map(usize::from) {
            let records = &mut self.records[event];
            let fields = chosen.fields(event).unwrap_or_default();
            let (times, columns) = rows.table(event);
            let more = match times.is_empty() && records.len() >= LEAST_ALIKE {
                true => records.len() * blocks.saturating_sub(1) * 17 / 16,
                false => 0,
            };
            times.reserve(records.len() + more);
            times.extend(records.iter().map(|record| record.time));
            for (&field, column) in fields.iter().zip(columns) {
                events.layouts[event].gather(field, column, block, records, order);
                if more > 0 {
                    column.reserve(more);
                }
            }
            records.clear();
        }
    }
}
