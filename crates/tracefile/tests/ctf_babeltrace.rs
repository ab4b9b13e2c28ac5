//! Every field of samples of every event type against what babeltrace2 prints.

mod common;

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, types};
use arrow_schema::DataType;
use tracefile::{Options, Scope, Selection};

/// Of each event type on each CPU.
const SAMPLES: usize = 200;

#[derive(Debug, Clone, PartialEq)]
enum Leaf {
    /// With the bits that ours is kept in; of babeltrace2's, which says none, 128.
    Number(i128, u32),
    Text(String),
    Float(f64),
}

/// A field's own name and its value; elements of lists have their list's name.
type Fields = Vec<(String, Leaf)>;

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    fn space(&mut self) {
        while self.text.get(self.at).is_some_and(|byte| b" ,".contains(byte)) {
            self.at += 1;
        }
    }

    fn take(&mut self, sign: u8) -> bool {
        self.space();
        let is = self.text.get(self.at) == Some(&sign);
        self.at += usize::from(is);
        is
    }

    fn word(&mut self) -> String {
        self.space();
        let begin = self.at;
        while self.text.get(self.at).is_some_and(|byte| !b" ,{}[]()".contains(byte)) {
            self.at += 1;
        }
        String::from_utf8_lossy(&self.text[begin..self.at]).into_owned()
    }

    fn quoted(&mut self) -> String {
        let mut bytes = Vec::new();
        while self.text[self.at] != b'"' {
            if self.text[self.at] == b'\\' {
                self.at += 1;
                bytes.push(match self.text[self.at] {
                    b'n' => b'\n',
                    b't' => b'\t',
                    b'r' => b'\r',
                    b'a' => 7,
                    b'b' => 8,
                    b'f' => 12,
                    b'v' => 11,
                    other => other,
                });
            } else {
                bytes.push(self.text[self.at]);
            }
            self.at += 1;
        }
        self.at += 1;
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn value(&mut self, name: &str, fields: &mut Fields) {
        if self.take(b'{') {
            while !self.take(b'}') {
                let name = self.word();
                assert!(self.take(b'='), "no = behind {name}");
                self.value(&name, fields);
            }
        } else if self.take(b'[') {
            while !self.take(b']') {
                assert!(self.take(b'['));
                self.word();
                assert!(self.take(b']') && self.take(b'='));
                self.value(name, fields);
            }
        } else if self.take(b'(') {
            // A label: `( "NAME" : container = 7 )`; several when ranges overlap.
            loop {
                self.space();
                if self.take(b'"') {
                    self.quoted();
                } else if self.word() == "=" {
                    break;
                }
            }
            self.value(name, fields);
            assert!(self.take(b')'), "no ) behind {name}");
        } else if self.take(b'"') {
            let text = self.quoted();
            fields.push((name.to_owned(), Leaf::Text(text)));
        } else {
            let word = self.word();
            fields.push((name.to_owned(), number(&word)));
        }
    }
}

fn number(word: &str) -> Leaf {
    let (negative, digits) = match word.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, word),
    };
    let value = if let Some(hex) = digits.strip_prefix("0x") {
        i128::from_str_radix(hex, 16).ok()
    } else if let Some(binary) = digits.strip_prefix("0b") {
        i128::from_str_radix(binary, 2).ok()
    } else if digits.len() > 1 && digits.starts_with('0') && !digits.contains('.') {
        i128::from_str_radix(digits, 8).ok()
    } else {
        digits.parse().ok()
    };
    match value {
        Some(value) => Leaf::Number(if negative { -value } else { value }, 128),
        None => Leaf::Float(word.parse().unwrap_or_else(|_| panic!("the value {word}"))),
    }
}

/// Stamp, CPU, name and fields of a line.
fn parse(line: &str) -> (u64, i128, String, Fields) {
    let (head, rest) = line.split_once(": { ").expect("a name before its fields");
    let cycles = head[1..].split(']').next().unwrap().parse().unwrap();
    let name = head.rsplit(' ').next().unwrap().to_owned();
    let mut parser = Parser { text: rest.as_bytes(), at: 0 };
    let mut fields = Fields::new();
    while parser.text[parser.at..].first() != Some(&b'}') {
        let name = parser.word();
        assert!(parser.take(b'='));
        parser.value(&name, &mut fields);
        parser.space();
    }
    parser.at += 1;
    while parser.at < parser.text.len() {
        parser.value("", &mut fields);
        parser.space();
    }
    let cpu = fields.iter().position(|(name, _)| name == "cpu_id").expect("a CPU");
    let Leaf::Number(cpu, _) = fields.remove(cpu).1 else { panic!("a CPU that is no number") };
    (cycles, cpu, name, fields)
}

fn leaves(name: &str, column: &ArrayRef, row: usize, fields: &mut Fields) {
    if column.is_null(row) {
        return;
    }
    let leaf = match column.data_type() {
        DataType::Utf8 => Leaf::Text(column.as_string::<i32>().value(row).to_owned()),
        DataType::Float32 => {
            Leaf::Float(column.as_primitive::<types::Float32Type>().value(row).into())
        }
        DataType::Float64 => Leaf::Float(column.as_primitive::<types::Float64Type>().value(row)),
        DataType::List(_) => {
            let items = column.as_list::<i32>().value(row);
            (0..items.len()).for_each(|at| leaves(name, &items, at, fields));
            return;
        }
        DataType::Struct(_) => {
            let members = column.as_struct();
            for (member, name) in members.columns().iter().zip(members.column_names()) {
                leaves(name, member, row, fields);
            }
            return;
        }
        kind => {
            let bits = kind.primitive_width().map_or(1, |bytes| 8 * bytes as u32);
            Leaf::Number(common::integer(column, row), bits)
        }
    };
    fields.push((name.to_owned(), leaf));
}

fn same(ours: &Leaf, theirs: &Leaf) -> bool {
    match (ours, theirs) {
        // Hexadecimal is printed without a sign: as many bits as the field has.
        (Leaf::Number(ours, bits), Leaf::Number(theirs, _)) => {
            ours == theirs || (*ours < 0 && *ours + (1 << bits) == *theirs)
        }
        (Leaf::Float(ours), Leaf::Float(theirs)) => (ours - theirs).abs() <= ours.abs() * 1e-5,
        (Leaf::Float(ours), Leaf::Number(theirs, _)) => {
            (ours - *theirs as f64).abs() <= ours.abs() * 1e-5
        }
        (ours, theirs) => ours == theirs,
    }
}

/// All texts of an event type's fields.
fn texts(batch: &RecordBatch) -> HashSet<String> {
    let mut fields = Fields::new();
    for column in batch.columns() {
        (0..batch.num_rows()).for_each(|row| leaves("", column, row, &mut fields));
    }
    let texts = fields.into_iter().filter_map(|(_, leaf)| match leaf {
        Leaf::Text(text) => Some(text),
        _ => None,
    });
    texts.collect()
}

fn compare(directory: &Path) -> usize {
    let trace = tracefile::open(directory).unwrap();
    let decoded =
        trace.decode(&Selection::everything(), &Options { index: false, times: None }).unwrap();
    let info = trace.info();
    let mut tables: HashMap<&str, (usize, RecordBatch)> = HashMap::new();
    for (at, event) in info.events.iter().enumerate() {
        if let Some(batch) = common::table(&trace, &decoded, &event.name) {
            tables.insert(&event.name, (at, batch));
        }
    }
    // Rows of each event on each CPU, in order of time.
    let mut rows: HashMap<(&str, i128), Vec<usize>> = HashMap::new();
    for (name, (_, batch)) in &tables {
        let cpu = common::column(batch, "cpu");
        for row in 0..batch.num_rows() {
            rows.entry((name, common::integer(cpu, row))).or_default().push(row);
        }
    }
    let mut printed = Command::new("babeltrace2")
        .args(["--clock-cycles", "--no-delta"])
        .arg(directory)
        .stdout(Stdio::piped())
        .spawn()
        .expect("babeltrace2 was found before");
    let mut seen: HashMap<(String, i128), usize> = HashMap::new();
    let mut compared = 0;
    let mut known: HashMap<usize, HashSet<String>> = HashMap::new();
    for line in BufReader::new(printed.stdout.take().unwrap()).split(b'\n') {
        let line = String::from_utf8_lossy(&line.unwrap()).into_owned();
        let (head, _) = line.split_once(": { ").expect("a name");
        let name = head.rsplit(' ').next().unwrap();
        let cpu = line.split("cpu_id = ").nth(1).unwrap();
        let cpu = cpu.split([' ', ',']).next().unwrap();
        let Leaf::Number(cpu, _) = number(cpu) else { panic!("the CPU {cpu}") };
        let count = seen.entry((name.to_owned(), cpu)).or_default();
        *count += 1;
        if *count > SAMPLES {
            continue;
        }
        let (cycles, cpu, name, theirs) = parse(&line);
        let (event, batch) = &tables[name.as_str()];
        let row = rows[&(name.as_str(), cpu)][*count - 1];
        let frequency = u128::from(info.clock.frequency_hz);
        let time = u128::from(cycles) * 1_000_000_000 / frequency;
        assert_eq!(common::integer(common::column(batch, "time"), row), time as i128, "{line}");
        let fields = &info.events[*event].fields;
        let mut ours = Fields::new();
        // babeltrace2 prints the packet's context first.
        for packet in [true, false] {
            for (at, field) in fields.iter().enumerate() {
                if (field.scope == Scope::Packet) == packet {
                    let own = field.name.rsplit('.').next().unwrap();
                    leaves(own, batch.column(at + 2), row, &mut ours);
                }
            }
        }
        // babeltrace2 2.0.4 prints an empty text as an earlier one of the same event: its pooled
        // field keeps the letters. In many-threads, `/var/run/utmpx` is printed twice but stands
        // in the file once. So what it prints has to stand in another event of that type.
        let mut kept = |ours: &Leaf, theirs: &Leaf| match (ours, theirs) {
            (Leaf::Text(ours), Leaf::Text(theirs)) if ours.is_empty() => {
                known.entry(*event).or_insert_with(|| texts(batch)).contains(theirs)
            }
            _ => false,
        };
        let agree = ours.len() == theirs.len()
            && ours.iter().zip(&theirs).all(|((a, ours), (b, theirs))| {
                a == b && (same(ours, theirs) || kept(ours, theirs))
            });
        assert!(agree, "{line}\nours {ours:?}\ntheirs {theirs:?}");
        compared += 1;
    }
    printed.wait().unwrap();
    for ((name, cpu), rows) in rows {
        assert_eq!(seen.get(&(name.to_owned(), cpu)), Some(&rows.len()), "{name} on {cpu}");
    }
    compared
}

#[test]
fn what_differs_is_not_the_same() {
    let number = |value: i128, bits: u32| Leaf::Number(value, bits);
    assert!(same(&number(-1, 32), &number(0xffff_ffff, 128)));
    assert!(same(&number(-1, 64), &number(0xffff_ffff_ffff_ffff, 128)));
    assert!(!same(&number(-1, 64), &number(0xffff_ffff, 128)), "of other bits");
    assert!(!same(&number(0x1_0000_0001, 64), &number(1, 128)), "only the low half");
    assert!(!same(&number(0xffff_ffff, 32), &number(-1, 128)), "a sign that is not ours");
    let text = |text: &str| Leaf::Text(text.to_owned());
    assert!(!same(&text(""), &text("utmpx")) && same(&text("a"), &text("a")));
}

#[test]
fn every_field_of_samples_of_every_event_agrees() {
    if Command::new("babeltrace2").arg("--version").output().is_err() {
        common::left_out("package", "babeltrace2");
        return;
    }
    let traces = [
        "small/kernel",
        "many-threads",
        "lttng-tracefile-rotation/kernel",
        "ros2",
        "dpdk_service_cores",
        "big/kernel",
    ];
    for path in traces.into_iter().filter_map(common::real) {
        let compared = compare(&path);
        println!("{}: {compared} events agree", path.display());
    }
}
