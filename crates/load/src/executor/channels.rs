//! The table of open channel ends.
//!
//! A channel is opened just before the first task that uses it is created. The creator closes an end after the last
//! process that uses it has been created, so at any time it holds no more descriptors than needed, and the end of a
//! stream is seen when the last user of the other end is gone. Threads share the table, so their ends are closed when
//! the last thread that uses them has finished.

use std::io;
use std::os::fd::{IntoRawFd, RawFd};
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use schedlab_workload::check::ends::{End, Use};
use schedlab_workload::program::{Channel, ChannelKind};
use schedlab_workload::{Plan, TaskId};

use crate::sys::channel;

/// How long a datagram receiver sleeps before it looks whether all senders are gone; loopback delivers at once, so
/// this only delays the end of a run.
const DATAGRAM_PATIENCE: Duration = Duration::from_millis(20);

/// Descriptors by channel and end; −1 where there is none.
#[derive(Debug)]
pub struct Table {
    descriptors: Vec<AtomicI32>,
    kinds: Vec<ChannelKind>,
}

/// When each end is first and last used, by the tasks' order of creation.
#[derive(Debug)]
pub struct Schedule {
    ends: Vec<Vec<Use>>,
    last: Vec<Option<u32>>,
}

impl Schedule {
    /// Works out the schedule of a plan.
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

    /// Most channel descriptors that are open at a time in the creator, and in any process that it creates.
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
    channel as usize * 2 + usize::from(end == End::Far)
}

impl Table {
    /// A table without open channels.
    pub fn new(plan: &Plan) -> Self {
        let total = plan.channels().total();
        let kind = |instance| plan.program().resources.channels[plan.channels().position(instance)].kind;
        Self {
            descriptors: (0..total * 2).map(|_| AtomicI32::new(-1)).collect(),
            kinds: (0..total).map(kind).collect(),
        }
    }

    /// The descriptor of an end, or −1.
    pub fn descriptor(&self, channel: u32, end: End) -> RawFd {
        self.descriptors[place(channel, end)].load(Ordering::Relaxed)
    }

    /// Carrier of a channel.
    pub fn kind(&self, channel: u32) -> ChannelKind {
        self.kinds[channel as usize]
    }

    /// Opens the channels of a task that are not open yet.
    pub fn open_for(&self, plan: &Plan, schedule: &Schedule, task: TaskId) -> io::Result<()> {
        for each in schedule.of(task) {
            if self.descriptor(each.channel, each.end) >= 0 {
                continue;
            }
            let definition = &plan.program().resources.channels[plan.channels().position(each.channel)];
            let (near, far) = open(definition)?;
            for (end, descriptor) in [(End::Near, near), (End::Far, far)] {
                let at = place(each.channel, end);
                self.descriptors[at].store(descriptor, Ordering::Relaxed);
                if schedule.last[at].is_none() {
                    self.close(Use { channel: each.channel, end });
                }
            }
        }
        Ok(())
    }

    /// Closes an end, if it is open.
    pub fn close(&self, each: Use) {
        let descriptor = self.descriptors[place(each.channel, each.end)].swap(-1, Ordering::Relaxed);
        if descriptor >= 0 {
            channel::close(descriptor);
        }
    }

    /// Closes everything but the ends in `keep` (ascending), for a process that has just been created.
    pub fn close_others(&self, keep: &[Use]) {
        for at in 0..self.descriptors.len() {
            let end = if at % 2 == 0 { End::Near } else { End::Far };
            let each = Use { channel: (at / 2) as u32, end };
            if keep.binary_search(&each).is_err() {
                self.close(each);
            }
        }
    }
}

/// Opens one channel: (near, far).
fn open(definition: &Channel) -> io::Result<(RawFd, RawFd)> {
    let (near, far) = match definition.kind {
        ChannelKind::Pipe => {
            let (reader, writer) = channel::pipe()?;
            (writer, reader)
        }
        ChannelKind::Unix => channel::unix_pair()?,
        ChannelKind::Tcp => channel::tcp_pair(definition.no_delay)?,
        ChannelKind::Udp => channel::udp_pair(DATAGRAM_PATIENCE)?,
    };
    Ok((near.into_raw_fd(), far.into_raw_fd()))
}
