//! Parts of messages, wake-ups and forks: which task pays what of a cost of the table.

use schedlab_workload::program::MainMemory;

use super::{Costs, Distance, PIPE_PAGE};
use crate::time::Ns;

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

    /// Fork and exit of a process that inherits `memory`, split in the proportion of the fork and the exit of a process without.
    pub(crate) fn fork_and_exit(&self, memory: MainMemory) -> (u32, u32) {
        let ps = |number: u32, each: u32| u64::from(number) * u64::from(each);
        let parts = &self.parts;
        let all = (ps(memory.mappings, parts.fork_mapping_ps) + ps(memory.pages, parts.fork_page_ps)) / 1000;
        let own = u64::from(self.fork) + u64::from(self.exit);
        let with = |cost: u32| {
            let share = (u128::from(all) * u128::from(cost)).checked_div(own.into()).unwrap_or(0);
            cost.saturating_add(u32::try_from(share).unwrap_or(u32::MAX))
        };
        (with(self.fork), with(self.exit))
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
