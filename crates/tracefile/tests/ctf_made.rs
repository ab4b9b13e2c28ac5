//! What no real trace here holds, made by hand from the specification of CTF 1.8.

mod common;
#[path = "common/made.rs"]
mod made;

use common::rows;
use made::{Bits, Context, Made, Order, event, large, metadata, packet};
use tracefile::{ByteOrder, Error, LossKind, Options, Selection};

const NS: &str = "freq = 1000000000; offset = 5;";

#[test]
fn big_endian_with_fields_of_the_other_order() {
    let events = event(
        7,
        "e",
        "uint16_t _a; integer { size = 32; align = 8; signed = 1; byte_order = le; } _b; \
         integer { size = 64; align = 8; base = 16; } _c; floating_point { exp_dig = 8; mant_dig = 24; } _f;",
    );
    let text = metadata(Order::Be, NS, "large", &events);
    let stream = packet(Order::Be, Context { cpu: 3, ..Context::default() }, |bits| {
        large(bits, 7, 200).put(0x1234, 16).put_in(Order::Le, -5i32 as u32 as u64, 32);
        bits.put(0x0102_0304_0506_0708, 64).put(u64::from(1.5f32.to_bits()), 32);
    });
    let made = Made::new("big-endian", text.as_bytes());
    let (trace, decoded) = made.file("s", &stream).decode();
    assert_eq!(trace.info().byte_order, ByteOrder::Big);
    assert_eq!(trace.info().clock.epoch_offset_ns, Some(5));
    assert_eq!(trace.info().events[0].fields[2].base, 16);
    assert_eq!(rows(&trace, &decoded, "e"), ["200 3 4660 -5 72623859790382856 1.5"]);
    assert_eq!(decoded.damage, []);
}

#[test]
fn bit_fields_of_both_orders() {
    let fields = "integer { size = 3; align = 1; } a; integer { size = 7; align = 1; signed = 1; } b; \
        integer { size = 33; align = 1; } c; integer { size = 1; align = 1; } d; uint16_t e; \
        integer { size = 4; align = 4; } f; integer { size = 12; align = 4; signed = 1; } g;";
    for order in [Order::Le, Order::Be] {
        let text = metadata(order, NS, "large", &event(0, "e", fields));
        let stream = packet(order, Context::default(), |bits| {
            for time in [200, 300] {
                large(bits, 0, time)
                    .put(5, 3)
                    .put(-3i64 as u64, 7)
                    .put(0x1_2345_6789, 33)
                    .put(1, 1);
                bits.align(8).put(777, 16).put(9, 4).put(-1000i64 as u64, 12);
            }
        });
        let made =
            Made::new(if order == Order::Le { "bits-le" } else { "bits-be" }, text.as_bytes());
        let (trace, decoded) = made.file("s", &stream).decode();
        let values = "0 5 -3 4886718345 1 777 9 -1000";
        let expected = [format!("200 {values}"), format!("300 {values}")];
        assert_eq!(rows(&trace, &decoded, "e"), expected);
    }
}

#[test]
fn natural_alignment_counts_from_the_packet_and_holds_for_empty_sequences() {
    let fields = "uint8_t first; integer { size = 32; align = 32; } word; uint8_t n; \
        integer { size = 64; align = 64; } list[n]; uint8_t last; struct { uint8_t x; } align(32) s;";
    let text = metadata(Order::Le, NS, "large", &event(0, "e", fields));
    let stream = packet(Order::Le, Context::default(), |bits| {
        for (time, count) in [(200, 0), (300, 2), (400, 0)] {
            // The structure is aligned as the most demanding of its fields.
            large(bits, 0, time).align(64).put(1, 8).align(32).put(2, 32).put(count, 8).align(64);
            for at in 0..count {
                bits.put(10 + at, 64);
            }
            bits.put(3, 8).align(32).put(4, 8);
        }
    });
    let made = Made::new("natural", text.as_bytes());
    let (trace, decoded) = made.file("s", &stream).decode();
    let expected = ["200 0 1 2 0 [] 3 4", "300 0 1 2 2 [10 11] 3 4", "400 0 1 2 0 [] 3 4"];
    assert_eq!(rows(&trace, &decoded, "e"), expected);
    assert_eq!(decoded.damage, []);
    // The same positions when nothing of it is asked for but the last field.
    let selection = Selection::nothing().event("e", Some(&["last"]));
    let decoded = trace.decode(&selection, &Options::default()).unwrap();
    assert_eq!(rows(&trace, &decoded, "e"), ["200 0 3", "300 0 3", "400 0 3"]);
}

#[test]
fn extended_headers_and_wraps_in_compact_and_large_form() {
    let events = event(3, "near", "uint8_t a;") + &event(70_000, "far", "uint8_t a;");
    let far = 70_000;
    let wide = (1u64 << 40) + 7;
    let text = metadata(Order::Le, NS, "large", &events);
    let context = Context { begin: 0xffff_fff0, end: u64::MAX, ..Context::default() };
    let stream = packet(Order::Le, context, |bits| {
        large(bits, 3, 0xffff_fff8).put(1, 8);
        large(bits, 3, 4).put(2, 8); // Wrapped.
        large(bits, 3, 4).put(3, 8); // Not again.
        bits.put(0xffff, 16).put(far, 32).put(wide, 64).put(4, 8);
        large(bits, 3, 6).put(5, 8); // Below the stamp before: wrapped.
    });
    let (trace, decoded) = Made::new("large", text.as_bytes()).file("s", &stream).decode();
    let near = ["4294967288 0 1", "4294967300 0 2", "4294967300 0 3", "1103806595078 0 5"];
    assert_eq!(rows(&trace, &decoded, "near"), near);
    assert_eq!(rows(&trace, &decoded, "far"), ["1099511627783 0 4"]);

    let text = metadata(Order::Le, NS, "compact", &events);
    let context = Context { begin: 0x7ff_fff0, end: u64::MAX, ..Context::default() };
    let stream = packet(Order::Le, context, |bits| {
        bits.put(3, 5).put(0x7ff_fff8, 27).put(1, 8);
        bits.put(3, 5).put(4, 27).put(2, 8);
        bits.put(31, 5).align(8).put(far, 32).put(wide, 64).put(4, 8);
        bits.put(3, 5).put(6, 27).put(5, 8);
    });
    let (trace, decoded) = Made::new("compact", text.as_bytes()).file("s", &stream).decode();
    assert_eq!(
        rows(&trace, &decoded, "near"),
        ["134217720 0 1", "134217732 0 2", "1099645845510 0 5"]
    );
    assert_eq!(rows(&trace, &decoded, "far"), ["1099511627783 0 4"]);
    assert_eq!(decoded.notes, [] as [String; 0]);
}

fn simple(name: &str, packets: &[Vec<u8>]) -> Made {
    let text = metadata(Order::Le, NS, "large", &event(0, "e", "uint32_t a; string s;"));
    let made = Made::new(name, text.as_bytes());
    made.file("s", &packets.concat());
    made
}

fn three(context: Context) -> Vec<u8> {
    packet(Order::Le, context, |bits| {
        for at in 1..=3 {
            large(bits, 0, context.begin + at).put(at, 32).text("text");
        }
    })
}

#[test]
fn a_file_that_ends_within_a_packet_gives_what_precedes() {
    let whole = three(Context::default());
    let second =
        three(Context { begin: 2_000_000, end: 3_000_000, sequence: 1, ..Context::default() });
    // Within the third event of the second packet; within its header; within its context.
    for (cut, events) in [(whole.len() + 110, 5), (whole.len() + 30, 3)] {
        let mut file = [whole.clone(), second.clone()].concat();
        file.truncate(cut);
        let (trace, decoded) = simple(&format!("cut-{cut}"), &[file]).decode();
        assert_eq!(rows(&trace, &decoded, "e").len(), events, "{:?}", decoded.damage);
        assert_eq!(decoded.damage.len(), 1);
        assert_eq!(decoded.damage[0].offset, whole.len() as u64);
        assert!(decoded.damage[0].what.contains("ends"), "{:?}", decoded.damage);
    }
}

#[test]
fn an_event_that_the_content_ends_within_is_left_out_and_the_next_packet_read() {
    let mut first = three(Context::default());
    let content = u64::from_le_bytes(first[48..56].try_into().unwrap());
    first[48..56].copy_from_slice(&(content - 16).to_le_bytes());
    let second =
        three(Context { begin: 2_000_000, end: 3_000_000, sequence: 1, ..Context::default() });
    let (trace, decoded) = simple("content", &[first, second]).decode();
    assert_eq!(rows(&trace, &decoded, "e").len(), 5);
    assert_eq!(decoded.damage.len(), 1);
    assert_eq!(decoded.damage[0].stream, Some(0));
    assert!(decoded.damage[0].what.contains("event e"), "{:?}", decoded.damage);
    assert_eq!(decoded.index.unwrap().len(), 5);
}

#[test]
fn an_unknown_event_ends_its_packet() {
    let first = packet(Order::Le, Context::default(), |bits| {
        large(bits, 0, 101).put(1, 32).text("x");
        large(bits, 9, 102).put(1, 32).text("x");
    });
    let second =
        three(Context { begin: 2_000_000, end: 3_000_000, sequence: 1, ..Context::default() });
    let (trace, decoded) = simple("unknown", &[first, second]).decode();
    assert_eq!(rows(&trace, &decoded, "e").len(), 4);
    assert!(decoded.damage[0].what.contains("unknown class 9"), "{:?}", decoded.damage);
}

#[test]
fn damage_within_a_byte_is_told_at_that_byte() {
    // Headers that stand at any bit: 32 bits each, and 3 of the event.
    let text =
        metadata(Order::Le, NS, "compact", &event(0, "e", "integer { size = 3; align = 1; } a;"))
            .replace("} align(8);", "} align(1);");
    for whole in 0..9 {
        let mut broken_at = 0;
        let stream = packet(Order::Le, Context::default(), |bits| {
            for at in 0..whole {
                bits.put(0, 5).put(101 + at, 27).put(at % 8, 3);
            }
            broken_at = bits.at as u64;
            bits.put(9, 5).put(200, 27).put(0, 3);
        });
        let made = Made::new(&format!("damage-{whole}"), text.as_bytes());
        let (trace, decoded) = made.file("s", &stream).decode();
        assert_eq!(rows(&trace, &decoded, "e").len() as u64, whole);
        assert!(decoded.damage[0].what.contains("unknown class 9"), "{:?}", decoded.damage);
        assert_eq!(decoded.damage[0].offset, broken_at / 8, "behind {whole} events");
    }
}

#[test]
fn behind_a_damaged_head_the_index_shows_where_to_go_on() {
    let second = Context { begin: 2_000_000, end: 3_000_000, sequence: 1, ..Context::default() };
    let mut packets = [three(Context::default()), three(second)];
    packets[0][0] ^= 1;
    let next = packets[0].len() as u64;
    let made = simple("resync", &packets);
    let (trace, decoded) = made.decode();
    assert_eq!((rows(&trace, &decoded, "e").len(), decoded.damage.len()), (0, 1));
    let mut index: Vec<u8> = [0xC1F1_DCC1u32, 1, 1, 72].map(u32::to_be_bytes).concat();
    for offset in [0, next] {
        index.extend(u64::to_be_bytes(offset));
        index.resize(index.len() + 64, 0);
    }
    made.file("index/s.idx", &index);
    let (trace, decoded) = made.decode();
    assert_eq!((rows(&trace, &decoded, "e").len(), decoded.damage.len()), (3, 1));
    assert!(decoded.damage[0].what.contains("magic"), "{:?}", decoded.damage);
}

#[test]
fn discarded_events_and_missing_packets_are_losses_with_their_span() {
    let at = |number: u64, sequence, discarded| Context {
        begin: number * 1000,
        end: number * 1000 + 900,
        sequence,
        discarded,
        ..Context::default()
    };
    let packets = [
        three(at(1, 17, 0xffff_fff0)),
        three(at(2, 18, 0xffff_fff0)),
        three(at(3, 19, 4)), // The counter of 32 bits has wrapped.
        three(at(4, 22, 4)),
    ];
    let (trace, decoded) = simple("losses", &packets).decode();
    let found: Vec<_> =
        trace.info().losses.iter().map(|l| (l.kind, l.begin, l.end, l.count)).collect();
    let expected = [
        (LossKind::Events, None, Some(1900), Some(0xffff_fff0)),
        (LossKind::Events, Some(2900), Some(3900), Some(20)),
        (LossKind::Packets, Some(3900), Some(4000), Some(2)),
    ];
    assert_eq!(found, expected);
    assert_eq!(decoded.losses, trace.info().losses);
}

/// As an LTTng snapshot has them: the oldest packets of each stream were overwritten by themselves.
#[test]
fn what_a_stream_does_not_cover_is_lost() {
    let at = |number: u64, sequence| Context {
        begin: number * 1000,
        end: number * 1000 + 900,
        sequence,
        ..Context::default()
    };
    let made = simple("uncovered", &[three(at(1, 0)), three(at(2, 1)), three(at(3, 2))]);
    made.file("late", &three(Context { instance: 1, cpu: 1, ..at(2, 1) }));
    made.file("quiet", &three(Context { instance: 2, cpu: 2, ..at(2, 0) }));
    let (trace, decoded) = made.decode();
    let found: Vec<_> = decoded.losses.iter().map(|l| (l.stream, l.kind, l.begin, l.end)).collect();
    let late = trace.info().streams.iter().position(|stream| stream.name == "late").unwrap();
    assert_eq!(found, [(late, LossKind::Packets, None, Some(2000))]);
    // A file that ends within a packet, and one that ends within the head of one.
    for (name, left) in [("cut", 40), ("cut-head", three(at(3, 2)).len() - 20)] {
        let mut bytes = [three(at(1, 0)), three(at(2, 1)), three(at(3, 2))].concat();
        bytes.truncate(bytes.len() - left);
        let (_, decoded) = simple(name, &[bytes]).decode();
        assert_eq!(decoded.damage.len(), 1, "{name}: {:?}", decoded.damage);
        let [loss] = decoded.losses.as_slice() else { panic!("{name}: {:?}", decoded.losses) };
        assert!(loss.begin >= Some(2900) && loss.end.is_none(), "{name}: {loss:?}");
    }
}

#[test]
fn an_end_of_zero_and_events_beyond_the_end_are_told() {
    let crashed = Context { begin: 1000, end: 0, ..Context::default() };
    let late = Context { begin: 2000, end: 2001, sequence: 1, discarded: 1, ..Context::default() };
    let (trace, decoded) = simple("ends", &[three(crashed), three(late)]).decode();
    assert_eq!(rows(&trace, &decoded, "e").len(), 6);
    assert_eq!(trace.info().losses[0].begin, Some(2000));
    assert!(decoded.notes.iter().any(|note| note.contains("the end of a packet is 0")));
    assert!(decoded.notes.iter().any(|note| note.contains("after the stated end")));
}

#[test]
fn time_that_goes_back_is_told_and_sorted_in_the_index() {
    let stream = packet(Order::Le, Context { begin: 0, ..Context::default() }, |bits| {
        for time in [500u64, 300, 400] {
            bits.align(8).put(0xffff, 16).put(0, 32).put(time, 64).put(time, 32).text("");
        }
    });
    let (trace, decoded) = simple("backwards", &[stream]).decode();
    let rows = rows(&trace, &decoded, "e");
    assert_eq!(rows, ["500 0 500 \"\"", "300 0 300 \"\"", "400 0 400 \"\""]);
    assert_eq!(decoded.index.unwrap().time, [300, 400, 500]);
    assert_eq!(decoded.span, Some((300, 500)));
    assert!(decoded.notes[0].contains("time goes back once;"), "{:?}", decoded.notes);
}

#[test]
fn cycles_of_another_frequency_become_nanoseconds() {
    let clock = "freq = 2100000000; offset_s = 100; offset = 1050000000;";
    let text = metadata(Order::Le, clock, "large", &event(0, "e", "uint8_t a;"));
    let begin = 1u64 << 60;
    let context = Context { begin, end: u64::MAX, ..Context::default() };
    let stream = packet(Order::Le, context, |bits| {
        large(bits, 0, 21).put(1, 8);
    });
    let (trace, decoded) = Made::new("frequency", text.as_bytes()).file("s", &stream).decode();
    let clock = &trace.info().clock;
    assert_eq!((clock.frequency_hz, clock.epoch_offset_ns), (2_100_000_000, Some(100_500_000_000)));
    let ns = (u128::from(begin) + 21) * 1_000_000_000 / 2_100_000_000;
    assert_eq!(rows(&trace, &decoded, "e"), [format!("{ns} 0 1")]);
}

#[test]
fn structures_variants_and_sequences_within_each_other() {
    let fields = "enum : uint8_t { \"_one\" = 1, \"_two\" = 2, \"_none\" = 3 } _kind; uint8_t _n; \
        struct { uint8_t _x; struct { uint16_t _y; } _in; } _deep; \
        variant <_kind> { uint16_t _one; struct { string _t; uint8_t _u; } _two; struct { } _none; } _v; \
        struct { uint8_t _m; uint8_t _of[_m]; string _t; } _list[_n]; \
        integer { size = 8; align = 8; encoding = UTF8; } _word[4]; \
        integer { size = 8; align = 8; encoding = UTF8; } _dyn[_n]; uint8_t _grid[2][3]; uint8_t _last;";
    let text = metadata(Order::Le, NS, "large", &event(0, "e", fields));
    let stream = packet(Order::Le, Context::default(), |bits| {
        let rest = |bits: &mut Bits, dynamic: &[u8]| {
            bits.raw(b"ab\0z").raw(dynamic).raw(&[1, 2, 3, 4, 5, 6]).put(99, 8);
        };
        large(bits, 0, 200).put(1, 8).put(0, 8).put(7, 8).put(8, 16).put(500, 16);
        rest(bits, b"");
        large(bits, 0, 201).put(2, 8).put(2, 8).put(7, 8).put(8, 16).text("two").put(5, 8);
        bits.put(1, 8).put(41, 8).text("p").put(0, 8).text("");
        rest(bits, b"cd");
        large(bits, 0, 202).put(3, 8).put(0, 8).put(7, 8).put(8, 16);
        rest(bits, b"");
    });
    let (trace, decoded) = Made::new("nested", text.as_bytes()).file("s", &stream).decode();
    let names: Vec<_> = trace.info().events[0].fields.iter().map(|f| f.name.as_str()).collect();
    let expected = [
        "kind",
        "n",
        "deep.x",
        "deep.in.y",
        "v.one",
        "v.two.t",
        "v.two.u",
        "list",
        "word",
        "dyn",
        "grid",
        "last",
    ];
    assert_eq!(names, expected);
    let end = "\"ab\"";
    let expected = [
        format!("200 0 1 0 7 8 500 - - [] {end} \"\" [[1 2 3] [4 5 6]] 99"),
        format!(
            "201 0 2 2 7 8 - \"two\" 5 [{{m=1 of=[41] t=\"p\"}} {{m=0 of=[] t=\"\"}}] {end} \"cd\" \
             [[1 2 3] [4 5 6]] 99"
        ),
        format!("202 0 3 0 7 8 - - - [] {end} \"\" [[1 2 3] [4 5 6]] 99"),
    ];
    assert_eq!(rows(&trace, &decoded, "e"), expected);
    let labels = &trace.info().events[0].fields[0].labels;
    assert_eq!((labels.len(), labels[1].first, labels[1].name.as_str()), (3, 2, "_two"));
    // Every single field by itself: what is passed over leaves the rest where it is.
    for (at, name) in names.iter().enumerate() {
        let selection = Selection::nothing().event("e", Some(&[name]));
        let alone = trace.decode(&selection, &Options::default()).unwrap();
        assert_eq!(alone.damage, []);
        let whole = common::table(&trace, &decoded, "e").unwrap();
        let alone = common::table(&trace, &alone, "e").unwrap();
        assert_eq!(alone.column(2), whole.column(at + 2), "{name}");
    }
}

#[test]
fn a_selector_without_an_option_is_damage() {
    let fields = "enum : uint8_t { A = 1, B = 2 } k; variant <k> { uint8_t A; uint8_t B; } v;";
    let text = metadata(Order::Le, NS, "large", &event(0, "e", fields));
    let stream = packet(Order::Le, Context::default(), |bits| {
        large(bits, 0, 200).put(1, 8).put(5, 8);
        large(bits, 0, 201).put(3, 8).put(5, 8);
    });
    let (trace, decoded) = Made::new("selector", text.as_bytes()).file("s", &stream).decode();
    assert_eq!(rows(&trace, &decoded, "e"), ["200 0 1 5 -"]);
    assert!(decoded.damage[0].what.contains("no option for the value 3"), "{:?}", decoded.damage);
}

#[test]
fn elements_without_a_size_cannot_exhaust_time_or_memory() {
    let fields = "uint64_t n; struct { } empty[n]; uint8_t last;";
    let text = metadata(Order::Le, NS, "large", &event(0, "e", fields));
    let stream = packet(Order::Le, Context::default(), |bits| {
        large(bits, 0, 200).put(3, 64).put(5, 8);
        large(bits, 0, 201).put(u64::MAX, 64).put(5, 8);
    });
    let made = Made::new("empty", text.as_bytes());
    let (trace, decoded) = made.file("s", &stream).decode();
    assert_eq!(rows(&trace, &decoded, "e"), ["200 0 3 [{} {} {}] 5"]);
    assert!(decoded.damage[0].what.contains("hold nothing"), "{:?}", decoded.damage);

    // Lengths beyond the packet, of what has a size.
    let fields = "uint64_t n; uint64_t list[n]; uint8_t last;";
    let text = metadata(Order::Le, NS, "large", &event(0, "e", fields));
    let made = Made::new("beyond", text.as_bytes());
    let (trace, decoded) = made.file("s", &stream).decode();
    assert_eq!(rows(&trace, &decoded, "e").len(), 0);
    assert_eq!(decoded.damage.len(), 1);
}

#[test]
fn events_without_a_size_end_their_packet() {
    let text = "/* CTF 1.8 */ trace { major = 1; minor = 8; byte_order = le; };
        stream { }; event { name = \"e\"; id = 0; fields := struct { }; };";
    let (_, decoded) = Made::new("no-size", text.as_bytes()).file("s", &[1, 2, 3]).decode();
    assert_eq!(decoded.damage.len(), 1);
    assert!(decoded.damage[0].what.contains("no size"), "{:?}", decoded.damage);
}

#[test]
fn contexts_and_packet_fields_are_columns_and_names_stay_apart() {
    let text = "/* CTF 1.8 */
        typealias integer { size = 8; align = 8; } := u8;
        trace { major = 1; minor = 8; byte_order = le; packet.header := struct { u8 stream_id; }; };
        stream {
            id = 4;
            packet.context := struct { u8 cpu_id; u8 name; };
            event.header := struct { u8 id; u8 timestamp; u8 flags; };
            event.context := struct { u8 _tid; u8 n; };
        };
        event {
            name = \"e\"; id = 2; stream_id = 4;
            context := struct { u8 _tid; };
            fields := struct { u8 name; u8 list[stream.event.context.n]; u8 cpu; };
        };";
    let file = [4u8, 6, 77, 2, 50, 1, 11, 2, 12, 13, 8, 9, 99];
    let (trace, decoded) = Made::new("contexts", text.as_bytes()).file("s", &file).decode();
    let names: Vec<_> = trace.info().events[0].fields.iter().map(|f| f.name.as_str()).collect();
    let expected =
        ["stream.tid", "n", "tid", "name", "list", "payload.cpu", "flags", "packet.name"];
    assert_eq!(names, expected);
    assert_eq!(rows(&trace, &decoded, "e"), ["50 6 11 2 12 13 [8 9] 99 1 77"]);
}

#[test]
fn directories_around_a_trace() {
    let whole = simple("around/session/kernel", &[three(Context::default())]);
    let above = whole.path().parent().unwrap();
    assert_eq!(tracefile::open(above).unwrap().info().streams.len(), 1);
    assert_eq!(tracefile::open(&whole.path().join("metadata")).unwrap().info().streams.len(), 1);

    // A rotated session: one UUID, one logical trace, its packets in order of time.
    let earlier = Context { begin: 10, end: 20, sequence: 7, ..Context::default() };
    let later = Context { begin: 3_000_000, end: 4_000_000, sequence: 8, ..Context::default() };
    let chunks = simple("rotated/archives/b/kernel", &[three(earlier)]);
    simple("rotated/archives/a/kernel", &[three(later)]);
    let session = chunks.path().ancestors().nth(3).unwrap();
    let trace = tracefile::open(session).unwrap();
    let decoded = trace.decode(&Selection::everything(), &Options::default()).unwrap();
    assert_eq!(trace.info().streams.len(), 1);
    assert_eq!(trace.info().streams[0].files.len(), 2);
    assert_eq!(trace.info().losses, []);
    assert_eq!(decoded.span, Some((11, 3_000_003)));

    // Several traces: their names.
    let other = metadata(Order::Le, NS, "large", &event(0, "e", "uint8_t a;"));
    let other = other.replace("uuid = \"62", "uuid = \"63");
    Made::new("several/ust/uid/0/64-bit", other.as_bytes());
    let kernel = simple("several/kernel", &[three(Context::default())]);
    match tracefile::open(kernel.path().parent().unwrap()) {
        Err(Error::NotATrace { reason, .. }) => {
            assert!(reason.contains("kernel, ust/uid/0/64-bit"), "{reason}");
        }
        other => panic!("{:?}", other.map(|trace| trace.info().clone())),
    }
    let empty = Made::new("nothing", b"");
    std::fs::remove_file(empty.path().join("metadata")).unwrap();
    assert!(matches!(tracefile::open(empty.path()), Err(Error::NotATrace { .. })));
}

/// A session has a trace of the kernel and some of user space, which share a clock.
#[test]
fn the_traces_of_a_session_are_one() {
    let clock = "uuid = \"40b6dd3a-c130-431e-92ef-8c4dafe14627\"; freq = 1000000000;";
    let part = |name: &str, uuid: &str, offset: u32, fields: &str, begin: u64| {
        let clock = format!("{clock} offset_s = {offset};");
        let text = metadata(Order::Le, &clock, "large", &event(0, "e", fields));
        let text = text.replace("uuid = \"62", &format!("uuid = \"{uuid}"));
        let context = Context { begin, end: begin + 10, ..Context::default() };
        let mut stream = packet(Order::Le, context, |bits| {
            large(bits, 0, begin + 1).put(begin & 0xff, 8);
            large(bits, 0, begin + 5).put(7, 8);
        });
        stream[4] = u8::from_str_radix(uuid, 16).unwrap();
        let made = Made::new(&format!("one-session/{name}"), text.as_bytes());
        made.file("channel0_0", &stream);
        made
    };
    let kernel = part("kernel", "62", 1_450_192_747, "uint8_t a;", 100);
    let _user = part("ust/uid/0/64-bit", "63", 1_450_192_743, "uint8_t a;", 102);
    let _other = part("ust/uid/1000/64-bit", "64", 1_450_192_747, "uint8_t b;", 104);
    let trace = tracefile::open(kernel.path().parent().unwrap()).unwrap();
    let info = trace.info();
    let names: Vec<_> = info.streams.iter().map(|stream| stream.name.as_str()).collect();
    let expected =
        ["kernel/channel0_0", "ust/uid/0/64-bit/channel0_0", "ust/uid/1000/64-bit/channel0_0"];
    assert_eq!(names, expected);
    // One table for events that are the same, and one for those that only have the name.
    let names: Vec<_> = info.events.iter().map(|event| event.name.as_str()).collect();
    assert_eq!(names, ["e", "e#2"]);
    let decoded = trace.decode(&Selection::everything(), &Options::default()).unwrap();
    assert_eq!(rows(&trace, &decoded, "e"), ["101 0 100", "105 0 7", "103 0 102", "107 0 7"]);
    assert_eq!(rows(&trace, &decoded, "e#2"), ["105 0 104", "109 0 7"]);
    assert_eq!(decoded.span, Some((101, 109)));
    // The clock is the same, whatever is said of its beginning.
    assert_eq!(info.notes.len(), 1);
    assert!(info.notes[0].contains("4.000000 s earlier"), "{:?}", info.notes);
}

/// LTTng-UST 2.13 writes events of a program's start before the stream that they are of.
#[test]
fn events_may_stand_before_their_stream() {
    let text = metadata(Order::Le, NS, "large", &event(0, "e", "uint8_t a;"));
    let at = text.find("stream {").unwrap();
    let (head, rest) = text.split_at(at);
    let at = rest.find("event { name").unwrap();
    let moved = format!("{head}{}{}", &rest[at..], &rest[..at]);
    let stream = packet(Order::Le, Context::default(), |bits| {
        large(bits, 0, 105).put(9, 8);
    });
    let made = Made::new("events-first", moved.as_bytes());
    let (trace, decoded) = made.file("s", &stream).decode();
    assert_eq!(rows(&trace, &decoded, "e"), ["105 0 9"]);
}

/// D8 of the security review: a trace that somebody sent named files of whoever opens it.
#[test]
fn d8_links_inside_a_trace_are_not_followed() {
    use std::os::unix::fs::symlink;

    let secret = simple("links/elsewhere/kernel", &[three(Context::default())]);
    let sent = simple("links/sent/kernel", &[three(Context::default())]);
    assert!(tracefile::open(sent.path()).is_ok());
    symlink(secret.path(), sent.path().join("a-directory")).unwrap();
    assert_eq!(tracefile::open(sent.path()).unwrap().info().streams[0].files.len(), 1);

    let stream = sent.path().join("linked");
    for target in [secret.path().join("metadata"), "/dev/zero".into(), "/nowhere".into()] {
        symlink(target, &stream).unwrap();
        match tracefile::open(sent.path()) {
            Err(error @ Error::NotATrace { .. }) => {
                assert!(error.to_string().contains("linked is not a trace: a link"), "{error}");
            }
            other => panic!("{:?}", other.map(|trace| trace.info().clone())),
        }
        std::fs::remove_file(&stream).unwrap();
    }
    // Its metadata, and a whole trace below a session.
    std::fs::remove_file(sent.path().join("metadata")).unwrap();
    symlink(secret.path().join("metadata"), sent.path().join("metadata")).unwrap();
    assert!(matches!(tracefile::open(sent.path()), Err(Error::NotATrace { .. })));
    let session = sent.path().parent().unwrap();
    let _ = std::fs::remove_file(session.join("other"));
    symlink(secret.path(), session.join("other")).unwrap();
    assert!(matches!(tracefile::open(session), Err(Error::NotATrace { .. })));
}

#[test]
fn faults_of_metadata_say_where() {
    let cases: [(&str, &str); 8] = [
        ("trace { major = 1; byte_order = le; }; stream { x := unknown_t; };", "unknown_t"),
        ("trace { major = 1; };", "byte_order"),
        (
            "trace { byte_order = le; }; event { fields := struct { integer { size = 65; } a; }; };",
            "65 bits",
        ),
        (
            "trace { byte_order = le; }; event { fields := struct { integer { size = 8; align = 3; } a; }; };",
            "power of two",
        ),
        (
            "trace { byte_order = le; }; event { fields := struct { integer { size = 8; } a[n]; }; };",
            "field n",
        ),
        ("trace { byte_order = le; }; event { id = 1; }; event { id = 1; };", "second event"),
        ("trace { byte_order = le; ", "the end"),
        ("trace ~", "byte 0x7e"),
    ];
    for (at, (text, what)) in cases.into_iter().enumerate() {
        let made = Made::new(&format!("fault-{at}"), text.as_bytes());
        match tracefile::open(made.path()) {
            Err(error @ Error::Damaged { .. }) => {
                assert!(error.to_string().contains(what), "{error}");
            }
            other => panic!("{text}: {:?}", other.map(|trace| trace.info().clone())),
        }
    }
    // Types that double with every line, and types without end.
    let mut text = "trace { byte_order = le; }; typealias integer { size = 8; } := t0;".to_owned();
    for level in 1..60 {
        text += &format!("typealias struct {{ t{0} a; t{0} b; }} := t{level};", level - 1);
    }
    let made = Made::new("fault-doubling", text.as_bytes());
    assert!(matches!(tracefile::open(made.path()), Err(Error::Damaged { .. })));
    let deep = "trace { byte_order = le; }; ".to_owned() + &"struct { ".repeat(100_000);
    let made = Made::new("fault-deep", deep.as_bytes());
    assert!(matches!(tracefile::open(made.path()), Err(Error::Damaged { .. })));
}

#[test]
fn a_content_without_a_size_of_its_packet_fills_it() {
    let text = "typealias integer { size = 32; align = 8; } := uint32_t;
        trace { byte_order = le; packet.header := struct { uint32_t magic; }; };
        stream { packet.context := struct { uint32_t content_size; }; };
        event { name = e; fields := struct { uint32_t a; }; };";
    let mut bits = Bits::new(Order::Le);
    for number in [7, 8] {
        bits.put(0xC1FC_1FC1, 32).put(96, 32).put(number, 32);
    }
    let made = Made::new("content-alone", text.as_bytes());
    let (trace, decoded) = made.file("s", &bits.bytes).decode();
    assert_eq!(decoded.damage, []);
    assert_eq!(rows(&trace, &decoded, "e"), ["0 - 7", "0 - 8"]);
}

#[test]
fn packets_with_another_uuid_are_read_and_told() {
    // As two traces of Babeltrace's own tests have them.
    let text = metadata(Order::Le, NS, "large", &event(0, "e", "uint8_t a;"));
    let mut stream = packet(Order::Le, Context::default(), |bits| {
        large(bits, 0, 200).put(1, 8);
    });
    stream[4..20].copy_from_slice(b"quite another 1!");
    let (trace, decoded) = Made::new("other-uuid", text.as_bytes()).file("s", &stream).decode();
    assert_eq!(rows(&trace, &decoded, "e"), ["200 0 1"]);
    assert!(decoded.notes.iter().any(|note| note.contains("another UUID")), "{:?}", decoded.notes);
}

#[test]
fn a_clock_may_begin_before_its_origin_and_a_type_end_at_its_brace() {
    let clock = "freq = 3; offset_s = -2; offset = -4;";
    let text = metadata(Order::Le, clock, "large", &event(0, "e", "uint8_t a;"));
    let types = "struct one { uint8_t a; } struct two { struct one b; }; ";
    let text = text.replace("trace {", &format!("{types}trace {{"));
    let info = Made::new("before-origin", text.as_bytes()).open().info().clone();
    // Two seconds and four thirds, rounded down.
    assert_eq!(info.clock.epoch_offset_ns, Some(-3_333_333_334));
}
