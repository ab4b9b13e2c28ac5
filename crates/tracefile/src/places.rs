//! Events that opening a file finds one by one: where each is, by CPU, and the units in which they
//! are decoded.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use crate::Stream;
use crate::decode::Unit;

/// Events in a unit.
pub(crate) const UNIT: usize = 1 << 16;

/// Where an event is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) time: i64,
    pub(crate) at: usize,
    pub(crate) length: u32,
    /// Its type, an index into [`crate::Info::events`].
    pub(crate) event: u16,
    pub(crate) home: Home,
}

/// What an event stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Home {
    File,
    /// What compressed parts of the file were unpacked to.
    Unpacked,
    /// What was written while opening, of events that the file keeps in columns.
    Written,
}

/// The streams of all CPUs, and their units.
#[derive(Default)]
pub(crate) struct Placed {
    pub(crate) streams: Vec<Stream>,
    pub(crate) units: Vec<Unit>,
    /// By unit: its stream, and which of the stream's places.
    parts: Vec<(usize, Range<usize>)>,
    /// By stream, in order of time.
    places: Vec<Vec<Place>>,
}

impl Placed {
    /// Orders the places of each CPU in time.
    pub(crate) fn new(cpus: BTreeMap<u16, Vec<Place>>, path: &Path) -> Self {
        let mut placed = Self::default();
        for (cpu, mut own) in cpus {
            let stream = placed.streams.len();
            if !own.is_sorted_by_key(|place| place.time) {
                own.sort_by_key(|place| place.time);
            }
            placed.streams.push(Stream {
                name: format!("cpu {cpu}"),
                cpu: Some(cpu),
                files: vec![path.to_owned()],
                bytes: size(&own),
            });
            for begin in (0..own.len()).step_by(UNIT) {
                let range = begin..(begin + UNIT).min(own.len());
                let bytes = size(&own[range.clone()]);
                placed.units.push(Unit { stream, cpu: Some(cpu), bytes });
                placed.parts.push((stream, range));
            }
            placed.places.push(own);
        }
        placed
    }

    /// The stream of a CPU that has events.
    pub(crate) fn stream_of(&self, cpu: u16) -> Option<usize> {
        self.streams.iter().position(|stream| stream.cpu == Some(cpu))
    }

    /// The places of a unit, in order of time; `None` for a unit of other streams.
    pub(crate) fn of(&self, unit: usize) -> Option<&[Place]> {
        let (stream, range) = self.parts.get(unit)?;
        Some(&self.places[*stream][range.clone()])
    }

    /// Times of the first and last event of places in order of time.
    pub(crate) fn span(places: &[Place]) -> Option<(i64, i64)> {
        places.first().zip(places.last()).map(|(first, last)| (first.time, last.time))
    }
}

fn size(places: &[Place]) -> u64 {
    places.iter().map(|place| u64::from(place.length)).sum()
}
