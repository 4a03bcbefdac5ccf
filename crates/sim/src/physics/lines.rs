//! Cache lines that several CPUs modify.
//!
//! ```text
//! owner ── transfer ──► first waiter ── transfer ──► second waiter …
//! ```
//! A line belongs to the CPU that modified it last. An atomic operation of another core waits until the line has been
//! transferred to all CPUs that asked for it before, and then for its own transfer, which takes the machine's `line` by the
//! distance of the previous owner. So n CPUs that modify a line all the time wait n transfers each, and the line limits
//! their common rate. Hardware does not promise the order of arrival; the model uses it.

use crate::balance::KernelPolicy;
use crate::engine::Engine;
use crate::ledger::Account;
use crate::machine::Distance;
use crate::observe::Observer;
use crate::time::Ns;

/// A cache line that several CPUs modify.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SharedLine {
    /// CPU that modified the line last, or that is the last in the queue for the line.
    owner: u16,
    /// Time at which that CPU has the line.
    free_at: Ns,
}

impl SharedLine {
    /// Move the line to `cpu`, whose core is at `distance` from the owner; return the waiting time, transfer included.
    ///
    /// `now` is the simulation's clock, which never goes back. The clocks of CPUs differ by microseconds, so that a CPU ahead
    /// would let a CPU behind wait for a transfer of the future.
    #[inline]
    fn transfer(&mut self, cpu: usize, transfer_ns: Ns, now: Ns) -> Ns {
        self.owner = cpu as u16;
        self.free_at = self.free_at.max(now) + transfer_ns;
        self.free_at - now
    }
}

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// Modify a shared line from a CPU: book the wait for the line, and return the distance from its previous owner.
    pub(crate) fn modify_line(
        &mut self,
        cpu: usize,
        line: impl FnOnce(&mut Self) -> &mut SharedLine,
    ) -> Distance {
        self.modify_line_with_requests(cpu, 1, line)
    }

    /// As [`Engine::modify_line`], but the CPU asks for the line `requests` times: an operation that depends on the value reads the line
    /// first, and asks again to modify it.
    fn modify_line_with_requests(
        &mut self,
        cpu: usize,
        requests: u64,
        line: impl FnOnce(&mut Self) -> &mut SharedLine,
    ) -> Distance {
        let (now, topology) = (self.time.now, self.topology);
        let costs = self.costs.line;
        let line = line(self);
        let distance = topology.distance(cpu, line.owner.into());
        if distance == Distance::Core {
            return distance;
        }
        let wait = line.transfer(cpu, requests * costs.at(distance), now);
        self.book_time(cpu, Account::Lines, wait);
        distance
    }

    /// Take a reference to the loopback device's route from a CPU, for a packet.
    pub(crate) fn hold_route(&mut self, cpu: usize) {
        let requests = if self.world.kernel.compares_route_count { 2 } else { 1 };
        self.modify_line_with_requests(cpu, requests, |engine| &mut engine.physics.route);
    }

    /// Drop such a reference.
    pub(crate) fn release_route(&mut self, cpu: usize) {
        self.modify_line(cpu, |engine| &mut engine.physics.route);
    }
}

#[cfg(test)]
#[path = "../../tests/unit/physics/lines.rs"]
mod tests;
