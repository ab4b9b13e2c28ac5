//! JSON as it lies in the file: where each value begins and ends, without a tree of it.

use std::borrow::Cow;

/// A position in a text of JSON.
pub(super) struct Scanner<'a> {
    bytes: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Passes over white space and tells what follows.
    pub(super) fn peek(&mut self) -> Option<u8> {
        while let Some(c) = self.bytes.get(self.at) {
            if !c.is_ascii_whitespace() {
                return Some(*c);
            }
            self.at += 1;
        }
        None
    }

    /// Passes over one of these, where it follows.
    pub(super) fn skip(&mut self, expected: u8) -> bool {
        let follows = self.peek() == Some(expected);
        self.at += usize::from(follows);
        follows
    }

    /// The bytes of the value that follows; None where there is none, or the text ends within it.
    pub(super) fn value(&mut self) -> Option<&'a [u8]> {
        let from = match self.peek()? {
            b'"' => {
                let from = self.at;
                self.at = string_end(self.bytes, from)?;
                from
            }
            b'{' | b'[' => {
                let from = self.at;
                let mut depth = 0_usize;
                loop {
                    match self.bytes.get(self.at)? {
                        b'"' => {
                            self.at = string_end(self.bytes, self.at)?;
                            continue;
                        }
                        b'{' | b'[' => depth += 1,
                        b'}' | b']' => depth -= 1,
                        _ => {}
                    }
                    self.at += 1;
                    if depth == 0 {
                        break from;
                    }
                }
            }
            b'}' | b']' | b',' | b':' => return None,
            _ => {
                let from = self.at;
                let rest = &self.bytes[from..];
                let length = rest.iter().position(|c| b",]} \t\r\n:\"[{".contains(c));
                self.at += length?;
                from
            }
        };
        Some(&self.bytes[from..self.at])
    }

    /// The name and the value of the next member of an object, behind its `{` or a member.
    pub(super) fn member(&mut self) -> Option<(Cow<'a, str>, &'a [u8])> {
        self.skip(b',');
        if self.peek()? != b'"' {
            return None;
        }
        let name = self.value()?;
        if !self.skip(b':') {
            return None;
        }
        let value = self.value()?;
        Some((text(name), value))
    }
}

/// Behind the string that begins at `from`.
fn string_end(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from + 1;
    loop {
        let found = at + memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[found] == b'"' {
            return Some(found + 1);
        }
        at = found + 2;
    }
}

/// The members of an object.
pub(super) fn members<'a>(object: &'a [u8]) -> impl Iterator<Item = (Cow<'a, str>, &'a [u8])> {
    let mut scanner = Scanner::new(object);
    scanner.skip(b'{');
    std::iter::from_fn(move || scanner.member())
}

/// The elements of an array.
pub(super) fn elements(array: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut scanner = Scanner::new(array);
    scanner.skip(b'[');
    std::iter::from_fn(move || {
        scanner.skip(b',');
        scanner.value()
    })
}

/// A value as text: of a string what it says, of others how they are written.
pub(super) fn text(value: &[u8]) -> Cow<'_, str> {
    let Some(inner) = value.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")) else {
        return String::from_utf8_lossy(value);
    };
    if inner.contains(&b'\\')
        && let Ok(text) = serde_json::from_slice::<String>(value)
    {
        return text.into();
    }
    String::from_utf8_lossy(inner)
}

/// Microseconds, as a number or as text, in nanoseconds.
pub(super) fn nanoseconds(value: &[u8]) -> Option<i64> {
    let text = text(value);
    let text = text.trim();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let plain = |part: &str| part.bytes().all(|c| c.is_ascii_digit());
    if !plain(whole) || !plain(fraction) || whole.is_empty() {
        let number: f64 = text.parse().ok()?;
        let number = (number * 1000.0).round();
        return (number.abs() < 9e18).then_some(number as i64);
    }
    let mut below: i64 = 0;
    for place in 0..3 {
        below = below * 10 + i64::from(fraction.as_bytes().get(place).map_or(0, |c| c - b'0'));
    }
    let up = i64::from(fraction.as_bytes().get(3).is_some_and(|&c| c >= b'5'));
    let whole: i64 = whole.parse().ok()?;
    Some(sign * whole.checked_mul(1000)?.checked_add(below + up)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_whatever_is_in_strings() {
        let object = br#"{"a":"}\"{", "b" : [1,{"c":"]"}],"d":-1.5e3,"e":null}"#;
        let found: Vec<(String, String)> =
            members(object).map(|(name, value)| (name.into(), text(value).into())).collect();
        let expected = [("a", "}\"{"), ("b", r#"[1,{"c":"]"}]"#), ("d", "-1.5e3"), ("e", "null")];
        assert_eq!(found, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
        assert_eq!(elements(b"[1, [2,3] ,\"x,y\"]").count(), 3);
        assert!(Scanner::new(b"{\"a\": {").value().is_none());
        assert!(Scanner::new(b"\"a\\").value().is_none());
    }

    #[test]
    fn times_keep_their_nanoseconds() {
        let cases: [(&[u8], Option<i64>); 9] = [
            (b"1", Some(1000)),
            (b"1234567890123.456", Some(1_234_567_890_123_456)),
            (b"-0.0015", Some(-2)),
            (b"\"7.25\"", Some(7250)),
            (b"1.5e3", Some(1_500_000)),
            (b"9223372036854775807", None),
            (b"x", None),
            (b"", None),
            (b"1e300", None),
        ];
        for (value, expected) in cases {
            assert_eq!(nanoseconds(value), expected, "{}", String::from_utf8_lossy(value));
        }
    }
}
