//! Traces made by hand: metadata as text, packets bit by bit.

#![allow(dead_code)] // Each test uses some of it.

use std::path::{Path, PathBuf};

use tracefile::{Decoded, Options, Selection, Trace};

/// The order of bytes, and of bits within them.
#[derive(Clone, Copy, PartialEq)]
pub enum Order {
    Le,
    Be,
}

/// Bits that are written one field after the other, as CTF lays them out.
#[derive(Clone)]
pub struct Bits {
    pub bytes: Vec<u8>,
    pub at: usize,
    pub order: Order,
}

impl Bits {
    pub fn new(order: Order) -> Self {
        Self { bytes: Vec::new(), at: 0, order }
    }

    pub fn align(&mut self, bits: usize) -> &mut Self {
        self.at = self.at.next_multiple_of(bits);
        self.bytes.resize(self.at.div_ceil(8), 0);
        self
    }

    /// An integer of so many bits in an order of its own.
    pub fn put_in(&mut self, order: Order, value: u64, bits: usize) -> &mut Self {
        self.bytes.resize((self.at + bits).div_ceil(8), 0);
        for bit in 0..bits {
            let from = if order == Order::Le { bit } else { bits - 1 - bit };
            let place = self.at + bit;
            let within = if order == Order::Le { place % 8 } else { 7 - place % 8 };
            self.bytes[place / 8] |= ((value >> from & 1) as u8) << within;
        }
        self.at += bits;
        self
    }

    pub fn put(&mut self, value: u64, bits: usize) -> &mut Self {
        self.put_in(self.order, value, bits)
    }

    pub fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.align(8);
        self.bytes.extend_from_slice(bytes);
        self.at += bytes.len() * 8;
        self
    }

    /// A text with its NUL.
    pub fn text(&mut self, text: &str) -> &mut Self {
        self.raw(text.as_bytes()).raw(&[0])
    }
}

/// A directory with a trace.
pub struct Made(PathBuf);

impl Made {
    /// `name` must be another for each test.
    pub fn new(name: &str, metadata: &[u8]) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("metadata"), metadata).unwrap();
        Self(path)
    }

    pub fn file(&self, name: &str, bytes: &[u8]) -> &Self {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
        self
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn open(&self) -> Trace {
        tracefile::open(&self.0).unwrap()
    }

    pub fn decode(&self) -> (Trace, Decoded) {
        let trace = self.open();
        let decoded = trace.decode(&Selection::everything(), &Options::default()).unwrap();
        (trace, decoded)
    }
}

pub const UUID: [u8; 16] = *b"benchvise-traces";

/// What stands in an LTTng packet's context.
#[derive(Clone, Copy)]
pub struct Context {
    pub begin: u64,
    pub end: u64,
    pub sequence: u64,
    pub discarded: u64,
    pub cpu: u64,
    pub instance: u64,
}

impl Default for Context {
    fn default() -> Self {
        Self { begin: 100, end: 1_000_000, sequence: 0, discarded: 0, cpu: 0, instance: 0 }
    }
}

const SIZES_AT: usize = (4 + 16 + 4 + 8 + 8 + 8) * 8;

/// An LTTng packet; the sizes are put in at its end.
pub fn packet(order: Order, context: Context, events: impl FnOnce(&mut Bits)) -> Vec<u8> {
    let mut bits = Bits::new(order);
    bits.put(0xC1FC_1FC1, 32).raw(&UUID).put(0, 32).put(context.instance, 64);
    bits.put(context.begin, 64).put(context.end, 64).put(0, 64).put(0, 64);
    bits.put(context.sequence, 64).put(context.discarded, 32).put(context.cpu, 32);
    events(&mut bits);
    let content = bits.at as u64;
    let total = content.next_multiple_of(8) + 64;
    bits.bytes.resize(total as usize / 8, 0xee);
    let mut sizes = Bits::new(order);
    sizes.put(content, 64).put(total, 64);
    bits.bytes[SIZES_AT / 8..SIZES_AT / 8 + 16].copy_from_slice(&sizes.bytes);
    bits.bytes
}

/// LTTng's metadata for [`packet`], with event blocks; `header` is `compact` or `large`.
pub fn metadata(order: Order, clock: &str, header: &str, events: &str) -> String {
    let order = if order == Order::Le { "le" } else { "be" };
    let uuid = UUID.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    format!(
        "/* CTF 1.8 */
        typealias integer {{ size = 8; align = 8; signed = false; }} := uint8_t;
        typealias integer {{ size = 16; align = 8; signed = false; }} := uint16_t;
        typealias integer {{ size = 32; align = 8; signed = false; }} := uint32_t;
        typealias integer {{ size = 64; align = 8; signed = false; }} := uint64_t;
        typealias integer {{ size = 32; align = 8; signed = true; }} := int32_t;
        typealias integer {{ size = 32; align = 8; signed = false; }} := unsigned long;
        typealias integer {{ size = 5; align = 1; signed = false; }} := uint5_t;
        trace {{
            major = 1; minor = 8; uuid = \"{uuid}\"; byte_order = {order};
            packet.header := struct {{
                uint32_t magic; uint8_t uuid[16]; uint32_t stream_id; uint64_t stream_instance_id;
            }};
        }};
        env {{ hostname = \"made\"; tracer_major = 2; }};
        clock {{ name = \"monotonic\"; {clock} }};
        typealias integer {{ size = 27; align = 1; map = clock.monotonic.value; }} := uint27_clock_t;
        typealias integer {{ size = 32; align = 8; map = clock.monotonic.value; }} := uint32_clock_t;
        typealias integer {{ size = 64; align = 8; map = clock.monotonic.value; }} := uint64_clock_t;
        struct packet_context {{
            uint64_clock_t timestamp_begin; uint64_clock_t timestamp_end;
            uint64_t content_size; uint64_t packet_size;
            uint64_t packet_seq_num; unsigned long events_discarded; uint32_t cpu_id;
        }};
        struct event_header_compact {{
            enum : uint5_t {{ compact = 0 ... 30, extended = 31 }} id;
            variant <id> {{
                struct {{ uint27_clock_t timestamp; }} compact;
                struct {{ uint32_t id; uint64_clock_t timestamp; }} extended;
            }} v;
        }} align(8);
        struct event_header_large {{
            enum : uint16_t {{ compact = 0 ... 65534, extended = 65535 }} id;
            variant <id> {{
                struct {{ uint32_clock_t timestamp; }} compact;
                struct {{ uint32_t id; uint64_clock_t timestamp; }} extended;
            }} v;
        }} align(8);
        stream {{
            id = 0;
            event.header := struct event_header_{header};
            packet.context := struct packet_context;
        }};
        {events}"
    )
}

/// An event block of stream 0.
pub fn event(id: u32, name: &str, fields: &str) -> String {
    format!(
        "event {{ name = \"{name}\"; id = {id}; stream_id = 0; fields := struct {{ {fields} }}; }};\n"
    )
}

/// LTTng's large event header.
pub fn large(bits: &mut Bits, id: u64, time: u64) -> &mut Bits {
    bits.align(8).put(id, 16).put(time & 0xffff_ffff, 32)
}
