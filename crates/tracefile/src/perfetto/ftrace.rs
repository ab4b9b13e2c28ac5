//! Events of the kernel: which messages they are, and how their fields become columns.

use std::collections::HashMap;
use std::sync::Arc;

use super::wire::{Fields, Value, last, text};
use crate::columns::Column;
use crate::{ColumnType, EventType, Field};

/// The messages that are known.
const EVENTS: &str = include_str!("events.txt");

/// Number of the message whose fields bring their names along.
pub(super) const GENERIC: u32 = 327;

/// Fields of a type that the table does not have.
const MOST_FIELDS: usize = 1000;

/// How a field's values are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Signed(u8),
    Unsigned(u8),
    Truth,
    Text,
    Numbers,
}

/// A field of a message: its number, or its name where the event brings it along.
#[derive(Debug, Clone)]
struct Known {
    number: u32,
    name: String,
    kind: Kind,
    seen: bool,
}

/// A type of event.
#[derive(Debug)]
pub(super) struct Type {
    name: String,
    system: String,
    generic: bool,
    fields: Vec<Known>,
    pub(super) flags: bool,
}

/// An event as it lies in its bundle.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Told<'a> {
    pub(super) time: u64,
    pub(super) thread: i32,
    pub(super) flags: Option<u8>,
    /// The message's number and fields.
    pub(super) message: u32,
    pub(super) fields: &'a [u8],
}

impl<'a> Told<'a> {
    /// None: it has no message of its own, or is damaged.
    pub(super) fn read(event: &'a [u8]) -> Option<Self> {
        let mut told = Self::default();
        let mut fields = Fields::of(event);
        for (number, value) in fields.by_ref() {
            match (number, value) {
                (1, value) => told.time = value.number()?,
                (2, value) => told.thread = value.number()? as i32,
                (5, value) => told.flags = value.number().map(|flags| flags as u8),
                (_, Value::Bytes(bytes)) => (told.message, told.fields) = (number, bytes),
                _ => {}
            }
        }
        (told.message != 0 && !fields.damaged).then_some(told)
    }

    /// The name of an event whose message brings it along.
    pub(super) fn generic_name(&self) -> String {
        last(self.fields, 1).map(text).unwrap_or_default()
    }
}

/// The known messages by number: name and fields.
pub(super) fn known() -> HashMap<u32, (&'static str, &'static str)> {
    EVENTS
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| {
            let (number, rest) = line.split_once(' ')?;
            let (name, fields) = rest.split_once(' ').unwrap_or((rest, ""));
            Some((number.parse().ok()?, (name, fields)))
        })
        .collect()
}

impl Type {
    /// Of a message of the table.
    pub(super) fn known(name: &str, fields: &str) -> Self {
        let fields = fields.split_whitespace().filter_map(|field| {
            let (name, rest) = field.split_once(':')?;
            let digits = rest.find(|c: char| !c.is_ascii_digit())?;
            let kind = match &rest[digits..] {
                "i" => Kind::Signed(32),
                "l" => Kind::Signed(64),
                "u" => Kind::Unsigned(32),
                "U" => Kind::Unsigned(64),
                "b" => Kind::Truth,
                "s" => Kind::Text,
                "U*" => Kind::Numbers,
                _ => return None,
            };
            Some(Known {
                number: rest[..digits].parse().ok()?,
                name: name.into(),
                kind,
                seen: false,
            })
        });
        Self::new(name, "", false, fields.collect())
    }

    /// Of an event that is described in the file, or brings the names of its fields along.
    pub(super) fn described(name: &str, system: &str, generic: bool) -> Self {
        Self::new(name, system, generic, Vec::new())
    }

    fn new(name: &str, system: &str, generic: bool, fields: Vec<Known>) -> Self {
        Self { name: name.into(), system: system.into(), generic, fields, flags: false }
    }

    /// Adds a field that a descriptor tells: its protobuf type is a number of `FieldDescriptorProto`.
    pub(super) fn add(&mut self, number: u32, name: &str, of: u64) {
        let kind = match of {
            3 | 16 | 18 => Kind::Signed(64),
            5 | 15 | 17 => Kind::Signed(32),
            4 | 6 => Kind::Unsigned(64),
            7 | 13 => Kind::Unsigned(32),
            8 => Kind::Truth,
            _ => Kind::Text,
        };
        if self.fields.len() < MOST_FIELDS && self.fields.iter().all(|field| field.name != name) {
            self.fields.push(Known { number, name: name.into(), kind, seen: false });
        }
    }

    /// Learns which fields occur.
    pub(super) fn learn(&mut self, told: &Told<'_>) {
        self.flags |= told.flags.is_some();
        let room = self.fields.len() < MOST_FIELDS;
        for (number, value) in Fields::of(told.fields) {
            if self.generic {
                if number == 2
                    && let Some((name, of)) = named(value.bytes())
                {
                    self.learn_generic(&name, of);
                }
                continue;
            }
            match self.fields.iter_mut().find(|field| field.number == number) {
                Some(field) => field.seen = true,
                None if room => {
                    let kind = match value {
                        Value::Bytes(_) => Kind::Text,
                        _ => Kind::Unsigned(64),
                    };
                    let name = format!("field_{number}");
                    self.fields.push(Known { number, name, kind, seen: true });
                }
                None => {}
            }
        }
    }

    fn learn_generic(&mut self, name: &str, value: Generic<'_>) {
        let kind = match value {
            Generic::Text(_) => Kind::Text,
            Generic::Signed(_) => Kind::Signed(64),
            Generic::Unsigned(_) => Kind::Unsigned(64),
        };
        let room = self.fields.len() < MOST_FIELDS;
        match self.fields.iter_mut().find(|field| field.name == name) {
            // Of several kinds: as text.
            Some(field) if field.kind != kind => field.kind = Kind::Text,
            Some(_) => {}
            None if room => {
                self.fields.push(Known { number: 0, name: name.into(), kind, seen: true });
            }
            None => {}
        }
    }

    /// How the trace describes it; fields that never occurred are left out.
    pub(super) fn describe(&mut self, name: String) -> EventType {
        self.fields.retain(|field| field.seen);
        let mut fields = vec![Field::common("common_pid", ColumnType::Signed(32), false)];
        if self.flags {
            fields.push(Field::common("common_flags", ColumnType::Unsigned(8), true));
        }
        fields.extend(self.fields.iter().map(|field| {
            let column = match field.kind {
                Kind::Signed(bits) => ColumnType::Signed(bits),
                Kind::Unsigned(bits) => ColumnType::Unsigned(bits),
                Kind::Truth => ColumnType::Bool,
                Kind::Text => ColumnType::Text,
                Kind::Numbers => ColumnType::List(Arc::new(ColumnType::Unsigned(64))),
            };
            Field::payload(&field.name, column)
        }));
        EventType { name, system: self.system.clone(), fields, print_format: String::new() }
    }

    /// The same with another name.
    pub(super) fn renamed(self, name: String) -> Self {
        Self { name, ..self }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Pushes the chosen fields of an event.
    pub(super) fn push(&self, told: &Told<'_>, chosen: &[usize], columns: &mut [Column]) {
        let before = 1 + usize::from(self.flags);
        for (&field, column) in chosen.iter().zip(columns) {
            match field.checked_sub(before) {
                None if field == 0 => column.signed(i64::from(told.thread)),
                None => match told.flags {
                    Some(flags) => column.unsigned(u64::from(flags)),
                    None => column.null(),
                },
                Some(own) => self.value(told, &self.fields[own], column),
            }
        }
    }

    fn value(&self, told: &Told<'_>, field: &Known, column: &mut Column) {
        if self.generic {
            let found = Fields::of(told.fields)
                .filter(|(number, _)| *number == 2)
                .filter_map(|(_, value)| named(value.bytes()))
                .filter(|(name, _)| *name == field.name)
                .last();
            return match (found, field.kind) {
                (None, _) => column.null(),
                (Some((_, Generic::Text(text))), Kind::Text) => column.bytes(text),
                (Some((_, Generic::Signed(value))), Kind::Text) => {
                    column.bytes(value.to_string().as_bytes());
                }
                (Some((_, Generic::Unsigned(value))), Kind::Text) => {
                    column.bytes(value.to_string().as_bytes());
                }
                (Some((_, Generic::Signed(value))), _) => column.signed(value),
                (Some((_, Generic::Unsigned(value))), _) => column.unsigned(value),
                (Some((_, Generic::Text(_))), _) => column.null(),
            };
        }
        if field.kind == Kind::Numbers {
            for (_, value) in Fields::of(told.fields).filter(|(of, _)| *of == field.number) {
                super::wire::numbers(value).into_iter().for_each(|n| column.items().unsigned(n));
            }
            return column.end_list();
        }
        match (last(told.fields, field.number), field.kind) {
            (Some(Value::Bytes(text)), Kind::Text) => column.bytes(text),
            (Some(value), Kind::Text) => {
                let text = value.number().unwrap_or(0).to_string();
                column.bytes(text.as_bytes());
            }
            (Some(value), _) => match value.number() {
                Some(number) => column.unsigned(number),
                None => column.null(),
            },
            (None, _) => column.null(),
        }
    }
}

enum Generic<'a> {
    Text(&'a [u8]),
    Signed(i64),
    Unsigned(u64),
}

/// A field of a `GenericFtraceEvent`: its name and value.
fn named(field: &[u8]) -> Option<(String, Generic<'_>)> {
    let mut name = None;
    let mut of = None;
    for (number, value) in Fields::of(field) {
        match number {
            1 => name = Some(text(value)),
            3 => of = Some(Generic::Text(value.bytes())),
            4 => of = value.number().map(|value| Generic::Signed(value as i64)),
            5 => of = value.number().map(Generic::Unsigned),
            _ => {}
        }
    }
    Some((name?, of?))
}
