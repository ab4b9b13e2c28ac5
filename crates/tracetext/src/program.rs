//! A print format compiled for records whose fields lie at fixed places: a list of texts, numbers
//! and characters, each written straight from the record.

use tracefile::FieldPlace;

use crate::conversion::{Amount, Conversion, Piece};
use crate::lines::{BlockText, Lines, is_plain};
use crate::parse::PrintFormat;
use crate::placed::{self, Chars, Number};
use crate::pointer::{self, Distance, Symbols};

/// What writes the events of a type.
#[derive(Debug)]
pub(crate) struct Program {
    steps: Vec<Step>,
    /// Bytes that it writes at most, but for texts whose length the record tells.
    most: usize,
    /// Whether the texts of the format itself are plain ASCII.
    plain: bool,
}

#[derive(Debug)]
enum Step {
    Text(BlockText),
    /// `%d`, of so many bits.
    Signed(Number, u32),
    /// `%u`.
    Unsigned(Number, u64),
    /// `%x` with at least so many digits.
    Hexadecimal(Number, u64, usize),
    /// Integers that are filled up, or have a sign before them.
    Filled(Number, Conversion, usize),
    /// `%c`.
    Character(Number),
    /// `%p`.
    Address(Number),
    Symbol(Number, Distance),
    /// `%s` of an array of 16 bytes that every record holds: the name of a thread.
    Name(usize),
    Chars(Chars),
    /// The same cut or filled up.
    FilledChars(Chars, Conversion, usize, Option<usize>),
}

/// What a program needs besides the record.
pub(crate) struct Surroundings<'a> {
    pub(crate) symbols: &'a dyn Symbols,
    /// The bytes of the kernel's long.
    pub(crate) long: u8,
}

/// Bytes of an integer, of an address.
const LONGEST_NUMBER: usize = 24;
/// A name of 16 bytes.
const NAME: usize = 16;

impl Program {
    /// Compiles a format, with a text that stands before it; `None` where it needs more than is
    /// done here, or where it may be refused.
    pub(crate) fn new(
        format: &PrintFormat,
        before: &[u8],
        long: u8,
        place: impl Fn(&str) -> Option<FieldPlace>,
    ) -> Option<Self> {
        let places: Vec<Option<FieldPlace>> =
            format.fields.iter().map(|name| place(name)).collect();
        let mut text = before.to_vec();
        let mut steps = Vec::new();
        let mut arguments = format.arguments.iter();
        let (mut most, mut plain) = (0, true);
        let mut put = |text: &mut Vec<u8>, steps: &mut Vec<Step>| {
            if !text.is_empty() {
                most += text.len();
                plain &= is_plain(text);
                steps.push(Step::Text(BlockText::new(text)));
                text.clear();
            }
        };
        for piece in &format.pieces {
            match piece {
                Piece::Text(more) => text.extend_from_slice(more.as_bytes()),
                Piece::Conversion(conversion) => {
                    put(&mut text, &mut steps);
                    let of = arguments.next()?;
                    steps.push(step(conversion, of, long, &places)?);
                }
            }
        }
        // As the kernel has it, the end of a line is not a part of it.
        text.truncate(text.len() - text.iter().rev().take_while(|&&c| c == b'\n').count());
        put(&mut text, &mut steps);
        let most = most + steps.iter().map(Step::most).sum::<usize>();
        Some(Self { steps, most, plain })
    }

    /// Bytes that there must be room for.
    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// Writes an event; returns whether all of it is plain ASCII. There must be room for it.
    #[inline]
    pub(crate) fn write(&self, lines: &mut Lines, data: &[u8], of: &Surroundings<'_>) -> bool {
        let mut plain = self.plain;
        for step in &self.steps {
            match step {
                Step::Text(text) => lines.text(text),
                Step::Signed(number, unused) => {
                    let value = (number.value(data) << unused) as i64 >> unused;
                    if value < 0 {
                        lines.byte(b'-');
                    }
                    lines.decimal(value.unsigned_abs());
                }
                Step::Unsigned(number, mask) => lines.decimal(number.value(data) & mask),
                Step::Hexadecimal(number, mask, least) => {
                    lines.hexadecimal(number.value(data) & mask, *least);
                }
                Step::Name(at) => {
                    let begin = lines.len();
                    let bytes = data.get(*at..).and_then(|rest| rest.first_chunk());
                    if !bytes.is_some_and(|bytes| lines.name(bytes)) {
                        lines.truncate(begin);
                        plain &= self.strange_name(*at, lines, data);
                    }
                }
                other => plain &= self.others(other, lines, data, of),
            }
        }
        plain
    }

    fn others(&self, step: &Step, lines: &mut Lines, data: &[u8], of: &Surroundings<'_>) -> bool {
        let mut plain = true;
        match step {
            Step::Filled(number, conversion, width) => {
                let mut text = Vec::new();
                conversion.integer(&mut text, number.value(data).into(), of.long, *width);
                lines.bytes(&text);
            }
            Step::Character(number) => {
                let character = (number.value(data) as u8) & 0x7f;
                lines.byte(character);
                plain = is_plain(&[character]);
            }
            Step::Address(number) => {
                lines.bytes(b"0x");
                lines.room(self.most);
                lines.hexadecimal(number.value(data), 1);
            }
            Step::Symbol(number, distance) => {
                let mut text = Vec::new();
                pointer::symbol(&mut text, of.symbols, number.value(data), *distance);
                plain = is_plain(&text);
                lines.bytes(&text);
            }
            Step::Chars(chars) => plain = write_chars(chars, data, lines),
            Step::FilledChars(chars, conversion, width, most) => {
                let mut whole = Lines::default();
                write_chars(chars, data, &mut whole);
                let mut text = Vec::new();
                conversion.text(&mut text, &whole, *width, *most);
                plain = is_plain(&text);
                lines.bytes(&text);
            }
            _ => unreachable!("written by `write`"),
        }
        lines.room(self.most);
        plain
    }

    /// Writes a name that the record's end cuts, or that is no plain ASCII.
    #[cold]
    fn strange_name(&self, at: usize, lines: &mut Lines, data: &[u8]) -> bool {
        let plain = write_chars(&Chars::Array(at, NAME), data, lines);
        lines.room(self.most);
        plain
    }
}

impl Step {
    /// Bytes that it writes at most without asking for room, but for texts of the format.
    fn most(&self) -> usize {
        if matches!(self, Self::Text(_)) { 0 } else { LONGEST_NUMBER }
    }
}

/// What a conversion does with an argument.
fn step(
    conversion: &Conversion,
    of: &crate::expression::Expression,
    long: u8,
    places: &[Option<FieldPlace>],
) -> Option<Step> {
    let fixed = |amount| match amount {
        Amount::Unset => Some(None),
        Amount::Fixed(amount) => Some(Some(amount)),
        Amount::Argument => None,
    };
    let (width, precision) = (fixed(conversion.width)?, fixed(conversion.precision)?);
    let fill = width.unwrap_or(0);
    Some(match conversion.kind {
        b's' => match placed::chars(of, places)? {
            Chars::Array(at, NAME) if fill == 0 && precision.is_none() => Step::Name(at),
            chars if fill == 0 && precision.is_none() => Step::Chars(chars),
            chars => Step::FilledChars(chars, conversion.clone(), fill, precision),
        },
        b'c' => Step::Character(placed::number(of, places)?.number),
        b'p' => {
            let number = placed::number(of, places)?.number;
            match conversion.pointer.as_bytes() {
                [b's' | b'f', ..] => Step::Symbol(number, Distance::Never),
                [b'S' | b'F' | b'B', ..] => Step::Symbol(number, Distance::Always),
                [] | [b'K' | b'x'] => Step::Address(number),
                _ => return None,
            }
        }
        _ => {
            let number = placed::number(of, places)?.number;
            let bits = u32::from(conversion.length.bytes(long)) * 8;
            let mask = u64::MAX >> (64 - bits);
            match (conversion.kind, conversion.zeros(fill)) {
                (b'd' | b'i', Some(0)) => Step::Signed(number, 64 - bits),
                (b'u', Some(0)) => Step::Unsigned(number, mask),
                (b'x', Some(digits)) => Step::Hexadecimal(number, mask, digits.max(1)),
                _ => Step::Filled(number, conversion.clone(), fill),
            }
        }
    })
}

/// Writes a text; returns whether it is plain ASCII.
fn write_chars(chars: &Chars, data: &[u8], lines: &mut Lines) -> bool {
    match chars {
        Chars::Constant(text) => {
            lines.bytes(text.as_bytes());
            is_plain(text.as_bytes())
        }
        Chars::Array(at, size) => {
            let begin = data.len().min(*at);
            let end = data.len().min(at.saturating_add(*size));
            write_text(until_nul(&data[begin..end]), lines)
        }
        Chars::Located(at, base) => {
            let place = placed::Width::U32.read(data, *at) as usize;
            let begin = (place & 0xffff).saturating_add(*base);
            match data.get(begin..begin.saturating_add(place >> 16)) {
                Some(text) => write_text(until_nul(text), lines),
                None => {
                    lines.bytes(b"(null)");
                    true
                }
            }
        }
        Chars::Choice(condition, both) => match condition.value(data) {
            0 => write_chars(&both.1, data, lines),
            _ => write_chars(&both.0, data, lines),
        },
        Chars::Symbolic(number, labels) => {
            let value = number.value(data);
            match labels.iter().find(|(known, _)| *known == value) {
                Some((_, label)) => {
                    lines.bytes(label.as_bytes());
                    is_plain(label.as_bytes())
                }
                None => {
                    number_of_no_label(value, lines);
                    true
                }
            }
        }
        Chars::Flags(number, between, labels) => {
            let begin = lines.len();
            let mut left = number.value(data);
            for (mask, label) in labels {
                if left & mask == *mask {
                    if lines.len() > begin {
                        lines.bytes(between.as_bytes());
                    }
                    lines.bytes(label.as_bytes());
                    left &= !mask;
                }
            }
            if left != 0 {
                if lines.len() > begin {
                    lines.bytes(between.as_bytes());
                }
                number_of_no_label(left, lines);
            }
            is_plain(&lines[begin..])
        }
    }
}

fn number_of_no_label(value: u64, lines: &mut Lines) {
    lines.room(LONGEST_NUMBER);
    lines.byte(b'0');
    lines.byte(b'x');
    lines.hexadecimal(value, 1);
}

fn until_nul(bytes: &[u8]) -> &[u8] {
    &bytes[..memchr::memchr(0, bytes).unwrap_or(bytes.len())]
}

/// Writes what strangers wrote: what is no UTF-8 in it is replaced.
fn write_text(text: &[u8], lines: &mut Lines) -> bool {
    if is_plain(text) {
        lines.bytes(text);
        return true;
    }
    lines.bytes(String::from_utf8_lossy(text).as_bytes());
    false
}
