//! Futexes on words in shared memory.

use std::sync::atomic::AtomicU32;

/// Sleeps while `word` holds `expected`; also returns on a wake-up without cause or a signal.
pub fn wait(word: &AtomicU32, expected: u32) {
    // SAFETY: the word outlives the call and is aligned; a null timeout means no timeout.
    unsafe {
        let no_timeout = std::ptr::null::<libc::timespec>();
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, expected, no_timeout);
    }
}

/// Wakes at most `count` tasks that wait on `word`.
pub fn wake(word: &AtomicU32, count: u32) {
    let count = count.min(i32::MAX as u32);
    // SAFETY: the kernel uses the word's address only as a key.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, count);
    }
}
