//! Damaged metadata and packets: no panic, no endless loop, no memory by a number from the file, and
//! what precedes the damage stays as it was.

mod common;
#[path = "common/made.rs"]
mod made;

use common::rows;
use made::{Context, Order, event, large, metadata, packet};
use tracefile::{Decoded, Options, Selection, Trace};

/// Numbers by xorshift: the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    /// A copy with some bytes changed, cut out, or doubled.
    fn damage(&mut self, bytes: &[u8], most: usize) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        for _ in 0..=self.below(most) {
            if bytes.is_empty() {
                break;
            }
            let at = self.below(bytes.len());
            match self.below(6) {
                0 => bytes[at] ^= 1 << self.below(8),
                1 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][self.below(5)],
                2 => bytes.truncate(at),
                3 => drop(bytes.drain(at..(at + 1 + self.below(16)).min(bytes.len()))),
                4 => {
                    let part = bytes[at..(at + 1 + self.below(64)).min(bytes.len())].to_vec();
                    let to = self.below(bytes.len());
                    bytes.splice(to..to, part);
                }
                _ => bytes[at] = b"0123456789{}[]<>;,.:=\"*"[self.below(23)],
            }
        }
        bytes
    }
}

fn decode(metadata: &[u8], stream: &[u8]) -> Option<(Trace, Decoded)> {
    let trace = tracefile::open_ctf_bytes(metadata, stream).ok()?;
    let decoded = trace.decode(&Selection::everything(), &Options::default()).unwrap();
    let some = Selection::nothing().event("e", Some(&["last"]));
    let part = trace.decode(&some, &Options { index: false, times: None }).unwrap();
    // What is passed over ends where what is read ends.
    assert_eq!((part.events, part.span), (decoded.events, decoded.span));
    assert_eq!(part.damage, decoded.damage);
    Some((trace, decoded))
}

fn tsdl() -> (Vec<u8>, Vec<u8>) {
    let fields = "enum : uint8_t { A = 1, B = 2, C = 3 ... 9 } _kind; uint8_t _n; \
        variant <_kind> { uint16_t A; struct { string t; uint8_t list[_n]; } B; struct { } C; } _v; \
        struct { uint8_t m; integer { size = 3; align = 1; } of[m]; string t; } _list[_n]; \
        integer { size = 8; align = 8; encoding = UTF8; } _word[4]; \
        integer { size = 64; align = 64; byte_order = be; } _wide[_n]; uint8_t _last;";
    let text = metadata(Order::Le, "freq = 1000;", "large", &event(0, "e", fields));
    let one = |sequence: u64| {
        let context = Context {
            begin: 1000 * sequence,
            end: 1000 * sequence + 999,
            sequence,
            ..Context::default()
        };
        packet(Order::Le, context, |bits| {
            for at in 0..6u64 {
                let time = context.begin + at;
                large(bits, 0, time).align(64).put(at % 3 + 1, 8).put(at % 4, 8);
                if at % 3 == 0 {
                    bits.put(500, 16);
                } else if at % 3 == 1 {
                    bits.text("two").raw(&vec![7; at as usize % 4]);
                }
                for _ in 0..at % 4 {
                    bits.align(8).put(3, 8).put(0o123, 9).text("t");
                }
                bits.raw(b"ab\0z").align(64);
                for word in 0..at % 4 {
                    bits.put_in(Order::Be, word, 64);
                }
                bits.put(99, 8);
            }
        })
    };
    (text.into_bytes(), [one(1), one(2), one(3)].concat())
}

fn json() -> (Vec<u8>, Vec<u8>) {
    let unsigned = r#"{"type":"fixed-length-unsigned-integer","length":8,"alignment":8,"byte-order":"little-endian"#;
    let integer = |role: &str| match role {
        "" => format!("{unsigned}\"}}"),
        role => format!("{unsigned}\",\"roles\":[\"{role}\"]}}"),
    };
    let member = |name: &str, class: &str| format!(r#"{{"name":"{name}","field-class":{class}}}"#);
    let structure = |members: &[String]| {
        format!(r#"{{"type":"structure","member-classes":[{}]}}"#, members.join(","))
    };
    let text = [
        r#"{"type":"preamble","version":2}"#.to_owned(),
        r#"{"type":"trace-class"}"#.to_owned(),
        r#"{"type":"clock-class","id":"c","frequency":10}"#.to_owned(),
        format!(r#"{{"type":"field-class-alias","name":"byte","field-class":{}}}"#, integer("")),
        format!(
            r#"{{"type":"data-stream-class","default-clock-class-id":"c","packet-context-field-class":{},"event-record-header-field-class":{}}}"#,
            structure(&[
                member("t", &integer("packet-total-length")),
                member("b", &integer("default-clock-timestamp")),
            ]),
            structure(&[member("t", &integer("default-clock-timestamp"))]),
        ),
        format!(
            r#"{{"type":"event-record-class","name":"e","payload-field-class":{}}}"#,
            structure(&[
                member("n", r#"{"type":"variable-length-unsigned-integer"}"#),
                member(
                    "list",
                    r#"{"type":"dynamic-length-array","length-field-location":{"path":["n"]},"element-field-class":{"type":"variable-length-signed-integer"}}"#
                ),
                member(
                    "some",
                    r#"{"type":"optional","selector-field-location":{"path":["n"]},"field-class":{"type":"null-terminated-string"},"selector-field-ranges":[[1,2]]}"#
                ),
                member(
                    "blob",
                    r#"{"type":"dynamic-length-blob","length-field-location":{"path":["n"]}}"#
                ),
                member("last", "\"byte\""),
            ]),
        ),
    ];
    let text = text.iter().map(|fragment| format!("\x1e{fragment}\n")).collect::<String>();
    let mut stream = Vec::new();
    for number in 0..10u8 {
        let events =
            [&[1, 0, 99][..], &[2, 2, 5, 0x80, 1, b'x', 0, 9, 9, 98], &[3, 1, 7, 0, 6, 97]]
                .concat();
        stream.extend([(events.len() as u8 + 2) * 8, number]);
        stream.extend(events);
    }
    (text.into_bytes(), stream)
}

#[test]
fn damaged_streams() {
    for (metadata, stream) in [tsdl(), json()] {
        let (trace, whole) = decode(&metadata, &stream).unwrap();
        assert!(whole.events >= 18 && whole.damage.is_empty(), "{:?}", whole.damage);
        let all = rows(&trace, &whole, "e");
        // Cut anywhere: the events before the cut, and a word about it.
        for length in 1..stream.len() {
            let (trace, cut) = decode(&metadata, &stream[..length]).unwrap();
            let rows = rows(&trace, &cut, "e");
            assert_eq!(rows, all[..rows.len()], "cut at {length}");
        }
        let mut chance = Chance(88_172_645_463_325_252);
        for _ in 0..2000 {
            decode(&metadata, &chance.damage(&stream, 4));
        }
    }
}

#[test]
fn damaged_metadata() {
    for (metadata, stream) in [tsdl(), json()] {
        let mut chance = Chance(2_463_534_242);
        let mut opened = 0;
        for most in [1, 4] {
            for _ in 0..1000 {
                let damaged = chance.damage(&metadata, most);
                opened += usize::from(decode(&damaged, &stream).is_some());
            }
        }
        // Some damage is to names and numbers; most is fatal.
        assert!(opened > 20, "{opened}");
    }
}
