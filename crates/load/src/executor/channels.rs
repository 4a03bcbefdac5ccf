//! The table of open channel ends.
//!
//! A channel is opened just before the first task that uses it is created. The creator closes an end after the last
//! process that uses the end has been created. So the creator has no more open descriptors than needed, and a reader
//! receives the end of the stream when the last user of the other end is gone. Threads share the table: an
//! end that threads use is closed when the last of these threads has finished.

use std::io;
use std::os::fd::{IntoRawFd, RawFd};
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use schedlab_workload::check::ends::End;
use schedlab_workload::plan::Use;
use schedlab_workload::program::{Channel, ChannelKind};
use schedlab_workload::{Plan, TaskId};

use crate::sys::channel;

/// How long a datagram receiver sleeps before it checks whether all senders are gone. Loopback delivers at
/// once, so this sleep delays only the end of a run.
const DATAGRAM_PATIENCE: Duration = Duration::from_millis(20);

/// Descriptors by channel and end.
#[derive(Debug)]
pub struct Table(Vec<Entry>);

/// A channel: the fields that every message reads, side by side.
#[derive(Debug)]
pub struct Entry {
    /// Descriptors of the near and the far end; −1 for a closed end.
    ends: [AtomicI32; 2],
    kind: ChannelKind,
}

/// When each end is first and last used, by the tasks' order of creation.
#[derive(Debug)]
pub struct Schedule {
    ends: Vec<Vec<Use>>,
    last: Vec<Option<u32>>,
}

impl Schedule {
    /// Compute the schedule of a plan.
    pub fn new(plan: &Plan) -> Self {
        let ends: Vec<Vec<Use>> = plan.tasks().map(|task| plan.channel_ends(task)).collect();
        let mut last = vec![None; plan.channels().total() as usize * 2];
        for (task, uses) in ends.iter().enumerate() {
            for each in uses {
                last[place(each.channel, each.end)] = Some(task as u32);
            }
        }
        Self { ends, last }
    }

    /// Ends that a task uses.
    pub fn of(&self, task: TaskId) -> &[Use] {
        &self.ends[task.ordinal as usize]
    }

    /// Whether no task after `task` uses an end.
    pub fn is_last(&self, task: TaskId, each: Use) -> bool {
        self.last[place(each.channel, each.end)] == Some(task.ordinal)
    }

    /// Maximum number of channel descriptors that are open at a time in the creator, and in a process of the
    /// creator.
    pub fn most_open(&self, plan: &Plan) -> u64 {
        let threads = |task| plan.group(task).mode == schedlab_workload::program::Mode::Thread;
        let mut open = vec![false; self.last.len()];
        let (mut now, mut most) = (0u64, 0);
        for task in plan.tasks() {
            for each in self.of(task) {
                for end in [End::Near, End::Far] {
                    let used = self.last[place(each.channel, end)].is_some();
                    if used && !std::mem::replace(&mut open[place(each.channel, end)], true) {
                        now += 1;
                    }
                }
            }
            most = most.max(now);
            for each in self.of(task) {
                if self.is_last(task, *each) && !threads(task) {
                    now -= 1;
                }
            }
        }
        most
    }
}

fn place(channel: u32, end: End) -> usize {
    channel as usize * 2 + end as usize
}

impl Entry {
    /// The descriptor of an end, or −1, and the channel's carrier.
    #[inline]
    pub fn descriptor(&self, end: End) -> (RawFd, ChannelKind) {
        (self.ends[end as usize].load(Ordering::Relaxed), self.kind)
    }
}

impl Table {
    /// Table without open channels.
    pub fn new(plan: &Plan) -> Self {
        let entry = |instance| Entry {
            ends: [AtomicI32::new(-1), AtomicI32::new(-1)],
            kind: plan.program().resources.channels[plan.channels().position(instance)].kind,
        };
        Self((0..plan.channels().total()).map(entry).collect())
    }

    /// All channels by number.
    pub fn entries(&self) -> &[Entry] {
        &self.0
    }

    /// Open the channels of a task that are not open yet.
    pub fn open_for(&self, plan: &Plan, schedule: &Schedule, task: TaskId) -> io::Result<()> {
        for each in schedule.of(task) {
            if self.0[each.channel as usize].descriptor(each.end).0 >= 0 {
                continue;
            }
            let definition = &plan.program().resources.channels[plan.channels().position(each.channel)];
            let (near, far) = open(definition)?;
            for (end, descriptor) in [(End::Near, near), (End::Far, far)] {
                self.0[each.channel as usize].ends[end as usize].store(descriptor, Ordering::Relaxed);
                if schedule.last[place(each.channel, end)].is_none() {
                    self.close(Use { channel: each.channel, end });
                }
            }
        }
        Ok(())
    }

    /// Close an end, if the end is open.
    pub fn close(&self, each: Use) {
        let descriptor = self.0[each.channel as usize].ends[each.end as usize].swap(-1, Ordering::Relaxed);
        if descriptor >= 0 {
            // No caller can act on an error.
            let _ = nix::unistd::close(descriptor);
        }
    }

    /// Close all ends except those in `keep` (ascending), in a process that has just been created.
    pub fn close_others(&self, keep: &[Use]) {
        for channel in 0..self.0.len() as u32 {
            for end in [End::Near, End::Far] {
                let each = Use { channel, end };
                if keep.binary_search(&each).is_err() {
                    self.close(each);
                }
            }
        }
    }
}

/// Open one channel: (near, far).
fn open(definition: &Channel) -> io::Result<(RawFd, RawFd)> {
    let (near, far) = match definition.kind {
        ChannelKind::Pipe => {
            let (reader, writer) = channel::pipe()?;
            (writer, reader)
        }
        ChannelKind::Unix => channel::unix_pair()?,
        ChannelKind::Tcp => channel::tcp_pair(definition.no_delay, definition.buffer)?,
        ChannelKind::Udp => channel::udp_pair(DATAGRAM_PATIENCE, definition.buffer)?,
    };
    Ok((near.into_raw_fd(), far.into_raw_fd()))
}
