//! A trace's description, losses and damage as JSON: what programs in other languages read.

use serde_json::{Value, json};

use crate::{
    ByteOrder, Clock, ColumnType, Damage, EventType, Field, Format, Info, Label, Loss, LossKind,
    Scope, Stream,
};

impl Info {
    /// The description as one JSON object. Types of columns are texts: `u32`, `text`,
    /// `list<u8>`, `struct<x: i32, y: f64>`; labels are `[first, last, name]`.
    pub fn to_json(&self) -> Value {
        json!({
            "format": format_name(self.format),
            "byte_order": match self.byte_order {
                ByteOrder::Little => "little",
                ByteOrder::Big => "big",
            },
            "environment": self.environment(),
            "clock": self.clock.to_json(),
            "streams": self.streams.iter().map(stream).collect::<Vec<_>>(),
            "events": self.events.iter().map(event).collect::<Vec<_>>(),
            "tasks": self.tasks,
            "losses": self.losses.iter().map(Loss::to_json).collect::<Vec<_>>(),
            "damage": self.damage.iter().map(Damage::to_json).collect::<Vec<_>>(),
            "notes": self.notes,
        })
    }

    /// The parts of it that a first look needs, without fields and formats of events, which are
    /// nearly all of it: `events` are names, `streams` numbers of CPUs.
    pub fn outline(&self) -> Value {
        json!({
            "format": format_name(self.format),
            "environment": self.environment(),
            "clock": self.clock.to_json(),
            "streams": self.streams.iter().map(|stream| stream.cpu).collect::<Vec<_>>(),
            "events": self.events.iter().map(|event| &event.name).collect::<Vec<_>>(),
        })
    }

    fn environment(&self) -> Value {
        let pairs = self.environment.iter().map(|(name, value)| (name.clone(), json!(value)));
        Value::Object(pairs.collect())
    }
}

impl Clock {
    fn to_json(&self) -> Value {
        json!({
            "name": self.name,
            "frequency_hz": self.frequency_hz,
            "epoch_offset_ns": self.epoch_offset_ns,
            "uuid": self.uuid,
        })
    }
}

impl Loss {
    /// `{"stream", "kind": "events" | "packets", "begin", "end", "count"}`; what is not known is null.
    pub fn to_json(&self) -> Value {
        json!({
            "stream": self.stream,
            "kind": match self.kind {
                LossKind::Events => "events",
                LossKind::Packets => "packets",
            },
            "begin": self.begin,
            "end": self.end,
            "count": self.count,
        })
    }
}

impl Damage {
    /// `{"file", "offset", "stream", "what"}`; an unknown stream is null.
    pub fn to_json(&self) -> Value {
        json!({
            "file": self.file.to_string_lossy(),
            "offset": self.offset,
            "stream": self.stream,
            "what": self.what,
        })
    }
}

fn format_name(format: Format) -> &'static str {
    match format {
        Format::Ctf1 => "CTF 1.8",
        Format::Ctf2 => "CTF 2",
        Format::TraceDat6 => "trace.dat 6",
        Format::TraceDat7 => "trace.dat 7",
        Format::PerfData => "perf.data",
        Format::FtraceText => "ftrace text",
        Format::ChromeJson => "Chrome JSON",
        Format::Perfetto => "Perfetto",
    }
}

fn stream(stream: &Stream) -> Value {
    json!({
        "name": stream.name,
        "cpu": stream.cpu,
        "files": stream.files.iter().map(|file| file.to_string_lossy()).collect::<Vec<_>>(),
        "bytes": stream.bytes,
    })
}

fn event(event: &EventType) -> Value {
    json!({
        "name": event.name,
        "system": event.system,
        "print_format": event.print_format,
        "fields": event.fields.iter().map(field).collect::<Vec<_>>(),
    })
}

fn field(field: &Field) -> Value {
    json!({
        "name": field.name,
        "type": type_name(&field.column),
        "scope": match field.scope {
            Scope::Packet => "packet",
            Scope::Common => "common",
            Scope::Context => "context",
            Scope::Payload => "payload",
        },
        "nullable": field.nullable,
        "base": field.base,
        "labels": field.labels.iter().map(label).collect::<Vec<_>>(),
    })
}

fn type_name(column: &ColumnType) -> String {
    match column {
        ColumnType::Bool => "bool".into(),
        ColumnType::Unsigned(bits) => format!("u{bits}"),
        ColumnType::Signed(bits) => format!("i{bits}"),
        ColumnType::Float(bits) => format!("f{bits}"),
        ColumnType::Text => "text".into(),
        ColumnType::Binary => "binary".into(),
        ColumnType::List(of) => format!("list<{}>", type_name(of)),
        ColumnType::Struct(members) => {
            let members: Vec<_> =
                members.iter().map(|m| format!("{}: {}", m.name, type_name(&m.column))).collect();
            format!("struct<{}>", members.join(", "))
        }
    }
}

fn label(label: &Label) -> Value {
    json!([number(label.first), number(label.last), label.name])
}

/// Every value of a 64-bit field fits; a range that reaches beyond ends where those do.
fn number(value: i128) -> Value {
    match u64::try_from(value) {
        Ok(value) => json!(value),
        Err(_) if value > 0 => json!(u64::MAX),
        Err(_) => json!(i64::try_from(value).unwrap_or(i64::MIN)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Clock, Member};

    #[test]
    fn a_description_says_everything_that_is_known() {
        let members = [Member { name: "x".into(), column: ColumnType::Float(64) }];
        let info = Info {
            format: Format::Ctf1,
            byte_order: ByteOrder::Big,
            environment: vec![("hostname".into(), "board".into())],
            clock: Clock {
                name: "monotonic".into(),
                frequency_hz: 1_000_000_000,
                epoch_offset_ns: Some(-1),
                uuid: None,
            },
            streams: vec![],
            events: vec![EventType {
                name: "e".into(),
                system: "s".into(),
                fields: vec![Field {
                    name: "f".into(),
                    column: ColumnType::List(ColumnType::Struct(members.into()).into()),
                    scope: Scope::Context,
                    nullable: true,
                    base: 16,
                    labels: [Label { first: i128::MIN, last: u64::MAX.into(), name: "l".into() }]
                        .into(),
                }],
                print_format: String::new(),
            }],
            tasks: vec![(7, "seven".into())],
            losses: vec![Loss {
                stream: 0,
                kind: LossKind::Packets,
                begin: None,
                end: Some(9),
                count: None,
            }],
            damage: vec![],
            notes: vec!["note".into()],
        };
        let said = info.to_json();
        assert_eq!(said["format"], "CTF 1.8");
        assert_eq!(said["byte_order"], "big");
        assert_eq!(said["environment"]["hostname"], "board");
        assert_eq!(said["clock"]["epoch_offset_ns"], -1);
        let field = &said["events"][0]["fields"][0];
        assert_eq!(field["type"], "list<struct<x: f64>>");
        assert_eq!(field["labels"][0], json!([i64::MIN, u64::MAX, "l"]));
        assert_eq!(said["tasks"], json!([[7, "seven"]]));
        assert_eq!(said["losses"][0]["kind"], "packets");
        assert_eq!(said["losses"][0]["begin"], Value::Null);
    }
}
