use std::time::Instant;
fn cpu() -> (f64, f64) {
    let s = std::fs::read_to_string("/proc/self/stat").unwrap();
    let f: Vec<&str> = s.rsplit(')').next().unwrap().split_whitespace().collect();
    (f[11].parse::<f64>().unwrap() / 100.0, f[12].parse::<f64>().unwrap() / 100.0)
}
use tracefile::{Options, Selection};
fn main() {
    let mut args = std::env::args().skip(1);
    let path = args.next().unwrap();
    let what = args.next().unwrap_or("all".into());
    let times: usize = args.next().map_or(3, |n| n.parse().unwrap());
    for _ in 0..times {
        let begin = Instant::now();
        let trace = tracefile::open(path.as_ref()).unwrap();
        let opened = begin.elapsed();
        let before = cpu();
        let begin = Instant::now();
        let mut selection = Selection::everything();
        if what == "sched" {
            selection = Selection::nothing();
            for name in [
                "sched_switch",
                "sched_wakeup",
                "sched_waking",
                "sched_wakeup_new",
                "irq_handler_entry",
                "irq_handler_exit",
                "softirq_entry",
                "softirq_exit",
                "softirq_raise",
            ] {
                selection = selection.event(name, None);
            }
        }
        let decoded = trace.decode(&selection, &Options { index: what != "noindex" }).unwrap();
        let took = begin.elapsed();
        let after = cpu();
        println!("cpu user {:.2} sys {:.2}", after.0 - before.0, after.1 - before.1);
        let rows: usize =
            decoded.tables.iter().flat_map(|t| &t.batches).map(|b| b.num_rows()).sum();
        let bytes: usize =
            decoded.tables.iter().flat_map(|t| &t.batches).map(|b| b.get_array_memory_size()).sum();
        println!(
            "open {opened:?} decode {took:?} events {} rows {rows} {:.1} M/s, {} MB in arrays, losses {} damage {:?} span {:?}",
            decoded.events,
            decoded.events as f64 / took.as_secs_f64() / 1e6,
            bytes >> 20,
            decoded.losses.len(),
            &decoded.damage,
            decoded.span
        );
        if times == 1 {
            println!(
                "{:?} {:?} {:?} {:?}",
                trace.info().environment,
                trace.info().clock,
                trace.info().notes,
                trace.info().streams
            );
            for t in &decoded.tables {
                let n: usize = t.batches.iter().map(|b| b.num_rows()).sum();
                if n > 0 {
                    println!("{} {n}", trace.info().events[t.event].name)
                }
            }
        }
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    for line in status.lines().filter(|l| l.starts_with("VmHWM") || l.starts_with("RssAnon")) {
        println!("{line}");
    }
}
