//! The kernel's interface: the only place with `unsafe`. Each module wraps one concept.

pub mod channel;
pub mod clock;
pub mod futex;
pub mod memory;
pub mod process;
pub mod sched;
pub mod signals;
pub mod thread;

/// The error of the system call that just failed.
pub fn last_error() -> std::io::Error {
    std::io::Error::last_os_error()
}

/// Turns a system call's −1 into its error.
pub(crate) fn check(result: i64) -> std::io::Result<i64> {
    if result < 0 { Err(last_error()) } else { Ok(result) }
}
