//! Real CTF 2 traces (of the dialect before the final one) against what they are known to hold.

mod common;

use common::{integers, real, rows};
use tracefile::{Decoded, Format, Options, Selection, Trace};

fn open(name: &str) -> Option<(Trace, Decoded)> {
    let trace = tracefile::open(&real(name)?).unwrap();
    let decoded = trace.decode(&Selection::everything(), &Options::default()).unwrap();
    assert_eq!(trace.info().format, Format::Ctf2);
    assert_eq!(decoded.damage, []);
    Some((trace, decoded))
}

#[test]
fn variable_length_integers_of_one_to_ten_bytes() {
    let Some((trace, decoded)) = open("CTF2-vl-ints") else { return };
    // By hand from the bytes of its only event.
    let expected = "0 - 0 77 177 43123 21829382 5121829382 95121829382 13895121829382 \
         913895121855555 333333333333333333 18446744073709551615 \
         0 -1 23 -156 8556 -100101001 8288491823 -171717171717 123456787654321 \
         -1121231234123450 99999999999999999 9223372036853775807 9223372036854775807 \
         -9223372036854775808";
    assert_eq!(rows(&trace, &decoded, "test"), [expected]);
}

#[test]
fn texts_without_event_headers() {
    let Some((trace, decoded)) = open("CTF2-7.0-smalltrace") else { return };
    let expected = ["0 - \"This is a test trace\"", "0 - \"with only two small events.\""];
    assert_eq!(rows(&trace, &decoded, "string"), expected);
    let Some((trace, decoded)) = open("CTF2-7.0-succeed1") else { return };
    // Forty packets, each with a size of its content; every text of the file is one event.
    let bytes = std::fs::read(&trace.info().streams[0].files[0]).unwrap();
    let texts = bytes.split(|&byte| byte == 0).filter(|text| text.is_ascii() && text.len() > 1);
    assert!(texts.count() >= 7800);
    assert_eq!(decoded.events, 7809);
}

#[test]
fn streams_of_four_cpus_with_an_index() {
    let Some((trace, decoded)) = open("CTF2-7.0-trace-with-index") else { return };
    let cpus: Vec<_> = trace.info().streams.iter().map(|stream| stream.cpu).collect();
    assert_eq!(cpus, [Some(0), Some(1), Some(2), Some(3)]);
    let rows = rows(&trace, &decoded, "sample_component:message");
    assert_eq!(rows.len(), 4000);
    assert!(rows.iter().all(|row| row.ends_with("\"Hello World\"")));
    let cpus = integers(&trace, &decoded, "sample_component:message", "cpu");
    assert_eq!((0..4).map(|cpu| cpus.iter().filter(|&&of| of == cpu).count()).max(), Some(1000));
}

#[test]
fn events_after_the_end_of_their_packet_are_kept_and_told() {
    let Some((trace, decoded)) = open("CTF2-7.0-lttng-event-after-packet") else { return };
    let expected = [
        "900859125273445 0 53 \"event-after-packet\"",
        "900859125273473 0 53 \"event-after-packet\"",
    ];
    assert_eq!(rows(&trace, &decoded, "my_app:current_temp"), expected);
    let told = decoded.notes.iter().any(|note| note.contains("after the stated end"));
    assert!(told, "{:?}", decoded.notes);
    assert_eq!(trace.info().clock.epoch_offset_ns, Some(1_565_056_443_054_742_596));
}
