//! Locks, semaphores, barriers and conditions: futexes whose waiters are served in first-in, first-out order.

use crate::balance::KernelPolicy;
use crate::engine::Engine;
use crate::error::SimError;
use crate::ledger::Account;
use crate::machine::Distance;
use crate::observe::Observer;
use crate::physics::SharedLine;
use crate::sched::{NOBODY, TaskIx};
use crate::tasks::exec::Progress;
use crate::tasks::{State, WaitQueue};

/// A mutex.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lock {
    pub owner: TaskIx,
    pub waiters: WaitQueue,
    pub line: SharedLine,
}

impl Default for Lock {
    fn default() -> Self {
        Self { owner: NOBODY, waiters: WaitQueue::default(), line: SharedLine::default() }
    }
}

/// A counting semaphore.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Semaphore {
    pub value: u64,
    pub waiters: WaitQueue,
    pub line: SharedLine,
}

/// A barrier.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Meeting {
    pub parties: u32,
    pub arrived: u32,
    pub waiters: WaitQueue,
}

// Values of `Task::moved` while a task waits for a condition: in the condition's queue, and signalled.
const QUEUED: u64 = 1;
const SIGNALLED: u64 = 2;

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// Add the cost of an atomic operation to the task's carried work, and book the wait for the operation's line; return
    /// the distance of the line.
    fn atomic(
        &mut self,
        cpu: usize,
        task: TaskIx,
        line: impl FnOnce(&mut Self) -> &mut SharedLine,
    ) -> Distance {
        self.tasks[task].carry += self.costs.atomic;
        self.modify_line(cpu, line)
    }

    fn atomic_on_lock(&mut self, cpu: usize, task: TaskIx, lock: u32) -> Distance {
        self.atomic(cpu, task, |engine| &mut engine.program.locks[lock as usize].line)
    }

    fn atomic_on_semaphore(&mut self, cpu: usize, task: TaskIx, semaphore: u32) {
        self.atomic(cpu, task, |engine| &mut engine.program.semaphores[semaphore as usize].line);
    }

    pub(super) fn begin_lock(&mut self, cpu: usize, task: TaskIx, lock: u32) -> Progress {
        let distance = self.atomic_on_lock(cpu, task, lock);
        if self.program.locks[lock as usize].owner == NOBODY {
            self.program.locks[lock as usize].owner = task;
            self.program.lock_uses.acquired(lock, distance);
            return Progress::Done;
        }
        let circle = self.waits().circle(task, lock);
        if !circle.is_empty() {
            self.failure.get_or_insert(SimError::Deadlock { at_ns: self.time.now, waiting: circle });
            self.finished = true;
        }
        self.program.lock_uses.waits(task, self.cpus[cpu].clock);
        self.book(cpu, Account::Syscall, self.costs.syscall + self.costs.futex);
        self.program.locks[lock as usize].waiters.push(&mut self.tasks, task);
        Progress::Served
    }

    /// Release a lock and pass the lock to the first waiter.
    pub(super) fn begin_unlock(&mut self, cpu: usize, task: TaskIx, lock: u32) -> Progress {
        if self.program.locks[lock as usize].owner == NOBODY {
            return Progress::Failed("unlocking a lock without an owner".to_owned());
        }
        self.atomic_on_lock(cpu, task, lock);
        let state = &mut self.program.locks[lock as usize];
        let next = state.waiters.pop(&self.tasks);
        state.owner = next.unwrap_or(NOBODY);
        if let Some(next) = next {
            let from = self.topology.distance(cpu, self.tasks[next].cpu.into());
            self.program.lock_uses.handed_over(lock, next, self.cpus[cpu].clock, from);
            self.book(cpu, Account::Syscall, self.costs.syscall + self.costs.futex);
            self.try_to_wake_up(cpu, next, false);
        }
        Progress::Done
    }

    pub(super) fn begin_up(&mut self, cpu: usize, task: TaskIx, semaphore: u32, count: u64) -> Progress {
        let at = semaphore as usize;
        self.atomic_on_semaphore(cpu, task, semaphore);
        self.program.semaphores[at].value = self.program.semaphores[at].value.saturating_add(count);
        if !self.program.semaphores[at].waiters.is_empty() {
            self.book(cpu, Account::Syscall, self.costs.syscall + self.costs.futex);
        }
        while self.program.semaphores[at].value > 0 {
            let Some(next) = self.program.semaphores[at].waiters.pop(&self.tasks) else { break };
            self.program.semaphores[at].value -= 1;
            self.try_to_wake_up(cpu, next, false);
        }
        Progress::Done
    }

    pub(super) fn begin_down(&mut self, cpu: usize, task: TaskIx, semaphore: u32) -> Progress {
        let at = semaphore as usize;
        self.atomic_on_semaphore(cpu, task, semaphore);
        if self.program.semaphores[at].value > 0 {
            self.program.semaphores[at].value -= 1;
            return Progress::Done;
        }
        self.book(cpu, Account::Syscall, self.costs.syscall + self.costs.futex);
        self.program.semaphores[at].waiters.push(&mut self.tasks, task);
        Progress::Served
    }

    /// Release the lock and wait for the condition. When the action begins again after the signal, the task acquires
    /// the lock.
    ///
    /// The task joins the condition's queue before it releases the lock. The task that gets the lock may preempt the
    /// waiting task and signal before this task sleeps. Then the waiting task does not sleep, as with futexes.
    pub(super) fn begin_await(&mut self, cpu: usize, task: TaskIx, condition: u32, lock: u32) -> Progress {
        match self.tasks[task].moved {
            SIGNALLED => return self.begin_lock(cpu, task, lock),
            QUEUED => return Progress::Again,
            _ => {}
        }
        if self.program.locks[lock as usize].owner != task {
            return Progress::Failed("waiting for a condition without holding its lock".to_owned());
        }
        self.tasks[task].moved = QUEUED;
        self.program.conditions[condition as usize].push(&mut self.tasks, task);
        self.book(cpu, Account::Syscall, self.costs.syscall + self.costs.futex);
        self.begin_unlock(cpu, task, lock);
        if self.cpus[cpu].need_resched { Progress::Later } else { Progress::Again }
    }

    pub(super) fn begin_signal(&mut self, cpu: usize, task: TaskIx, condition: u32, all: bool) -> Progress {
        let at = condition as usize;
        if self.program.conditions[at].is_empty() {
            self.tasks[task].carry += self.costs.atomic;
            return Progress::Done;
        }
        self.book(cpu, Account::Syscall, self.costs.syscall + self.costs.futex);
        while let Some(next) = self.program.conditions[at].pop(&self.tasks) {
            self.tasks[next].moved = SIGNALLED;
            if self.tasks[next].state == State::Blocked {
                self.try_to_wake_up(cpu, next, false);
            }
            if !all {
                break;
            }
        }
        Progress::Done
    }

    pub(super) fn begin_barrier(&mut self, cpu: usize, task: TaskIx, barrier: u32) -> Progress {
        let at = barrier as usize;
        self.book(cpu, Account::Syscall, self.costs.syscall + self.costs.futex);
        self.program.meetings[at].arrived += 1;
        if self.program.meetings[at].arrived < self.program.meetings[at].parties {
            self.program.meetings[at].waiters.push(&mut self.tasks, task);
            return Progress::Served;
        }
        self.program.meetings[at].arrived = 0;
        while let Some(next) = self.program.meetings[at].waiters.pop(&self.tasks) {
            self.try_to_wake_up(cpu, next, false);
        }
        Progress::Done
    }
}
