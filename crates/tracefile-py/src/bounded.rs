//! A heap whose large pieces lie in a file without a name, for traces that need more memory than a
//! command may take: what of it is not at work leaves the memory of this process.
//!
//! ```text
//! pieces from PIECE on ─→ a file on a disk, mapped ─┐
//! the trace's own files, mapped ────────────────────┴→ a thread of its own: above the bound, out
//! ```
//! Whoever uses a piece notices nothing: its pages come back when they are touched. They stay in the
//! system's cache while that has room.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null_mut;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::time::Duration;

/// The least piece that lies in the file: columns of a part of a trace are larger.
const PIECE: usize = 1 << 15;
/// Blocks of the disk that are taken at once.
const BLOCKS: usize = 64 << 20;
const LEAST_PAGE: usize = 4096;
/// Addresses for all pieces there ever are: none is used twice.
const ROOM: usize = 1 << 40;
/// Between looks at how much memory is taken; meanwhile some 10 MB may come.
const PAUSE: Duration = Duration::from_millis(5);
/// File systems that are memory themselves.
const IN_MEMORY: [u64; 2] = [0x0102_1994, 0x8584_58f6];

/// Where the file is mapped; 0: nowhere, all is in memory.
static BEGIN: AtomicUsize = AtomicUsize::new(0);
/// What of it was given to pieces.
static GIVEN: AtomicUsize = AtomicUsize::new(0);
static FILE: AtomicI32 = AtomicI32::new(-1);
/// Of this system; that of most until the file is mapped.
static PAGE: AtomicUsize = AtomicUsize::new(4096);
/// Up to where the file has its blocks.
static TAKEN: Mutex<usize> = Mutex::new(0);

/// The heap of this module.
pub(crate) struct Heap;

fn pages(size: usize) -> usize {
    size.next_multiple_of(PAGE.load(Ordering::Relaxed))
}

/// A new piece, all zero; null where there is no file, or no room on its disk.
fn piece(size: usize) -> *mut u8 {
    let begin = BEGIN.load(Ordering::Acquire);
    if !(PIECE..=ROOM).contains(&size) || begin == 0 {
        return null_mut();
    }
    let at = GIVEN.fetch_add(pages(size), Ordering::Relaxed);
    let end = at + pages(size);
    if end <= ROOM && take_blocks(end) { (begin + at) as *mut u8 } else { null_mut() }
}

/// Takes blocks of the disk up to a place of the file; false where it is full. Where they were
/// missing later, this process would end.
fn take_blocks(end: usize) -> bool {
    let Ok(mut taken) = TAKEN.lock() else { return false };
    if end <= *taken {
        return true;
    }
    let file = FILE.load(Ordering::Relaxed);
    for wanted in [end.next_multiple_of(BLOCKS), end] {
        // SAFETY: only the file is changed, where no piece is.
        if unsafe { libc::fallocate(file, 0, *taken as i64, (wanted - *taken) as i64) } == 0 {
            *taken = wanted;
            return true;
        }
    }
    false
}

fn is_piece(pointer: *mut u8) -> bool {
    let begin = BEGIN.load(Ordering::Acquire);
    begin != 0 && (begin..begin + ROOM).contains(&pointer.addr())
}

/// Gives back the pages and blocks of a part of a piece.
///
/// # Safety
/// Nobody uses that part any more; it begins and ends with a page.
unsafe fn give_back(begin: *mut u8, size: usize) {
    if size > 0 {
        // SAFETY: the part is within the mapping, and nobody uses it.
        unsafe { libc::madvise(begin.cast(), size, libc::MADV_REMOVE) };
    }
}

// SAFETY: a piece is a range of the mapping that no other piece has, as `GIVEN` only grows; it is
// aligned to a page, which no layout here exceeds. All else is the system's.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let piece = if layout.align() <= LEAST_PAGE { piece(layout.size()) } else { null_mut() };
        // SAFETY: as the caller promises.
        if piece.is_null() { unsafe { System.alloc(layout) } } else { piece }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let piece = if layout.align() <= LEAST_PAGE { piece(layout.size()) } else { null_mut() };
        // SAFETY: as the caller promises.
        if piece.is_null() { unsafe { System.alloc_zeroed(layout) } } else { piece }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises, nobody uses it any more.
        unsafe {
            match is_piece(pointer) {
                true => give_back(pointer, pages(layout.size())),
                false => System.dealloc(pointer, layout),
            }
        }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let old = pages(layout.size());
        if is_piece(pointer) && pages(size) <= old {
            let kept = pages(size);
            // SAFETY: what lies behind is the caller's no more.
            unsafe { give_back(pointer.add(kept), old - kept) };
            return pointer;
        }
        if !is_piece(pointer) && (size < PIECE || BEGIN.load(Ordering::Acquire) == 0) {
            // SAFETY: as the caller promises.
            return unsafe { System.realloc(pointer, layout, size) };
        }
        // SAFETY: the size is not zero, and was checked by the caller against the alignment; the
        // ranges are of two pieces.
        unsafe {
            let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !new.is_null() {
                new.copy_from_nonoverlapping(pointer, size.min(layout.size()));
                self.dealloc(pointer, layout);
            }
            new
        }
    }
}

/// Keeps the memory of this process below about so many bytes from now on, with a file in
/// `directory`. What others than this module allocate counts, and cannot be put out.
pub(crate) fn bound(directory: &Path, bytes: usize) -> io::Result<()> {
    if BEGIN.load(Ordering::Acquire) == 0 {
        map(directory)?;
    }
    std::thread::Builder::new().name("bound".into()).spawn(move || {
        loop {
            std::thread::sleep(PAUSE);
            if resident().is_some_and(|resident| resident > bytes - bytes / 8) {
                put_out();
            }
        }
    })?;
    Ok(())
}

fn map(directory: &Path) -> io::Result<()> {
    let path = CString::new(directory.as_os_str().as_bytes())?;
    // SAFETY: the path ends with a zero; the file is closed by its owner.
    let file = unsafe {
        let flags = libc::O_TMPFILE | libc::O_RDWR | libc::O_CLOEXEC;
        match libc::open(path.as_ptr(), flags, 0o600) {
            -1 => return Err(io::Error::last_os_error()),
            file => OwnedFd::from_raw_fd(file),
        }
    };
    // SAFETY: the structure is plain numbers, and is filled before it is read.
    let system = unsafe {
        let mut system: libc::statfs = std::mem::zeroed();
        match libc::fstatfs(file.as_raw_fd(), &raw mut system) {
            0 => system.f_type as u64,
            _ => return Err(io::Error::last_os_error()),
        }
    };
    if IN_MEMORY.contains(&system) {
        return Err(io::Error::other("it is in memory itself"));
    }
    // SAFETY: a new mapping of a file that nobody else has.
    let begin = unsafe {
        if libc::ftruncate(file.as_raw_fd(), ROOM as i64) != 0 {
            return Err(io::Error::last_os_error());
        }
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_NORESERVE;
        libc::mmap(null_mut(), ROOM, access, flags, file.as_raw_fd(), 0)
    };
    if begin == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it only tells.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    PAGE.store(usize::try_from(page).unwrap_or(LEAST_PAGE), Ordering::Relaxed);
    FILE.store(file.as_raw_fd(), Ordering::Relaxed);
    // It stays open as long as the process.
    std::mem::forget(file);
    BEGIN.store(begin.addr(), Ordering::Release);
    Ok(())
}

/// Bytes of this process that are in memory.
fn resident() -> Option<usize> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    statm.split(' ').nth(1)?.parse::<usize>().ok().map(|pages| pages * PAGE.load(Ordering::Relaxed))
}

fn put_out() {
    tracefile::release_pages();
    let given = GIVEN.load(Ordering::Relaxed).min(ROOM);
    let begin = BEGIN.load(Ordering::Acquire) as *mut libc::c_void;
    // SAFETY: of a shared mapping of a file, pages come back as they were.
    unsafe { libc::madvise(begin, given, libc::MADV_DONTNEED) };
}
