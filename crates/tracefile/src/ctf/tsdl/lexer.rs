//! Words of TSDL.

use super::Fault;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    Word(String),
    Number(i128),
    Text(String),
    /// One of `{ } [ ] ( ) < > ; : , . = * -`.
    Sign(char),
    /// `...`
    Dots,
    /// `:=`
    Becomes,
}

impl std::fmt::Display for Token {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Word(word) => write!(out, "{word}"),
            Self::Number(number) => write!(out, "{number}"),
            Self::Text(text) => write!(out, "{text:?}"),
            Self::Sign(sign) => write!(out, "{sign}"),
            Self::Dots => write!(out, "..."),
            Self::Becomes => write!(out, ":="),
        }
    }
}

/// Tokens with their offsets in the text.
pub(super) fn tokens(text: &[u8]) -> Result<Vec<(usize, Token)>, Fault> {
    let mut lexer = Lexer { text, at: 0 };
    let mut tokens = Vec::new();
    while let Some(found) = lexer.next()? {
        tokens.push(found);
    }
    Ok(tokens)
}

struct Lexer<'a> {
    text: &'a [u8],
    at: usize,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.text.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn fault<T>(&self, what: impl Into<String>) -> Result<T, Fault> {
        Err(Fault { offset: self.at, what: what.into() })
    }

    fn skip_space(&mut self) -> Result<(), Fault> {
        while self.at < self.text.len() {
            match (self.peek(0), self.peek(1)) {
                // Padding NULs occur at the end of packets of metadata.
                (b' ' | b'\t' | b'\r' | b'\n' | 0x0b | 0x0c | 0, _) => self.at += 1,
                (b'/', b'/') => {
                    let rest = &self.text[self.at..];
                    self.at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                }
                (b'/', b'*') => match memchr::memmem::find(&self.text[self.at + 2..], b"*/") {
                    Some(length) => self.at += length + 4,
                    None => return self.fault("a comment that does not end"),
                },
                _ => break,
            }
        }
        Ok(())
    }

    fn next(&mut self) -> Result<Option<(usize, Token)>, Fault> {
        self.skip_space()?;
        if self.at >= self.text.len() {
            return Ok(None);
        }
        let begin = self.at;
        let token = match self.peek(0) {
            b'"' => Token::Text(self.quoted(b'"')?),
            b'\'' => {
                let text = self.quoted(b'\'')?;
                let mut letters = text.chars();
                match (letters.next(), letters.next()) {
                    (Some(letter), None) => Token::Number(i128::from(u32::from(letter))),
                    _ => return self.fault("a character that is not one"),
                }
            }
            b'.' if self.peek(1) == b'.' && self.peek(2) == b'.' => {
                self.at += 3;
                Token::Dots
            }
            b':' if self.peek(1) == b'=' => {
                self.at += 2;
                Token::Becomes
            }
            sign @ (b'{' | b'}' | b'[' | b']' | b'(' | b')' | b'<' | b'>' | b';' | b':' | b','
            | b'.' | b'=' | b'*' | b'-' | b'+') => {
                self.at += 1;
                Token::Sign(sign as char)
            }
            b'0'..=b'9' => Token::Number(self.number()?),
            letter if letter.is_ascii_alphabetic() || letter == b'_' => {
                while self.peek(0).is_ascii_alphanumeric() || self.peek(0) == b'_' {
                    self.at += 1;
                }
                Token::Word(String::from_utf8_lossy(&self.text[begin..self.at]).into_owned())
            }
            other => return self.fault(format!("the byte {other:#04x}, which TSDL does not use")),
        };
        Ok(Some((begin, token)))
    }

    fn number(&mut self) -> Result<i128, Fault> {
        let begin = self.at;
        while self.peek(0).is_ascii_alphanumeric() {
            self.at += 1;
        }
        let word = String::from_utf8_lossy(&self.text[begin..self.at]).to_ascii_lowercase();
        let (radix, digits) = match word.strip_prefix("0x") {
            Some(digits) => (16, digits),
            None => match word.strip_prefix("0b") {
                Some(digits) => (2, digits),
                None if word.len() > 1 && word.starts_with('0') => (8, &word[1..]),
                None => (10, word.as_str()),
            },
        };
        let digits = digits.trim_end_matches(['u', 'l']);
        let digits = if digits.is_empty() && radix == 8 { "0" } else { digits };
        match u64::from_str_radix(digits, radix) {
            Ok(number) => Ok(i128::from(number)),
            Err(_) => {
                self.at = begin;
                self.fault(format!("{word}, which is no number of 64 bits"))
            }
        }
    }

    fn quoted(&mut self, quote: u8) -> Result<String, Fault> {
        let begin = self.at;
        self.at += 1;
        let mut bytes = Vec::new();
        loop {
            if self.at >= self.text.len() {
                self.at = begin;
                return self.fault("a text that does not end");
            }
            let byte = self.peek(0);
            self.at += 1;
            match byte {
                b'\\' => bytes.push(self.escape()),
                _ if byte == quote => return Ok(String::from_utf8_lossy(&bytes).into_owned()),
                _ => bytes.push(byte),
            }
        }
    }

    fn escape(&mut self) -> u8 {
        let letter = self.peek(0);
        self.at += 1;
        match letter {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'a' => 7,
            b'b' => 8,
            b'f' => 12,
            b'v' => 11,
            b'x' => self.digits(16, 2),
            b'0'..=b'7' => {
                self.at -= 1;
                self.digits(8, 3)
            }
            other => other,
        }
    }

    fn digits(&mut self, radix: u32, most: usize) -> u8 {
        let mut value = 0u32;
        for _ in 0..most {
            let Some(digit) = char::from(self.peek(0)).to_digit(radix) else { break };
            value = value * radix + digit;
            self.at += 1;
        }
        value as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_numbers_texts_and_comments() {
        let found = tokens(b"a /* x */ 0x1F 017 10UL // y\n 0...30 \"q\\\"\\n\" := 'A'").unwrap();
        let found: Vec<Token> = found.into_iter().map(|(_, token)| token).collect();
        let number = Token::Number;
        assert_eq!(
            found,
            [
                Token::Word("a".into()),
                number(31),
                number(15),
                number(10),
                number(0),
                Token::Dots,
                number(30),
                Token::Text("q\"\n".into()),
                Token::Becomes,
                number(65),
            ]
        );
    }

    #[test]
    fn faults_say_where() {
        assert_eq!(tokens(b"ab /* c").unwrap_err().offset, 3);
        assert_eq!(tokens(b"ab \"c").unwrap_err().offset, 3);
        assert_eq!(tokens(b"ab 09").unwrap_err().offset, 3);
    }
}
