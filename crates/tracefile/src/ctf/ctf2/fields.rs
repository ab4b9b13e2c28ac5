//! Field classes in JSON.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::super::classes::{
    Bytes, Choice, Encoding, FieldClass, Integer, Kind, Length, Location, MOST_CLASSES, Member,
    Reference, Role, Roles, Scope, Variant,
};
use super::{Wrong, unsupported, wrong};
use crate::{ByteOrder, Label};

type Object = Map<String, Value>;

/// Makes classes, and keeps those that have a name of their own.
pub(super) struct Fields {
    aliases: HashMap<String, (FieldClass, usize)>,
    /// Classes that may still be made.
    left: usize,
    /// Of the first number that is seen.
    pub(super) order: Option<ByteOrder>,
}

impl Default for Fields {
    fn default() -> Self {
        Self { aliases: HashMap::new(), left: MOST_CLASSES, order: None }
    }
}

impl Fields {
    pub(super) fn alias(&mut self, name: &str, class: &Value) -> Result<(), Wrong> {
        let class = self.class(class)?;
        let (number, _) = class.measure();
        if self.aliases.insert(name.to_owned(), (class, number)).is_some() {
            return wrong(format!("a second alias {name}"));
        }
        Ok(())
    }

    /// A whole class, with all that is in it.
    pub(super) fn class(&mut self, value: &Value) -> Result<FieldClass, Wrong> {
        let class = self.any(value)?;
        class.check_size().map_err(Wrong::Damaged)?;
        Ok(class)
    }

    fn spend(&mut self, classes: usize) -> Result<(), Wrong> {
        match self.left.checked_sub(classes) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => wrong(format!("more than {MOST_CLASSES} field classes")),
        }
    }

    fn any(&mut self, value: &Value) -> Result<FieldClass, Wrong> {
        let object = match value {
            Value::String(name) => {
                let Some((class, number)) = self.aliases.get(name) else {
                    return wrong(format!("the unknown field-class alias {name}"));
                };
                let (class, number) = (class.clone(), *number);
                self.spend(number)?;
                return Ok(class);
            }
            Value::Object(object) => object,
            _ => return wrong("a field class that is neither an object nor an alias"),
        };
        self.spend(1)?;
        let kind = text(object, "type")?;
        match kind {
            "structure" => self.structure(object),
            "static-length-array" => self.array(object, Length::Fixed(natural(object, "length")?)),
            "dynamic-length-array" => self.array(object, Length::Of(length_location(object)?)),
            "optional" => self.optional(object),
            "variant" => self.variant(object),
            "null-terminated-string" => {
                Ok(FieldClass { align: 8, kind: Kind::Text(encoding(object)?) })
            }
            "static-length-string" | "static-length-blob" => {
                bytes(object, Length::Fixed(natural(object, "length")?), kind)
            }
            "dynamic-length-string" | "dynamic-length-blob" => {
                bytes(object, Length::Of(length_location(object)?), kind)
            }
            "fixed-length-floating-point-number" => self.float(object),
            _ => match kind.strip_prefix("fixed-length-") {
                Some(rest) => self.integer(object, rest, false),
                None => match kind.strip_prefix("variable-length-") {
                    Some(rest) => self.integer(object, rest, true),
                    None => unsupported(format!("a field class of type {kind}")),
                },
            },
        }
    }

    fn structure(&mut self, object: &Object) -> Result<FieldClass, Wrong> {
        let mut members = Vec::new();
        for member in list(object, "member-classes")? {
            let Value::Object(member) = member else { return wrong("a member that is no object") };
            let name = text(member, "name")?.to_owned();
            members.push(Member { name, class: self.any(inner(member, "field-class")?)? });
        }
        let align =
            members.iter().map(|m| m.class.align).fold(minimum_alignment(object)?, u32::max);
        Ok(FieldClass { align, kind: Kind::Struct(members) })
    }

    fn array(&mut self, object: &Object, length: Length) -> Result<FieldClass, Wrong> {
        let of = Box::new(self.any(inner(object, "element-field-class")?)?);
        let align = of.align.max(minimum_alignment(object)?);
        Ok(FieldClass { align, kind: Kind::Array { length, of } })
    }

    fn optional(&mut self, object: &Object) -> Result<FieldClass, Wrong> {
        // Without ranges the selector is a truth value.
        let ranges = match object.get("selector-field-ranges") {
            Some(value) => ranges(value)?,
            None => vec![(i128::MIN, -1), (1, i128::MAX)],
        };
        let class = self.any(inner(object, "field-class")?)?;
        let options = vec![Choice { name: String::new(), ranges, class }];
        let selector = Reference::new(location(object, "selector-field-location")?);
        let variant = Variant { selector, options, optional: true };
        Ok(FieldClass { align: 1, kind: Kind::Variant(variant) })
    }

    fn variant(&mut self, object: &Object) -> Result<FieldClass, Wrong> {
        let mut options = Vec::new();
        for (at, option) in list(object, "options")?.iter().enumerate() {
            let Value::Object(option) = option else { return wrong("an option that is no object") };
            let name = match option.get("name") {
                Some(Value::String(name)) => name.clone(),
                _ => format!("option{at}"),
            };
            let ranges = ranges(inner(option, "selector-field-ranges")?)?;
            if ranges.is_empty() {
                return wrong(format!("the option {name} of a variant without ranges"));
            }
            options.push(Choice { name, ranges, class: self.any(inner(option, "field-class")?)? });
        }
        let selector = Reference::new(location(object, "selector-field-location")?);
        let variant = Variant { selector, options, optional: false };
        Ok(FieldClass { align: 1, kind: Kind::Variant(variant) })
    }

    fn float(&mut self, object: &Object) -> Result<FieldClass, Wrong> {
        let bits = match natural(object, "length")? {
            bits @ (16 | 32 | 64) => bits as u8,
            bits => return unsupported(format!("a floating point number of {bits} bits")),
        };
        let kind = Kind::Float { bits, order: self.byte_order(object)? };
        Ok(FieldClass { align: alignment(object, "alignment")?, kind })
    }

    fn byte_order(&mut self, object: &Object) -> Result<ByteOrder, Wrong> {
        let order = match text(object, "byte-order")? {
            "little-endian" => ByteOrder::Little,
            "big-endian" => ByteOrder::Big,
            other => return wrong(format!("byte-order {other}")),
        };
        let natural = match order {
            ByteOrder::Little => "first-to-last",
            ByteOrder::Big => "last-to-first",
        };
        match object.get("bit-order") {
            None => {}
            Some(Value::String(given)) if given == natural => {}
            Some(given) => return unsupported(format!("{order:?} endian with bit-order {given}")),
        }
        self.order.get_or_insert(order);
        Ok(order)
    }

    fn integer(
        &mut self,
        object: &Object,
        kind: &str,
        variable: bool,
    ) -> Result<FieldClass, Wrong> {
        let (signed, boolean, base) = match kind {
            "unsigned-integer" | "unsigned-enumeration" => (false, false, 10),
            "signed-integer" | "signed-enumeration" => (true, false, 10),
            "boolean" if !variable => (false, true, 10),
            "bit-array" | "bit-map" if !variable => (false, false, 16),
            _ => return unsupported(format!("a field class of type {kind}")),
        };
        let (bits, order, align) = if variable {
            (64, ByteOrder::Little, 8)
        } else {
            let bits = match natural(object, "length")? {
                bits @ 1..=64 => bits as u8,
                bits => return unsupported(format!("a {kind} of {bits} bits")),
            };
            (bits, self.byte_order(object)?, alignment(object, "alignment")?)
        };
        let base = match object.get("preferred-display-base").map(Value::as_u64) {
            None => base,
            Some(Some(base @ (2 | 8 | 10 | 16))) => base as u8,
            Some(_) => return wrong("preferred-display-base is none of 2, 8, 10, 16"),
        };
        let labels = match (object.get("mappings"), object.get("flags")) {
            (Some(Value::Object(mappings)), _) => labels(mappings, Some)?,
            // A flag's name is known by the value of its bit.
            (_, Some(Value::Object(flags))) => labels(flags, |(first, last)| {
                (first == last && (0..64).contains(&first)).then(|| (1 << first, 1 << first))
            })?,
            _ => Arc::new([]),
        };
        let roles = roles(object)?;
        let integer = Integer {
            bits,
            variable,
            order,
            signed,
            boolean,
            base,
            labels,
            roles,
            clock: None,
            slot: None,
        };
        Ok(FieldClass { align, kind: Kind::Integer(integer) })
    }
}

fn bytes(object: &Object, length: Length, kind: &str) -> Result<FieldClass, Wrong> {
    let text = if kind.ends_with("string") { Some(encoding(object)?) } else { None };
    let bytes = Bytes { length, text, roles: roles(object)? };
    Ok(FieldClass { align: 8, kind: Kind::Bytes(bytes) })
}

pub(super) fn inner<'a>(object: &'a Object, name: &str) -> Result<&'a Value, Wrong> {
    object.get(name).ok_or_else(|| Wrong::Damaged(format!("{name} is missing")))
}

pub(super) fn text<'a>(object: &'a Object, name: &str) -> Result<&'a str, Wrong> {
    match inner(object, name)? {
        Value::String(text) => Ok(text),
        _ => wrong(format!("{name} is no text")),
    }
}

fn list<'a>(object: &'a Object, name: &str) -> Result<&'a [Value], Wrong> {
    match object.get(name) {
        None => Ok(&[]),
        Some(Value::Array(list)) => Ok(list),
        Some(_) => wrong(format!("{name} is no list")),
    }
}

fn natural(object: &Object, name: &str) -> Result<u64, Wrong> {
    match inner(object, name)?.as_u64() {
        Some(number) => Ok(number),
        None => wrong(format!("{name} is no natural number")),
    }
}

fn alignment(object: &Object, name: &str) -> Result<u32, Wrong> {
    match object.get(name).map(Value::as_u64) {
        None => Ok(1),
        Some(Some(align)) if align.is_power_of_two() && align <= 1 << 20 => Ok(align as u32),
        Some(_) => wrong(format!("{name} is no power of two")),
    }
}

fn minimum_alignment(object: &Object) -> Result<u32, Wrong> {
    alignment(object, "minimum-alignment")
}

fn encoding(object: &Object) -> Result<Encoding, Wrong> {
    match object.get("encoding") {
        None => Ok(Encoding::Utf8),
        Some(Value::String(name)) => match name.as_str() {
            "utf-8" => Ok(Encoding::Utf8),
            "utf-16le" => Ok(Encoding::Utf16(ByteOrder::Little)),
            "utf-16be" => Ok(Encoding::Utf16(ByteOrder::Big)),
            "utf-32le" => Ok(Encoding::Utf32(ByteOrder::Little)),
            "utf-32be" => Ok(Encoding::Utf32(ByteOrder::Big)),
            other => unsupported(format!("text of encoding {other}")),
        },
        Some(_) => wrong("encoding is no text"),
    }
}

fn ranges(value: &Value) -> Result<Vec<(i128, i128)>, Wrong> {
    let number =
        |value: &Value| value.as_u64().map(i128::from).or_else(|| value.as_i64().map(i128::from));
    let one = |value: &Value| match value.as_array().map(Vec::as_slice) {
        Some([first, last]) => {
            number(first).zip(number(last)).filter(|(first, last)| first <= last)
        }
        _ => number(value).map(|both| (both, both)),
    };
    let all = value.as_array().and_then(|all| all.iter().map(one).collect::<Option<Vec<_>>>());
    all.ok_or_else(|| Wrong::Damaged("ranges are no list of [first, last]".into()))
}

fn labels(
    mappings: &Object,
    value: impl Fn((i128, i128)) -> Option<(i128, i128)>,
) -> Result<Arc<[Label]>, Wrong> {
    let mut labels = Vec::new();
    for (name, given) in mappings {
        for (first, last) in ranges(given)?.into_iter().filter_map(&value) {
            labels.push(Label { first, last, name: name.clone() });
        }
    }
    labels.sort_by_key(|label| label.first);
    Ok(labels.into())
}

fn roles(object: &Object) -> Result<Roles, Wrong> {
    let mut roles = Roles::default();
    for role in list(object, "roles")? {
        let role = match role.as_str().unwrap_or("") {
            "packet-magic-number" => Role::Magic,
            "metadata-stream-uuid" => Role::Uuid,
            "data-stream-class-id" => Role::StreamClass,
            "data-stream-id" => Role::StreamInstance,
            "packet-total-length" => Role::TotalBits,
            "packet-content-length" => Role::ContentBits,
            "default-clock-timestamp" => Role::Time,
            "packet-end-default-clock-timestamp" => Role::End,
            "discarded-event-record-counter-snapshot" => Role::Discarded,
            "packet-sequence-number" => Role::Sequence,
            "event-record-class-id" => Role::EventClass,
            other => return wrong(format!("the unknown role {other}")),
        };
        roles.add(role);
    }
    Ok(roles)
}

fn length_location(object: &Object) -> Result<Reference, Wrong> {
    Ok(Reference::new(location(object, "length-field-location")?))
}

/// `{"origin": ..., "path": [...]}`, or before the final dialect a list that begins with the origin.
fn location(object: &Object, name: &str) -> Result<Location, Wrong> {
    let (origin, path) = match inner(object, name)? {
        Value::Object(location) => {
            let origin = match location.get("origin") {
                None => None,
                Some(origin) => match origin.as_str().and_then(scope) {
                    Some(origin) => Some(origin),
                    None => return wrong(format!("the origin {origin} of {name}")),
                },
            };
            (origin, list(location, "path")?)
        }
        Value::Array(path) => match path.split_first() {
            Some((Value::String(first), rest)) if scope(first).is_some() => (scope(first), rest),
            _ => (None, path.as_slice()),
        },
        _ => return wrong(format!("{name} is no location")),
    };
    let mut steps = Vec::with_capacity(path.len());
    for step in path {
        steps.push(match step {
            Value::Null => None,
            Value::String(name) => Some(name.clone()),
            _ => return wrong(format!("the path of {name}")),
        });
    }
    match origin {
        None => Ok(Location::Relative(steps)),
        Some(scope) => match steps.into_iter().collect::<Option<Vec<_>>>() {
            Some(steps) => Ok(Location::Absolute(scope, steps)),
            None => wrong(format!("{name} goes above its origin")),
        },
    }
}

fn scope(origin: &str) -> Option<Scope> {
    Some(match origin {
        "packet-header" => Scope::PacketHeader,
        "packet-context" => Scope::PacketContext,
        "event-record-header" => Scope::EventHeader,
        "event-record-common-context" => Scope::CommonContext,
        "event-record-specific-context" => Scope::SpecificContext,
        "event-record-payload" => Scope::Payload,
        _ => return None,
    })
}
