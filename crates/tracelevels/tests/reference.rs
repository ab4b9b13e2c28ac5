//! Against definitions that are written down as they read, and look at everything.

mod common;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float64Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use common::{Random, Said, anything};
use tracelevels::{Events, Forest, Kind, Row, state};

type Span = (i64, i64, u32, u8);

fn ints(table: &RecordBatch, name: &str) -> Vec<i64> {
    table.column_by_name(name).unwrap().as_primitive::<Int64Type>().values().to_vec()
}

/// The spans of each row.
fn spans(forest: &Forest) -> Vec<Vec<Span>> {
    let [rows, _, items, ..] = forest.tables();
    let (begin, end) = (ints(&items, "begin"), ints(&items, "end"));
    let actor = items["actor"].as_primitive::<UInt32Type>();
    let state = items["state"].as_primitive::<UInt8Type>();
    let from = rows["from"].as_primitive::<UInt64Type>().values();
    let to = rows["to"].as_primitive::<UInt64Type>().values();
    let row = |(&from, &to): (&u64, &u64)| {
        let get = |at: usize| (begin[at], end[at], actor.value(at), state.value(at));
        (from as usize..to as usize).map(get).collect()
    };
    from.iter().zip(to).map(row).collect()
}

/// All that may be on top in a row, without the trace's origin, in any order.
fn given(said: &Said, row: &Row) -> Vec<Span> {
    let mut found = Vec::new();
    for &(actor, cpu, begin, end) in &said.fragments {
        let (kind, state) = match said.kinds[actor as usize] {
            "idle" => (None, state::IDLE),
            "irq" => (Some(Kind::Irq), state::IRQ),
            "softirq" => (Some(Kind::Softirq), state::SOFTIRQ),
            _ => (Some(Kind::Thread), state::RUNNING),
        };
        let here = match row.kind {
            Kind::Cpu => row.cpu == Some(cpu),
            Kind::Thread => row.actor == Some(actor) && kind == Some(Kind::Thread),
            of => row.actor == Some(actor) && row.cpu == Some(cpu) && kind == Some(of),
        };
        if here {
            found.push((begin - said.span.0, end - said.span.0, actor, state));
        }
    }
    for &(actor, begin, end, waited) in &said.waits {
        if row.kind == Kind::Thread && row.actor == Some(actor) {
            let states = [
                state::RUNNABLE,
                state::PREEMPTED,
                state::SLEEPING,
                state::UNINTERRUPTIBLE,
                state::STOPPED,
                state::STOPPED,
            ];
            let (begin, end) = (begin - said.span.0, end - said.span.0);
            found.push((begin, end, actor, states[usize::from(waited)]));
        }
    }
    found
}

#[test]
fn on_top_is_what_began_last() {
    let mut looked = 0;
    for seed in 0..60 {
        let said = anything(seed, 60);
        let forest = said.forest();
        for (at, (row, spans)) in forest.rows().iter().zip(spans(&forest)).enumerate() {
            assert!(spans.windows(2).all(|pair| pair[0].1 <= pair[1].0), "seed {seed} row {at}");
            let given = given(&said, row);
            let mut times: Vec<i64> = given.iter().flat_map(|s| [s.0, s.1, s.0 + 1]).collect();
            times.push(0);
            for time in times {
                let holding = given.iter().filter(|s| s.0 <= time && time < s.1);
                let latest = holding.clone().map(|s| s.0).max();
                let shown = forest.at(at as u32, time);
                match (latest, shown) {
                    (None, shown) => assert!(shown.is_none_or(|s| s.0 == s.1), "seed {seed}"),
                    (Some(latest), Some((begin, end, actor, state))) if begin < end => {
                        let may =
                            holding.filter(|s| s.0 == latest).any(|s| (s.2, s.3) == (actor, state));
                        assert!(may, "seed {seed} row {at} time {time}");
                        looked += 1;
                    }
                    (Some(_), Some((begin, end, ..))) => assert_eq!(begin, end),
                    (Some(_), None) => panic!("seed {seed} row {at}: nothing at {time}"),
                }
            }
        }
    }
    assert!(looked > 1000);
}

/// A span, and for how many it stands and how long these ran.
type Shown = (Span, u32, i64);

/// What is drawn, by the definition of buckets.
fn drawn(spans: &[Span], begin: i64, end: i64, shift: u32) -> Vec<Shown> {
    let ran = |s: &Span| if state::runs(s.3) { s.1 - s.0 } else { 0 };
    let rank = |s: &Span| (!state::is_background(s.3), s.1 - s.0);
    let is_long = |s: &&Span| s.1 >> shift >= (s.0 >> shift) + 2;
    let mut found = Vec::new();
    let (first, last) = (begin >> shift, (end - 1) >> shift);
    if let Some(s) = spans.iter().rfind(|s| s.0 >> shift < first)
        && s.1 > first << shift
    {
        found.push((*s, 1, ran(s)));
    }
    for here in spans.chunk_by(|a, b| a.0 >> shift == b.0 >> shift) {
        if !(first..=last).contains(&(here[0].0 >> shift)) {
            continue;
        }
        let short: Vec<&Span> = here.iter().filter(|s| !is_long(s)).collect();
        let best = short.iter().map(|s| rank(s)).max();
        if let Some(highest) = short.iter().position(|s| Some(rank(s)) == best) {
            let visible = |s: &&&Span| s.3 != state::IDLE;
            let active = |s: &&&Span| !state::is_background(s.3);
            let mut kept = vec![highest];
            kept.extend(short.iter().position(|s| visible(&s)));
            kept.extend(short.iter().rposition(|s| visible(&s)));
            kept.extend(short.iter().position(|s| active(&s)));
            kept.extend(short.iter().rposition(|s| active(&s)));
            kept.sort_unstable();
            kept.dedup();
            let others: i64 =
                kept.iter().filter(|&&at| at != highest).map(|&at| ran(short[at])).sum();
            let all: i64 = short.iter().map(|s| ran(s)).sum();
            for &at in &kept {
                found.push(if at == highest {
                    (*short[at], (short.len() - kept.len() + 1) as u32, all - others)
                } else {
                    (*short[at], 1, ran(short[at]))
                });
            }
        }
        found.extend(here.iter().filter(is_long).map(|s| (*s, 1, ran(s))));
    }
    found
}

fn rows_of(batch: &RecordBatch) -> Vec<(u32, Shown)> {
    let row = batch["row"].as_primitive::<UInt32Type>();
    let begin = batch["begin"].as_primitive::<Float64Type>();
    let end = batch["end"].as_primitive::<Float64Type>();
    let actor = batch["actor"].as_primitive::<Int32Type>();
    let state = batch["state"].as_primitive::<UInt8Type>();
    let count = batch["count"].as_primitive::<UInt32Type>();
    let ran = batch["ran"].as_primitive::<Float64Type>();
    let get = |at: usize| {
        let (begin, end) = (begin.value(at) as i64, end.value(at) as i64);
        let span = (begin, end, actor.value(at) as u32, state.value(at));
        (row.value(at), (span, count.value(at), ran.value(at) as i64))
    };
    (0..batch.num_rows()).map(get).collect()
}

#[test]
fn each_bucket_shows_what_ranks_highest_in_it() {
    let mut through_levels = 0;
    for seed in 0..20 {
        let said = anything(seed, if seed < 12 { 300 } else { 20_000 });
        let forest = said.forest();
        let kept = forest.tables();
        through_levels += kept[1].num_rows();
        let again = Forest::from_tables(kept.each_ref()).unwrap();
        let spans = spans(&forest);
        let duration = said.span.1 - said.span.0;
        let mut random = Random::new(seed + 1000);
        let rows: Vec<u32> = (0..spans.len() as u32).rev().collect();
        for _ in 0..40 {
            let shift = random.below(2 + i64::from(64 - duration.leading_zeros())) as u32;
            let begin = random.below(duration + 2) - 1;
            let end = begin + 1 + random.below(duration - begin + 2);
            let wanted: Vec<(u32, Shown)> = rows
                .iter()
                .flat_map(|&row| {
                    let shown = drawn(&spans[row as usize], begin, end, shift);
                    let buckets = ((end - 1) >> shift) - (begin >> shift) + 1;
                    assert!(
                        shown.len() as i64 <= 5 * buckets + 2,
                        "at most five a bucket, and the edges"
                    );
                    shown.into_iter().map(move |shown| (row, shown))
                })
                .collect();
            let found = rows_of(&forest.query(&rows, begin, end, shift).into_batch());
            assert_eq!(found, wanted, "seed {seed} {begin}..{end} shift {shift}");
            assert_eq!(rows_of(&again.query(&rows, begin, end, shift).into_batch()), wanted);
        }
    }
    assert!(through_levels > 20, "long rows have levels");
}

/// A first picture of few rows is there before the levels of all others are made: it says what the
/// later ones say, whoever asks meanwhile.
#[test]
fn levels_that_are_made_while_many_ask_say_the_same() {
    for seed in [13, 15, 18] {
        let said = anything(seed, 20_000);
        let forest = said.forest();
        let rows: Vec<u32> = (0..forest.rows().len() as u32).collect();
        let shifts = [0, 3, 7, 12, 20, 40];
        let ask = |forest: &Forest, shift| {
            let some = &rows[..rows.len() * 2 / 3];
            [some, &rows].map(|rows| rows_of(&forest.query(rows, 0, i64::MAX, shift).into_batch()))
        };
        let found: Vec<_> = std::thread::scope(|scope| {
            let (ask, forest) = (&ask, &forest);
            let asking = shifts.map(|shift| scope.spawn(move || ask(forest, shift)));
            asking.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let kept = Forest::from_tables(forest.tables().each_ref()).unwrap();
        for (shift, found) in shifts.into_iter().zip(found) {
            assert_eq!(found, ask(&kept, shift), "seed {seed} shift {shift}");
        }
    }
}

#[test]
fn nothing_is_asked_of_rows_that_are_not_there_and_of_no_time() {
    let forest = anything(3, 50).forest();
    assert!(forest.query(&[u32::MAX], 0, 100, 0).is_empty());
    assert!(forest.query(&[0], 100, 100, 4).is_empty());
    assert!(forest.query(&[0], 100, 50, 4).is_empty());
    assert!(forest.query(&[0], i64::MIN, i64::MAX, 63).len() <= 3);
    assert_eq!(forest.at(0, i64::MAX), None);
}

#[test]
fn a_trace_without_scheduling_has_a_row_of_events_for_each_cpu() {
    let mut said = anything(5, 100);
    (said.fragments, said.waits) = (vec![], vec![]);
    let at = said.span.0;
    said.events = vec![(at, 3, 1), (at + 5, u16::MAX, 2), (at + 9, 3, 1)];
    let forest = said.forest();
    let rows: Vec<_> = forest.rows().iter().map(|row| (row.kind, row.cpu)).collect();
    assert_eq!(rows, [(Kind::Cpu, Some(3)), (Kind::Cpu, Some(u16::MAX))]);
    let again = Forest::from_tables(forest.tables().each_ref()).unwrap();
    assert!(again.query(&[0, 1], 0, 100, 0).is_empty());
    let events = Events::new(&said.index(), at).unwrap();
    let marks = again.marks(&events, &[0, 1], 0, 100, 0).into_batch();
    assert_eq!(marks["row"].as_primitive::<UInt32Type>().values().to_vec(), [0, 0, 1]);
}

#[test]
fn a_trace_without_anything_has_an_empty_timeline() {
    let mut said = anything(5, 100);
    (said.fragments, said.waits, said.events) = (vec![], vec![], vec![]);
    let forest = said.forest();
    assert!(forest.rows().is_empty());
    let again = Forest::from_tables(forest.tables().each_ref()).unwrap();
    assert_eq!(again.overview().drawn(100).num_rows(), 0);
}

#[test]
fn rows_stand_in_order_and_count_their_time() {
    for seed in 0..20 {
        let forest = anything(seed, 400).forest();
        let rows = forest.rows();
        assert!(rows.windows(2).all(|pair| pair[0].kind <= pair[1].kind));
        for (row, spans) in rows.iter().zip(spans(&forest)) {
            let ran = spans.iter().filter(|s| state::runs(s.3)).map(|s| s.1 - s.0).sum::<i64>();
            assert_eq!(row.ran, ran);
            let first = spans.first().map_or(0, |span| span.0);
            let last = spans.last().map_or(0, |span| span.1);
            assert_eq!((row.first, row.last), (first, last));
        }
        let threads: Vec<i64> =
            rows.iter().filter(|r| r.kind == Kind::Thread).map(|row| row.ran).collect();
        assert!(threads.is_sorted_by(|a, b| a >= b));
    }
}

#[test]
fn rows_count_the_instances_that_began() {
    for seed in 0..20 {
        let said = anything(seed, 400);
        let instances = said.instances();
        let actors = instances["actor"].as_primitive::<UInt32Type>().values();
        let cpus = instances["cpu"].as_primitive::<UInt16Type>().values();
        let forest = said.forest();
        let kept = Forest::from_tables(forest.tables().each_ref()).unwrap();
        assert_eq!(kept.rows(), forest.rows());
        for row in forest.rows() {
            let of_row = actors.iter().zip(cpus).filter(|&(&actor, &cpu)| {
                row.actor.is_none_or(|of| of == actor) && row.cpu.is_none_or(|of| of == cpu)
            });
            assert_eq!(row.instances as usize, of_row.count(), "seed {seed} {row:?}");
        }
    }
}

#[test]
fn the_overview_adds_up_whatever_its_width() {
    for seed in 0..20 {
        let said = anything(seed, 3000);
        let forest = said.forest();
        let cpus = forest.rows().iter().filter(|row| row.kind == Kind::Cpu);
        let ran: i64 = cpus.map(|row| row.ran).sum();
        for width in [1, 7, 100, 4096] {
            let drawn = forest.overview().drawn(width);
            let begin = drawn["begin"].as_primitive::<Float64Type>().values();
            let end = drawn["end"].as_primitive::<Float64Type>().values();
            let busy = drawn["busy"].as_primitive::<Float64Type>().values();
            let time: f64 = (0..begin.len()).map(|at| busy[at] * (end[at] - begin[at])).sum();
            assert!((time - ran as f64).abs() <= 1e-6 * ran as f64 + 1.0, "seed {seed}");
            let events = drawn["events"].as_primitive::<UInt32Type>().values();
            assert_eq!(events.iter().sum::<u32>() as usize, said.events.len());
            let cpus = drawn["cpu"].as_primitive::<UInt16Type>().values();
            assert!(cpus.chunk_by(|a, b| a == b).all(|buckets| buckets.len() <= width));
        }
    }
}

#[test]
fn marks_are_of_the_cpu_and_of_who_was_on_top() {
    let mut seen = 0;
    for seed in 0..30 {
        let said = anything(seed, 500);
        if said.events.is_empty() {
            continue;
        }
        let forest = said.forest();
        let events = Events::new(&said.index(), said.span.0).unwrap();
        let spans = spans(&forest);
        let duration = said.span.1 - said.span.0;
        let mut random = Random::new(seed);
        let how_many = |of: u16| said.events.iter().filter(|event| event.2 == of).count();
        for _ in 0..20 {
            let shift = random.below(20) as u32;
            let begin = random.below(duration + 1);
            let end = begin + 1 + random.below(duration - begin + 1);
            let rows: Vec<u32> = (0..forest.rows().len() as u32).collect();
            let mut wanted = Vec::new();
            for &row in &rows {
                let of = forest.rows()[row as usize];
                let is_mine = |time: i64, cpu: u16| {
                    let Some(there) = forest
                        .rows()
                        .iter()
                        .position(|r| r.kind == Kind::Cpu && r.cpu == Some(cpu))
                    else {
                        return false;
                    };
                    let on_top = spans[there].iter().find(|s| s.1 >= time).filter(|s| s.0 <= time);
                    match of.kind {
                        Kind::Cpu => of.cpu == Some(cpu),
                        Kind::Thread => on_top.is_some_and(|s| Some(s.2) == of.actor),
                        _ => of.cpu == Some(cpu) && on_top.is_some_and(|s| Some(s.2) == of.actor),
                    }
                };
                let mut marks: Vec<(i64, u32, i64, u16, u32, u64)> = Vec::new();
                for (index, &(time, cpu, event)) in said.events.iter().enumerate() {
                    let time = time - said.span.0;
                    let bucket = time >> shift;
                    if bucket < begin >> shift || bucket > (end - 1) >> shift || !is_mine(time, cpu)
                    {
                        continue;
                    }
                    match marks.last_mut() {
                        Some(last) if last.0 == bucket => {
                            last.4 += 1;
                            if how_many(event) < how_many(last.3) {
                                (last.2, last.3, last.5) = (time, event, index as u64);
                            }
                        }
                        _ => marks.push((bucket, row, time, event, 1, index as u64)),
                    }
                }
                wanted.extend(marks.into_iter().map(|m| (m.1, m.2, m.3, m.4, m.5)));
            }
            let found = forest.marks(&events, &rows, begin, end, shift);
            assert!(!found.only_rare);
            let found = found.into_batch();
            let (row, time) = (
                found["row"].as_primitive::<UInt32Type>(),
                found["time"].as_primitive::<Float64Type>(),
            );
            let (event, count) = (
                found["event"].as_primitive::<UInt16Type>(),
                found["count"].as_primitive::<UInt32Type>(),
            );
            let index = found["index"].as_primitive::<UInt64Type>();
            let found: Vec<_> = (0..found.num_rows())
                .map(|at| {
                    (
                        row.value(at),
                        time.value(at) as i64,
                        event.value(at),
                        count.value(at),
                        index.value(at),
                    )
                })
                .collect();
            assert_eq!(found, wanted, "seed {seed} {begin}..{end} shift {shift}");
            seen += found.len();
        }
    }
    assert!(seen > 1000);
}

#[test]
fn too_many_events_leave_the_rare_ones() {
    let mut said = anything(1, 10);
    said.fragments = vec![(1, 0, said.span.0, said.span.0 + 1_000_000)];
    said.waits.clear();
    said.events =
        (0..500_000).map(|at| (said.span.0 + at, 0, u16::from(at % 50_000 == 7))).collect();
    said.span.1 = said.span.0 + 500_000;
    let forest = said.forest();
    let events = Events::new(&said.index(), said.span.0).unwrap();
    let found = forest.marks(&events, &[0, 1], 0, 500_000, 0);
    assert!(found.only_rare);
    let found = found.into_batch();
    assert_eq!(found.num_rows(), 20, "ten on the CPU's row, ten on the thread's");
    assert!(found["event"].as_primitive::<UInt16Type>().values().iter().all(|&event| event == 1));
}
