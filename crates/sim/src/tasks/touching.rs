//! Touching memory, a part at a time.

use schedlab_workload::Step;

use super::exec::Begun;
use crate::balance::KernelPolicy;
use crate::engine::{BANDWIDTH, CACHE, Engine, REMOTE, Segment};
use crate::ledger::Account;
use crate::observe::Observer;
use crate::physics::Touch;
use crate::sched::TaskIx;
use crate::tasks::Action;

/// A touch is simulated in parts of this size, so that preemption and other users of a node's memory come in between.
const PART: u64 = 256 * 1024;

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// The next part of a touch.
    pub(super) fn touch_part(&mut self, cpu: usize, task: TaskIx) -> Begun {
        let it = &self.tasks[task];
        let Action::Step(Step::Touch { region, offset, stride, pattern, .. }) = it.action else {
            unreachable!("told apart by the caller")
        };
        let bytes = it.left.min(PART);
        let touch = Touch { offset: offset.wrapping_add(it.moved), bytes, stride, pattern };
        self.do_numa_page(cpu, task, region, &touch);
        let it = &self.tasks[task];
        let (now, machine) = (self.cpus[cpu].clock, self.world.machine);
        let cost = self.physics.memory.touch(
            &mut self.physics.regions[region as usize],
            &touch,
            cpu,
            it.memory_node,
            self.topology,
            &mut self.physics.caches,
            &self.costs,
            (machine.private_kib, machine.llc_kib),
            now,
        );
        self.records.counters.page_faults += cost.pages;
        if cost.pages > 0 {
            let node = it.memory_node.map_or(self.topology.places[cpu].node, u16::from);
            self.note_faults(cpu, node.into(), cost.pages);
        }
        let it = &mut self.tasks[task];
        it.left -= bytes;
        it.moved += bytes;
        if cost.fault > 0 {
            self.book(cpu, Account::Fault, cost.fault);
        }
        let mut segment = Segment::new(Account::User, cost.work.max(1));
        segment.add(CACHE, cost.cache);
        segment.add(REMOTE, cost.remote);
        segment.add(BANDWIDTH, cost.bandwidth);
        Begun::Segment(segment)
    }
}
