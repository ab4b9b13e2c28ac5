//! Event types and layouts of all format texts of a trace.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use rayon::prelude::*;

use crate::dat::format::{self, Format};
use crate::dat::labels::PrintFormat;
use crate::dat::layout::{self, Layout};
use crate::{ColumnType, EventType, Field, Scope};

/// The layouts of all event types; the last one takes records whose type has no format.
pub(crate) struct Events {
    pub(crate) layouts: Vec<Layout>,
    /// The event type of an id; [`Events::unknown`] for ids without one.
    by_id: Vec<u16>,
    /// Where `common_type` is, which tells an event's id.
    pub(crate) type_at: usize,
}

impl Events {
    /// Reads formats, given as system and text, and returns the types in the order of the layouts.
    /// Formats that cannot be read are noted; their events are kept as bytes.
    pub(crate) fn parse(
        formats: &[(String, Cow<'_, [u8]>)],
        long: u8,
        notes: &mut Vec<String>,
    ) -> (Self, Vec<EventType>) {
        let read: Vec<Result<_, String>> =
            formats.par_iter().map(|(system, text)| read_format(system, text, long)).collect();
        let mut types: Vec<EventType> = Vec::with_capacity(read.len() + 1);
        let mut events =
            Self { layouts: Vec::with_capacity(read.len() + 1), by_id: Vec::new(), type_at: 0 };
        let mut places = HashMap::new();
        let mut names: HashMap<String, usize> = HashMap::new();
        for parsed in read {
            let (id, type_at, mut event, layout) = match parsed {
                Ok(parsed) => parsed,
                Err(what) => {
                    notes.push(what);
                    continue;
                }
            };
            if places.contains_key(&id) || types.len() >= usize::from(u16::MAX) - 1 {
                notes.push(format!("event {}: its ID {id} is taken", event.name));
                continue;
            }
            if types.is_empty() {
                events.type_at = type_at;
            } else if type_at != events.type_at {
                notes.push(format!("event {}: common_type stands elsewhere", event.name));
                continue;
            }
            let count = names.entry(event.name.clone()).or_insert(0);
            *count += 1;
            if *count > 1 {
                // A name that two systems have.
                event.name = format!("{}:{}", event.system, event.name);
            }
            places.insert(id, types.len() as u16);
            types.push(event);
            events.layouts.push(layout);
        }
        let unknown = types.len() as u16;
        types.push(unknown_type());
        events.layouts.push(Layout::unknown(events.type_at as u32));
        let most = places.keys().max().map_or(0, |&id| usize::from(id) + 1);
        events.by_id = vec![unknown; most];
        places.into_iter().for_each(|(id, place)| events.by_id[usize::from(id)] = place);
        (events, types)
    }

    /// The type of an event of this id.
    #[inline]
    pub(crate) fn of_id(&self, id: u16) -> usize {
        match self.by_id.get(usize::from(id)) {
            Some(&event) => usize::from(event),
            None => self.layouts.len() - 1,
        }
    }
}

/// ID, place of common_type, type and layout of one text.
fn read_format(
    system: &str,
    text: &[u8],
    long: u8,
) -> Result<(u16, usize, EventType, Layout), String> {
    let text = format::readable(text);
    let format = format::parse(&text, long).map_err(|what| {
        let begin: String = text.lines().next().unwrap_or_default().chars().take(60).collect();
        format!("a format of system {system} ({begin:?}) cannot be read: {what}")
    })?;
    let common = format.fields.iter().find(|field| field.name == "common_type");
    let type_at = match common {
        Some(field) if field.size == 2 => field.offset as usize,
        _ => return Err(format!("event {}: no common_type of 2 bytes", format.name)),
    };
    let layout = Layout::new(&format);
    Ok((format.id, type_at, event_type(system, &format), layout))
}

/// How an event is described to the outside: its fields but `common_type`, which is the table.
pub(crate) fn event_type(system: &str, format: &Format) -> EventType {
    let print = PrintFormat::read(format.print);
    let fields = format.columns().enumerate().map(|(at, field)| {
        let labels = print.labels(field.name);
        let same = format.columns().take(at).filter(|before| before.name == field.name).count();
        Field {
            name: column_name(field.name, same),
            column: layout::column_type(field),
            scope: if field.common() { Scope::Common } else { Scope::Payload },
            nullable: matches!(field.kind, format::Kind::Located { .. }),
            base: print.base(field.name).unwrap_or(if field.pointer { 16 } else { 10 }),
            // Without labels, as nearly all fields are, nothing is allocated.
            labels: if labels.is_empty() { Arc::default() } else { labels.into() },
        }
    });
    EventType {
        name: format.name.to_owned(),
        system: system.to_owned(),
        fields: fields.collect(),
        print_format: format.print.to_owned(),
    }
}

/// The name of a field's column: its own, `payload.NAME` when that is a column of every table, with
/// a number when so many fields of the name stand before it. (Names of fields have no dots.)
fn column_name(name: &str, before: usize) -> String {
    let place = if matches!(name, "time" | "cpu") { "payload." } else { "" };
    match before {
        0 => format!("{place}{name}"),
        _ => format!("{place}{name}.{}", before + 1),
    }
}

fn unknown_type() -> EventType {
    let field = |name: &str, column, scope| Field {
        name: name.into(),
        column,
        scope,
        nullable: false,
        base: 10,
        labels: Arc::new([]),
    };
    EventType {
        name: "unknown".into(),
        system: String::new(),
        fields: vec![
            field("common_type", ColumnType::Unsigned(16), Scope::Common),
            field("data", ColumnType::Binary, Scope::Payload),
        ],
        print_format: String::new(),
    }
}
