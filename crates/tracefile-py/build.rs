//! The decoder's version is a hash of its sources, so that what an older one has cached is never
//! taken for what this one would say.

use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::path::Path;

fn main() {
    let mut hasher = DefaultHasher::new();
    let crates = ["../tracefile/src", "../traceanalysis/src", "../tracelevels/src"];
    for path in [".", "../../Cargo.lock"].into_iter().chain(crates) {
        println!("cargo::rerun-if-changed={path}");
        add(Path::new(path), &mut hasher);
    }
    println!("cargo::rustc-env=BENCHVISE_DECODER_VERSION={:016x}", hasher.finish());
}

fn add(path: &Path, hasher: &mut DefaultHasher) {
    if path.is_dir() {
        let entries = fs::read_dir(path).expect("a directory of the sources can be read");
        let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        paths.iter().for_each(|path| add(path, hasher));
    } else if let Ok(bytes) = fs::read(path) {
        hasher.write(path.to_string_lossy().as_bytes());
        hasher.write(&bytes);
    }
}
