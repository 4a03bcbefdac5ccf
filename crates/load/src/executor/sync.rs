//! Locks, semaphores, conditions and barriers on futexes in shared memory.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::sys::futex;

// States of a lock (Drepper, "Futexes Are Tricky", 2011, mutex 2).
const FREE: u32 = 0;
const HELD: u32 = 1;
const CONTENDED: u32 = 2;

/// Acquire a lock, sleeping while another task has the lock.
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

/// Release a lock and wake one waiter if a waiter may exist. Return whether the lock was taken.
pub fn unlock(word: &AtomicU32) -> bool {
    let state = word.swap(FREE, Ordering::Release);
    if state == CONTENDED {
        futex::wake(word, 1);
    }
    state != FREE
}

/// Add `count` to a semaphore and wake at most as many waiters.
pub fn up(value: &AtomicU32, waiters: &AtomicU32, count: u32) {
    value.fetch_add(count, Ordering::SeqCst);
    if waiters.load(Ordering::SeqCst) > 0 {
        futex::wake(value, count);
    }
}

/// Decrement a semaphore; sleep while its value is 0.
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

/// Release a lock, wait for a signal and acquire the lock again. Return `false` at once if the lock was free.
///
/// Each waiter draws a ticket, and signals serve tickets in order. No task wakes without a signal. A task that signals and
/// then waits cannot consume its own signal, as it could if signals were only counted: pthread_cond_signal(3) unblocks a
/// task that is blocked at the time of the call.
pub fn wait(issued: &AtomicU32, served: &AtomicU32, word: &AtomicU32) -> bool {
    let ticket = issued.fetch_add(1, Ordering::SeqCst);
    if !unlock(word) {
        return false;
    }
    loop {
        let now = served.load(Ordering::SeqCst);
        // Both numbers wrap around; the difference is unambiguous because there are fewer than 2³¹ waiters.
        if (now.wrapping_sub(ticket) as i32) > 0 {
            break;
        }
        futex::wait_bits(served, now, bit(ticket));
    }
    lock(word);
    true
}

/// Wake the task that has waited longest, or all waiting tasks.
pub fn signal(issued: &AtomicU32, served: &AtomicU32, all: bool) {
    let next = |now: u32| {
        let last = issued.load(Ordering::SeqCst);
        (now != last).then(|| if all { last } else { now.wrapping_add(1) })
    };
    let Ok(ticket) = served.fetch_update(Ordering::SeqCst, Ordering::SeqCst, next) else { return };
    futex::wake_bits(served, u32::MAX, if all { u32::MAX } else { bit(ticket) });
}

/// Bit that distinguishes the owner of a ticket from up to 31 other tasks that sleep on the same word.
fn bit(ticket: u32) -> u32 {
    1 << (ticket % u32::BITS)
}

/// Wait until `parties` tasks have arrived.
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
