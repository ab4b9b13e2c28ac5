//! A position in the bits of a packet.

use crate::ByteOrder;

use super::classes::Encoding;

/// Why the reading of a field ended early. It fits into two registers: results of it are checked for
/// every field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stop {
    /// The packet's content ends within the field.
    Short,
    /// A variant has no option for its selector's value.
    Selector(i64),
    /// A length that is no number of elements.
    Length(i64),
    /// Fields that hold nothing, in numbers that only serve to exhaust memory and time.
    Empty,
    /// A variable-length integer of more than 64 bits.
    Wide,
}

impl Stop {
    pub(super) fn selector(value: i128) -> Self {
        Self::Selector(clamp(value))
    }

    pub(super) fn length(value: i128) -> Self {
        Self::Length(clamp(value))
    }
}

fn clamp(value: i128) -> i64 {
    value.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

impl std::fmt::Display for Stop {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Short => write!(out, "it goes beyond the end of the packet's content"),
            Self::Selector(value) => write!(out, "a variant has no option for the value {value}"),
            Self::Length(length) => write!(out, "a length of {length}"),
            Self::Empty => write!(out, "too many elements that hold nothing"),
            Self::Wide => write!(out, "a variable-length integer of more than 64 bits"),
        }
    }
}

/// Reads a packet from its first bit on. All positions are bits from there: alignment counts so too.
#[derive(Clone)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    pub(super) at: u64,
    /// Where the content ends; never beyond the bytes.
    pub(super) end: u64,
}

impl<'a> Cursor<'a> {
    /// `content_bits` is cut to what there is.
    pub(super) fn new(bytes: &'a [u8], content_bits: u64) -> Self {
        Self { bytes, at: 0, end: content_bits.min(bytes.len() as u64 * 8) }
    }

    /// The same bits read from `at` on, which must be within them.
    pub(super) fn from(&self, at: u64) -> Self {
        Self { at, ..self.clone() }
    }

    #[inline]
    pub(super) fn align(&mut self, bits: u32) -> Result<(), Stop> {
        let mask = u64::from(bits) - 1;
        // Cannot overflow: a position is within a slice's bits, and an alignment has 21 at most.
        let at = (self.at + mask) & !mask;
        if at > self.end {
            return Err(Stop::Short);
        }
        self.at = at;
        Ok(())
    }

    /// Passes over bits and gives the position before them.
    #[inline]
    pub(super) fn pass(&mut self, bits: u64) -> Result<u64, Stop> {
        let from = self.at;
        if bits > self.end - from {
            return Err(Stop::Short);
        }
        self.at = from + bits;
        Ok(from)
    }

    /// Whole bytes; the position must be at one.
    #[inline]
    pub(super) fn take(&mut self, count: u64) -> Result<&'a [u8], Stop> {
        let from = self.pass(count.checked_mul(8).ok_or(Stop::Short)?)?;
        Ok(&self.bytes[(from / 8) as usize..(from / 8 + count) as usize])
    }

    /// The bytes that hold bits that were passed over.
    #[inline]
    pub(super) fn span(&self, from: u64, bits: u64) -> &'a [u8] {
        &self.bytes[(from / 8) as usize..(from + bits).div_ceil(8) as usize]
    }

    /// The rest of the content in whole bytes.
    #[inline]
    pub(super) fn rest(&self) -> &'a [u8] {
        &self.bytes[(self.at / 8) as usize..(self.end / 8) as usize]
    }

    /// `N` bytes; the position must be at a whole one.
    #[inline]
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], Stop> {
        let from = (self.pass(N as u64 * 8)? / 8) as usize;
        Ok(self.bytes[from..from + N].try_into().expect("N bytes"))
    }

    /// The next `N` bytes, which must be there; the position must be at a whole one.
    #[inline]
    pub(super) fn peek<const N: usize>(&self) -> [u8; N] {
        let from = (self.at / 8) as usize;
        self.bytes[from..from + N].try_into().expect("N bytes")
    }

    /// An integer of 1 to 64 bits, not sign-extended.
    #[inline]
    pub(super) fn bits(&mut self, count: u8, order: ByteOrder) -> Result<u64, Stop> {
        let from = self.pass(u64::from(count))?;
        Ok(bits(self.bytes, from, count, order))
    }

    /// Seven bits a byte, least significant first, while the top bit is set: value and width.
    pub(super) fn variable(&mut self, signed: bool) -> Result<(u64, u8), Stop> {
        let (mut value, mut width) = (0u128, 0u32);
        loop {
            let byte = self.take(1)?[0];
            if width < 126 {
                value |= u128::from(byte & 0x7f) << width;
            } else if byte & 0x7f != 0 {
                return Err(Stop::Wide);
            }
            width = (width + 7).min(1 << 20);
            if byte & 0x80 == 0 {
                break;
            }
        }
        if signed {
            let unused = 128 - width.min(126);
            let value = (value as i128) << unused >> unused;
            let cut = i64::try_from(value).map_err(|_| Stop::Wide)?;
            return Ok((cut as u64, width.min(64) as u8));
        }
        Ok((u64::try_from(value).map_err(|_| Stop::Wide)?, width.min(64) as u8))
    }

    /// Text up to its NUL, which is passed over.
    #[inline]
    pub(super) fn text(&mut self, encoding: Encoding) -> Result<&'a [u8], Stop> {
        let rest = self.rest();
        let unit = encoding.unit();
        let length = match unit {
            1 => memchr::memchr(0, rest),
            _ => rest
                .chunks_exact(unit)
                .position(|unit| unit.iter().all(|&byte| byte == 0))
                .map(|units| units * unit),
        };
        let length = length.ok_or(Stop::Short)?;
        self.at += (length + unit) as u64 * 8;
        Ok(&rest[..length])
    }
}

/// An integer of 1 to 64 bits anywhere in `bytes`, which must hold it.
#[inline]
pub(super) fn bits(bytes: &[u8], from: u64, count: u8, order: ByteOrder) -> u64 {
    let first = (from / 8) as usize;
    let shift = (from % 8) as u32;
    let count = u32::from(count);
    let held = &bytes[first..first + (shift + count).div_ceil(8) as usize];
    let value = match order {
        ByteOrder::Little => {
            let all = held.iter().rev().fold(0u128, |all, &byte| all << 8 | u128::from(byte));
            all >> shift
        }
        ByteOrder::Big => {
            let all = held.iter().fold(0u128, |all, &byte| all << 8 | u128::from(byte));
            all >> (held.len() as u32 * 8 - shift - count)
        }
    };
    value as u64 & (u64::MAX >> (64 - count))
}

/// Sign-extends an integer of `count` bits.
#[inline]
pub(super) fn extend(value: u64, count: u8) -> u64 {
    let unused = 64 - u32::from(count);
    ((value << unused) as i64 >> unused) as u64
}

impl Encoding {
    /// Bytes of its smallest unit.
    pub(super) fn unit(self) -> usize {
        match self {
            Self::Utf8 => 1,
            Self::Utf16(_) => 2,
            Self::Utf32(_) => 4,
        }
    }

    /// The part of bytes of fixed length before their NUL.
    pub(super) fn cut(self, bytes: &[u8]) -> &[u8] {
        let unit = self.unit();
        match unit {
            1 => &bytes[..memchr::memchr(0, bytes).unwrap_or(bytes.len())],
            _ => {
                let nul = bytes.chunks(unit).position(|unit| unit.iter().all(|&byte| byte == 0));
                &bytes[..nul.map_or(bytes.len(), |units| units * unit)]
            }
        }
    }

    /// As UTF-8; what is none is replaced. Text that is UTF-8 already is given as it is.
    pub(super) fn utf8(self, bytes: &[u8]) -> std::borrow::Cow<'_, [u8]> {
        let text: String = match self {
            Self::Utf8 => return bytes.into(),
            Self::Utf16(order) => {
                let units = bytes.chunks_exact(2).map(|two| bits(two, 0, 16, order) as u16);
                char::decode_utf16(units).map(|unit| unit.unwrap_or('\u{fffd}')).collect()
            }
            Self::Utf32(order) => {
                let units = bytes.chunks_exact(4).map(|four| bits(four, 0, 32, order) as u32);
                units.map(|unit| char::from_u32(unit).unwrap_or('\u{fffd}')).collect()
            }
        };
        text.into_bytes().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bit_fields_begin_at_the_low_bit_or_at_the_high_one() {
        let bytes = [0b1010_0110, 0b1100_0101, 0xff];
        assert_eq!(bits(&bytes, 0, 4, ByteOrder::Little), 0b0110);
        assert_eq!(bits(&bytes, 4, 4, ByteOrder::Little), 0b1010);
        assert_eq!(bits(&bytes, 0, 4, ByteOrder::Big), 0b1010);
        assert_eq!(bits(&bytes, 5, 6, ByteOrder::Little), 0b101_101);
        assert_eq!(bits(&bytes, 5, 6, ByteOrder::Big), 0b110_110);
        assert_eq!(bits(&bytes, 0, 16, ByteOrder::Big), 0xa6c5);
        assert_eq!(bits(&bytes, 0, 16, ByteOrder::Little), 0xc5a6);
    }

    #[test]
    fn sixty_four_bits_across_nine_bytes() {
        let bytes = [0xff; 9];
        assert_eq!(bits(&bytes, 3, 64, ByteOrder::Little), u64::MAX);
        assert_eq!(bits(&bytes, 3, 64, ByteOrder::Big), u64::MAX);
    }

    #[test]
    fn variable_length_integers() {
        let read = |bytes: &[u8], signed| Cursor::new(bytes, 800).variable(signed);
        assert_eq!(read(&[0x7f], false), Ok((127, 7)));
        assert_eq!(read(&[0x7f], true), Ok((u64::MAX, 7)));
        assert_eq!(read(&[0x80, 0x01], false), Ok((128, 14)));
        assert_eq!(read(&[0x80], false), Err(Stop::Short));
        let wide = [&[0xff; 9][..], &[0x02]].concat();
        assert_eq!(read(&wide, false), Err(Stop::Wide));
        let widest = [&[0xff; 9][..], &[0x01]].concat();
        assert_eq!(read(&widest, false), Ok((u64::MAX, 64)));
        assert_eq!(read(&[&[0xff; 9][..], &[0x7f]].concat(), true), Ok((u64::MAX, 64)));
    }

    #[test]
    fn texts_of_other_encodings() {
        let bytes = [0x41, 0, 0xe9, 0, 0, 0, 0x42];
        let utf16 = Encoding::Utf16(ByteOrder::Little);
        let mut cursor = Cursor::new(&bytes, 56);
        let text = cursor.text(utf16).unwrap();
        assert_eq!(utf16.utf8(text), "Aé".as_bytes());
        assert_eq!(cursor.at, 48);
    }
}
