//! Requests to block devices: queued, issued to the driver, completed.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::{RecordBatch, StringArray, UInt32Array, UInt64Array};

use crate::growing::{NONE, nullable};
use crate::model::{Kind, Request};
use crate::output::schemas;

const SECTOR_BYTES: u64 = 512;

/// Requests are known by device and first sector until they are completed.
#[derive(Default)]
pub(crate) struct Block {
    open: HashMap<(u32, u64), Open>,
    /// Those that were open when events were lost: one of them may go on, or be a new one.
    doubtful: HashSet<(u32, u64)>,
    device: Vec<u32>,
    sector: Vec<u64>,
    bytes: Vec<u64>,
    kind: Vec<String>,
    queued: Vec<i64>,
    issued: Vec<i64>,
    completed: Vec<i64>,
}

/// A request that is not complete.
struct Open {
    row: usize,
    /// Sectors that are still to come; of requests without a place, how many are under way.
    left: u64,
    /// Several without a place were under way at once: which of them completes is not told.
    mixed: bool,
}

/// The first sector of requests without a place. The kernel has this for flushes and commands of
/// their own, but traces their issue as that of sector 0.
const NO_PLACE: u64 = u64::MAX;

/// By what a request is known: device and first sector.
fn key(request: &Request<'_>) -> (u32, u64) {
    let has_place = request.sector != NO_PLACE && (request.sector, request.sectors) != (0, 0);
    (request.device, if has_place { request.sector } else { NO_PLACE })
}

impl Block {
    fn row(&mut self, request: &Request<'_>) -> usize {
        self.device.push(request.device);
        self.sector.push(request.sector);
        self.bytes.push(0);
        self.kind.push(request.kind.letters().into_owned());
        self.queued.push(NONE);
        self.issued.push(NONE);
        self.completed.push(NONE);
        self.device.len() - 1
    }

    /// Requests that are under way are never seen to complete.
    pub(crate) fn forget(&mut self) {
        for (key, open) in self.open.drain() {
            // In part is not complete.
            self.completed[open.row] = NONE;
            self.doubtful.insert(key);
        }
    }

    pub(crate) fn insert(&mut self, now: i64, request: &Request<'_>) {
        let key = key(request);
        let is_placed = key.1 != NO_PLACE;
        if !is_placed && self.open.contains_key(&key) {
            return; // which of them is issued next is not told
        }
        let row = self.row(request);
        self.size(row, request);
        self.queued[row] = now;
        self.doubtful.remove(&key);
        let left = if is_placed { request.sectors } else { 0 };
        self.open.insert(key, Open { row, left, mixed: false });
    }

    /// Issued again after the driver gave it back, it counts from the first time.
    pub(crate) fn issue(&mut self, now: i64, request: &Request<'_>) {
        let key = key(request);
        if key.1 == NO_PLACE {
            return self.issue_without_place(now, request);
        }
        let row = match self.open.get(&key) {
            Some(open) => open.row,
            None => self.row(request),
        };
        self.size(row, request);
        // One that was under way at a loss may have been issued before.
        if self.issued[row] == NONE && !self.doubtful.contains(&key) {
            self.issued[row] = now;
        }
        self.open.insert(key, Open { row, left: request.sectors, mixed: false });
    }

    fn issue_without_place(&mut self, now: i64, request: &Request<'_>) {
        let key = key(request);
        let doubtful = self.doubtful.contains(&key);
        let waiting = self.open.get(&key).filter(|open| open.left == 0).map(|open| open.row);
        let row = waiting.unwrap_or_else(|| self.row(request));
        self.size(row, request);
        if self.issued[row] == NONE && !doubtful {
            self.issued[row] = now;
        }
        let open = self.open.entry(key).or_insert(Open { row, left: 0, mixed: false });
        open.left += 1;
        open.mixed |= open.left > 1;
    }

    /// The driver gave a request back.
    pub(crate) fn requeue(&mut self, request: &Request<'_>) {
        let key = key(request);
        if let Some(open) = self.open.get_mut(&key).filter(|_| key.1 == NO_PLACE) {
            open.left = open.left.saturating_sub(1);
        }
    }

    /// A request that was issued before the trace is not known: its completion says nothing.
    pub(crate) fn complete(&mut self, now: i64, request: &Request<'_>) {
        let key = key(request);
        self.doubtful.remove(&key);
        if key.1 == NO_PLACE {
            return self.complete_without_place(now, request);
        }
        let Some(open) = self.open.remove(&key) else { return };
        self.completed[open.row] = now;
        if request.sectors < open.left {
            // A part: the rest begins where it ends.
            let rest = (request.device, request.sector.wrapping_add(request.sectors));
            self.open.insert(rest, Open { left: open.left - request.sectors, ..open });
        }
    }

    fn complete_without_place(&mut self, now: i64, request: &Request<'_>) {
        let key = key(request);
        let Some(open) = self.open.get_mut(&key).filter(|open| open.left > 0) else { return };
        // Behind a flush, what asked for it is complete, too, without having been issued.
        if request.sector != NO_PLACE && self.kind[open.row] != request.kind.letters() {
            return;
        }
        open.left -= 1;
        if open.left == 0 {
            if !open.mixed {
                self.completed[open.row] = now;
            }
            self.open.remove(&key);
        }
    }

    /// Requests grow by merging until they are issued.
    fn size(&mut self, row: usize, request: &Request<'_>) {
        let sectors = request.sectors.saturating_mul(SECTOR_BYTES);
        self.bytes[row] = request.bytes.filter(|&bytes| bytes > 0).unwrap_or(sectors);
    }

    pub(crate) fn into_batch(mut self) -> RecordBatch {
        self.forget();
        RecordBatch::try_new(
            schemas::block(),
            vec![
                Arc::new(UInt32Array::from(self.device)),
                Arc::new(UInt64Array::from(self.sector)),
                Arc::new(UInt64Array::from(self.bytes)),
                Arc::new(StringArray::from_iter_values(self.kind)),
                nullable(self.queued),
                nullable(self.issued),
                nullable(self.completed),
            ],
        )
        .expect("the columns of the schema")
    }
}

impl Kind<'_> {
    fn letters(&self) -> Cow<'_, str> {
        match *self {
            Self::Letters(letters) => String::from_utf8_lossy(letters),
            Self::Bits(bits) => letters(bits).into(),
        }
    }
}

/// The letters of blktrace for the bits that LTTng writes (its `instrumentation/events/block.h`).
fn letters(bits: u64) -> String {
    const WRITE: u64 = 1;
    const DISCARD: u64 = 1 << 1;
    const READ: u64 = 1 << 2;
    const AHEAD: u64 = 1 << 3;
    const BARRIER: u64 = 1 << 4;
    const SYNC: u64 = 1 << 5;
    const META: u64 = 1 << 6;
    const SECURE: u64 = 1 << 7;
    const FLUSH: u64 = 1 << 8;
    const FUA: u64 = 1 << 9;
    const PREFLUSH: u64 = 1 << 10;
    let flags = [
        (PREFLUSH, 'F'),
        (WRITE, 'W'),
        (DISCARD, 'D'),
        (SECURE, 'E'),
        (READ, 'R'),
        (FLUSH, 'F'),
        (FUA, 'F'),
        (AHEAD, 'A'),
        (BARRIER, 'B'),
        (SYNC, 'S'),
        (META, 'M'),
    ];
    let text: String =
        flags.iter().filter(|&&(bit, _)| bits & bit != 0).map(|&(_, letter)| letter).collect();
    if text.is_empty() { "N".to_owned() } else { text }
}
