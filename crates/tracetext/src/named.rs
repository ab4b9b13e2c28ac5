//! Fields by their names, where a trace has no print format: `prev_comm="sh", prev_tid=7`.

use std::io::Write;

use tracefile::{ColumnType, Field, Label, Scope};

use crate::cells::{Column, Value};

/// A field, and how its values are written.
#[derive(Debug)]
pub(crate) struct NamedField {
    pub(crate) name: String,
    labels: Vec<Label>,
    hexadecimal: bool,
}

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
        };
        fields.iter().filter(shown).map(named).collect()
    }

    /// Writes `NAME=VALUE`.
    pub(crate) fn write(&self, out: &mut Vec<u8>, column: &Column<'_>, row: usize) {
        out.extend_from_slice(self.name.as_bytes());
        out.push(b'=');
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

fn plain(out: &mut Vec<u8>, value: &Value<'_>, truth: bool, depth: usize) {
    let text = |text: &str, out: &mut Vec<u8>| out.extend_from_slice(text.as_bytes());
    match value {
        Value::None => text("none", out),
        Value::Int(number) if truth => text(if *number == 0 { "false" } else { "true" }, out),
        Value::Int(number) => write!(out, "{number}").expect("memory"),
        Value::Float(number) => write!(out, "{number:?}").expect("memory"),
        Value::Text(value) => write!(out, "\"{value}\"").expect("memory"),
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
