//! The arguments of `trace_printk`, which the kernel packs behind the address of the format string
//! (`vbin_printf` of lib/vsprintf.c): each aligned to its size, longs to 4 bytes; texts, and pointers
//! that were followed when they were traced, as bytes with a NUL.

use std::borrow::Cow;

use crate::cells::Value;
use crate::conversion::{Amount, Conversion, Piece};

/// The packed arguments of an event.
pub(crate) struct Arguments<'a> {
    bytes: &'a [u8],
    at: usize,
    long: u8,
    big: bool,
}

impl<'a> Arguments<'a> {
    pub(crate) fn new(bytes: &'a [u8], long: u8, big: bool) -> Self {
        Self { bytes, at: 0, long, big }
    }

    /// A number of so many bytes.
    fn number(&mut self, size: u8) -> Option<i128> {
        self.at = self.at.next_multiple_of(usize::from(size.min(4)));
        let bytes = self.bytes.get(self.at..self.at + usize::from(size))?;
        self.at += usize::from(size);
        let fold = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
        Some(i128::from(match self.big {
            true => bytes.iter().fold(0, fold),
            false => bytes.iter().rev().fold(0, fold),
        }))
    }

    fn text(&mut self) -> Option<Cow<'a, str>> {
        let rest = self.bytes.get(self.at..)?;
        let length = memchr::memchr(0, rest)?;
        self.at += length + 1;
        Some(String::from_utf8_lossy(&rest[..length]))
    }

    /// A width or precision.
    pub(crate) fn amount(&mut self, amount: Amount) -> Option<Option<i128>> {
        Some(match amount {
            Amount::Unset => None,
            Amount::Fixed(amount) => Some(amount as i128),
            Amount::Argument => Some(i128::from(self.number(4)? as i32)),
        })
    }

    /// What a conversion writes.
    pub(crate) fn value(&mut self, conversion: &Conversion) -> Option<Value<'a>> {
        Some(match conversion.kind {
            b's' => Value::Text(self.text()?),
            b'c' => Value::Int(self.number(1)?),
            b'p' => match conversion.pointer.as_bytes() {
                [] | [b'S' | b's' | b'F' | b'f' | b'B' | b'x' | b'K' | b'e', ..] => {
                    Value::Int(self.number(self.long)?)
                }
                _ => Value::Text(self.text()?),
            },
            _ => Value::Int(self.number(conversion.length.bytes(self.long))?),
        })
    }
}

/// Whether a format string only has what is known here.
pub(crate) fn readable(pieces: &[Piece]) -> bool {
    pieces.iter().all(|piece| match piece {
        Piece::Text(_) => true,
        Piece::Conversion(conversion) => conversion.kind != b'p' || conversion.pointer != "V",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversion::pieces;

    fn values(template: &str, bytes: &[u8], long: u8, big: bool) -> Vec<String> {
        let mut arguments = Arguments::new(bytes, long, big);
        let pieces = pieces(template).unwrap();
        let conversions = pieces.iter().filter_map(|piece| match piece {
            Piece::Conversion(conversion) => Some(conversion),
            Piece::Text(_) => None,
        });
        let value = |conversion| match arguments.value(conversion) {
            Some(Value::Int(value)) => value.to_string(),
            Some(Value::Text(text)) => text.into_owned(),
            other => format!("{other:?}"),
        };
        conversions.map(value).collect()
    }

    #[test]
    fn arguments_are_aligned_as_the_kernel_packs_them() {
        // A char, then a short at 2, an int at 4, a long at 8, a text, an int at the next 4.
        let bytes = b"A\0\x02\x01\x03\0\0\0\x04\0\0\0\0\0\0\0hi\0\0\x05\0\0\0";
        let expected = ["65", "258", "3", "4", "hi", "5"];
        assert_eq!(values("%c %hd %d %ld %s %u", bytes, 8, false), expected);
        let bytes = b"A\0\x01\x02\0\0\0\x03\0\0\0\x04hi\0\0\0\0\0\x05";
        assert_eq!(values("%c %hd %d %ld %s %u", bytes, 4, true), expected);
        // 8 bytes stand at a multiple of 4.
        assert_eq!(values("%d %lld", b"\x01\0\0\0\x02\0\0\0\0\0\0\0", 4, false), ["1", "2"]);
        // What ends too early gives nothing.
        assert_eq!(values("%d %d", b"\x01\0\0\0\x02", 8, false), ["1", "None"]);
        assert_eq!(values("%s", b"no end", 8, false), ["None"]);
        // A pointer that was followed is a text.
        assert_eq!(
            values("%pI4 %pS", b"10.0.0.1\0\0\0\0\x07\0\0\0\0\0\0\0", 8, false),
            ["10.0.0.1", "7"]
        );
    }
}
