//! Cycles of a stream's clock as nanoseconds of the trace's clock.

use super::classes::ClockClass;

const SECOND: i128 = 1_000_000_000;

/// Converts the stamps of one stream class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TimeBase {
    frequency: u64,
    /// Added to the nanoseconds of a stream whose clock is not the trace's.
    shift: i64,
}

impl TimeBase {
    /// `clock` beside the clock that the trace's times count by; `None`: stamps are nanoseconds.
    pub(super) fn new(clock: Option<&ClockClass>, main: Option<&ClockClass>) -> Self {
        let offset = |clock: Option<&ClockClass>| clock.map_or(0, epoch_offset_ns);
        let shift = match (clock, main) {
            (Some(own), Some(main)) if own != main => {
                offset(Some(own)).saturating_sub(offset(Some(main)))
            }
            _ => 0,
        };
        Self { frequency: clock.map_or(SECOND as u64, |clock| clock.frequency), shift }
    }

    #[inline]
    pub(super) fn ns(&self, cycles: u64) -> i64 {
        let ns = if self.frequency == SECOND as u64 {
            i64::try_from(cycles).unwrap_or(i64::MAX)
        } else {
            let ns = u128::from(cycles) * SECOND as u128 / u128::from(self.frequency);
            i64::try_from(ns).unwrap_or(i64::MAX)
        };
        ns.saturating_add(self.shift)
    }
}

/// Nanoseconds from the clock's origin to its zero: whole seconds, and cycles rounded down.
pub(super) fn epoch_offset_ns(clock: &ClockClass) -> i64 {
    let cycles = i128::from(clock.offset_cycles) * SECOND;
    let cycles = cycles.div_euclid(i128::from(clock.frequency));
    let ns = i128::from(clock.offset_seconds) * SECOND + cycles;
    ns.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(frequency: u64, offset_seconds: i64, offset_cycles: i64) -> ClockClass {
        ClockClass {
            id: "c".into(),
            name: "c".into(),
            uuid: None,
            frequency,
            offset_seconds,
            offset_cycles,
            unix: true,
        }
    }

    #[test]
    fn cycles_beyond_64_bits_of_nanoseconds() {
        let clock = clock(2_100_000_000, 1_679_921_155, 1_697_611_796);
        let base = TimeBase::new(Some(&clock), Some(&clock));
        assert_eq!(base.ns(21), 10);
        assert_eq!(base.ns(u64::MAX / 2), 4_392_081_922_311_798_003);
        assert_eq!(epoch_offset_ns(&clock), 1_679_921_155_808_386_569);
    }

    #[test]
    fn a_second_clock_counts_from_the_zero_of_the_first() {
        let (main, other) = (clock(1_000_000_000, 100, 0), clock(1000, 101, 500));
        assert_eq!(TimeBase::new(Some(&other), Some(&main)).ns(2), 1_502_000_000);
        assert_eq!(TimeBase::new(None, None).ns(7), 7);
    }
}
