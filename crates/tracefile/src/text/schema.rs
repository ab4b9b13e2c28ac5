//! The fields of an event type of a text: learned from its lines, and read from each again.

use std::borrow::Cow;
use std::collections::HashMap;

use super::fields::{self, Format};
use super::line::{Line, Name};
use crate::columns::Column;
use crate::{ColumnType, Field, Label};

/// What the values of a field are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Signed,
    /// Of 64 bits, in base 10 or 16.
    Unsigned {
        hexadecimal: bool,
    },
    /// The letters of a thread's state.
    State,
    /// `handled`.
    Handled,
    /// `MAJOR,MINOR`.
    Device,
    /// `548.771077442`, a moment in nanoseconds.
    Moment,
    /// `thread`: where the tracer timerlat took a sample.
    Context,
    Text,
}

/// Names of the bits of a thread's state, of kernels since 4.14.
const STATES: [(i128, &str); 8] =
    [(1, "S"), (2, "D"), (4, "T"), (8, "t"), (16, "X"), (32, "Z"), (64, "P"), (128, "I")];
/// Marks a thread that was preempted: `R+`.
const PREEMPTED: i64 = 0x100;

/// Where the tracer timerlat takes samples.
const CONTEXTS: [(i128, &str); 3] = [(0, "irq"), (1, "thread"), (2, "user-ret")];

/// Fields of a type whose names are not known beforehand.
const MOST_FIELDS: usize = 128;

/// What is known of a type's fields so far.
pub(super) struct SchemaBuilder {
    format: Option<Format>,
    names: Vec<String>,
    kinds: Vec<Kind>,
    /// By name.
    places: HashMap<String, usize>,
    /// Lines without any field that was understood: the whole text is one.
    whole: bool,
    returns: bool,
    /// Whether a line told in which context it was written.
    flags: bool,
}

/// How lines of a type become rows.
pub(super) struct Schema {
    format: Option<Format>,
    kinds: Vec<Kind>,
    places: HashMap<String, usize>,
    whole: Option<usize>,
    returns: bool,
    /// Fields before the type's own.
    before: usize,
}

impl SchemaBuilder {
    pub(super) fn new(event: &str) -> Self {
        Self {
            format: Format::known(event),
            names: Vec::new(),
            kinds: Vec::new(),
            places: HashMap::new(),
            whole: false,
            returns: event.starts_with("sys_exit_"),
            flags: false,
        }
    }

    /// Learns from a line.
    pub(super) fn learn(&mut self, line: &Line<'_>) {
        let text = line.text;
        self.flags |= line.flags.is_some();
        if let Name::Enter(_) = line.event {
            for (name, value) in fields::pairs(text) {
                self.field(name, &prefixed(value));
            }
            return;
        }
        if self.returns {
            return self.field("ret", text.trim());
        }
        if let Some(found) = self.format.as_ref().and_then(|format| format.read(text)) {
            for (name, value) in found.into_iter().filter(|(name, _)| *name != fields::DERIVED) {
                self.field(name, value);
            }
            return;
        }
        let pairs = fields::pairs(text);
        self.whole |= pairs.is_empty() && !text.is_empty();
        for (name, value) in pairs {
            self.field(name, value);
        }
    }

    fn field(&mut self, name: &str, value: &str) {
        let kind = kind(name, value);
        match self.places.get(name) {
            Some(&place) => self.kinds[place] = joined(self.kinds[place], kind),
            None if self.names.len() < MOST_FIELDS => {
                self.places.insert(name.to_owned(), self.names.len());
                self.names.push(name.to_owned());
                self.kinds.push(kind);
            }
            None => {}
        }
    }

    /// The schema, and the fields as a description has them.
    pub(super) fn build(mut self) -> (Schema, Vec<Field>) {
        let whole = self.whole.then(|| {
            self.names.push("text".into());
            self.kinds.push(Kind::Text);
            self.names.len() - 1
        });
        let mut all = vec![Field::common("common_pid", ColumnType::Signed(32), false)];
        if self.flags {
            all.push(Field::common("common_flags", ColumnType::Unsigned(8), true));
            all.push(Field::common("common_preempt_count", ColumnType::Unsigned(8), true));
        }
        let before = all.len();
        all.extend(self.names.iter().zip(&self.kinds).map(|(name, kind)| described(name, *kind)));
        let schema = Schema {
            format: self.format,
            kinds: self.kinds,
            places: self.places,
            whole,
            returns: self.returns,
            before,
        };
        (schema, all)
    }
}

fn described(name: &str, kind: Kind) -> Field {
    let labels: Vec<Label> = match kind {
        Kind::State => STATES
            .iter()
            .chain([&(0, "R")])
            .map(|&(value, name)| Label { first: value, last: value, name: name.into() })
            .collect(),
        Kind::Handled => [(0, "unhandled"), (1, "handled")]
            .map(|(value, name)| Label { first: value, last: value, name: name.into() })
            .to_vec(),
        Kind::Context => CONTEXTS
            .map(|(value, name)| Label { first: value, last: value, name: name.into() })
            .to_vec(),
        _ => Vec::new(),
    };
    let column = match kind {
        Kind::Signed | Kind::State | Kind::Handled | Kind::Context => ColumnType::Signed(64),
        Kind::Unsigned { .. } | Kind::Device | Kind::Moment => ColumnType::Unsigned(64),
        Kind::Text => ColumnType::Text,
    };
    Field {
        base: if kind == (Kind::Unsigned { hexadecimal: true }) { 16 } else { 10 },
        labels: labels.into(),
        ..Field::payload(name, column)
    }
}

impl Schema {
    /// Pushes the chosen fields of a line.
    pub(super) fn push(&self, line: &Line<'_>, chosen: &[usize], columns: &mut [Column]) {
        let mut values: Vec<Option<&str>> = vec![None; self.kinds.len()];
        let hexadecimal = matches!(line.event, Name::Enter(_));
        if hexadecimal {
            for (name, value) in fields::pairs(line.text) {
                if let Some(&place) = self.places.get(name) {
                    values[place] = Some(value);
                }
            }
        } else if self.returns {
            if let Some(place) = self.places.get("ret") {
                values[*place] = Some(line.text);
            }
        } else if let Some(found) = self.format.as_ref().and_then(|f| f.read(line.text)) {
            for (name, value) in found {
                if let Some(&place) = self.places.get(name) {
                    values[place] = Some(value);
                }
            }
        } else {
            let pairs = fields::pairs(line.text);
            if let Some(whole) = self.whole.filter(|_| pairs.is_empty()) {
                values[whole] = Some(line.text);
            }
            for (name, value) in pairs {
                if let Some(&place) = self.places.get(name) {
                    values[place] = Some(value);
                }
            }
        }
        for (&field, column) in chosen.iter().zip(columns) {
            match field.checked_sub(self.before) {
                None if field == 0 => column.signed(i64::from(line.pid)),
                None if field == 1 => number(column, line.flags.map(|(flags, _)| flags)),
                None => number(column, line.flags.map(|(_, count)| count)),
                Some(own) => match values[own] {
                    Some(value) if hexadecimal => push(self.kinds[own], &prefixed(value), column),
                    Some(value) => push(self.kinds[own], value, column),
                    None => column.null(),
                },
            }
        }
    }
}

/// The kernel writes arguments of system calls in base 16 without saying so.
fn prefixed(value: &str) -> Cow<'_, str> {
    let digits = !value.is_empty() && value.bytes().all(|c| c.is_ascii_hexdigit());
    if digits { format!("0x{value}").into() } else { value.into() }
}

fn number(column: &mut Column, value: Option<u8>) {
    match value {
        Some(value) => column.unsigned(u64::from(value)),
        None => column.null(),
    }
}

fn push(kind: Kind, value: &str, column: &mut Column) {
    let number = match kind {
        Kind::Text => return column.bytes(value.as_bytes()),
        Kind::Signed => signed(value),
        Kind::Unsigned { .. } => unsigned(value).map(|value| value as i64),
        Kind::State => state(value),
        Kind::Handled => Some(i64::from(value == "handled")),
        Kind::Device => device(value),
        Kind::Moment => super::line::moment(value),
        Kind::Context => context(value).or_else(|| signed(value)),
    };
    match number {
        Some(number) => column.signed(number),
        None => column.null(),
    }
}

/// What a value is.
fn kind(name: &str, value: &str) -> Kind {
    match name {
        "prev_state" if state(value).is_some() => return Kind::State,
        "ret" if matches!(value, "handled" | "unhandled") => return Kind::Handled,
        "dev" if device(value).is_some() => return Kind::Device,
        "start" if super::line::moment(value).is_some() => return Kind::Moment,
        "context" if context(value).is_some() => return Kind::Context,
        // Texts, whatever they look like.
        _ if name.ends_with("comm")
            || matches!(name, "name" | "desc" | "filename" | "buf" | "rwbs") =>
        {
            return Kind::Text;
        }
        _ => {}
    }
    if signed(value).is_some() {
        return Kind::Signed;
    }
    match unsigned(value) {
        Some(_) => Kind::Unsigned { hexadecimal: value.starts_with("0x") },
        None => Kind::Text,
    }
}

/// The kind of a field that has values of both.
fn joined(a: Kind, b: Kind) -> Kind {
    match (a, b) {
        (a, b) if a == b => a,
        (Kind::Signed, Kind::Unsigned { hexadecimal })
        | (Kind::Unsigned { hexadecimal }, Kind::Signed) => Kind::Unsigned { hexadecimal },
        (Kind::Unsigned { .. }, Kind::Unsigned { .. }) => Kind::Unsigned { hexadecimal: true },
        _ => Kind::Text,
    }
}

fn signed(value: &str) -> Option<i64> {
    value.parse().ok()
}

fn unsigned(value: &str) -> Option<u64> {
    match value.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        // A negative number of a field that otherwise is beyond the signed ones.
        None => value.parse().ok().or_else(|| signed(value).map(|value| value as u64)),
    }
}

/// `S`, `D|K`, `R+`, `x`, or the number itself.
fn state(value: &str) -> Option<i64> {
    if let Some(number) = signed(value) {
        return Some(number);
    }
    let (letters, preempted): (Cow<'_, str>, i64) = match value.strip_suffix('+') {
        Some(letters) => (letters.into(), PREEMPTED),
        None => (value.into(), 0),
    };
    let mut bits = 0;
    for letter in letters.split('|').filter(|letter| !matches!(*letter, "R" | "")) {
        bits |= match letter {
            // What older kernels call otherwise.
            "K" | "W" | "N" | "w" | "n" => 0,
            "x" => 16,
            _ => STATES.iter().find(|(_, name)| *name == letter)?.0 as i64,
        };
    }
    Some(bits | preempted)
}

/// As the kernel's `dev_t` has it.
fn device(value: &str) -> Option<i64> {
    let (major, minor) = value.split_once(',')?;
    Some(major.parse::<i64>().ok()? << 20 | minor.parse::<i64>().ok()?)
}

/// As the kernel counts where timerlat took a sample.
fn context(value: &str) -> Option<i64> {
    CONTEXTS.iter().find(|(_, name)| *name == value).map(|(number, _)| *number as i64)
}
