//! Fields by their names, where a trace has no print format: `prev_comm="sh", prev_tid=7`.

use std::io::Write;

use tracefile::{ColumnType, Field, Label, Scope};

use crate::cells::{Column, Value};
use crate::conversion::decimal;
use crate::lines::{BlockText, Lines, is_plain};

/// A field, and how its values are written.
#[derive(Debug)]
pub(crate) struct NamedField {
    pub(crate) name: String,
    labels: Vec<Label>,
    hexadecimal: bool,
    /// `NAME=` of the first field and of others.
    before: [BlockText; 2],
}

/// Bytes of a number, or of what stands around a text.
const NUMBER: usize = 32;
/// Items of a list that are written; the rest are counted.
const MOST_ITEMS: usize = 256;
/// Structures within structures that are written.
const DEEPEST: usize = 8;

impl NamedField {
    pub(crate) fn all(fields: &[Field]) -> Vec<Self> {
        let shown = |field: &&Field| {
            field.scope != Scope::Packet && !(field.scope == Scope::Common && common(&field.name))
        };
        let named = |field: &Field| Self {
            name: field.name.clone(),
            labels: field.labels.to_vec(),
            hexadecimal: field.base == 16 && matches!(field.column, ColumnType::Unsigned(_)),
            before: ["", ", "]
                .map(|with| BlockText::new(format!("{with}{}=", field.name).as_bytes())),
        };
        fields.iter().filter(shown).map(named).collect()
    }

    /// Writes `NAME=VALUE`.
    pub(crate) fn write(&self, out: &mut Vec<u8>, column: &Column<'_>, row: usize) {
        out.extend_from_slice(self.name.as_bytes());
        out.push(b'=');
        self.value(out, column, row);
    }

    /// Writes `NAME=VALUE`, of others than the first with a comma before it; returns whether it is
    /// plain ASCII. `other` is room for what is no plain number or text.
    #[inline]
    pub(crate) fn write_line(
        &self,
        lines: &mut Lines,
        first: bool,
        (column, row): (&Column<'_>, usize),
        other: &mut Vec<u8>,
    ) -> bool {
        let before = &self.before[usize::from(!first)];
        lines.room(before.len() + NUMBER);
        lines.text(before);
        let bare = self.labels.is_empty();
        if bare && !self.hexadecimal && column.write_decimal(row, lines) {
            return true;
        }
        if let Some(value) = column.unsigned(row).filter(|_| bare) {
            lines.bytes(b"0x");
            lines.room(NUMBER);
            lines.hexadecimal(value, 1);
            return true;
        }
        if let Some(text) = column.text(row) {
            lines.byte(b'"');
            lines.bytes(text.as_bytes());
            lines.room(1);
            lines.byte(b'"');
            return is_plain(text.as_bytes());
        }
        other.clear();
        self.value(other, column, row);
        lines.bytes(other);
        is_plain(other)
    }

    fn value(&self, out: &mut Vec<u8>, column: &Column<'_>, row: usize) {
        let value = column.get(row);
        if let Value::Int(number) = value {
            let label = self.labels.iter().find(|l| (l.first..=l.last).contains(&number));
            if let Some(label) = label {
                return out.extend_from_slice(label.name.as_bytes());
            }
            if self.hexadecimal {
                return write!(out, "0x{number:x}").expect("memory");
            }
        }
        plain(out, &value, column.is_bool(), 0);
    }
}

/// Fields that every event of ftrace has: which thread, and what it was doing.
fn common(name: &str) -> bool {
    matches!(name, "common_flags" | "common_preempt_count" | "common_pid" | "common_type")
        || name.starts_with("common_preempt_lazy")
}

fn integer(out: &mut Vec<u8>, number: i128) {
    match u64::try_from(number.unsigned_abs()) {
        Ok(magnitude) => {
            if number < 0 {
                out.push(b'-');
            }
            decimal(out, magnitude);
        }
        Err(_) => write!(out, "{number}").expect("memory"),
    }
}

fn plain(out: &mut Vec<u8>, value: &Value<'_>, truth: bool, depth: usize) {
    let text = |text: &str, out: &mut Vec<u8>| out.extend_from_slice(text.as_bytes());
    match value {
        Value::None => text("none", out),
        Value::Int(number) if truth => text(if *number == 0 { "false" } else { "true" }, out),
        Value::Int(number) => integer(out, *number),
        Value::Float(number) => write!(out, "{number:?}").expect("memory"),
        Value::Text(value) => {
            out.push(b'"');
            text(value, out);
            out.push(b'"');
        }
        Value::Bytes(bytes) => crate::pointer::hex(out, bytes, ""),
        _ if depth > DEEPEST => text("…", out),
        Value::List(of, begin, end) => {
            text("[", out);
            for at in *begin..(*end).min(begin + MOST_ITEMS) {
                text(if at > *begin { ", " } else { "" }, out);
                plain(out, &of.get(at), of.is_bool(), depth + 1);
            }
            if end - begin > MOST_ITEMS {
                write!(out, ", and {} more", end - begin - MOST_ITEMS).expect("memory");
            }
            text("]", out);
        }
        Value::Struct(members, row) => {
            text("{", out);
            for (at, (name, column)) in members.iter().enumerate() {
                write!(out, "{}{name}=", if at > 0 { ", " } else { "" }).expect("memory");
                plain(out, &column.get(*row), column.is_bool(), depth + 1);
            }
            text("}", out);
        }
    }
}
