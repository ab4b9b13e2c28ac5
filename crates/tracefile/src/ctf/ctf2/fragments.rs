//! Fragments of CTF 2 metadata: preamble, trace, clocks, data streams, event records.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::super::classes::{
    ClockClass, EventClass, FieldClass, Integer, Kind, Member, Role, Roles, StreamClass, TraceClass,
};
use super::super::metadata::Problem;
use super::super::uuid;
use super::fields::{Fields, inner, text};
use super::{Wrong, unsupported, wrong};
use crate::ByteOrder;

type Object = Map<String, Value>;

#[derive(Default)]
pub(super) struct Builder {
    fields: Fields,
    preamble: bool,
    trace_class: bool,
    uuid: Option<[u8; 16]>,
    environment: Vec<(String, String)>,
    packet_header: Option<FieldClass>,
    clocks: Vec<ClockClass>,
    streams: Vec<StreamClass>,
    stream_ids: HashMap<u64, usize>,
    events: Vec<EventClass>,
    notes: Vec<String>,
}

impl Builder {
    pub(super) fn build(mut self, metadata: &[u8]) -> Result<TraceClass, Problem> {
        let mut at = 0;
        for fragment in metadata.split(|&byte| byte == 0x1e) {
            if !fragment.iter().all(u8::is_ascii_whitespace) {
                self.fragment(fragment).map_err(|wrong| match wrong {
                    Wrong::Damaged(what) => Problem::Damaged(at, what),
                    Wrong::Unsupported(what) => Problem::Unsupported(what),
                })?;
            }
            at += fragment.len() as u64 + 1;
        }
        if self.streams.is_empty() {
            let what = "no data-stream-class: without one there can be no events";
            return Err(Problem::Damaged(at.saturating_sub(1), what.into()));
        }
        Ok(TraceClass {
            version: 2,
            byte_order: self.fields.order.unwrap_or(ByteOrder::Little),
            uuid: self.uuid,
            environment: self.environment,
            packet_header: self.packet_header,
            clocks: self.clocks,
            streams: self.streams,
            events: self.events,
            slots: 0,
            notes: self.notes,
        })
    }

    fn fragment(&mut self, fragment: &[u8]) -> Result<(), Wrong> {
        let value: Value = serde_json::from_slice(fragment)
            .map_err(|error| Wrong::Damaged(format!("a fragment that is no JSON: {error}")))?;
        let Value::Object(object) = &value else { return wrong("a fragment that is no object") };
        let kind = text(object, "type")?;
        if self.preamble != (kind != "preamble") {
            return wrong("the first fragment, and no other, must be the preamble");
        }
        no_extensions(&value)?;
        match kind {
            "preamble" => self.preamble(object),
            "field-class-alias" => {
                self.fields.alias(text(object, "name")?, inner(object, "field-class")?)
            }
            "trace-class" => self.trace(object),
            "clock-class" => self.clock(object),
            "data-stream-class" => self.stream(object),
            "event-record-class" => self.event(object),
            other => wrong(format!("a fragment of the unknown type {other}")),
        }
    }

    fn preamble(&mut self, object: &Object) -> Result<(), Wrong> {
        self.preamble = true;
        match inner(object, "version")?.as_u64() {
            Some(2) => {}
            _ => return unsupported(format!("CTF version {}", object["version"])),
        }
        self.uuid = uuid(object)?;
        Ok(())
    }

    fn trace(&mut self, object: &Object) -> Result<(), Wrong> {
        if std::mem::replace(&mut self.trace_class, true) {
            return wrong("a second trace-class");
        }
        let own = uuid(object)?;
        self.uuid = self.uuid.or(own);
        if let Some(class) = object.get("packet-header-field-class") {
            self.packet_header = Some(self.fields.class(class)?);
        }
        for (name, value) in
            object.get("environment").and_then(Value::as_object).into_iter().flatten()
        {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            self.environment.push((name.clone(), value));
        }
        Ok(())
    }

    fn clock(&mut self, object: &Object) -> Result<(), Wrong> {
        let name = object.get("name").and_then(Value::as_str);
        let id = object.get("id").and_then(Value::as_str);
        let Some(key) = id.or(name) else { return wrong("a clock class without an id") };
        let frequency = match inner(object, "frequency")?.as_u64() {
            Some(frequency) if frequency > 0 => frequency,
            _ => return wrong("a clock's frequency is no positive number"),
        };
        let offset = object.get("offset-from-origin").and_then(Value::as_object);
        let part = |name: &str| offset.and_then(|offset| offset.get(name));
        let unix = match object.get("origin") {
            Some(origin) => origin == "unix-epoch",
            // Before the final dialect the Unix epoch went without saying.
            None => id.is_none() && offset.is_some(),
        };
        let identity = object.get("uid").and_then(Value::as_str).map(str::to_owned);
        self.clocks.push(ClockClass {
            id: key.to_owned(),
            name: name.unwrap_or(key).to_owned(),
            uuid: match identity {
                Some(uid) => Some(uid),
                None => uuid(object)?.map(|bytes| uuid::text(&bytes)),
            },
            frequency,
            offset_seconds: part("seconds").and_then(Value::as_i64).unwrap_or(0),
            offset_cycles: part("cycles").and_then(Value::as_i64).unwrap_or(0),
            unix,
        });
        Ok(())
    }

    fn stream(&mut self, object: &Object) -> Result<(), Wrong> {
        let id = identity(object, "id")?;
        let named = object.get("default-clock-class-id").or(object.get("default-clock-class-name"));
        let clock = match named.map(|value| value.as_str().unwrap_or("")) {
            None => None,
            Some(key) => match self.clocks.iter().position(|clock| clock.id == key) {
                None => return wrong(format!("the unknown clock class {key}")),
                known => known,
            },
        };
        let mut packet_context = self.optional(object, "packet-context-field-class")?;
        if let Some(class) = &mut packet_context {
            packet_roles(class);
        }
        let event_header = self.optional(object, "event-record-header-field-class")?;
        let common_context = self.optional(object, "event-record-common-context-field-class")?;
        if self.stream_ids.insert(id, self.streams.len()).is_some() {
            return wrong(format!("a second data-stream-class of id {id}"));
        }
        let events = HashMap::new();
        self.streams.push(StreamClass {
            id,
            packet_context,
            event_header,
            common_context,
            clock,
            events,
        });
        Ok(())
    }

    fn event(&mut self, object: &Object) -> Result<(), Wrong> {
        let (id, stream_id) = (identity(object, "id")?, identity(object, "data-stream-class-id")?);
        let Some(&stream) = self.stream_ids.get(&stream_id) else {
            return wrong(format!("an event-record-class of the unknown data stream {stream_id}"));
        };
        let given = |name: &str| object.get(name).and_then(Value::as_str);
        let name = given("name").map_or_else(|| format!("event {id}"), str::to_owned);
        let system = given("namespace").unwrap_or("").to_owned();
        let context = self.optional(object, "specific-context-field-class")?;
        let payload = self.optional(object, "payload-field-class")?;
        let place = self.events.len();
        if self.streams[stream].events.insert(id, place).is_some() {
            return wrong(format!("a second event-record-class of id {id}"));
        }
        self.events.push(EventClass { stream, id, name, system, context, payload });
        Ok(())
    }

    fn optional(&mut self, object: &Object, name: &str) -> Result<Option<FieldClass>, Wrong> {
        match object.get(name) {
            None => Ok(None),
            Some(class) => self.fields.class(class).map(Some),
        }
    }
}

fn identity(object: &Object, name: &str) -> Result<u64, Wrong> {
    match object.get(name).map(Value::as_u64) {
        None => Ok(0),
        Some(Some(id)) => Ok(id),
        Some(None) => wrong(format!("{name} is no natural number")),
    }
}

fn uuid(object: &Object) -> Result<Option<[u8; 16]>, Wrong> {
    let Some(value) = object.get("uuid") else { return Ok(None) };
    let byte = |value: &Value| value.as_u64().and_then(|byte| u8::try_from(byte).ok());
    let bytes = value.as_array().and_then(|all| all.iter().map(byte).collect::<Option<Vec<u8>>>());
    match bytes.and_then(|bytes| bytes.try_into().ok()) {
        Some(bytes) => Ok(Some(bytes)),
        None => wrong("a uuid that is no list of 16 bytes"),
    }
}

/// In a packet's context the clock's stamp is when the packet begins. The CPU has no role: it goes by
/// the name that tracers give it.
fn packet_roles(class: &mut FieldClass) {
    let Kind::Struct(members) = &mut class.kind else { return };
    for Member { name, class } in members {
        match &mut class.kind {
            Kind::Integer(Integer { roles, .. }) => {
                if roles.has(Role::Time) {
                    *roles = Roles::only(Role::Begin);
                } else if name == "cpu_id" && roles.is_empty() {
                    *roles = Roles::only(Role::Cpu);
                }
            }
            _ => packet_roles(class),
        }
    }
}

/// An extension may change the layout of anything: a reader that does not know it must refuse.
fn no_extensions(value: &Value) -> Result<(), Wrong> {
    match value {
        Value::Array(values) => values.iter().try_for_each(no_extensions),
        Value::Object(object) => {
            for (name, value) in object {
                match name.as_str() {
                    "extensions" => {
                        let names = value.as_object().map_or(vec![], |of| of.keys().collect());
                        if value != &Value::Object(Map::new()) {
                            return unsupported(format!("the unknown extensions {names:?}"));
                        }
                    }
                    // Free of meaning, or not of classes.
                    "attributes" | "user-attributes" | "environment" | "mappings" | "flags" => {}
                    _ => no_extensions(value)?,
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}
