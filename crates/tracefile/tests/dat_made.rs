//! trace.dat files made by hand: kinds of records, pages and machines that no real trace here has.

mod made;

use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, RecordBatch};
use made::{File, Kernel, Page, TICK, X86, tick};
use tracefile::{Decoded, Error, Loss, LossKind, Options, Selection, Trace};

const KERNELS: [Kernel; 4] = [
    Kernel { big: false, long: 8 },
    Kernel { big: false, long: 4 },
    Kernel { big: true, long: 8 },
    Kernel { big: true, long: 4 },
];

fn decode(path: &Path) -> (Trace, Decoded) {
    let trace = tracefile::open(path).unwrap();
    let decoded = trace.decode(&Selection::everything(), &Options::default()).unwrap();
    (trace, decoded)
}

fn table(trace: &Trace, decoded: &Decoded, name: &str) -> Vec<RecordBatch> {
    let at = trace.info().events.iter().position(|event| event.name == name).unwrap();
    decoded.tables.iter().find(|table| table.event == at).unwrap().batches.clone()
}

/// (time, cpu, number) of all ticks.
fn ticks(trace: &Trace, decoded: &Decoded) -> Vec<(i64, Option<u16>, u32)> {
    let mut rows = Vec::new();
    for batch in table(trace, decoded, "tick") {
        let time = batch["time"].as_primitive::<Int64Type>();
        let cpu = batch["cpu"].as_primitive::<UInt16Type>();
        let number = batch["number"].as_primitive::<UInt32Type>();
        assert!(batch["common_pid"].as_primitive::<Int32Type>().values().iter().all(|&p| p == 42));
        rows.extend((0..batch.num_rows()).map(|row| {
            (time.value(row), cpu.is_valid(row).then(|| cpu.value(row)), number.value(row))
        }));
    }
    rows
}

/// Times of the ticks on the pages of one CPU.
fn times(name: &str, kernel: Kernel, pages: Vec<Page>) -> Vec<i64> {
    let file = File::new(7, kernel, 4096).cpu(0, pages);
    let (trace, decoded) = decode(&file.save(name));
    assert_eq!(decoded.damage, []);
    ticks(&trace, &decoded).into_iter().map(|(time, ..)| time).collect()
}

#[test]
fn every_version_compression_byte_order_and_size_gives_the_same_rows() {
    for version in [6, 7] {
        for codec in ["none", "zlib", "zstd"] {
            if version == 6 && codec != "none" {
                continue;
            }
            for kernel in KERNELS {
                for (user_long, page) in [(4, 4096), (8, 8192), (8, 65536)] {
                    let pages = |first: u32| -> Vec<Page> {
                        (0..3)
                            .map(|n| {
                                let number = first + n * 2;
                                Page::new(kernel, page, 1000 * u64::from(number))
                                    .small(0, &tick(kernel, number))
                                    .large(7, &tick(kernel, number + 1))
                            })
                            .collect()
                    };
                    let mut file =
                        File::new(version, kernel, page).cpu(0, pages(10)).cpu(1, pages(20));
                    file.user_long = user_long;
                    file.codec = codec;
                    let name = format!("{version}-{codec}-{kernel:?}-{page}.dat");
                    let (trace, decoded) = decode(&file.save(&name));
                    assert_eq!(decoded.damage, [], "{name}");
                    let expected: Vec<_> = [(0, 10), (1, 20)]
                        .into_iter()
                        .flat_map(|(cpu, first)| (0..3).map(move |n| (cpu, first + n * 2)))
                        .flat_map(|(cpu, number)| {
                            let time = i64::from(number) * 1000;
                            [(time, Some(cpu), number), (time + 7, Some(cpu), number + 1)]
                        })
                        .collect();
                    assert_eq!(ticks(&trace, &decoded), expected, "{name}");
                    assert_eq!(decoded.events, 12);
                    let environment = &trace.info().environment;
                    let long = ("kernel_long_bytes".to_owned(), kernel.long.to_string());
                    assert!(environment.contains(&long), "{environment:?}");
                    let tasks = [(42, "ticker".into()), (7, "a name with blanks".into())];
                    assert_eq!(trace.info().tasks, tasks);
                    assert_eq!(trace.symbol(0xffff_ffff_8100_0014).as_deref(), Some("later+0x4"));
                    std::fs::remove_file(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name))
                        .unwrap();
                }
            }
        }
    }
}

#[test]
fn time_extends_add_and_absolute_stamps_replace() {
    for kernel in KERNELS {
        let one = tick(kernel, 1);
        let page = Page::new(kernel, 4096, 1 << 40)
            .small(5, &one)
            .extend((3 << 27) + 9)
            .small(2, &one)
            .absolute((1 << 50) + 77)
            .small(1, &one);
        let second = (1 << 40) + 5 + (3 << 27) + 9 + 2;
        let expected = [(1 << 40) + 5, second, (1 << 50) + 78];
        assert_eq!(times(&format!("times-{kernel:?}.dat"), kernel, vec![page]), expected);
    }
}

#[test]
fn absolute_stamps_take_their_top_bits_from_the_time_before() {
    let one = tick(X86, 1);
    let top = 0x0au64 << 59;
    let page = Page::new(X86, 4096, top | 1000)
        .absolute(2000)
        .small(0, &one)
        // The 59 bits have wrapped: one more above them.
        .absolute(500)
        .small(0, &one);
    let expected = [(top | 2000) as i64, ((0x0bu64 << 59) | 500) as i64];
    assert_eq!(times("top.dat", X86, vec![page]), expected);
    // Without top bits a stamp that goes back is what the kernel wrote.
    let page = Page::new(X86, 4096, 1000).absolute(500).small(0, &one);
    assert_eq!(times("back.dat", X86, vec![page]), [500]);
}

#[test]
fn discarded_records_pass_time_and_padding_ends_a_page() {
    for kernel in KERNELS {
        let one = tick(kernel, 1);
        let first = Page::new(kernel, 4096, 100)
            .small(1, &one)
            .discard(10, 20)
            .small(1, &one)
            .discard(1, 4)
            .small(1, &one)
            .padding();
        let second = Page::new(kernel, 4096, 500).small(3, &one);
        let name = format!("discard-{kernel:?}.dat");
        assert_eq!(times(&name, kernel, vec![first, second]), [101, 112, 114, 503]);
    }
}

#[test]
fn every_record_may_be_a_large_one() {
    let pages =
        vec![(0..100).fold(Page::new(X86, 4096, 0), |page, n| page.large(1, &tick(X86, n)))];
    let file = File::new(7, X86, 4096).cpu(0, pages);
    let (trace, decoded) = decode(&file.save("large.dat"));
    let rows = ticks(&trace, &decoded);
    assert_eq!(rows.len(), 100);
    assert!(rows.iter().all(|&(time, _, number)| time == i64::from(number) + 1));
}

#[test]
fn losses_have_their_place_and_their_number_or_none() {
    for kernel in KERNELS {
        let page = |stamp| Page::new(kernel, 4096, stamp).small(1, &tick(kernel, 1));
        let pages = vec![page(100).lost(Some(9)), page(200), page(300).lost(None), page(400)];
        let file = File::new(7, kernel, 4096).cpu(0, vec![page(50)]).cpu(1, pages);
        let (_, decoded) = decode(&file.save(&format!("lost-{kernel:?}.dat")));
        let loss = |begin, end, count| Loss {
            stream: 1,
            kind: LossKind::Events,
            begin,
            end: Some(end),
            count,
        };
        let expected = [loss(None, 100, Some(9)), loss(Some(201), 300, None)];
        assert_eq!(decoded.losses, expected);
        assert_eq!(decoded.events, 5);
    }
}

#[test]
fn a_count_of_losses_that_does_not_fit_is_unknown() {
    let mut page = Page::new(X86, 4096, 100).lost(Some(9));
    while page.data.len() < 4080 - 16 {
        page = page.small(1, &tick(X86, 1));
    }
    let rest = 4080 - page.data.len();
    let full = page.small(1, &[TICK as u8; 12][..rest - 4]);
    assert_eq!(full.data.len(), 4080);
    // Page::bytes cuts off what does not fit, as the kernel does.
    let path = File::new(7, X86, 4096).cpu(0, vec![full]).save("lost-full.dat");
    let (_, decoded) = decode(&path);
    assert_eq!(decoded.losses[0].count, None);
}

#[test]
fn every_kind_of_field_becomes_a_column() {
    for kernel in KERNELS {
        let words = [1u16, 0xfffe, 3];
        let record = made::mixed(kernel, -5, "some name", &words);
        let none = made::mixed(kernel, i64::MAX, "", &[]);
        let page = Page::new(kernel, 4096, 0).small(1, &record).small(1, &none);
        let file = File::new(7, kernel, 4096).cpu(0, vec![page]);
        let (trace, decoded) = decode(&file.save(&format!("fields-{kernel:?}.dat")));
        let batch = &table(&trace, &decoded, "mixed")[0];
        assert_eq!(batch["common_flags"].as_primitive::<UInt8Type>().values(), &[1, 1]);
        assert_eq!(batch["common_preempt_count"].as_primitive::<UInt8Type>().values(), &[2, 2]);
        assert_eq!(batch["common_pid"].as_primitive::<Int32Type>().values(), &[-1, -1]);
        assert_eq!(batch["number"].as_primitive::<Int64Type>().values(), &[-5, i64::MAX]);
        let text = |name: &str| -> Vec<String> {
            batch[name].as_string::<i32>().iter().map(|value| value.unwrap().to_owned()).collect()
        };
        assert_eq!(text("name"), ["some name", ""]);
        assert_eq!(text("text"), ["some name", ""]);
        assert!(batch["set"].as_boolean().value(0));
        assert_eq!(batch["small"].as_primitive::<Int8Type>().value(0), -2);
        assert_eq!(batch["middle"].as_primitive::<Int16Type>().value(0), -3);
        let list = batch["words"].as_list::<i32>();
        assert_eq!(list.value(0).as_primitive::<UInt16Type>().values(), &words);
        assert_eq!(list.value(1).len(), 0);
        let pair = batch["pair"].as_list::<i32>().value(0);
        assert_eq!(pair.as_primitive::<UInt32Type>().values(), &[9, 8]);
        assert_eq!(batch["raw"].as_binary::<i32>().value(0), [1, 2, 3, 4]);
    }
}

#[test]
fn only_what_is_selected_is_decoded() {
    let record = made::mixed(X86, -5, "some name", &[1]);
    let page = Page::new(X86, 4096, 0).small(1, &record).small(1, &tick(X86, 3));
    let path = File::new(7, X86, 4096).cpu(0, vec![page]).save("selected.dat");
    let trace = tracefile::open(&path).unwrap();
    let selection = Selection::nothing().event("mixed", Some(&["text", "common_pid"]));
    let decoded = trace.decode(&selection, &Options::default()).unwrap();
    assert_eq!(decoded.events, 2);
    assert_eq!(decoded.tables.len(), 1);
    let batch = &decoded.tables[0].batches[0];
    let schema = batch.schema();
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    assert_eq!(names, ["time", "cpu", "common_pid", "text"]);
    assert_eq!(batch["text"].as_string::<i32>().value(0), "some name");
}

#[test]
fn arrays_without_a_size_go_to_the_end_of_the_record() {
    let mut file = File::new(7, X86, 4096);
    file.ftrace.push(made::format("print", 9, &[("char buf[]", 8, 0, false)], "\"%s\", REC->buf"));
    let stack = [("int size", 8, 4, true), ("unsigned long caller[8]", 16, 64, false)];
    file.ftrace.push(made::format("kernel_stack", 10, &stack, "\"\""));
    let head = |id: u8| [id, 0, 0, 0, 1, 0, 0, 0];
    let mut print = head(9).to_vec();
    print.extend(b"hello\0\0\0");
    let mut short = head(10).to_vec();
    short.extend([2, 0, 0, 0, 0, 0, 0, 0]);
    short.extend([5u64, 6].iter().flat_map(|address| address.to_le_bytes()));
    // Longer than the format says; and behind it is room, as some kernels leave it.
    let mut long = head(10).to_vec();
    long.extend([12, 0, 0, 0, 0, 0, 0, 0]);
    long.extend((1..=20u64).flat_map(u64::to_le_bytes));
    let page = Page::new(X86, 4096, 0).small(1, &print).small(1, &short).large(1, &long);
    let (trace, decoded) = decode(&file.cpu(0, vec![page]).save("rest.dat"));
    assert_eq!(decoded.damage, []);
    let batch = &table(&trace, &decoded, "print")[0];
    assert_eq!(batch["buf"].as_string::<i32>().value(0), "hello");
    let stacks = table(&trace, &decoded, "kernel_stack")[0]["caller"].as_list::<i32>().clone();
    let callers = |row| stacks.value(row).as_primitive::<UInt64Type>().values().to_vec();
    assert_eq!((callers(0), callers(1)), (vec![5, 6], (1..=12).collect()));
}

#[test]
fn events_without_a_format_are_kept_as_bytes() {
    let record = [99, 0, 1, 2, 3, 0, 0, 0, 0xab, 0xcd, 0, 0];
    let page = Page::new(X86, 4096, 0).small(4, &record).small(1, &tick(X86, 1));
    let (trace, decoded) = decode(&File::new(7, X86, 4096).cpu(0, vec![page]).save("unknown.dat"));
    let batch = &table(&trace, &decoded, "unknown")[0];
    assert_eq!(batch["common_type"].as_primitive::<UInt16Type>().value(0), 99);
    assert_eq!(batch["data"].as_binary::<i32>().value(0), record);
    assert_eq!(decoded.events, 2);
}

#[test]
fn data_that_point_out_of_their_record_are_null() {
    let mut record = made::mixed(X86, 1, "x", &[]);
    record[36..40].copy_from_slice(&0x00ff_0038u32.to_le_bytes());
    record[40..44].copy_from_slice(&0xffff_ffffu32.to_le_bytes());
    let page = Page::new(X86, 4096, 0).small(1, &record);
    let (trace, decoded) = decode(&File::new(7, X86, 4096).cpu(0, vec![page]).save("points.dat"));
    let batch = &table(&trace, &decoded, "mixed")[0];
    assert!(batch["text"].is_null(0));
    assert!(batch["words"].is_null(0));
    assert_eq!(batch["number"].as_primitive::<Int64Type>().value(0), 1);
}

#[test]
fn cpus_need_not_be_contiguous_and_instances_are_streams() {
    for version in [6, 7] {
        let page = |stamp, n| vec![Page::new(X86, 4096, stamp).small(1, &tick(X86, n))];
        let mut file = File::new(version, X86, 4096).cpu(0, page(10, 1)).cpu(1, page(20, 2));
        if version == 7 {
            file = file.cpu(5, page(30, 3)).cpu(260, vec![]);
        }
        file.instance = Some(("inner", vec![(0, page(15, 4))]));
        let (trace, decoded) = decode(&file.save(&format!("cpus-{version}.dat")));
        let names: Vec<&str> = trace.info().streams.iter().map(|s| s.name.as_str()).collect();
        let rows = ticks(&trace, &decoded);
        if version == 7 {
            assert_eq!(names, ["cpu 0", "cpu 1", "cpu 5", "cpu 260", "inner: cpu 0"]);
            assert_eq!(rows[2], (31, Some(5), 3));
            assert_eq!(trace.info().streams[3].cpu, Some(260));
        } else {
            assert_eq!(names, ["cpu 0", "cpu 1", "inner: cpu 0"]);
        }
        assert_eq!(rows.last(), Some(&(16, Some(0), 4)));
        assert_eq!(decoded.index.unwrap().time[..2], [11, 16]);
    }
}

#[test]
fn options_tell_of_clock_machine_and_losses() {
    let page = vec![Page::new(X86, 4096, 1000).small(24, &tick(X86, 1))];
    let cycles: Vec<u8> =
        [&3u32.to_le_bytes()[..], &1u32.to_le_bytes(), &0u64.to_le_bytes()].concat();
    let statistics = b"CPU: 0\nentries: 0\noverrun: 3\ncommit overrun: 0\ndropped events: 7\n\0";
    for version in [6, 7] {
        let file = File::new(version, X86, 4096)
            .cpu(0, page.clone())
            .option(4, b"local global [mono] boot\0")
            .option(5, b"Linux board 6.18.0 riscv64\0")
            .option(8, &4u32.to_le_bytes())
            .option(11, &0xabcu64.to_le_bytes())
            .option(14, &cycles)
            .option(7, b"-0x10\0")
            .option(1, b"0x3e8\0")
            .option(2, statistics)
            .option(77, b"?");
        let (trace, decoded) = decode(&file.save(&format!("options-{version}.dat")));
        assert_eq!(ticks(&trace, &decoded), [(1024 * 3 / 2 - 16, Some(0), 1)]);
        let info = trace.info();
        assert_eq!(info.clock.name, "mono");
        assert_eq!(info.clock.epoch_offset_ns, Some(1_000_000));
        assert_eq!(info.clock.frequency_hz, 666_666_666);
        for (name, value) in [
            ("hostname", "board"),
            ("kernel_release", "6.18.0"),
            ("machine", "riscv64"),
            ("cpu_count", "4"),
            ("trace_id", "0xabc"),
        ] {
            let pair = (name.to_owned(), value.to_owned());
            assert!(info.environment.contains(&pair), "{:?}", info.environment);
        }
        assert_eq!(info.losses.len(), 1);
        assert_eq!(info.losses[0].count, Some(7));
        assert!(info.notes.iter().any(|note| note.contains("3 events that were overwritten")));
    }
}

/// Option TIME_SHIFT: the trace id, flags, and of each CPU (time, offset) with scaling 1.
fn time_shift(kernel: Kernel, id: u64, flags: u32, cpus: &[&[(u64, i64)]]) -> Vec<u8> {
    let mut data = [kernel.u64(id), kernel.u32(flags), kernel.u32(cpus.len() as u32)].concat();
    for samples in cpus {
        data.extend(kernel.u32(samples.len() as u32));
        data.extend(samples.iter().flat_map(|&(time, _)| kernel.u64(time)));
        data.extend(samples.iter().flat_map(|&(_, offset)| kernel.u64(offset as u64)));
        data.extend(samples.iter().flat_map(|_| kernel.u64(1)));
    }
    data.extend(cpus.iter().flat_map(|samples| samples.iter().flat_map(|_| kernel.u64(0))));
    data
}

#[test]
fn stamps_are_moved_to_the_clock_of_another_recording() {
    for kernel in KERNELS {
        let page = |cpu: u32| {
            let one = tick(kernel, cpu);
            vec![Page::new(kernel, 4096, 1000).small(0, &one).small(500, &one).small(1500, &one)]
        };
        let file = File::new(7, kernel, 4096).cpu(0, page(0)).cpu(1, page(1)).cpu(2, page(2));
        let of_first: &[(u64, i64)] = &[(1000, 100), (2000, 300), (2001, -40)];
        let of_second: &[(u64, i64)] = &[(9, -700)];
        let moved = |flags| {
            let option = time_shift(kernel, 0x77, flags, &[of_first, of_second]);
            let name = format!("shifted-{flags}-{kernel:?}.dat");
            let file = file.clone().option(12, &option).option(7, b"5\0");
            let (trace, decoded) = decode(&file.save(&name));
            assert_eq!(trace.info().clock.uuid.as_deref(), Some("0x77"));
            let note = "times are moved to the clock of the recording 0x77, by -700 to 300 ns";
            assert!(trace.info().notes.iter().any(|told| told == note), "{:?}", trace.info().notes);
            assert_eq!(trace.span().unwrap(), decoded.span);
            ticks(&trace, &decoded).into_iter().map(|(time, ..)| time).collect::<Vec<_>>()
        };
        // On a line between samples and beyond the last two; of a CPU that has none, as they are.
        let (second, third) = ([305, 805, 2305], [1005, 1505, 3005]);
        assert_eq!(moved(1), [[1105, 1705, 3005 - 40 - 340 * 999], second, third].concat());
        assert_eq!(moved(0), [[1105, 1605, 3305], second, third].concat());
    }
}

#[test]
fn names_that_two_systems_have_are_told_apart() {
    let mut file = File::new(7, X86, 4096);
    let fields = [("u32 cpu", 8, 4, false), ("u32 time", 12, 4, false)];
    file.formats.push(("other", vec![made::format("tick", 12, &fields, "\"\"")]));
    let mut record = tick(X86, 5);
    record[0] = 12;
    record.extend([6, 0, 0, 0]);
    let page = Page::new(X86, 4096, 0).small(1, &record);
    let (trace, decoded) = decode(&file.cpu(0, vec![page]).save("names.dat"));
    let batch = &table(&trace, &decoded, "other:tick")[0];
    assert_eq!(batch["payload.cpu"].as_primitive::<UInt32Type>().value(0), 5);
    assert_eq!(batch["payload.time"].as_primitive::<UInt32Type>().value(0), 6);
}

#[test]
fn a_latency_tracers_text_is_refused_by_name() {
    for version in [6, 7] {
        let mut file = File::new(version, X86, 4096);
        file.latency = true;
        let error = tracefile::open(&file.save(&format!("latency-{version}.dat"))).err().unwrap();
        assert!(matches!(error, Error::Unsupported { .. }), "{error}");
        assert!(error.to_string().contains("latency tracer"), "{error}");
    }
}

#[test]
fn what_is_not_known_is_refused_by_name() {
    let mut file = File::new(7, X86, 4096);
    file.codec = "lz77";
    let error = tracefile::open(&file.save("codec.dat")).err().unwrap().to_string();
    assert!(error.contains("compression lz77 (known: none, zlib, zstd)"), "{error}");
    let mut bytes = File::new(7, X86, 4096).bytes();
    bytes[10] = b'8';
    let error = tracefile::open(&made::save(&bytes, "version.dat")).err().unwrap().to_string();
    assert!(error.contains("trace.dat version 8"), "{error}");
    let error = tracefile::open(&made::save(b"\x17\x08\x44tra", "other")).err().unwrap();
    assert!(matches!(error, Error::NotATrace { .. }), "{error}");
    let error = tracefile::open(&made::save(b"", "empty.dat")).err().unwrap().to_string();
    assert!(error.ends_with("is not a trace: it is empty"), "{error}");
}

fn small(version: u8, codec: &'static str) -> Vec<u8> {
    let page = |n: u32| {
        Page::new(X86, 128, u64::from(n) * 100)
            .small(1, &tick(X86, n))
            .large(1, &made::mixed(X86, 3, "name", &[1, 2])[..64])
    };
    let mut file =
        File::new(version, X86, 128).cpu(0, vec![page(1), page(2)]).cpu(1, vec![page(3)]);
    file.codec = codec;
    let shift = time_shift(X86, 7, 1, &[&[(0, 1), (1, 2), (2000, 3)]]);
    file.option(5, b"Linux board 6.18.0 riscv64\0").option(12, &shift).bytes()
}

/// A file that ends anywhere gives what precedes its end, and says that it ends too early.
#[test]
fn files_cut_short_anywhere() {
    for (version, codec) in [(6, "none"), (7, "none"), (7, "zstd")] {
        let whole = small(version, codec);
        let name = format!("cut-{version}-{codec}.dat");
        let path = made::save(&whole, &name);
        let (_, all) = decode(&path);
        assert_eq!((all.events, &all.damage), (6, &vec![]));
        let mut seen = 0;
        for length in 11..whole.len() {
            made::save(&whole[..length], &name);
            match tracefile::open(&path) {
                Err(Error::Damaged { offset, what, .. }) => {
                    assert!(offset as usize <= length, "{length}: {offset} {what}");
                }
                Err(error) => panic!("{length}: {error}"),
                Ok(trace) => {
                    let options = Options::default();
                    let decoded = trace.decode(&Selection::everything(), &options).unwrap();
                    assert_ne!(decoded.damage, [], "{length} of {}", whole.len());
                    seen = seen.max(decoded.events);
                    if version == 6 {
                        assert!(decoded.events >= all.events.min(seen), "{length}");
                    }
                }
            }
        }
        assert_eq!(seen, 6, "version {version} {codec}");
    }
}

#[test]
fn pages_are_found_without_the_options_behind_them() {
    let page = |n: u32| Page::new(X86, 128, u64::from(n) * 100).small(1, &tick(X86, n));
    let mut bytes =
        File::new(7, X86, 128).cpu(0, vec![page(1), page(2)]).cpu(1, vec![page(3)]).bytes();
    let end = bytes.windows(6).rposition(|window| window == b"\0mono\0").unwrap() - 30;
    bytes.truncate(end);
    let (trace, decoded) = decode(&made::save(&bytes, "recovered.dat"));
    assert_eq!(ticks(&trace, &decoded), [(101, None, 1), (201, None, 2), (301, None, 3)]);
    let told: Vec<&str> = decoded.damage.iter().map(|damage| damage.what.as_str()).collect();
    assert!(told[0].starts_with("options: the file ends before"), "{told:?}");
    assert!(told[1].starts_with("the table of the CPUs' data is lost"), "{told:?}");
}

/// Records that no kernel writes.
#[test]
fn damaged_pages_give_the_records_before_the_damage() {
    let good = |stamp| Page::new(X86, 4096, stamp).small(1, &tick(X86, 1));
    let cases = [
        (good(100).raw(0, 1, &2u32.to_le_bytes()), "a record of 2 bytes"),
        (good(100).raw(0, 1, &4000u32.to_le_bytes()), "beyond the page's data"),
        (good(100).raw(0, 1, &u32::MAX.to_le_bytes()), "beyond the page's data"),
        (good(100).raw(28, 1, &[0; 8]), "beyond the page's data"),
        (good(100).raw(29, 1, &u32::MAX.to_le_bytes()), "beyond the page's data"),
        (good(100).raw(31, 1, &[]), "beyond the page's data"),
    ];
    for (number, (page, what)) in cases.into_iter().enumerate() {
        let file = File::new(7, X86, 4096).cpu(0, vec![page, good(200)]);
        let (trace, decoded) = decode(&file.save(&format!("damaged-{number}.dat")));
        let times: Vec<i64> = ticks(&trace, &decoded).iter().map(|row| row.0).collect();
        assert_eq!(times, [101, 201], "{what}");
        assert_eq!(decoded.damage.len(), 1, "{what}");
        assert!(decoded.damage[0].what.contains(what), "{}", decoded.damage[0].what);
    }
    let mut short = tick(X86, 1);
    short.truncate(8);
    let page = good(100).small(1, &short).small(1, &tick(X86, 2));
    let (trace, decoded) = decode(&File::new(7, X86, 4096).cpu(0, vec![page]).save("short.dat"));
    assert_eq!(ticks(&trace, &decoded).len(), 2);
    assert!(decoded.damage[0].what.contains("shorter than their format (tick)"));
}

/// Bytes changed at random: every answer is one of the known kinds, in bounded time.
#[test]
fn changed_bytes_do_no_harm() {
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for (version, codec) in [(6, "none"), (7, "none"), (7, "zlib"), (7, "zstd")] {
        let whole = small(version, codec);
        for _ in 0..400 {
            let mut bytes = whole.clone();
            for _ in 0..=random() % 4 {
                let at = (random() % bytes.len() as u64) as usize;
                bytes[at] = match random() % 4 {
                    0 => 0,
                    1 => 0xff,
                    2 => bytes[at] ^ (1 << (random() % 8)),
                    _ => random() as u8,
                };
            }
            let path = made::save(&bytes, &format!("changed-{version}-{codec}.dat"));
            if let Ok(trace) = tracefile::open(&path) {
                let decoded = trace.decode(&Selection::everything(), &Options::default());
                let decoded = decoded.unwrap();
                assert!(decoded.events <= bytes.len() as u64 * 100, "{}", decoded.events);
                let _ = trace.symbol(0x8100_0000_0000_0000);
            }
        }
    }
}

/// Pages of random bytes, most with a size that leaves something to walk.
#[test]
fn random_pages_are_walked_to_an_end() {
    let mut state = 0x1234_5678_9abc_def1u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for kind in 0..4u8 {
        for _ in 0..2000 {
            let mut bytes: Vec<u8> = (0..513).map(|_| random() as u8).collect();
            bytes[0] = kind;
            let kernel = Kernel { big: kind & 1 != 0, long: if kind & 2 == 0 { 8 } else { 4 } };
            let commit = kernel.long((random() % 600) | ((random() % 4) << 30));
            bytes[9..9 + kernel.long].copy_from_slice(&commit);
            assert!(tracefile::walk_page(&bytes) <= bytes.len() / 4);
        }
    }
}
