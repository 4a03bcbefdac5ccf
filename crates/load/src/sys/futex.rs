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

/// Like [`wait`], but only a wake-up that names one of the `bits` ends the sleep.
pub fn wait_bits(word: &AtomicU32, expected: u32, bits: u32) {
    // SAFETY: as in `wait`; the second word of FUTEX_WAIT_BITSET is ignored.
    unsafe {
        let (no_timeout, no_word) = (std::ptr::null::<libc::timespec>(), std::ptr::null::<u32>());
        let operation = libc::FUTEX_WAIT_BITSET;
        libc::syscall(libc::SYS_futex, word.as_ptr(), operation, expected, no_timeout, no_word, bits);
    }
}

/// Wakes all tasks that wait on `word` for one of the `bits`.
pub fn wake_bits(word: &AtomicU32, bits: u32) {
    // SAFETY: as in `wake`; the timeout and the second word are ignored.
    unsafe {
        let (no_timeout, no_word) = (std::ptr::null::<libc::timespec>(), std::ptr::null::<u32>());
        let operation = libc::FUTEX_WAKE_BITSET;
        libc::syscall(libc::SYS_futex, word.as_ptr(), operation, i32::MAX, no_timeout, no_word, bits);
    }
}
