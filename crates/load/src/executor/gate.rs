//! The start gate: tasks write a byte when ready, then poll a descriptor that becomes readable for all tasks
//! at once.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use schedlab_workload::program::GateKind;

use crate::sys::{channel, retry};

/// Both signals' descriptors.
#[derive(Debug)]
pub struct Gate {
    ready_in: OwnedFd,
    ready_out: OwnedFd,
    go_in: OwnedFd,
    go_out: OwnedFd,
}

impl Gate {
    /// Open a gate of a kind.
    pub fn new(kind: GateKind) -> io::Result<Self> {
        let pair = || match kind {
            GateKind::Pipe => channel::pipe(),
            GateKind::Unix => channel::unix_pair(),
            GateKind::Tcp => channel::tcp_pair(false, None),
        };
        let (ready_in, ready_out) = pair()?;
        let (go_in, go_out) = pair()?;
        Ok(Self { ready_in, ready_out, go_in, go_out })
    }

    /// The task's side: reports ready and waits for the opening.
    pub fn pass(&self) -> io::Result<()> {
        retry(|| channel::write(self.ready_out.as_raw_fd(), b"*"))?;
        while !channel::readable_within(self.go_in.as_raw_fd(), -1)? {}
        Ok(())
    }

    /// Wait, as the main thread, at most `timeout_ms` for one ready report; return whether a report arrived.
    pub fn one_ready(&self, timeout_ms: i32) -> io::Result<bool> {
        let descriptor = self.ready_in.as_raw_fd();
        Ok(channel::readable_within(descriptor, timeout_ms)? && channel::read(descriptor, &mut [0])? > 0)
    }

    /// Open the gate for all tasks.
    pub fn open(&self) -> io::Result<()> {
        channel::write(self.go_out.as_raw_fd(), b"*").map(drop)
    }

    /// Descriptors that only the main thread needs.
    pub fn own(&self) -> [RawFd; 2] {
        [self.ready_in.as_raw_fd(), self.go_out.as_raw_fd()]
    }
}
