//! Unit tests of `noise/instances.rs`.

use super::{is_dead, mask, name_of};
use crate::sys::process::own_pid;

#[test]
fn masks_have_the_kernels_notation() {
    assert_eq!(mask(&[0, 1, 5]), "00000023");
    assert_eq!(mask(&[1, 33]), "00000002,00000002");
}

#[test]
fn only_instances_of_dead_owners_are_dead() {
    assert!(!is_dead(&name_of(own_pid())));
    assert!(!name_of(own_pid()).ends_with("-0"), "the start time is known");
    assert!(is_dead(&format!("schedlab-noise-{}-1", own_pid())), "the same number, another process");
    // Larger than every process number (PID_MAX_LIMIT is 2^22).
    assert!(is_dead("schedlab-noise-4194305-77"));
    assert!(is_dead("schedlab-noise-4194305-77-requests"));
    for foreign in ["trace-cmd", "schedlab-noise-", "schedlab-noise-x-1", "schedlab-noise-1"] {
        assert!(!is_dead(foreign), "{foreign}");
    }
}
