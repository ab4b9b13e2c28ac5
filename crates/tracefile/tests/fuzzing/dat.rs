//! trace.dat: heads and pages.

use super::check;
use crate::made::{File, Kernel, Page, X86, mixed, tick};

const PAGE: usize = 512;

/// A whole file.
pub fn head(data: &[u8]) -> u64 {
    // With it in place, the fuzzer need not find it again and again.
    let mut file = b"\x17\x08\x44tracing".to_vec();
    file.extend(data);
    check(tracefile::open_bytes(&file))
}

pub fn head_seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for (version, codec) in [(6, "none"), (7, "none"), (7, "zstd"), (7, "zlib")] {
        for kernel in kernels() {
            let mut file = File::new(version, kernel, PAGE).cpu(0, vec![page(kernel, 1000)]);
            file = file.cpu(2, vec![page(kernel, 900), page(kernel, 2000)]);
            file.codec = codec;
            seeds.push(file.bytes()[10..].to_vec());
        }
    }
    seeds
}

/// Pages of a good file; the first byte chooses the kernel.
pub fn pages(data: &[u8]) -> u64 {
    let Some((&choice, data)) = data.split_first() else { return 0 };
    let kernel = kernels()[usize::from(choice) % kernels().len()];
    let count = data.len().div_ceil(PAGE).clamp(1, 64);
    let mut file = File::new(6, kernel, PAGE).cpu(0, vec![page(kernel, 0); count]).bytes();
    let begin = file.len() - count * PAGE;
    let length = data.len().min(count * PAGE);
    file[begin..begin + length].copy_from_slice(&data[..length]);
    check(tracefile::open_bytes(&file))
}

pub fn page_seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for (choice, kernel) in (0..).zip(kernels()) {
        let hard = Page::new(kernel, PAGE, 5000)
            .absolute(7 << 50 | 12345)
            .large(3, &mixed(kernel, 1, "large", &[1]))
            .extend(1 << 30)
            .discard(2, 12)
            .small(1, &tick(kernel, 2))
            .lost(Some(9));
        let padded = Page::new(kernel, PAGE, 9000).small(0, &tick(kernel, 3)).padding().lost(None);
        for pages in [vec![page(kernel, 100)], vec![hard, padded.clone()], vec![padded]] {
            let mut seed = vec![choice];
            pages.iter().for_each(|page| seed.extend(page.bytes()));
            seeds.push(seed);
        }
    }
    seeds
}

fn kernels() -> [Kernel; 4] {
    [
        X86,
        Kernel { big: true, long: 8 },
        Kernel { big: false, long: 4 },
        Kernel { big: true, long: 4 },
    ]
}

fn page(kernel: Kernel, stamp: u64) -> Page {
    Page::new(kernel, PAGE, stamp)
        .small(5, &tick(kernel, 1))
        .small(7, &mixed(kernel, -5, "a name", &[1, 2, 3]))
        .small(1, &tick(kernel, 2))
}
