//! Waiting for descriptors by poll(2) and epoll(7).

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;
use std::os::fd::{BorrowedFd, RawFd};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollTimeout, poll};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

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

/// Sets of a single descriptor each, which are made at the first wait for the descriptor and kept.
#[derive(Debug, Default)]
pub struct Sets(BTreeMap<RawFd, Epoll>);

impl Sets {
    /// Wait until an open descriptor is readable or hung up.
    #[inline(never)]
    pub fn wait(&mut self, fd: RawFd) -> io::Result<()> {
        let set = match self.0.entry(fd) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let set = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
                // SAFETY: the caller's descriptor is open during the call.
                let watched = unsafe { BorrowedFd::borrow_raw(fd) };
                set.add(watched, EpollEvent::new(EpollFlags::EPOLLIN, 0))?;
                entry.insert(set)
            }
        };
        super::retry(|| Ok(set.wait(&mut [EpollEvent::empty()], EpollTimeout::NONE)?)).map(drop)
    }
}
