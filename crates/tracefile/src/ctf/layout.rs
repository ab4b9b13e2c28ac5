//! An event class, compiled once: its columns, and the steps that read them.
//!
//! Fields whose positions follow from that of the first one form a *run*: one check of the bounds,
//! then reads at fixed offsets. A field of variable length ends a run. For a selection the steps are
//! projected: fields that are not asked for leave the runs, so that passing over them costs nothing.

use std::sync::Arc;

use super::classes::{Encoding, FieldClass, Integer, Kind, Member, TraceClass, Variant};
use crate::{ByteOrder, ColumnType, Field, Label, Scope};

/// Stands for a field that is not stored.
pub(super) const NONE: u16 = u16::MAX;

/// No tracer comes near; metadata that is made to exhaust memory does.
const MOST_FIELDS: usize = 4096;
const MOST_RUN_BITS: u64 = 1 << 28;

#[derive(Debug, Clone)]
pub(super) enum Step {
    Align(u32),
    Run(Run),
    Text {
        encoding: Encoding,
        column: u16,
    },
    /// Any other field, read by [`super::walk`]. It is aligned already when its size is fixed.
    Value {
        class: Arc<FieldClass>,
        fixed: Option<u32>,
        column: u16,
    },
    Choose {
        slot: u16,
        optional: bool,
        branches: Vec<Branch>,
    },
}

#[derive(Debug, Clone)]
pub(super) struct Run {
    pub(super) bits: u32,
    /// Whether it begins at a whole byte.
    pub(super) whole: bool,
    pub(super) reads: Vec<Read>,
}

#[derive(Debug, Clone)]
pub(super) struct Read {
    /// Bits from the beginning of the run.
    pub(super) at: u32,
    /// The column; of [`ReadKind::Keep`] the slot.
    pub(super) column: u16,
    pub(super) kind: ReadKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadKind {
    /// Integers of whole bytes at whole bytes.
    U8,
    Little16,
    Little32,
    Little64,
    Big16,
    Big32,
    Big64,
    /// Any other integer.
    Bits {
        bits: u8,
        order: ByteOrder,
        signed: bool,
    },
    Float {
        bits: u8,
        order: ByteOrder,
    },
    /// Text in so many bytes.
    Text(u32),
    /// An integer that lengths or selectors refer to.
    Keep {
        bits: u8,
        order: ByteOrder,
        signed: bool,
    },
}

/// An option of a variant.
#[derive(Debug, Clone)]
pub(super) struct Branch {
    pub(super) ranges: Vec<(i128, i128)>,
    pub(super) steps: Vec<Step>,
    /// Its columns: null when another option is chosen.
    pub(super) columns: Vec<u16>,
}

/// The steps of an event: fields of its packet's context and of its header that are columns (mostly
/// none), then its contexts and payload.
#[derive(Debug, Clone, Default)]
pub(super) struct Layout {
    pub(super) packet: Vec<Step>,
    pub(super) header: Vec<Step>,
    pub(super) body: Vec<Step>,
}

/// Compiles an event class: its columns and its steps; each column's number is its place.
pub(super) fn compile(trace: &TraceClass, event: usize) -> Result<(Vec<Field>, Layout), String> {
    let class = &trace.events[event];
    let stream = &trace.streams[class.stream];
    let strip = trace.version == 1;
    let mut fields = Vec::new();
    let mut part = |parts: &[(Scope, Option<&FieldClass>)], roles: bool| {
        let mut builder = Builder { strip, roles, ..Builder::new(&mut fields) };
        let before = builder.fields.len();
        for (scope, class) in parts.iter().filter_map(|(scope, class)| Some((*scope, (*class)?))) {
            builder.scope = scope;
            builder.class(class, String::new(), false)?;
        }
        builder.close();
        let steps = builder.steps;
        Ok::<_, String>((steps, fields.len() > before))
    };
    let body = [
        (Scope::Common, stream.common_context.as_ref()),
        (Scope::Context, class.context.as_ref()),
        (Scope::Payload, class.payload.as_ref()),
    ];
    let (body, _) = part(&body, false)?;
    let (header, used) = part(&[(Scope::Common, stream.event_header.as_ref())], true)?;
    let header = if used { header } else { Vec::new() };
    let (packet, used) = part(&[(Scope::Packet, stream.packet_context.as_ref())], true)?;
    let packet = if used { packet } else { Vec::new() };
    make_unique(&mut fields);
    Ok((fields, Layout { packet, header, body }))
}

struct Builder<'a> {
    fields: &'a mut Vec<Field>,
    steps: Vec<Step>,
    run: Option<Run>,
    /// The position is `residue` modulo `modulus`, a power of two.
    modulus: u32,
    residue: u32,
    scope: Scope,
    /// Whether names lose a leading `_`.
    strip: bool,
    /// Whether fields with a role are known otherwise, and thus are no columns.
    roles: bool,
}

impl<'a> Builder<'a> {
    fn new(fields: &'a mut Vec<Field>) -> Self {
        let (steps, scope) = (Vec::new(), Scope::Payload);
        Self { fields, steps, run: None, modulus: 1, residue: 0, scope, strip: false, roles: false }
    }

    fn close(&mut self) {
        if let Some(run) = self.run.take()
            && (run.bits > 0 || !run.reads.is_empty())
        {
            self.steps.push(Step::Run(run));
        }
    }

    /// Room for a field in a run: bits from the run's beginning, and whether the run begins at a
    /// whole byte.
    fn place(&mut self, align: u32, bits: u32) -> (u32, bool) {
        if align > self.modulus {
            self.close();
            self.steps.push(Step::Align(align));
            (self.modulus, self.residue) = (align, 0);
        }
        if self
            .run
            .as_ref()
            .is_some_and(|run| u64::from(run.bits) + u64::from(bits) > MOST_RUN_BITS)
        {
            self.close();
        }
        let whole = self.modulus >= 8 && self.residue.is_multiple_of(8);
        let run = self.run.get_or_insert_with(|| Run { bits: 0, whole, reads: Vec::new() });
        let padding = (align - self.residue % align) % align;
        let at = run.bits + padding;
        run.bits = at + bits;
        self.residue = ((u64::from(self.residue) + u64::from(padding) + u64::from(bits))
            % u64::from(self.modulus)) as u32;
        (at, run.whole)
    }

    fn read(&mut self, at: u32, column: u16, kind: ReadKind) {
        let run = self.run.as_mut().expect("was placed in it");
        run.reads.push(Read { at, column, kind });
    }

    fn strip_name<'n>(&self, name: &'n str) -> &'n str {
        match name.strip_prefix('_') {
            Some(rest) if self.strip && !rest.is_empty() => rest,
            _ => name,
        }
    }

    fn field(&mut self, name: &str, class: &FieldClass, nullable: bool) -> Result<u16, String> {
        if self.fields.len() >= MOST_FIELDS {
            return Err(format!("more than {MOST_FIELDS} fields"));
        }
        let (base, labels) = display(class);
        self.fields.push(Field {
            name: if name.is_empty() { "value".to_owned() } else { name.to_owned() },
            column: self.column_type(class),
            scope: self.scope,
            nullable,
            base,
            labels,
        });
        Ok((self.fields.len() - 1) as u16)
    }

    fn column_type(&self, class: &FieldClass) -> ColumnType {
        match &class.kind {
            Kind::Integer(integer) if integer.boolean => ColumnType::Bool,
            Kind::Integer(integer) if integer.signed => ColumnType::Signed(integer.bits),
            Kind::Integer(integer) => ColumnType::Unsigned(integer.bits),
            Kind::Float { bits, .. } => ColumnType::Float(*bits),
            Kind::Text(_) => ColumnType::Text,
            Kind::Bytes(bytes) if bytes.text.is_some() => ColumnType::Text,
            Kind::Bytes(_) => ColumnType::Binary,
            Kind::Array { of, .. } => ColumnType::List(Arc::new(self.column_type(of))),
            Kind::Struct(members) => {
                let members = members.iter().map(|m| self.member(&m.name, &m.class));
                ColumnType::Struct(members.collect())
            }
            Kind::Variant(variant) if variant.optional => {
                self.column_type(&variant.options[0].class)
            }
            Kind::Variant(variant) => {
                let options = variant.options.iter().map(|o| self.member(&o.name, &o.class));
                ColumnType::Struct(options.collect())
            }
        }
    }

    fn member(&self, name: &str, class: &FieldClass) -> crate::Member {
        let name = self.strip_name(name).to_owned();
        crate::Member { name, column: self.column_type(class) }
    }

    /// Appends the steps of a class. `name` is empty for the root of a scope.
    fn class(&mut self, class: &FieldClass, name: String, nullable: bool) -> Result<(), String> {
        match &class.kind {
            Kind::Struct(members) => {
                self.place(class.align, 0);
                for Member { name: own, class } in members {
                    let own = self.strip_name(own);
                    let inner =
                        if name.is_empty() { own.to_owned() } else { format!("{name}.{own}") };
                    self.class(class, inner, nullable)?;
                }
            }
            Kind::Integer(integer) if !integer.variable => {
                let (at, whole) = self.place(class.align, u32::from(integer.bits));
                let Integer { bits, order, signed, .. } = *integer;
                if let Some(slot) = integer.slot {
                    self.read(at, slot, ReadKind::Keep { bits, order, signed });
                }
                if integer.roles.is_empty() || !self.roles {
                    let column = self.field(&name, class, nullable)?;
                    self.read(at, column, integer_kind(integer, whole && at % 8 == 0));
                }
            }
            Kind::Float { bits, order } => {
                let (at, _) = self.place(class.align, u32::from(*bits));
                let column = self.field(&name, class, nullable)?;
                self.read(at, column, ReadKind::Float { bits: *bits, order: *order });
            }
            Kind::Text(encoding) => {
                self.place(class.align, 0);
                self.close();
                let column = self.field(&name, class, nullable)?;
                self.steps.push(Step::Text { encoding: *encoding, column });
                (self.modulus, self.residue) = (8, 0);
            }
            Kind::Variant(variant) => self.variant(variant, name)?,
            Kind::Integer(_) | Kind::Bytes(_) | Kind::Array { .. } => {
                self.value(class, &name, nullable)?;
            }
        }
        Ok(())
    }

    fn value(&mut self, class: &FieldClass, name: &str, nullable: bool) -> Result<(), String> {
        let fixed = class.fixed_bits().filter(|&bits| bits < MOST_RUN_BITS).map(|bits| bits as u32);
        let role = match &class.kind {
            Kind::Bytes(bytes) => !bytes.roles.is_empty(),
            Kind::Integer(integer) => !integer.roles.is_empty(),
            _ => false,
        };
        let column = if role && self.roles { NONE } else { self.field(name, class, nullable)? };
        let (at, whole) = self.place(class.align, 0);
        if let (Some(bits), Kind::Bytes(bytes)) = (fixed, &class.kind)
            && bytes.text == Some(Encoding::Utf8)
            && whole
            && at % 8 == 0
        {
            let (at, _) = self.place(class.align, bits);
            if column != NONE {
                self.read(at, column, ReadKind::Text(bits / 8));
            }
            return Ok(());
        }
        self.close();
        let fixed = fixed.filter(|_| !class.keeps_values());
        self.steps.push(Step::Value { class: Arc::new(class.clone()), fixed, column });
        if let Some(bits) = fixed {
            self.residue =
                ((u64::from(self.residue) + u64::from(bits)) % u64::from(self.modulus)) as u32;
            return Ok(());
        }
        (self.modulus, self.residue) = match &class.kind {
            Kind::Array { of, .. } => match of.fixed_bits() {
                Some(bits) if bits > 0 => {
                    let of_size = 1u64 << bits.trailing_zeros().min(20);
                    (of_size.min(u64::from(class.align)) as u32, 0)
                }
                _ => (1, 0),
            },
            _ => (8, 0),
        };
        Ok(())
    }

    fn variant(&mut self, variant: &Variant, name: String) -> Result<(), String> {
        self.close();
        let begin = (self.modulus, self.residue);
        let mut branches = Vec::with_capacity(variant.options.len());
        let before = std::mem::take(&mut self.steps);
        for option in &variant.options {
            (self.modulus, self.residue) = begin;
            let first = self.fields.len();
            let own = self.strip_name(&option.name);
            let inner = match (name.is_empty(), own.is_empty()) {
                (true, _) => own.to_owned(),
                (_, true) => name.clone(),
                _ => format!("{name}.{own}"),
            };
            self.class(&option.class, inner, true)?;
            self.close();
            branches.push(Branch {
                ranges: option.ranges.clone(),
                steps: std::mem::take(&mut self.steps),
                columns: (first as u16..self.fields.len() as u16).collect(),
            });
        }
        self.steps = before;
        let slot = variant.selector.slot.expect("resolved when the trace was opened");
        self.steps.push(Step::Choose { slot, optional: variant.optional, branches });
        (self.modulus, self.residue) = (1, 0);
        Ok(())
    }
}

fn integer_kind(integer: &Integer, whole: bool) -> ReadKind {
    let Integer { bits, order, signed, .. } = *integer;
    match (bits, order) {
        (8, _) if whole => ReadKind::U8,
        (16, ByteOrder::Little) if whole => ReadKind::Little16,
        (32, ByteOrder::Little) if whole => ReadKind::Little32,
        (64, ByteOrder::Little) if whole => ReadKind::Little64,
        (16, ByteOrder::Big) if whole => ReadKind::Big16,
        (32, ByteOrder::Big) if whole => ReadKind::Big32,
        (64, ByteOrder::Big) if whole => ReadKind::Big64,
        _ => ReadKind::Bits { bits, order, signed },
    }
}

/// Base and labels; of a list those of its elements.
fn display(class: &FieldClass) -> (u8, Arc<[Label]>) {
    match &class.kind {
        Kind::Integer(integer) => (integer.base, integer.labels.clone()),
        Kind::Array { of, .. } => display(of),
        Kind::Variant(variant) if variant.optional => display(&variant.options[0].class),
        _ => (10, Arc::new([])),
    }
}

/// Fields of the payload keep their names; others that share one are named after where they stand.
fn make_unique(fields: &mut [Field]) {
    let mut order: Vec<usize> = (0..fields.len()).collect();
    order.sort_by_key(|&at| match fields[at].scope {
        Scope::Payload => 0,
        Scope::Context => 1,
        Scope::Common => 2,
        Scope::Packet => 3,
    });
    let mut taken = std::collections::HashSet::from(["time".to_owned(), "cpu".to_owned()]);
    for at in order {
        let field = &mut fields[at];
        let place = match field.scope {
            Scope::Payload => "payload",
            Scope::Context => "context",
            Scope::Common => "stream",
            Scope::Packet => "packet",
        };
        if taken.contains(&field.name) {
            field.name = format!("{place}.{}", field.name);
        }
        let mut number = 2;
        let plain = field.name.clone();
        while !taken.insert(field.name.clone()) {
            field.name = format!("{plain}.{number}");
            number += 1;
        }
    }
}

impl Layout {
    /// The steps for a choice of columns, ascending: `None` reads nothing but what it must.
    pub(super) fn project(&self, chosen: Option<&[usize]>) -> Layout {
        let chosen = chosen.unwrap_or_default();
        let place = |field: u16| {
            chosen.binary_search(&usize::from(field)).map_or(NONE, |column| column as u16)
        };
        let part = |steps: &[Step]| match chosen.is_empty() {
            true => Vec::new(),
            false => {
                let steps = project(steps, &place);
                if steps.iter().any(stores) { steps } else { Vec::new() }
            }
        };
        Layout {
            packet: part(&self.packet),
            header: part(&self.header),
            body: project(&self.body, &place),
        }
    }
}

fn stores(step: &Step) -> bool {
    match step {
        Step::Align(_) => false,
        Step::Run(run) => run.reads.iter().any(|read| !matches!(read.kind, ReadKind::Keep { .. })),
        Step::Text { column, .. } | Step::Value { column, .. } => *column != NONE,
        Step::Choose { branches, .. } => branches.iter().any(|branch| !branch.columns.is_empty()),
    }
}

fn project(steps: &[Step], place: &dyn Fn(u16) -> u16) -> Vec<Step> {
    let mut projected: Vec<Step> = Vec::with_capacity(steps.len());
    for step in steps {
        let step = match step {
            Step::Align(bits) => Step::Align(*bits),
            Step::Run(run) => {
                let reads = run.reads.iter().filter_map(|read| match read.kind {
                    ReadKind::Keep { .. } => Some(read.clone()),
                    _ => {
                        let column = place(read.column);
                        (column != NONE).then(|| Read { column, ..read.clone() })
                    }
                });
                Step::Run(Run { reads: reads.collect(), ..*run })
            }
            Step::Text { encoding, column } => {
                Step::Text { encoding: *encoding, column: place(*column) }
            }
            Step::Value { class, fixed, column } => match (place(*column), fixed) {
                (NONE, Some(bits)) => {
                    Step::Run(Run { bits: *bits, whole: true, reads: Vec::new() })
                }
                (column, _) => Step::Value { class: class.clone(), fixed: *fixed, column },
            },
            Step::Choose { slot, optional, branches } => Step::Choose {
                slot: *slot,
                optional: *optional,
                branches: branches.iter().map(|branch| project_branch(branch, place)).collect(),
            },
        };
        match (projected.last_mut(), step) {
            (Some(Step::Run(before)), Step::Run(run)) if joins(before, &run) => {
                let at = before.bits;
                before.bits += run.bits;
                before.reads.extend(run.reads.into_iter().map(|r| Read { at: r.at + at, ..r }));
            }
            (_, step) => projected.push(step),
        }
    }
    projected
}

/// Whether two runs, one behind the other, may be read as one.
fn joins(before: &Run, run: &Run) -> bool {
    let same = before.whole && run.whole && before.bits.is_multiple_of(8);
    (same || run.reads.is_empty()) && u64::from(before.bits) + u64::from(run.bits) <= MOST_RUN_BITS
}

fn project_branch(branch: &Branch, place: &dyn Fn(u16) -> u16) -> Branch {
    let columns = branch.columns.iter().map(|&field| place(field));
    Branch {
        ranges: branch.ranges.clone(),
        steps: project(&branch.steps, place),
        columns: columns.filter(|&column| column != NONE).collect(),
    }
}
