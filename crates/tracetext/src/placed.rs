//! Expressions over fields at fixed places of a record, in words of 64 bits.
//!
//! What an expression can be at least and at most is worked out when it is compiled. Where its value
//! needs more than 64 bits for an operator that looks at all of them, it is not compiled: then
//! [`Expression`] has it, in 128 bits.

use std::ops::RangeInclusive;

use tracefile::FieldPlace;

use crate::expression::{Expression, Operator};

/// An integer's width in a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Width {
    U8,
    U16,
    U32,
    I8,
    I16,
    I32,
    Whole,
}

impl Width {
    pub(crate) fn new(bytes: u8, signed: bool) -> Self {
        match (bytes, signed) {
            (1, false) => Self::U8,
            (2, false) => Self::U16,
            (4, false) => Self::U32,
            (1, true) => Self::I8,
            (2, true) => Self::I16,
            (4, true) => Self::I32,
            _ => Self::Whole,
        }
    }

    /// The low bits of a number as one of this width.
    #[inline]
    fn cut(self, value: u64) -> u64 {
        match self {
            Self::U8 => u64::from(value as u8),
            Self::U16 => u64::from(value as u16),
            Self::U32 => u64::from(value as u32),
            Self::I8 => value as i8 as u64,
            Self::I16 => value as i16 as u64,
            Self::I32 => value as i32 as u64,
            Self::Whole => value,
        }
    }

    /// A number in a record, which must hold it.
    #[inline]
    pub(crate) fn read(self, data: &[u8], at: usize) -> u64 {
        match self {
            Self::U8 | Self::I8 => self.cut(u64::from(data[at])),
            Self::U16 | Self::I16 => self
                .cut(u64::from(u16::from_le_bytes(data[at..at + 2].try_into().expect("2 bytes")))),
            Self::U32 | Self::I32 => self
                .cut(u64::from(u32::from_le_bytes(data[at..at + 4].try_into().expect("4 bytes")))),
            Self::Whole => u64::from_le_bytes(data[at..at + 8].try_into().expect("8 bytes")),
        }
    }
}

/// An integer of a record: the low 64 bits of what the expression gives.
#[derive(Debug, Clone)]
pub(crate) enum Number {
    Constant(u64),
    Field(usize, Width),
    /// An item of an array of numbers that lies at `at` and has at most `size` bytes.
    Element {
        at: usize,
        size: usize,
        each: u8,
        item: Width,
        index: Box<Self>,
    },
    Cut(Width, Box<Self>),
    Not(Box<Self>),
    Binary(Word, Box<(Self, Self)>),
    Choice(Box<(Self, Self, Self)>),
}

/// Operators on words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Word {
    Add,
    Subtract,
    Multiply,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
    SignedShiftRight,
    Divide,
    SignedDivide,
    Remainder,
    SignedRemainder,
    And,
    Or,
    Equal,
    Unequal,
    Less,
    SignedLess,
    AtMost,
    SignedAtMost,
}

impl Number {
    #[inline]
    pub(crate) fn value(&self, data: &[u8]) -> u64 {
        match self {
            Self::Constant(value) => *value,
            Self::Field(at, width) => width.read(data, *at),
            _ => self.computed(data),
        }
    }

    fn computed(&self, data: &[u8]) -> u64 {
        match self {
            Self::Constant(_) | Self::Field(..) => self.value(data),
            Self::Element { at, size, each, item, index } => {
                let each = usize::from(*each);
                let length = data.len().saturating_sub(*at).min(*size) / each;
                match usize::try_from(index.value(data)) {
                    Ok(index) if index < length => item.read(data, at + index * each),
                    _ => 0,
                }
            }
            Self::Cut(width, of) => width.cut(of.value(data)),
            Self::Not(of) => u64::from(of.value(data) == 0),
            Self::Binary(word, sides) => word.apply(sides.0.value(data), sides.1.value(data)),
            Self::Choice(parts) => match parts.0.value(data) {
                0 => parts.2.value(data),
                _ => parts.1.value(data),
            },
        }
    }
}

impl Word {
    #[inline]
    fn apply(self, a: u64, b: u64) -> u64 {
        let (signed_a, signed_b) = (a as i64, b as i64);
        match self {
            Self::Add => a.wrapping_add(b),
            Self::Subtract => a.wrapping_sub(b),
            Self::Multiply => a.wrapping_mul(b),
            Self::BitAnd => a & b,
            Self::BitOr => a | b,
            Self::BitXor => a ^ b,
            Self::ShiftLeft => a << b,
            Self::ShiftRight => a >> b,
            Self::SignedShiftRight => (signed_a >> b) as u64,
            Self::Divide => a.checked_div(b).unwrap_or(0),
            Self::Remainder => a.checked_rem(b).unwrap_or(0),
            Self::SignedDivide if b == 0 => 0,
            Self::SignedDivide => signed_a.wrapping_div(signed_b) as u64,
            Self::SignedRemainder if b == 0 => 0,
            Self::SignedRemainder => signed_a.wrapping_rem(signed_b) as u64,
            Self::And => u64::from(a != 0 && b != 0),
            Self::Or => u64::from(a != 0 || b != 0),
            Self::Equal => u64::from(a == b),
            Self::Unequal => u64::from(a != b),
            Self::Less => u64::from(a < b),
            Self::SignedLess => u64::from(signed_a < signed_b),
            Self::AtMost => u64::from(a <= b),
            Self::SignedAtMost => u64::from(signed_a <= signed_b),
        }
    }
}

/// A number with what it can be.
#[derive(Debug, Clone)]
pub(crate) struct Ranged {
    pub(crate) number: Number,
    least: i128,
    most: i128,
}

const SIGNED: RangeInclusive<i128> = i64::MIN as i128..=i64::MAX as i128;
const UNSIGNED: RangeInclusive<i128> = 0..=u64::MAX as i128;

impl Ranged {
    fn new(number: Number, least: i128, most: i128) -> Self {
        Self { number, least, most }
    }

    fn truth(number: Number) -> Self {
        Self::new(number, 0, 1)
    }

    fn of_width(number: Number, bytes: u8, signed: bool) -> Self {
        let bits = u32::from(bytes) * 8;
        match signed {
            true => Self::new(number, -(1 << (bits - 1)), (1 << (bits - 1)) - 1),
            false => Self::new(number, 0, (1 << bits) - 1),
        }
    }

    fn constant(value: i128) -> Self {
        Self::new(Number::Constant(value as u64), value, value)
    }

    fn within(&self, range: &RangeInclusive<i128>) -> bool {
        range.contains(&self.least) && range.contains(&self.most)
    }

    /// Whether its word alone says what it is, as one with a sign or as one without.
    pub(crate) fn is_signed_word(&self) -> bool {
        self.within(&SIGNED)
    }

    /// The same as a word without a sign.
    pub(crate) fn is_unsigned_word(&self) -> bool {
        self.within(&UNSIGNED)
    }

    /// Whether its word is 0 only where it is.
    fn has_truth(&self) -> bool {
        self.least > -(1 << 64) && self.most < 1 << 64
    }

    fn fixed(&self) -> Option<i128> {
        (self.least == self.most).then_some(self.least)
    }

    fn binary(word: Word, a: Self, b: Self, least: i128, most: i128) -> Self {
        Self::new(Number::Binary(word, Box::new((a.number, b.number))), least, most)
    }
}

/// Compiles an expression that gives an integer; `places` are those of the format's fields.
pub(crate) fn number(of: &Expression, places: &[Option<FieldPlace>]) -> Option<Ranged> {
    Some(match of {
        Expression::Number(number) => Ranged::constant(*number),
        Expression::Field(place) => match places[*place]? {
            FieldPlace::Number { at, size, signed } => {
                let field = Number::Field(at, Width::new(size, signed));
                Ranged::of_width(field, size, signed)
            }
            FieldPlace::Bool { at } => {
                let byte = Number::Not(Box::new(Number::Field(at, Width::U8)));
                Ranged::truth(Number::Not(Box::new(byte)))
            }
            _ => return None,
        },
        Expression::Element(of, index) => match **of {
            Expression::Field(place) => match places[place]? {
                FieldPlace::Numbers { at, size, item, signed } => {
                    let index = number(index, places)?;
                    if !index.is_signed_word() && !index.is_unsigned_word() {
                        return None;
                    }
                    let index = Box::new(index.number);
                    let width = Width::new(item, signed);
                    let element = Number::Element { at, size, each: item, item: width, index };
                    Ranged::of_width(element, item, signed)
                }
                _ => return None,
            },
            _ => return None,
        },
        Expression::Not(of) => {
            let of = number(of, places).filter(Ranged::has_truth)?;
            Ranged::truth(Number::Not(Box::new(of.number)))
        }
        Expression::Negative(of) => {
            let of = number(of, places)?;
            let (least, most) = (of.most.checked_neg()?, of.least.checked_neg()?);
            Ranged::binary(Word::Subtract, Ranged::constant(0), of, least, most)
        }
        Expression::Complement(of) => {
            let of = number(of, places)?;
            let (least, most) = (!of.most, !of.least);
            Ranged::binary(Word::BitXor, of, Ranged::constant(-1), least, most)
        }
        Expression::Binary(operator, a, b) => {
            return binary(*operator, number(a, places)?, number(b, places)?);
        }
        Expression::Cast { bytes, signed, of } => {
            let of = number(of, places)?;
            let cut = Number::Cut(Width::new(*bytes, *signed), Box::new(of.number.clone()));
            let cut = Ranged::of_width(cut, *bytes, *signed);
            // Most are of the type that the field has.
            match (cut.least..=cut.most).contains(&of.least) && of.most <= cut.most {
                true => of,
                false => cut,
            }
        }
        Expression::Choice(condition, yes, no) => {
            let condition = number(condition, places).filter(Ranged::has_truth)?;
            let (yes, no) = (number(yes, places)?, number(no, places)?);
            let (least, most) = (yes.least.min(no.least), yes.most.max(no.most));
            let parts = Box::new((condition.number, yes.number, no.number));
            Ranged::new(Number::Choice(parts), least, most)
        }
        Expression::Seconds(of) => {
            return binary(Operator::Divide, number(of, places)?, Ranged::constant(1_000_000_000));
        }
        Expression::Nanoseconds(of) => {
            let second = Ranged::constant(1_000_000_000);
            return binary(Operator::Remainder, number(of, places)?, second);
        }
        _ => return None,
    })
}

fn binary(operator: Operator, a: Ranged, b: Ranged) -> Option<Ranged> {
    let signed = a.is_signed_word() && b.is_signed_word();
    let unsigned = a.is_unsigned_word() && b.is_unsigned_word();
    // Of words that are both with and without sign either will do.
    let either = |for_signed: Word, for_unsigned: Word| match (signed, unsigned) {
        (true, _) => Some(for_signed),
        (_, true) => Some(for_unsigned),
        _ => None,
    };
    let corners = |apply: fn(i128, i128) -> Option<i128>| {
        let all = [(a.least, b.least), (a.least, b.most), (a.most, b.least), (a.most, b.most)];
        let all: Option<Vec<i128>> = all.into_iter().map(|(a, b)| apply(a, b)).collect();
        all.and_then(|all| Some((*all.iter().min()?, *all.iter().max()?)))
    };
    let truths = a.has_truth() && b.has_truth();
    let truth = |word: Option<Word>, a, b| Some(Ranged::binary(word?, a, b, 0, 1));
    let (word, (least, most)) = match operator {
        Operator::Or => return truth(truths.then_some(Word::Or), a, b),
        Operator::And => return truth(truths.then_some(Word::And), a, b),
        Operator::Equal => return truth(either(Word::Equal, Word::Equal), a, b),
        Operator::Unequal => return truth(either(Word::Unequal, Word::Unequal), a, b),
        Operator::Less => return truth(either(Word::SignedLess, Word::Less), a, b),
        Operator::Greater => return truth(either(Word::SignedLess, Word::Less), b, a),
        Operator::AtMost => return truth(either(Word::SignedAtMost, Word::AtMost), a, b),
        Operator::AtLeast => return truth(either(Word::SignedAtMost, Word::AtMost), b, a),
        Operator::Add => (Word::Add, corners(i128::checked_add)?),
        Operator::Subtract => (Word::Subtract, corners(i128::checked_sub)?),
        Operator::Multiply => (Word::Multiply, corners(i128::checked_mul)?),
        Operator::BitAnd => (
            Word::BitAnd,
            match (a.least >= 0, b.least >= 0) {
                (true, true) => (0, a.most.min(b.most)),
                (true, false) => (0, a.most),
                (false, true) => (0, b.most),
                (false, false) if signed => (*SIGNED.start(), *SIGNED.end()),
                _ => return None,
            },
        ),
        Operator::BitOr | Operator::BitXor => {
            let word = if operator == Operator::BitOr { Word::BitOr } else { Word::BitXor };
            let range = match (unsigned, signed) {
                (true, _) => {
                    let bits = 128 - a.most.max(b.most).leading_zeros();
                    (0, (1 << bits) - 1)
                }
                (_, true) => (*SIGNED.start(), *SIGNED.end()),
                _ => return None,
            };
            (word, range)
        }
        Operator::ShiftLeft => {
            let bits = u32::try_from(b.fixed()?).ok().filter(|&bits| bits < 64)?;
            let factor = 1i128 << bits;
            (Word::ShiftLeft, (a.least.checked_mul(factor)?, a.most.checked_mul(factor)?))
        }
        Operator::ShiftRight => {
            let bits = u32::try_from(b.fixed()?).ok().filter(|&bits| bits < 64)?;
            let range = (a.least >> bits, a.most >> bits);
            match (a.is_signed_word(), a.is_unsigned_word()) {
                (true, _) => (Word::SignedShiftRight, range),
                (_, true) => (Word::ShiftRight, range),
                _ => return None,
            }
        }
        Operator::Divide => {
            let most = a.most.max(a.least.checked_neg()?);
            let least = if unsigned { 0 } else { -most };
            (either(Word::SignedDivide, Word::Divide)?, (least, most))
        }
        Operator::Remainder => {
            let most = a.most.max(a.least.checked_neg()?);
            let least = if a.least >= 0 { 0 } else { -most };
            (either(Word::SignedRemainder, Word::Remainder)?, (least, most))
        }
    };
    Some(Ranged::binary(word, a, b, least, most))
}

/// A text of a record.
#[derive(Debug, Clone)]
pub(crate) enum Chars {
    Constant(String),
    /// Up to a NUL, at most so many bytes.
    Array(usize, usize),
    /// Where the field at a place says, which counts from a base.
    Located(usize, usize),
    Choice(Number, Box<(Self, Self)>),
    /// The label of a number; in base 16 where it has none.
    Symbolic(Number, Vec<(u64, String)>),
    /// The labels of all bits that are set, with what stands between them.
    Flags(Number, String, Vec<(u64, String)>),
}

/// Compiles an expression that gives a text.
pub(crate) fn chars(of: &Expression, places: &[Option<FieldPlace>]) -> Option<Chars> {
    Some(match of {
        Expression::Text(text) => Chars::Constant(text.clone()),
        Expression::Field(place) => match places[*place]? {
            FieldPlace::Text { at, size } => Chars::Array(at, size),
            FieldPlace::LocatedText { at, base } => Chars::Located(at, base),
            _ => return None,
        },
        Expression::Choice(condition, yes, no) => {
            let condition = number(condition, places).filter(Ranged::has_truth)?;
            let both = Box::new((chars(yes, places)?, chars(no, places)?));
            Chars::Choice(condition.number, both)
        }
        Expression::Symbolic(of, labels) => {
            let of = number(of, places)?;
            let domain = match (of.is_signed_word(), of.is_unsigned_word()) {
                (true, _) => SIGNED,
                (_, true) => UNSIGNED,
                _ => return None,
            };
            let possible = labels.iter().filter(|(value, _)| domain.contains(value));
            let labels = possible.map(|(value, label)| (*value as u64, label.clone()));
            Chars::Symbolic(of.number, labels.collect())
        }
        Expression::Flags(of, between, labels) => {
            let of = number(of, places)?;
            // Of a number below 0 the top bits are left, which no label may have.
            let masks = if of.is_unsigned_word() { UNSIGNED } else { 0..=i128::from(i64::MAX) };
            let known = of.is_unsigned_word() || of.is_signed_word();
            if !known || labels.iter().any(|(mask, _)| !masks.contains(mask)) {
                return None;
            }
            let labels = labels.iter().filter(|(mask, _)| *mask != 0);
            let labels = labels.map(|(mask, label)| (*mask as u64, label.clone()));
            Chars::Flags(of.number, between.clone(), labels.collect())
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int8Array, Int64Array, UInt32Array, UInt64Array};

    use super::*;
    use crate::cells::Column;
    use crate::expression::Row;
    use crate::parse;

    const FIELDS: [&str; 4] = ["a", "b", "c", "d"];

    /// A record of an i64, a u64, a u32 and an i8.
    fn record(a: i64, b: u64, c: u32, d: i8) -> (Vec<u8>, Vec<ArrayRef>) {
        let data = [&a.to_le_bytes()[..], &b.to_le_bytes(), &c.to_le_bytes(), &d.to_le_bytes()];
        let arrays: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from(vec![a])),
            Arc::new(UInt64Array::from(vec![b])),
            Arc::new(UInt32Array::from(vec![c])),
            Arc::new(Int8Array::from(vec![d])),
        ];
        (data.concat(), arrays)
    }

    fn place(name: &str) -> Option<FieldPlace> {
        Some(match name {
            "a" => FieldPlace::Number { at: 0, size: 8, signed: true },
            "b" => FieldPlace::Number { at: 8, size: 8, signed: false },
            "c" => FieldPlace::Number { at: 16, size: 4, signed: false },
            "d" => FieldPlace::Number { at: 20, size: 1, signed: true },
            _ => return None,
        })
    }

    /// A few thousand expressions, each over records with numbers at their limits: what is compiled
    /// gives the low 64 bits of what 128 bits give.
    #[test]
    fn words_give_what_128_bits_give() {
        let mut chance = 88_172_645_463_325_252u64;
        let mut below = move |limit: usize| {
            chance ^= chance << 13;
            chance ^= chance >> 7;
            chance ^= chance << 17;
            (chance % limit as u64) as usize
        };
        let records: Vec<_> = [
            (0, 0, 0, 0),
            (-1, u64::MAX, u32::MAX, -1),
            (i64::MIN, 1 << 63, 1 << 31, i8::MIN),
            (i64::MAX, 7, 63, 5),
            (-5, 0x8000_0001, 64, -128),
        ]
        .into_iter()
        .map(|(a, b, c, d)| record(a, b, c, d))
        .collect();
        let leaves =
            ["REC->a", "REC->b", "REC->c", "REC->d", "1", "20", "0xffffffff", "~0UL", "-3"];
        let binary = [
            "+", "-", "*", "/", "%", "&", "|", "^", "<", ">", "<=", ">=", "==", "!=", "<<", ">>",
            "&&", "||",
        ];
        let casts = ["(u8)", "(int)", "(unsigned long)", "(s64)", "!", "~", "-"];
        let mut compiled = 0;
        for _ in 0..4000 {
            let mut text = leaves[below(leaves.len())].to_owned();
            for _ in 0..1 + below(4) {
                let leaf = leaves[below(leaves.len())];
                text = match below(8) {
                    0 | 1 => format!("{}({text})", casts[below(casts.len())]),
                    2 => format!("({text}) ? {leaf} : ({text})"),
                    3 => format!("{leaf} {} ({text})", binary[below(binary.len())]),
                    _ => format!("({text}) {} {leaf}", binary[below(binary.len())]),
                };
            }
            let format = parse::parse(&format!("\"%d\", {text}"), &FIELDS, 8).unwrap();
            let places: Vec<_> = format.fields.iter().map(|name| place(name)).collect();
            let Some(ranged) = number(&format.arguments[0], &places) else { continue };
            compiled += 1;
            for (data, arrays) in &records {
                let column = |name: &String| {
                    let at = FIELDS.iter().position(|field| field == name).unwrap();
                    Column::new(arrays[at].as_ref())
                };
                let columns: Vec<Column> = format.fields.iter().map(column).collect();
                let exact = format.arguments[0].int(Row { columns: &columns, row: 0 }).unwrap();
                assert_eq!(ranged.number.value(data), exact as u64, "{text}: {exact}");
                assert!((ranged.least..=ranged.most).contains(&exact), "{text}: {exact}");
            }
        }
        assert!(compiled > 2000, "{compiled}");
    }

    #[test]
    fn what_needs_more_bits_is_left_to_the_expression() {
        for text in
            ["REC->b < REC->a", "REC->b * REC->b / 3", "REC->a >> REC->c", "(REC->b + 1) >> 1"]
        {
            let format = parse::parse(&format!("\"%d\", {text}"), &FIELDS, 8).unwrap();
            let places: Vec<_> = format.fields.iter().map(|name| place(name)).collect();
            assert!(number(&format.arguments[0], &places).is_none(), "{text}");
        }
    }
}
