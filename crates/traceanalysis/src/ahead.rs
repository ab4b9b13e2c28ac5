//! Reading ahead: one thread gathers the events from their columns, which is most of the work, while
//! another passes them on. Their order is that of the index.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::Scope;

use arrow_array::RecordBatch;

use crate::bindings::{Bindings, Meaning};
use crate::model::Event;
use crate::walk::{Columns, NO_CPU};
use crate::witnesses::{NEVER, Witnesses};

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
    /// When the CPU had its latest event that was passed over, or [`NEVER`].
    pub(crate) passed: i64,
}

/// Events of one batch of the index.
struct Chunk<'a> {
    index: Columns<'a>,
    reads: Vec<Read<'a>>,
}

/// Gives `receive` all events that change something, each with the columns of its place.
pub(crate) fn read_ahead<'scope, 'a: 'scope, 'e: 'scope>(
    scope: &'scope Scope<'scope, '_>,
    index: &'a [RecordBatch],
    bindings: &'scope Bindings<'a>,
    witnesses: Witnesses<'e>,
    mut receive: impl FnMut(Columns<'a>, &Read<'a>),
) {
    let (full, chunks) = sync_channel(CHUNKS);
    let (empty, used) = sync_channel(CHUNKS);
    scope.spawn(move || {
        let mut gatherer = Gatherer { bindings, witnesses, reads: fresh(&used), full, used };
        // It ends early when nobody receives any more.
        index.iter().filter_map(Columns::of).all(|columns| gatherer.gather(columns));
    });
    for Chunk { index, mut reads } in chunks {
        reads.iter().for_each(|read| receive(index, read));
        reads.clear();
        // The reader may be through, and gone.
        let _ = empty.try_send(reads);
    }
}

struct Gatherer<'b, 'a, 'e> {
    bindings: &'b Bindings<'a>,
    witnesses: Witnesses<'e>,
    reads: Vec<Read<'a>>,
    full: SyncSender<Chunk<'a>>,
    used: Receiver<Vec<Read<'a>>>,
}

impl<'a> Gatherer<'_, 'a, '_> {
    /// Sends on what a batch has; whether somebody still receives.
    fn gather(&mut self, index: Columns<'a>) -> bool {
        let meanings = self.bindings.meanings();
        for (at, (&event, &cpu)) in index.events.iter().zip(index.cpus).enumerate() {
            let meaning = meanings.get(usize::from(event)).copied().unwrap_or(Meaning::None);
            if meaning == Meaning::None || cpu == NO_CPU {
                continue;
            }
            let (time, row) = (index.times[at], index.rows[at]);
            self.witnesses.advance(time);
            if meaning == Meaning::Witness {
                let thread = self.bindings.thread(event, row);
                if !self.witnesses.pass(time, cpu, thread) {
                    self.push(at, cpu, Event::Seen, thread);
                }
            } else if let Some((event, thread)) = self.bindings.read(event, row) {
                self.push(at, cpu, event, thread);
            }
            if self.reads.len() >= CHUNK && !self.send(index) {
                return false;
            }
        }
        self.send(index)
    }

    #[inline]
    fn push(&mut self, at: usize, cpu: u16, event: Event<'a>, thread: Option<i32>) {
        let Self { witnesses, reads, .. } = self;
        witnesses.see(cpu, thread, &event, |cpu, time| {
            let event = Event::Passed { cpu, time };
            reads.push(Read { at, event, thread: None, passed: NEVER });
        });
        let passed = witnesses.take(cpu);
        reads.push(Read { at, event, thread, passed });
    }

    fn send(&mut self, index: Columns<'a>) -> bool {
        let reads = std::mem::replace(&mut self.reads, fresh(&self.used));
        self.full.send(Chunk { index, reads }).is_ok()
    }
}

fn fresh<'a>(used: &Receiver<Vec<Read<'a>>>) -> Vec<Read<'a>> {
    used.try_recv().unwrap_or_else(|_| Vec::with_capacity(CHUNK))
}
