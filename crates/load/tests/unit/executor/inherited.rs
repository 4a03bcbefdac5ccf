//! Unit tests of `executor/inherited.rs`.

use schedlab_workload::program::MainMemory;

use super::Inherited;
use crate::sys::memory::PAGE;

/// Mappings of this process that have `pages` pages, and their pages with contents of their own.
fn mappings_of(pages: usize) -> (usize, usize) {
    let text = std::fs::read_to_string("/proc/self/smaps").expect("Linux has smaps");
    let size = format!("Size: {} kB", pages * PAGE / 1024);
    let normal = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let (mut found, mut written, mut counts) = (0, 0, false);
    for line in text.lines().map(normal) {
        if line.starts_with("Size:") {
            counts = line == size;
            found += usize::from(counts);
        } else if let Some(kib) = line.strip_prefix("Anonymous: ").filter(|_| counts) {
            written += kib.trim_end_matches(" kB").parse::<usize>().expect("a number") * 1024 / PAGE;
        }
    }
    (found, written)
}

/// 9 mappings of 1237 pages, a size that nothing else has.
#[test]
fn each_mapping_stays_one_mapping_and_has_all_its_pages() {
    let memory = MainMemory { mappings: 9, pages: 9 * 1237, written: 2 * 1237 + 1 };
    let inherited = Inherited::new(memory).expect("there is memory");
    assert_eq!(mappings_of(1237), (9, 9 * 1237));
    drop(inherited);
    assert_eq!(mappings_of(1237), (0, 0));
}
