//! Signals of the main process: a request to stop becomes a flag that its blocking calls notice.

use std::io;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicI32, Ordering};

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

static REQUESTED: AtomicI32 = AtomicI32::new(0);

/// Signals that stop the program.
const STOPPING: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];

/// Record the signal. A signal that arrives between the test of the flag and a blocking call would have no effect, so an
/// alarm interrupts again every second until the program has stopped.
extern "C" fn note(signal: libc::c_int) {
    if signal != libc::SIGALRM {
        let _ = REQUESTED.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed);
    }
    // SAFETY: alarm(2) is async-signal-safe (signal-safety(7)).
    unsafe { libc::alarm(1) };
}

/// Make stop signals set the flag and interrupt blocking calls instead of ending the process.
pub fn catch_stops() -> io::Result<()> {
    let action = SigAction::new(SigHandler::Handler(note), SaFlags::empty(), SigSet::empty());
    for signal in STOPPING.into_iter().chain([Signal::SIGALRM]) {
        // SAFETY: the handler only uses an atomic and alarm(2).
        unsafe { sigaction(signal, &action) }?;
    }
    Ok(())
}

/// The stop signal that arrived, if a signal arrived.
pub fn requested() -> Option<i32> {
    match REQUESTED.load(Ordering::Relaxed) {
        0 => None,
        signal => Some(signal),
    }
}

/// Give stop signals their default effect again, in a child of the main process.
pub fn restore_stops() {
    let action = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
    for signal in STOPPING.into_iter().chain([Signal::SIGALRM]) {
        // SAFETY: the default action runs no code of this process; these signals exist.
        let _ = unsafe { sigaction(signal, &action) };
    }
}

/// Give SIGPIPE, which the Rust runtime ignores, its default effect again, as a command expects to be started.
pub fn restore_pipe() {
    let action = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
    // SAFETY: as above.
    let _ = unsafe { sigaction(Signal::SIGPIPE, &action) };
}

/// The name of a signal, such as `SIGKILL`.
pub fn name(signal: i32) -> String {
    Signal::try_from(signal).map_or_else(|_| format!("signal {signal}"), |signal| signal.as_str().to_owned())
}

/// Whether a signal is ignored.
pub fn ignored(signal: Signal) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: a null new action only reads the present action; the pointer to the old action is valid, and zero
    // is a valid sigaction.
    let action = unsafe {
        libc::sigaction(signal as i32, std::ptr::null(), action.as_mut_ptr());
        action.assume_init()
    };
    action.sa_sigaction == libc::SIG_IGN
}

/// Unblocks all signals of the calling thread, as a command expects to be started.
pub fn unblock_all() -> io::Result<()> {
    Ok(SigSet::empty().thread_set_mask()?)
}
