//! The texts in which the kernel describes its events: `events/SYSTEM/EVENT/format` of tracefs.
//!
//! ```text
//! name: sched_switch
//! ID: 372
//! format:
//!         field:unsigned short common_type;   offset:0;   size:2;   signed:0;
//!         field:char prev_comm[16];           offset:8;   size:16;  signed:0;
//! print fmt: "prev_comm=%s ...", REC->prev_comm, ...
//! ```
//! Offsets, sizes and ids differ from kernel to kernel: nothing else says how an event is laid out.

use std::borrow::Cow;

/// The items of an array, or of a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Item {
    /// Characters up to a NUL.
    Text,
    /// Bytes without meaning.
    Byte,
    /// Numbers of this many bytes.
    Number { size: u8, signed: bool },
}

/// How a field lies in the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A number of 1, 2, 4 or 8 bytes.
    Number { signed: bool },
    /// A truth value of one byte.
    Bool,
    /// An array within the record.
    Array(Item),
    /// A u32: offset (low half) and length (high half) of an array behind the fixed fields. The
    /// offset counts from the record's start or, `relative`, from the end of this field.
    Located { item: Item, relative: bool },
    /// An array from here to the end of the record.
    Rest(Item),
}

/// One field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FormatField<'a> {
    pub(crate) name: &'a str,
    pub(crate) offset: u32,
    pub(crate) size: u32,
    pub(crate) kind: Kind,
    /// Declared with a pointer type: people write it in base 16.
    pub(crate) pointer: bool,
}

impl FormatField<'_> {
    /// Whether every event has it, by the kernel's naming.
    pub(crate) fn common(&self) -> bool {
        self.name.starts_with("common_")
    }
}

/// One event's description.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Format<'a> {
    pub(crate) name: &'a str,
    pub(crate) id: u16,
    pub(crate) fields: Vec<FormatField<'a>>,
    pub(crate) print: &'a str,
}

impl Format<'_> {
    /// The fields that become columns: all but the type's number, which the table stands for.
    pub(crate) fn columns(&self) -> impl Iterator<Item = &FormatField<'_>> {
        self.fields.iter().filter(|field| field.name != "common_type")
    }
}

/// The text as UTF-8: kernels write ASCII, anything else is damage that one event's texts show.
pub(crate) fn readable(text: &[u8]) -> Cow<'_, str> {
    // The check alone is several times faster than making it lossy.
    std::str::from_utf8(text).map_or_else(|_| String::from_utf8_lossy(text), Cow::Borrowed)
}

/// Fields of an event: the kernel's own have fewer than 100.
const MOST_FIELDS: usize = 1024;

/// Parses a format text; `long` is the size of the kernel's long in bytes.
///
/// # Errors
/// What is missing or cannot be understood.
pub(crate) fn parse(text: &str, long: u8) -> Result<Format<'_>, String> {
    let mut name = None;
    let mut id = None;
    let mut fields = Vec::new();
    let mut rest = text;
    let mut print = "";
    while !rest.is_empty() {
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        let line = line.trim();
        if let Some(value) = line.strip_prefix("name:") {
            name = Some(value.trim());
        } else if let Some(value) = line.strip_prefix("ID:") {
            let number = value.trim().parse();
            id = Some(number.map_err(|_| format!("the ID {:?} is no u16", value.trim()))?);
        } else if line.starts_with("field") {
            let field = field(line, long);
            fields.push(field.ok_or_else(|| format!("the field line {line:?}"))?);
            if fields.len() > MOST_FIELDS {
                return Err(format!("more than {MOST_FIELDS} fields"));
            }
        } else if line.starts_with("print fmt:") {
            // The rest, also when the text goes on over lines.
            let begin = rest.find("print fmt:").unwrap_or(0) + "print fmt:".len();
            print = rest[begin..].trim();
            break;
        }
        rest = after;
    }
    let name = name.filter(|name| !name.is_empty()).ok_or("no name")?;
    Ok(Format { name, id: id.ok_or("no ID")?, fields, print })
}

/// `field:DECLARATION; offset:N; size:N; signed:N;` (`signed` is missing before 2.6.33).
pub(crate) fn field(line: &str, long: u8) -> Option<FormatField<'_>> {
    let (_, rest) = line.split_once(':')?;
    let (declaration, rest) = rest.split_once(';')?;
    let (mut offset, mut size, mut signed) = (None, None, false);
    let mut rest = rest.as_bytes();
    while let Some(colon) = memchr::memchr(b':', rest) {
        let name = rest[..colon].trim_ascii();
        rest = &rest[colon + 1..];
        let end = memchr::memchr(b';', rest).unwrap_or(rest.len());
        let value = std::str::from_utf8(rest[..end].trim_ascii()).ok()?;
        rest = &rest[(end + 1).min(rest.len())..];
        match name {
            b"offset" => offset = value.parse::<u32>().ok(),
            b"size" => size = value.parse::<u32>().ok(),
            b"signed" => signed = value == "1",
            _ => {}
        }
    }
    let (offset, size) = (offset?, size?);
    // Sizes of records have 27 bits; larger offsets are damage, and would overflow sums.
    if offset >= 1 << 27 || size >= 1 << 27 {
        return None;
    }
    declared(declaration.trim(), size, signed, long).map(|(name, kind, pointer)| FormatField {
        name,
        offset,
        size,
        kind,
        pointer,
    })
}

fn declared(declaration: &str, size: u32, signed: bool, long: u8) -> Option<(&str, Kind, bool)> {
    for (word, relative) in [("__data_loc", false), ("__rel_loc", true)] {
        if let Some(rest) = declaration.strip_prefix(word) {
            let (of, name) = split_name(rest.trim())?;
            let of = of.trim().trim_end_matches(']').trim_end_matches('[').trim();
            let kind = match size {
                4 => Kind::Located { item: item(of, None, signed, long), relative },
                _ => Kind::Array(Item::Byte),
            };
            return Some((name, kind, false));
        }
    }
    let (bare, brackets) = match declaration.strip_suffix(']') {
        Some(inner) => {
            let (bare, length) = inner.rsplit_once('[')?;
            (bare.trim(), Some(length.trim()))
        }
        None => (declaration, None),
    };
    let (of, name) = split_name(bare)?;
    let pointer = of.contains('*');
    let kind = match (brackets, size) {
        (_, 0) => Kind::Rest(item(of, None, signed, long)),
        (Some(length), _) => {
            let count = length.parse::<u32>().ok().filter(|&count| count > 0);
            let each = count.filter(|count| size.is_multiple_of(*count)).map(|count| size / count);
            Kind::Array(item(of, each, signed, long))
        }
        (None, 1) if of.split_whitespace().any(|word| word == "bool") => Kind::Bool,
        (None, 1 | 2 | 4 | 8) => Kind::Number { signed },
        // `char data; size:4080` of header pages, and structures.
        (None, _) if of == "char" => Kind::Array(Item::Text),
        (None, _) => Kind::Array(Item::Byte),
    };
    Some((name, kind, pointer))
}

/// `unsigned int vec` → (`unsigned int`, `vec`).
fn split_name(declaration: &str) -> Option<(&str, &str)> {
    let of = declaration.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
    let name = &declaration[of.len()..];
    (!name.is_empty()).then_some((of.trim(), name))
}

/// The items of an array of type `of`, each of `size` bytes when that is known.
fn item(of: &str, size: Option<u32>, signed: bool, long: u8) -> Item {
    let words: Vec<&str> = of
        .split(|c: char| c.is_whitespace() || c == '*')
        .filter(|word| !matches!(*word, "" | "const" | "volatile" | "__user"))
        .collect();
    let unsigned = words.contains(&"unsigned");
    if of.contains('*') {
        return Item::Number { size: long, signed: false };
    }
    let by_name = match words.last() {
        Some(&"char") if !unsigned && !words.contains(&"signed") => return Item::Text,
        Some(&("char" | "u8" | "__u8" | "uint8_t" | "bool" | "s8" | "__s8" | "int8_t")) => 1,
        Some(&("short" | "u16" | "__u16" | "uint16_t" | "s16" | "__s16" | "int16_t")) => 2,
        Some(&("u64" | "__u64" | "uint64_t" | "s64" | "__s64" | "int64_t")) => 8,
        Some(&("u32" | "__u32" | "uint32_t" | "s32" | "__s32" | "int32_t" | "pid_t")) => 4,
        Some(&"long") if words.iter().filter(|word| **word == "long").count() > 1 => 8,
        Some(&("long" | "size_t" | "cpumask_t")) => long,
        Some(&"int") if words.contains(&"long") => long,
        Some(&("int" | "unsigned")) => 4,
        _ => 0,
    };
    let signed_name = matches!(words.last(), Some(&("int" | "long" | "short" | "pid_t")) if !unsigned)
        || words.last().is_some_and(|word| {
            word.trim_start_matches('_').starts_with('s') && word.len() <= 5 || {
                word.starts_with("int") && word.ends_with("_t")
            }
        });
    match size.unwrap_or(u32::from(by_name)) {
        size @ (2 | 4 | 8) => Item::Number { size: size as u8, signed: signed || signed_name },
        _ => Item::Byte,
    }
}
