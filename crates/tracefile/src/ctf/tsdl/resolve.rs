//! The blocks of TSDL as a trace class.

use std::collections::HashMap;

use super::super::classes::{
    Bytes, ClockClass, EventClass, FieldClass, Integer, Kind, Length, Role, Roles, Scope,
    StreamClass, TraceClass,
};
use super::super::uuid;
use super::Fault;
use super::lexer::Token;
use super::parser::{Attribute, Item, ItemKind};
use super::types::{self, Types, number, text};
use crate::ByteOrder;

fn fault<T>(offset: usize, what: impl Into<String>) -> Result<T, Fault> {
    Err(Fault { offset, what: what.into() })
}

/// The trace that a metadata text describes.
pub(super) fn trace(items: &[Item]) -> Result<TraceClass, Fault> {
    let order = trace_byte_order(items)?;
    let mut builder = Builder {
        types: Types::new(order),
        stream_ids: HashMap::new(),
        trace: TraceClass {
            version: 1,
            byte_order: order,
            uuid: None,
            environment: Vec::new(),
            packet_header: None,
            clocks: Vec::new(),
            streams: Vec::new(),
            events: Vec::new(),
            slots: 0,
            notes: Vec::new(),
        },
    };
    // Streams refer to clocks, and events to streams, wherever these are written: LTTng-UST tells
    // the events of a program's start before their stream.
    let mut ordered: Vec<_> = items.iter().collect();
    ordered.sort_by_key(|item| match &item.kind {
        ItemKind::Block { kind, .. } if kind == "clock" => 0,
        ItemKind::Block { kind, .. } if kind == "event" => 2,
        _ => 1,
    });
    for item in ordered {
        builder.item(item)?;
    }
    Ok(builder.trace)
}

/// Types before the trace block depend on its byte order.
fn trace_byte_order(items: &[Item]) -> Result<ByteOrder, Fault> {
    for item in items {
        let ItemKind::Block { kind, items } = &item.kind else { continue };
        if kind != "trace" {
            continue;
        }
        for item in items {
            if let ItemKind::Assign(attribute) = &item.kind
                && attribute.name == "byte_order"
            {
                return types::byte_order(attribute, ByteOrder::Little);
            }
        }
        return fault(item.offset, "a trace block without byte_order");
    }
    fault(0, "no trace block")
}

struct Builder {
    types: Types,
    stream_ids: HashMap<u64, usize>,
    trace: TraceClass,
}

impl Builder {
    fn item(&mut self, item: &Item) -> Result<(), Fault> {
        if self.types.declare(item)? {
            return Ok(());
        }
        let ItemKind::Block { kind, items } = &item.kind else {
            return fault(item.offset, "a field or assignment outside of all blocks");
        };
        self.types.enter();
        match kind.as_str() {
            "trace" => self.trace_block(items)?,
            "env" => self.env(items),
            "clock" => self.clock(item.offset, items)?,
            "stream" => self.stream(item.offset, items)?,
            "event" => self.event(item.offset, items)?,
            _ => {}
        }
        self.types.leave();
        Ok(())
    }

    fn trace_block(&mut self, items: &[Item]) -> Result<(), Fault> {
        for item in items {
            if self.types.declare(item)? {
                continue;
            }
            match &item.kind {
                ItemKind::TypeAssign { path, of } if path == "packet.header" => {
                    let mut class = self.types.class(item.offset, of)?;
                    set_roles(&mut class, Scope::PacketHeader);
                    self.trace.packet_header = Some(class);
                }
                ItemKind::Assign(attribute) => match attribute.name.as_str() {
                    "uuid" => {
                        let written = text(&attribute.value);
                        self.trace.uuid = match uuid::parse(&written) {
                            Some(bytes) => Some(bytes),
                            None => return fault(item.offset, format!("uuid = {written}")),
                        };
                    }
                    "major" if number(attribute)? != 1 => {
                        return fault(item.offset, "a major version other than 1");
                    }
                    _ => {}
                },
                _ => {}
            }
        }
        Ok(())
    }

    fn env(&mut self, items: &[Item]) {
        for item in items {
            if let ItemKind::Assign(Attribute { name, value, .. }) = &item.kind {
                self.trace.environment.push((name.clone(), text(value)));
            }
        }
    }

    fn clock(&mut self, offset: usize, items: &[Item]) -> Result<(), Fault> {
        let mut clock = ClockClass {
            id: String::new(),
            name: String::new(),
            uuid: None,
            frequency: 1_000_000_000,
            offset_seconds: 0,
            offset_cycles: 0,
            unix: false,
        };
        for item in items {
            let ItemKind::Assign(attribute) = &item.kind else { continue };
            let wrong = || fault(attribute.offset, format!("{} of a clock", attribute.name));
            match attribute.name.as_str() {
                "name" => clock.name = text(&attribute.value),
                "uuid" => clock.uuid = Some(text(&attribute.value)),
                "freq" => match u64::try_from(number(attribute)?) {
                    Ok(0) | Err(_) => return wrong(),
                    Ok(frequency) => clock.frequency = frequency,
                },
                "offset_s" => {
                    clock.unix = true;
                    match i64::try_from(number(attribute)?) {
                        Ok(seconds) => clock.offset_seconds = seconds,
                        Err(_) => return wrong(),
                    }
                }
                "offset" => {
                    clock.unix = true;
                    match i64::try_from(number(attribute)?) {
                        Ok(cycles) => clock.offset_cycles = cycles,
                        Err(_) => return wrong(),
                    }
                }
                _ => {}
            }
        }
        if clock.name.is_empty() {
            return fault(offset, "a clock without a name");
        }
        clock.id.clone_from(&clock.name);
        self.trace.clocks.push(clock);
        Ok(())
    }

    fn stream(&mut self, offset: usize, items: &[Item]) -> Result<(), Fault> {
        let mut stream = StreamClass::default();
        for item in items {
            if self.types.declare(item)? {
                continue;
            }
            match &item.kind {
                ItemKind::Assign(attribute) if attribute.name == "id" => {
                    stream.id = identity(attribute)?;
                }
                ItemKind::TypeAssign { path, of } => {
                    let mut class = self.types.class(item.offset, of)?;
                    let mapped = class.clock().map(str::to_owned);
                    match path.as_str() {
                        "packet.context" => {
                            set_roles(&mut class, Scope::PacketContext);
                            stream.packet_context = Some(class);
                        }
                        "event.header" => {
                            set_roles(&mut class, Scope::EventHeader);
                            stream.event_header = Some(class);
                        }
                        "event.context" => stream.common_context = Some(class),
                        _ => continue,
                    }
                    if path != "event.context"
                        && let Some(name) = mapped
                    {
                        let known = self.trace.clocks.iter().position(|clock| clock.id == name);
                        if known.is_none() {
                            return fault(item.offset, format!("the unknown clock {name}"));
                        }
                        stream.clock = known;
                    }
                }
                _ => {}
            }
        }
        if self.stream_ids.insert(stream.id, self.trace.streams.len()).is_some() {
            return fault(offset, format!("a second stream of id {}", stream.id));
        }
        self.trace.streams.push(stream);
        Ok(())
    }

    fn event(&mut self, offset: usize, items: &[Item]) -> Result<(), Fault> {
        let (mut id, mut stream_id, mut name) = (0, 0, None);
        let (mut context, mut payload) = (None, None);
        for item in items {
            if self.types.declare(item)? {
                continue;
            }
            match &item.kind {
                ItemKind::Assign(attribute) => match attribute.name.as_str() {
                    "id" => id = identity(attribute)?,
                    "stream_id" => stream_id = identity(attribute)?,
                    "name" => name = Some(text(&attribute.value)),
                    _ => {}
                },
                ItemKind::TypeAssign { path, of } if path == "fields" => {
                    payload = Some(self.types.class(item.offset, of)?);
                }
                ItemKind::TypeAssign { path, of } if path == "context" => {
                    context = Some(self.types.class(item.offset, of)?);
                }
                _ => {}
            }
        }
        let stream = match self.stream_ids.get(&stream_id) {
            Some(&stream) => stream,
            // A trace without a stream block has one stream with nothing around its events.
            None if self.trace.streams.is_empty() => {
                self.stream_ids.insert(stream_id, 0);
                self.trace.streams.push(StreamClass { id: stream_id, ..Default::default() });
                0
            }
            None => return fault(offset, format!("an event of the unknown stream {stream_id}")),
        };
        let place = self.trace.events.len();
        if self.trace.streams[stream].events.insert(id, place).is_some() {
            return fault(offset, format!("a second event of id {id} in stream {stream_id}"));
        }
        let name = name.unwrap_or_else(|| format!("event {id}"));
        let system = name.split_once(':').map_or("", |(system, _)| system).to_owned();
        self.trace.events.push(EventClass { stream, id, name, system, context, payload });
        Ok(())
    }
}

fn identity(attribute: &Attribute) -> Result<u64, Fault> {
    match attribute.value.as_slice() {
        [Token::Number(number)] if u64::try_from(*number).is_ok() => Ok(*number as u64),
        other => fault(attribute.offset, format!("{} = {}", attribute.name, text(other))),
    }
}

/// In TSDL, fields have their meaning by name.
fn set_roles(class: &mut FieldClass, scope: Scope) {
    match &mut class.kind {
        Kind::Struct(members) => {
            for member in members {
                set_role(&mut member.class, scope, &member.name);
            }
        }
        Kind::Variant(variant) => {
            for option in &mut variant.options {
                set_role(&mut option.class, scope, &option.name);
            }
        }
        _ => {}
    }
}

fn set_role(class: &mut FieldClass, scope: Scope, name: &str) {
    let role = match (scope, name) {
        (Scope::PacketHeader, "magic") => Some(Role::Magic),
        (Scope::PacketHeader, "uuid") => Some(Role::Uuid),
        (Scope::PacketHeader, "stream_id") => Some(Role::StreamClass),
        (Scope::PacketHeader, "stream_instance_id") => Some(Role::StreamInstance),
        (Scope::PacketContext, "timestamp_begin") => Some(Role::Begin),
        (Scope::PacketContext, "timestamp_end") => Some(Role::End),
        (Scope::PacketContext, "content_size") => Some(Role::ContentBits),
        (Scope::PacketContext, "packet_size") => Some(Role::TotalBits),
        (Scope::PacketContext, "packet_seq_num") => Some(Role::Sequence),
        (Scope::PacketContext, "events_discarded") => Some(Role::Discarded),
        (Scope::PacketContext, "cpu_id") => Some(Role::Cpu),
        (Scope::EventHeader, "id") => Some(Role::EventClass),
        (Scope::EventHeader, "timestamp") => Some(Role::Time),
        _ => None,
    };
    match (&mut class.kind, role) {
        (Kind::Integer(Integer { roles, .. }), role) => {
            // What is mapped to a clock has been marked as a time; that holds in event headers only.
            if scope != Scope::EventHeader {
                *roles = Roles::default();
            }
            role.into_iter().for_each(|role| roles.add(role));
        }
        (Kind::Array { length: Length::Fixed(16), of }, Some(Role::Uuid))
            if of.fixed_bits() == Some(8) && of.align == 8 =>
        {
            let roles = Roles::only(Role::Uuid);
            class.kind = Kind::Bytes(Bytes { length: Length::Fixed(16), text: None, roles });
        }
        _ => set_roles(class, scope),
    }
}
