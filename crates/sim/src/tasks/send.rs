//! Sending messages over channels.

use schedlab_workload::program::{ChannelKind, Direction};

use crate::balance::KernelPolicy;
use crate::engine::Engine;
use crate::kernel::PipeWakeups;
use crate::ledger::Account;
use crate::observe::Observer;
use crate::sched::TaskIx;
use crate::tasks::exec::Progress;
use crate::tasks::waiters::Event;
use crate::tasks::{Flow, MESSAGES, Segment};

/// `moved` of a sender to a channel other than TCP's that has waited for room in this call.
const WAITED: u64 = 1;

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    pub(super) fn begin_send(
        &mut self,
        cpu: usize,
        task: TaskIx,
        (channel, bytes, direction): (u32, u64, Direction),
        ahead: bool,
    ) -> Progress {
        let at = Flow::at(channel, direction);
        let calls = self.tasks[task].left == u64::MAX;
        let left = self.tasks[task].left.min(bytes);
        let flow = &self.program.flows[at];
        let kind = flow.kind;
        // Room comes first, then the copy. TCP's room depends on what it sends meanwhile.
        let waited = self.tasks[task].moved == WAITED;
        let waits =
            kind != ChannelKind::Tcp && left > 0 && flow.room(left, waited) == 0 && flow.receivers > 0;
        if waits && self.too_early(cpu, task, ahead) {
            return Progress::Later;
        }
        self.tasks[task].left = left;
        if waits {
            self.book(cpu, Account::Syscall, if calls { self.costs.syscall } else { 0 });
            return self.wait_for_room(task, at);
        }
        let (mut segments, mut alone) = (1, false);
        if kind == ChannelKind::Tcp {
            let flow = &mut self.program.flows[at];
            segments = flow.segments(left);
            flow.tcp.sending = Some(cpu as u16);
            // `moved` is the number of segments whose way through the protocols has been booked.
            self.tasks[task].moved = segments;
        }
        if kind == ChannelKind::Tcp && segments > 0 {
            self.hold_route(cpu);
            // Flows of both directions are neighbours.
            self.program.flows[at ^ 1].acknowledged_by_data();
            alone = self.program.flows[at].tcp.acknowledged_alone();
        }
        let costs = &self.costs;
        let protocol = match kind {
            ChannelKind::Pipe => costs.pipe_write(left, self.program.flows[at].ready()),
            ChannelKind::Unix => costs.unix_send(),
            ChannelKind::Tcp => self.tcp_transmission(segments),
            ChannelKind::Udp => costs.udp_send.into(),
        };
        // The sender processes the acknowledgement when it releases its socket.
        let acknowledgement = if alone { self.tcp_ack() } else { 0 };
        let copy = self.costs.sending(kind, left)
            + self.costs.pipe_pages(kind, left, self.world.kernel.pipes.spare_pages);
        let cost = protocol + u64::from(self.costs.syscall + acknowledgement) + copy;
        let mut segment = Segment::new(Account::Syscall, cost);
        let room = self.program.flows[at].room(left, waited);
        segment.add(MESSAGES, self.fetch_buffers(cpu, at, room));
        Progress::Segment(segment)
    }

    pub(super) fn effect_send(
        &mut self,
        cpu: usize,
        task: TaskIx,
        channel: u32,
        direction: Direction,
    ) -> Progress {
        let left = self.tasks[task].left;
        let at = Flow::at(channel, direction);
        let flow = &mut self.program.flows[at];
        flow.tcp.sending = None;
        if flow.receivers == 0 && flow.kind != ChannelKind::Udp {
            return Progress::Failed("sending: every receiver has closed the channel".to_owned());
        }
        let waited = self.tasks[task].moved == WAITED;
        let part = flow.room(left, waited);
        if flow.kind == ChannelKind::Pipe
            && let Some(wait) = self.mutex_lock(cpu, at, part)
        {
            return Progress::Segment(wait);
        }
        let flow = &mut self.program.flows[at];
        if flow.kind == ChannelKind::Tcp {
            let (booked, segments) = (self.tasks[task].moved, flow.segments(left));
            if booked == 0 && segments == 0 && part == left {
                flow.hold(left, cpu);
                self.physics.written.write(self.topology.core(cpu), left);
                self.tasks[task].left = 0;
                self.records.counters.messages += 1;
                return Progress::Done;
            }
            if segments > booked {
                // Meanwhile the receiver has acknowledged previous bytes, or the bytes fill a segment.
                self.tasks[task].moved = segments;
                let rest = self.tcp_transmission(segments).saturating_sub(self.tcp_transmission(booked));
                return Progress::Segment(Segment::new(Account::Syscall, rest));
            }
        }
        let pipe = flow.kind == ChannelKind::Pipe;
        let one = pipe && self.world.kernel.pipes.wakeups != PipeWakeups::All;
        let was_empty = !flow.ready();
        if part > 0 || left == 0 || flow.is_limited() {
            if !flow.push(part, part < left, cpu, waited) {
                self.records.counters.datagrams_lost += 1;
            }
            let memory = flow.charge(part);
            flow.note_written(self.physics.written.write(self.topology.core(cpu), memory));
            // A pipe with bytes has woken its reader already.
            if flow.ready() && (was_empty || !one) {
                // A sync wake-up: the writer will probably sleep soon (wake_up_interruptible_sync_poll()).
                let sync = P::wakes_sync(pipe, part < left);
                self.wake_waiters(cpu, at, Event::Written, sync);
            }
            self.tasks[task].left -= part;
        }
        if self.tasks[task].left == 0 {
            self.records.counters.messages += 1;
            // Room that this writer has left is for the next that waits.
            if one && waited && !self.program.flows[at].pages_full() {
                self.wake_writer(cpu, at, P::wakes_sync(pipe, false));
            }
            return Progress::Done;
        }
        self.wait_for_room(task, at)
    }

    fn wait_for_room(&mut self, task: TaskIx, at: usize) -> Progress {
        self.tasks[task].moved = WAITED;
        self.program.flows[at].writers.push(&mut self.tasks, task);
        Progress::Again
    }
}
