//! Decodes a trace and says how fast: `decode PATH [--events a,b,c] [--no-index] [--repeat N]`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use tracefile::{Options, Selection};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(what) => {
            eprintln!("decode: {what}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let (mut path, mut selection, mut index, mut repeat) = (None, Selection::everything(), true, 1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--events" => {
                let names = words.next().ok_or("--events needs names")?;
                selection =
                    names.split(',').fold(Selection::nothing(), |s, name| s.event(name, None));
            }
            "--no-index" => index = false,
            "--repeat" => repeat = words.next().ok_or("--repeat needs a number")?.parse()?,
            _ => path = Some(PathBuf::from(word)),
        }
    }
    let path = path.ok_or("usage: decode PATH [--events a,b,c] [--no-index] [--repeat N]")?;
    for _ in 0..repeat {
        let peak = Peak::watch();
        let (wall, cpu) = (Instant::now(), cpu_seconds());
        let trace = tracefile::open(&path)?;
        let opened = wall.elapsed().as_secs_f64();
        let decoded = trace.decode(&selection, &Options { index, times: None })?;
        let (wall, cpu) = (wall.elapsed().as_secs_f64(), cpu_seconds() - cpu);
        let peak = peak.bytes();
        let rows: usize = decoded
            .tables
            .iter()
            .flat_map(|table| &table.batches)
            .map(arrow_array::RecordBatch::num_rows)
            .sum();
        let bytes: usize = decoded
            .tables
            .iter()
            .flat_map(|table| &table.batches)
            .map(arrow_array::RecordBatch::get_array_memory_size)
            .sum();
        println!(
            "{} events, {rows} rows of {:.1} B, {} losses, {} damaged; open {opened:.3} s, wall \
             {wall:.3} s, cpu {cpu:.3} s, {:.2} M events/s, peak anonymous {:.1} B an event",
            decoded.events,
            bytes as f64 / rows.max(1) as f64,
            decoded.losses.len(),
            decoded.damage.len(),
            decoded.events as f64 / wall / 1e6,
            peak as f64 / decoded.events.max(1) as f64,
        );
        for note in &decoded.notes {
            println!("  {note}");
        }
        for damage in &decoded.damage {
            println!("  {}:{}: {}", damage.file.display(), damage.offset, damage.what);
        }
    }
    Ok(())
}

/// CPU time of this process in seconds, in steps of the kernel's 10 ms.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|word| word.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}

/// The most anonymous memory between its beginning and its end, in bytes, looked at every
/// millisecond: columns, index and all that was needed on the way, without the mapped file.
struct Peak {
    stop: std::sync::Arc<std::sync::atomic::AtomicBool>,
    watcher: std::thread::JoinHandle<u64>,
}

impl Peak {
    fn watch() -> Self {
        let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let told = stop.clone();
        let watcher = std::thread::spawn(move || {
            let mut most = 0;
            while !told.load(std::sync::atomic::Ordering::Relaxed) {
                most = anonymous().max(most);
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            anonymous().max(most)
        });
        Self { stop, watcher }
    }

    fn bytes(self) -> u64 {
        self.stop.store(true, std::sync::atomic::Ordering::Relaxed);
        self.watcher.join().unwrap_or(0)
    }
}

fn anonymous() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let kilobytes = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}
