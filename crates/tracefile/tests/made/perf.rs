//! Builds perf.data files by hand, after the description of the format.

use std::path::PathBuf;

use super::{File, Kernel, save};

// Bits of a sample's form.
pub const IP: u64 = 1 << 0;
pub const TID: u64 = 1 << 1;
pub const TIME: u64 = 1 << 2;
pub const CALLCHAIN: u64 = 1 << 5;
pub const CPU: u64 = 1 << 7;
pub const PERIOD: u64 = 1 << 8;
pub const RAW: u64 = 1 << 10;
/// The program's registers, the copy of its stack.
pub const REGISTERS: u64 = 1 << 12;
pub const STACK: u64 = 1 << 13;
pub const IDENTIFIER: u64 = 1 << 16;
pub const SAMPLE_ID_ALL: u64 = 1 << 18;

/// Two functions of the kernel, one of a guest, one of the program.
pub const CHAIN: [u64; 7] =
    [CONTEXT_KERNEL, 0xffff_ffff_8100_0007, 9, CONTEXT_GUEST, 5, CONTEXT_USER, 8];
pub const CONTEXT_KERNEL: u64 = -128i64 as u64;
pub const CONTEXT_USER: u64 = -512i64 as u64;
pub const CONTEXT_GUEST: u64 = -2048i64 as u64;

pub const TRACEPOINT: u32 = 2;
pub const SOFTWARE: u32 = 1;

/// Code of a file in memory.
#[derive(Default)]
pub struct Mapped<'a> {
    pub start: u64,
    pub length: u64,
    pub offset: u64,
    pub path: &'a str,
    pub build_id: &'a [u8],
}

/// Registers of a program: which there are, as perf numbers them, and their values.
#[derive(Clone, Default)]
pub struct Registers {
    pub narrow: bool,
    pub mask: u64,
    pub values: Vec<u64>,
}

/// A perf.data file with events 0 (a tracepoint) and 1 (`second`).
pub struct Perf {
    pub kernel: Kernel,
    pub form: u64,
    pub second: u32,
    pub records: Vec<u8>,
    /// As `uname -m` names it, padded to eight bytes.
    pub machine: [u8; 8],
    /// What each sample holds of a program: its registers, by perf's numbers, and the copy of its
    /// stack.
    pub copied: Option<(Registers, Vec<u8>)>,
}

impl Perf {
    pub fn new(kernel: Kernel) -> Self {
        let form = IP | TID | TIME | CALLCHAIN | CPU | PERIOD | RAW | IDENTIFIER;
        let machine = *b"x86_64\0\0";
        Self { kernel, form, second: SOFTWARE, records: vec![], machine, copied: None }
    }

    pub fn record(mut self, kind: u32, body: &[u8]) -> Self {
        self.records.extend(record(self.kernel, kind, body));
        self
    }

    pub fn sample(self, id: u64, time: u64, cpu: u32, raw: &[u8]) -> Self {
        let body = self.body(id, time, cpu, raw);
        self.record(9, &body)
    }

    fn body(&self, id: u64, time: u64, cpu: u32, raw: &[u8]) -> Vec<u8> {
        let kernel = self.kernel;
        let mut body = kernel.u64(id);
        body.extend(kernel.u64(0xdead)); // ip
        body.extend([kernel.u32(1), kernel.u32(1)].concat());
        body.extend(kernel.u64(time));
        body.extend([kernel.u32(cpu), kernel.u32(0)].concat());
        body.extend(kernel.u64(1)); // period
        body.extend(kernel.u64(CHAIN.len() as u64));
        CHAIN.iter().for_each(|&word| body.extend(kernel.u64(word)));
        body.extend(kernel.u32(raw.len() as u32));
        body.extend(raw);
        if let Some((registers, stack)) = &self.copied {
            body.extend(kernel.u64(if registers.narrow { 1 } else { 2 }));
            registers.values.iter().for_each(|&register| body.extend(kernel.u64(register)));
            body.extend(kernel.u64(stack.len() as u64));
            body.extend(stack);
            body.extend(kernel.u64(stack.len() as u64));
        }
        body
    }

    /// The same with copies of stacks in the samples that follow.
    pub fn copying(self, registers: [u64; 9], stack: &[u8]) -> Self {
        let values = registers.to_vec();
        self.copying_of(
            *b"x86_64\0\0",
            Registers { narrow: false, mask: 0b1_1111_1111, values },
            stack,
        )
    }

    /// The same of another machine.
    pub fn copying_of(mut self, machine: [u8; 8], registers: Registers, stack: &[u8]) -> Self {
        self.form |= REGISTERS | STACK;
        self.machine = machine;
        self.copied = Some((registers, stack.into()));
        self
    }

    /// Process 1 has had code of a file in memory since a time.
    pub fn mapped(mut self, time: u64, code: &Mapped<'_>) -> Self {
        let kernel = self.kernel;
        let mut body = [kernel.u32(1), kernel.u32(1)].concat();
        body.extend(
            [code.start, code.length, code.offset].map(|number| kernel.u64(number)).concat(),
        );
        // A build-id's length and the build-id, or device and number of the file.
        let mut identity = vec![code.build_id.len() as u8, 0, 0, 0];
        identity.extend(code.build_id);
        identity.resize(24, 0);
        body.extend(identity);
        body.extend([kernel.u32(5), kernel.u32(2)].concat()); // may be executed; private
        body.extend(code.path.as_bytes());
        body.resize((body.len() + 1).next_multiple_of(8), 0);
        body.extend([kernel.u32(1), kernel.u32(1), kernel.u64(time), kernel.u64(0)].concat());
        body.extend(kernel.u64(100));
        let flags = 2 | if code.build_id.is_empty() { 0 } else { 1 << 14 };
        let size = kernel.u16(body.len() as u16 + 8);
        self.records.extend([kernel.u32(10), kernel.u16(flags), size, body].concat());
        self
    }

    /// A record of losses with its trailer.
    pub fn lost(self, count: u64, time: u64, cpu: u32) -> Self {
        let kernel = self.kernel;
        let mut body = [kernel.u64(100), kernel.u64(count)].concat();
        body.extend([kernel.u32(1), kernel.u32(1)].concat());
        body.extend(kernel.u64(time));
        body.extend([kernel.u32(cpu), kernel.u32(0)].concat());
        body.extend(kernel.u64(100));
        self.record(2, &body)
    }

    pub fn bytes(&self) -> Vec<u8> {
        let kernel = self.kernel;
        let attribute_size = 112;
        let mut tracing = b"\x17\x08\x44tracing0.6\0".to_vec();
        tracing.push(u8::from(kernel.big));
        tracing.push(kernel.long as u8);
        tracing.extend(kernel.u32(4096));
        let texts = File::new(6, kernel, 4096);
        tracing.extend(texts.header_info());
        tracing.extend(texts.texts(&texts.ftrace));
        tracing.extend(texts.event_formats());
        tracing.extend(texts.kallsyms());
        let host = [kernel.u32(8), b"board\0\0\0".to_vec()].concat();
        let machine = [kernel.u32(8), self.machine.to_vec()].concat();
        let clock = [kernel.u32(1), kernel.u32(1), kernel.u64(5_000), kernel.u64(2_000)].concat();

        let ids = 104;
        let attributes = ids + 16;
        let data = attributes + 2 * (attribute_size + 16);
        let mut file = if kernel.big { b"2ELIFREP".to_vec() } else { b"PERFILE2".to_vec() };
        let numbers = [
            104,
            attribute_size + 16,
            attributes,
            2 * (attribute_size + 16),
            data,
            self.records.len() as u64,
            0,
            0,
            1 << 1 | 1 << 3 | 1 << 6 | 1 << 29,
            0,
            0,
            0,
        ];
        numbers.iter().for_each(|&number| file.extend(kernel.u64(number)));
        file.extend([kernel.u64(100), kernel.u64(200)].concat());
        for (number, kind) in [TRACEPOINT, self.second].into_iter().enumerate() {
            let begin = file.len();
            file.extend([kernel.u32(kind), kernel.u32(attribute_size as u32)].concat());
            file.extend([kernel.u64(0), kernel.u64(1), kernel.u64(self.form)].concat());
            file.extend([kernel.u64(0), kernel.u64(SAMPLE_ID_ALL)].concat());
            file.resize(begin + 80, 0);
            file.extend(kernel.u64(self.copied.as_ref().map_or(0, |(of, _)| of.mask)));
            file.resize(begin + attribute_size as usize, 0);
            file.extend([kernel.u64(ids + 8 * number as u64), kernel.u64(8)].concat());
        }
        file.extend(&self.records);
        let mut place = file.len() as u64 + 4 * 16;
        for feature in [&tracing, &host, &machine, &clock] {
            file.extend([kernel.u64(place), kernel.u64(feature.len() as u64)].concat());
            place += feature.len() as u64;
        }
        [file, tracing, host, machine, clock].concat()
    }

    pub fn save(&self, name: &str) -> PathBuf {
        save(&self.bytes(), name)
    }
}

pub fn record(kernel: Kernel, kind: u32, body: &[u8]) -> Vec<u8> {
    let size = kernel.u16(body.len() as u16 + 8);
    [kernel.u32(kind), kernel.u16(0), size, body.to_vec()].concat()
}
