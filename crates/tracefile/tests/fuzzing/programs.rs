//! What programs tell of themselves: Chrome's JSON and Perfetto's packets.

use super::check;

/// A whole file of either.
pub fn file(data: &[u8]) -> u64 {
    check(tracefile::open_bytes(data))
}

pub fn chrome_seeds() -> Vec<Vec<u8>> {
    let array = r#"[{"ph":"M","pid":7,"tid":9,"name":"thread_name","args":{"name":"main \"x\""}},
{"ph":"B","pid":7,"tid":9,"ts":1.5,"name":"outer","cat":"a,b","args":{"n":[1,{"m":"]}"}]}},
{"ph":"X","pid":7,"tid":9,"ts":2,"dur":0.75,"name":"inner"},
{"ph":"X","pid":7,"tid":9,"ts":2.5,"dur":9,"name":"overlaps"},
{"ph":"E","pid":7,"tid":9,"ts":"12.25"},{"ph":"E","pid":7,"tid":9,"ts":13},
{"ph":"i","pid":7,"tid":"text","ts":4,"name":"here","s":"t"},
{"ph":"b","pid":7,"tid":9,"ts":3,"id":"0x1","cat":"net","name":"get"},
{"ph":"b","pid":7,"tid":9,"ts":3,"id2":{"global":"0x2"},"cat":"net","name":"get"},
{"ph":"e","pid":7,"tid":9,"ts":8,"id":"0x1","cat":"net","name":"get"},
{"ph":"s","pid":7,"tid":9,"ts":3,"id":5,"name":"flow"},
{"ph":"C","pid":7,"ts":5,"name":"memory","args":{"used":12,"free":0.5}},"#;
    let object = format!(
        r#"{{"otherData":{{"version":"1"}},"traceEvents":{}],"samples":[1,2],"displayTimeUnit":"ns"}}"#,
        array.trim_end_matches(',')
    );
    vec![array.into(), object.into_bytes()]
}

pub fn perfetto_seeds() -> Vec<Vec<u8>> {
    let switch = message(&[
        number(1, 1000),
        number(2, 7),
        text(
            4,
            &message(&[text(1, b"a"), number(2, 7), number(4, 1), text(5, b"b"), number(6, 8)]),
        ),
    ]);
    let generic = message(&[
        number(1, 1010),
        number(2, 8),
        text(
            327,
            &message(&[
                text(1, b"made"),
                text(2, &message(&[text(1, b"what"), text(3, b"x")])),
                text(2, &message(&[text(1, b"much"), number(4, u64::MAX)])),
            ]),
        ),
    ]);
    let compact = message(&[
        text(5, b"c"),
        text(1, &[200, 1, 10]),
        text(2, &[1, 0]),
        text(3, &[9, 7]),
        text(4, &[120, 120]),
        text(6, &[0, 0]),
    ]);
    let kernel = message(&[text(
        1,
        &message(&[
            number(1, 1),
            text(2, &switch),
            text(2, &generic),
            number(3, 1),
            text(4, &compact),
        ]),
    )]);
    let clocks = message(&[
        number(10, 3),
        text(
            6,
            &message(&[
                text(1, &message(&[number(1, 6), number(2, 500)])),
                text(1, &message(&[number(1, 3), number(2, 400)])),
                text(1, &message(&[number(1, 64), number(2, 1), number(3, 1), number(4, 10)])),
            ]),
        ),
    ]);
    let interned = message(&[
        text(2, &message(&[number(1, 1), text(2, b"work")])),
        text(3, &message(&[number(1, 1), text(2, b"n")])),
    ]);
    let track = message(&[
        number(10, 3),
        text(
            60,
            &message(&[
                number(1, 42),
                text(4, &message(&[number(1, 7), number(2, 8), text(5, b"worker")])),
            ]),
        ),
    ]);
    let event = |of: u64, named: bool| {
        let mut parts = vec![number(9, of), number(11, 42)];
        if named {
            parts.push(number(10, 1));
            parts.push(text(4, &message(&[number(1, 1), number(4, u64::MAX)])));
        }
        message(&[number(8, 7), number(58, 64), number(10, 3), text(11, &message(&parts))])
    };
    let first = message(&[number(10, 3), number(13, 1), text(12, &interned)]);
    let packets = [first, clocks, track, kernel, event(1, true), event(2, false)];
    let whole = packets.iter().flat_map(|packet| text(1, packet)).collect::<Vec<u8>>();
    let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, &whole).expect("memory takes it");
    let packed = text(1, &text(50, &packed.finish().expect("memory takes it")));
    vec![whole, packed]
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

fn number(field: u64, value: u64) -> Vec<u8> {
    [varint(field << 3), varint(value)].concat()
}

fn text(field: u64, value: &[u8]) -> Vec<u8> {
    [varint(field << 3 | 2), varint(value.len() as u64), value.to_vec()].concat()
}

fn message(parts: &[Vec<u8>]) -> Vec<u8> {
    parts.concat()
}
