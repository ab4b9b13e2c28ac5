//! Text in memory that is used again: it is there before it is written to, so that numbers and short
//! texts are put to their places without asking for each whether there is room.

use std::ops::Deref;

/// Text that grows. What is behind its end is left over from other texts.
#[derive(Debug, Default)]
pub struct Lines {
    bytes: Vec<u8>,
    end: usize,
}

/// Bytes that a write may touch behind what it writes.
const SLACK: usize = 32;
/// Bytes that are copied together.
const BLOCK: usize = 16;

impl Deref for Lines {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.end]
    }
}

impl Lines {
    /// Its memory without a text.
    pub(crate) fn emptied(mut self) -> Self {
        self.end = 0;
        self
    }

    /// Keeps only the first bytes.
    pub(crate) fn truncate(&mut self, length: usize) {
        self.end = self.end.min(length);
    }

    /// Takes back the newlines at the end of what was written from a place on.
    #[inline]
    pub(crate) fn end_line(&mut self, begin: usize) {
        while self.end > begin && self.bytes[self.end - 1] == b'\n' {
            self.end -= 1;
        }
    }

    /// Makes room for so many bytes, which the functions that follow ask for.
    #[inline]
    pub(crate) fn room(&mut self, more: usize) {
        if self.bytes.len() - self.end < more + SLACK {
            self.grow(more + SLACK);
        }
    }

    #[cold]
    fn grow(&mut self, more: usize) {
        let length = (self.end + more).max(self.bytes.len() * 2).max(1 << 16);
        self.bytes.resize(length.max(self.bytes.capacity()), 0);
    }

    /// Writes a byte, for which there must be room.
    #[inline]
    pub(crate) fn byte(&mut self, byte: u8) {
        self.bytes[self.end] = byte;
        self.end += 1;
    }

    /// Writes bytes, for which there need be no room.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.room(bytes.len());
        self.bytes[self.end..self.end + bytes.len()].copy_from_slice(bytes);
        self.end += bytes.len();
    }

    /// Writes a text, for which there must be room.
    #[inline]
    pub(crate) fn text(&mut self, text: &BlockText) {
        let mut at = self.end;
        for block in &text.blocks {
            self.bytes[at..at + BLOCK].copy_from_slice(block);
            at += BLOCK;
        }
        self.end += text.length;
    }

    /// Writes what stands before the first NUL of 16 bytes, for which there must be room; returns
    /// whether it is plain ASCII.
    #[inline]
    pub(crate) fn name(&mut self, bytes: &[u8; BLOCK]) -> bool {
        let halves = [0, 8].map(|at| {
            u64::from_le_bytes(bytes[at..at + 8].try_into().expect("the half of 16 bytes"))
        });
        let first = nul(halves[0]);
        let length = if first < 8 { first } else { 8 + nul(halves[1]) };
        self.bytes[self.end..self.end + BLOCK].copy_from_slice(bytes);
        self.end += length;
        let strange = [strange(halves[0]), strange(halves[1])];
        match length {
            0..8 => strange[0] & before(length) == 0,
            8..16 => strange[0] | strange[1] & before(length - 8) == 0,
            _ => strange[0] | strange[1] == 0,
        }
    }

    /// Writes a number in base 10, for which there must be room.
    #[inline]
    pub(crate) fn decimal(&mut self, mut value: u64) {
        let mut at = decimal_digits(value);
        let out = &mut self.bytes[self.end..self.end + at];
        self.end += at;
        while value >= 100 {
            at -= 2;
            out[at..at + 2].copy_from_slice(&PAIRS[(value % 100) as usize]);
            value /= 100;
        }
        if value >= 10 {
            out[..2].copy_from_slice(&PAIRS[value as usize]);
        } else {
            out[0] = b'0' + value as u8;
        }
    }

    /// Writes nine digits of a number below 10^9, for which there must be room.
    #[inline]
    pub(crate) fn nine_digits(&mut self, value: u32) {
        let out = &mut self.bytes[self.end..self.end + 9];
        let (top, rest) = (value / 100_000_000, value % 100_000_000);
        let (high, low) = (rest / 10_000, rest % 10_000);
        out[0] = b'0' + top as u8;
        out[1..3].copy_from_slice(&PAIRS[(high / 100) as usize]);
        out[3..5].copy_from_slice(&PAIRS[(high % 100) as usize]);
        out[5..7].copy_from_slice(&PAIRS[(low / 100) as usize]);
        out[7..9].copy_from_slice(&PAIRS[(low % 100) as usize]);
        self.end += 9;
    }

    /// Writes a number in base 16 with at least so many digits, at most 16, for which there must be
    /// room.
    #[inline]
    pub(crate) fn hexadecimal(&mut self, value: u64, least: usize) {
        let digits = hexadecimal_digits(value).max(least);
        let first = value << (64 - 4 * digits);
        let out = &mut self.bytes[self.end..self.end + 16];
        out[..8].copy_from_slice(&nibbles((first >> 32) as u32));
        out[8..].copy_from_slice(&nibbles(first as u32));
        self.end += digits;
    }
}

/// Digits of a number in base 10.
#[inline]
pub(crate) fn decimal_digits(value: u64) -> usize {
    const POWERS: [u64; 20] = {
        let mut powers = [1; 20];
        let mut at = 1;
        while at < 20 {
            powers[at] = powers[at - 1] * 10;
            at += 1;
        }
        powers
    };
    // 1233 / 4096 is the logarithm of 2.
    let about = ((64 - (value | 1).leading_zeros()) as usize * 1233) >> 12;
    about + usize::from(value >= POWERS[about] || about == 0)
}

/// Digits of a number in base 16.
#[inline]
fn hexadecimal_digits(value: u64) -> usize {
    (64 - (value | 1).leading_zeros()).div_ceil(4) as usize
}

/// The eight digits of a number in base 16.
#[inline]
fn nibbles(value: u32) -> [u8; 8] {
    let mut digits = u64::from(value);
    digits = (digits << 16 | digits) & 0x0000_ffff_0000_ffff;
    digits = (digits << 8 | digits) & 0x00ff_00ff_00ff_00ff;
    digits = (digits << 4 | digits) & 0x0f0f_0f0f_0f0f_0f0f;
    let letters = (digits + 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101;
    (digits + 0x3030_3030_3030_3030 + letters * 0x27).to_be_bytes()
}

const EACH: u64 = 0x0101_0101_0101_0101;
const TOP: u64 = EACH << 7;

/// How many bytes stand before the first NUL of a little-endian word: 8 where there is none.
#[inline]
fn nul(word: u64) -> usize {
    ((word.wrapping_sub(EACH) & !word & TOP).trailing_zeros() / 8) as usize
}

/// The top bits of those bytes that are no plain ASCII.
#[inline]
fn strange(word: u64) -> u64 {
    let low = word & !TOP;
    // Below a blank there is nothing to borrow from but the top bit that is set here.
    (word | (low + EACH) | !((word | TOP) - EACH * 0x20)) & TOP
}

/// All bits of the first so many bytes of a word, fewer than 8.
#[inline]
fn before(count: usize) -> u64 {
    (1 << (count * 8)) - 1
}

/// `00` to `99`.
pub(crate) const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut at = 0;
    while at < 100 {
        pairs[at] = [b'0' + (at / 10) as u8, b'0' + (at % 10) as u8];
        at += 1;
    }
    pairs
};

/// A text that is written often: in blocks, the last filled up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct BlockText {
    blocks: Vec<[u8; BLOCK]>,
    length: usize,
}

impl BlockText {
    pub(crate) fn new(text: &[u8]) -> Self {
        let block = |part: &[u8]| {
            let mut block = [0; BLOCK];
            block[..part.len()].copy_from_slice(part);
            block
        };
        Self { blocks: text.chunks(BLOCK).map(block).collect(), length: text.len() }
    }

    pub(crate) fn len(&self) -> usize {
        self.length
    }
}

/// Whether all bytes are ones that a terminal may be given.
pub(crate) fn is_plain(bytes: &[u8]) -> bool {
    // Without an end before the last byte: many are looked at together.
    bytes.iter().fold(true, |plain, c| plain & (32..127).contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Lines)) -> String {
        let mut lines = Lines::default();
        lines.room(100);
        write(&mut lines);
        String::from_utf8(lines.to_vec()).unwrap()
    }

    #[test]
    fn numbers_have_their_digits() {
        let mut numbers = vec![0, 1, u64::MAX, 0xdead_beef, 1 << 63];
        let mut power = 1u64;
        for _ in 0..20 {
            numbers.extend([power - 1, power, power + 1, power.wrapping_mul(7) / 3]);
            power = power.wrapping_mul(10);
        }
        for number in numbers {
            assert_eq!(written(|lines| lines.decimal(number)), number.to_string());
            assert_eq!(written(|lines| lines.hexadecimal(number, 1)), format!("{number:x}"));
            assert_eq!(written(|lines| lines.hexadecimal(number, 8)), format!("{number:08x}"));
            let below = (number % 1_000_000_000) as u32;
            assert_eq!(written(|lines| lines.nine_digits(below)), format!("{below:09}"));
        }
    }

    #[test]
    fn names_end_at_their_nul_and_are_looked_at_up_to_there() {
        for text in
            ["", "a", "kworker", "kworker/", "kworker/0", "123456789012345", "1234567890123456"]
        {
            for bad in [None, Some(0x1f), Some(0x7f), Some(0x80), Some(0xff), Some(1)] {
                for at in 0..text.len() {
                    let mut bytes = [b'\n'; BLOCK];
                    bytes[..text.len()].copy_from_slice(text.as_bytes());
                    if let Some(end) = bytes.get_mut(text.len()) {
                        *end = 0;
                    }
                    bytes[at] = bad.unwrap_or(bytes[at]);
                    let mut lines = Lines::default();
                    lines.room(BLOCK);
                    assert_eq!(lines.name(&bytes), bad.is_none(), "{text} {at} {bad:?}");
                    assert_eq!(*lines, bytes[..text.len()]);
                }
            }
        }
    }

    #[test]
    fn memory_grows_and_is_used_again() {
        let mut lines = Lines::default();
        lines.bytes(&[b'x'; 100_000]);
        lines.bytes(b"y\n\n");
        lines.end_line(100_000);
        assert_eq!(&lines[99_999..], b"xy");
        let mut lines = lines.emptied();
        lines.room(40);
        lines.text(&BlockText::new(b"twenty bytes of text"));
        assert_eq!(&*lines, b"twenty bytes of text");
    }
}
