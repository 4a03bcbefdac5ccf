//! Invariants, checked after events in debug builds and with the feature `check`.

#![cfg(any(debug_assertions, feature = "check"))]

use super::{Engine, NOBODY};
use crate::balance::KernelPolicy;
use crate::ledger::Account;
use crate::observe::Observer;
use crate::sched::TaskIx;
use crate::tasks::State;
use crate::time::NEVER;

/// Every event is followed by a check of its CPU; all of the machine is checked every so many events, because that takes
/// as long as hundreds of events.
const WHOLE_EVERY: u64 = 256;

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// Panics where an invariant does not hold.
    pub(super) fn check(&mut self) {
        self.vmstat.counts.verify();
        let small = self.cpus.len() <= 8 && self.tasks.len() <= 64;
        if small || self.records.counters.events.is_multiple_of(WHOLE_EVERY) {
            self.check_all();
        }
    }

    fn check_all(&self) {
        let mut seen = vec![0u8; self.tasks.len()];
        for cpu in 0..self.cpus.len() {
            self.check_cpu(cpu, &mut seen);
        }
        let (mut alive, mut blocked) = (0, 0);
        for (task, it) in self.tasks.iter() {
            let queued = matches!(it.state, State::Running | State::Waiting);
            assert_eq!(
                seen[task as usize],
                u8::from(queued),
                "task {task} ({:?}) is on as many queues as it should",
                it.state
            );
            alive += usize::from(it.state != State::Dead && !it.kernel);
            blocked += usize::from(it.state == State::Blocked);
        }
        assert_eq!((self.tasks.alive, self.tasks.blocked), (alive, blocked), "no task is lost");
        let living = self.tasks.iter().filter(|(_, it)| it.state != State::Dead);
        self.numa.verify(&self.records.counters, &self.physics.regions, living.map(|(task, _)| task));
        self.rq.verify_sums(self.topology);
        self.check_stats();
    }

    fn check_stats(&self) {
        let (counters, costs) = (&self.records.counters, &self.costs);
        let remote = counters.schedstat_remote_updates;
        let local = counters.schedstat_updates - remote;
        let due = local * u64::from(costs.stats_local) + remote * u64::from(costs.stats_remote);
        let booked = self.records.ledger.total(Account::Schedstats);
        let beyond = self.cpus.iter().any(|cpu| cpu.clock > self.time.horizon);
        assert!(
            booked == due || (beyond && booked < due),
            "updates cost what they cost: {booked} of {due} ns"
        );
        for (task, (waits, sleeps)) in self.stats.tasks().enumerate() {
            let task_data = &self.tasks[task as TaskIx];
            let state = task_data.state;
            // A kernel thread sleeps from the start, without having fallen asleep.
            let known = self.stats.throughout && task_data.ran_ns > 0;
            let right = match state {
                State::Waiting => sleeps == NEVER && (waits != NEVER || !self.stats.throughout),
                State::Sleeping | State::Blocked => waits == NEVER && (sleeps != NEVER || !known),
                State::Running | State::Dead => (waits, sleeps) == (NEVER, NEVER),
            };
            assert!(right, "the statistics know what task {task} does: {state:?}");
        }
        if self.stats.throughout {
            let wakeups: u64 = counters.wakeups.iter().sum();
            assert_eq!(self.stats.sum(|task_data| task_data.ttwu_count), wakeups, "every wake-up is counted");
            let switches = self.stats.sum(|task_data| task_data.pcount + task_data.sched_goidle);
            assert_eq!(switches, counters.switches, "every switch is counted");
            assert!(
                self.stats.sum(|task_data| task_data.sched_count) >= switches,
                "a switch is a call of schedule()"
            );
        }
    }

    fn check_cpu(&self, cpu: usize, seen: &mut [u8]) {
        let cpu_state = &self.cpus[cpu];
        let mut number = 0;
        let mut see = |task: u32, state: State| {
            let there = &self.tasks[task];
            assert_eq!((usize::from(there.cpu), there.state), (cpu, state), "task {task} is where it says");
            assert!(self.tasks.allowed(task).contains(cpu), "task {task} may run on CPU {cpu}");
            seen[task as usize] += 1;
            number += 1;
        };
        cpu_state.realtime.tasks().for_each(|task| see(task, State::Waiting));
        P::waiting(&self.rq.queues[cpu], |task| {
            see(task, State::Waiting);
            true
        });
        if cpu_state.current != NOBODY {
            see(cpu_state.current, State::Running);
        }
        assert_eq!(self.rq.nr_running[cpu], number, "CPU {cpu} counts its tasks");
        assert_eq!(self.rq.loads[cpu], P::load(&self.rq.queues[cpu]), "CPU {cpu} knows its load");
        let idles = cpu_state.current == NOBODY;
        assert!(!idles || number == 0, "CPU {cpu} idles although a task waits in its queue");
        assert_eq!(
            self.rq.idle.contains(cpu),
            idles && number == 0,
            "the mask of idle CPUs is right about {cpu}"
        );
        assert_eq!(
            self.rq.overloaded.contains(cpu),
            number > 1,
            "the mask of overloaded CPUs is right about {cpu}"
        );
        let spent = self.records.ledger.cpu_total(cpu);
        assert_eq!(spent, cpu_state.clock.min(self.time.horizon), "CPU {cpu}'s accounts sum to its clock");
        let fair =
            (!idles && self.tasks[cpu_state.current].class.realtime().is_none()).then_some(cpu_state.current);
        P::verify(&self.rq.queues[cpu], &self.rq.entities, fair);
        assert!(self.time.agenda.at(cpu) >= self.time.now, "nothing is overdue");
    }
}
