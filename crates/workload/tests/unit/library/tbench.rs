//! Unit tests of `library/tbench.rs`.

use super::{MIX, cycle};

#[test]
fn a_cycle_has_200_operations_in_the_load_files_proportions() {
    assert_eq!(cycle().len(), 200);
    // 5428 bytes of file data per operation on average in the load file.
    let data: u64 = MIX.iter().map(|kind| u64::from(kind.often) * kind.data).sum();
    assert!((5000..5900).contains(&(data / 200)), "{} bytes per operation", data / 200);
}
