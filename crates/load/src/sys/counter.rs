//! The cycle counter of the processor: readable without a system call, at one rate on all CPUs.

use std::fs;

use super::clock::raw_ns;

/// Name of the counter, as Linux names its clock source.
#[cfg(target_arch = "x86_64")]
pub const NAME: &str = "tsc";
/// Name of the counter, as Linux names its clock source.
#[cfg(target_arch = "aarch64")]
pub const NAME: &str = "arch_sys_counter";

/// Read the counter, after all earlier instructions: without the fence a processor may read the counter twice at nearly the same
/// time, and two readings in a row would differ by less than the time of a reading (Intel SDM, RDTSC).
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn read() -> u64 {
    // SAFETY: every x86-64 processor has the instructions; Linux leaves them enabled in user mode unless a process asks
    // otherwise (PR_SET_TSC).
    unsafe {
        core::arch::x86_64::_mm_lfence();
        core::arch::x86_64::_rdtsc()
    }
}

/// Read the counter.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub fn read() -> u64 {
    let count: u64;
    // SAFETY: reads a register that Linux lets user mode read (arch_timer).
    unsafe {
        std::arch::asm!("mrs {}, cntvct_el0", out(reg) count, options(nomem, nostack, preserves_flags))
    };
    count
}

/// Whether the counter keeps its rate at every frequency and in every idle state of the processor. The architecture of
/// 64-bit ARM guarantees both; an x86-64 processor states both in its flags.
pub fn is_invariant() -> bool {
    if cfg!(target_arch = "aarch64") {
        return true;
    }
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let mut flags = text.lines().filter(|line| line.starts_with("flags")).peekable();
    let has = |line: &str, flag: &str| line.split_ascii_whitespace().any(|word| word == flag);
    flags.peek().is_some() && flags.all(|line| has(line, "constant_tsc") && has(line, "nonstop_tsc"))
}

/// Whether the kernel computes its clocks from this counter.
pub fn is_clock_source() -> bool {
    const PATH: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    fs::read_to_string(PATH).is_ok_and(|name| name.trim() == NAME)
}

/// The counter and `CLOCK_MONOTONIC_RAW` at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    /// The counter.
    pub count: u64,
    /// `CLOCK_MONOTONIC_RAW` in nanoseconds.
    pub raw_ns: u64,
    /// Counts between the two readings of the counter around the clock; the error of the instant is at most half of this width.
    pub width: u64,
}

/// Attempts for a pair; an interruption can only make an attempt wider.
const ATTEMPTS: u32 = 200;

impl Pair {
    /// Read the clock between two readings of the counter; the narrowest of many attempts.
    pub fn take() -> Self {
        let attempt = |_| {
            let before = read();
            let raw_ns = raw_ns();
            let width = read().saturating_sub(before);
            Self { count: before + width / 2, raw_ns, width }
        };
        (0..ATTEMPTS).map(attempt).min_by_key(|pair| pair.width).expect("at least one attempt")
    }
}

/// Rate of the counter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// Counts per nanosecond.
    pub per_ns: f64,
}

impl Rate {
    /// The rate between two pairs. The second is at least a nanosecond later.
    pub fn between(first: Pair, last: Pair) -> Self {
        let ns = last.raw_ns.saturating_sub(first.raw_ns).max(1);
        Self { per_ns: last.count.saturating_sub(first.count).max(1) as f64 / ns as f64 }
    }

    /// Nanoseconds of a number of counts.
    pub fn ns(self, counts: u64) -> f64 {
        counts as f64 / self.per_ns
    }

    /// Counts of a number of nanoseconds.
    pub fn counts(self, ns: f64) -> u64 {
        (ns * self.per_ns) as u64
    }
}
