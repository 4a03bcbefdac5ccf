//! Which processes write the run's files during a trial (fanotify(7)).

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::thread::{self, JoinHandle};

use nix::poll::{PollFd, PollFlags};
use nix::sys::fanotify::{EventFFlags, Fanotify, InitFlags, MarkFlags, MaskFlags};
use nix::sys::stat::fstat;

use super::protocol::Writer;
use crate::sys::process::{self, Pid};
use crate::sys::{sched, wait};

/// Device and inode of a file.
type Inode = (u64, u64);

/// The last writer of each file during a trial.
#[derive(Debug, Default)]
pub struct LastWriters(BTreeMap<Inode, Writer>);

impl LastWriters {
    /// The last writer of the file.
    pub fn of(&self, path: &str) -> Writer {
        let inode = fs::metadata(path).map(|state| (state.dev(), state.ino()));
        inode.ok().and_then(|inode| self.0.get(&inode).copied()).unwrap_or(Writer::Unknown)
    }

    /// A writer of one file, for tests.
    #[cfg(test)]
    pub fn single(path: &std::path::Path, writer: Writer) -> Self {
        let state = fs::metadata(path).unwrap();
        Self([((state.dev(), state.ino()), writer)].into())
    }

    /// Look up the writers of new events.
    fn update(&mut self, group: &Fanotify) {
        for event in group.read_events().unwrap_or_default() {
            if let Some(state) = event.fd().and_then(|file| fstat(file).ok()) {
                self.0.insert((state.st_dev, state.st_ino), writer(event.pid()));
            }
        }
    }
}

/// A thread that notes the last writer of each file.
#[derive(Debug)]
pub struct Watch {
    thread: JoinHandle<LastWriters>,
    stop: PipeWriter,
}

impl Watch {
    /// Watch files until [`Watch::end`]. `None` without files, without the privilege, or without the kernel's support:
    /// no writer is then known.
    pub fn start<'p>(paths: impl Iterator<Item = &'p str>) -> Option<Self> {
        let mut paths = paths.peekable();
        paths.peek()?;
        let flags = InitFlags::FAN_CLASS_NOTIF | InitFlags::FAN_CLOEXEC | InitFlags::FAN_NONBLOCK;
        let group = Fanotify::init(flags, EventFFlags::O_RDONLY | EventFFlags::O_CLOEXEC).ok()?;
        for path in paths {
            group
                .mark(MarkFlags::FAN_MARK_ADD, MaskFlags::FAN_MODIFY, nix::fcntl::AT_FDCWD, Some(path))
                .ok()?;
        }
        let (stopped, stop) = io::pipe().ok()?;
        let thread = thread::Builder::new().spawn(move || note_writers(&group, &stopped)).ok()?;
        Some(Self { thread, stop })
    }

    /// End the thread, and return the last writers.
    pub fn end(self) -> LastWriters {
        drop(self.stop);
        self.thread.join().unwrap_or_default()
    }
}

/// Note writers until the other end of the pipe is closed.
fn note_writers(group: &Fanotify, stopped: &PipeReader) -> LastWriters {
    // Between a write and the end of its process there may be 100 µs: on busy CPUs a thread of normal priority is too late.
    // The thread sleeps unless a tunable is written.
    let _ = sched::become_fifo(1);
    let mut last = LastWriters::default();
    loop {
        let watch = |source| PollFd::new(source, PollFlags::POLLIN);
        let mut sources = [watch(group.as_fd()), watch(stopped.as_fd())];
        if wait::until(&mut sources, None).is_err() {
            return last;
        }
        let is_stopped = sources[1].any().unwrap_or(false);
        last.update(group);
        if is_stopped {
            return last;
        }
    }
}

/// What a process is to this process, which adopts the orphans of a trial. A process that has ended and was waited for is
/// unknown.
fn writer(mut pid: Pid) -> Writer {
    let own = process::own_pid();
    while pid > 1 && pid != own {
        let Some(stat) = process::stat(pid) else { return Writer::Unknown };
        // A process that ends during the look-up shows the parent 0, as a process with a parent in another namespace does.
        if stat.parent == 0 && process::stat(pid).is_none() {
            return Writer::Unknown;
        }
        pid = stat.parent;
    }
    if pid == own { Writer::Workload } else { Writer::Other }
}
