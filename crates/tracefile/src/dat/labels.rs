//! What the `print fmt` text of an event says about its fields: names of values, and the base in
//! which numbers are written.
//!
//! ```text
//! print fmt: "vec=%u [action=%s]", REC->vec, __print_symbolic(REC->vec, { 0, "HI" }, { 1, "TIMER" })
//! ```

use crate::Label;

/// What the text says of its fields, by name.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct PrintFormat<'a> {
    labels: Vec<(&'a str, Vec<Label>)>,
    bases: Vec<(&'a str, u8)>,
}

impl<'a> PrintFormat<'a> {
    /// Reads a text; what is not understood is passed over.
    pub(crate) fn read(print: &'a str) -> Self {
        let mut parsed = Self::default();
        let arguments = split(print);
        if let Some((format, values)) = arguments.split_first() {
            parsed.bases = bases(format, values);
        }
        for at in memchr::memmem::find_iter(print.as_bytes(), "__print_") {
            let rest = &print[at..];
            let flags = rest.starts_with("__print_flags");
            if (flags || rest.starts_with("__print_symbolic"))
                && let Some((field, labels)) = table(print, at, flags)
                && !parsed.labels.iter().any(|(known, _)| *known == field)
            {
                parsed.labels.push((field, labels));
            }
        }
        parsed
    }

    /// The names of a field's values, in the order of the text.
    pub(crate) fn labels(&self, field: &str) -> Vec<Label> {
        let entry = self.labels.iter().find(|(name, _)| *name == field);
        entry.map(|(_, labels)| labels.clone()).unwrap_or_default()
    }

    /// The base of a field, when the text writes it with a conversion of its own.
    pub(crate) fn base(&self, field: &str) -> Option<u8> {
        self.bases.iter().find(|(name, _)| *name == field).map(|(_, base)| *base)
    }
}

/// Field and names of a table that begins at `at`.
fn table(print: &str, at: usize, flags: bool) -> Option<(&str, Vec<Label>)> {
    let open = at + print[at..].find('(')?;
    let close = closing(print, open)?;
    let arguments = split(&print[open + 1..close]);
    let field = one_field(arguments.first()?)?;
    let mut labels: Vec<Label> =
        arguments.iter().skip(if flags { 2 } else { 1 }).filter_map(|entry| label(entry)).collect();
    // `VALUE ? __print_flags(...) : "R"` names the value without any flag.
    if flags && print[..at].trim_end().ends_with('?') {
        let none = print[close + 1..].trim_start().strip_prefix(':').and_then(quoted);
        labels.extend(none.map(|name| Label { first: 0, last: 0, name }));
    }
    Some((field, labels))
}

/// `{ VALUE, "NAME" }`.
fn label(entry: &str) -> Option<Label> {
    let inner = entry.trim().strip_prefix('{')?.strip_suffix('}')?;
    let parts = split(inner);
    let value = evaluate(parts.first()?)?;
    Some(Label { first: value, last: value, name: quoted(parts.get(1)?)? })
}

/// The bases of the values of a format text.
fn bases<'a>(format: &str, values: &[&'a str]) -> Vec<(&'a str, u8)> {
    let mut bases = Vec::new();
    let mut values = values.iter();
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        let after = &rest[at + 1..];
        let length =
            after.find(|c: char| c == '%' || c.is_ascii_alphabetic() && !"hlLqjzt".contains(c));
        let Some(length) = length else { break };
        values.by_ref().take(after[..length].matches('*').count()).for_each(drop);
        let conversion = after.as_bytes()[length];
        rest = &after[length + 1..];
        if conversion == b'%' {
            continue;
        }
        let Some(value) = values.next() else { break };
        let base = match conversion {
            b'x' | b'X' | b'p' => 16,
            b'o' => 8,
            _ => 10,
        };
        if let Some(field) = one_field(value) {
            bases.push((field, base));
        }
    }
    bases
}

/// The field of an expression that is a field's value, perhaps masked or converted.
fn one_field(expression: &str) -> Option<&str> {
    let (before, rest) = expression.split_once("REC->")?;
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
    let (name, after) = rest.split_at(end);
    let plain = |text: &str| !text.contains("REC->") && !text.contains(|c| "?[\"/".contains(c));
    // A mask may be any constant; nothing may be done to the field itself.
    let kept = match after.trim_start_matches([')', ' ']).chars().next() {
        None | Some('&') => true,
        Some(_) => false,
    };
    let moved = |text: &str| text.contains("<<") || text.contains(">>") || text.contains('+');
    (plain(before) && plain(after) && kept && !moved(before)).then_some(name)
}

/// The first text in quotes, when nothing but brackets and blanks stands before it.
fn quoted(text: &str) -> Option<String> {
    let (before, rest) = text.split_once('"')?;
    let end = rest.find('"')?;
    before.trim_matches([' ', '(']).is_empty().then(|| rest[..end].to_owned())
}

/// Cuts at the commas that stand in no brackets and no quotes.
fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut begin, mut inside, mut escaped) = (0usize, 0, false, false);
    for (at, c) in text.bytes().enumerate() {
        match c {
            _ if escaped => escaped = false,
            b'\\' if inside => escaped = true,
            b'"' => inside = !inside,
            _ if inside => {}
            b'(' | b'{' | b'[' => depth += 1,
            b')' | b'}' | b']' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                parts.push(text[begin..at].trim());
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[begin..].trim());
    parts
}

/// Where the bracket that opens at `open` is closed.
fn closing(text: &str, open: usize) -> Option<usize> {
    let (mut depth, mut inside, mut escaped) = (0usize, false, false);
    for (at, c) in text.bytes().enumerate().skip(open) {
        match c {
            _ if escaped => escaped = false,
            b'\\' if inside => escaped = true,
            b'"' => inside = !inside,
            _ if inside => {}
            b'(' => depth += 1,
            b')' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// The value of a constant expression of C.
fn evaluate(text: &str) -> Option<i128> {
    let mut parser = Parser { rest: text.trim(), depth: 0 };
    let value = parser.binary(0)?;
    parser.rest.is_empty().then_some(value)
}

/// Binary operators of C, the weakest first.
const OPERATORS: [&[&str]; 6] = [&["|"], &["^"], &["&"], &["<<", ">>"], &["+", "-"], &["*", "/"]];
/// Brackets within brackets: kernel texts have a dozen.
const DEEPEST: usize = 64;

struct Parser<'a> {
    rest: &'a str,
    depth: usize,
}

impl Parser<'_> {
    fn binary(&mut self, level: usize) -> Option<i128> {
        let Some(operators) = OPERATORS.get(level) else { return self.unary() };
        let mut value = self.binary(level + 1)?;
        while let Some(operator) = operators.iter().find(|operator| self.eat(operator)) {
            let right = self.binary(level + 1)?;
            value = match *operator {
                "|" => value | right,
                "^" => value ^ right,
                "&" => value & right,
                "<<" => value.checked_shl(u32::try_from(right).ok().filter(|&n| n < 64)?)?,
                ">>" => value.checked_shr(u32::try_from(right).ok()?)?,
                "+" => value.checked_add(right)?,
                "-" => value.checked_sub(right)?,
                "*" => value.checked_mul(right)?,
                _ => value.checked_div(right)?,
            };
            // Nothing that a label can stand for has more than 64 bits.
            if value.unsigned_abs() > u128::from(u64::MAX) {
                return None;
            }
        }
        Some(value)
    }

    fn unary(&mut self) -> Option<i128> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return None;
        }
        let value = if self.eat("-") {
            self.unary().map(|value| -value)
        } else if self.eat("+") {
            self.unary()
        } else if self.eat("~") {
            // Of 32 bits, as C has it for the masks that stand here.
            self.unary().map(|value| i128::from(!(value as u32)))
        } else if self.eat("(") {
            match self.conversion() {
                true => self.unary(),
                false => self.binary(0).filter(|_| self.eat(")")),
            }
        } else {
            self.number()
        };
        self.depth -= 1;
        value
    }

    /// Passes over `TYPE)`.
    fn conversion(&mut self) -> bool {
        let Some((inside, after)) = self.rest.split_once(')') else { return false };
        let type_like = inside.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && inside.chars().all(|c| c.is_ascii_alphanumeric() || "_ *".contains(c));
        if type_like {
            self.rest = after.trim_start();
        }
        type_like
    }

    fn number(&mut self) -> Option<i128> {
        if let Some(rest) = self.rest.strip_prefix('\'') {
            let c = rest.chars().next()?;
            self.rest = rest[c.len_utf8()..].strip_prefix('\'')?.trim_start();
            return Some(c as i128);
        }
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        let digits = word.trim_end_matches(['u', 'U', 'l', 'L']);
        let value = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
            Some(hex) => u64::from_str_radix(hex, 16).ok()?,
            None if digits.len() > 1 && digits.starts_with('0') => {
                u64::from_str_radix(digits, 8).ok()?
            }
            None => digits.parse().ok()?,
        };
        self.rest = rest.trim_start();
        Some(i128::from(value))
    }

    fn eat(&mut self, token: &str) -> bool {
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(print: &str, field: &str) -> Vec<(i128, String)> {
        let labels = PrintFormat::read(print).labels(field);
        labels.into_iter().map(|label| (label.first, label.name)).collect()
    }

    #[test]
    fn letters_of_a_state_with_the_one_for_none() {
        let print = r#""%s%s ==> %d", (REC->prev_state & ((((0x00000000 | 0x00000001) + 1) << 1) - 1)) ? __print_flags(REC->prev_state & ((((0x0 | 0x1) + 1) << 1) - 1), "|", { 0x00000001, "S" }, { 0x00000002, "D" }) : "R", REC->prev_state & 0x100 ? "+" : "", REC->next_pid"#;
        let expected = [(1, "S"), (2, "D"), (0, "R")].map(|(v, n)| (v, n.to_owned()));
        assert_eq!(names(print, "prev_state"), expected);
        assert_eq!(PrintFormat::read(print).base("next_pid"), Some(10));
    }

    #[test]
    fn symbols_with_expressions_and_names_with_commas() {
        let print = r#""%s", __print_symbolic(REC->mode, { 1 << 3, "a,b" }, {(u32)(0x10UL | 2), "c(" }, { NAME, "?" }, { 'x', "x" }, { -1, "none" })"#;
        let expected = [(8, "a,b"), (18, "c("), (120, "x"), (-1, "none")];
        assert_eq!(names(print, "mode"), expected.map(|(v, n)| (v, n.to_owned())));
    }

    #[test]
    fn operators_bind_and_group_as_in_c() {
        for (text, value) in [
            ("10 - 3 - 2", 5),
            ("10 - 3 + 2", 9),
            ("64 / 4 / 2", 8),
            ("64 / 4 * 2", 32),
            ("1 << 2 << 3", 32),
            ("256 >> 2 << 1", 128),
            ("2 + 3 * 4", 14),
            ("20 - 2 * 3 - 4", 10),
            ("1 << 2 + 1", 8),
            ("(1 << 2) + 1", 5),
            ("1 | 6 ^ 2 & 3", 5),
            ("6 & 3 << 1", 6),
            ("8 - (4 - 2)", 6),
        ] {
            assert_eq!(evaluate(text), Some(value), "{text}");
        }
        for text in ["1 +", "1 / 0", "1 2", "1 << 64", "NAME - 1"] {
            assert_eq!(evaluate(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_done_to_a_field_has_no_names() {
        assert!(names(r#""%s", __print_symbolic(REC->a >> 4, { 1, "x" })"#, "a").is_empty());
        assert!(names(r#""%s", __print_symbolic(REC->a + REC->b, { 1, "x" })"#, "a").is_empty());
    }

    #[test]
    fn bases_follow_the_conversions() {
        let print = r#""100%% %-8s ip=0x%08lx fn=%ps %*d mode=%o", REC->name, ((unsigned long)(REC->ip)), (void *)REC->function, 3, REC->count, REC->mode"#;
        let parsed = PrintFormat::read(print);
        let bases = ["name", "ip", "function", "count", "mode"].map(|field| parsed.base(field));
        assert_eq!(bases, [Some(10), Some(16), Some(16), Some(10), Some(8)]);
    }

    #[test]
    fn nesting_without_end_is_passed_over() {
        let print =
            format!(r#""%s", __print_symbolic(REC->a, {{ {}1, "x" }})"#, "(".repeat(100_000));
        assert!(names(&print, "a").is_empty());
        assert!(names(r#""%s", __print_flags(REC->a"#, "a").is_empty());
    }
}
