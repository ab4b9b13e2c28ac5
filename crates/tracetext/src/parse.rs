//! The kernel's print format of an event: `"prev_pid=%d …", REC->prev_pid, …`, a format string of
//! printf and C's expressions of the event's fields.

use crate::conversion::{self, Amount, Piece};
use crate::expression::{Expression, Operator};

/// A parsed print format.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PrintFormat {
    pub(crate) pieces: Vec<Piece>,
    /// One for each `*` and conversion, in order.
    pub(crate) arguments: Vec<Expression>,
    /// The fields that it reads.
    pub(crate) fields: Vec<String>,
}

/// Characters of a format that is parsed; tracepoints with many flags have a few thousand.
const LONGEST: usize = 20_000;
const DEEPEST: usize = 60;

/// Parses the format of an event that has these fields; `long` is the kernel's, in bytes.
///
/// # Errors
/// What is not known in it.
pub(crate) fn parse(text: &str, known: &[&str], long: u8) -> Result<PrintFormat, String> {
    if text.is_empty() || text.len() > LONGEST {
        return Err("none, or too long".into());
    }
    let mut parser =
        Parser { tokens: tokens(text)?, at: 0, depth: 0, known, used: Vec::new(), long };
    let pieces = conversion::pieces(&parser.texts()?)?;
    let mut arguments = Vec::new();
    while parser.take(",") {
        arguments.push(parser.ternary()?);
    }
    if parser.at < parser.tokens.len() {
        return Err(format!("what follows {:?}", parser.tokens[parser.at]));
    }
    let wanted: usize = pieces.iter().map(arguments_of).sum();
    if wanted != arguments.len() {
        return Err(format!("{wanted} conversions of {} arguments", arguments.len()));
    }
    Ok(PrintFormat { pieces, arguments, fields: parser.used })
}

/// How many arguments a part of a format string takes.
pub(crate) fn arguments_of(piece: &Piece) -> usize {
    match piece {
        Piece::Text(_) => 0,
        Piece::Conversion(conversion) => {
            let stars = [conversion.width, conversion.precision];
            1 + stars.iter().filter(|amount| **amount == Amount::Argument).count()
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Name(String),
    Number(i128),
    Text(String),
    Sign(&'static str),
}

const SIGNS: [&str; 32] = [
    "->", "||", "&&", "==", "!=", "<=", ">=", "<<", ">>", "|", "^", "&", "<", ">", "+", "-", "*",
    "/", "%", "?", ":", "(", ")", "[", "]", "{", "}", ",", "!", "~", ".", ";",
];

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length;
        if first == '"' {
            let (plain, end) = literal(rest, '"')?;
            tokens.push(Token::Text(plain));
            length = end;
        } else if first == '\'' {
            let (plain, end) = literal(rest, '\'')?;
            let c = plain.chars().next().ok_or("an empty character")?;
            tokens.push(Token::Number(c as i128));
            length = end;
        } else if first.is_ascii_digit() {
            length = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
            tokens.push(Token::Number(number(&rest[..length])?));
        } else if first.is_ascii_alphabetic() || first == '_' {
            let inside = |c: char| c.is_ascii_alphanumeric() || c == '_';
            length = rest.find(|c| !inside(c)).unwrap_or(rest.len());
            tokens.push(Token::Name(rest[..length].to_owned()));
        } else {
            let sign = SIGNS.into_iter().find(|sign| rest.starts_with(sign));
            let sign = sign.ok_or_else(|| format!("the sign {first:?}"))?;
            tokens.push(Token::Sign(sign));
            length = sign.len();
        }
        rest = rest[length..].trim_start();
    }
    Ok(tokens)
}

fn number(text: &str) -> Result<i128, String> {
    let digits = text.trim_end_matches(['u', 'U', 'l', 'L']);
    let value = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16),
        None if digits.len() > 1 && digits.starts_with('0') => u64::from_str_radix(digits, 8),
        None => digits.parse(),
    };
    value.map(i128::from).map_err(|_| format!("the number {text}"))
}

/// What stands between quotes, and how long it is with them.
fn literal(text: &str, quote: char) -> Result<(String, usize), String> {
    let mut plain = String::new();
    let mut rest = text.char_indices().skip(1);
    while let Some((at, c)) = rest.next() {
        match c {
            '\\' => match rest.next() {
                Some((_, 'n')) => plain.push('\n'),
                Some((_, 't')) => plain.push('\t'),
                Some((_, '0')) => {}
                Some((_, other)) => plain.push(other),
                None => break,
            },
            c if c == quote => return Ok((plain, at + 1)),
            c => plain.push(c),
        }
    }
    Err("a text without end".into())
}

/// Binary operators, the loosest first.
const LEVELS: [&[(&str, Operator)]; 10] = [
    &[("||", Operator::Or)],
    &[("&&", Operator::And)],
    &[("|", Operator::BitOr)],
    &[("^", Operator::BitXor)],
    &[("&", Operator::BitAnd)],
    &[("==", Operator::Equal), ("!=", Operator::Unequal)],
    &[
        ("<", Operator::Less),
        (">", Operator::Greater),
        ("<=", Operator::AtMost),
        (">=", Operator::AtLeast),
    ],
    &[("<<", Operator::ShiftLeft), (">>", Operator::ShiftRight)],
    &[("+", Operator::Add), ("-", Operator::Subtract)],
    &[("*", Operator::Multiply), ("/", Operator::Divide), ("%", Operator::Remainder)],
];

/// Recursive descent over the tokens of one format.
struct Parser<'a> {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    known: &'a [&'a str],
    used: Vec<String>,
    long: u8,
}

type Parsed = Result<Expression, String>;

impl Parser<'_> {
    fn peek(&self, ahead: usize) -> Option<&Token> {
        self.tokens.get(self.at + ahead)
    }

    fn take(&mut self, sign: &str) -> bool {
        let taken = matches!(self.peek(0), Some(Token::Sign(found)) if *found == sign);
        self.at += usize::from(taken);
        taken
    }

    fn expect(&mut self, sign: &str) -> Result<(), String> {
        match self.take(sign) {
            true => Ok(()),
            false => Err(format!("no {sign} before {:?}", self.peek(0))),
        }
    }

    fn name(&mut self) -> Result<String, String> {
        match self.peek(0) {
            Some(Token::Name(name)) => {
                let name = name.clone();
                self.at += 1;
                Ok(name)
            }
            other => Err(format!("no name before {other:?}")),
        }
    }

    /// String literals that follow each other.
    fn texts(&mut self) -> Result<String, String> {
        let mut whole: Option<String> = None;
        while let Some(Token::Text(text)) = self.peek(0) {
            whole.get_or_insert_default().push_str(text);
            self.at += 1;
        }
        whole.ok_or_else(|| format!("no text before {:?}", self.peek(0)))
    }

    fn nested(&mut self, parse: impl FnOnce(&mut Self) -> Parsed) -> Parsed {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("nested too deep".into());
        }
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    fn ternary(&mut self) -> Parsed {
        self.nested(|parser| {
            let condition = parser.binary(0)?;
            if !parser.take("?") {
                return Ok(condition);
            }
            let yes = parser.ternary()?;
            parser.expect(":")?;
            let no = parser.ternary()?;
            Ok(Expression::Choice(condition.into(), yes.into(), no.into()))
        })
    }

    fn binary(&mut self, level: usize) -> Parsed {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        while let Some((_, operator)) = operators.iter().find(|(sign, _)| self.take(sign)) {
            let right = self.binary(level + 1)?;
            left = Expression::Binary(*operator, left.into(), right.into()).folded();
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed {
        if self.take("-") {
            return Ok(Expression::Negative(self.nested(Self::unary)?.into()).folded());
        }
        if self.take("~") {
            return Ok(Expression::Complement(self.nested(Self::unary)?.into()).folded());
        }
        if self.take("!") {
            return Ok(Expression::Not(self.nested(Self::unary)?.into()).folded());
        }
        if self.take("&") {
            // The address of an array is the array.
            return self.nested(Self::unary);
        }
        if let Some((bytes, signed)) = self.conversion()? {
            let of = self.nested(Self::unary)?;
            return Ok(Expression::Cast { bytes, signed, of: of.into() }.folded());
        }
        let of = self.primary()?;
        match self.take("[") {
            false => Ok(of),
            true => {
                let at = self.ternary()?;
                self.expect("]")?;
                Ok(Expression::Element(of.into(), at.into()))
            }
        }
    }

    /// Passes over `(TYPE)`: bytes of the type, and whether it is signed.
    fn conversion(&mut self) -> Result<Option<(u8, bool)>, String> {
        let (Some(Token::Sign("(")), Some(Token::Name(first))) = (self.peek(0), self.peek(1))
        else {
            return Ok(None);
        };
        if !is_type(first) {
            return Ok(None);
        }
        let mut words = Vec::new();
        let mut pointer = false;
        self.at += 1;
        loop {
            match self.peek(0) {
                Some(Token::Name(word)) => words.push(word.clone()),
                Some(Token::Sign("*")) => pointer = true,
                Some(Token::Sign(")")) => break,
                other => return Err(format!("a type before {other:?}")),
            }
            self.at += 1;
        }
        self.at += 1;
        Ok(Some(if pointer { (8, false) } else { integer(&words, self.long) }))
    }

    fn primary(&mut self) -> Parsed {
        match self.peek(0) {
            Some(Token::Number(number)) => {
                let number = *number;
                self.at += 1;
                return Ok(Expression::Number(number));
            }
            Some(Token::Text(_)) => return Ok(Expression::Text(self.texts()?)),
            _ => {}
        }
        if self.take("(") {
            let inside = self.ternary()?;
            self.expect(")")?;
            return Ok(inside);
        }
        let name = self.name()?;
        match name.as_str() {
            "REC" => {
                self.expect("->")?;
                let name = self.name()?;
                self.field(&name)
            }
            "true" => Ok(Expression::Number(1)),
            "false" | "NULL" => Ok(Expression::Number(0)),
            "__print_symbolic" | "__print_symbolic64" => self.labelled(false),
            "__print_flags" | "__print_flags64" => self.labelled(true),
            "__print_hex" => self.hex(" "),
            "__print_hex_str" => self.hex(""),
            "__print_array" => {
                self.expect("(")?;
                let of = self.ternary()?;
                self.expect(",")?;
                let count = self.ternary()?;
                self.expect(",")?;
                self.ternary()?;
                self.expect(")")?;
                Ok(Expression::Array(of.into(), count.into()))
            }
            "__print_ns_to_secs" => Ok(Expression::Seconds(self.bracketed()?.into())),
            "__print_ns_without_secs" => Ok(Expression::Nanoseconds(self.bracketed()?.into())),
            "__get_str"
            | "__get_rel_str"
            | "__get_dynamic_array"
            | "__get_rel_dynamic_array"
            | "__get_sockaddr"
            | "__get_rel_sockaddr" => self.named(),
            "__get_dynamic_array_len" | "__get_rel_dynamic_array_len" => {
                Ok(Expression::Length(self.named()?.into()))
            }
            "__get_bitmask" | "__get_cpumask" | "__get_rel_bitmask" | "__get_rel_cpumask" => {
                Ok(Expression::Bitmask(self.named()?.into()))
            }
            _ => Err(format!("the word {name}")),
        }
    }

    fn bracketed(&mut self) -> Parsed {
        self.expect("(")?;
        let inside = self.ternary()?;
        self.expect(")")?;
        Ok(inside)
    }

    /// `(FIELD)`.
    fn named(&mut self) -> Parsed {
        self.expect("(")?;
        let name = self.name()?;
        self.expect(")")?;
        self.field(&name)
    }

    fn field(&mut self, name: &str) -> Parsed {
        // A field that has the name of a column of every table has another there.
        let payload = format!("payload.{name}");
        let names = [payload.as_str(), name];
        let known = names.into_iter().find(|name| self.known.contains(name));
        let known = known.ok_or_else(|| format!("no field {name}"))?;
        let place = self.used.iter().position(|used| used == known).unwrap_or_else(|| {
            self.used.push(known.to_owned());
            self.used.len() - 1
        });
        Ok(Expression::Field(place))
    }

    fn hex(&mut self, between: &'static str) -> Parsed {
        self.expect("(")?;
        let of = self.ternary()?;
        self.expect(",")?;
        let count = self.ternary()?;
        self.expect(")")?;
        Ok(Expression::Hex(of.into(), count.into(), between))
    }

    /// `(value, "|", {1, "A"}, …)` of flags, `(value, {1, "A"}, …)` of symbols.
    fn labelled(&mut self, flags: bool) -> Parsed {
        self.expect("(")?;
        let value = self.ternary()?;
        let mut between = String::new();
        if flags {
            self.expect(",")?;
            between = self.texts()?;
        }
        let mut labels = Vec::new();
        while self.take(",") {
            self.expect("{")?;
            let number = self.constant()?;
            self.expect(",")?;
            let label = self.texts()?;
            labels.extend(number.map(|number| (number, label)));
            self.expect("}")?;
        }
        self.expect(")")?;
        Ok(match flags {
            true => Expression::Flags(value.into(), between, labels),
            false => Expression::Symbolic(value.into(), labels),
        })
    }

    /// The value of a label. A constant of the kernel's sources has no number here: values that it
    /// stands for stay numbers.
    fn constant(&mut self) -> Result<Option<i128>, String> {
        if let (Some(Token::Name(_)), Some(Token::Sign(","))) = (self.peek(0), self.peek(1)) {
            self.at += 1;
            return Ok(None);
        }
        let row = crate::expression::Row { columns: &[], row: 0 };
        let used = self.used.len();
        let expression = self.ternary()?;
        match self.used.len() == used && is_constant(&expression) {
            true => Ok(expression.int(row)),
            false => Err("a label of a field".into()),
        }
    }
}

fn is_constant(expression: &Expression) -> bool {
    match expression {
        Expression::Number(_) => true,
        Expression::Not(of) | Expression::Negative(of) | Expression::Complement(of) => {
            is_constant(of)
        }
        Expression::Cast { of, .. } => is_constant(of),
        Expression::Binary(_, a, b) => is_constant(a) && is_constant(b),
        Expression::Choice(a, b, c) => is_constant(a) && is_constant(b) && is_constant(c),
        _ => false,
    }
}

fn is_type(word: &str) -> bool {
    const WORDS: [&str; 22] = [
        "void",
        "char",
        "short",
        "int",
        "long",
        "unsigned",
        "signed",
        "const",
        "struct",
        "enum",
        "size_t",
        "ssize_t",
        "bool",
        "pid_t",
        "dev_t",
        "sector_t",
        "gfp_t",
        "loff_t",
        "uintptr_t",
        "uint",
        "ulong",
        "xfs_agblock_t",
    ];
    WORDS.contains(&word) || sized(word).is_some()
}

/// Bytes and sign of `u32`, `__s64`, `uint8_t`.
fn sized(word: &str) -> Option<(u8, bool)> {
    let bare = word.trim_start_matches('_');
    let (signed, digits) = match bare.strip_suffix("_t") {
        Some(of) => match of.strip_prefix("uint") {
            Some(digits) => (false, digits),
            None => (true, of.strip_prefix("int")?),
        },
        None => match bare.strip_prefix('u') {
            Some(digits) => (false, digits),
            None => (true, bare.strip_prefix('s')?),
        },
    };
    match digits {
        "8" => Some((1, signed)),
        "16" => Some((2, signed)),
        "32" => Some((4, signed)),
        "64" => Some((8, signed)),
        _ => None,
    }
}

/// Bytes and sign of an integer type.
fn integer(words: &[String], long: u8) -> (u8, bool) {
    if let Some(known) = words.iter().find_map(|word| sized(word)) {
        return known;
    }
    let has = |word: &str| words.iter().any(|found| found == word);
    let unsigned = has("unsigned");
    match words.iter().filter(|word| *word == "long").count() {
        2.. => (8, !unsigned),
        1 => (long, !unsigned),
        _ if has("char") => (1, !unsigned),
        _ if has("bool") => (1, false),
        _ if has("short") => (2, !unsigned),
        _ if has("int") || has("pid_t") || has("signed") => (4, !unsigned),
        _ if unsigned || has("uint") || has("dev_t") || has("gfp_t") || has("enum") => (4, false),
        _ if has("size_t") || has("ulong") || has("uintptr_t") => (long, false),
        _ => (8, !has("sector_t")),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array, UInt32Array};

    use super::*;
    use crate::cells::{Column, Value};
    use crate::expression::Row;

    fn value(text: &str) -> i128 {
        let format = parse(&format!("\"%d\", {text}"), &["a", "b"], 8).unwrap();
        let arrays: Vec<ArrayRef> = format
            .fields
            .iter()
            .map(|name| -> ArrayRef {
                match name.as_str() {
                    "a" => Arc::new(Int64Array::from(vec![-5])),
                    _ => Arc::new(UInt32Array::from(vec![0x8000_0001])),
                }
            })
            .collect();
        let columns: Vec<Column> = arrays.iter().map(|array| Column::new(array)).collect();
        format.arguments[0].int(Row { columns: &columns, row: 0 }).unwrap()
    }

    #[test]
    fn expressions_are_evaluated_as_in_c() {
        for (text, expected) in [
            ("1 + 2 * 3", 7),
            ("(1 + 2) * 3", 9),
            ("REC->a / 2", -2),
            ("REC->a % 3", -2),
            ("REC->a < 0 ? 10 : 20", 10),
            ("(int)REC->b", -0x7fff_ffff),
            ("(unsigned int)REC->a", 0xffff_fffb),
            ("(u8)(REC->b)", 1),
            ("((unsigned long)(REC->a)) >> 60", 15),
            ("!!(REC->b & 1)", 1),
            ("~0x0fU & 0xff", 0xf0),
            ("1 << 4 | 1", 17),
            ("7 / 0", 0),
            ("'A'", 65),
            ("010", 8),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
    }

    #[test]
    fn symbols_and_flags_are_named() {
        let text = r#""%s", __print_flags(REC->a, "|", { 0x1, "A" }, { (1 << 1), "B" })"#;
        let format = parse(text, &["a"], 8).unwrap();
        for (number, expected) in [(1, "A"), (3, "A|B"), (6, "B|0x4"), (0, "")] {
            let array = Int64Array::from(vec![number]);
            let columns = [Column::new(&array)];
            match format.arguments[0].value(Row { columns: &columns, row: 0 }) {
                Some(Value::Text(text)) => assert_eq!(text, expected),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn what_is_not_known_is_refused() {
        let deep = format!("\"%d\", {}1{}", "(".repeat(1000), ")".repeat(1000));
        for text in ["", "\"%d\"", "\"%d\", REC->c", "\"x\", 1", "\"%d\", f(1)", "\"%d", &deep] {
            assert!(parse(text, &["a"], 8).is_err(), "{text}");
        }
    }
}
