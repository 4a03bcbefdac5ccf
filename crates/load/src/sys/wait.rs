//! Waiting for descriptors.

use std::io;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollTimeout, poll};

/// Wait until a source is ready, the time has come, or a signal arrives.
pub fn until(sources: &mut [PollFd<'_>], time: Option<Instant>) -> io::Result<()> {
    // Rounded up, so that the wait does not end just before the time.
    let milliseconds = |left: Duration| left.as_micros().div_ceil(1000).min(i32::MAX as u128) as i32;
    let timeout = time.map_or(PollTimeout::NONE, |time| {
        let left = time.saturating_duration_since(Instant::now());
        PollTimeout::try_from(milliseconds(left)).unwrap_or(PollTimeout::MAX)
    });
    match poll(sources, timeout) {
        Ok(_) | Err(nix::errno::Errno::EINTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
