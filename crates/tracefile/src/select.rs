//! Which events and fields are decoded.

use std::collections::HashMap;
use std::ops::Range;

use crate::{Error, Info, Result};

/// What to decode. Events and fields that are not selected are passed over, not stored.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    events: Option<HashMap<String, Option<Vec<String>>>>,
}

impl Selection {
    /// Every field of every event.
    pub fn everything() -> Self {
        Self::default()
    }

    /// No event yet: add to it with [`Selection::event`].
    pub fn nothing() -> Self {
        Self { events: Some(HashMap::new()) }
    }

    /// Adds an event type with all its fields, or with those named. A trace that has no such event
    /// or field gives nothing for it: selections are written for many tracers and kernels.
    pub fn event(mut self, name: &str, fields: Option<&[&str]>) -> Self {
        let fields = fields.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
        self.events.get_or_insert_default().insert(name.to_owned(), fields);
        self
    }

    /// The fields chosen of each event type of the trace, as indices; `None`: the event is not chosen.
    pub(crate) fn resolve(&self, info: &Info, times: Option<Range<i64>>) -> Chosen {
        let fields = info.events.iter().map(|event| {
            let all = || (0..event.fields.len()).collect();
            match &self.events {
                None => Some(all()),
                Some(events) => events.get(&event.name).map(|names| match names {
                    None => all(),
                    Some(names) => (0..event.fields.len())
                        .filter(|&at| names.contains(&event.fields[at].name))
                        .collect(),
                }),
            }
        });
        Chosen { fields: fields.collect(), times }
    }

    /// An error when the selection names what the trace does not have.
    pub fn check(&self, info: &Info) -> Result<()> {
        for (name, fields) in self.events.iter().flatten() {
            let event = info.events.iter().find(|event| event.name == *name);
            let event = event.ok_or_else(|| Error::Unknown(format!("event {name}")))?;
            for field in fields.iter().flatten() {
                if !event.fields.iter().any(|known| known.name == *field) {
                    return Err(Error::Unknown(format!("field {field} in event {name}")));
                }
            }
        }
        Ok(())
    }
}

/// A selection, resolved for one trace: per event type the chosen fields in ascending order.
pub(crate) struct Chosen {
    fields: Vec<Option<Vec<usize>>>,
    times: Option<Range<i64>>,
}

impl Chosen {
    /// Indices into the event type's fields; column `n` of its table is field `fields(event)[n]`.
    pub(crate) fn fields(&self, event: usize) -> Option<&[usize]> {
        self.fields.get(event)?.as_deref()
    }

    /// The times of which events are chosen; `None`: all.
    pub(crate) fn times(&self) -> Option<&Range<i64>> {
        self.times.as_ref()
    }

    /// Whether an event at this time is chosen, when its type is.
    #[inline]
    pub(crate) fn at(&self, time: i64) -> bool {
        self.times.as_ref().is_none_or(|times| times.contains(&time))
    }
}
