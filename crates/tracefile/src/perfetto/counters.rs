//! What is polled of processes and of the system (`process_stats`, `sys_stats`), as counters.
//!
//! Series are called as the fields of the messages, with their units; those of memory as the kernel
//! calls them in `/proc/meminfo` (kB) and `/proc/vmstat`, which the file tells as numbers.

use std::collections::{BTreeMap, HashMap};

use super::wire::{Fields, last, number, numbers, text};
use crate::slices::Builder;

/// The names that the file tells as numbers.
const NAMES: &str = include_str!("counters.txt");

/// A process that is polled.
const PROCESS: [(u32, &str); 20] = [
    (2, "vm_size_kb"),
    (3, "vm_rss_kb"),
    (4, "rss_anon_kb"),
    (5, "rss_file_kb"),
    (6, "rss_shmem_kb"),
    (7, "vm_swap_kb"),
    (8, "vm_locked_kb"),
    (9, "vm_hwm_kb"),
    (10, "oom_score_adj"),
    (13, "chrome_private_footprint_kb"),
    (14, "chrome_peak_resident_set_kb"),
    (16, "smr_rss_kb"),
    (17, "smr_pss_kb"),
    (18, "smr_pss_anon_kb"),
    (19, "smr_pss_file_kb"),
    (20, "smr_pss_shmem_kb"),
    (21, "runtime_user_mode_ns"),
    (22, "runtime_kernel_mode_ns"),
    (23, "smr_swap_pss_kb"),
    (24, "dmabuf_rss_kb"),
];
const CPU: [(u32, &str); 8] = [
    (2, "user_ns"),
    (3, "user_nice_ns"),
    (4, "system_mode_ns"),
    (5, "idle_ns"),
    (6, "io_wait_ns"),
    (7, "irq_ns"),
    (8, "softirq_ns"),
    (9, "steal_ns"),
];
const DISK: [(u32, &str); 8] = [
    (2, "read_sectors"),
    (3, "read_time_ms"),
    (4, "write_sectors"),
    (5, "write_time_ms"),
    (6, "discard_sectors"),
    (7, "discard_time_ms"),
    (8, "flush_count"),
    (9, "flush_time_ms"),
];
const TOTALS: [(u32, &str); 3] = [(4, "num_forks"), (5, "num_irq_total"), (7, "num_softirq_total")];
const PRESSURE: [&str; 7] =
    ["unspecified", "cpu_some", "cpu_full", "io_some", "io_full", "memory_some", "memory_full"];

/// Reads polled values into counters.
pub(super) struct Polled {
    names: HashMap<(&'static str, u64), &'static str>,
    /// Lists that have no place among counters: free pages by size, and slabs.
    pub(super) lists: u64,
}

impl Default for Polled {
    fn default() -> Self {
        let names = NAMES.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
            let (table, rest) = line.split_once(' ')?;
            let (number, name) = rest.split_once(' ')?;
            Some(((table, number.parse().ok()?), name))
        });
        Self { names: names.collect(), lists: 0 }
    }
}

impl Polled {
    /// `ProcessStats`: a counter for each process, with the values that the message has.
    pub(super) fn processes(&self, stats: &[u8], time: i64, builder: &mut Builder) {
        for (_, process) in Fields::of(stats).filter(|(field, _)| *field == 1) {
            let values = fields(process.bytes(), &PROCESS);
            if let Some(id) = number(process.bytes(), 1).filter(|_| !values.is_empty()) {
                builder.counter(Some(i64::from(id as i32)), "process_stats", time, values);
            }
        }
    }

    /// `SysStats`: a counter for each kind of value, and for each CPU and disk.
    pub(super) fn system(&mut self, stats: &[u8], time: i64, builder: &mut Builder) {
        let mut series: BTreeMap<&str, Vec<(String, f64)>> = BTreeMap::new();
        let mut add = |counter, name: String, value: Option<u64>| {
            if let Some(value) = value {
                series.entry(counter).or_default().push((name, value as f64));
            }
        };
        let mut totals = Vec::new();
        let (mut cpus, mut gpus) = (0.., 0..);
        for (field, value) in Fields::of(stats) {
            let message = value.bytes();
            let key = number(message, 1).unwrap_or(0);
            match field {
                1 => add("meminfo", self.named("meminfo", key), number(message, 2)),
                2 => add("vmstat", self.named("vmstat", key), number(message, 2)),
                3 => {
                    let name = format!("cpu_stat {key}");
                    builder.counter(None, &name, time, fields(message, &CPU));
                }
                6 => add("num_irq", format!("irq {}", key as i32), number(message, 2)),
                8 => add("num_softirq", format!("softirq {}", key as i32), number(message, 2)),
                10 => add("devfreq_khz", label(message, &[1]), number(message, 2)),
                11 => numbers(value).into_iter().zip(&mut cpus).for_each(|(khz, cpu)| {
                    add("cpufreq_khz", format!("cpu {cpu}"), Some(khz));
                }),
                12 | 18 => self.lists += 1,
                13 => {
                    let name = format!("disk_stat {}", label(message, &[1]));
                    builder.counter(None, &name, time, fields(message, &DISK));
                }
                14 => {
                    let name = PRESSURE.get(key as usize).copied().unwrap_or("other");
                    add("pressure_ns", name.to_owned(), number(message, 2));
                }
                15 => add("thermal_zone", label(message, &[1, 3]), number(message, 2)),
                16 => {
                    let states = Fields::of(message).filter(|(field, _)| *field == 2);
                    let states = states.filter_map(|(_, state)| {
                        Some((label(state.bytes(), &[1]), number(state.bytes(), 2)? as f64))
                    });
                    let states: Vec<(String, f64)> = states.collect();
                    let states = states.iter().map(|(name, us)| (name.as_str(), *us));
                    builder.counter(None, &format!("cpuidle_us {key}"), time, states);
                }
                17 => numbers(value).into_iter().zip(&mut gpus).for_each(|(mhz, gpu)| {
                    add("gpufreq_mhz", format!("gpu {gpu}"), Some(mhz));
                }),
                _ => totals.extend(
                    TOTALS
                        .iter()
                        .find(|(of, _)| *of == field)
                        .and_then(|&(_, name)| Some((name, value.number()? as f64))),
                ),
            }
        }
        for (name, values) in &series {
            let values = values.iter().map(|(series, value)| (series.as_str(), *value));
            builder.counter(None, name, time, values);
        }
        if !totals.is_empty() {
            builder.counter(None, "sys_stats", time, totals);
        }
    }

    fn named(&self, table: &'static str, key: u64) -> String {
        match self.names.get(&(table, key)) {
            Some(&name) => name.to_owned(),
            None => format!("{table} {key}"),
        }
    }
}

/// The values of the fields that a message has.
fn fields(message: &[u8], known: &[(u32, &'static str)]) -> Vec<(&'static str, f64)> {
    let named = |field| known.iter().find(|(of, _)| *of == field).map(|(_, name)| *name);
    let values = Fields::of(message)
        .filter_map(|(field, value)| Some((named(field)?, value.number()? as i64 as f64)));
    values.collect()
}

/// Texts of a message, one behind the other.
fn label(message: &[u8], fields: &[u32]) -> String {
    let texts = fields.iter().filter_map(|&field| last(message, field)).map(text);
    texts.collect::<Vec<_>>().join(" ")
}
