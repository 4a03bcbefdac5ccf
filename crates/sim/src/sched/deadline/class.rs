//! Deadline tasks of a CPU: admission, budgets that run out, and replenishments.

use super::{Budget, DlEntity, sched_dl_overflow};
use crate::balance::KernelPolicy;
use crate::engine::Engine;
use crate::ledger::Account;
use crate::observe::Observer;
use crate::sched::{Enqueue, NOBODY, Rank, TaskIx};
use crate::tasks::State;
use crate::time::Ns;

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// Check whether a task may be a deadline task with a budget; the error is the kernel's, with the reason
    /// (`__sched_setscheduler()` and `dl_task_check_affinity()`, kernel/sched/syscalls.c, v6.12).
    pub(crate) fn check_dl_task(&self, task: TaskIx, budget: Budget) -> Result<(), String> {
        budget.check()?;
        let domain = self.rq.housekeeping;
        if !domain.without(self.tasks.allowed(task)).is_empty() {
            let error = if self.deadlines.budget(task).is_some() { "EBUSY" } else { "EPERM" };
            return Err(format!(
                "{error}: a deadline task must be allowed on all CPUs that are not isolated"
            ));
        }
        let others = self.deadlines.entities.iter().filter(|(other, _)| **other != task);
        let budgets = others.map(|(_, entity)| entity.budget).chain([budget]);
        sched_dl_overflow(self.world.kernel, domain.iter().count(), budgets)
    }

    fn revised_rules(&self) -> bool {
        self.world.kernel.deadline.is_some_and(|rules| rules.revised_wakeup)
    }

    /// Put a deadline task on the queue of a CPU. Return `false` if the task waits for its replenishment instead
    /// (`enqueue_task_dl()`, kernel/sched/deadline.c, v4.5 to v6.12).
    #[cold]
    #[inline(never)]
    pub(crate) fn enqueue_task_dl(&mut self, cpu: usize, task: TaskIx, how: Enqueue) -> bool {
        if !self.enqueue_dl_entity(cpu, task, how) {
            self.tasks[task].state = State::Throttled;
            return false;
        }
        let rank = Rank::of_deadline(self.deadlines.entity(task).deadline);
        self.cpus[cpu].realtime.insert(rank, task, false);
        true
    }

    /// Whether a deadline task that has just been woken preempts the current task (`wakeup_preempt_dl()`, kernel/sched/deadline.c,
    /// v6.12; `check_preempt_curr_dl()` before).
    #[cold]
    #[inline(never)]
    pub(crate) fn check_preempt_curr_dl(&self, current: TaskIx, woken: TaskIx) -> bool {
        self.tasks[woken].state != State::Throttled && self.rank(woken) > self.rank(current)
    }

    /// Begin or continue a period of a task that becomes runnable. Return whether the task has a budget (`enqueue_dl_entity()`,
    /// kernel/sched/deadline.c, v4.5 to v6.12).
    fn enqueue_dl_entity(&mut self, cpu: usize, task: TaskIx, how: Enqueue) -> bool {
        let (now, revised) = (self.cpus[cpu].clock, self.revised_rules());
        let entity = self.deadlines.entity(task);
        match how {
            Enqueue::New => {
                *entity = DlEntity::new(entity.budget);
                entity.replenish_dl_new_period(now);
            }
            Enqueue::Wake { .. } if entity.throttled => return false,
            // A wake-up between the deadline and the next period (dl_check_constrained_dl(), since v4.12).
            Enqueue::Wake { .. } if revised && entity.deadline < now && now < entity.dl_next_period(true) => {
                (entity.throttled, entity.runtime) = (true, entity.runtime.min(0));
                self.start_dl_timer(cpu, task);
                return false;
            }
            Enqueue::Wake { .. } => entity.update_dl_entity(now, revised),
            Enqueue::Moved => {}
        }
        true
    }

    /// Charge the current deadline task of a CPU for `ran` ns, and throttle the task if its budget is empty (`update_curr_dl()`,
    /// kernel/sched/deadline.c, v4.5 to v6.12).
    pub(crate) fn update_curr_dl(&mut self, cpu: usize, task: TaskIx, ran: Ns) {
        let entity = self.deadlines.entity(task);
        entity.runtime -= ran as i64;
        if entity.throttled || (entity.runtime > 0 && !entity.yielded) {
            return;
        }
        entity.throttled = true;
        if !self.start_dl_timer(cpu, task) {
            let now = self.cpus[cpu].clock;
            self.deadlines.entity(task).replenish_dl_entity(now);
        }
        self.cpus[cpu].need_resched = true;
    }

    /// Let the current deadline task of a CPU give up the rest of its budget (`yield_task_dl()`, kernel/sched/deadline.c, v4.5 to
    /// v6.12).
    pub(crate) fn yield_task_dl(&mut self, cpu: usize, task: TaskIx) {
        self.deadlines.entity(task).yielded = true;
        self.update_curr_dl(cpu, task, 0);
    }

    /// Arm the timer of a task's replenishment; return `false` if its time has passed (`start_dl_timer()`,
    /// kernel/sched/deadline.c, v4.5 to v6.12).
    fn start_dl_timer(&mut self, cpu: usize, task: TaskIx) -> bool {
        let (now, revised) = (self.cpus[cpu].clock, self.revised_rules());
        let entity = self.deadlines.entity(task);
        let at = entity.dl_next_period(revised);
        if at < now {
            return false;
        }
        entity.timer_at = at;
        self.arm_dl_timer(cpu, task, at);
        true
    }

    /// Replenish a throttled task by the timer that was armed for `at`, and queue the task (`dl_task_timer()`,
    /// kernel/sched/deadline.c, v4.5 to v6.12).
    ///
    /// The kernel queues the task on its previous CPU, and at once pushes the task to another CPU, even from an idle one. A task that
    /// preempts a deadline task stays.
    pub(crate) fn dl_task_timer(&mut self, cpu: usize, task: TaskIx, at: Ns) {
        let Some(entity) = self.deadlines.entities.get_mut(&task) else { return };
        if !entity.throttled || entity.timer_at != at {
            return;
        }
        entity.replenish_dl_entity(self.cpus[cpu].clock);
        if self.tasks[task].state != State::Throttled {
            return;
        }
        let previous = usize::from(self.tasks[task].cpu);
        let current = self.cpus[previous].current;
        let preempts = current != NOBODY
            && self.tasks[current].class.is_deadline()
            && self.rank(current) < self.rank(task);
        let pushed = if preempts { None } else { self.find_later_rq(cpu, previous, task) };
        let target = pushed.unwrap_or(previous);
        if target != previous {
            self.count_move(cpu, task, previous, target);
        }
        self.charge_enqueue(cpu, target);
        if self.stats.on {
            self.stats_enqueue(cpu, task);
        }
        self.activate_task(target, task, Enqueue::Moved);
        self.check_preempt_curr(cpu, target, task);
    }

    /// Take the current task off its CPU if the task is throttled. Return the task that remains current, or [`NOBODY`].
    #[inline]
    pub(crate) fn dequeue_throttled(&mut self, cpu: usize, current: TaskIx) -> TaskIx {
        if current == NOBODY || !self.tasks[current].class.is_deadline() {
            return current;
        }
        self.dequeue_task_dl(cpu, current)
    }

    #[cold]
    #[inline(never)]
    fn dequeue_task_dl(&mut self, cpu: usize, task: TaskIx) -> TaskIx {
        if !self.deadlines.entity(task).throttled {
            return task;
        }
        self.take_current(cpu);
        self.book(cpu, Account::Switch, Ns::from(self.costs.parts.dequeue));
        self.records.counters.preemptions += 1;
        let task_data = &mut self.tasks[task];
        task_data.state = State::Throttled;
        task_data.involuntary += 1;
        task_data.preempted = true;
        self.pull_dl_task(cpu);
        self.pull_rt_task(cpu);
        NOBODY
    }
}
