//! Wake-ups, preemption and blocking.

use crate::balance::KernelPolicy;
use crate::engine::Engine;
use crate::ledger::Account;
use crate::observe::Observer;
use crate::sched::{Enqueue, NOBODY, Rank, TaskIx};
use crate::tasks::{Class, State};
use crate::time::Ns;

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// Make a sleeping or blocked task runnable on behalf of `cpu`; `sync`: the waker is about to sleep
    /// (`try_to_wake_up()`, kernel/sched/core.c, v4.5 to v6.12).
    pub(crate) fn try_to_wake_up(&mut self, cpu: usize, task: TaskIx, sync: bool) {
        let state = self.tasks[task].state;
        debug_assert!(matches!(state, State::Sleeping | State::Blocked), "{task} sleeps, but is {state:?}");
        self.tasks.blocked -= usize::from(state == State::Blocked);
        let previous = usize::from(self.tasks[task].cpu);
        // A task that is still in a queue stays in the queue (ttwu_runnable()).
        let sched_delayed = P::sched_delayed(&self.rq.entities[task as usize]);
        let target = if sched_delayed { previous } else { self.select_task_rq(cpu, task, sync) };
        let distance = self.topology.distance(cpu, target);
        let moved = target != previous;
        if moved {
            self.rq.detach(previous, task, self.time.now);
            let from = self.topology.distance(previous, target);
            self.records.counters.wake_migrations[from as usize] += 1;
            self.note_move(task, previous, target);
        }
        self.records.counters.wakeups[distance as usize] += 1;
        let queued = self.ttwu_queue_cond(cpu, target);
        if !queued {
            self.lock_and_fetch_queue(cpu, target);
        }
        // The run time of the waker is updated here. If the woken task preempts it, what follows is charged to the woken task.
        self.activate_task_inline(target, task, Enqueue::Wake { moved, sync });
        if !queued {
            self.charge_waking(cpu, target);
        }
        if self.stats.on {
            self.stats_wake(cpu, task, previous, target, sync);
        }
        self.tasks[task].woken_at = self.cpus[cpu].clock;
        self.tasks[task].wakeups += 1;
        let cpu_state = &self.cpus[cpu];
        self.records.observer.woken(cpu_state.clock, cpu, task, target, cpu_state.in_interrupt);
        if P::GROUPS && !self.tasks.allowed(task).contains(target) {
            return self.leave_forbidden_cpu(task);
        }
        self.check_preempt_curr_inline(cpu, target, task);
    }

    /// Whether the target itself enqueues the task when the interrupt of the wake-up arrives, so that the waker only sends
    /// the interrupt (`ttwu_queue_cond()`, kernel/sched/core.c, since v5.8).
    ///
    /// The target's work is part of its measured time to leave idleness. Modelled only where the interrupt costs its sender
    /// time: the hand-written costs of other machines do not separate the waker's work from the target's.
    #[inline]
    fn ttwu_queue_cond(&self, cpu: usize, target: usize) -> bool {
        self.costs.ipi_send > 0
            && target != cpu
            && self.world.kernel.queues_remote_wakeups
            && self.cpus[target].current == NOBODY
            && self.rq.nr_running[target] == 0
    }

    /// Count a migration and report the migration to the observer.
    pub(crate) fn note_move(&mut self, task: TaskIx, from: usize, to: usize) {
        self.tasks[task].migrations += 1;
        self.records.observer.migrated(self.time.now, task, from, to);
    }

    /// Wait for a runqueue's lock, then keep the lock for `lock_hold` ns. Waiters get the lock in the order of their
    /// arrival.
    #[inline]
    pub(crate) fn lock_queue(&mut self, cpu: usize, queue: usize) {
        let clock = self.cpus[cpu].clock;
        let free = self.cpus[queue].lock_free_at.max(P::switch_lock_free_at(&self.rq.queues[queue], clock));
        if free > clock {
            let handoff = self.costs.lock_handoff.at(self.topology.distance(cpu, queue));
            self.book_time(cpu, Account::LockWait, free - clock + handoff);
        }
        let holder = &self.cpus[cpu];
        self.cpus[queue].lock_free_at = holder.clock + holder.duration(self.costs.lock_hold.into());
    }

    /// Lock a runqueue and fetch its lines, before a CPU puts a task on the queue.
    #[inline]
    pub(crate) fn lock_and_fetch_queue(&mut self, cpu: usize, target: usize) {
        self.lock_queue(cpu, target);
        let fetched = self.fetch_runqueue(cpu, target);
        self.book(cpu, Account::Wakeup, fetched);
    }

    /// Charge a CPU for putting a task on a runqueue.
    #[inline]
    pub(crate) fn charge_waking(&mut self, cpu: usize, target: usize) {
        self.book(cpu, Account::Wakeup, self.costs.waking(self.topology.distance(cpu, target)));
    }

    /// Lock a runqueue, and charge a CPU for putting a task on the queue.
    #[inline]
    pub(crate) fn charge_enqueue(&mut self, cpu: usize, target: usize) {
        self.lock_and_fetch_queue(cpu, target);
        self.charge_waking(cpu, target);
    }

    /// Time in which a CPU fetches the lines of a runqueue from the CPU that used the runqueue last.
    #[inline]
    pub(crate) fn fetch_runqueue(&mut self, cpu: usize, queue: usize) -> Ns {
        match self.cpus[queue].queue_user.replace(cpu as u16).map(usize::from) {
            Some(user) if user != cpu => self.costs.runqueue.at(self.topology.distance(cpu, user)),
            _ => 0,
        }
    }

    /// Put a task on a CPU's queue.
    #[inline(never)]
    pub(crate) fn activate_task(&mut self, cpu: usize, task: TaskIx, how: Enqueue) {
        self.activate_task_inline(cpu, task, how);
    }

    /// As [`Engine::activate_task`], inlined: wake-ups are most of the calls.
    #[inline(always)]
    fn activate_task_inline(&mut self, cpu: usize, task: TaskIx, how: Enqueue) {
        self.settle(cpu);
        self.update_curr(cpu);
        let task_data = &mut self.tasks[task];
        task_data.cpu = cpu as u16;
        task_data.state = State::Waiting;
        match task_data.class.realtime().map(Rank::of_priority) {
            None => self.rq.enqueue(cpu, task, how, self.time.now),
            Some(_) if task_data.class.is_deadline() => {
                if !self.enqueue_task_dl(cpu, task, how) {
                    return;
                }
            }
            Some(rank) => self.cpus[cpu].realtime.insert(rank, task, false),
        }
        if P::GROUPS && self.is_kept_off(cpu, task) {
            self.rq.update_load(cpu);
        } else {
            self.rq.add_nr_running(cpu, self.topology);
        }
        if P::GROUPS {
            self.check_enqueue_throttle(cpu, task);
        }
    }

    /// Let a task that `cpu` has put on the queue of `target` preempt the current task of `target`, if the policy
    /// permits (`check_preempt_curr()`, kernel/sched/core.c, v4.5 to v5.14; `wakeup_preempt()` in v6.12).
    #[inline(never)]
    pub(crate) fn check_preempt_curr(&mut self, cpu: usize, target: usize, task: TaskIx) {
        self.check_preempt_curr_inline(cpu, target, task);
    }

    /// As [`Engine::check_preempt_curr`], inlined.
    #[inline(always)]
    fn check_preempt_curr_inline(&mut self, cpu: usize, target: usize, task: TaskIx) {
        let current = self.cpus[target].current;
        if current == NOBODY {
            // A CPU in an interrupt checks its queue at the end of the interrupt.
            if !self.cpus[target].in_interrupt && self.rq.nr_running[target] == 1 {
                self.start_idle(cpu, target);
            }
            return;
        }
        // Two tasks on a nohz_full CPU need ticks.
        if self.cpus[target].nohz_full && self.rq.nr_running[target] == 2 {
            self.resume_ticks(target);
        }
        if !self.should_preempt(target, current, task) {
            // update_curr() may have ended the current task's slice.
            if self.cpus[target].need_resched {
                self.cpus[target].skips_update = true;
                if target != cpu {
                    self.send_ipi(cpu, target);
                }
            }
            return;
        }
        self.records.counters.wakeup_preemptions += 1;
        self.cpus[target].skips_update = true;
        if target == cpu {
            self.cpus[target].need_resched = true;
        } else {
            self.send_ipi(cpu, target);
        }
    }

    fn resume_ticks(&mut self, cpu: usize) {
        let cpu_state = &mut self.cpus[cpu];
        if cpu_state.tick_at <= self.time.now {
            cpu_state.tick_at = self.time.next_tick(cpu_state.tick_at, self.time.now);
        }
        self.rekey(cpu);
    }

    fn should_preempt(&mut self, cpu: usize, current: TaskIx, task: TaskIx) -> bool {
        let (running, woken) = (self.tasks[current].class, self.tasks[task].class);
        match (running.realtime(), woken.realtime()) {
            (_, Some(_)) if woken.is_deadline() => self.check_preempt_curr_dl(current, task),
            (Some(running), Some(woken)) => woken > running,
            (Some(_), None) => false,
            (None, Some(_)) => true,
            (None, None) if running == Class::Idle && woken != Class::Idle => true,
            (None, None) if woken != Class::Normal => false,
            (None, None) => {
                let feature = crate::kernel::Tunable::WakeupPreemption;
                (self.tunables.on(feature) || !self.tunables.has(feature))
                    && self.rq.policy.check_preempt_wakeup(
                        &mut self.rq.queues[cpu],
                        &mut self.rq.entities,
                        current,
                        task,
                    )
            }
        }
    }

    /// Wake an idle CPU for a task that `cpu` has just put on its queue.
    fn start_idle(&mut self, cpu: usize, target: usize) {
        let distance = self.topology.distance(cpu, target);
        let mwait = self.world.machine.mwait;
        let latency = if mwait { self.costs.line.at(distance) } else { self.costs.ipi.at(distance) };
        if !mwait {
            self.records.counters.ipis += 1;
            self.book(cpu, Account::Ipi, self.costs.ipi_send);
        }
        self.start_idle_at(target, self.cpus[cpu].clock + latency);
    }

    /// Wake an idle CPU at `at`, so that the CPU leaves its idle state and schedules.
    pub(crate) fn start_idle_at(&mut self, target: usize, at: Ns) {
        let at = at.min(self.time.horizon.max(self.time.now));
        if self.cpus[target].clock < at {
            self.settle_to(target, at);
        }
        let idled = self.cpus[target].clock.saturating_sub(self.cpus[target].idle_since);
        self.book_time(target, Account::IdleExit, self.idle_exit(idled));
        if !self.world.machine.mwait {
            self.book(target, Account::Ipi, self.costs.ipi_handler);
        }
        self.leave_idle(target);
        self.schedule(target);
        self.rekey(target);
    }

    /// Take the current task off a CPU: the task sleeps (`State::Sleeping`), waits (`State::Blocked`) or ends
    /// (`State::Dead`). The CPU has no current task until it schedules.
    #[inline(never)]
    pub(crate) fn block(&mut self, cpu: usize, state: State) {
        self.give_up(cpu, state);
    }

    /// As [`Engine::block`], inlined.
    #[inline(always)]
    pub(crate) fn give_up(&mut self, cpu: usize, state: State) {
        self.end_run(cpu);
        self.book(cpu, Account::Switch, Ns::from(self.costs.parts.dequeue));
        self.save_user(cpu);
        let task = self.cpus[cpu].current;
        if self.stats.on {
            self.stats_block(cpu, task, state);
        }
        let priority = self.tasks[task].class.realtime();
        match (priority, state) {
            (None, State::Dead) => self.rq.block(cpu, task, self.time.now),
            (None, _) => self.rq.sleep(cpu, task, self.time.now),
            _ => {}
        }
        if P::GROUPS {
            self.return_cfs_rq_runtime(cpu, task);
        }
        self.leave_core(cpu, task);
        self.tasks[task].state = state;
        self.tasks.blocked += usize::from(state == State::Blocked);
        self.tasks[task].voluntary += 1;
        self.records.counters.voluntary += 1;
        self.rq.sub_nr_running(cpu);
        self.cpus[cpu].current = NOBODY;
        if P::MOVES_REALTIME
            && let Some(rank) = priority.map(Rank::of_priority)
        {
            if self.tasks[task].class.is_deadline() {
                self.pull_dl_task(cpu);
            }
            if self.cpus[cpu].realtime.highest() < rank {
                self.pull_rt_task(cpu);
            }
        }
    }

    /// Record the cache contents of a task that leaves the CPU.
    pub(crate) fn leave_core(&mut self, cpu: usize, task: TaskIx) {
        let place = self.topology.places[cpu];
        self.tasks[task].warmth = self.physics.caches.leave(place.core, place.cache, place.node);
    }

    /// Add the current task's user time to the task's total.
    pub(crate) fn save_user(&mut self, cpu: usize) {
        let cpu_state = &mut self.cpus[cpu];
        if cpu_state.current != NOBODY {
            self.tasks[cpu_state.current].user_ns += std::mem::take(&mut cpu_state.user_ns);
        }
    }

    /// Change the class of the current task of a CPU.
    pub(crate) fn set_class(&mut self, cpu: usize, class: Class) {
        self.update_curr(cpu);
        let task = self.cpus[cpu].current;
        let before = self.tasks[task].class.realtime();
        self.tasks[task].class = class;
        if before.is_none() && class.realtime().is_some() {
            self.rq.block(cpu, task, self.time.now);
            self.rq.update_load(cpu);
        }
    }
}
