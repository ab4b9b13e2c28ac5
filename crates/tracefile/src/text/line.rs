//! A line of ftrace's text, as tracefs's `trace`, `trace-cmd report` and Android's systrace write it:
//!
//! ```text
//!           <idle>-0     ( 1234) [001] d.h1.  1234.567890: irq_handler_entry: irq=36 name=eth0
//! ```
//! The thread's group, the flags and the colon behind an event's name may be missing; the entries of
//! the tracers `osnoise` and `timerlat` have no name.

/// A line that tells of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line<'a> {
    pub(super) task: &'a str,
    pub(super) pid: i32,
    pub(super) cpu: u16,
    /// What was going on: bits as the kernel's `common_flags` has them, and the preemption count.
    pub(super) flags: Option<(u8, u8)>,
    /// Nanoseconds.
    pub(super) time: i64,
    pub(super) event: Name<'a>,
    /// What follows the event's name.
    pub(super) text: &'a str,
}

/// The name of an event; of a system call as the kernel writes it, `read(fd: 3, …)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Name<'a> {
    Plain(&'a str),
    Enter(&'a str),
    Exit(&'a str),
}

impl Name<'_> {
    pub(super) fn table(&self) -> String {
        match self {
            // Marks of user space are the kernel's `print`; kernels without symbols call them `0`.
            Self::Plain("tracing_mark_write" | "0") => "print".into(),
            Self::Plain(name) => (*name).to_owned(),
            Self::Enter(call) => format!("sys_enter_{call}"),
            Self::Exit(call) => format!("sys_exit_{call}"),
        }
    }
}

/// What a line says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said<'a> {
    Event(Line<'a>),
    /// Events of a CPU were lost here; how many, where that is told.
    Lost {
        cpu: u16,
        count: Option<u64>,
    },
    /// A comment, a heading, a line of a stack.
    Other,
}

/// Reads a line.
pub(super) fn read(line: &str) -> Said<'_> {
    if let Some(lost) = lost(line) {
        return lost;
    }
    event(line).map_or(Said::Other, Said::Event)
}

/// `CPU:1 [LOST 123 EVENTS]`, `CPU:1 [123 EVENTS DROPPED]`, `CPU 1: [EVENTS DROPPED]`.
fn lost(line: &str) -> Option<Said<'_>> {
    let rest = line.trim_start().strip_prefix("CPU")?.trim_start_matches([':', ' ']);
    let (cpu, rest) = rest.split_once([' ', ':'])?;
    let inside = rest.trim_start_matches([':', ' ']).strip_prefix('[')?;
    if !(inside.contains("LOST") || inside.contains("DROPPED")) {
        return None;
    }
    let count = inside.split([' ', ']']).find_map(|word| word.parse().ok());
    Some(Said::Lost { cpu: cpu.parse().ok()?, count })
}

fn event(line: &str) -> Option<Line<'_>> {
    let (head, cpu, rest) = at_cpu(line)?;
    // `comm-pid`, perhaps followed by `( tgid)`.
    let (task, pid) = head;
    let rest = rest.trim_start();
    let (first, after) = rest.split_once(' ').unwrap_or((rest, ""));
    let (flags, rest) = match stamp(first) {
        Some(_) => (None, rest),
        None => (flags(first), after.trim_start()),
    };
    // Delay marks of the latency format (`+`, `!`, `#`) stand before the stamp.
    let rest = rest.trim_start_matches(['+', '!', '#', '*', '$', '@', ' ']);
    let (time, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    let time = stamp(time)?;
    let (event, text) = named(rest.trim_start())?;
    Some(Line { task, pid, cpu, flags, time, event, text: text.trim() })
}

/// The thread before, the CPU within and the rest behind the first `[001]` that follows a thread.
fn at_cpu(line: &str) -> Option<((&str, i32), u16, &str)> {
    for (open, _) in line.match_indices('[') {
        let (digits, rest) = line[open + 1..].split_once(']')?;
        if digits.is_empty() || digits.len() > 5 || !digits.bytes().all(|c| c.is_ascii_digit()) {
            continue;
        }
        let mut head = line[..open].trim_end();
        if let Some(before) = head.strip_suffix(')').and_then(|head| head.rsplit_once('(')) {
            head = before.0.trim_end();
        }
        let Some((task, pid)) = head.rsplit_once('-') else { continue };
        if let Ok(pid) = pid.trim().parse() {
            return Some(((task.trim(), pid), digits.parse().ok()?, rest));
        }
    }
    None
}

/// `1234.567890:` in nanoseconds.
fn stamp(word: &str) -> Option<i64> {
    moment(word.strip_suffix(':')?)
}

/// `1234.567890` in nanoseconds.
pub(super) fn moment(word: &str) -> Option<i64> {
    let (seconds, fraction) = word.split_once('.')?;
    if fraction.is_empty() || fraction.len() > 9 || !fraction.bytes().all(|c| c.is_ascii_digit()) {
        return None;
    }
    let seconds: i64 = seconds.parse().ok()?;
    let scale = 10i64.pow(9 - fraction.len() as u32);
    seconds.checked_mul(1_000_000_000)?.checked_add(fraction.parse::<i64>().ok()? * scale)
}

/// `d.h1.`: interrupts off, need of rescheduling, context, preemption count.
fn flags(word: &str) -> Option<(u8, u8)> {
    let mut letters = word.bytes();
    let (off, resched, context, count) =
        (letters.next()?, letters.next()?, letters.next()?, letters.next().unwrap_or(b'.'));
    let mut flags = match off {
        b'd' | b'D' => 0x01,
        b'X' => 0x02,
        _ => 0,
    };
    flags |= match resched {
        b'N' | b'B' => 0x24,
        b'n' | b'b' => 0x04,
        b'p' => 0x20,
        _ => 0,
    };
    flags |= match context {
        b'h' => 0x08,
        b's' => 0x10,
        b'H' => 0x18,
        b'z' => 0x40,
        b'Z' => 0x48,
        _ => 0,
    };
    Some((flags, (count as char).to_digit(16).unwrap_or(0) as u8))
}

/// The event's name and the rest.
fn named(text: &str) -> Option<(Name<'_>, &str)> {
    if let Some(tracer) = entry_of(text) {
        return Some((Name::Plain(tracer), text));
    }
    if let Some((function, _)) = text.split_once(" <-")
        && !function.contains([' ', ':'])
    {
        return Some((Name::Plain("function"), text));
    }
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || "_.:-".contains(c)));
    let end = end.unwrap_or(text.len());
    let rest = &text[end..];
    if let Some(name) = text[..end].strip_suffix(':') {
        return (!name.is_empty()).then_some((Name::Plain(name), rest));
    }
    let call = text[..end].strip_prefix("sys_").filter(|call| !call.is_empty())?;
    if let Some(arguments) = rest.strip_prefix('(') {
        return Some((Name::Enter(call), arguments.strip_suffix(')').unwrap_or(arguments)));
    }
    let value = rest.strip_prefix(" -> ")?;
    Some((Name::Exit(call), value))
}

/// The tracer that writes such an entry: `#1     context    irq timer_latency       932 ns` of
/// timerlat, a table of numbers of osnoise, `1000000        190  99.98100       9     18 …`.
fn entry_of(text: &str) -> Option<&'static str> {
    if text.starts_with('#') {
        let mut words = text.split_ascii_whitespace().skip(1);
        let timerlat = words.next() == Some("context") && words.nth(1) == Some("timer_latency");
        return timerlat.then_some("timerlat");
    }
    if !text.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let words: Vec<&str> = text.split_ascii_whitespace().take(OSNOISE_COLUMNS + 1).collect();
    let number = |word: &&str| word.bytes().all(|c| c.is_ascii_digit() || c == b'.');
    (words.len() == OSNOISE_COLUMNS && words.iter().all(number)).then_some("osnoise")
}

/// Runtime, noise, share of the CPU, longest noise; hardware, NMI, IRQ, softirq, threads.
const OSNOISE_COLUMNS: usize = 9;

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Line<'_> {
        match read(text) {
            Said::Event(line) => line,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn lines_of_every_writer_are_read() {
        let tracefs = line(
            "          <idle>-0       [001] d.h1. 12.000003: irq_handler_entry: irq=36 name=a b",
        );
        assert_eq!((tracefs.task, tracefs.pid, tracefs.cpu), ("<idle>", 0, 1));
        assert_eq!((tracefs.time, tracefs.flags), (12_000_003_000, Some((0x09, 1))));
        assert_eq!(
            (tracefs.event, tracefs.text),
            (Name::Plain("irq_handler_entry"), "irq=36 name=a b")
        );
        let report = line(
            "   kworker/0:1-e-17    [000]  7.123456789: sched_waking:          comm=x [1] pid=3",
        );
        assert_eq!((report.task, report.pid, report.time), ("kworker/0:1-e", 17, 7_123_456_789));
        let android =
            line("  Binder [2]-914 (  777) [003] ...1   58.5: tracing_mark_write: B|777|draw: x");
        assert_eq!((android.task, android.pid, android.cpu), ("Binder [2]", 914, 3));
        assert_eq!((android.event.table(), android.text), ("print".into(), "B|777|draw: x"));
        let unnamed =
            line("  surfaceflinger-120   [001] ...1 50260.929925: 0: B|120|message").event;
        assert_eq!(unnamed.table(), "print");
        let old = line("   sh-9 [000] 1.000001: sched_switch: prev_comm=sh");
        assert_eq!((old.flags, old.time), (None, 1_000_001_000));
        assert_eq!(
            line("a-1 [000] ..... 1.5: sys_read(fd: 3, count: 1)").event,
            Name::Enter("read")
        );
        let exit = line("a-1 [000] ..... 1.5: sys_read -> 0x1");
        assert_eq!((exit.event, exit.text), (Name::Exit("read"), "0x1"));
        let function = line("a-1 [000] ..... 1.5: do_idle <-cpu_startup_entry");
        assert_eq!(function.event, Name::Plain("function"));
    }

    #[test]
    fn entries_of_tracers_without_a_name_are_read() {
        // Of the kernel's own documentation, Documentation/trace/{timerlat,osnoise}-tracer.rst.
        let irq = "          <idle>-0       [000] d.h1    54.029328: #1     context    irq timer_latency       932 ns";
        assert_eq!((line(irq).event, line(irq).time), (Name::Plain("timerlat"), 54_029_328_000));
        let noise = "           <...>-859     [000] ....    81.637220: 1000000        190  99.98100       9     18      0   1007     18      1";
        assert_eq!(line(noise).event, Name::Plain("osnoise"));
        for other in
            ["#1 context", "# tracer: x y z", "1 2 3", "1 2 3 4 5 6 7 8 9 10", "1 2 3 4 5 6 7 8 x"]
        {
            assert_eq!(read(&format!("a-1 [000] .... 1.5: {other}")), Said::Other, "{other}");
        }
    }

    #[test]
    fn losses_are_told() {
        assert_eq!(read("CPU:1 [LOST 123 EVENTS]"), Said::Lost { cpu: 1, count: Some(123) });
        assert_eq!(read("CPU:0 [7 EVENTS DROPPED]"), Said::Lost { cpu: 0, count: Some(7) });
        assert_eq!(read("CPU:0 [EVENTS DROPPED]"), Said::Lost { cpu: 0, count: None });
    }

    #[test]
    fn other_lines_are_none() {
        for text in [
            "",
            "# tracer: nop",
            "cpus=2",
            " => schedule",
            "CPU 1 is empty",
            "[001] x",
            "a-1 [000] 1.5: ",
        ] {
            assert_eq!(read(text), Said::Other, "{text}");
        }
    }
}
