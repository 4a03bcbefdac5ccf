//! Checks of invariants after events, in debug builds and with the feature `check`.

#![cfg(any(debug_assertions, feature = "check"))]

use super::Engine;
use crate::balance::KernelPolicy;
use crate::ledger::Account;
use crate::machine::Distance;
use crate::observe::Observer;
use crate::sched::{NOBODY, TaskIx};
use crate::tasks::State;
use crate::time::NEVER;

/// Number of events between two checks of a large machine. A check takes as long as hundreds of events.
const CHECK_INTERVAL: u64 = 256;

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// Panic if an invariant is violated.
    pub(super) fn check(&mut self) {
        self.vmstat.counts.verify();
        let small = self.cpus.len() <= 8 && self.tasks.len() <= 64;
        if small || self.records.counters.events.is_multiple_of(CHECK_INTERVAL) {
            self.check_all();
        }
    }

    fn check_all(&self) {
        let mut queues = vec![0u8; self.tasks.len()];
        for cpu in 0..self.cpus.len() {
            self.check_cpu(cpu, &mut queues);
        }
        let queued = |state| matches!(state, State::Running | State::Waiting);
        let (mut alive, mut blocked) = (0, 0);
        for (task, data) in self.tasks.iter() {
            assert_eq!(
                queues[task as usize],
                u8::from(queued(data.state)),
                "number of queues of task {task} ({:?})",
                data.state
            );
            alive += usize::from(data.state != State::Dead && !data.kernel);
            blocked += usize::from(data.state == State::Blocked);
        }
        assert_eq!((self.tasks.alive, self.tasks.blocked), (alive, blocked), "counts of tasks");
        let living = || self.tasks.iter().filter(|(_, data)| data.state != State::Dead);
        self.numa.verify(&self.records.counters, &self.physics.regions, living().map(|(task, _)| task));
        self.rq.verify_sums(self.topology);
        self.rq.verify_loads(
            self.time.now,
            living().map(|(task, data)| {
                (
                    task,
                    data.cpu.into(),
                    queued(data.state) || P::sched_delayed(&self.rq.entities[task as usize]),
                )
            }),
        );
        self.check_stats();
    }

    fn check_stats(&self) {
        let (counters, costs) = (&self.records.counters, &self.costs);
        let fetched = |at: Distance| counters.schedstat_lines[at as usize] * costs.line.at(at);
        let most: u64 = Distance::ALL.into_iter().map(fetched).sum();
        assert!(self.stats.lines_ns <= most, "a CPU waits at most for each line on its own");
        let expected = self.stats.instructions_ns(counters.schedstat_updates) + self.stats.lines_ns;
        let booked = self.records.ledger.total(Account::Schedstats);
        let beyond = self.cpus.iter().any(|cpu| cpu.clock > self.time.horizon);
        assert!(
            self.world.machine.speeds.is_some() || booked == expected || (beyond && booked < expected),
            "cost of statistics updates: {booked} ns booked, {expected} ns expected"
        );
        for (task, (waits, sleeps)) in self.stats.tasks().enumerate() {
            let task_data = &self.tasks[task as TaskIx];
            let state = task_data.state;
            // A kernel thread that has never run sleeps without having been put to sleep.
            let recorded = self.stats.throughout && task_data.ran_ns > 0;
            let consistent = match state {
                State::Waiting => sleeps == NEVER && (waits != NEVER || !self.stats.throughout),
                State::Sleeping | State::Blocked => waits == NEVER && (sleeps != NEVER || !recorded),
                State::Running | State::Dead => (waits, sleeps) == (NEVER, NEVER),
                State::Throttled => sleeps == NEVER,
            };
            assert!(consistent, "statistics of task {task} in state {state:?}");
        }
        if self.stats.throughout {
            let wakeups: u64 = counters.wakeups.iter().sum();
            assert_eq!(self.stats.sum(|counts| counts.ttwu_count), wakeups, "every wake-up is counted");
            let switches = self.stats.sum(|counts| counts.pcount + counts.sched_goidle);
            assert_eq!(switches, counters.switches, "every switch is counted");
            let calls = self.stats.sum(|counts| counts.sched_count);
            assert!(calls >= switches, "every switch is a call of schedule()");
        }
    }

    fn check_cpu(&self, cpu: usize, queues: &mut [u8]) {
        let cpu_state = &self.cpus[cpu];
        let mut number = 0;
        let mut see = |task: u32, state: State| {
            let data = &self.tasks[task];
            assert_eq!((usize::from(data.cpu), data.state), (cpu, state), "CPU and state of task {task}");
            assert!(self.tasks.allowed(task).contains(cpu), "task {task} is allowed on CPU {cpu}");
            queues[task as usize] += 1;
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
        assert_eq!(self.rq.nr_running[cpu], number, "nr_running of CPU {cpu}");
        if P::GROUPS {
            self.stopped_tasks(cpu, |task| {
                assert_eq!(
                    (usize::from(self.tasks[task].cpu), self.tasks[task].state),
                    (cpu, State::Waiting)
                );
                queues[task as usize] += 1;
            });
        }
        let idle = cpu_state.current == NOBODY;
        assert!(!idle || number == 0, "CPU {cpu} is idle although a task waits in its queue");
        assert_eq!(self.rq.idle.contains(cpu), idle, "CPU {cpu} in the mask of idle CPUs");
        assert_eq!(self.rq.overloaded.contains(cpu), number > 1, "CPU {cpu} in the mask of overloaded CPUs");
        let spent = self.records.ledger.cpu_total(cpu);
        assert_eq!(spent, cpu_state.clock.min(self.time.horizon), "CPU {cpu}'s accounts sum to its clock");
        let fair =
            (!idle && self.tasks[cpu_state.current].class.realtime().is_none()).then_some(cpu_state.current);
        P::verify(&self.rq.queues[cpu], &self.rq.entities, fair);
        assert!(self.time.agenda.at(cpu) >= self.time.now, "no event of CPU {cpu} is overdue");
    }
}
