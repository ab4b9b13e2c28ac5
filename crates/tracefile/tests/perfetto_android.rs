//! Android's slices, frames and states in Perfetto's files, against what Perfetto's own tests expect of
//! `trace_processor` (test/trace_processor/diff_tests/parser: atrace, graphics, track_event).

mod made;

use std::collections::HashMap;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use made::wire::{message, number, text};
use tracefile::{Options, Selection};

/// Begin, duration (-1: it has no end), process (-1: none), track's name, name.
type Drawn = (i64, i64, i64, String, String);

struct Found {
    slices: Vec<Drawn>,
    details: Vec<serde_json::Value>,
    /// Time, track's name, name.
    instants: Vec<(i64, String, String)>,
    notes: Vec<String>,
}

fn found(packets: &[Vec<u8>]) -> Found {
    let file: Vec<u8> = packets.iter().flat_map(|packet| text(1, packet)).collect();
    let trace = tracefile::open_bytes(&file).unwrap();
    let names: HashMap<i32, String> = trace.info().tasks.iter().cloned().collect();
    let selection = Selection::nothing().event("slice_begin", None).event("instant", None);
    let decoded = trace.decode(&selection, &Options::default()).unwrap();
    let (mut slices, mut details, mut instants) = (Vec::new(), Vec::new(), Vec::new());
    for table in &decoded.tables {
        for batch in &table.batches {
            let time = batch["time"].as_primitive::<Int64Type>();
            let track = batch["common_pid"].as_primitive::<Int32Type>();
            let name = batch["name"].as_string::<i32>();
            let process = batch["process"].as_primitive::<Int64Type>();
            let whole = |column: &arrow_array::Int64Array, row| {
                if column.is_null(row) { -1 } else { column.value(row) }
            };
            for row in 0..batch.num_rows() {
                let (time, track) = (time.value(row), names[&track.value(row)].clone());
                let name = name.value(row).to_owned();
                if trace.info().events[table.event].name == "instant" {
                    instants.push((time, track, name));
                    continue;
                }
                let duration = whole(batch["duration"].as_primitive::<Int64Type>(), row);
                slices.push((time, duration, whole(process, row), track, name));
                let args = batch["args"].as_string::<i32>();
                let args = if args.is_null(row) { "null" } else { args.value(row) };
                details.push(serde_json::from_str(args).unwrap());
            }
        }
    }
    Found { slices, details, instants, notes: trace.info().notes.clone() }
}

fn times(found: &Found) -> Vec<(i64, i64, &str)> {
    let mut times: Vec<_> =
        found.slices.iter().map(|slice| (slice.0, slice.1, slice.4.as_str())).collect();
    times.sort_unstable();
    times
}

/// Texts that threads write on a CPU: time, thread, text.
fn prints(cpu: u64, all: &[(u64, u64, &str)]) -> Vec<u8> {
    let print = |&(time, thread, mark): &(u64, u64, &str)| {
        let print = message(&[number(1, u64::MAX), text(2, mark.as_bytes())]);
        text(2, &message(&[number(1, time), number(2, thread), text(3, &print)]))
    };
    let events: Vec<Vec<u8>> = all.iter().map(print).collect();
    message(&[text(1, &message(&[number(1, cpu), events.concat()]))])
}

#[test]
fn an_operation_that_begins_again_is_the_first() {
    // android_b2b_async_begin
    let found = found(&[prints(
        3,
        &[
            (1000, 4064, "S|1204|multistart|0\n"),
            (1010, 1257, "S|1204|multistart|0\n"),
            (1015, 1257, "S|1204|multistart|10\n"),
            (1020, 1240, "S|1204|multistart|0\n"),
            (1030, 4293, "F|1204|multistart|0\n"),
            (1030, 1240, "S|1204|multistart|0\n"),
            (1050, 4293, "F|1204|multistart|0\n"),
            (1060, 4009, "F|1204|multistart|10\n"),
        ],
    )]);
    let expected = [(1000, 30, "multistart"), (1015, 45, "multistart"), (1030, 20, "multistart")];
    assert_eq!(times(&found), expected);
}

#[test]
fn an_operation_may_end_on_another_cpu_whose_bundle_stands_first() {
    // process_track_slices_android_async_slice, with its packets swapped.
    let name = "launching: com.android.chrome";
    let end = prints(2, &[(74_662_603_008, 1257, &format!("F|1204|{name}|0\n"))]);
    let begin = prints(3, &[(74_289_018_336, 4064, &format!("S|1204|{name}|0\n"))]);
    let found = found(&[end, begin]);
    let expected = (74_289_018_336, 373_584_672, 1204, name.to_owned(), name.to_owned());
    assert_eq!(found.slices, [expected]);
}

#[test]
fn operations_of_named_tracks() {
    // async_track_atrace
    let found = found(&[prints(
        0,
        &[
            (50, 1, "G|1|track|ev|1024\n"),
            (55, 1, "G|1|track|ev|2048\n"),
            (60, 2, "G|2|track|ev|1024\n"),
            (65, 2, "H|2|track|ev|1024\n"),
            (70, 1, "H|1|track|2048\n"),
            (75, 1, "H|1|track|ev|1024\n"),
        ],
    )]);
    let mut slices = found.slices.clone();
    slices.sort_unstable();
    let slice = |time, duration, process| (time, duration, process, "track".into(), "ev".into());
    assert_eq!(slices, [slice(50, 25, 1), slice(55, 15, 1), slice(60, 5, 2)]);
}

#[test]
fn slices_of_threads_among_other_texts() {
    // bad_print
    let found = found(&[
        prints(3, &[(74_289_018_336, 1, "event: abc xyz =0x34 clk id = 019\n")]),
        prints(2, &[(74_662_603_008, 1, "another random print message\n")]),
        prints(2, &[(74_662_603_048, 2, "B|2|valid_print\n"), (74_662_603_050, 2, "E|2\n")]),
    ]);
    assert_eq!(times(&found), [(74_662_603_048, 2, "valid_print")]);
    assert_eq!(found.notes, [""; 0]);
}

#[test]
fn instants_of_threads_and_tracks() {
    // instant_atrace, instant_async_atrace
    let found = found(&[prints(
        0,
        &[
            (51, 2, "I|2|t2_event\n"),
            (53, 1, "I|1|t1_event\n"),
            (54, 2, "N|2|track_p2|ev1\n"),
            (55, 1, "N|1|track_p1|ev2\n"),
        ],
    )]);
    let names: Vec<_> =
        found.instants.iter().map(|(time, _, name)| (*time, name.as_str())).collect();
    assert_eq!(names, [(51, "t2_event"), (53, "t1_event"), (54, "ev1"), (55, "ev2")]);
    let tracks: Vec<_> = found.instants[2..].iter().map(|(_, track, _)| track.as_str()).collect();
    assert_eq!(tracks, ["track_p2", "track_p1"]);
}

#[test]
fn states_follow_each_other() {
    // track_event_state, with one state more that begins before the first in the file, and an end.
    let track = |id: u64, more: Vec<u8>| {
        message(&[number(8, 0), number(10, 1), text(60, &message(&[number(1, id), more]))])
    };
    let process = message(&[number(1, 5), text(6, b"Browser")]);
    let thread = message(&[number(1, 5), number(2, 10), text(5, b"t1")]);
    let of = |parent: u64, name: &str| {
        [number(5, parent), text(2, name.as_bytes()), text(18, b"")].concat()
    };
    let state = |time: u64, id: u64, name: &str| {
        let event = [number(11, id), number(9, 5), text(22, b"cat"), text(23, name.as_bytes())];
        message(&[number(8, time), number(10, 1), text(11, &event.concat())])
    };
    let mut first = track(3, text(3, &process));
    first.extend(number(13, 1));
    let found = found(&[
        first,
        track(1, [number(5, 3), text(4, &thread)].concat()),
        track(20, of(3, "ProcState")),
        track(21, of(1, "ThreadState")),
        track(22, [text(2, b"GlobalState"), text(18, b"")].concat()),
        track(101, text(2, b"Regular Track")),
        state(1000, 20, "Foreground"),
        state(2000, 21, "Running"),
        state(3000, 22, "Active"),
        state(400, 20, "Background"),
        state(2500, 21, ""),
        state(1000, 101, "High"),
    ]);
    let mut slices = found.slices;
    slices.sort_unstable();
    let drawn = |time, duration, process, track: &str, name: &str| {
        (time, duration, process, track.to_owned(), name.to_owned())
    };
    let expected = [
        drawn(400, 600, 5, "ProcState (Browser)", "Background"),
        drawn(1000, -1, 5, "ProcState (Browser)", "Foreground"),
        drawn(2000, 500, 5, "ThreadState (Browser)", "Running"),
        drawn(3000, -1, -1, "GlobalState", "Active"),
    ];
    assert_eq!(slices, expected);
    // State on a track that has none is an error there, and told here.
    assert_eq!(found.notes, ["1 track events are left out: what they refer to is missing"]);
}

/// Fields of a frame by their numbers.
fn frame(time: u64, kind: u64, fields: &[(u64, u64)], layer: Option<&str>) -> Vec<u8> {
    let mut parts: Vec<Vec<u8>> = fields.iter().map(|&(at, value)| number(at, value)).collect();
    parts.extend(layer.map(|layer| text(5, layer.as_bytes())));
    message(&[number(8, time), text(76, &text(kind, &message(&parts)))])
}

/// frame_timeline_events, without those of its frames that are like others.
#[test]
fn frames_expected_and_actual() {
    let end = |time, cookie| frame(time, 5, &[(1, cookie)], None);
    let expected = |time, cookie, token| frame(time, 1, &[(1, cookie), (2, token), (3, 666)], None);
    let actual = |time, cookie, token, present, on_time, jank, prediction| {
        let ends = [(4, present), (5, on_time), (6, 0), (7, jank), (8, prediction)];
        let fields = [&[(1, cookie), (2, token), (3, 666)][..], &ends].concat();
        frame(time, 2, &fields, None)
    };
    let layer = Some("Layer1");
    let surface = |cookie, token, display| [(1, cookie), (2, token), (3, display), (4, 1000)];
    let came = |present, on_time, jank, severity| {
        [(6, present), (7, on_time), (8, 0), (9, jank), (10, 1), (12, severity)]
    };
    let found = found(&[
        expected(20, 1, 2),
        end(26, 1),
        actual(20, 2, 2, 1, 1, 1, 1),
        end(26, 2),
        frame(21, 3, &surface(5, 1, 4), layer),
        end(36, 5),
        frame(21, 4, &[&surface(6, 1, 4)[..], &came(1, 1, 1, 0)].concat(), layer),
        end(37, 6),
        frame(41, 4, &[&surface(10, 5, 6)[..], &came(2, 0, 64, 3)].concat(), layer),
        end(74, 10),
        actual(148, 16, 12, 2, 0, 16 | 2, 1),
        end(156, 16),
        expected(220, 26, 18),
        end(230, 26),
        actual(245, 27, 18, 2, 0, 512, 1),
        end(260, 27),
        expected(220, 26, 18),
        end(230, 26),
        actual(245, 27, 18, 4, 0, 1024, 0),
        end(260, 27),
    ]);
    let of = |track: &str| {
        let drawn = found.slices.iter().zip(&found.details);
        let mut drawn: Vec<_> = drawn
            .filter(|(slice, _)| slice.3 == track)
            .map(|((time, duration, process, ..), args)| (*time, *duration, *process, args))
            .map(|(time, duration, process, args)| {
                let number = |name: &str| args[name].as_i64().unwrap_or(-1);
                let token = number("display_frame_token");
                (time, duration, process, token, number("surface_frame_token"))
            })
            .collect();
        drawn.sort_unstable();
        drawn
    };
    let told = of("Expected Timeline");
    let expected =
        [(20, 6, 666, 2, -1), (21, 15, 1000, 4, 1), (220, -1, 666, 18, -1), (220, 10, 666, 18, -1)];
    assert_eq!(told, expected);
    let expected = [
        (20, 6, 666, 2, -1),
        (21, 16, 1000, 4, 1),
        (41, 33, 1000, 6, 5),
        (148, 8, 666, 12, -1),
        (245, -1, 666, 18, -1),
        (245, 15, 666, 18, -1),
    ];
    assert_eq!(of("Actual Timeline"), expected);
    let late = found.slices.iter().zip(&found.details).find(|(slice, _)| slice.0 == 41).unwrap().1;
    let expected = serde_json::json!({
        "surface_frame_token": 5, "display_frame_token": 6, "layer_name": "Layer1",
        "present_type": "Late Present", "on_time_finish": false, "gpu_composition": false,
        "jank_type": "App Deadline Missed", "prediction_type": "Valid Prediction",
        "jank_severity_type": "Full",
    });
    assert_eq!(*late, expected);
    let reasons: Vec<_> =
        found.details.iter().filter_map(|args| args.get("jank_type")?.as_str()).collect();
    let two = "SurfaceFlinger Scheduling, SurfaceFlinger CPU Deadline Missed";
    assert!(reasons.contains(&two), "{reasons:?}");
}
