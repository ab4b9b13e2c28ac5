//! The final dialect of CTF 2 (CTF2-SPEC-2.0), which no real trace here has, made by hand.

mod common;
#[path = "common/made.rs"]
mod made;

use common::rows;
use made::{Bits, Made, Order, UUID};
use serde_json::{Value, json};
use tracefile::{Error, Format, LossKind, Scope};

fn sequence(fragments: &[Value]) -> Vec<u8> {
    fragments.iter().flat_map(|fragment| format!("\x1e{fragment}\n").into_bytes()).collect()
}

fn unsigned(bits: u32) -> Value {
    json!({"type": "fixed-length-unsigned-integer", "length": bits, "byte-order": "little-endian",
        "alignment": 8})
}

fn with(mut class: Value, extra: Value) -> Value {
    let extra = extra.as_object().unwrap().clone();
    class.as_object_mut().unwrap().extend(extra);
    class
}

fn role(bits: u32, role: &str) -> Value {
    with(unsigned(bits), json!({"roles": [role]}))
}

fn structure(members: &[(&str, Value)]) -> Value {
    let members: Vec<Value> =
        members.iter().map(|(name, class)| json!({"name": name, "field-class": class})).collect();
    json!({"type": "structure", "member-classes": members})
}

fn preamble() -> Value {
    json!({"type": "preamble", "version": 2, "uuid": UUID})
}

fn trace_class() -> Value {
    json!({
        "type": "trace-class", "namespace": "test", "name": "t", "uid": "x",
        "environment": {"hostname": "made", "tracer_major": 2},
        "packet-header-field-class": structure(&[
            ("m", role(32, "packet-magic-number")),
            ("u", json!({"type": "static-length-blob", "length": 16, "roles": ["metadata-stream-uuid"]})),
            ("c", role(8, "data-stream-class-id")),
            ("i", role(8, "data-stream-id")),
        ]),
    })
}

fn clock() -> Value {
    json!({"type": "clock-class", "id": "the-clock", "name": "monotonic", "uid": "abc",
        "frequency": 1_000_000, "origin": "unix-epoch", "precision": 3,
        "offset-from-origin": {"seconds": 2, "cycles": 500_000}})
}

/// Header: a variant in the fashion of LTTng, through an alias.
fn header() -> Value {
    let location = json!({"origin": "event-record-header", "path": ["id"]});
    let compact = structure(&[("ts", role(32, "default-clock-timestamp"))]);
    let extended = structure(&[
        ("id", role(32, "event-record-class-id")),
        ("ts", role(64, "default-clock-timestamp")),
    ]);
    structure(&[
        ("id", json!("class-id")),
        (
            "v",
            json!({"type": "variant", "selector-field-location": location, "options": [
                {"name": "compact", "field-class": compact, "selector-field-ranges": [[0, 65534]]},
                {"name": "extended", "field-class": extended, "selector-field-ranges": [[65535, 65535]]},
            ]}),
        ),
    ])
}

fn stream_class() -> Value {
    json!({
        "type": "data-stream-class", "id": 5, "default-clock-class-id": "the-clock",
        "packet-context-field-class": structure(&[
            ("total", role(32, "packet-total-length")),
            ("content", role(32, "packet-content-length")),
            ("begin", role(64, "default-clock-timestamp")),
            ("end", role(64, "packet-end-default-clock-timestamp")),
            ("lost", role(16, "discarded-event-record-counter-snapshot")),
            ("seq", role(16, "packet-sequence-number")),
            ("cpu_id", unsigned(8)),
            ("count", unsigned(8)),
        ]),
        "event-record-header-field-class": header(),
        "event-record-common-context-field-class": structure(&[("tid", unsigned(32))]),
        "attributes": {"any": {"extensions": {"not": "one"}}},
    })
}

fn event_class(payload: &Value) -> Value {
    json!({"type": "event-record-class", "id": 70, "data-stream-class-id": 5, "name": "e",
        "namespace": "provider", "payload-field-class": payload})
}

fn alias() -> Value {
    json!({"type": "field-class-alias", "name": "class-id",
        "field-class": role(16, "event-record-class-id")})
}

fn all(payload: &Value) -> Vec<Value> {
    vec![preamble(), alias(), trace_class(), clock(), stream_class(), event_class(payload)]
}

fn packet(context: (u64, u64, u64, u64), events: impl FnOnce(&mut Bits)) -> Vec<u8> {
    let (begin, end, lost, sequence) = context;
    let mut bits = Bits::new(Order::Le);
    bits.put(0xC1FC_1FC1, 32).raw(&UUID).put(5, 8).put(1, 8).put(0, 64);
    bits.put(begin, 64).put(end, 64).put(lost, 16).put(sequence, 16).put(3, 8).put(2, 8);
    events(&mut bits);
    let content = bits.at as u64;
    let total = content.next_multiple_of(8) + 128;
    bits.bytes.resize(total as usize / 8, 0);
    let mut sizes = Bits::new(Order::Le);
    sizes.put(total, 32).put(content, 32);
    bits.bytes[22..30].copy_from_slice(&sizes.bytes);
    bits.bytes
}

#[test]
fn every_kind_of_field() {
    let relative = |path: Value| json!({"path": path});
    let payload = structure(&[
        (
            "flags",
            json!({"type": "fixed-length-bit-map", "length": 8, "byte-order": "big-endian",
            "alignment": 8, "flags": {"low": [[0, 0]], "high": [[7, 7]]}}),
        ),
        (
            "yes",
            json!({"type": "fixed-length-boolean", "length": 1, "byte-order": "little-endian"}),
        ),
        (
            "raw",
            json!({"type": "fixed-length-bit-array", "length": 7, "byte-order": "little-endian"}),
        ),
        (
            "small",
            json!({"type": "fixed-length-signed-integer", "length": 16, "byte-order": "big-endian",
            "alignment": 8, "mappings": {"minus": [[-5, -1]], "plus": [[1, 5], [7, 7]]},
            "preferred-display-base": 8}),
        ),
        (
            "real",
            json!({"type": "fixed-length-floating-point-number", "length": 64, "byte-order": "big-endian",
            "alignment": 8}),
        ),
        (
            "half",
            json!({"type": "fixed-length-floating-point-number", "length": 16,
            "byte-order": "little-endian", "alignment": 8}),
        ),
        ("vu", json!({"type": "variable-length-unsigned-integer"})),
        ("vs", json!({"type": "variable-length-signed-integer"})),
        ("text", json!({"type": "null-terminated-string"})),
        ("wide", json!({"type": "null-terminated-string", "encoding": "utf-16le"})),
        ("fixed", json!({"type": "static-length-string", "length": 4})),
        ("n", json!({"type": "variable-length-unsigned-integer"})),
        (
            "dynamic",
            json!({"type": "dynamic-length-string", "length-field-location": relative(json!(["n"]))}),
        ),
        (
            "blob",
            json!({"type": "dynamic-length-blob", "length-field-location": relative(json!(["n"])),
            "media-type": "image/png"}),
        ),
        (
            "deep",
            structure(&[(
                "list",
                json!({"type": "dynamic-length-array", "minimum-alignment": 32,
                "length-field-location": relative(json!([null, "n"])), "element-field-class": unsigned(8)}),
            )]),
        ),
        (
            "pair",
            json!({"type": "static-length-array", "length": 2, "element-field-class":
            {"type": "variable-length-unsigned-integer"}}),
        ),
        (
            "maybe",
            json!({"type": "optional", "selector-field-location": relative(json!(["yes"])),
            "field-class": unsigned(16)}),
        ),
        (
            "ranged",
            json!({"type": "optional", "field-class": {"type": "null-terminated-string"},
            "selector-field-location": {"origin": "event-record-payload", "path": ["n"]},
            "selector-field-ranges": [[2, 3], [9, 9]]}),
        ),
        (
            "counted",
            json!({"type": "dynamic-length-array", "element-field-class": unsigned(8),
            "length-field-location": {"origin": "packet-context", "path": ["count"]}}),
        ),
        // Takes no bits, and has a value all the same.
        ("nothing", json!({"type": "static-length-string", "length": 0})),
    ]);
    let file = packet((10, 5000, 0, 0), |bits| {
        bits.put(70, 16).put(1000, 32).put(42, 32).align(32);
        bits.put_in(Order::Be, 0x81, 8).put(1, 1).put(0x55, 7);
        bits.put_in(Order::Be, -3i64 as u64, 16).put_in(Order::Be, 2.5f64.to_bits(), 64);
        bits.put(0x3e00, 16).raw(&[0x85, 0x01]).raw(&[0x7b]).text("héllo");
        bits.raw(&[0x41, 0, 0xe9, 0, 0, 0]).raw(b"ab\0c").raw(&[2]).raw(b"xy").raw(&[0xde, 0xad]);
        bits.align(32).raw(&[8, 9]).raw(&[1, 0x80, 0x02]).put(777, 16).text("in").raw(&[5, 6]);

        bits.put(0xffff, 16).put(70, 32).put(2000, 64).put(43, 32).align(32);
        bits.put_in(Order::Be, 0, 8).put(0, 1).put(0, 7);
        bits.put_in(Order::Be, 7, 16).put_in(Order::Be, 0f64.to_bits(), 64);
        bits.put(0, 16).raw(&[0]).raw(&[0]).text("").raw(&[0, 0]).raw(&[0; 4]).raw(&[0]);
        bits.align(32).raw(&[1, 2]).raw(&[3, 4]);
    });
    let made = Made::new("ctf2-fields", &sequence(&all(&payload)));
    let (trace, decoded) = made.file("s", &file).decode();
    assert_eq!(decoded.damage, []);
    let info = trace.info();
    assert_eq!(info.format, Format::Ctf2);
    assert_eq!(info.clock.epoch_offset_ns, Some(2_500_000_000));
    assert_eq!((info.clock.name.as_str(), info.clock.uuid.as_deref()), ("monotonic", Some("abc")));
    assert_eq!(info.environment[1], ("tracer_major".into(), "2".into()));
    assert_eq!(info.events[0].system, "provider");
    assert_eq!(info.streams[0].cpu, Some(3));
    // `count` stands in the packet's context without a role: a column like any other.
    let expected = [
        "1000000 3 42 129 1 85 -3 2.5 1.5 133 -5 \"héllo\" \"Aé\" \"ab\" 2 \"xy\" [de, ad] [8 9] [1 256] 777 \
         \"in\" [5 6] \"\" 2",
        "2000000 3 43 0 0 0 7 0 0 0 0 \"\" \"\" \"\" 0 \"\" [] [] [1 2] - - [3 4] \"\" 2",
    ];
    assert_eq!(rows(&trace, &decoded, "e"), expected);
    let field = |name: &str| info.events[0].fields.iter().find(|field| field.name == name).unwrap();
    assert_eq!(field("tid").scope, Scope::Common);
    assert_eq!(field("deep.list").scope, Scope::Payload);
    let labels: Vec<_> = field("flags").labels.iter().map(|l| (l.first, l.name.as_str())).collect();
    assert_eq!(labels, [(1, "low"), (128, "high")]);
    let labels: Vec<_> = field("small").labels.iter().map(|l| (l.first, l.last)).collect();
    assert_eq!((labels, field("small").base), (vec![(-5, -1), (1, 5), (7, 7)], 8));
    assert!(field("maybe").nullable && !field("n").nullable);
}

#[test]
fn both_dialects_give_the_same() {
    let payload = structure(&[
        ("kind", with(unsigned(8), json!({"mappings": {"a": [[0, 4]]}}))),
        (
            "v",
            json!({"type": "variant", "selector-field-location": {"origin": "event-record-payload", "path": ["kind"]},
            "options": [
                {"name": "a", "field-class": unsigned(8), "selector-field-ranges": [[0, 4]]},
                {"name": "b", "field-class": unsigned(32), "selector-field-ranges": [[5, 255]]},
            ]}),
        ),
    ]);
    let file = [
        packet((10, 60_000, 2, 65535), |bits| {
            bits.put(70, 16).put(1000, 32).put(42, 32).put(3, 8).put(9, 8);
        }),
        packet((70_000, 80_000, 5, 1), |bits| {
            bits.put(70, 16).put(70_001, 32).put(42, 32).put(5, 8).put(9, 32);
        }),
    ]
    .concat();
    let new = sequence(&all(&payload));
    // The older names of the same things.
    let old = String::from_utf8(new.clone()).unwrap();
    let old = old
        .replace(
            "\"default-clock-class-id\":\"the-clock\"",
            "\"default-clock-class-name\":\"monotonic\"",
        )
        .replace("\"id\":\"the-clock\",", "")
        .replace("\"origin\":\"unix-epoch\",", "")
        .replace("\"attributes\"", "\"user-attributes\"")
        .replace(
            "{\"origin\":\"event-record-payload\",\"path\":[\"kind\"]}",
            "[\"event-record-payload\",\"kind\"]",
        )
        .replace(
            "{\"origin\":\"event-record-header\",\"path\":[\"id\"]}",
            "[\"event-record-header\",\"id\"]",
        );
    assert_ne!(old.as_bytes(), new);
    let made = [Made::new("ctf2-new", &new), Made::new("ctf2-old", old.as_bytes())];
    for made in &made {
        let (trace, decoded) = made.file("s", &file).decode();
        assert_eq!(rows(&trace, &decoded, "e"), ["1000000 3 42 3 9 - 2", "70001000 3 42 5 - 9 2",]);
        assert_eq!(trace.info().clock.epoch_offset_ns, Some(2_500_000_000));
        let losses: Vec<_> =
            decoded.losses.iter().map(|loss| (loss.kind, loss.begin, loss.count)).collect();
        let expected = [
            (LossKind::Events, None, Some(2)),
            (LossKind::Events, Some(60_000_000), Some(3)),
            (LossKind::Packets, Some(60_000_000), Some(1)),
        ];
        assert_eq!(losses, expected);
    }
}

#[test]
fn sizes_may_be_missing() {
    let mut stream = stream_class();
    stream.as_object_mut().unwrap().remove("packet-context-field-class");
    let payload = structure(&[("a", unsigned(8))]);
    let metadata = [preamble(), alias(), trace_class(), clock(), stream, event_class(&payload)];
    let mut bits = Bits::new(Order::Le);
    bits.put(0xC1FC_1FC1, 32).raw(&UUID).put(5, 8).put(1, 8);
    bits.put(70, 16).put(1, 32).put(42, 32).put(7, 8).put(70, 16).put(2, 32).put(42, 32).put(8, 8);
    let made = Made::new("ctf2-sizes", &sequence(&metadata));
    let (trace, decoded) = made.file("s", &bits.bytes).decode();
    assert_eq!(rows(&trace, &decoded, "e"), ["1000 - 42 7", "2000 - 42 8"]);
}

#[test]
fn what_is_not_known_is_refused_and_what_is_wrong_is_said() {
    let payload = structure(&[("a", unsigned(8))]);
    let open = |name: &str, fragments: &[Value]| {
        let made = Made::new(&format!("ctf2-{name}"), &sequence(fragments));
        match tracefile::open(made.path()) {
            Ok(_) => panic!("{name} was opened"),
            Err(error) => error,
        }
    };
    let changed = |at: usize, extra: Value| {
        let mut fragments = all(&payload);
        fragments[at] = with(fragments[at].clone(), extra);
        fragments
    };
    let error = open("extension", &changed(0, json!({"extensions": {"ns": {"new": 1}}})));
    assert!(matches!(&error, Error::Unsupported { what, .. } if what.contains("ns")), "{error}");
    let inside = structure(&[("a", with(unsigned(8), json!({"extensions": {"deep": {}}})))]);
    let error = open("inner-extension", &all(&inside));
    assert!(matches!(&error, Error::Unsupported { what, .. } if what.contains("deep")), "{error}");
    let error = open("version", &changed(0, json!({"version": 3})));
    assert!(matches!(&error, Error::Unsupported { .. }), "{error}");
    let wide = structure(&[("a", unsigned(65))]);
    assert!(matches!(open("wide", &all(&wide)), Error::Unsupported { .. }));
    let bits = with(unsigned(8), json!({"bit-order": "last-to-first"}));
    assert!(matches!(
        open("bit-order", &all(&structure(&[("a", bits)]))),
        Error::Unsupported { .. }
    ));

    let damaged = |name: &str, fragments: &[Value], what: &str| {
        let error = open(name, fragments);
        assert!(
            matches!(&error, Error::Damaged { what: said, .. } if said.contains(what)),
            "{error}"
        );
    };
    damaged("no-stream", &[preamble(), alias(), trace_class(), clock()], "data-stream-class");
    damaged("no-preamble", &all(&payload)[1..], "preamble");
    damaged("two-traces", &[&all(&payload)[..], &[trace_class()]].concat(), "second trace-class");
    damaged("alias", &[preamble(), trace_class(), clock(), stream_class()], "alias class-id");
    damaged(
        "clock",
        &[preamble(), alias(), trace_class(), stream_class()],
        "clock class the-clock",
    );
    let far = json!({"type": "dynamic-length-blob", "length-field-location": {"path": [null, null, "n"]}});
    damaged("location", &all(&structure(&[("a", far)])), "is not before it");
    let made =
        Made::new("ctf2-json", b"\x1e{\"type\": \"preamble\", \"version\": 2}\n\x1e{\"type\"");
    match tracefile::open(made.path()) {
        Err(Error::Damaged { offset, .. }) => assert_eq!(offset, 37),
        other => panic!("{:?}", other.map(|trace| trace.info().clone())),
    }
}
