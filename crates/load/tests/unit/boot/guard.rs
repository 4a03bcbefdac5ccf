//! Unit tests of `boot/guard.rs`.

use super::*;

#[test]
fn only_the_guard_itself_is_ended() {
    assert!(is_guard(b"@schedlab-guard\0"));
    assert!(!is_guard(b"grep\0@schedlab-guard\0"));
    assert!(!is_guard(b"@schedlab-guardian\0"));
    assert!(!is_guard(b""));
}

#[test]
fn a_disk_is_not_an_initial_file_system() {
    assert!(is_initial(TMPFS_MAGIC) && is_initial(RAMFS));
    assert!(!is_initial(nix::sys::statfs::EXT4_SUPER_MAGIC));
}
