//! What the kernel's printf writes: format strings, with the values that stand for their conversions.

use crate::cells::Value;
use crate::conversion::{Amount, Conversion, Piece};
use crate::expression::Row;
use crate::parse::PrintFormat;
use crate::pointer::{self, Symbols};

/// A kernel's printf: with its symbols and the bytes of its long.
#[derive(Clone, Copy)]
pub(crate) struct Printer<'a> {
    pub(crate) symbols: &'a dyn Symbols,
    pub(crate) long: u8,
}

impl Printer<'_> {
    /// Writes an event by its print format; `None` when a field is of another type than that takes.
    pub(crate) fn formatted(
        &self,
        out: &mut Vec<u8>,
        format: &PrintFormat,
        row: Row<'_>,
    ) -> Option<()> {
        let mut arguments = format.arguments.iter();
        for piece in &format.pieces {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text.as_bytes()),
                Piece::Conversion(conversion) => {
                    let mut amount = |amount| {
                        Some(match amount {
                            Amount::Unset => None,
                            Amount::Fixed(amount) => Some(amount as i128),
                            Amount::Argument => Some(arguments.next()?.int(row)?),
                        })
                    };
                    let width = amount(conversion.width)?;
                    let precision = amount(conversion.precision)?;
                    let argument = arguments.next()?;
                    if !matches!(conversion.kind, b's' | b'p' | b'c') {
                        let value = argument.int(row)?;
                        conversion.integer(out, value, self.long, filled(width));
                        continue;
                    }
                    let value = argument.value(row)?;
                    self.converted(out, conversion, width, precision, &value)?;
                }
            }
        }
        Some(())
    }

    /// Writes what a conversion makes of a value; `None` when it takes no such value.
    pub(crate) fn converted(
        &self,
        out: &mut Vec<u8>,
        conversion: &Conversion,
        width: Option<i128>,
        precision: Option<i128>,
        value: &Value<'_>,
    ) -> Option<()> {
        let fill = filled(width);
        let most = precision.and_then(|most| usize::try_from(most).ok());
        match (conversion.kind, value) {
            (b's' | b'p', Value::Text(text)) => {
                conversion.text(out, text.as_bytes(), fill, most);
            }
            (b's', Value::None) => conversion.text(out, b"(null)", fill, most),
            (b's', Value::Bytes(bytes)) => pointer::hex(out, bytes, ""),
            (b's', _) => return None,
            (b'c', value) => out.push((value.int()? as u8) & 0x7f),
            (b'p', value) => match conversion.pointer.as_bytes() {
                [b'h', rest @ ..] => {
                    let items = value.items()?;
                    let count = usize::try_from(width.unwrap_or(1)).unwrap_or(0).min(64);
                    let bytes: Vec<u8> = items.iter().take(count).map(|&b| b as u8).collect();
                    let between = match rest {
                        [b'C'] => ":",
                        [b'D'] => "-",
                        [b'N'] => "",
                        _ => " ",
                    };
                    pointer::hex(out, &bytes, between);
                }
                _ => pointer::write(out, conversion, value, self.symbols)?,
            },
            (_, value) => conversion.integer(out, value.int()?, self.long, fill),
        }
        Some(())
    }
}

/// How wide a conversion is at least.
fn filled(width: Option<i128>) -> usize {
    const WIDEST: i128 = 99;
    usize::try_from(width.unwrap_or(0).min(WIDEST)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::builder::{ListBuilder, UInt64Builder};
    use arrow_array::{ArrayRef, BinaryArray, Int64Array, StringArray, UInt32Array, UInt64Array};

    use super::*;
    use crate::cells::Column;
    use crate::parse;

    /// As kallsyms has it.
    struct Table;

    impl Symbols for Table {
        fn symbol(&self, address: u64) -> Option<(&str, u64)> {
            (address >= 0x1000).then(|| ("start", address - 0x1000))
        }
    }

    fn written(text: &str, fields: &[(&str, ArrayRef)]) -> Option<String> {
        let known: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
        let format = parse::parse(text, &known, 8).unwrap_or_else(|what| panic!("{text}: {what}"));
        let array = |name: &String| &fields.iter().find(|(known, _)| known == name).unwrap().1;
        let columns: Vec<Column> =
            format.fields.iter().map(|name| Column::new(array(name).as_ref())).collect();
        let mut out = Vec::new();
        let printer = Printer { symbols: &Table, long: 8 };
        printer.formatted(&mut out, &format, Row { columns: &columns, row: 0 })?;
        Some(String::from_utf8(out).unwrap())
    }

    fn int(value: i64) -> ArrayRef {
        Arc::new(Int64Array::from(vec![value]))
    }

    fn text(value: Option<&str>) -> ArrayRef {
        Arc::new(StringArray::from(vec![value]))
    }

    fn list(values: &[u64]) -> ArrayRef {
        let mut builder = ListBuilder::new(UInt64Builder::new());
        builder.append_value(values.iter().copied().map(Some));
        Arc::new(builder.finish())
    }

    /// Formats as tracepoints of Linux 6.18 have them.
    #[test]
    fn a_format_writes_what_the_kernel_writes() {
        let switch = concat!(
            "\"prev_comm=%s prev_pid=%d prev_state=%s%s\", REC->prev_comm, REC->prev_pid, ",
            "(REC->prev_state & ((((0x00000000 | 0x00000001 | 0x00000002) + 1) << 1) - 1)) ? ",
            "__print_flags(REC->prev_state & ((((0x0 | 0x1 | 0x2) + 1) << 1) - 1), \"|\", ",
            "{ 0x00000001, \"S\" }, { 0x00000002, \"D\" }) : \"R\", ",
            "REC->prev_state & (((0x00000000 | 0x00000001 | 0x00000002) + 1) << 1) ? \"+\" : \"\"",
        );
        let timer = concat!(
            "\"timer=%p expires=%lu [timeout=%ld] idx=%u flags=%s\", REC->timer, REC->expires, ",
            "(long)REC->expires - REC->now, REC->flags >> 22, ",
            "__print_flags(REC->flags & (0x00040000 | 0x00080000), \"|\", { 0x00040000, \"M\" }, ",
            "{ 0x00080000, \"D\" })",
        );
        let mac: ArrayRef = Arc::new(BinaryArray::from(vec![&b"\x02\0\0\0\x0a\xff"[..]]));
        let bytes: ArrayRef = Arc::new(BinaryArray::from(vec![&b"\x01\xab\x03"[..]]));
        let word: ArrayRef = Arc::new(UInt32Array::from(vec![0xffff_ffff]));
        let address: ArrayRef = Arc::new(UInt64Array::from(vec![0x1004]));
        // A format, the fields it prints, and the text.
        type Case = (&'static str, Vec<(&'static str, ArrayRef)>, &'static str);
        let cases: Vec<Case> = vec![
            (
                switch,
                vec![
                    ("prev_comm", text(Some("100%"))),
                    ("prev_pid", int(7)),
                    ("prev_state", int(2)),
                ],
                "prev_comm=100% prev_pid=7 prev_state=D",
            ),
            (
                switch,
                vec![("prev_comm", text(Some("a"))), ("prev_pid", int(-7)), ("prev_state", int(8))],
                "prev_comm=a prev_pid=-7 prev_state=R+",
            ),
            (
                timer,
                vec![
                    ("timer", int(0xffff_8881)),
                    ("expires", int(90)),
                    ("now", int(100)),
                    ("flags", int(62 << 22 | 0x0c_0000)),
                ],
                "timer=0xffff8881 expires=90 [timeout=-10] idx=62 flags=M|D",
            ),
            (
                "\"irq=%d name=%s\", REC->irq, __get_str(name)",
                vec![("irq", int(9)), ("name", text(None))],
                "irq=9 name=(null)",
            ),
            (
                "\"NR %ld (%lx, %lx)\", REC->id, REC->args[0], REC->args[1]",
                vec![("id", int(-1)), ("args", list(&[255]))],
                "NR -1 (ff, 0)",
            ),
            ("\"%d %u\", REC->a, REC->a", vec![("a", word)], "-1 4294967295"),
            (
                "\"%c%d%%\", REC->kind, (int)(u8)REC->share",
                vec![("kind", int(82)), ("share", int(0x105))],
                "R5%",
            ),
            // A constant of the kernel's sources, which the trace does not number.
            (
                "\"mode=%s\", __print_symbolic(REC->m, { HRTIMER_MODE_ABS, \"ABS\" }, { 1, \"x\" })",
                vec![("m", int(9))],
                "mode=0x9",
            ),
            // The decoder's name for a field that is called as one of every event.
            ("\"cpu=%u\", REC->cpu", vec![("payload.cpu", int(2))], "cpu=2"),
            (
                "\"%ps %pS %pS %p\", REC->f, (void *)REC->f, REC->none, REC->f",
                vec![("f", address), ("none", int(5))],
                "start start+0x4 0x5 0x1004",
            ),
            ("\"%pM\", REC->mac", vec![("mac", mac)], "02:00:00:00:0a:ff"),
            (
                "\"%s|%s|%d\", __print_hex(__get_dynamic_array(b), 2), \
                 __print_hex_str(__get_dynamic_array(b), 3), __get_dynamic_array_len(b)",
                vec![("b", bytes)],
                "01 ab|01ab03|3",
            ),
            (
                "\"%s %s\", __print_array(__get_dynamic_array(l), 2, 8), __get_cpumask(l)",
                vec![("l", list(&[3, 16]))],
                "{0x3,0x10} 00000000,00000010,00000000,00000003",
            ),
            (
                "\"%-4s|%4s|%.2s|%*d\", REC->a, REC->a, REC->a, 3, REC->n",
                vec![("a", text(Some("abc"))), ("n", int(5))],
                "abc | abc|ab|  5",
            ),
        ];
        for (format, fields, expected) in cases {
            assert_eq!(written(format, &fields).as_deref(), Some(expected), "{format}");
        }
    }

    #[test]
    fn a_field_of_another_type_is_refused() {
        assert_eq!(written("\"%d\", REC->a", &[("a", text(Some("x")))]), None);
        assert_eq!(written("\"%s\", REC->a", &[("a", int(5))]), None);
    }
}
