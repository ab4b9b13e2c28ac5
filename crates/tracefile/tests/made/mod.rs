//! Builds trace.dat files by hand, after the description of the format: what no real trace holds.

#![allow(dead_code, reason = "every test file uses a part")]

pub mod elf;
pub mod perf;
pub mod wire;

use std::io::Write;
use std::path::PathBuf;

/// Byte order and size of the kernel's long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kernel {
    pub big: bool,
    pub long: usize,
}

pub const X86: Kernel = Kernel { big: false, long: 8 };

impl Kernel {
    pub fn u16(self, value: u16) -> Vec<u8> {
        if self.big { value.to_be_bytes().into() } else { value.to_le_bytes().into() }
    }

    pub fn u32(self, value: u32) -> Vec<u8> {
        if self.big { value.to_be_bytes().into() } else { value.to_le_bytes().into() }
    }

    pub fn u64(self, value: u64) -> Vec<u8> {
        if self.big { value.to_be_bytes().into() } else { value.to_le_bytes().into() }
    }

    pub fn long(self, value: u64) -> Vec<u8> {
        if self.long == 8 { self.u64(value) } else { self.u32(value as u32) }
    }

    /// Bytes before the records of a page.
    pub fn page_head(self) -> usize {
        8 + self.long
    }

    fn header_page(self, page: usize) -> String {
        let (long, data) = (self.long, self.page_head());
        format!(
            "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
             \tfield: local_t commit;\toffset:8;\tsize:{long};\tsigned:1;\n\
             \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
             \tfield: char data;\toffset:{data};\tsize:{};\tsigned:0;\n",
            page - data
        )
    }
}

/// A page of the ring buffer.
#[derive(Clone)]
pub struct Page {
    kernel: Kernel,
    stamp: u64,
    size: usize,
    pub data: Vec<u8>,
    flags: u64,
    behind: Vec<u8>,
}

impl Page {
    pub fn new(kernel: Kernel, size: usize, stamp: u64) -> Self {
        Self { kernel, stamp, size, data: vec![], flags: 0, behind: vec![] }
    }

    fn header(&mut self, kind: u32, delta: u32) {
        assert!(delta < 1 << 27);
        let word = if self.kernel.big { kind << 27 | delta } else { delta << 5 | kind };
        self.data.extend(self.kernel.u32(word));
    }

    fn word(&mut self, value: u32) {
        self.data.extend(self.kernel.u32(value));
    }

    /// A record with its length in the header.
    pub fn small(mut self, delta: u32, payload: &[u8]) -> Self {
        let words = payload.len().div_ceil(4);
        assert!((1..=28).contains(&words));
        self.header(words as u32, delta);
        self.data.extend(payload);
        self.data.resize(self.data.len().next_multiple_of(4), 0xee);
        self
    }

    /// A record with its length in the word behind the header.
    pub fn large(mut self, delta: u32, payload: &[u8]) -> Self {
        self.header(0, delta);
        self.word(payload.len() as u32 + 4);
        self.data.extend(payload);
        self.data.resize(self.data.len().next_multiple_of(4), 0xee);
        self
    }

    /// A discarded record of so many bytes behind its header.
    pub fn discard(mut self, delta: u32, bytes: u32) -> Self {
        self.header(29, delta);
        self.word(bytes);
        self.data.resize(self.data.len() + bytes as usize - 4, 0xdd);
        self
    }

    /// The rest of the page is padding.
    pub fn padding(mut self) -> Self {
        self.header(29, 0);
        let most = self.size - self.kernel.page_head();
        self.data.resize(most, 0xff);
        self
    }

    pub fn extend(mut self, delta: u64) -> Self {
        self.header(30, (delta & ((1 << 27) - 1)) as u32);
        self.word((delta >> 27) as u32);
        self
    }

    pub fn absolute(mut self, stamp: u64) -> Self {
        self.header(31, (stamp & ((1 << 27) - 1)) as u32);
        self.word((stamp >> 27) as u32);
        self
    }

    pub fn raw(mut self, kind: u32, delta: u32, rest: &[u8]) -> Self {
        self.header(kind, delta);
        self.data.extend(rest);
        self
    }

    /// Events were lost before the page; `count`: as many, when the kernel stored that.
    pub fn lost(mut self, count: Option<u64>) -> Self {
        self.flags = 1 << 31;
        if let Some(count) = count {
            self.flags |= 1 << 30;
            self.behind = self.kernel.long(count);
        }
        self
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut page = self.kernel.u64(self.stamp);
        page.extend(self.kernel.long(self.data.len() as u64 | self.flags));
        page.extend(&self.data);
        page.extend(&self.behind);
        // What is behind the data means nothing.
        page.resize(self.size, 0xa5);
        page
    }
}

/// The ids of the events that [`File::new`] describes.
pub const TICK: u16 = 7;
pub const MIXED: u16 = 300;

const COMMON: &str = "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
    \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
    \tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n\
    \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";

/// `(declaration, offset, size, signed)` of each field behind the common ones.
pub fn format(name: &str, id: u16, fields: &[(&str, usize, usize, bool)], print: &str) -> String {
    let mut text = format!("name: {name}\nID: {id}\nformat:\n{COMMON}");
    for (declaration, offset, size, signed) in fields {
        let signed = u8::from(*signed);
        text +=
            &format!("\tfield:{declaration};\toffset:{offset};\tsize:{size};\tsigned:{signed};\n");
    }
    text + &format!("\nprint fmt: {print}\n")
}

fn common(kernel: Kernel, id: u16, pid: i32) -> Vec<u8> {
    let mut bytes = kernel.u16(id);
    bytes.extend([1, 2]);
    bytes.extend(kernel.u32(pid as u32));
    bytes
}

/// The record of a TICK event: `u32 number` at 8.
pub fn tick(kernel: Kernel, number: u32) -> Vec<u8> {
    let mut bytes = common(kernel, TICK, 42);
    bytes.extend(kernel.u32(number));
    bytes
}

/// The record of a MIXED event: every kind of field.
pub fn mixed(kernel: Kernel, number: i64, name: &str, words: &[u16]) -> Vec<u8> {
    let mut bytes = common(kernel, MIXED, -1);
    bytes.extend(kernel.u64(number as u64)); // 8
    let mut comm = name.as_bytes().to_vec();
    comm.resize(16, 0);
    bytes.extend(comm); // 16
    bytes.push(1); // 32 bool
    bytes.push(0xfe); // 33 s8
    bytes.extend(kernel.u16(0xfffd)); // 34 s16
    let fixed = 56;
    let text_length = name.len() + 1;
    let words_at = (fixed + text_length).next_multiple_of(2);
    bytes.extend(kernel.u32((text_length as u32) << 16 | fixed as u32)); // 36 __data_loc
    let relative = words_at - 44;
    bytes.extend(kernel.u32((words.len() as u32 * 2) << 16 | relative as u32)); // 40 __rel_loc
    bytes.extend(kernel.u32(9)); // 44
    bytes.extend(kernel.u32(8)); // 48
    bytes.extend([1, 2, 3, 4]); // 52
    assert_eq!(bytes.len(), fixed);
    bytes.extend(name.as_bytes());
    bytes.push(0);
    bytes.resize(words_at, 0);
    words.iter().for_each(|&word| bytes.extend(kernel.u16(word)));
    bytes
}

/// CPUs with their pages.
type Cpus = Vec<(u32, Vec<Page>)>;

/// A trace.dat file.
#[derive(Clone)]
pub struct File {
    pub version: u8,
    pub kernel: Kernel,
    pub user_long: u8,
    pub page: usize,
    pub codec: &'static str,
    pub ftrace: Vec<String>,
    pub formats: Vec<(&'static str, Vec<String>)>,
    pub cpus: Cpus,
    pub options: Vec<(u16, Vec<u8>)>,
    /// Name and pages of a second instance.
    pub instance: Option<(&'static str, Cpus)>,
    pub latency: bool,
}

impl File {
    pub fn new(version: u8, kernel: Kernel, page: usize) -> Self {
        let mixed = [
            ("s64 number", 8, 8, true),
            ("char name[16]", 16, 16, false),
            ("bool set", 32, 1, false),
            ("s8 small", 33, 1, true),
            ("short middle", 34, 2, true),
            ("__data_loc char[] text", 36, 4, false),
            ("__rel_loc u16[] words", 40, 4, false),
            ("u32 pair[2]", 44, 8, false),
            ("u8 raw[4]", 52, 4, false),
        ];
        Self {
            version,
            kernel,
            user_long: kernel.long as u8,
            page,
            codec: "none",
            ftrace: vec![format(
                "tick",
                TICK,
                &[("unsigned int number", 8, 4, false)],
                "\"%u\", REC->number",
            )],
            formats: vec![("made", vec![format("mixed", MIXED, &mixed, "\"%d\", REC->number")])],
            cpus: vec![],
            options: vec![],
            instance: None,
            latency: false,
        }
    }

    pub fn cpu(mut self, cpu: u32, pages: Vec<Page>) -> Self {
        self.cpus.push((cpu, pages));
        self
    }

    pub fn option(mut self, id: u16, data: &[u8]) -> Self {
        self.options.push((id, data.to_vec()));
        self
    }

    /// The whole file.
    pub fn bytes(&self) -> Vec<u8> {
        let kernel = self.kernel;
        let mut file = b"\x17\x08\x44tracing".to_vec();
        file.extend(format!("{}\0", self.version).bytes());
        file.push(u8::from(kernel.big));
        file.push(self.user_long);
        file.extend(kernel.u32(self.page as u32));
        if self.version == 6 { self.version_6(file) } else { self.version_7(file) }
    }

    /// Writes the file where tests may write, and returns its path.
    pub fn save(&self, name: &str) -> PathBuf {
        save(&self.bytes(), name)
    }

    pub fn header_info(&self) -> Vec<u8> {
        let mut block = b"header_page\0".to_vec();
        block.extend(self.sized(&self.kernel.header_page(self.page)));
        block.extend(b"header_event\0");
        block.extend(self.sized("# compressed entry header\n"));
        block
    }

    fn sized(&self, text: &str) -> Vec<u8> {
        let mut block = self.kernel.u64(text.len() as u64);
        block.extend(text.bytes());
        block
    }

    pub fn texts(&self, texts: &[String]) -> Vec<u8> {
        let mut block = self.kernel.u32(texts.len() as u32);
        texts.iter().for_each(|text| block.extend(self.sized(text)));
        block
    }

    pub fn event_formats(&self) -> Vec<u8> {
        let mut block = self.kernel.u32(self.formats.len() as u32);
        for (system, texts) in &self.formats {
            block.extend(format!("{system}\0").bytes());
            block.extend(self.texts(texts));
        }
        block
    }

    pub fn kallsyms(&self) -> Vec<u8> {
        let text = "ffffffff81000000 T start\nffffffff81000010 t later\t[module]\n";
        let mut block = self.kernel.u32(text.len() as u32);
        block.extend(text.bytes());
        block
    }

    fn cmdlines(&self) -> Vec<u8> {
        self.sized("42 ticker\n7 a name with blanks\n")
    }

    fn option_list(&self) -> Vec<u8> {
        let mut block = Vec::new();
        self.options.iter().for_each(|(id, data)| block.extend(self.one(*id, data)));
        block
    }

    fn one(&self, id: u16, data: &[u8]) -> Vec<u8> {
        let mut block = self.kernel.u16(id);
        block.extend(self.kernel.u32(data.len() as u32));
        block.extend(data);
        block
    }

    /// Table and pages of CPUs, for a table that begins at `at`.
    fn flyrecord(&self, file: &mut Vec<u8>, cpus: &[(u32, Vec<Page>)]) {
        let table = file.len();
        file.resize(table + cpus.len() * 16, 0);
        for (number, (_, pages)) in cpus.iter().enumerate() {
            file.resize(file.len().next_multiple_of(self.page), 0);
            let begin = file.len();
            pages.iter().for_each(|page| file.extend(page.bytes()));
            let mut entry = self.kernel.u64(begin as u64);
            entry.extend(self.kernel.u64((file.len() - begin) as u64));
            file[table + number * 16..][..16].copy_from_slice(&entry);
        }
    }

    fn version_6(&self, mut file: Vec<u8>) -> Vec<u8> {
        let kernel = self.kernel;
        file.extend(self.header_info());
        file.extend(self.texts(&self.ftrace));
        file.extend(self.event_formats());
        file.extend(self.kallsyms());
        file.extend(kernel.u32(0)); // printk
        file.extend(self.cmdlines());
        file.extend(kernel.u32(self.cpus.len() as u32));
        let mut patch = None;
        if !self.options.is_empty() || self.instance.is_some() {
            file.extend(b"options  \0");
            file.extend(self.option_list());
            if let Some((name, _)) = &self.instance {
                patch = Some(file.len() + 6);
                let mut place = kernel.u64(0);
                place.extend(format!("{name}\0").bytes());
                file.extend(self.one(3, &place));
            }
            file.extend(kernel.u16(0));
        }
        if self.latency {
            file.extend(b"latency  \0# tracer: wakeup\n");
            return file;
        }
        file.extend(b"flyrecord\0");
        self.flyrecord(&mut file, &self.cpus);
        if let (Some(at), Some((_, cpus))) = (patch, &self.instance) {
            let place = kernel.u64(file.len() as u64);
            file[at..at + 8].copy_from_slice(&place);
            file.extend(b"options  \0");
            file.extend(self.one(8, &kernel.u32(cpus.len() as u32)));
            file.extend(kernel.u16(0));
            file.extend(b"flyrecord\0");
            self.flyrecord(&mut file, cpus);
        }
        file
    }

    pub fn pack(&self, bytes: &[u8]) -> Vec<u8> {
        match self.codec {
            "zlib" => {
                let level = flate2::Compression::fast();
                let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), level);
                encoder.write_all(bytes).unwrap();
                encoder.finish().unwrap()
            }
            "zstd" => zstd::stream::encode_all(bytes, 1).unwrap(),
            _ => bytes.to_vec(),
        }
    }

    fn section(&self, file: &mut Vec<u8>, id: u16, contents: &[u8]) -> u64 {
        let place = file.len() as u64;
        let packed = self.codec != "none" && id != 0;
        file.extend(self.kernel.u16(id));
        file.extend(self.kernel.u16(u16::from(packed)));
        file.extend(self.kernel.u32(0));
        let mut stored = Vec::new();
        if packed {
            let small = self.pack(contents);
            stored.extend(self.kernel.u32(small.len() as u32));
            stored.extend(self.kernel.u32(contents.len() as u32));
            stored.extend(small);
        } else {
            stored.extend(contents);
        }
        file.extend(self.kernel.u64(stored.len() as u64));
        file.extend(stored);
        place
    }

    /// Section 3 with the pages, and the BUFFER option for it.
    fn buffer(&self, file: &mut Vec<u8>, name: &str, cpus: &[(u32, Vec<Page>)]) -> Vec<u8> {
        let kernel = self.kernel;
        let place = file.len();
        file.extend(kernel.u16(3));
        file.extend(kernel.u16(u16::from(self.codec != "none")));
        file.extend(kernel.u32(0));
        file.extend(kernel.u64(0));
        let mut option = kernel.u64(place as u64);
        option.extend(format!("{name}\0mono\0").bytes());
        option.extend(kernel.u32(self.page as u32));
        option.extend(kernel.u32(cpus.len() as u32));
        for (cpu, pages) in cpus {
            file.resize(file.len().next_multiple_of(self.page), 0);
            let begin = file.len();
            if self.codec == "none" {
                pages.iter().for_each(|page| file.extend(page.bytes()));
            } else {
                // Chunks of two pages.
                file.extend(kernel.u32(pages.len().div_ceil(2) as u32));
                for chunk in pages.chunks(2) {
                    let plain: Vec<u8> = chunk.iter().flat_map(Page::bytes).collect();
                    let packed = self.pack(&plain);
                    file.extend(kernel.u32(packed.len() as u32));
                    file.extend(kernel.u32(plain.len() as u32));
                    file.extend(packed);
                }
            }
            // trace-cmd's sizes of compressed data do not count the count of chunks.
            let size = file.len() - begin - if self.codec == "none" { 0 } else { 4 };
            option.extend(kernel.u32(*cpu));
            option.extend(kernel.u64(begin as u64));
            option.extend(kernel.u64(size as u64));
        }
        let size = kernel.u64((file.len() - place - 16) as u64);
        file[place + 8..place + 16].copy_from_slice(&size);
        self.one(3, &option)
    }

    fn version_7(&self, mut file: Vec<u8>) -> Vec<u8> {
        let kernel = self.kernel;
        file.extend(format!("{}\0{}\0", self.codec, "1.0").bytes());
        let first = file.len();
        file.extend(kernel.u64(0));
        let sections = [
            (16, self.header_info()),
            (17, self.texts(&self.ftrace)),
            (18, self.event_formats()),
            (19, self.kallsyms()),
            (21, self.cmdlines()),
        ];
        let mut options = Vec::new();
        for (id, contents) in sections {
            let place = self.section(&mut file, id, &contents);
            options.extend(self.one(id, &kernel.u64(place)));
        }
        options.extend(self.option_list());
        options.extend(self.one(0, &kernel.u64(0)));
        let place = self.section(&mut file, 0, &options);
        file[first..first + 8].copy_from_slice(&kernel.u64(place));
        // The place of the next options is known only behind the pages.
        let next = file.len() - 8;
        let mut last = match self.latency {
            false => self.buffer(&mut file, "", &self.cpus),
            true => {
                let mut option = kernel.u64(place);
                option.extend(b"\0local\0");
                self.one(22, &option)
            }
        };
        if let Some((name, cpus)) = &self.instance {
            last.extend(self.buffer(&mut file, name, cpus));
        }
        last.extend(self.one(0, &kernel.u64(0)));
        let place = self.section(&mut file, 0, &last);
        file[next..next + 8].copy_from_slice(&kernel.u64(place));
        file
    }
}

/// Writes bytes where tests may write.
pub fn save(bytes: &[u8], name: &str) -> PathBuf {
    // Fuzzers are no tests, and have no such directory.
    let directory = option_env!("CARGO_TARGET_TMPDIR").map_or_else(std::env::temp_dir, Into::into);
    let path = directory.join(name);
    // A new file: writing over one waits for the disk.
    let _ = std::fs::remove_file(&path);
    std::fs::write(&path, bytes).expect("the directory for tests can be written");
    path
}
