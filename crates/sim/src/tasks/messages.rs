//! Sending and receiving messages over channels.

use schedlab_workload::program::{ChannelKind, Direction, Take};

use crate::balance::KernelPolicy;
use crate::engine::Engine;
use crate::ledger::Account;
use crate::machine::{Distance, LINE};
use crate::observe::Observer;
use crate::sched::TaskIx;
use crate::tasks::exec::{Progress, Script};
use crate::tasks::runs::Freed;
use crate::tasks::tcp::{Acknowledgement, DELAYED_NS};
use crate::tasks::{Flow, MESSAGES, Segment, State};
use crate::time::Ns;

/// Cache lines that a message needs in addition to its bytes: the queue's head and tail, and the buffer's descriptor.
const BOOKKEEPING_LINES: u64 = 2;

/// Lines of a queue that a writer fetches after another CPU's write. On two CPUs of a Xeon of the fifth generation, whose lines move in
/// 61 ns, writes of 100 bytes of two CPUs to the same twenty pipes at once take 300 ns longer than to pipes of their own, and to the
/// same Unix sockets 400 ns, waiting for locks included. Not measured for TCP and UDP.
const fn writer_lines(kind: ChannelKind) -> u64 {
    match kind {
        ChannelKind::Pipe => 5,
        ChannelKind::Unix => 7,
        ChannelKind::Tcp | ChannelKind::Udp => 0,
    }
}

/// Lines of a Unix or UDP message in addition to its bytes, each in another place: three of `struct sk_buff`, one of
/// `struct skb_shared_info`, and the link of free objects. Debian's 6.12 without `init_on_alloc` fetches 13.1 lines for a
/// message of 100 bytes over a Unix socket that is written, leaves the private caches and is read (`schedlab cost --path
/// unix-queue:100 --cache xeon-e5-2670v3`, docs/exact-cost.md): on each side about these five and the two lines of the bytes. TCP's
/// segments have them too, which the model leaves out because a segment of a stream has many messages.
const fn descriptor_lines(kind: ChannelKind) -> u64 {
    match kind {
        ChannelKind::Pipe | ChannelKind::Tcp => 0,
        ChannelKind::Unix | ChannelKind::Udp => 5,
    }
}

/// What has happened at a flow.
#[derive(Debug, Clone, Copy)]
enum Event {
    /// There are bytes to be read.
    Written,
    /// There is room to write.
    Read,
}

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    pub(super) fn begin_send(
        &mut self,
        cpu: usize,
        task: TaskIx,
        (channel, bytes, direction): (u32, u64, Direction),
        ahead: bool,
    ) -> Progress {
        let at = Flow::at(channel, direction);
        let sender = &mut self.tasks[task];
        let calls = sender.left == u64::MAX;
        sender.left = sender.left.min(bytes);
        let left = sender.left;
        let flow = &mut self.program.flows[at];
        let kind = flow.kind;
        // Room comes first, then the copy. TCP's room depends on what it sends meanwhile.
        if kind != ChannelKind::Tcp && left > 0 && flow.room(left) == 0 && flow.receivers > 0 {
            if self.too_early(cpu, task, ahead) {
                return Progress::Later;
            }
            self.book(cpu, Account::Syscall, if calls { self.costs.syscall } else { 0 });
            self.program.flows[at].writers.push(&mut self.tasks, task);
            return Progress::Again;
        }
        let (mut segments, mut alone) = (1, false);
        if kind == ChannelKind::Tcp {
            segments = flow.segments(left);
            flow.tcp.sending = Some(cpu as u16);
        }
        // During a send `moved` is the number of segments whose way through the protocols has been booked.
        sender.moved = segments;
        if kind == ChannelKind::Tcp && segments > 0 {
            self.modify_line(cpu, |engine| &mut engine.physics.route);
            // Flows of both directions are neighbours.
            self.program.flows[at ^ 1].acknowledged_by_data();
            alone = self.program.flows[at].tcp.acknowledged_alone();
        }
        let costs = &self.costs;
        let protocol = match kind {
            ChannelKind::Pipe => costs.pipe.into(),
            ChannelKind::Unix => costs.unix.into(),
            ChannelKind::Tcp => self.tcp_transmission(segments),
            ChannelKind::Udp => costs.udp_send.into(),
        };
        // The sender processes the acknowledgement when it releases its socket.
        let acknowledgement = if alone { self.tcp_ack() } else { 0 };
        let copy = self.costs.sending(kind, left) + self.costs.pipe_pages(kind, left);
        let cost = protocol + u64::from(self.costs.syscall + acknowledgement) + copy;
        let mut segment = Segment::new(Account::Syscall, cost);
        segment.add(MESSAGES, self.fetch_buffers(cpu, at, left));
        Progress::Segment(segment)
    }

    /// Time to fetch the memory for the part of `bytes` that has room into the sender's caches: what a reader on another core has
    /// read and freed since the previous message, or what the core's messages have evicted. The queue's lines come from the core
    /// that used the queue last.
    #[inline]
    fn fetch_buffers(&mut self, cpu: usize, at: usize, bytes: u64) -> Ns {
        let flow = &self.program.flows[at];
        let (kind, bytes) = (flow.kind, flow.room(bytes));
        let queue = match flow.last_writer() {
            Some(writer) if writer != cpu => self.fetch_queue(cpu, writer, kind),
            _ => 0,
        };
        let Freed { cpu: reader, read, bytes: reused } = self.program.flows[at].freed.reuse(bytes);
        let taken = read || reused > 0;
        let distance = if taken { self.topology.distance(cpu, reader.into()) } else { Distance::Core };
        if distance == Distance::Core {
            let refill = || self.refill(kind, bytes);
            return queue + self.physics.written.fetch_last(self.topology.core(cpu), refill);
        }
        queue + self.transfer(kind, distance, read, reused)
    }

    /// Time to fetch the lines of a queue to which another CPU has written last.
    #[inline(never)]
    fn fetch_queue(&self, cpu: usize, writer: usize, kind: ChannelKind) -> Ns {
        match self.topology.distance(cpu, writer) {
            Distance::Core => 0,
            distance => writer_lines(kind) * self.costs.line.at(distance),
        }
    }

    /// Time to fetch the memory of a message of `bytes` bytes that a CPU at a distance has used last, and the lines of the queue if
    /// `queue`.
    #[inline]
    fn transfer(&self, kind: ChannelKind, distance: Distance, queue: bool, bytes: u64) -> Ns {
        let line = self.costs.line.at(distance);
        let bookkeeping = if queue { BOOKKEEPING_LINES } else { 0 };
        let descriptors = if bytes > 0 { descriptor_lines(kind) } else { 0 };
        (bookkeeping + descriptors) * line + self.costs.overlapped_lines(bytes.div_ceil(LINE), line)
    }

    /// Time to fetch the memory of a message of `bytes` bytes that the core's caches have lost.
    #[inline]
    fn refill(&self, kind: ChannelKind, bytes: u64) -> Ns {
        self.costs.refill_lines(bytes.div_ceil(LINE), descriptor_lines(kind))
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
        let part = flow.room(left);
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
        if part > 0 || left == 0 || flow.is_limited() {
            if !flow.push(part, part < left, cpu) {
                self.records.counters.datagrams_lost += 1;
            }
            let memory = flow.charge(part);
            flow.note_written(self.physics.written.write(self.topology.core(cpu), memory));
            if flow.ready() {
                // A sync wake-up: the writer will probably sleep soon (wake_up_interruptible_sync_poll()).
                let sync = P::wakes_sync(pipe, part < left);
                self.wake_waiters(cpu, at, Event::Written, sync);
            }
            self.tasks[task].left -= part;
        }
        if self.tasks[task].left == 0 {
            self.records.counters.messages += 1;
            return Progress::Done;
        }
        self.program.flows[at].writers.push(&mut self.tasks, task);
        Progress::Again
    }

    /// Wake the tasks for which an event at a flow is meant, or all tasks that wait in their queue.
    ///
    /// The waiters of a socket are in one queue. Those of a Unix socket are not exclusive: whatever happens at the socket wakes the
    /// readers of the flow that it receives and the writers of the other flow (`sock_def_readable()`, net/core/sock.c;
    /// `unix_write_space()`, `unix_stream_data_wait()`, net/unix/af_unix.c, v4.5 to v6.18). So a task that has sent a request and
    /// waits for the reply wakes up when the request has been read, and sleeps again. Readers and writers of a pipe were such
    /// waiters of one queue up to 5.5 (fs/pipe.c, v4.5).
    #[inline]
    fn wake_waiters(&mut self, cpu: usize, at: usize, event: Event, sync: bool) {
        let (readers, writers) = match (self.program.flows[at].kind, event) {
            (ChannelKind::Unix, Event::Written) => (at, at ^ 1),
            (ChannelKind::Unix, Event::Read) => (at ^ 1, at),
            (ChannelKind::Pipe, _) if !self.world.kernel.exclusive_pipe_waits => (at, at),
            (_, Event::Written) => return self.wake_reader(cpu, at, sync),
            (_, Event::Read) => {
                if let Some(writer) = self.program.flows[at].writers.pop(&self.tasks) {
                    self.try_to_wake_up(cpu, writer, sync);
                }
                return;
            }
        };
        while let Some(waiter) = {
            let flows = &mut self.program.flows;
            flows[readers].readers.pop(&self.tasks).or_else(|| flows[writers].writers.pop(&self.tasks))
        } {
            self.try_to_wake_up(cpu, waiter, sync);
        }
    }

    fn wake_reader(&mut self, cpu: usize, at: usize, sync: bool) {
        if let Some(reader) = self.program.flows[at].readers.pop(&self.tasks) {
            self.try_to_wake_up(cpu, reader, sync);
        }
    }

    pub(super) fn begin_receive(
        &mut self,
        cpu: usize,
        task: TaskIx,
        (channel, bytes, direction): (u32, u64, Direction),
        take: Take,
        early: bool,
    ) -> Progress {
        let receiver = &mut self.tasks[task];
        // Woken up in vain, it continues the call.
        let calls = receiver.left == u64::MAX || receiver.moved > 0;
        receiver.left = receiver.left.min(bytes);
        let (left, moved) = (receiver.left, receiver.moved);
        let at = Flow::at(channel, direction);
        let flow = &self.program.flows[at];
        if flow.ready() {
            return Progress::Segment(self.receiving(cpu, at, left, take));
        }
        if early {
            return Progress::Later;
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
        let call = if calls { self.costs.syscall } else { 0 };
        self.book(cpu, Account::Syscall, call + wait);
        self.program.flows[at].readers.push(&mut self.tasks, task);
        Progress::Again
    }

    /// Segment of a read of at most `bytes` readable bytes.
    fn receiving(&self, cpu: usize, flow: usize, bytes: u64, take: Take) -> Segment {
        let flow = &self.program.flows[flow];
        let (costs, readable) = (&self.costs, flow.readable(bytes));
        let protocol = match flow.kind {
            ChannelKind::Pipe => costs.pipe,
            ChannelKind::Unix => costs.unix,
            ChannelKind::Tcp => costs.tcp_receive,
            ChannelKind::Udp => costs.udp_receive,
        };
        let copied = if take == Take::Discard { 0 } else { readable };
        let copy = costs.copying(copied) + costs.pipe_pages(flow.kind, readable);
        let cost = u64::from(costs.syscall + protocol) + copy;
        let mut segment = Segment::new(Account::Syscall, cost);
        let Some((writer, message)) = flow.front(readable) else { return segment };
        let distance = self.topology.distance(cpu, writer);
        let fetched = if distance == Distance::Core {
            let refill = || self.refill(flow.kind, copied);
            self.physics.written.fetch(self.topology.core(cpu), &message, refill)
        } else {
            self.transfer(flow.kind, distance, true, copied)
        };
        segment.add(MESSAGES, fetched);
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
        if let Some((writer, message)) = flow.front(flow.readable(left)) {
            let core = self.topology.core(cpu);
            if core == self.topology.core(writer) {
                self.physics.written.read(core, &message);
            }
        }
        let used = flow.used();
        let taken = flow.take(left);
        flow.note_freed(if take == Take::Discard { 0 } else { taken }, cpu);
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
        if (kind != ChannelKind::Unix || flow.used() < used) && flow.wakes_writer() {
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

    /// Bytes that TCP holds back: without a cost of their own as long as a write to a pipe, because the object is locked, and
    /// the bytes go to its last buffer.
    fn tcp_append(&self) -> u32 {
        if self.costs.tcp_append > 0 { self.costs.tcp_append } else { self.costs.pipe }
    }

    /// Way of a TCP write through the protocols, whose bytes `segments` segments take along; none: the bytes are appended.
    fn tcp_transmission(&self, segments: u64) -> Ns {
        if segments == 0 { self.tcp_append().into() } else { segments * Ns::from(self.costs.tcp_send) }
    }

    /// A segment without data: without a cost of its own it takes the way of a segment with data.
    fn tcp_ack(&self) -> u32 {
        if self.costs.tcp_ack > 0 { self.costs.tcp_ack } else { self.costs.tcp_send }
    }

    /// Acknowledge what a read has taken, if the acknowledgement is due, and release the bytes that it lets the sender send.
    fn after_tcp_read(&mut self, cpu: usize, at: usize) {
        let flow = &mut self.program.flows[at];
        let (drained, acknowledgement) = (flow.bytes == 0, flow.after_read());
        // Where replies acknowledge, the sender's TCP sends held bytes when the previous bytes have been read.
        let answered = drained && flow.tcp.answered();
        let released = if answered { self.release(at) } else { 0 };
        if drained {
            // The packets have been read and their references to the route are dropped.
            self.modify_line(cpu, |engine| &mut engine.physics.route);
        }
        self.book(cpu, Account::Syscall, released * Ns::from(self.costs.tcp_send));
        match acknowledgement {
            Acknowledgement::None => {}
            Acknowledgement::Now => self.acknowledge(cpu, at),
            Acknowledgement::Delayed => {
                let fires = self.cpus[cpu].clock + DELAYED_NS;
                self.arm_delayed_ack(cpu, at, fires);
            }
        }
    }

    /// Acknowledge all bytes of a flow from a CPU. The acknowledgement lets the sender's TCP send the bytes that it held
    /// back: in an interrupt of this CPU, or at the end of the call that is sending on another CPU.
    fn acknowledge(&mut self, cpu: usize, at: usize) {
        self.book(cpu, Account::Syscall, self.tcp_ack());
        let flow = &mut self.program.flows[at];
        flow.acknowledged();
        let backlog = flow.tcp.sending.is_some_and(|sender| usize::from(sender) != cpu);
        let released = if backlog { 0 } else { self.release(at) };
        self.book(cpu, Account::Syscall, released * Ns::from(self.costs.tcp_send));
    }

    /// Send the bytes that were held back; return the number of segments.
    fn release(&mut self, at: usize) -> u64 {
        let flow = &mut self.program.flows[at];
        let segments = flow.release();
        flow.note_written(self.physics.written.inflow(self.topology.core(flow.held_cpu())));
        segments
    }

    /// Handle the timer of a delayed acknowledgement.
    pub(crate) fn delayed_ack(&mut self, cpu: usize, at: usize) {
        if !self.program.flows[at].tcp.timer_ends() {
            return;
        }
        self.acknowledge(cpu, at);
        if self.program.flows[at].ready() {
            self.wake_waiters(cpu, at, Event::Written, false);
        }
        if self.program.flows[at].wakes_writer() {
            self.wake_waiters(cpu, at, Event::Read, false);
        }
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
