//! Files of programs and libraries: where in them the rules of unwinding are, by address.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

use flate2::read::ZlibDecoder;
use gimli::{
    BaseAddresses, CieOrFde, DebugFrame, EhFrame, EndianSlice, RunTimeEndian, UnwindOffset,
    UnwindSection, Vendor,
};
use object::{CompressionFormat, Object, ObjectSection, ObjectSegment};

use crate::map::Mapped;

/// Bytes, read in the order of the recording's machine.
pub(crate) type Slice<'a> = EndianSlice<'a, RunTimeEndian>;

/// Functions of one file.
const MOST_FUNCTIONS: usize = 1 << 22;
/// Bytes of a section that is unpacked.
const MOST_UNPACKED: u64 = 1 << 28;

/// A file that processes of a recording had in memory, and where copies of it may lie here.
#[derive(Debug, Clone)]
pub struct ProgramFile {
    /// As the recording names it.
    pub path: String,
    /// As the recording tells it; empty where it does not.
    pub build_id: Vec<u8>,
    /// Files that may be the same. Where the build-id is known, one with another is not used.
    pub candidates: Vec<PathBuf>,
}

/// Rules of one section of a file.
pub(crate) struct Section {
    bytes: Vec<u8>,
    kind: SectionKind,
    bases: BaseAddresses,
    endian: RunTimeEndian,
    word: u8,
    vendor: Vendor,
    /// By begin: the addresses of a function, and where its entry is in the section.
    functions: Vec<(Range<u64>, usize)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SectionKind {
    Loaded,
    Debugging,
}

/// The rules of a file.
pub(crate) struct Rules {
    /// Of what is loaded: where in the file, how many bytes, at which address.
    segments: Vec<(u64, u64, u64)>,
    pub(crate) sections: Vec<Section>,
}

impl Rules {
    /// Reads those of a file; `Err` says why there are none. `None` of a build-id: any file is taken.
    pub(crate) fn read(file: &ProgramFile) -> Result<Self, &'static str> {
        let mut rules = Self { segments: Vec::new(), sections: Vec::new() };
        let (mut is_here, mut is_same) = (false, false);
        for candidate in &file.candidates {
            let Some(bytes) = regular(candidate) else { continue };
            let Ok(elf) = object::File::parse(&*bytes) else { continue };
            is_here = true;
            let build_id = elf.build_id().ok().flatten().unwrap_or_default();
            if !file.build_id.is_empty() && !is_same_build(build_id, &file.build_id) {
                continue;
            }
            is_same = true;
            rules.take(&elf);
            if rules.sections.len() == 2 {
                break;
            }
        }
        match () {
            () if !rules.sections.is_empty() && !rules.segments.is_empty() => Ok(rules),
            () if is_same => Err("it has no unwind information"),
            () if is_here => Err("the build-id of the file here differs"),
            () => Err("no such file can be read here"),
        }
    }

    /// Those of the bytes of a file.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let mut rules = Self { segments: Vec::new(), sections: Vec::new() };
        rules.take(&object::File::parse(bytes).ok()?);
        Some(rules)
    }

    /// Where in the file the functions begin, some of each section.
    pub(crate) fn functions_in_file(&self) -> Vec<u64> {
        let functions = self.sections.iter().flat_map(|section| section.functions.iter().take(256));
        let offset = |address: u64| {
            let within = |(_, size, begin): &&(u64, u64, u64)| {
                address.checked_sub(*begin).is_some_and(|distance| distance < *size)
            };
            let (offset, _, begin) = self.segments.iter().find(within)?;
            offset.checked_add(address - begin)
        };
        functions.filter_map(|(addresses, _)| offset(addresses.start)).collect()
    }

    /// Takes what one file has and none before it had: a file of symbols has no part that is loaded.
    fn take(&mut self, elf: &object::File<'_>) {
        let loaded: Vec<_> = elf
            .segments()
            .map(|segment| (segment.file_range(), segment.address()))
            .map(|((offset, size), address)| (offset, size, address))
            .collect();
        let stored = |segments: &[(u64, u64, u64)]| {
            segments.iter().fold(0u64, |sum, (_, size, _)| sum.saturating_add(*size))
        };
        if stored(&loaded) > stored(&self.segments) {
            self.segments = loaded;
        }
        for kind in [SectionKind::Loaded, SectionKind::Debugging] {
            if self.sections.iter().all(|section| section.kind != kind)
                && let Some(section) = Section::read(elf, kind)
            {
                self.sections.push(section);
            }
        }
    }

    /// The address that the file gives to what is at an offset of it.
    pub(crate) fn address(&self, offset: u64) -> Option<u64> {
        let within = |(begin, size, _): &&(u64, u64, u64)| {
            offset.checked_sub(*begin).is_some_and(|distance| distance < *size)
        };
        let (begin, _, address) = self.segments.iter().find(within)?;
        address.checked_add(offset - begin)
    }

    /// The section with the entry of a function at an address, and where it is.
    pub(crate) fn entry(&self, address: u64) -> Option<(usize, usize)> {
        let of = |section: &Section| section.entry(address);
        self.sections.iter().enumerate().find_map(|(at, section)| Some((at, of(section)?)))
    }
}

/// perf pads the build-ids that are shorter than 20 bytes.
fn is_same_build(own: &[u8], recorded: &[u8]) -> bool {
    let rest = recorded.strip_prefix(own).filter(|_| !own.is_empty());
    rest.is_some_and(|rest| rest.iter().all(|&byte| byte == 0))
}

/// What else may have the name could block whoever opens it.
fn regular(path: &Path) -> Option<Mapped> {
    let is_file = std::fs::metadata(path).is_ok_and(|file| file.is_file());
    Mapped::open(path).ok().filter(|_| is_file)
}

/// The bytes of a section, unpacked.
fn contents<'a>(section: &object::Section<'a, '_>) -> Option<Cow<'a, [u8]>> {
    let stored = section.compressed_data().ok()?;
    if stored.format == CompressionFormat::None {
        return Some(Cow::Borrowed(stored.data));
    }
    let reader: Box<dyn Read + '_> = match stored.format {
        CompressionFormat::Zlib => Box::new(ZlibDecoder::new(stored.data)),
        CompressionFormat::Zstandard => Box::new(zstd::Decoder::new(stored.data).ok()?),
        _ => return None,
    };
    let mut bytes = Vec::new();
    reader.take(MOST_UNPACKED).read_to_end(&mut bytes).ok()?;
    Some(Cow::Owned(bytes))
}

impl Section {
    fn read(elf: &object::File<'_>, kind: SectionKind) -> Option<Self> {
        let address = |name| elf.section_by_name(name).map_or(0, |section| section.address());
        let name = if kind == SectionKind::Loaded { ".eh_frame" } else { ".debug_frame" };
        let bytes = contents(&elf.section_by_name(name)?)?.into_owned();
        let endian =
            if elf.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
        let mut section = Self {
            bytes,
            kind,
            bases: BaseAddresses::default()
                .set_eh_frame(address(".eh_frame"))
                .set_text(address(".text"))
                .set_got(address(".got")),
            endian,
            word: if elf.is_64() { 8 } else { 4 },
            vendor: match elf.architecture() {
                object::Architecture::Aarch64 => Vendor::AArch64,
                _ => Vendor::Default,
            },
            functions: Vec::new(),
        };
        let mut functions = match kind {
            SectionKind::Loaded => section.functions(&section.loaded()),
            SectionKind::Debugging => section.functions(&section.debugging()),
        };
        functions.sort_by_key(|(addresses, _)| addresses.start);
        section.functions = functions;
        (!section.functions.is_empty()).then_some(section)
    }

    fn loaded(&self) -> EhFrame<Slice<'_>> {
        let mut frames = EhFrame::new(&self.bytes, self.endian);
        frames.set_address_size(self.word);
        frames.set_vendor(self.vendor);
        frames
    }

    fn debugging(&self) -> DebugFrame<Slice<'_>> {
        let mut frames = DebugFrame::new(&self.bytes, self.endian);
        frames.set_address_size(self.word);
        frames.set_vendor(self.vendor);
        frames
    }

    /// Where all functions are, up to what is damaged.
    fn functions<'a, S: UnwindSection<Slice<'a>>>(&self, frames: &S) -> Vec<(Range<u64>, usize)> {
        let mut functions = Vec::new();
        // Most functions of a file share one of a few descriptions.
        let mut shared = HashMap::new();
        let mut entries = frames.entries(&self.bases);
        while let Ok(Some(entry)) = entries.next() {
            let CieOrFde::Fde(partial) = entry else { continue };
            let parsed = partial.parse(|frames, bases, offset| {
                let at: usize = UnwindOffset::into(offset);
                let fresh = || frames.cie_from_offset(bases, offset);
                shared.entry(at).or_insert_with(fresh).clone()
            });
            let Ok(function) = parsed else { continue };
            if function.len() > 0 && functions.len() < MOST_FUNCTIONS {
                let addresses = function.initial_address()..function.end_address();
                functions.push((addresses, partial.offset()));
            }
        }
        functions
    }

    fn entry(&self, address: u64) -> Option<usize> {
        let after = self.functions.partition_point(|(addresses, _)| addresses.start <= address);
        let (addresses, entry) = self.functions.get(after.checked_sub(1)?)?;
        addresses.contains(&address).then_some(*entry)
    }

    /// Calls `with` with the section as what it is.
    pub(crate) fn read_with<T>(&self, with: impl Reading<T>) -> T {
        match self.kind {
            SectionKind::Loaded => with.read(&self.loaded(), &self.bases),
            SectionKind::Debugging => with.read(&self.debugging(), &self.bases),
        }
    }
}

/// What is read from a section of either kind.
pub(crate) trait Reading<T> {
    fn read<'a, S: UnwindSection<Slice<'a>>>(self, frames: &S, bases: &BaseAddresses) -> T;
}
