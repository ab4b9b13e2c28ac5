//! Stamps of one recording on the clock of another: option TIME_SHIFT, which trace-cmd writes for
//! guests and Benchvise for boards that were recorded at once.
//!
//! u64 id of the other recording, u32 flags, u32 number of CPUs; for each CPU u32 count, then so many
//! u64 times, i64 offsets and u64 scalings; then for each CPU so many u64 fractions (bits by which
//! the scaled stamp is shifted), which older recorders leave out.

use crate::ByteOrder;
use crate::bytes::Reader;

/// Offsets between two times lie on a line.
const INTERPOLATE: u32 = 1;

/// The clock of another recording, and what leads to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HostClock {
    /// Id of the recording that counts by it.
    pub(crate) trace_id: u64,
    interpolate: bool,
    /// Of each CPU in order of time.
    cpus: Vec<Vec<Sample>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sample {
    time: u64,
    offset: i64,
    scaling: u64,
    fraction: u32,
}

/// Of one CPU.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shift<'a> {
    samples: &'a [Sample],
    interpolate: bool,
}

impl HostClock {
    /// `None` where the option ends before its samples do, or has none.
    pub(crate) fn read(mut reader: Reader<'_>, order: ByteOrder) -> Option<Self> {
        let (trace_id, flags, count) = (reader.u64()?, reader.u32()?, reader.u32()?);
        let mut cpus = Vec::new();
        for _ in 0..count {
            let samples = reader.u32()? as usize;
            let mut column = || Some(Reader::new(reader.take(samples.checked_mul(8)?)?, order));
            let (mut times, mut offsets, mut scalings) = (column()?, column()?, column()?);
            let mut of_cpu = Vec::new();
            while let (Some(time), Some(offset), Some(scaling)) =
                (times.u64(), offsets.u64(), scalings.u64())
            {
                of_cpu.push(Sample { time, offset: offset as i64, scaling, fraction: 0 });
            }
            cpus.push(of_cpu);
        }
        for sample in cpus.iter_mut().flatten() {
            let Some(fraction) = reader.u64() else { break };
            sample.fraction = fraction.min(63) as u32;
        }
        for of_cpu in &mut cpus {
            of_cpu.sort_by_key(|sample| sample.time);
            of_cpu.dedup_by_key(|sample| sample.time);
        }
        let any = cpus.iter().any(|of_cpu| !of_cpu.is_empty());
        any.then_some(Self { trace_id, interpolate: flags & INTERPOLATE != 0, cpus })
    }

    /// For the stamps of a CPU; where it is not known, as of the first.
    pub(crate) fn of(&self, cpu: Option<u16>) -> Shift<'_> {
        let samples = self.cpus.get(usize::from(cpu.unwrap_or(0)));
        Shift { samples: samples.map_or(&[], Vec::as_slice), interpolate: self.interpolate }
    }

    /// The least and the most that is added.
    pub(crate) fn offsets(&self) -> (i64, i64) {
        let offsets = || self.cpus.iter().flatten().map(|sample| sample.offset);
        (offsets().min().unwrap_or(0), offsets().max().unwrap_or(0))
    }
}

impl Shift<'_> {
    /// For stamps that are not moved.
    pub(crate) const NONE: Self = Self { samples: &[], interpolate: false };

    #[inline]
    pub(crate) fn moved(self, stamp: u64) -> u64 {
        if self.samples.is_empty() { stamp } else { self.by_samples(stamp) }
    }

    fn by_samples(self, stamp: u64) -> u64 {
        let [before, after] = match self.samples {
            [only] => return stamp.wrapping_add_signed(only.offset),
            samples => {
                let behind = samples.partition_point(|sample| sample.time <= stamp);
                let behind = behind.clamp(1, samples.len() - 1);
                [samples[behind - 1], samples[behind]]
            }
        };
        let offset = match self.interpolate {
            true => {
                let length = i128::from(after.time - before.time);
                let since = i128::from(stamp) - i128::from(before.time);
                let more = i128::from(after.offset) - i128::from(before.offset);
                i128::from(before.offset) + (since * more + length / 2) / length
            }
            false => i128::from(before.offset),
        };
        let scaled = (u128::from(stamp) * u128::from(before.scaling)) >> before.fraction;
        (scaled as u64).wrapping_add(offset as u64)
    }
}
