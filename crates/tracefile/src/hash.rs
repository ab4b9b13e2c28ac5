//! A name for what a trace holds.

use std::path::Path;

use rayon::prelude::*;
use twox_hash::XxHash3_128;

use crate::map::Mapped;
use crate::{Error, Result};

/// Parts are hashed in parallel, and their hashes together.
const PART: usize = 8 << 20;

/// A hash of the bytes of files, in the order given: XXH3 with 128 bits, as hexadecimal digits. It
/// tells whether contents are the same; it does not withstand somebody who wants two to look alike.
///
/// # Errors
/// [`Error::Io`] when a file cannot be read.
pub fn content_hash(paths: &[impl AsRef<Path>]) -> Result<String> {
    let mut whole = XxHash3_128::new();
    for path in paths {
        let path = path.as_ref();
        if !path.is_file() {
            return Err(Error::NotATrace { path: path.into(), reason: "not a file".into() });
        }
        let file = Mapped::open(path)?;
        let parts: Vec<u128> = file.par_chunks(PART).map(XxHash3_128::oneshot).collect();
        whole.write(&(file.len() as u64).to_le_bytes());
        parts.iter().for_each(|part| whole.write(&part.to_le_bytes()));
    }
    Ok(format!("{:032x}", whole.finish_128()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pipe would be waited for, and a device has no end.
    #[test]
    fn what_is_no_file_is_refused() {
        for path in [std::env::temp_dir(), "/dev/null".into(), "/no/such/file".into()] {
            let refused = content_hash(&[&path]);
            assert!(
                matches!(&refused, Err(Error::NotATrace { path: named, .. }) if *named == path),
                "{refused:?}"
            );
        }
    }

    #[test]
    fn contents_and_their_division_into_files_decide() {
        let directory = std::env::temp_dir().join(format!("content-hash-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let write = |name: &str, bytes: &[u8]| {
            let path = directory.join(name);
            std::fs::write(&path, bytes).unwrap();
            path
        };
        let (ab, a, b) = (write("ab", b"ab"), write("a", b"a"), write("b", b"b"));
        let (large, other) = (vec![7; PART + 1], [vec![7; PART], vec![8]].concat());
        let (large, other) = (write("large", &large), write("other", &other));
        assert_eq!(content_hash(&[&ab]).unwrap(), content_hash(&[&ab]).unwrap());
        assert_ne!(content_hash(&[&ab]).unwrap(), content_hash(&[&a, &b]).unwrap());
        assert_ne!(content_hash(&[&large]).unwrap(), content_hash(&[&other]).unwrap());
        assert!(content_hash(&[directory.join("none")]).is_err());
        std::fs::remove_dir_all(directory).unwrap();
    }
}
