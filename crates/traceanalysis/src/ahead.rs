//! Reading ahead: one thread gathers the events from their columns, which is most of the work, while
//! another passes them on. Their order is that of the index.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::Scope;

use arrow_array::RecordBatch;

use crate::bindings::Bindings;
use crate::model::Event;
use crate::walk::{Columns, walk};

/// Events in a chunk: it stays in the caches of both CPUs.
const CHUNK: usize = 2048;
/// Chunks that are under way at once.
const CHUNKS: usize = 4;

/// An event with its place in the index.
pub(crate) struct Read<'a> {
    pub(crate) at: usize,
    pub(crate) event: Event<'a>,
    /// The thread that ran when it happened, where the tracer notes that.
    pub(crate) thread: Option<i32>,
}

/// Events of one batch of the index.
struct Chunk<'a> {
    index: Columns<'a>,
    reads: Vec<Read<'a>>,
}

/// Gives `receive` all events that the bindings know, each with the columns of its place.
pub(crate) fn read_ahead<'scope, 'a: 'scope>(
    scope: &'scope Scope<'scope, '_>,
    index: &'a [RecordBatch],
    bindings: &'scope Bindings<'a>,
    mut receive: impl FnMut(Columns<'a>, &Read<'a>),
) {
    let (full, chunks) = sync_channel(CHUNKS);
    let (empty, used) = sync_channel(CHUNKS);
    scope.spawn(move || gather(index, bindings, &full, &used));
    for Chunk { index, mut reads } in chunks {
        reads.iter().for_each(|read| receive(index, read));
        reads.clear();
        // The reader may be through, and gone.
        let _ = empty.try_send(reads);
    }
}

/// Ends early when nobody receives any more.
fn gather<'a>(
    index: &'a [RecordBatch],
    bindings: &Bindings<'a>,
    full: &SyncSender<Chunk<'a>>,
    used: &Receiver<Vec<Read<'a>>>,
) {
    let fresh = || used.try_recv().unwrap_or_else(|_| Vec::with_capacity(CHUNK));
    let known = bindings.known();
    for batch in index {
        let Some(columns) = Columns::of(batch) else { continue };
        let mut reads = fresh();
        let mut heard = true;
        walk(columns, &known, &mut |at| {
            if let Some((event, thread)) = bindings.read(columns.events[at], columns.rows[at]) {
                reads.push(Read { at, event, thread });
            }
            if reads.len() == CHUNK {
                let reads = std::mem::replace(&mut reads, fresh());
                heard = full.send(Chunk { index: columns, reads }).is_ok();
            }
            heard
        });
        if !heard || full.send(Chunk { index: columns, reads }).is_err() {
            return;
        }
    }
}
