//! What programs tell of themselves: Chrome's JSON and Perfetto's packets; and ftrace's text.

use super::check;
use crate::made::wire::{message, number, text};

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

pub fn text_seeds() -> Vec<Vec<u8>> {
    let plain = "# tracer: nop\n#\n\
        a b-1234 [001] d..2. 100.000001: sched_switch: prev_comm=a b prev_pid=1234 prev_prio=120 \
        prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120\n\
        <idle>-0 [001] dNh4. 100.000123: sched_wakeup: comm=a b pid=1234 prio=120 target_cpu=001\n\
        CPU:1 [LOST 5 EVENTS]\n\
        <...>-77 [000] ..... 100.000200: made: a=1 b=0xff c=\"x=y\" d={1,2} e=-3\n";
    let reported = "cpus=2\n\
        a-1234 ( 1230) [001] 100.000001: tracing_mark_write: B|1230|name\n\
        a-1234 (-----) [001] 100.000101: tracing_mark_write: E|1230\n\
        a-1234 [000] 100.000301: bprint: f: text = 5, here\n\
        a-1234 [000] 100.000401: irq_handler_entry: irq=5 name=eth0\n";
    let page = format!("<!DOCTYPE html>\n<script class=\"trace-data\">\n{plain}</script>\n");
    vec![plain.into(), reported.into(), page.into_bytes()]
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
    let print = |time: u64, mark: &[u8]| {
        text(2, &message(&[number(1, time), number(2, 7), text(3, &text(2, mark))]))
    };
    let marks: [&[u8]; 9] = [
        b"B|7|slice\n",
        b"C|7|counter|5\n",
        b"S|7|operation|1\n",
        b"G|7|track|named|2\n",
        b"N|7|track|moment\n",
        b"I|7|moment\n",
        b"H|7|track|named|2\n",
        b"F|7|operation|1\n",
        b"E|7\n",
    ];
    let marks: Vec<Vec<u8>> =
        marks.iter().enumerate().map(|(at, mark)| print(2000 + at as u64, mark)).collect();
    let android = message(&[text(1, &message(&marks))]);
    let frame = |time: u64, kind: u64, fields: &[Vec<u8>]| {
        message(&[number(8, time), text(76, &text(kind, &message(fields)))])
    };
    let came = [(1, 9), (2, 5), (3, 7), (4, 1), (6, 2), (7, 1), (9, 66), (10, 1), (12, 3)];
    let mut came: Vec<Vec<u8>> = came.map(|(field, value)| number(field, value)).to_vec();
    came.push(text(5, b"layer"));
    let frames = [frame(3000, 4, &came), frame(3010, 5, &[number(1, 9)])].map(|of| text(1, &of));
    let state = message(&[
        number(8, 4000),
        number(10, 3),
        text(60, &message(&[number(1, 43), text(2, b"state"), text(18, b"")])),
        text(11, &message(&[number(9, 5), number(11, 43), text(23, b"idle")])),
    ]);
    let packets = [first, clocks, track, kernel, event(1, true), event(2, false), android, state];
    let mut whole = packets.iter().flat_map(|packet| text(1, packet)).collect::<Vec<u8>>();
    whole.extend(frames.concat());
    let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, &whole).expect("memory takes it");
    let packed = text(1, &text(50, &packed.finish().expect("memory takes it")));
    vec![whole, packed]
}
