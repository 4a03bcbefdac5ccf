//! Locks, semaphores and barriers on futexes in shared memory.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::sys::futex;

// States of a lock (Drepper, "Futexes Are Tricky", 2011, mutex 2).
const FREE: u32 = 0;
const HELD: u32 = 1;
const CONTENDED: u32 = 2;

/// Acquires a lock, sleeping while another task holds it.
pub fn lock(word: &AtomicU32) {
    let Err(mut state) = word.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed) else {
        return;
    };
    if state != CONTENDED {
        state = word.swap(CONTENDED, Ordering::Acquire);
    }
    while state != FREE {
        futex::wait(word, CONTENDED);
        state = word.swap(CONTENDED, Ordering::Acquire);
    }
}

/// Releases a lock and wakes one waiter if there may be any. Whether it was held.
pub fn unlock(word: &AtomicU32) -> bool {
    let state = word.swap(FREE, Ordering::Release);
    if state == CONTENDED {
        futex::wake(word, 1);
    }
    state != FREE
}

/// Adds `count` to a semaphore and wakes as many waiters, if there are any.
pub fn up(value: &AtomicU32, waiters: &AtomicU32, count: u32) {
    value.fetch_add(count, Ordering::SeqCst);
    if waiters.load(Ordering::SeqCst) > 0 {
        futex::wake(value, count);
    }
}

/// Takes one from a semaphore, sleeping while it is 0.
pub fn down(value: &AtomicU32, waiters: &AtomicU32) {
    loop {
        let taken = value.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |value| value.checked_sub(1));
        if taken.is_ok() {
            return;
        }
        waiters.fetch_add(1, Ordering::SeqCst);
        futex::wait(value, 0);
        waiters.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Releases a lock, waits for a signal and acquires the lock again; `false`, without waiting, if nobody held it.
///
/// Each signal is a token that one waiter takes, so that nobody is woken without one.
pub fn wait(waiters: &AtomicU32, signals: &AtomicU32, word: &AtomicU32) -> bool {
    waiters.fetch_add(1, Ordering::SeqCst);
    if !unlock(word) {
        waiters.fetch_sub(1, Ordering::SeqCst);
        return false;
    }
    loop {
        let taken = signals.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |count| count.checked_sub(1));
        if taken.is_ok() {
            break;
        }
        futex::wait(signals, 0);
    }
    lock(word);
    true
}

/// Wakes one waiter, or all.
pub fn signal(waiters: &AtomicU32, signals: &AtomicU32, all: bool) {
    let less = |count: u32| if all { Some(0) } else { count.checked_sub(1) };
    let Ok(before) = waiters.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less) else { return };
    let woken = if all { before } else { 1 };
    if woken > 0 {
        signals.fetch_add(woken, Ordering::SeqCst);
        futex::wake(signals, woken);
    }
}

/// Waits until `parties` tasks have arrived.
pub fn meet(arrived: &AtomicU32, generation: &AtomicU32, parties: u32) {
    let now = generation.load(Ordering::Acquire);
    if arrived.fetch_add(1, Ordering::AcqRel) + 1 == parties {
        arrived.store(0, Ordering::Relaxed);
        generation.store(now.wrapping_add(1), Ordering::Release);
        futex::wake(generation, u32::MAX);
        return;
    }
    while generation.load(Ordering::Acquire) == now {
        futex::wait(generation, now);
    }
}
