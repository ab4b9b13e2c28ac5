//! The conversions of the kernel's printf: parsed once, written many times.

use std::io::Write;

use crate::lines::PAIRS;

/// A part of a format string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    Text(String),
    Conversion(Conversion),
}

/// A width or a precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Amount {
    Unset,
    Fixed(usize),
    /// `*`: an argument of its own.
    Argument,
}

/// The size of an integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    Char,
    Short,
    Int,
    Long,
    LongLong,
}

impl Length {
    /// In bytes, on a machine with such longs.
    pub(crate) fn bytes(self, long: u8) -> u8 {
        match self {
            Self::Char => 1,
            Self::Short => 2,
            Self::Int => 4,
            Self::Long => long,
            Self::LongLong => 8,
        }
    }
}

/// `%-08.3llx`, `%pS`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Conversion {
    pub(crate) left: bool,
    zero: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    pub(crate) width: Amount,
    pub(crate) precision: Amount,
    pub(crate) length: Length,
    /// `d`, `u`, `x`, `s`, `c`, `p`, ...
    pub(crate) kind: u8,
    /// What follows `%p`: `S`, `I4`, `M`, ...
    pub(crate) pointer: String,
}

/// Wider fields are none that a kernel writes.
const WIDEST: usize = 99;

/// The parts of a format string.
///
/// # Errors
/// What is not known in it.
pub(crate) fn pieces(template: &str) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut rest = template;
    while let Some(at) = rest.find('%') {
        text.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            text.push('%');
            rest = after;
            continue;
        }
        if !text.is_empty() {
            pieces.push(Piece::Text(std::mem::take(&mut text)));
        }
        let (conversion, length) = conversion(rest)?;
        pieces.push(Piece::Conversion(conversion));
        rest = &rest[length..];
    }
    text.push_str(rest);
    if !text.is_empty() {
        pieces.push(Piece::Text(text));
    }
    Ok(pieces)
}

/// The conversion behind a `%`, and how long it is.
fn conversion(text: &str) -> Result<(Conversion, usize), String> {
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut made = Conversion {
        left: false,
        zero: false,
        plus: false,
        space: false,
        alternate: false,
        width: Amount::Unset,
        precision: Amount::Unset,
        length: Length::Int,
        kind: 0,
        pointer: String::new(),
    };
    while let Some(flag) = bytes.get(at).filter(|c| b"-0+ #".contains(c)) {
        match flag {
            b'-' => made.left = true,
            b'0' => made.zero = true,
            b'+' => made.plus = true,
            b' ' => made.space = true,
            _ => made.alternate = true,
        }
        at += 1;
    }
    made.width = amount(bytes, &mut at)?;
    if bytes.get(at) == Some(&b'.') {
        at += 1;
        made.precision = match amount(bytes, &mut at)? {
            Amount::Unset => Amount::Fixed(0),
            set => set,
        };
    }
    while let Some(&length) = bytes.get(at).filter(|c| b"hlLqjzZt".contains(c)) {
        made.length = match (length, made.length) {
            (b'h', Length::Short) => Length::Char,
            (b'h', _) => Length::Short,
            (b'l', Length::Long) | (b'L' | b'q' | b'j', _) => Length::LongLong,
            _ => Length::Long,
        };
        at += 1;
    }
    made.kind = *bytes.get(at).ok_or("a conversion without end")?;
    at += 1;
    match made.kind {
        b'd' | b'i' | b'u' | b'x' | b'X' | b'o' | b's' | b'c' => {}
        b'p' => {
            let letters = pointer_letters(&bytes[at..]);
            made.pointer = text[at..at + letters].to_owned();
            at += letters;
        }
        other => return Err(format!("the conversion %{}", char::from(other))),
    }
    Ok((made, at))
}

fn amount(bytes: &[u8], at: &mut usize) -> Result<Amount, String> {
    if bytes.get(*at) == Some(&b'*') {
        *at += 1;
        return Ok(Amount::Argument);
    }
    let digits = bytes[*at..].iter().take_while(|c| c.is_ascii_digit()).count();
    let text = std::str::from_utf8(&bytes[*at..*at + digits]).unwrap_or_default();
    *at += digits;
    match text.parse::<usize>() {
        Ok(number) if number <= WIDEST => Ok(Amount::Fixed(number)),
        Err(_) if text.is_empty() => Ok(Amount::Unset),
        _ => Err(format!("a width of {text}")),
    }
}

/// How many letters behind `%p` belong to it: as many as the kernel's printf takes.
fn pointer_letters(rest: &[u8]) -> usize {
    let more = |letters: &[u8], from: usize| {
        from + rest[from..].iter().take_while(|c| letters.contains(c)).count()
    };
    match rest.first() {
        Some(b'S' | b's' | b'f' | b'F') => more(b"Rb", 1),
        Some(b'B') => more(b"b", 1),
        Some(b'K' | b'x' | b'e' | b'V' | b'N') => 1,
        Some(b'M' | b'm') => more(b"FR", 1),
        Some(b'I' | b'i') => match rest.get(1) {
            Some(b'4') => more(b"hnbl", 2),
            Some(b'6') => more(b"c", 2),
            Some(b'S') => more(b"pfschnbl", 2),
            _ => 0,
        },
        Some(b'U') => more(b"bBlL", 1),
        Some(b'h') => more(b"CDN", 1),
        Some(b'b') => more(b"l", 1),
        Some(b'd' | b'D') => more(b"234", 1),
        _ => 0,
    }
}

impl Conversion {
    /// Whether it takes a signed number.
    fn signed(&self) -> bool {
        matches!(self.kind, b'd' | b'i')
    }

    /// How many digits an integer is filled up to with zeros; `None` where something else stands
    /// before it or behind.
    pub(crate) fn zeros(&self, width: usize) -> Option<usize> {
        let bare = !self.plus && !self.space && !self.alternate;
        match width {
            0 => bare.then_some(0),
            1..=16 => (bare && self.zero && !self.left).then_some(width),
            _ => None,
        }
    }

    /// Writes an integer as it is in an argument of the conversion's size.
    pub(crate) fn integer(&self, out: &mut Vec<u8>, value: i128, long: u8, width: usize) {
        let bits = u32::from(self.length.bytes(long)) * 8;
        let mask = u64::MAX >> (64 - bits);
        let masked = (value as u64) & mask;
        let negative = self.signed() && masked >> (bits - 1) != 0;
        let magnitude = if negative { masked.wrapping_neg() & mask } else { masked };
        if width == 0 && !self.plus && !self.space && !self.alternate {
            if negative {
                out.push(b'-');
            }
            return self.digits(out, magnitude);
        }
        let begin = out.len();
        self.digits(out, magnitude);
        let digits = out.len() - begin;
        let sign: &[u8] = match (negative, self.signed()) {
            (true, _) => b"-",
            (false, true) if self.plus => b"+",
            (false, true) if self.space => b" ",
            (false, false) if self.alternate && self.kind == b'x' => b"0x",
            (false, false) if self.alternate && self.kind == b'X' => b"0X",
            (false, false) if self.alternate && self.kind == b'o' => b"0",
            _ => b"",
        };
        let fill = width.saturating_sub(digits + sign.len());
        // The digits move to behind what stands before them.
        let before = sign.len() + if self.left { 0 } else { fill };
        out.resize(out.len() + sign.len() + fill, if self.left { b' ' } else { b'0' });
        out.copy_within(begin..begin + digits, begin + before);
        let blanks = if self.left || self.zero { 0 } else { fill };
        out[begin..begin + blanks].fill(b' ');
        out[begin + blanks..begin + blanks + sign.len()].copy_from_slice(sign);
        out[begin + blanks + sign.len()..begin + before].fill(b'0');
        if self.left {
            out[begin + before + digits..].fill(b' ');
        }
    }

    fn digits(&self, out: &mut Vec<u8>, value: u64) {
        match self.kind {
            b'x' => hexadecimal(out, value),
            b'X' => write!(out, "{value:X}").expect("memory"),
            b'o' => write!(out, "{value:o}").expect("memory"),
            _ => decimal(out, value),
        }
    }

    /// Writes a text, cut and filled up as the conversion says.
    pub(crate) fn text(&self, out: &mut Vec<u8>, text: &[u8], width: usize, most: Option<usize>) {
        let text = &text[..most.unwrap_or(text.len()).min(text.len())];
        let fill = width.saturating_sub(text.len());
        if !self.left {
            out.resize(out.len() + fill, b' ');
        }
        out.extend_from_slice(text);
        if self.left {
            out.resize(out.len() + fill, b' ');
        }
    }
}

/// Writes a number in base 10.
pub(crate) fn decimal(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    while value >= 100 {
        at -= 2;
        digits[at..at + 2].copy_from_slice(&PAIRS[(value % 100) as usize]);
        value /= 100;
    }
    if value >= 10 {
        at -= 2;
        digits[at..at + 2].copy_from_slice(&PAIRS[value as usize]);
    } else {
        at -= 1;
        digits[at] = b'0' + value as u8;
    }
    out.extend_from_slice(&digits[at..]);
}

/// Writes a number in base 10 with leading zeros up to `width` digits.
pub(crate) fn padded(out: &mut Vec<u8>, mut value: u64, width: usize) {
    let begin = out.len();
    out.resize(begin + width, b'0');
    for digits in out[begin..].rchunks_mut(2) {
        let pair = PAIRS[(value % 100) as usize];
        digits.copy_from_slice(&pair[2 - digits.len()..]);
        value /= 100;
    }
}

/// Writes a number in base 16.
pub(crate) fn hexadecimal(out: &mut Vec<u8>, value: u64) {
    let count = (64 - value.leading_zeros()).div_ceil(4).max(1) as usize;
    let mut digits = [0u8; 16];
    for (at, digit) in digits[..count].iter_mut().rev().enumerate() {
        *digit = b"0123456789abcdef"[(value >> (at * 4)) as usize & 15];
    }
    out.extend_from_slice(&digits[..count]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(template: &str, value: i128) -> String {
        let mut out = Vec::new();
        for piece in pieces(template).unwrap() {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text.as_bytes()),
                Piece::Conversion(conversion) => {
                    let width = match conversion.width {
                        Amount::Fixed(width) => width,
                        _ => 0,
                    };
                    conversion.integer(&mut out, value, 8, width);
                }
            }
        }
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn integers_are_written_as_c_writes_them() {
        for (template, value, expected) in [
            ("%d", -1, "-1"),
            ("%d", 0xffff_ffff, "-1"),
            ("%u", -1, "4294967295"),
            ("%lu", -1, "18446744073709551615"),
            ("%llx", -1, "ffffffffffffffff"),
            ("%hhd", 0x1ff, "-1"),
            ("%hu", 0x1_2345, "9029"),
            ("%08lx|%%", 0xbeef, "0000beef|%"),
            ("%-6d|", 42, "42    |"),
            ("%6d", -42, "   -42"),
            ("%06d", -42, "-00042"),
            ("%#x", 255, "0xff"),
            ("%+d", 7, "+7"),
            ("%o", 8, "10"),
            ("%lld", i128::from(i64::MIN), "-9223372036854775808"),
            ("%x", 0, "0"),
        ] {
            assert_eq!(written(template, value), expected, "{template}");
        }
    }

    #[test]
    fn what_is_unknown_or_too_wide_is_refused() {
        for template in ["%", "%y", "%1000d", "a %5", "%-"] {
            assert!(pieces(template).is_err(), "{template}");
        }
    }
}
