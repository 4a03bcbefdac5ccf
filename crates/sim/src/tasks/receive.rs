//! Receiving messages from channels.

use schedlab_workload::program::{ChannelKind, Direction, Take};

use crate::balance::KernelPolicy;
use crate::engine::Engine;
use crate::ledger::Account;
use crate::observe::Observer;
use crate::sched::TaskIx;
use crate::tasks::exec::{Progress, Script};
use crate::tasks::waiters::Event;
use crate::tasks::{Flow, MESSAGES, Segment};
use crate::time::Ns;

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    pub(super) fn begin_receive(
        &mut self,
        cpu: usize,
        task: TaskIx,
        (channel, bytes, direction): (u32, u64, Direction),
        take: Take,
        ahead: bool,
    ) -> Progress {
        let at = Flow::at(channel, direction);
        let flow = &self.program.flows[at];
        if !flow.ready() && self.too_early(cpu, task, ahead) {
            return Progress::Later;
        }
        let receiver = &mut self.tasks[task];
        // A task that is woken up in vain before the first byte continues its call. A part of a message ends the call.
        let calls = receiver.left == u64::MAX || receiver.moved > 0;
        receiver.left = receiver.left.min(bytes);
        let (left, moved) = (receiver.left, receiver.moved);
        let preempted = std::mem::take(&mut receiver.preempted);
        if flow.ready() {
            let mut segment = self.receiving(cpu, at, left, take);
            if preempted && calls {
                segment.left += Ns::from(self.costs.waiting(self.program.flows[at].kind));
            }
            return Progress::Segment(segment);
        }
        if flow.senders == 0 {
            if moved > 0 {
                return Progress::Failed("receiving: closed in the middle of a message".to_owned());
            }
            let is_program = self.tasks.scripts[task as usize] == Script::Program;
            let closed = is_program && self.tasks.cursors[task as usize].closed();
            self.book(cpu, Account::Syscall, self.costs.syscall);
            return if closed {
                Progress::Done
            } else {
                Progress::Failed("receiving: every sender has closed the channel".to_owned())
            };
        }
        let wait = self.costs.waiting(self.program.flows[at].kind);
        // A task that polls has made two calls: the read that found no bytes, and the wait. The next read is a call of its own.
        let calls = u32::from(calls) + u32::from(take.polls());
        self.book(cpu, Account::Syscall, calls * self.costs.syscall + wait);
        let flow = &mut self.program.flows[at];
        flow.waits = take;
        flow.readers.push(&mut self.tasks, task);
        Progress::Again
    }

    /// Segment of a read of at most `bytes` readable bytes.
    fn receiving(&self, cpu: usize, flow: usize, bytes: u64, take: Take) -> Segment {
        let flow = &self.program.flows[flow];
        let (costs, readable) = (&self.costs, flow.readable(bytes));
        let spare_pages = self.world.kernel.pipes.spare_pages;
        let protocol = match flow.kind {
            ChannelKind::Pipe => costs.pipe_read(readable, flow.bytes > readable),
            ChannelKind::Unix => costs.unix_receive(),
            ChannelKind::Tcp => costs.tcp_receive.into(),
            ChannelKind::Udp => costs.udp_receive.into(),
        };
        let copied = if take == Take::Discard { 0 } else { readable };
        let copy = costs.copying(copied) + costs.pipe_pages(flow.kind, readable, spare_pages);
        let cost = Ns::from(costs.syscall) + protocol + copy;
        let mut segment = Segment::new(Account::Syscall, cost);
        let Some((writer, message)) = flow.front(readable) else { return segment };
        segment.add(MESSAGES, self.fetch_message(cpu, flow, (writer, &message), readable, copied));
        segment
    }

    pub(super) fn effect_receive(
        &mut self,
        cpu: usize,
        task: TaskIx,
        channel: u32,
        direction: Direction,
        take: Take,
        counter: Option<u32>,
    ) -> Progress {
        let at = Flow::at(channel, direction);
        let flow = &mut self.program.flows[at];
        if !flow.ready() {
            // Another reader has taken the message.
            return Progress::Repeat;
        }
        let (kind, left) = (flow.kind, self.tasks[task].left);
        if kind == ChannelKind::Pipe {
            let copied = flow.readable(left);
            if let Some(wait) = self.mutex_lock(cpu, at, copied) {
                return Progress::Segment(wait);
            }
        }
        let flow = &mut self.program.flows[at];
        if let Some((writer, message)) = flow.front(flow.readable(left)) {
            let core = self.topology.core(cpu);
            if core == self.topology.core(writer) {
                self.physics.written.read(core, &message);
            }
        }
        let used = flow.used();
        let taken = flow.take(left);
        flow.note_freed(
            if take == Take::Discard { 0 } else { taken },
            cpu,
            self.world.kernel.pipes.spare_pages,
        );
        if kind == ChannelKind::Tcp {
            self.after_tcp_read(cpu, at);
        }
        let (datagram, pipe) = (kind == ChannelKind::Udp, kind == ChannelKind::Pipe);
        let receiver = &mut self.tasks[task];
        receiver.left -= taken;
        receiver.moved += taken;
        let (left, moved) = (receiver.left, receiver.moved);
        let goes_on = left > 0 && !datagram && take != Take::Available;
        let flow = &self.program.flows[at];
        // A Unix socket gets room when the last byte of a message has been read.
        if (kind != ChannelKind::Unix || flow.used() < used)
            && flow.wakes_writer(self.world.kernel.pipes.wakeups)
        {
            // sk_stream_write_space() wakes without the hint that the waker will sleep.
            let sync = kind != ChannelKind::Tcp && P::wakes_sync(pipe, goes_on);
            self.wake_waiters(cpu, at, Event::Read, sync);
        }
        if goes_on {
            return Progress::Repeat;
        }
        // Other readers may wait for the bytes that this reader has left.
        if self.program.flows[at].ready() {
            self.wake_reader(cpu, at, P::wakes_sync(pipe, false));
        }
        if let Some(counter) = counter {
            self.count(cpu, task, counter, moved);
        }
        Progress::Done
    }
}
