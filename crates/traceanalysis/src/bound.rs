//! Event types with the columns in which a pass reads them.

use crate::columns::{Ints, Rows};
use crate::input::EventTable;

/// An event type that means something, with its rows.
pub(crate) struct Bound<'a, F> {
    pub(crate) rows: Rows,
    pub(crate) flags: Option<Ints<'a>>,
    /// The thread that ran, where the tracer notes it with every event.
    pub(crate) thread: Option<Ints<'a>>,
    pub(crate) fields: F,
}

/// The rows of an event type with the columns that `fields` finds; `None` when it has no rows, or
/// means nothing.
pub(crate) fn bind<'a, F>(
    event: &'a EventTable,
    fields: impl FnOnce(&'a EventTable) -> Option<F>,
) -> Option<Bound<'a, F>> {
    let rows = Rows::new(&event.batches);
    if rows.is_empty() {
        return None;
    }
    let fields = fields(event)?;
    Some(Bound {
        rows,
        flags: Ints::of(&event.batches, "common_flags"),
        thread: Ints::of(&event.batches, "common_pid"),
        fields,
    })
}
