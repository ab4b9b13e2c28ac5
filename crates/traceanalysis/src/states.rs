//! What `prev_state` of a context switch means.

use crate::input::{EventTable, Labels};
use crate::output::wait;

/// What becomes of a thread that leaves the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left {
    /// Runnable: it was preempted, or yielded.
    Runnable,
    /// It waits, with one of [`wait`]'s states.
    Blocked(u8),
    /// It is gone.
    Dead,
}

/// The bits of `prev_state`, which differ between kernels.
pub(crate) struct States {
    /// Bits above are marks (preempted), not states.
    mask: u64,
    interruptible: u64,
    uninterruptible: u64,
    dead: u64,
}

impl States {
    /// From the letters that the trace gives to the bits (`S`, `D`, ...), else from the kernel's
    /// release, else those of kernels since 4.14.
    pub(crate) fn new(switch: Option<&EventTable>, environment: &[(String, String)]) -> Self {
        let release = environment.iter().find(|(name, _)| name == "kernel_release");
        let release = release.and_then(|(_, text)| release_of(text)).unwrap_or((u32::MAX, 0));
        // include/linux/sched.h: what is reported ends with TASK_REPORT_MAX since 4.14; before, the
        // state was written as it was, and TASK_STATE_MAX marked preemption.
        let default = Self {
            mask: match release {
                (4, 14..) | (5.., _) => 0xff,
                (4, 8..) => 0xfff,
                (4, 2..) => 0x7ff,
                (3, 9..) | (4, _) => 0x3ff,
                _ => 0x1ff,
            },
            interruptible: 1,
            uninterruptible: 2,
            dead: if release >= (4, 14) { 0x30 } else { 0x70 },
        };
        let Some(switch) = switch else { return default };
        let labels = switch.labels.get("prev_state").cloned();
        let labels = labels.unwrap_or_else(|| flags_of(&switch.print_format, "prev_state"));
        Self::labelled(&labels).unwrap_or(default)
    }

    fn labelled(labels: &Labels) -> Option<Self> {
        let bits = |wanted: &[&str]| {
            labels
                .iter()
                .filter(|(.., name)| wanted.contains(&name.as_str()))
                .filter_map(|&(first, ..)| u64::try_from(first).ok())
                .fold(0, |all, bit| all | bit)
        };
        let all = labels
            .iter()
            .filter(|(.., name)| !matches!(name.as_str(), "R+" | "+" | "TASK_STATE_MAX"))
            .filter_map(|&(first, ..)| u64::try_from(first).ok())
            .fold(0, |all, bit| all | bit);
        let states = Self {
            mask: all,
            interruptible: bits(&["S", "TASK_INTERRUPTIBLE"]),
            uninterruptible: bits(&["D", "TASK_UNINTERRUPTIBLE"]),
            dead: bits(&["X", "Z", "x", "EXIT_DEAD", "EXIT_ZOMBIE", "TASK_DEAD"]),
        };
        (states.interruptible != 0 && states.uninterruptible != 0).then_some(states)
    }

    #[inline]
    pub(crate) fn left(&self, state: i64) -> Left {
        let state = state as u64 & self.mask;
        if state == 0 {
            Left::Runnable
        } else if state & self.dead != 0 {
            Left::Dead
        } else if state & self.uninterruptible != 0 {
            Left::Blocked(wait::UNINTERRUPTIBLE)
        } else if state & self.interruptible != 0 {
            Left::Blocked(wait::INTERRUPTIBLE)
        } else {
            Left::Blocked(wait::OTHER)
        }
    }
}

fn release_of(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// The pairs `{ value, "name" }` that follow the first mention of a field in a print format.
pub(crate) fn flags_of(print_format: &str, field: &str) -> Labels {
    let Some(at) = print_format.find(&format!("REC->{field}")) else { return Labels::new() };
    let mut labels = Labels::new();
    for pair in print_format[at..].split('{').skip(1) {
        let Some((value, rest)) = pair.split_once(',') else { break };
        let name = rest.trim_start().strip_prefix('"').and_then(|rest| rest.split_once('"'));
        let Some((name, rest)) = name else { break };
        let value = value.trim();
        let value = match value.strip_prefix("0x") {
            Some(digits) => i128::from_str_radix(digits, 16),
            None => value.parse(),
        };
        let Ok(value) = value else { break };
        labels.push((value, value, name.to_owned()));
        // The list ends where no further pair follows: other fields may have lists of their own.
        if !rest.trim_start_matches([' ', '}']).starts_with(',') {
            break;
        }
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMAT: &str = r#""%s%s", (REC->prev_state & ((((0x00000000 | 0x00000001) + 1) << 1) - 1)) ? __print_flags(REC->prev_state & 0xff, "|", { 0x00000001, "S" }, { 0x00000002, "D" }, { 0x00000004, "T" }, { 0x00000008, "t" }, { 0x00000010, "X" }, { 0x00000020, "Z" }, { 0x00000040, "P" }, { 0x00000080, "I" }) : "R", REC->prev_state & 0x100 ? "+" : "", { 1, "other" }"#;

    fn table(print_format: &str) -> EventTable {
        EventTable { print_format: print_format.into(), ..EventTable::default() }
    }

    #[test]
    fn the_print_format_names_the_bits() {
        let states = States::new(Some(&table(FORMAT)), &[]);
        assert_eq!(states.left(0), Left::Runnable);
        assert_eq!(states.left(0x100), Left::Runnable);
        assert_eq!(states.left(1), Left::Blocked(wait::INTERRUPTIBLE));
        assert_eq!(states.left(2), Left::Blocked(wait::UNINTERRUPTIBLE));
        assert_eq!(states.left(0x80), Left::Blocked(wait::OTHER));
        assert_eq!(states.left(0x20), Left::Dead);
        assert_eq!(flags_of(FORMAT, "prev_state").len(), 8);
    }

    #[test]
    fn an_old_format_has_its_mark_elsewhere() {
        let old = r#"REC->prev_state & (2048-1) ? __print_flags(REC->prev_state & (2048-1), "|", { 1, "S"} , { 2, "D" }, { 16, "Z" }, { 32, "X" }, { 64, "x" }, { 128, "K" }, { 1024, "N" }) : "R""#;
        let states = States::new(Some(&table(old)), &[]);
        assert_eq!(states.left(2048), Left::Runnable);
        assert_eq!(states.left(130), Left::Blocked(wait::UNINTERRUPTIBLE));
        assert_eq!(states.left(64), Left::Dead);
    }

    #[test]
    fn without_labels_the_release_decides() {
        let kernel =
            |release: &str| States::new(None, &[("kernel_release".to_owned(), release.to_owned())]);
        assert_eq!(kernel("6.1.0-13-amd64").left(0x100), Left::Runnable);
        assert_eq!(kernel("4.4.0").left(0x800), Left::Runnable);
        assert_eq!(kernel("4.4.0").left(0x400), Left::Blocked(wait::OTHER));
        assert_eq!(kernel("3.2.0").left(0x200), Left::Runnable);
        assert_eq!(kernel("4.4.0").left(0x40), Left::Dead);
        assert_eq!(States::new(None, &[]).left(0x100), Left::Runnable);
    }
}
