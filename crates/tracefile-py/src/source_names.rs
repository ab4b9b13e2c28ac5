//! Names of C++ and Rust functions as their sources have them.
//!
//! A name comes from a file that is not trusted. A short one may stand for an endless one: of the
//! parts that it repeats, each may have the one before twice. So much is written of it and no more.

use std::fmt::{self, Write};

use cpp_demangle::{DemangleOptions, Symbol};
use rustc_demangle::try_demangle;

/// Bytes of a name that is read.
const LONGEST: usize = 4096;
/// Bytes of the name that is made of it; one that is longer stays as it was.
const LONGEST_MADE: usize = 8192;

/// A text that takes so much and no more.
struct Bounded(String);

impl Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > LONGEST_MADE {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

/// The name as the source has it, without the hash of Rust's; `None` for what is no such name.
pub(crate) fn source_name(name: &str) -> Option<String> {
    if name.len() > LONGEST {
        return None;
    }
    let mut made = Bounded(String::new());
    if let Ok(rust) = try_demangle(name) {
        write!(made, "{rust:#}").ok()?;
        return Some(made.0);
    }
    // C compilers give clones a tail: `_ZN1a1bEv.part.0`, `.constprop.0`, `.cold`.
    let (name, tail) = name.split_at(name.find('.').unwrap_or(name.len()));
    if !name.starts_with("_Z") {
        return None;
    }
    Symbol::new(name).ok()?.structured_demangle(&mut made, &DemangleOptions::new()).ok()?;
    if !tail.is_empty() {
        write!(made, " [clone {tail}]").ok()?;
    }
    Some(made.0)
}
