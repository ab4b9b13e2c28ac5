//! Fields of a protocol buffer as they lie in the file.
//!
//! Method: <https://protobuf.dev/programming-guides/encoding/>.

/// The value of a field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Value<'a> {
    Number(u64),
    Fixed64(u64),
    Fixed32(u32),
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    /// A number of any width; of bytes none.
    pub(super) fn number(self) -> Option<u64> {
        match self {
            Self::Number(value) | Self::Fixed64(value) => Some(value),
            Self::Fixed32(value) => Some(u64::from(value)),
            Self::Bytes(_) => None,
        }
    }

    pub(super) fn bytes(self) -> &'a [u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            _ => &[],
        }
    }

    pub(super) fn double(self) -> f64 {
        match self {
            Self::Fixed64(bits) => f64::from_bits(bits),
            Self::Fixed32(bits) => f64::from(f32::from_bits(bits)),
            Self::Number(number) => number as f64,
            Self::Bytes(_) => 0.0,
        }
    }
}

/// The fields of a message, one after the other.
pub(super) struct Fields<'a> {
    bytes: &'a [u8],
    pub(super) at: usize,
    /// Whether the message is cut within a field, or holds bytes that are no field.
    pub(super) damaged: bool,
}

impl<'a> Fields<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, damaged: false }
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..70).step_by(7) {
            let byte = *self.bytes.get(self.at)?;
            self.at += 1;
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn fixed<const N: usize>(&mut self) -> Option<[u8; N]> {
        let value = self.bytes.get(self.at..self.at.checked_add(N)?)?.try_into().ok()?;
        self.at += N;
        Some(value)
    }

    fn field(&mut self) -> Option<(u32, Value<'a>)> {
        let tag = self.varint()?;
        let number = u32::try_from(tag >> 3).ok().filter(|&number| number != 0)?;
        let value = match tag & 7 {
            0 => Value::Number(self.varint()?),
            1 => Value::Fixed64(u64::from_le_bytes(self.fixed()?)),
            2 => {
                let length = usize::try_from(self.varint()?).ok()?;
                let end = self.at.checked_add(length)?;
                let bytes = self.bytes.get(self.at..end)?;
                self.at = end;
                Value::Bytes(bytes)
            }
            5 => Value::Fixed32(u32::from_le_bytes(self.fixed()?)),
            _ => return None,
        };
        Some((number, value))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (u32, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.bytes.len() || self.damaged {
            return None;
        }
        let field = self.field();
        self.damaged |= field.is_none();
        field
    }
}

/// The numbers of a repeated field, packed or not.
pub(super) fn numbers(value: Value<'_>) -> Vec<u64> {
    match value {
        Value::Bytes(bytes) => {
            let mut packed = Fields::of(bytes);
            std::iter::from_fn(|| packed.varint()).collect()
        }
        other => other.number().into_iter().collect(),
    }
}

/// The last of a message's fields of a number.
pub(super) fn last(message: &[u8], number: u32) -> Option<Value<'_>> {
    Fields::of(message).filter(|(of, _)| *of == number).map(|(_, value)| value).last()
}

/// The first of a message's fields of a number.
pub(super) fn first(message: &[u8], number: u32) -> Option<Value<'_>> {
    Fields::of(message).find(|(of, _)| *of == number).map(|(_, value)| value)
}

/// The number in the last of a message's fields of a number.
pub(super) fn number(message: &[u8], field: u32) -> Option<u64> {
    last(message, field)?.number()
}

/// Text; what is no UTF-8 is replaced.
pub(super) fn text(value: Value<'_>) -> String {
    String::from_utf8_lossy(value.bytes()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_each_kind_are_read_and_a_cut_is_told() {
        let message = b"\x08\x96\x01\x12\x02ok\x1d\x01\0\0\0\x21\0\0\0\0\0\0\xf8\x3f\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
        let found: Vec<_> = Fields::of(message).collect();
        assert_eq!(found[0], (1, Value::Number(150)));
        assert_eq!(found[1], (2, Value::Bytes(b"ok")));
        assert_eq!(found[2], (3, Value::Fixed32(1)));
        assert_eq!(found[3].1.double(), 1.5);
        assert_eq!(found[4].1.number().map(|n| n as i64), Some(-1));
        for end in 1..message.len() {
            let mut fields = Fields::of(&message[..end]);
            let whole = fields.by_ref().count();
            assert!(fields.damaged || whole < found.len());
        }
        let mut endless = Fields::of(&[0x80; 20]);
        assert!(endless.next().is_none() && endless.damaged);
    }
}
