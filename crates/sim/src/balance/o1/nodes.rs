//! Balancing between nodes (E. Focht's and M. Hohnbaum's NUMA scheduler, merged into 2.5.59).

use crate::engine::Engine;
use crate::kernel::Tunable;
use crate::ledger::Account;
use crate::machine::CpuMask;
use crate::observe::Observer;
use crate::sched::{O1, TaskIx};

impl<O: Observer> Engine<'_, O1, O> {
    fn node_running(&self, node: usize) -> u32 {
        self.topology.node_cpus(node).iter().map(|cpu| self.rq.nr_running[cpu]).sum()
    }

    /// Whose queues a CPU looks at: those of its node, and every `NODE_BALANCE_RATE` looks those of the busiest node and
    /// its own.
    pub(super) fn cpus_to_balance(&mut self, cpu: usize, account: Account) -> CpuMask {
        let here = self.topology.node(cpu);
        let mut span = *self.topology.node_cpus(here);
        let nodes = self.topology.nodes.len();
        if nodes > 1 {
            let passes = &mut self.rq.queues[cpu].balance.nr_balanced;
            *passes += 1;
            if *passes >= self.tunables.ns(Tunable::NodeBalanceRate) {
                *passes = 0;
                self.book(cpu, account, nodes as u64 * u64::from(self.costs.balance_cpu));
                if let Some(node) = self.busiest_node(cpu, here) {
                    span = *self.topology.node_cpus(node);
                    span.insert(cpu);
                }
            }
        }
        span.and(&self.rq.housekeeping)
    }

    /// The most loaded other node, if its load is more than `NODE_THRESHOLD` percent of the own one's. Loads are of the
    /// moment and half of those at the last look.
    fn busiest_node(&mut self, cpu: usize, here: usize) -> Option<usize> {
        let nodes = self.topology.nodes.len();
        self.rq.queues[cpu].balance.node_load.resize(nodes, 0);
        let threshold = self.tunables.ns(Tunable::NodeThreshold);
        let mut load = |node: usize| {
            let running = self.node_running(node);
            let memory = &mut self.rq.queues[cpu].balance.node_load[node];
            *memory = *memory / 2 + running;
            *memory
        };
        let own = load(here);
        let (mut busiest, mut most) = (None, own);
        for node in (0..nodes).filter(|node| *node != here) {
            let load = load(node);
            if load > most && 100 * u64::from(load) > threshold * u64::from(own) {
                (busiest, most) = (Some(node), load);
            }
        }
        busiest
    }

    /// Where a task that executes a program goes on: with more than two tasks here, on the least loaded CPU of the least
    /// loaded node (`sched_balance_exec()`; on machines of one node it stays).
    pub(super) fn sched_balance_exec(&mut self, cpu: usize, task: TaskIx) -> usize {
        let nodes = self.topology.nodes.len();
        if nodes == 1 || self.rq.nr_running[cpu] <= 2 {
            return cpu;
        }
        let node = (0..nodes).min_by_key(|node| self.node_running(*node)).unwrap_or(0);
        let span = self.topology.node_cpus(node).and(self.tasks.allowed(task));
        self.book(cpu, Account::Search, (nodes + span.count()) as u64 * u64::from(self.costs.idle_scan_cpu));
        span.iter().min_by_key(|cpu| self.rq.nr_running[*cpu]).unwrap_or(cpu)
    }

    /// A new task begins on its parent's CPU, or if it is bound to others on the least loaded of those. It counts as
    /// having run just now.
    pub(super) fn select_new_o1(&mut self, cpu: usize, task: TaskIx) -> usize {
        self.tasks[task].ran_at = self.time.now;
        let allowed = self.tasks.allowed(task);
        if allowed.contains(cpu) {
            return cpu;
        }
        allowed.iter().min_by_key(|cpu| self.rq.nr_running[*cpu]).unwrap_or(cpu)
    }
}
