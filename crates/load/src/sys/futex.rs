//! Futexes on words in shared memory.

use std::sync::atomic::AtomicU32;

/// Every bit: a wait that each wake-up ends, and a wake-up that ends each wait.
const ANY: u32 = libc::FUTEX_BITSET_MATCH_ANY as u32;

/// Sleep while `word` contains `expected`. Also returns after a signal, and on a wake-up without a reason.
pub fn wait(word: &AtomicU32, expected: u32) {
    wait_bits(word, expected, ANY);
}

/// Wake at most `count` tasks that wait on `word`.
pub fn wake(word: &AtomicU32, count: u32) {
    wake_bits(word, count, ANY);
}

/// Like [`wait`], but only a wake-up for one of the `bits` ends the sleep.
pub fn wait_bits(word: &AtomicU32, expected: u32, bits: u32) {
    // SAFETY: the word outlives the call and is aligned; a null timeout means no timeout; the second word is ignored.
    unsafe {
        let (no_timeout, no_word) = (std::ptr::null::<libc::timespec>(), std::ptr::null::<u32>());
        let operation = libc::FUTEX_WAIT_BITSET;
        libc::syscall(libc::SYS_futex, word.as_ptr(), operation, expected, no_timeout, no_word, bits);
    }
}

/// Wake at most `count` tasks that wait on `word` for one of the `bits`.
pub fn wake_bits(word: &AtomicU32, count: u32, bits: u32) {
    let count = count.min(i32::MAX as u32);
    // SAFETY: the kernel uses the word's address only as a key; the timeout and the second word are ignored.
    unsafe {
        let (no_timeout, no_word) = (std::ptr::null::<libc::timespec>(), std::ptr::null::<u32>());
        let operation = libc::FUTEX_WAKE_BITSET;
        libc::syscall(libc::SYS_futex, word.as_ptr(), operation, count, no_timeout, no_word, bits);
    }
}
