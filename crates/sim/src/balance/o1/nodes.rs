//! Balancing between nodes (the NUMA scheduler of E. Focht and M. Hohnbaum, merged into 2.5.59).

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

    /// Return the CPUs among which a CPU balances, and the number of compared nodes: the CPUs of its node, or at every
    /// `NODE_BALANCE_RATE`th pass this CPU and the CPUs of the busiest node (`cpus_to_balance()`, kernel/sched.c, 2.5.59).
    pub(super) fn cpus_to_balance(&mut self, cpu: usize) -> (CpuMask, usize) {
        let here = self.topology.node(cpu);
        let mut span = *self.topology.node_cpus(here);
        let mut compared = 0;
        let nodes = self.topology.nodes.len();
        if nodes > 1 {
            let passes = &mut self.rq.queues[cpu].balance.nr_balanced;
            *passes += 1;
            if *passes >= self.tunables.non_negative(Tunable::NodeBalanceRate) {
                (*passes, compared) = (0, nodes);
                if let Some(node) = self.find_busiest_node(cpu, here) {
                    span = *self.topology.node_cpus(node);
                    span.insert(cpu);
                }
            }
        }
        (span.and(&self.rq.housekeeping), compared)
    }

    /// Return the most loaded other node, if its load exceeds `NODE_THRESHOLD` percent of the load of `here`
    /// (`find_busiest_node()`, kernel/sched.c, 2.5.59). A load is the current number of tasks plus half of the previous load.
    fn find_busiest_node(&mut self, cpu: usize, here: usize) -> Option<usize> {
        let nodes = self.topology.nodes.len();
        self.rq.queues[cpu].balance.node_load.resize(nodes, 0);
        let threshold = self.tunables.non_negative(Tunable::NodeThreshold);
        let mut load = |node: usize| {
            let running = self.node_running(node);
            let average = &mut self.rq.queues[cpu].balance.node_load[node];
            *average = *average / 2 + running;
            *average
        };
        let local_load = load(here);
        let (mut busiest, mut max_load) = (None, local_load);
        for node in (0..nodes).filter(|node| *node != here) {
            let load = load(node);
            if load > max_load && 100 * u64::from(load) > threshold * u64::from(local_load) {
                (busiest, max_load) = (Some(node), load);
            }
        }
        busiest
    }

    /// Select a CPU for a task that calls `execve()`: with more than two tasks on `cpu`, the least loaded CPU of the least
    /// loaded node, otherwise `cpu` (`sched_balance_exec()`, kernel/sched.c, 2.5.59).
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

    /// Select the parent's CPU for a new task, or if that CPU is not allowed, the least loaded allowed CPU
    /// (part of `wake_up_forked_process()`, kernel/sched.c, 2.5.59). The task counts as cache-hot.
    pub(super) fn select_task_rq_fork_o1(&mut self, cpu: usize, task: TaskIx) -> usize {
        self.tasks[task].ran_at = self.time.now;
        let allowed = self.tasks.allowed(task);
        if allowed.contains(cpu) {
            return cpu;
        }
        allowed.iter().min_by_key(|cpu| self.rq.nr_running[*cpu]).unwrap_or(cpu)
    }
}
