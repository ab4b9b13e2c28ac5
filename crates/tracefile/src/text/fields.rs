//! The fields in an event's text: by the print formats that kernels and trace-cmd's plugins have for
//! events of scheduling, interrupts and devices; of others every `name=value`.

/// Where a value stands in a text, and its field's name.
pub(super) type Found<'a> = (&'static str, &'a str);

/// Formats of events, `{field}` for what stands there. The first that fits is taken.
const FORMATS: &[(&str, &[&str])] = &[
    (
        "sched_switch",
        &[
            "prev_comm={prev_comm} prev_pid={prev_pid} prev_prio={prev_prio} \
             prev_state={prev_state} ==> next_comm={next_comm} next_pid={next_pid} \
             next_prio={next_prio}",
            "prev_comm={prev_comm} prev_pid={prev_pid} prev_prio={prev_prio} \
             prev_state={prev_state} next_comm={next_comm} next_pid={next_pid} \
             next_prio={next_prio}",
            "{prev_comm}:{prev_pid} [{prev_prio}] {prev_state} ==> {next_comm}:{next_pid} \
             [{next_prio}]",
        ],
    ),
    ("sched_waking", WAKES),
    ("sched_wakeup", WAKES),
    ("sched_wakeup_new", WAKES),
    (
        "sched_migrate_task",
        &["comm={comm} pid={pid} prio={prio} orig_cpu={orig_cpu} dest_cpu={dest_cpu}"],
    ),
    (
        "sched_process_fork",
        &["comm={parent_comm} pid={parent_pid} child_comm={child_comm} child_pid={child_pid}"],
    ),
    ("sched_process_exec", &["filename={filename} pid={pid} old_pid={old_pid}"]),
    (
        "task_rename",
        &["pid={pid} oldcomm={oldcomm} newcomm={newcomm} oom_score_adj={oom_score_adj}"],
    ),
    (
        "sched_stat_runtime",
        &[
            "comm={comm} pid={pid} runtime={runtime} [ns] vruntime={vruntime} [ns]",
            "comm={comm} pid={pid} runtime={runtime} [ns]",
        ],
    ),
    ("irq_handler_entry", &["irq={irq} name={name}"]),
    ("irq_handler_exit", &["irq={irq} ret={ret}"]),
    ("softirq_raise", &["vec={vec} [action={action}]"]),
    ("softirq_entry", &["vec={vec} [action={action}]"]),
    ("softirq_exit", &["vec={vec} [action={action}]"]),
    ("sys_enter", &["NR {id} ({args})"]),
    ("sys_exit", &["NR {id} = {ret}"]),
    ("block_rq_issue", BLOCK),
    ("block_rq_insert", BLOCK),
    (
        "block_rq_complete",
        &[
            "{dev} {rwbs} ({cmd}) {sector} + {nr_sector} {ioprio} [{error}]",
            "{dev} {rwbs} ({cmd}) {sector} + {nr_sector} [{error}]",
        ],
    ),
    ("function", &["{ip} <-{parent_ip}"]),
    // Columns that are blanks apart; the last is the one of trace-cmd.
    (
        "timerlat",
        &[
            "#{seqnum} context {context} timer_latency {timer_latency} ns",
            "seq:{seqnum}\tcontext:{context}\ttimer_latency:{timer_latency}",
        ],
    ),
    (
        "osnoise",
        &[
            "{runtime} {noise} {-} {max_sample} {hw_count} {nmi_count} {irq_count} \
             {softirq_count} {thread_count}",
            "noise:{noise}\tmax_sample:{max_sample}\thw:{hw_count}\tnmi:{nmi_count}\t\
             irq:{irq_count}\tsoftirq:{softirq_count}\tthread:{thread_count}",
        ],
    ),
    ("nmi_noise", &["start {start} duration {duration} ns"]),
    ("irq_noise", &["{desc}:{vector} start {start} duration {duration} ns"]),
    ("softirq_noise", &["{action}:{vector} start {start} duration {duration} ns"]),
    ("thread_noise", &["{comm}:{pid} start {start} duration {duration} ns"]),
    (
        "sample_threshold",
        &[
            "start {start} duration {duration} ns interference {interference}",
            "start {start} duration {duration} ns interferences {interference}",
        ],
    ),
    ("print", &["{buf}"]),
    ("bprint", &["{buf}"]),
    ("bputs", &["{buf}"]),
];

const WAKES: &[&str] = &[
    "comm={comm} pid={pid} prio={prio} success={success} target_cpu={target_cpu}",
    "comm={comm} pid={pid} prio={prio} target_cpu={target_cpu}",
    "{comm}:{pid} [{prio}] success={success} CPU:{target_cpu}",
    "{comm}:{pid} [{prio}] CPU:{target_cpu}",
];

const BLOCK: &[&str] = &[
    "{dev} {rwbs} {bytes} ({cmd}) {sector} + {nr_sector} {ioprio} [{comm}]",
    "{dev} {rwbs} {bytes} ({cmd}) {sector} + {nr_sector} [{comm}]",
];

/// A part of a format.
#[derive(Debug)]
enum Part {
    Literal(&'static str),
    Field(&'static str),
}

/// How the fields of one event's texts are found.
#[derive(Debug)]
pub(super) struct Format {
    ways: Vec<Vec<Part>>,
}

impl Format {
    /// Of an event whose formats are known.
    pub(super) fn known(event: &str) -> Option<Self> {
        let (_, formats) = FORMATS.iter().find(|(name, _)| *name == event)?;
        Some(Self { ways: formats.iter().map(|format| parts(format)).collect() })
    }

    /// The values in a text, in its order.
    pub(super) fn read<'a>(&self, text: &'a str) -> Option<Vec<Found<'a>>> {
        self.ways.iter().find_map(|parts| {
            let mut found = Vec::with_capacity(parts.len());
            fits(parts, text, &mut found).then(|| {
                found.reverse();
                found
            })
        })
    }
}

fn parts(format: &'static str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut rest = format;
    while let Some((before, after)) = rest.split_once('{') {
        if !before.is_empty() {
            parts.push(Part::Literal(before));
        }
        let Some((name, after)) = after.split_once('}') else { break };
        parts.push(Part::Field(name));
        rest = after;
    }
    if !rest.is_empty() {
        parts.push(Part::Literal(rest));
    }
    parts
}

/// What follows from other fields, and is none of its own.
pub(super) const DERIVED: &str = "-";

/// Fields whose values may be any text, as names of threads are.
fn any(field: &str) -> bool {
    matches!(field, "filename" | "name" | "desc" | "cmd" | "args" | "buf" | "ioprio")
        || field.ends_with("comm")
}

/// Matches parts from the end of a text to its beginning: names of threads, which may hold anything,
/// stand before what tells them apart. Values are found in reverse order. Between others may be any
/// number of blanks.
fn fits<'a>(parts: &[Part], text: &'a str, found: &mut Vec<Found<'a>>) -> bool {
    let Some((last, before)) = parts.split_last() else { return text.is_empty() };
    match last {
        Part::Literal(literal) => match text.strip_suffix(literal) {
            Some(rest) => fits(before, rest, found),
            None => false,
        },
        Part::Field(name) => {
            let Some(Part::Literal(literal)) = before.last() else {
                let whole = before.is_empty() && (any(name) || !text.contains(' '));
                if whole {
                    found.push((name, text));
                }
                return whole;
            };
            let before = &before[..before.len() - 1];
            let blanks_before = literal.starts_with(' ')
                && matches!(before.last(), Some(Part::Field(name)) if !any(name));
            let mut end = text.len();
            while let Some(at) = text[..end].rfind(literal) {
                let mut value = &text[at + literal.len()..];
                if !any(name) {
                    value = value.trim_start_matches(' ');
                    if value.contains(' ') {
                        return false;
                    }
                }
                let rest = &text[..at];
                let rest = if blanks_before { rest.trim_end_matches(' ') } else { rest };
                let count = found.len();
                found.push((name, value));
                if fits(before, rest, found) {
                    return true;
                }
                found.truncate(count);
                // A name may hold what stands before it: the next one to the left.
                end = at;
            }
            false
        }
    }
}

/// Every `name=value` or `name: value` of a text.
pub(super) fn pairs(text: &str) -> Vec<(&str, &str)> {
    let mut names: Vec<(usize, usize, usize)> = Vec::new();
    let bytes = text.as_bytes();
    for (at, sign) in bytes.iter().enumerate().filter(|(_, c)| matches!(c, b'=' | b':')) {
        let colon = *sign == b':';
        if colon && bytes.get(at + 1) != Some(&b' ') {
            continue;
        }
        let begin = text[..at]
            .rfind(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .map_or(0, |before| before + 1);
        let parts = if begin == 0 { true } else { b" [({,".contains(&bytes[begin - 1]) };
        let named = begin < at && !bytes[begin].is_ascii_digit();
        if parts && named {
            names.push((begin, at, at + 1 + usize::from(colon)));
        }
    }
    let ends = names.iter().skip(1).map(|next| next.0).chain([text.len()]);
    names
        .iter()
        .zip(ends)
        .map(|(&(begin, end, value), next)| {
            let value = text[value.min(next)..next].trim_end_matches([' ', '[', '(', '{', ',']);
            let value =
                if value.contains(['[', '(']) { value } else { value.trim_end_matches([']', ')']) };
            (&text[begin..end], value)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(event: &str, text: &str) -> Vec<(&'static str, String)> {
        let found = Format::known(event).unwrap().read(text);
        found
            .unwrap_or_default()
            .into_iter()
            .map(|(name, value)| (name, value.to_owned()))
            .collect()
    }

    #[test]
    fn known_formats_hold_against_hostile_names() {
        let text = "prev_comm=a prev_pid=1 prev_pid=7 prev_prio=120 prev_state=R+ ==> next_comm=x ==> y next_pid=9 next_prio=98";
        let values: Vec<String> =
            read("sched_switch", text).into_iter().map(|(_, value)| value).collect();
        assert_eq!(values, ["a prev_pid=1", "7", "120", "R+", "x ==> y", "9", "98"]);
        let plugin = read("sched_switch", "swapper/0:0 [120] R ==> rec.sh:1884 [120]");
        assert_eq!(plugin[0], ("prev_comm", "swapper/0".into()));
        assert_eq!(plugin[5], ("next_pid", "1884".into()));
        assert_eq!(read("sched_wakeup", "migration/0:18 [0] CPU:000").len(), 4);
        let block = read("block_rq_issue", "254,0 RA 4096 () 12892600 + 8 0x2,0,4 [python3]");
        assert_eq!(block[0], ("dev", "254,0".into()));
        assert_eq!(block[4], ("sector", "12892600".into()));
        assert!(read("sched_switch", "nothing of it").is_empty());
    }

    #[test]
    fn columns_of_tracers_are_blanks_apart() {
        let timerlat = [
            "#402268 context    irq timer_latency     13585 ns",
            "seq:402268\tcontext:0\ttimer_latency:13585",
        ];
        let values = timerlat.map(|text| read("timerlat", text));
        assert_eq!(
            values[0],
            [
                ("seqnum", "402268".into()),
                ("context", "irq".into()),
                ("timer_latency", "13585".into())
            ]
        );
        assert_eq!(values[1][1], ("context", "0".into()));
        let noise = read(
            "osnoise",
            "1000000        190  99.98100       9     18      0   1007     18      1",
        );
        let values: Vec<&str> = noise.iter().map(|(_, value)| value.as_str()).collect();
        assert_eq!(values, ["1000000", "190", "99.98100", "9", "18", "0", "1007", "18", "1"]);
        let irq = read("irq_noise", "virtio0-output.0:47 start 2932.676620180 duration 86 ns");
        assert_eq!(irq[0], ("desc", "virtio0-output.0".into()));
        assert_eq!(irq[2], ("start", "2932.676620180".into()));
        assert_eq!(read("thread_noise", "a b: 1:7 start 5.000000001 duration 9 ns")[0].1, "a b: 1");
    }

    #[test]
    fn pairs_are_found_in_other_texts() {
        let text =
            "timer=0xffff function=process_timeout expires=42 [timeout=1] idx=62 flags=D|P|I";
        let expected = [
            ("timer", "0xffff"),
            ("function", "process_timeout"),
            ("expires", "42"),
            ("timeout", "1"),
            ("idx", "62"),
            ("flags", "D|P|I"),
        ];
        assert_eq!(pairs(text), expected);
        assert_eq!(
            pairs("fd: 0x3, buf: 0x7f, count: 0x10"),
            [("fd", "0x3"), ("buf", "0x7f"), ("count", "0x10")]
        );
        assert!(pairs("nothing").is_empty());
    }
}
