//! Collects what programs tell of themselves, in the order of the file, and orders it: which slices
//! lie within which, and which tracks several at once need.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::{
    Counter, CounterRow, FIRST_TRACK, Flow, Instant, Kind, NO_TEXT, Row, Slice, Slices, Span, Track,
};

/// Counters that get a table of their own.
const MOST_COUNTERS: usize = 4000;
/// Tracks that slices of one track which overlap are spread over.
const MOST_SPREAD: usize = 64;

/// Who a slice belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Owner {
    /// A thread of a process.
    Thread(i64, i64),
    /// What goes on at once with other things: process, category, id.
    Async(Option<i64>, u32, String),
    /// The same with a track's name: process, name, and which one of the track it is.
    Operation(i64, u32, u64),
    /// A track of a process that has a name.
    Named(i64, u32),
    /// A track that the file describes by a number.
    Described(u64),
}

/// What happens on a track; texts are numbers of [`Builder::text`].
#[derive(Debug, Clone, Copy)]
enum Step {
    Begin,
    /// With a name only the slice of that name ends.
    End,
    /// Ends this long after it begins.
    Whole(i64),
}

#[derive(Debug, Clone, Copy)]
struct Item {
    time: i64,
    step: Step,
    name: u32,
    category: u32,
    detail: Span,
}

/// Tracks and their slices, instants and counters so far.
#[derive(Default)]
pub(crate) struct Builder {
    texts: Vec<String>,
    numbers: HashMap<String, u32>,
    tracks: HashMap<Owner, usize>,
    owners: Vec<Owner>,
    items: Vec<Vec<Item>>,
    instants: Vec<(usize, Instant)>,
    flows: Vec<(usize, Flow)>,
    counters: Vec<Counter>,
    counter_numbers: HashMap<(Option<i64>, String), usize>,
    left_out: u64,
    /// Names that were told.
    pub(crate) processes: HashMap<i64, String>,
    pub(crate) threads: HashMap<(i64, i64), String>,
    /// Of described tracks: process and name.
    pub(crate) described: HashMap<u64, (Option<i64>, String)>,
}

impl Builder {
    /// The number of a text.
    pub(crate) fn text(&mut self, text: &str) -> u32 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let number = self.texts.len() as u32;
        self.texts.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        number
    }

    fn track(&mut self, owner: Owner) -> usize {
        if let Some(&track) = self.tracks.get(&owner) {
            return track;
        }
        let track = self.owners.len();
        self.tracks.insert(owner.clone(), track);
        self.owners.push(owner);
        self.items.push(Vec::new());
        track
    }

    pub(crate) fn begin(
        &mut self,
        owner: Owner,
        time: i64,
        name: u32,
        category: u32,
        detail: Span,
    ) {
        self.item(owner, Item { time, step: Step::Begin, name, category, detail });
    }

    pub(crate) fn end(&mut self, owner: Owner, time: i64, name: Option<u32>, detail: Span) {
        let name = name.unwrap_or(NO_TEXT);
        self.item(owner, Item { time, step: Step::End, name, category: NO_TEXT, detail });
    }

    pub(crate) fn whole(
        &mut self,
        owner: Owner,
        (time, length): (i64, i64),
        name: u32,
        category: u32,
        detail: Span,
    ) {
        self.item(owner, Item { time, step: Step::Whole(length), name, category, detail });
    }

    fn item(&mut self, owner: Owner, item: Item) {
        let track = self.track(owner);
        self.items[track].push(item);
    }

    /// What happens at a moment; `phase` is a letter of Chrome's format, `i` for most.
    pub(crate) fn instant(
        &mut self,
        owner: Owner,
        time: i64,
        phase: u8,
        (name, category): (u32, u32),
        detail: Span,
    ) {
        let track = self.track(owner);
        self.instants.push((track, Instant { time, track: 0, phase, name, category, detail }));
    }

    pub(crate) fn flow(
        &mut self,
        owner: Owner,
        time: i64,
        (name, category): (u32, u32),
        id: u32,
        step: u32,
    ) {
        let track = self.track(owner);
        self.flows.push((track, Flow { time, track: 0, name, category, id, step }));
    }

    /// Values of a counter, by the names of its series.
    pub(crate) fn counter<'a>(
        &mut self,
        process: Option<i64>,
        name: &str,
        time: i64,
        values: impl IntoIterator<Item = (&'a str, f64)>,
    ) {
        let key = (process, name.to_owned());
        let at = match self.counter_numbers.get(&key) {
            Some(&at) => at,
            None if self.counters.len() >= MOST_COUNTERS => {
                self.left_out += 1;
                return;
            }
            None => {
                self.counter_numbers.insert(key, self.counters.len());
                self.counters.push(Counter::new(process, name));
                self.counters.len() - 1
            }
        };
        self.counters[at].push(time, values);
    }

    /// What is drawn and asked for; `notes` gets what was repaired or left out.
    pub(crate) fn finish(mut self, notes: &mut Vec<String>) -> Slices {
        let mut made = Made::default();
        let mut remarks = Remarks::default();
        let tracks = self.numbered();
        let mut numbers: Vec<u32> = vec![u32::MAX; self.owners.len()];
        let mut spread: HashMap<(Option<i64>, u32), Vec<Place>> = HashMap::new();
        let items = std::mem::take(&mut self.items);
        let mut asynchronous = Vec::new();
        for (at, items) in items.into_iter().enumerate() {
            let track = match (&self.owners[at], tracks[at].clone()) {
                (Owner::Async(..) | Owner::Operation(..), _) | (_, None) => {
                    asynchronous.push((at, items));
                    continue;
                }
                (_, Some(track)) => made.track(track),
            };
            numbers[at] = track;
            made.place(track, items, &mut remarks);
        }
        // Each operation that has an id of its own gets a place beside those of its name that go on
        // meanwhile, as its slices nest only among themselves.
        asynchronous.sort_by_key(|(_, items)| items.iter().map(|item| item.time).min());
        for (at, items) in asynchronous {
            let first = items.iter().min_by_key(|item| item.time);
            let (process, name) = match self.owners[at] {
                Owner::Async(process, category, _) => {
                    (process, first.map_or(category, |item| item.name))
                }
                Owner::Operation(process, name, _) => (Some(process), name),
                _ => continue,
            };
            let (begin, end) = (first.map_or(i64::MIN, |item| item.time), last(&items));
            let free = spread.entry((process, name)).or_default();
            let track = match free.iter_mut().find(|(until, _)| *until <= begin) {
                Some(place) => {
                    place.0 = end;
                    place.1
                }
                None => {
                    let text = self.texts.get(name as usize).map_or("", String::as_str);
                    let track =
                        Track { number: made.next(), process, name: self.named(text, process) };
                    let track = made.track(track);
                    free.push((end, track));
                    track
                }
            };
            numbers[at] = track;
            made.place(track, items, &mut remarks);
        }
        remarks.tell(self.left_out, notes);
        let place = |track: usize| numbers[track];
        let mut rows = made.rows;
        for (at, instant) in &mut self.instants {
            instant.track = place(*at);
        }
        for (at, flow) in &mut self.flows {
            flow.track = place(*at);
        }
        let instants: Vec<Instant> = self.instants.into_iter().map(|(_, one)| one).collect();
        let flows: Vec<Flow> = self.flows.into_iter().map(|(_, one)| one).collect();
        let of = |kind, times: Vec<i64>| {
            times.into_iter().enumerate().map(move |(at, time)| Row { time, kind, at: at as u32 })
        };
        rows.extend(of(Kind::Instant, instants.iter().map(|one| one.time).collect()));
        rows.extend(of(Kind::Flow, flows.iter().map(|one| one.time).collect()));
        for (number, counter) in self.counters.iter().enumerate() {
            let times = counter.rows.iter().map(|CounterRow { time, .. }| *time).collect();
            rows.extend(of(Kind::Counter(number as u16), times));
        }
        rows.sort_by_key(|row| row.time);
        Slices {
            texts: self.texts,
            tracks: made.tracks,
            slices: made.slices,
            instants,
            flows,
            counters: self.counters,
            rows,
        }
    }

    /// A name with that of the process, where that is known.
    fn named(&self, name: &str, process: Option<i64>) -> String {
        match process.and_then(|process| self.processes.get(&process)) {
            Some(of) if !of.is_empty() && of != name => format!("{name} ({of})"),
            _ => name.to_owned(),
        }
    }

    /// Tracks of threads have the thread's number where it names one thread alone and can be one of
    /// Linux; all others get one of [`FIRST_TRACK`] on. None for those without an owner to name.
    fn numbered(&self) -> Vec<Option<Track>> {
        let mut processes: HashMap<i64, i64> = HashMap::new();
        let mut shared: HashMap<i64, bool> = HashMap::new();
        for owner in &self.owners {
            if let Owner::Thread(process, thread) = owner {
                let first = *processes.entry(*thread).or_insert(*process);
                *shared.entry(*thread).or_default() |= first != *process;
            }
        }
        let mut next = FIRST_TRACK;
        self.owners
            .iter()
            .map(|owner| {
                let mut other = || {
                    next += 1;
                    next - 1
                };
                Some(match owner {
                    Owner::Thread(process, thread) => {
                        let name = self.threads.get(&(*process, *thread));
                        let own = !shared[thread] && (1..i64::from(FIRST_TRACK)).contains(thread);
                        let number = if own { *thread as i32 } else { other() };
                        let plain = name.cloned().unwrap_or_else(|| match self.identity(*thread) {
                            Some(text) => text.to_owned(),
                            None if own => "thread".into(),
                            None => format!("thread {thread}"),
                        });
                        let name = if own { plain } else { self.named(&plain, Some(*process)) };
                        Track { number, process: Some(*process), name }
                    }
                    Owner::Described(id) => {
                        let (process, name) =
                            self.described.get(id).cloned().unwrap_or((None, String::new()));
                        let name = if name.is_empty() { format!("track {id}") } else { name };
                        Track { number: other(), process, name: self.named(&name, process) }
                    }
                    Owner::Named(process, name) => {
                        let name = self.texts.get(*name as usize).map_or("", String::as_str);
                        let name = self.named(name, Some(*process));
                        Track { number: other(), process: Some(*process), name }
                    }
                    Owner::Async(..) | Owner::Operation(..) => return None,
                })
            })
            .collect()
    }

    /// The number by which a process or thread is known that has a text for one.
    pub(crate) fn identify(&mut self, text: &str) -> i64 {
        i64::MIN + i64::from(self.text(text))
    }

    fn identity(&self, number: i64) -> Option<&str> {
        let at = number.checked_sub(i64::MIN).and_then(|at| usize::try_from(at).ok())?;
        self.texts.get(at).map(String::as_str)
    }
}

/// Until when a track is taken, and which it is.
type Place = (i64, u32);

/// When the last of these ends; never, where one has no end.
fn last(items: &[Item]) -> i64 {
    let open = items.iter().filter(|item| matches!(item.step, Step::Begin)).count();
    let ended = items.iter().filter(|item| matches!(item.step, Step::End)).count();
    let times = items.iter().map(|item| match item.step {
        Step::Whole(length) => item.time.saturating_add(length.max(0)),
        _ => item.time,
    });
    if open > ended { i64::MAX } else { times.max().unwrap_or(i64::MAX) }
}

/// What was repaired.
#[derive(Default)]
struct Remarks {
    ends: u64,
    overlapping: u64,
    unspread: u64,
}

impl Remarks {
    fn tell(&self, counters: u64, notes: &mut Vec<String>) {
        let mut tell = |count: u64, what: &str| {
            if count > 0 {
                notes.push(format!("{count} {what}"));
            }
        };
        tell(self.ends, "ends of slices that nothing began: they are events without a name");
        tell(
            self.overlapping,
            "slices overlap others of their thread without lying within them: they are drawn on \
             tracks of their own",
        );
        tell(self.unspread, "more of these are left out");
        tell(counters, "values of counters beyond the first 4000 counters are left out");
    }
}

/// Slices in their order.
#[derive(Default)]
struct Made {
    tracks: Vec<Track>,
    slices: Vec<Slice>,
    rows: Vec<Row>,
    next: i32,
}

impl Made {
    fn track(&mut self, track: Track) -> u32 {
        self.next = self.next.max(track.number + 1).max(FIRST_TRACK);
        self.tracks.push(track);
        self.tracks.len() as u32 - 1
    }

    fn next(&self) -> i32 {
        self.next.max(FIRST_TRACK)
    }

    /// Slices of one track; those that overlap without nesting go to tracks beside it.
    fn place(&mut self, track: u32, mut items: Vec<Item>, remarks: &mut Remarks) {
        let mut track = track;
        for turn in 0.. {
            // Of equal times the longest comes first, then as the file has it.
            items.sort_by_key(|item| match item.step {
                Step::Whole(length) => (item.time, Some(Reverse(length))),
                Step::Begin | Step::End => (item.time, None),
            });
            let rest = self.nest(track, items, remarks);
            if rest.is_empty() {
                return;
            }
            if turn == 0 {
                remarks.overlapping += rest.len() as u64;
            }
            if turn >= MOST_SPREAD {
                remarks.unspread += rest.len() as u64;
                return;
            }
            let beside = self.tracks[track as usize].clone();
            let name = match turn {
                0 => format!("{}, overlapping", beside.name),
                _ => beside.name,
            };
            track = self.track(Track { number: self.next(), name, ..beside });
            items = rest;
        }
    }

    /// The slices of a track in order of time; returns those that do not nest.
    fn nest(&mut self, track: u32, items: Vec<Item>, remarks: &mut Remarks) -> Vec<Item> {
        // The open slices, with their ends where these are known.
        let mut open: Vec<(usize, Option<i64>)> = Vec::new();
        let mut rest = Vec::new();
        for item in items {
            while let Some(&(slice, Some(end))) = open.last()
                && end <= item.time
            {
                open.pop();
                self.end(slice, end, NO_SPAN);
            }
            match item.step {
                Step::Begin | Step::Whole(..=-1) => {
                    let slice = self.begin(track, item, open.len());
                    open.push((slice, None));
                }
                Step::Whole(length) => {
                    let end = item.time.saturating_add(length);
                    let within = open.iter().rev().find_map(|(_, end)| *end);
                    if within.is_some_and(|outer| outer < end) {
                        rest.push(item);
                        continue;
                    }
                    let slice = self.begin(track, item, open.len());
                    open.push((slice, Some(end)));
                }
                Step::End => {
                    let begun = open.iter().rposition(|&(slice, end)| {
                        end.is_none()
                            && (item.name == NO_TEXT || self.slices[slice].name == item.name)
                    });
                    match begun {
                        Some(place) => {
                            let (slice, _) = open[place];
                            // What was begun within it and has no end stays open for ever.
                            let inner: Vec<_> = open.drain(place..).skip(1).collect();
                            for (inner, end) in inner.into_iter().rev() {
                                if let Some(end) = end {
                                    self.end(inner, end, NO_SPAN);
                                }
                            }
                            self.end(slice, item.time, item.detail);
                        }
                        None => {
                            remarks.ends += 1;
                            let slice = self.begin(track, Item { name: NO_TEXT, ..item }, 0);
                            self.rows.pop();
                            self.end(slice, item.time, item.detail);
                        }
                    }
                }
            }
        }
        while let Some((slice, end)) = open.pop() {
            if let Some(end) = end {
                self.end(slice, end, NO_SPAN);
            }
        }
        rest
    }

    fn begin(&mut self, track: u32, item: Item, depth: usize) -> usize {
        let at = self.slices.len();
        self.slices.push(Slice {
            begin: item.time,
            end: None,
            track,
            depth: depth.min(i32::MAX as usize) as i32,
            name: item.name,
            category: item.category,
            detail: item.detail,
            end_detail: NO_SPAN,
        });
        self.rows.push(Row { time: item.time, kind: Kind::Begin, at: at as u32 });
        at
    }

    fn end(&mut self, slice: usize, time: i64, detail: Span) {
        self.slices[slice].end = Some(time);
        self.slices[slice].end_detail = detail;
        self.rows.push(Row { time, kind: Kind::End, at: slice as u32 });
    }
}

const NO_SPAN: Span = Span { at: 0, length: 0 };

impl Counter {
    fn new(process: Option<i64>, name: &str) -> Self {
        Self {
            process,
            name: name.to_owned(),
            series: Vec::new(),
            whole: true,
            rows: Vec::new(),
            values: Vec::new(),
        }
    }

    fn push<'a>(&mut self, time: i64, values: impl IntoIterator<Item = (&'a str, f64)>) {
        let from = self.values.len();
        for (series, value) in values {
            let place = match self.series.iter().position(|known| known == series) {
                Some(place) => place,
                None if self.series.len() < 256 => {
                    self.series.push(series.to_owned());
                    self.series.len() - 1
                }
                None => continue,
            };
            self.whole &= value.fract() == 0.0 && value.abs() < 9e15;
            self.values.push((place as u16, value));
        }
        self.rows.push(CounterRow { time, values: from..self.values.len() });
    }
}
