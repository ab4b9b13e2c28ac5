//! Expressions of a print format: C's, over the fields of an event.

use std::borrow::Cow;
use std::io::Write;

use crate::cells::{Column, Value};
use crate::pointer;

/// An expression; `Field` is a place in the format's list of fields.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expression {
    Number(i128),
    Text(String),
    Field(usize),
    Element(Box<Self>, Box<Self>),
    /// Bytes of an array.
    Length(Box<Self>),
    Not(Box<Self>),
    Negative(Box<Self>),
    Complement(Box<Self>),
    Binary(Operator, Box<Self>, Box<Self>),
    /// A conversion to an integer of so many bytes.
    Cast {
        bytes: u8,
        signed: bool,
        of: Box<Self>,
    },
    Choice(Box<Self>, Box<Self>, Box<Self>),
    /// `__print_symbolic`.
    Symbolic(Box<Self>, Vec<(i128, String)>),
    /// `__print_flags`, with what stands between them.
    Flags(Box<Self>, String, Vec<(i128, String)>),
    /// `__print_hex`, `__print_hex_str`: the array, how many bytes, what stands between them.
    Hex(Box<Self>, Box<Self>, &'static str),
    /// `__print_array`: the array and how many items.
    Array(Box<Self>, Box<Self>),
    /// `__get_bitmask`, `__get_cpumask`.
    Bitmask(Box<Self>),
    /// `__print_ns_to_secs`.
    Seconds(Box<Self>),
    /// `__print_ns_without_secs`.
    Nanoseconds(Box<Self>),
}

/// A binary operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    Or,
    And,
    BitOr,
    BitXor,
    BitAnd,
    Equal,
    Unequal,
    Less,
    Greater,
    AtMost,
    AtLeast,
    ShiftLeft,
    ShiftRight,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Operator {
    fn apply(self, a: i128, b: i128) -> i128 {
        match self {
            Self::Or => i128::from(a != 0 || b != 0),
            Self::And => i128::from(a != 0 && b != 0),
            Self::BitOr => a | b,
            Self::BitXor => a ^ b,
            Self::BitAnd => a & b,
            Self::Equal => i128::from(a == b),
            Self::Unequal => i128::from(a != b),
            Self::Less => i128::from(a < b),
            Self::Greater => i128::from(a > b),
            Self::AtMost => i128::from(a <= b),
            Self::AtLeast => i128::from(a >= b),
            Self::ShiftLeft if (0..64).contains(&b) => a << b,
            Self::ShiftLeft => 0,
            Self::ShiftRight => a >> b.clamp(0, 127),
            Self::Add => a.wrapping_add(b),
            Self::Subtract => a.wrapping_sub(b),
            Self::Multiply => a.wrapping_mul(b),
            Self::Divide => a.checked_div(b).unwrap_or(0),
            Self::Remainder => a.checked_rem(b).unwrap_or(0),
        }
    }
}

/// The most items of an array that are written.
const MOST_ITEMS: usize = 1024;

/// A row of a type's table: the columns of the format's fields.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    pub(crate) columns: &'a [Column<'a>],
    pub(crate) row: usize,
}

impl Expression {
    /// Its value for an event; `None` when a field is of another type than it takes.
    pub(crate) fn value<'a>(&'a self, row: Row<'a>) -> Option<Value<'a>> {
        Some(match self {
            Self::Number(number) => Value::Int(*number),
            Self::Text(text) => Value::Text(Cow::Borrowed(text)),
            Self::Field(place) => row.columns[*place].get(row.row),
            Self::Element(of, at) => Value::Int(of.value(row)?.item(at.int(row)?)?),
            Self::Length(of) => Value::Int(of.value(row)?.byte_length()?),
            Self::Not(of) => Value::Int(i128::from(of.int(row)? == 0)),
            Self::Negative(of) => Value::Int(of.int(row)?.wrapping_neg()),
            Self::Complement(of) => Value::Int(!of.int(row)?),
            Self::Binary(operator, a, b) => Value::Int(operator.apply(a.int(row)?, b.int(row)?)),
            Self::Cast { bytes, signed, of } => match of.value(row)? {
                // An array that a format gives another type stays what it is.
                value @ (Value::Text(_) | Value::Bytes(_) | Value::List(..)) => value,
                value => Value::Int(cast(value.int()?, *bytes, *signed)),
            },
            Self::Choice(condition, yes, no) => match condition.int(row)? {
                0 => no.value(row)?,
                _ => yes.value(row)?,
            },
            Self::Symbolic(of, labels) => {
                let value = of.int(row)?;
                match labels.iter().find(|(known, _)| *known == value) {
                    Some((_, label)) => Value::Text(Cow::Borrowed(label)),
                    None => Value::Text(Cow::Owned(format!("0x{:x}", value as u64))),
                }
            }
            Self::Flags(of, between, labels) => flags(of.int(row)?, between, labels),
            Self::Hex(of, count, between) => {
                let count = usize::try_from(count.int(row)?).unwrap_or(0).min(MOST_ITEMS);
                let items = of.value(row)?.items()?;
                let bytes: Vec<u8> = items.iter().take(count).map(|&byte| byte as u8).collect();
                let mut text = Vec::new();
                pointer::hex(&mut text, &bytes, between);
                written(text)
            }
            Self::Array(of, count) => {
                let count = usize::try_from(count.int(row)?).unwrap_or(0).min(MOST_ITEMS);
                let mut text = vec![b'{'];
                for (at, item) in of.value(row)?.items()?.iter().take(count).enumerate() {
                    let before = if at > 0 { "," } else { "" };
                    write!(text, "{before}0x{:x}", *item as u64).ok()?;
                }
                text.push(b'}');
                written(text)
            }
            Self::Bitmask(of) => written(bitmask(&of.value(row)?)?),
            Self::Seconds(of) => Value::Int(of.int(row)? / 1_000_000_000),
            Self::Nanoseconds(of) => Value::Int(of.int(row)? % 1_000_000_000),
        })
    }

    /// Its value as an integer.
    pub(crate) fn int(&self, row: Row<'_>) -> Option<i128> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Field(place) => row.columns[*place].int(row.row),
            // As `value` has it, without a value for each part.
            Self::Not(of) => Some(i128::from(of.int(row)? == 0)),
            Self::Negative(of) => Some(of.int(row)?.wrapping_neg()),
            Self::Complement(of) => Some(!of.int(row)?),
            Self::Binary(operator, a, b) => Some(operator.apply(a.int(row)?, b.int(row)?)),
            Self::Cast { bytes, signed, of } => Some(cast(of.int(row)?, *bytes, *signed)),
            Self::Choice(condition, yes, no) => match condition.int(row)? {
                0 => no.int(row),
                _ => yes.int(row),
            },
            _ => self.value(row)?.int(),
        }
    }

    /// The same with what does not depend on an event worked out: formats of the kernel have long
    /// sums of flags.
    pub(crate) fn folded(self) -> Self {
        match self {
            Self::Binary(operator, a, b) => match (*a, *b) {
                (Self::Number(a), Self::Number(b)) => Self::Number(operator.apply(a, b)),
                (a, b) => Self::Binary(operator, a.into(), b.into()),
            },
            Self::Cast { bytes, signed, of } => match *of {
                Self::Number(number) => Self::Number(cast(number, bytes, signed)),
                of => Self::Cast { bytes, signed, of: of.into() },
            },
            Self::Not(of) => match *of {
                Self::Number(number) => Self::Number(i128::from(number == 0)),
                of => Self::Not(of.into()),
            },
            Self::Negative(of) => match *of {
                Self::Number(number) => Self::Number(number.wrapping_neg()),
                of => Self::Negative(of.into()),
            },
            Self::Complement(of) => match *of {
                Self::Number(number) => Self::Number(!number),
                of => Self::Complement(of.into()),
            },
            other => other,
        }
    }
}

fn written<'a>(text: Vec<u8>) -> Value<'a> {
    Value::Text(Cow::Owned(String::from_utf8_lossy(&text).into_owned()))
}

fn cast(value: i128, bytes: u8, signed: bool) -> i128 {
    match (bytes, signed) {
        (1, false) => i128::from(value as u8),
        (2, false) => i128::from(value as u16),
        (4, false) => i128::from(value as u32),
        (_, false) => i128::from(value as u64),
        (1, true) => i128::from(value as i8),
        (2, true) => i128::from(value as i16),
        (4, true) => i128::from(value as i32),
        (_, true) => i128::from(value as i64),
    }
}

/// As the kernel does: each label whose bits are all set, then what is left in base 16.
fn flags<'a>(value: i128, between: &str, labels: &'a [(i128, String)]) -> Value<'a> {
    // Nearly always it is one of them, which needs no text of its own.
    if let Some((_, label)) = labels.iter().find(|(mask, _)| *mask != 0 && *mask == value)
        && labels
            .iter()
            .take_while(|(mask, _)| *mask != value)
            .all(|(m, _)| *m == 0 || value & m != *m)
    {
        return Value::Text(Cow::Borrowed(label));
    }
    let mut left = value;
    let mut text = String::new();
    for (mask, label) in labels {
        if *mask != 0 && left & mask == *mask {
            text.push_str(if text.is_empty() { "" } else { between });
            text.push_str(label);
            left &= !mask;
        }
    }
    if left != 0 {
        text.push_str(if text.is_empty() { "" } else { between });
        text.push_str(&format!("0x{:x}", left as u64));
    }
    Value::Text(Cow::Owned(text))
}

/// Words of 32 bits in base 16, the highest first, as `%*pb` writes them.
fn bitmask(value: &Value<'_>) -> Option<Vec<u8>> {
    let Value::List(of, begin, end) = value else {
        return matches!(value, Value::None).then(Vec::new);
    };
    let mut words = Vec::new();
    for at in *begin..*end {
        let item = of.get(at).int()? as u64;
        words.push(item as u32);
        if of.width() == 8 {
            words.push((item >> 32) as u32);
        }
    }
    let mut text = Vec::new();
    for (at, word) in words.iter().rev().enumerate() {
        let before = if at > 0 { "," } else { "" };
        write!(text, "{before}{word:08x}").ok()?;
    }
    Some(text)
}
