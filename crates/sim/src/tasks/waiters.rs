//! Tasks that wait at channels: who wakes up when bytes arrive, when room is made, and when an end is closed.

use schedlab_workload::program::{ChannelKind, Direction, Take};

use crate::balance::KernelPolicy;
use crate::engine::Engine;
use crate::kernel::PipeWakeups;
use crate::observe::Observer;
use crate::tasks::{Flow, State};

/// What has happened at a flow.
#[derive(Debug, Clone, Copy)]
pub(super) enum Event {
    /// There are bytes to be read.
    Written,
    /// There is room to write.
    Read,
}

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// Wake the tasks for which an event at a flow is meant, or all tasks that wait in their queue.
    ///
    /// The waiters of a socket are in one queue. Those of a Unix socket are not exclusive: whatever happens at the socket wakes the
    /// readers of the flow that it receives and the writers of the other flow (`sock_def_readable()`, net/core/sock.c;
    /// `unix_write_space()`, `unix_stream_data_wait()`, net/unix/af_unix.c, v4.5 to v6.18). So a task that has sent a request and
    /// waits for the reply wakes up when the request has been read, and sleeps again. Readers and writers of a pipe were such
    /// waiters of one queue up to 5.5 (fs/pipe.c, v4.5).
    ///
    /// A reader that waits by poll(2) or epoll(7) is not woken for room.
    ///
    /// Limits: readers wake up before writers, and both in the order in which they began to wait, where the kernel wakes the
    /// waiter first that came last. TCP's waiters are not exclusive in a kernel; here one reader or writer wakes up.
    #[inline]
    pub(super) fn wake_waiters(&mut self, cpu: usize, at: usize, event: Event, sync: bool) {
        let idle = |flow: &Flow| flow.readers.is_empty() && flow.writers.is_empty();
        if !idle(&self.program.flows[at]) || !idle(&self.program.flows[at ^ 1]) {
            self.wake_some(cpu, at, event, sync);
        }
    }

    #[inline(never)]
    fn wake_some(&mut self, cpu: usize, at: usize, event: Event, sync: bool) {
        let (readers, writers) = match (self.program.flows[at].kind, event) {
            (ChannelKind::Unix, Event::Written) => (at, at ^ 1),
            (ChannelKind::Unix, Event::Read) => (at ^ 1, at),
            (ChannelKind::Pipe, _) if self.world.kernel.pipes.wakeups == PipeWakeups::All => (at, at),
            (_, Event::Written) => {
                self.wake_reader(cpu, at, sync);
                return;
            }
            (_, Event::Read) => {
                self.wake_writer(cpu, at, sync);
                return;
            }
        };
        let polled = matches!(event, Event::Read) && self.program.flows[readers].waits.polls();
        while !polled && self.wake_reader(cpu, readers, sync) {}
        while self.wake_writer(cpu, writers, sync) {}
    }

    /// Wake the reader of a flow that waits first; return whether there was one.
    pub(super) fn wake_reader(&mut self, cpu: usize, at: usize, sync: bool) -> bool {
        let flow = &mut self.program.flows[at];
        let Some(reader) = flow.readers.pop(&self.tasks) else { return false };
        let sync = sync && (flow.waits != Take::Epoll || self.world.kernel.epoll_wakes_sync);
        self.try_to_wake_up(cpu, reader, sync);
        true
    }

    /// Wake the writer of a flow that waits first; return whether there was one.
    pub(super) fn wake_writer(&mut self, cpu: usize, at: usize, sync: bool) -> bool {
        let Some(writer) = self.program.flows[at].writers.pop(&self.tasks) else { return false };
        self.try_to_wake_up(cpu, writer, sync);
        true
    }

    /// Close the channel ends of a task; the last closed end wakes all tasks that wait at the other end.
    pub(super) fn close_ends(&mut self, cpu: usize, ordinal: u32) {
        let plan = self.world.plan;
        for used in plan.channel_ends(plan.task(ordinal)) {
            for direction in [Direction::Forward, Direction::Backward] {
                let at = Flow::at(used.channel, direction);
                let sends = schedlab_workload::check::ends::End::sending(direction) == used.end;
                let flow = &mut self.program.flows[at];
                let left = if sends { &mut flow.senders } else { &mut flow.receivers };
                *left -= 1;
                if *left > 0 {
                    continue;
                }
                // The end of the stream takes held bytes along.
                if sends {
                    flow.close();
                    flow.note_written(self.physics.written.inflow(self.topology.core(flow.held_cpu())));
                }
                while let Some(waiter) = {
                    let flow = &mut self.program.flows[at];
                    let waiters = if sends { &mut flow.readers } else { &mut flow.writers };
                    waiters.pop(&self.tasks)
                } {
                    debug_assert_eq!(self.tasks[waiter].state, State::Blocked);
                    self.try_to_wake_up(cpu, waiter, false);
                }
            }
        }
    }
}
