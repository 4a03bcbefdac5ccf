//! Time.

use std::mem::MaybeUninit;

/// `CLOCK_MONOTONIC` in nanoseconds.
pub fn now_ns() -> u64 {
    ns_of(libc::CLOCK_MONOTONIC)
}

/// `CLOCK_MONOTONIC_RAW` in nanoseconds: NTP does not change its rate.
pub fn raw_ns() -> u64 {
    ns_of(libc::CLOCK_MONOTONIC_RAW)
}

#[inline(always)]
fn ns_of(clock: libc::clockid_t) -> u64 {
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the pointer is valid for a timespec; the clocks of this module always exist, so the call fills it.
    let time = unsafe {
        libc::clock_gettime(clock, time.as_mut_ptr());
        time.assume_init()
    };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Sleep until `CLOCK_MONOTONIC` shows `at_ns`, going on after signals.
pub fn sleep_until(at_ns: u64) {
    let tv_sec = libc::c_long::try_from(at_ns / 1_000_000_000).unwrap_or(libc::c_long::MAX);
    let time = libc::timespec { tv_sec, tv_nsec: (at_ns % 1_000_000_000) as libc::c_long };
    // SAFETY: the time is valid, and an absolute sleep writes no remainder.
    while unsafe {
        libc::clock_nanosleep(
            libc::CLOCK_MONOTONIC,
            libc::TIMER_ABSTIME,
            &raw const time,
            std::ptr::null_mut(),
        )
    } == libc::EINTR
    {}
}

/// Sleep for `ns` nanoseconds, going on after signals. A sleep of 0 ns lasts for the timer's slack.
pub fn sleep_ns(ns: u64) {
    sleep_until(now_ns().saturating_add(ns));
}
