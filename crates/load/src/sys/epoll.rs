//! Waiting for bytes by epoll(7).

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;
use std::os::fd::{BorrowedFd, RawFd};

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

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
