//! System calls, one concept in each module. No other module has `unsafe`.

pub mod channel;
pub mod clock;
pub mod counter;
pub mod files;
pub mod futex;
pub mod mark;
pub mod memory;
pub mod process;
pub mod restart;
pub mod sched;
pub mod signals;
pub mod thread;
pub mod wait;

/// The error of the system call that just failed.
pub fn last_error() -> std::io::Error {
    std::io::Error::last_os_error()
}

/// Repeat a system call for as long as signals interrupt it.
#[inline]
pub fn retry<T>(mut call: impl FnMut() -> std::io::Result<T>) -> std::io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// Turn a system call's −1 into its error.
pub(crate) fn check(result: i64) -> std::io::Result<i64> {
    if result < 0 { Err(last_error()) } else { Ok(result) }
}
