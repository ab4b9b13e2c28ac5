//! Types of TSDL as field classes: aliases, tags and the scopes that they live in.

use std::collections::HashMap;
use std::sync::Arc;

use super::super::classes::{
    Bytes, Choice, Encoding, FieldClass, Integer, Kind, Length, Location, MOST_CLASSES,
    MOST_NESTING, Member, Reference, Role, Roles, Scope, Variant,
};
use super::Fault;
use super::lexer::Token;
use super::parser::{Attribute, Declarator, Dimension, EnumLabel, Item, ItemKind, TypeSpec};
use crate::{ByteOrder, Label};

/// A class, and what only TSDL knows of it.
#[derive(Clone)]
pub(super) struct Typed {
    pub(super) class: FieldClass,
    /// Whether it is a letter: arrays of it are text.
    encoding: Option<Encoding>,
    /// A variant that still lacks its tag.
    untagged: bool,
    classes: usize,
}

/// Types by name, innermost scope last. Tags are kept as `struct NAME`.
pub(super) struct Types {
    order: ByteOrder,
    scopes: Vec<HashMap<String, Typed>>,
    /// Classes that may still be made.
    left: usize,
}

fn fault<T>(offset: usize, what: impl Into<String>) -> Result<T, Fault> {
    Err(Fault { offset, what: what.into() })
}

impl Types {
    pub(super) fn new(order: ByteOrder) -> Self {
        Self { order, scopes: vec![HashMap::new()], left: MOST_CLASSES }
    }

    pub(super) fn enter(&mut self) {
        self.scopes.push(HashMap::new());
    }

    pub(super) fn leave(&mut self) {
        self.scopes.pop();
    }

    fn look_up(&mut self, offset: usize, name: &str) -> Result<Typed, Fault> {
        let typed = self.scopes.iter().rev().find_map(|scope| scope.get(name)).cloned();
        let Some(typed) = typed else { return fault(offset, format!("the unknown type {name}")) };
        self.spend(offset, typed.classes)?;
        Ok(typed)
    }

    fn spend(&mut self, offset: usize, classes: usize) -> Result<(), Fault> {
        match self.left.checked_sub(classes) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => fault(offset, format!("more than {MOST_CLASSES} fields")),
        }
    }

    fn define(&mut self, offset: usize, name: String, mut typed: Typed) -> Result<(), Fault> {
        let (classes, depth) = typed.class.measure();
        if depth > MOST_NESTING {
            return fault(offset, format!("more than {MOST_NESTING} types within each other"));
        }
        typed.classes = classes;
        // Declared again: LTTng appends to its metadata, and the later one is as good.
        self.scopes.last_mut().expect("has the root").insert(name, typed);
        Ok(())
    }

    /// Takes in a declaration of types; says whether it was one.
    pub(super) fn declare(&mut self, item: &Item) -> Result<bool, Fault> {
        match &item.kind {
            ItemKind::Alias { of, name } => {
                let typed = self.typed(item.offset, of)?;
                self.define(item.offset, name.clone(), typed)?;
            }
            ItemKind::Typedef { of, names } => {
                for declarator in names {
                    let typed = self.declared(item.offset, of, declarator)?;
                    self.define(item.offset, declarator.name.clone(), typed)?;
                }
            }
            ItemKind::Declare(of) => {
                self.typed(item.offset, of)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The class of a written type.
    pub(super) fn class(&mut self, offset: usize, of: &TypeSpec) -> Result<FieldClass, Fault> {
        let typed = self.typed(offset, of)?;
        typed.class.check_size().or_else(|what| fault(offset, what))?;
        match typed.untagged {
            true => fault(offset, "a variant without a tag"),
            false => Ok(typed.class),
        }
    }

    fn plain(&mut self, offset: usize, class: FieldClass) -> Result<Typed, Fault> {
        self.spend(offset, 1)?;
        Ok(Typed { class, encoding: None, untagged: false, classes: 1 })
    }

    fn typed(&mut self, offset: usize, of: &TypeSpec) -> Result<Typed, Fault> {
        match of {
            TypeSpec::Integer(attributes) => self.integer(offset, attributes),
            TypeSpec::Float(attributes) => self.float(offset, attributes),
            TypeSpec::Text(attributes) => {
                for attribute in attributes {
                    encoding(attribute)?;
                }
                self.plain(offset, FieldClass { align: 8, kind: Kind::Text(Encoding::Utf8) })
            }
            TypeSpec::Struct { name, body, align } => {
                let Some(body) = body else {
                    return self
                        .look_up(offset, &format!("struct {}", name.as_deref().unwrap_or("")));
                };
                let members = self.members(body)?;
                let own = match align {
                    None => 1,
                    Some(align) => power_of_two(offset, *align)?,
                };
                let align = members.iter().map(|m| m.class.align).fold(own, u32::max);
                let typed =
                    self.plain(offset, FieldClass { align, kind: Kind::Struct(members) })?;
                self.tagged(offset, "struct", name, typed)
            }
            TypeSpec::Variant { name, tag, body } => {
                let mut typed = match body {
                    None => {
                        let name = name.as_deref().unwrap_or("");
                        self.look_up(offset, &format!("variant {name}"))?
                    }
                    Some(body) => {
                        let options = self.members(body)?.into_iter().map(|member| Choice {
                            name: member.name,
                            ranges: vec![],
                            class: member.class,
                        });
                        let variant = Variant {
                            selector: Reference::new(Location::Search(vec![])),
                            options: options.collect(),
                            optional: false,
                        };
                        let class = FieldClass { align: 1, kind: Kind::Variant(variant) };
                        let mut typed = self.plain(offset, class)?;
                        typed.untagged = true;
                        self.tagged(offset, "variant", name, typed)?
                    }
                };
                if let (Some(tag), Kind::Variant(variant)) = (tag, &mut typed.class.kind) {
                    variant.selector = Reference::new(location(tag));
                    typed.untagged = false;
                }
                Ok(typed)
            }
            TypeSpec::Enum { name, of, labels } => {
                let Some(labels) = labels else {
                    return self
                        .look_up(offset, &format!("enum {}", name.as_deref().unwrap_or("")));
                };
                let mut typed = match of {
                    Some(of) => self.typed(offset, of)?,
                    None => self.look_up(offset, "int")?,
                };
                let Kind::Integer(integer) = &mut typed.class.kind else {
                    return fault(offset, "an enumeration of something that is no integer");
                };
                integer.labels = enum_labels(offset, labels)?;
                typed.encoding = None;
                self.tagged(offset, "enum", name, typed)
            }
            TypeSpec::Named(name) => self.look_up(offset, name),
        }
    }

    fn tagged(
        &mut self,
        offset: usize,
        kind: &str,
        name: &Option<String>,
        typed: Typed,
    ) -> Result<Typed, Fault> {
        if let Some(name) = name {
            self.define(offset, format!("{kind} {name}"), typed.clone())?;
        }
        Ok(typed)
    }

    fn members(&mut self, body: &[Item]) -> Result<Vec<Member>, Fault> {
        self.enter();
        let mut members: Vec<Member> = Vec::new();
        let mut result = Ok(());
        for item in body {
            result = self.member(item, &mut members);
            if result.is_err() {
                break;
            }
        }
        self.leave();
        result.map(|()| members)
    }

    fn member(&mut self, item: &Item, members: &mut Vec<Member>) -> Result<(), Fault> {
        if self.declare(item)? {
            return Ok(());
        }
        let ItemKind::Field { of, names } = &item.kind else {
            return fault(item.offset, "an assignment among the fields of a structure");
        };
        for declarator in names {
            let typed = self.declared(item.offset, of, declarator)?;
            if typed.untagged {
                return fault(
                    item.offset,
                    format!("the variant {} without a tag", declarator.name),
                );
            }
            members.push(Member { name: declarator.name.clone(), class: typed.class });
        }
        Ok(())
    }

    /// A type with the pointers and dimensions of what is declared.
    fn declared(
        &mut self,
        offset: usize,
        of: &TypeSpec,
        declarator: &Declarator,
    ) -> Result<Typed, Fault> {
        let mut typed = match (declarator.pointers, of) {
            (0, _) => self.typed(offset, of)?,
            (pointers, TypeSpec::Named(name)) => {
                self.look_up(offset, &format!("{name}{}", " *".repeat(pointers.min(8))))?
            }
            _ => return fault(offset, format!("{}, a pointer to no named type", declarator.name)),
        };
        for dimension in declarator.dimensions.iter().rev() {
            typed = self.array(offset, typed, dimension)?;
        }
        Ok(typed)
    }

    fn array(&mut self, offset: usize, of: Typed, dimension: &Dimension) -> Result<Typed, Fault> {
        let length = match dimension {
            Dimension::Of(path) => Length::Of(Reference::new(location(path))),
            Dimension::Fixed(length) => match u64::try_from(*length) {
                Ok(length) => Length::Fixed(length),
                Err(_) => return fault(offset, format!("an array of {length} elements")),
            },
        };
        let align = of.class.align;
        let letters = of.encoding.filter(|_| {
            matches!(&of.class.kind, Kind::Integer(integer) if integer.bits == 8) && align == 8
        });
        let kind = match letters {
            Some(encoding) => {
                Kind::Bytes(Bytes { length, text: Some(encoding), roles: Roles::default() })
            }
            None => Kind::Array { length, of: Box::new(of.class) },
        };
        self.plain(offset, FieldClass { align, kind })
    }

    fn integer(&mut self, offset: usize, attributes: &[Attribute]) -> Result<Typed, Fault> {
        let (mut bits, mut align, mut signed, mut base) = (None, None, false, 10);
        let (mut order, mut letters, mut clock) = (self.order, None, None);
        for attribute in attributes {
            match attribute.name.as_str() {
                "size" => bits = Some(number(attribute)?),
                "align" => align = Some(power_of_two(attribute.offset, number(attribute)?)?),
                "signed" => signed = truth(attribute)?,
                "byte_order" => order = byte_order(attribute, self.order)?,
                "base" => base = number_base(attribute)?,
                "encoding" => letters = encoding(attribute)?,
                "map" => {
                    let path = text(&attribute.value);
                    let name = path.strip_prefix("clock.").and_then(|p| p.strip_suffix(".value"));
                    clock = name.map(std::sync::Arc::from);
                }
                _ => {}
            }
        }
        let bits = match bits {
            None => return fault(offset, "an integer without a size"),
            Some(bits @ 1..=64) => bits as u8,
            Some(bits) => return fault(offset, format!("an integer of {bits} bits, not 1 to 64")),
        };
        let align = align.unwrap_or(if bits % 8 == 0 { 8 } else { 1 });
        let kind = Kind::Integer(Integer {
            bits,
            variable: false,
            order,
            signed,
            boolean: false,
            base,
            labels: Arc::new([]),
            roles: clock.as_ref().map_or_else(Roles::default, |_| Roles::only(Role::Time)),
            clock,
            slot: None,
        });
        let mut typed = self.plain(offset, FieldClass { align, kind })?;
        typed.encoding = letters;
        Ok(typed)
    }

    fn float(&mut self, offset: usize, attributes: &[Attribute]) -> Result<Typed, Fault> {
        let (mut exponent, mut mantissa, mut align, mut order) = (0, 0, None, self.order);
        for attribute in attributes {
            match attribute.name.as_str() {
                "exp_dig" => exponent = number(attribute)?,
                "mant_dig" => mantissa = number(attribute)?,
                "align" => align = Some(power_of_two(attribute.offset, number(attribute)?)?),
                "byte_order" => order = byte_order(attribute, self.order)?,
                _ => {}
            }
        }
        let bits = match (exponent, mantissa) {
            (5, 11) => 16,
            (8, 24) => 32,
            (11, 53) => 64,
            _ => {
                let what = format!(
                    "a floating point of {exponent} + {mantissa} bits: known are \
                     5 + 11, 8 + 24 and 11 + 53"
                );
                return fault(offset, what);
            }
        };
        let kind = Kind::Float { bits, order };
        self.plain(offset, FieldClass { align: align.unwrap_or(8), kind })
    }
}

/// Where a tag or a length is looked for.
fn location(path: &[String]) -> Location {
    let words: Vec<&str> = path.iter().map(String::as_str).collect();
    let (scope, rest) = match words.as_slice() {
        ["trace", "packet", "header", ..] => (Scope::PacketHeader, 3),
        ["stream", "packet", "context", ..] => (Scope::PacketContext, 3),
        ["stream", "event", "header", ..] => (Scope::EventHeader, 3),
        ["stream", "event", "context", ..] => (Scope::CommonContext, 3),
        ["event", "context", ..] => (Scope::SpecificContext, 2),
        ["event", "fields", ..] => (Scope::Payload, 2),
        _ => return Location::Search(path.to_vec()),
    };
    Location::Absolute(scope, path[rest..].to_vec())
}

fn enum_labels(offset: usize, labels: &[EnumLabel]) -> Result<Arc<[Label]>, Fault> {
    let mut next = 0;
    let mut all = Vec::with_capacity(labels.len());
    for label in labels {
        let (first, last) = label.range.unwrap_or((next, next));
        if last < first {
            return fault(offset, format!("the label {} of {first} to {last}", label.name));
        }
        next = last + 1;
        all.push(Label { first, last, name: label.name.clone() });
    }
    Ok(all.into())
}

/// A value's tokens as one text: `clock.monotonic.value`, `UTF-8`.
pub(super) fn text(value: &[Token]) -> String {
    value
        .iter()
        .map(|token| match token {
            Token::Text(text) => text.clone(),
            other => other.to_string(),
        })
        .collect()
}

pub(super) fn number(attribute: &Attribute) -> Result<i128, Fault> {
    match attribute.value.as_slice() {
        [Token::Number(number)] => Ok(*number),
        [Token::Sign('-'), Token::Number(number)] => Ok(-number),
        [Token::Sign('+'), Token::Number(number)] => Ok(*number),
        other => {
            fault(attribute.offset, format!("{} = {}, no number", attribute.name, text(other)))
        }
    }
}

fn truth(attribute: &Attribute) -> Result<bool, Fault> {
    match text(&attribute.value).to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" => Ok(true),
        "false" | "0" | "no" => Ok(false),
        other => fault(attribute.offset, format!("{} = {other}", attribute.name)),
    }
}

pub(super) fn byte_order(attribute: &Attribute, native: ByteOrder) -> Result<ByteOrder, Fault> {
    match text(&attribute.value).as_str() {
        "le" => Ok(ByteOrder::Little),
        "be" | "network" => Ok(ByteOrder::Big),
        "native" => Ok(native),
        other => fault(attribute.offset, format!("byte_order = {other}")),
    }
}

fn number_base(attribute: &Attribute) -> Result<u8, Fault> {
    match text(&attribute.value).as_str() {
        "decimal" | "dec" | "d" | "i" | "u" | "10" => Ok(10),
        "hexadecimal" | "hex" | "x" | "X" | "p" | "16" => Ok(16),
        "octal" | "oct" | "o" | "8" => Ok(8),
        "binary" | "b" | "2" => Ok(2),
        other => fault(attribute.offset, format!("base = {other}")),
    }
}

fn encoding(attribute: &Attribute) -> Result<Option<Encoding>, Fault> {
    if attribute.name != "encoding" {
        return Ok(None);
    }
    match text(&attribute.value).to_ascii_lowercase().as_str() {
        "none" => Ok(None),
        "utf8" | "utf-8" | "ascii" => Ok(Some(Encoding::Utf8)),
        other => fault(attribute.offset, format!("encoding = {other}")),
    }
}

fn power_of_two(offset: usize, align: i128) -> Result<u32, Fault> {
    match u32::try_from(align) {
        Ok(bits) if bits.is_power_of_two() && bits <= 1 << 20 => Ok(bits),
        _ => fault(offset, format!("an alignment of {align}: it must be a power of two")),
    }
}
