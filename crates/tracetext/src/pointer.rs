//! `%pS`, `%pI4`, `%pM` and others: what the kernel's printf makes of what a pointer points to.

use std::io::Write;

use crate::cells::Value;
use crate::conversion::{Conversion, hexadecimal};

/// Names of addresses, as a trace has them.
pub(crate) trait Symbols {
    /// The name of what is at or last before an address, and how far before.
    fn symbol(&self, address: u64) -> Option<(&str, u64)>;
}

impl Symbols for tracefile::Trace {
    fn symbol(&self, address: u64) -> Option<(&str, u64)> {
        self.symbol_at(address)
    }
}

/// Writes the name of an address, with `+0x…` for `%pS` or where `always` says so; the address in
/// base 16 when it has no name.
pub(crate) fn symbol(out: &mut Vec<u8>, symbols: &dyn Symbols, address: u64, distance: Distance) {
    match symbols.symbol(address) {
        Some((name, after)) => {
            out.extend_from_slice(name.as_bytes());
            let shown = match distance {
                Distance::Never => false,
                Distance::Always => true,
                Distance::Some => after > 0,
            };
            if shown {
                out.extend_from_slice(b"+0x");
                hexadecimal(out, after);
            }
        }
        None => {
            out.extend_from_slice(b"0x");
            hexadecimal(out, address);
        }
    }
}

/// Whether a name is followed by how far behind its beginning an address is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Distance {
    Never,
    Always,
    /// When it is any.
    Some,
}

/// Writes what a `%p` conversion makes of a value; `None` when that is not known.
pub(crate) fn write(
    out: &mut Vec<u8>,
    conversion: &Conversion,
    value: &Value<'_>,
    symbols: &dyn Symbols,
) -> Option<()> {
    match conversion.pointer.as_bytes() {
        [b's' | b'f', ..] => symbol(out, symbols, value.int()? as u64, Distance::Never),
        [b'S' | b'F' | b'B', ..] => symbol(out, symbols, value.int()? as u64, Distance::Always),
        [] | [b'K' | b'x'] => {
            out.extend_from_slice(b"0x");
            hexadecimal(out, value.int()? as u64);
        }
        [b'e'] => write!(out, "{}", value.int()? as i64).ok()?,
        [b'M' | b'm', rest @ ..] => {
            mac(out, &bytes(value, 6)?, conversion.pointer.as_bytes()[0], rest)
        }
        [b'I' | b'i', b'4', ..] => ipv4(out, &bytes(value, 4)?),
        [b'I' | b'i', b'6', rest @ ..] => {
            ipv6(out, &bytes(value, 16)?, rest == b"c", conversion.pointer.starts_with('I'));
        }
        [b'U', rest @ ..] => uuid(out, &bytes(value, 16)?, rest),
        _ => return None,
    }
    Some(())
}

/// The first bytes of an array.
fn bytes(value: &Value<'_>, count: usize) -> Option<Vec<u8>> {
    let items = value.items()?;
    (items.len() >= count).then(|| items[..count].iter().map(|&byte| byte as u8).collect())
}

fn mac(out: &mut Vec<u8>, bytes: &[u8], kind: u8, rest: &[u8]) {
    let between = match (kind, rest) {
        (b'm', _) => "",
        (_, [b'F', ..]) => "-",
        _ => ":",
    };
    let ordered: Vec<u8> = match rest.contains(&b'R') {
        true => bytes.iter().rev().copied().collect(),
        false => bytes.to_vec(),
    };
    hex(out, &ordered, between);
}

/// Writes bytes with two digits each.
pub(crate) fn hex(out: &mut Vec<u8>, bytes: &[u8], between: &str) {
    for (at, byte) in bytes.iter().enumerate() {
        let before = if at > 0 { between } else { "" };
        write!(out, "{before}{byte:02x}").expect("memory");
    }
}

fn ipv4(out: &mut Vec<u8>, bytes: &[u8]) {
    write!(out, "{}.{}.{}.{}", bytes[0], bytes[1], bytes[2], bytes[3]).expect("memory");
}

fn ipv6(out: &mut Vec<u8>, bytes: &[u8], compressed: bool, colons: bool) {
    let mut address = [0u8; 16];
    address.copy_from_slice(bytes);
    if compressed {
        write!(out, "{}", std::net::Ipv6Addr::from(address)).expect("memory");
        return;
    }
    for (at, pair) in address.chunks_exact(2).enumerate() {
        let before = if at > 0 && colons { ":" } else { "" };
        write!(out, "{before}{:02x}{:02x}", pair[0], pair[1]).expect("memory");
    }
}

fn uuid(out: &mut Vec<u8>, bytes: &[u8], rest: &[u8]) {
    const BIG: [usize; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
    const LITTLE: [usize; 16] = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    let order = if matches!(rest, [b'l' | b'L', ..]) { LITTLE } else { BIG };
    let begin = out.len();
    for (at, &place) in order.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            out.push(b'-');
        }
        write!(out, "{:02x}", bytes[place]).expect("memory");
    }
    if matches!(rest, [b'B' | b'L', ..]) {
        out[begin..].make_ascii_uppercase();
    }
}
