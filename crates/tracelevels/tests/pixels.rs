//! Pixels against a slow renderer that looks at every span: none in which anything happened is blank,
//! and none shows what did not happen, at any width, zoom and pixel ratio.

mod common;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, UInt8Type, UInt32Type, UInt64Type};
use common::{Random, anything};
use tracelevels::{Forest, state};

/// Begin, end, actor, state.
type Span = (i64, i64, u32, u8);

/// All spans of each row.
fn spans(forest: &Forest) -> Vec<Vec<Span>> {
    let [rows, _, items, ..] = forest.tables();
    let begin = items["begin"].as_primitive::<Int64Type>();
    let end = items["end"].as_primitive::<Int64Type>();
    let actor = items["actor"].as_primitive::<UInt32Type>();
    let state = items["state"].as_primitive::<UInt8Type>();
    let from = rows["from"].as_primitive::<UInt64Type>().values();
    let to = rows["to"].as_primitive::<UInt64Type>().values();
    let get = |at: usize| (begin.value(at), end.value(at), actor.value(at), state.value(at));
    from.iter().zip(to).map(|(&a, &b)| (a as usize..b as usize).map(get).collect()).collect()
}

/// The buckets of one tile of the workbench.
const BUCKETS: i64 = 64;

/// The spans that the workbench draws for a view: those of all tiles that it touches.
fn drawn(forest: &Forest, row: u32, begin: f64, end: f64, per_pixel: f64) -> Vec<Span> {
    let shift = per_pixel.log2().floor().max(0.0) as u32;
    let tile = BUCKETS << shift;
    let first = (begin.max(0.0) as i64).div_euclid(tile);
    let last = (end.ceil() as i64).div_euclid(tile);
    let mut drawn = Vec::new();
    for at in first..=last {
        let batch = forest.query(&[row], at * tile, (at + 1) * tile, shift).into_batch();
        let begin = batch["begin"].as_primitive::<Float64Type>();
        let end = batch["end"].as_primitive::<Float64Type>();
        let actor = batch["actor"].as_primitive::<Int32Type>();
        let state = batch["state"].as_primitive::<UInt8Type>();
        drawn.extend((0..batch.num_rows()).map(|at| {
            let (begin, end) = (begin.value(at) as i64, end.value(at) as i64);
            (begin, end, actor.value(at) as u32, state.value(at))
        }));
    }
    drawn
}

/// Which states a pixel of the view may show: those of spans that have a part in it.
fn states(spans: &[Span], begin: f64, per_pixel: f64, width: usize) -> Vec<Vec<u8>> {
    let mut pixels = vec![Vec::new(); width];
    for &(from, to, _, state) in spans {
        let first = ((from as f64 - begin) / per_pixel).floor();
        let behind = ((to as f64 - begin) / per_pixel).ceil().max(first + 1.0);
        let behind = behind.clamp(0.0, width as f64) as usize;
        let first = (first.max(0.0) as usize).min(behind);
        pixels[first..behind].iter_mut().for_each(|states| states.push(state));
    }
    pixels
}

#[test]
fn no_pixel_in_which_anything_happened_is_blank() {
    let (mut hidden, mut busy) = (0, 0);
    for seed in 0..24 {
        let said = anything(seed, if seed < 16 { 400 } else { 20_000 });
        let forest = said.forest();
        let duration = (said.span.1 - said.span.0) as f64;
        let mut random = Random::new(seed + 77);
        for (row, all) in spans(&forest).iter().enumerate() {
            for _ in 0..12 {
                let width = 1 + random.below(400) as usize;
                let share = 2f64.powi(-(random.below(14) as i32));
                let length =
                    (duration * share * (1.0 + random.below(1000) as f64 / 1000.0)).max(16.0);
                let begin = duration * random.below(1000) as f64 / 1000.0 - length * 0.3;
                let per_pixel = length / width as f64;
                let drawn = drawn(&forest, row as u32, begin, begin + length, per_pixel);
                let exact = states(all, begin, per_pixel, width);
                let shown = states(&drawn, begin, per_pixel, width);
                for (pixel, (exact, shown)) in exact.iter().zip(&shown).enumerate() {
                    let place = format!("seed {seed} row {row} pixel {pixel} of {width}");
                    let visible = |states: &[u8]| states.iter().any(|&s| s != state::IDLE);
                    let active = |states: &[u8]| states.iter().any(|&s| !state::is_background(s));
                    assert_eq!(visible(exact), visible(shown), "{place}");
                    assert_eq!(active(exact), active(shown), "{place}");
                    assert!(shown.iter().all(|state| exact.contains(state)), "{place}");
                    hidden += usize::from(shown.len() < exact.len());
                    busy += usize::from(active(exact));
                }
            }
        }
    }
    assert!(hidden > 1000 && busy > 10_000, "{hidden} pixels of several spans, {busy} of any");
}

#[test]
fn a_pixel_across_two_buckets_shows_what_is_not_the_longest_of_either() {
    // Two buckets of 8 ns, pixels of 12 ns: the short spans around the border of the first two
    // pixels are alone in the second one.
    let mut said = anything(1, 10);
    let at = said.span.0;
    said.waits.clear();
    said.fragments = vec![(1, 0, at, at + 5), (1, 0, at + 6, at + 7), (2, 0, at + 13, at + 14)];
    said.events = vec![(at, 0, 0), (at + 16, 0, 0)];
    said.span = (at, at + 16);
    let forest = said.forest();
    for (begin, wanted) in [(-6.5, 2), (-5.5, 2), (-6.0, 2)] {
        let drawn = drawn(&forest, 0, begin, begin + 24.0, 12.0);
        let pixels = states(&drawn, begin, 12.0, 2);
        assert_eq!(pixels.iter().filter(|states| !states.is_empty()).count(), wanted);
    }
}
