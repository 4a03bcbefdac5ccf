//! TCP's way through the protocols, and acknowledgements of what a receiver has read.

use crate::balance::KernelPolicy;
use crate::engine::Engine;
use crate::ledger::Account;
use crate::observe::Observer;
use crate::tasks::tcp::{Acknowledgement, DELAYED_NS};
use crate::tasks::waiters::Event;
use crate::time::Ns;

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// Bytes that TCP holds back: without a cost of their own as long as a write to a pipe, because the object is locked, and
    /// the bytes go to its last buffer.
    fn tcp_append(&self) -> u32 {
        if self.costs.tcp_append > 0 { self.costs.tcp_append } else { self.costs.pipe }
    }

    /// Way of a TCP write through the protocols, whose bytes `segments` segments take along; none: the bytes are appended.
    pub(super) fn tcp_transmission(&self, segments: u64) -> Ns {
        if segments == 0 { self.tcp_append().into() } else { segments * Ns::from(self.costs.tcp_send) }
    }

    /// A segment without data: without a cost of its own it takes the way of a segment with data.
    pub(super) fn tcp_ack(&self) -> u32 {
        if self.costs.tcp_ack > 0 { self.costs.tcp_ack } else { self.costs.tcp_send }
    }

    /// Acknowledge what a read has taken, if the acknowledgement is due, and release the bytes that it lets the sender send.
    pub(super) fn after_tcp_read(&mut self, cpu: usize, at: usize) {
        let flow = &mut self.program.flows[at];
        let (drained, acknowledgement) = (flow.bytes == 0, flow.after_read());
        // Where replies acknowledge, the sender's TCP sends held bytes when the previous bytes have been read.
        let answered = drained && flow.tcp.answered();
        let released = if answered { self.release(at) } else { 0 };
        if drained {
            // The packets have been read and their references to the route are dropped.
            self.release_route(cpu);
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
    pub(super) fn release(&mut self, at: usize) -> u64 {
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
        if self.program.flows[at].wakes_writer(self.world.kernel.pipes.wakeups) {
            self.wake_waiters(cpu, at, Event::Read, false);
        }
    }
}
