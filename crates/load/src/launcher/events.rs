//! Events that a supervising process waits for: signals, the end of another process, a deadline.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

use nix::poll::{PollFd, PollFlags};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use crate::error::LoadError;
use crate::sys::process::{self, How, Pid};
use crate::sys::{signals, wait};

/// Signals and, possibly, a watched process.
#[derive(Debug)]
pub struct Events {
    signals: SignalFd,
    watched: Option<OwnedFd>,
}

/// An event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A signal that stops the launcher.
    Stop(i32),
    /// A child may have ended.
    Child,
    /// The watched process has ended.
    Gone,
    /// The deadline has passed.
    Time,
}

impl Events {
    /// Block SIGCHLD and the stop signals, and receive them as events. A stop signal that is ignored, such as SIGHUP under
    /// nohup(1), remains ignored.
    pub fn new() -> io::Result<Self> {
        let mut set = SigSet::empty();
        for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT, Signal::SIGCHLD] {
            if !signals::ignored(signal) {
                set.add(signal);
            }
        }
        set.thread_block()?;
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        Ok(Self { signals: SignalFd::with_flags(&set, flags)?, watched: None })
    }

    /// Watches another process.
    pub fn watch(&mut self, pid: Pid) -> io::Result<()> {
        self.watched = Some(process::open(pid)?);
        Ok(())
    }

    /// The next event, or [`Event::Time`] at `until`.
    pub fn next(&mut self, until: Option<Instant>) -> io::Result<Event> {
        loop {
            if let Some(signal) = self.signals.read_signal()? {
                let signal = signal.ssi_signo as i32;
                return Ok(if signal == libc::SIGCHLD { Event::Child } else { Event::Stop(signal) });
            }
            if until.is_some_and(|until| until <= Instant::now()) {
                return Ok(Event::Time);
            }
            let mut sources = vec![PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
            sources
                .extend(self.watched.iter().map(|process| PollFd::new(process.as_fd(), PollFlags::POLLIN)));
            wait::until(&mut sources, until)?;
            if sources.get(1).is_some_and(|process| process.any().unwrap_or(false)) {
                self.watched = None;
                return Ok(Event::Gone);
            }
        }
    }

    /// Wait for a child's end. Pass stop signals on to the child, and end the child when the watched process ends. Other
    /// children are reaped.
    pub fn relay(&mut self, child: Pid) -> Result<How, LoadError> {
        loop {
            match self.next(None).map_err(LoadError::system("waiting"))? {
                Event::Stop(signal) => process::kill(child, signal),
                Event::Gone => process::kill(child, libc::SIGTERM),
                Event::Time => {}
                Event::Child => {
                    while let Ok(Some(ended)) = process::wait_no_hang(-1) {
                        if ended.pid == child {
                            return Ok(ended.how);
                        }
                    }
                }
            }
        }
    }
}
