//! Parts of messages and of wake-ups: which task pays what of a cost of the table.

use super::{Costs, Distance, PIPE_PAGE};
use crate::time::Ns;

/// How the parts of messages and of wake-ups share costs of the table, in ns. The parts of messages are differences from the table's
/// cost of a write or a read.
///
/// CFS and EEVDF charge each task its parts, and the sums decide how often a reader preempts the writer that wakes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Parts {
    /// Writing to an empty pipe.
    pub pipe_write: i32,
    /// Writing to a pipe with bytes.
    pub pipe_append: i32,
    /// Reading the last bytes of a pipe.
    pub pipe_read: i32,
    /// Reading bytes of a pipe that leaves other bytes.
    pub pipe_take: i32,
    /// Sending over a Unix socket.
    pub unix_send: i32,
    /// Receiving over a Unix socket.
    pub unix_receive: i32,
    /// Taking a task that waits off its queue: a part of `wakeup.core`, charged to the next task and not to the waker.
    pub dequeue: u32,
}

impl Costs {
    /// Writing `bytes` to a pipe that has bytes if `ready`, without the system call and the copy. Messages of a page or more need a
    /// new page, as messages for an empty pipe do. Limit: shorter messages that do not fit into the last page are priced as
    /// appended.
    #[inline]
    pub(crate) fn pipe_write(&self, bytes: u64, ready: bool) -> Ns {
        let appends = ready && bytes < PIPE_PAGE;
        part(self.pipe, if appends { self.parts.pipe_append } else { self.parts.pipe_write })
    }

    /// Reading `bytes` of a pipe that then has other bytes if `rest`, without the system call and the copy.
    #[inline]
    pub(crate) fn pipe_read(&self, bytes: u64, rest: bool) -> Ns {
        let takes = rest && bytes < PIPE_PAGE;
        part(self.pipe, if takes { self.parts.pipe_take } else { self.parts.pipe_read })
    }

    /// Sending a message over a Unix socket, without the system call and the copy.
    #[inline]
    pub(crate) fn unix_send(&self) -> Ns {
        part(self.unix, self.parts.unix_send)
    }

    /// Receiving a message over a Unix socket, without the system call and the copy.
    #[inline]
    pub(crate) fn unix_receive(&self) -> Ns {
        part(self.unix, self.parts.unix_receive)
    }

    /// The waker's part of a wake-up.
    #[inline]
    pub(crate) fn waking(&self, distance: Distance) -> Ns {
        let dequeue = if distance == Distance::Core { self.parts.dequeue } else { 0 };
        self.wakeup.at(distance).saturating_sub(dequeue.into())
    }
}

/// A cost with a part's difference. No cost becomes negative.
#[inline]
fn part(cost: u32, difference: i32) -> Ns {
    cost.saturating_add_signed(difference).into()
}
