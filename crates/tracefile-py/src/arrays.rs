//! NumPy's arrays in the heap of this module: large ones lie in its file where memory is bounded.
//!
//! NumPy takes a handler of memory for arrays that are made from then on (NEP 49), which it asks
//! through its C interface. Arrays keep the handler that made them.

use std::alloc::{GlobalAlloc, Layout};
use std::ffi::{CStr, c_char, c_void};
use std::ptr::null_mut;

use pyo3::exceptions::PyRuntimeError;
use pyo3::ffi;
use pyo3::prelude::*;

use crate::HEAP;

/// The place of `PyDataMem_SetHandler` in the table of NumPy's C interface, which never changes.
const SET_HANDLER: usize = 304;
/// The name that capsules of handlers must have.
const CAPSULE: &CStr = c"mem_handler";
/// Before each array's bytes stands how many they are: NumPy does not tell it when it grows one.
const HEAD: usize = 16;

/// NumPy's `PyDataMem_Handler`, version 1.
#[repr(C)]
struct Handler {
    name: [c_char; 127],
    version: u8,
    context: *mut c_void,
    malloc: unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void,
    calloc: unsafe extern "C" fn(*mut c_void, usize, usize) -> *mut c_void,
    realloc: unsafe extern "C" fn(*mut c_void, *mut c_void, usize) -> *mut c_void,
    free: unsafe extern "C" fn(*mut c_void, *mut c_void, usize),
}

// SAFETY: nobody writes to it, and its functions may be called by any thread.
unsafe impl Sync for Handler {}

const fn name() -> [c_char; 127] {
    let mut name = [0; 127];
    let (text, mut at) = (b"benchvise", 0);
    while at < text.len() {
        name[at] = c_char::from_ne_bytes([text[at]]); // unsigned on Arm
        at += 1;
    }
    name
}

static HANDLER: Handler =
    Handler { name: name(), version: 1, context: null_mut(), malloc, calloc, realloc, free };

fn layout(size: usize) -> Option<Layout> {
    Layout::from_size_align(size.checked_add(HEAD)?, HEAD).ok()
}

/// The array's bytes in a block that begins with their number.
///
/// # Safety
/// The block is null, or has room for the head.
unsafe fn behind_head(block: *mut u8, size: usize) -> *mut c_void {
    if block.is_null() {
        return null_mut();
    }
    // SAFETY: as the caller promises; a block is aligned to its head.
    unsafe {
        block.cast::<usize>().write(size);
        block.add(HEAD).cast()
    }
}

unsafe extern "C" fn malloc(_context: *mut c_void, size: usize) -> *mut c_void {
    let Some(layout) = layout(size) else { return null_mut() };
    // SAFETY: the layout has the size of the head at least.
    unsafe { behind_head(HEAP.alloc(layout), size) }
}

unsafe extern "C" fn calloc(_context: *mut c_void, count: usize, each: usize) -> *mut c_void {
    let Some((size, layout)) = count.checked_mul(each).and_then(|size| Some((size, layout(size)?)))
    else {
        return null_mut();
    };
    // SAFETY: the layout has the size of the head at least.
    unsafe { behind_head(HEAP.alloc_zeroed(layout), size) }
}

unsafe extern "C" fn realloc(context: *mut c_void, bytes: *mut c_void, size: usize) -> *mut c_void {
    if bytes.is_null() {
        // SAFETY: as the caller promises.
        return unsafe { malloc(context, size) };
    }
    // SAFETY: NumPy gives back what it got from here, where the head stands before the bytes.
    unsafe {
        let block = bytes.cast::<u8>().sub(HEAD);
        match (layout(block.cast::<usize>().read()), layout(size)) {
            (Some(old), Some(new)) => behind_head(HEAP.realloc(block, old, new.size()), size),
            _ => null_mut(),
        }
    }
}

unsafe extern "C" fn free(_context: *mut c_void, bytes: *mut c_void, _size: usize) {
    if bytes.is_null() {
        return;
    }
    // SAFETY: NumPy gives back what it got from here, where the head stands before the bytes.
    unsafe {
        let block = bytes.cast::<u8>().sub(HEAD);
        if let Some(layout) = layout(block.cast::<usize>().read()) {
            HEAP.dealloc(block, layout);
        }
    }
}

/// From now on, arrays that this thread makes lie in the heap of this module.
pub(crate) fn take_over(py: Python<'_>) -> PyResult<()> {
    let table = py.import("numpy._core._multiarray_umath")?.getattr("_ARRAY_API")?;
    // SAFETY: the capsule without a name holds the table of NumPy's C interface; a handler's
    // capsule points to what lives as long as the process.
    unsafe {
        let table = ffi::PyCapsule_GetPointer(table.as_ptr(), std::ptr::null());
        if table.is_null() {
            return Err(PyErr::take(py)
                .unwrap_or_else(|| PyRuntimeError::new_err("NumPy tells of no C interface")));
        }
        let set = table.cast::<*const c_void>().add(SET_HANDLER).read();
        let set: unsafe extern "C" fn(*mut ffi::PyObject) -> *mut ffi::PyObject =
            std::mem::transmute(set);
        let handler = (&raw const HANDLER).cast_mut().cast();
        let capsule =
            Bound::from_owned_ptr_or_err(py, ffi::PyCapsule_New(handler, CAPSULE.as_ptr(), None))?;
        Bound::from_owned_ptr_or_err(py, set(capsule.as_ptr()))?;
    }
    Ok(())
}
