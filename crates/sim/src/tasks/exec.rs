//! Execution of tasks: from actions to segments of CPU time and their effects.
//!
//! ```text
//!            fetch            begin                   segment has run         effect
//! Next ───────────► Begin ───────────► (segment) ───────────────────► Effect ────────► Next
//!                     │ │                                                │ │
//!                     │ └─ nothing to run: Done ─► Next                  │ └─ unfinished: another segment
//!                     └─ too early: wait                                 └─ wait, then Begin again
//! ```
//! A CPU's clock is ahead of the simulation's clock after it has booked kernel work. Actions that affect other tasks wait
//! until the simulation's clock has reached the CPU's clock: an event at that time resumes them.

use schedlab_workload::{Cursor, Frequent, Step};

use crate::balance::KernelPolicy;
use crate::engine::Engine;
use crate::error::SimError;
use crate::ledger::Account;
use crate::observe::Observer;
use crate::sched::TaskIx;
use crate::tasks::perform::too_long;
use crate::tasks::{Action, CACHE, CARRY, EXTRAS, Phase, REMOTE, Segment, State};
use crate::time::Ns;
use crate::vmstat::Duty;

/// Largest lead in ns of a CPU that acts on other tasks: less than the transfer of a cache line across a large machine.
const CLOSE: Ns = 100;

/// Limit of [`crate::tasks::Task::carry`] in ns; beyond it the carried work becomes a segment.
const MOST_CARRY: u32 = 10_000;

/// Source of a task's actions.
///
/// The scripts of all tasks fit into a few cache lines, so that cursors are read only for tasks that run a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Script {
    /// A program's body, read by the task's cursor.
    Program,
    /// The main task's list of actions.
    Main,
    /// A kernel thread's single action.
    Vmstat(Duty),
    /// No further action: the task is exiting, or its entry is free.
    None,
}

impl Script {
    /// Function of the work queue that a kernel thread executes.
    pub fn work(&self) -> Option<&'static str> {
        match self {
            Self::Vmstat(Duty::Fold) => Some("vmstat_update"),
            Self::Vmstat(Duty::Search) => Some("vmstat_shepherd"),
            Self::Program | Self::Main | Self::None => None,
        }
    }
}

/// Result of beginning an action, or of its effect.
#[derive(Debug)]
pub(crate) enum Progress {
    /// The CPU runs a segment; the action's effect follows.
    Segment(Segment),
    /// The action is done. The cost of an action without a segment is carried into the next segment.
    Done,
    /// The action begins again, perhaps to wait.
    Repeat,
    /// The task waits; its wake-up completes the action.
    Served,
    /// The task waits, and begins again when it is woken.
    Again,
    /// The action is done, and the task sleeps until a timer.
    Asleep,
    /// The task retries when the simulation's clock has reached the CPU's clock.
    Later,
    /// The task yields its CPU.
    Yielded,
    /// The task's attributes have changed. The task moves to CPU `target`, and is queued again if `requeued`.
    Changed { target: u16, requeued: bool },
    /// The task begins its action on another CPU.
    Move(usize),
    /// The task has ended.
    Ended,
    /// The program has a fault, which the text describes.
    Failed(String),
}

/// Next state of a CPU's current task. Small enough to be returned in two registers.
enum Next {
    Runs,
    /// The task sleeps until a timer.
    Sleeps,
    /// The task waits for another task.
    Waits,
    Ends,
    Yields,
    /// The task moves to this CPU.
    Moves(u16),
    /// The task's attributes have changed: the task moves to this CPU, or stays on it.
    Changes(u16),
    /// As `Changes`, and the task is queued anew.
    Requeues(u16),
}

impl<'c, P: KernelPolicy, O: Observer> Engine<'c, P, O> {
    /// Continue with the current task's next action after the end of its segment.
    pub(crate) fn progress(&mut self, cpu: usize) {
        let task = self.cpus[cpu].current;
        match self.advance(cpu, task, false) {
            Next::Runs => return,
            Next::Yields => {
                self.cpus[cpu].need_resched = true;
                return;
            }
            Next::Moves(target) => {
                self.move_current(cpu, target.into());
                return self.schedule(cpu);
            }
            Next::Changes(target) => {
                self.change_current(cpu, target.into(), false);
                return self.schedule(cpu);
            }
            Next::Requeues(target) => {
                self.change_current(cpu, target.into(), true);
                return self.schedule(cpu);
            }
            Next::Sleeps => self.give_up(cpu, State::Sleeping),
            Next::Waits => self.block(cpu, State::Blocked),
            Next::Ends => {
                self.block(cpu, State::Dead);
                self.bury(task);
            }
        }
        self.schedule(cpu);
    }

    /// Continue a task that has just been switched in. Refilling the caches, `cache` ns and `remote` ns more for the
    /// distance, precedes its work.
    #[inline]
    pub(crate) fn resume(&mut self, cpu: usize, task: TaskIx, (cache, remote): (Ns, Ns)) {
        let segment = &self.cpus[cpu].segment;
        if self.tasks[task].phase != Phase::Effect {
            if segment.left == 0 {
                self.advance_ahead(cpu, task);
            } else if !segment.has_work() {
                self.advance_with_extras(cpu, task);
            }
        }
        if cache > 0 {
            let segment = &mut self.cpus[cpu].segment;
            segment.add(CACHE, cache);
            segment.add(REMOTE, remote);
        }
    }

    #[inline]
    fn advance_ahead(&mut self, cpu: usize, task: TaskIx) {
        let next = self.advance(cpu, task, true);
        debug_assert!(matches!(next, Next::Runs), "a task cannot wait while its CPU is ahead");
    }

    /// Do the same as [`Engine::advance_ahead`] for a task that was preempted before the extras of its segment were spent.
    #[cold]
    #[inline(never)]
    fn advance_with_extras(&mut self, cpu: usize, task: TaskIx) {
        let extras = self.cpus[cpu].segment.extras;
        self.advance_ahead(cpu, task);
        let segment = &mut self.cpus[cpu].segment;
        extras.into_iter().enumerate().for_each(|(extra, ns)| segment.add(extra, ns.into()));
    }

    /// Perform a task's actions until an action takes time. `ahead`: the CPU's clock is ahead of the clock of the simulation.
    fn advance(&mut self, cpu: usize, task: TaskIx, ahead: bool) -> Next {
        loop {
            match self.tasks[task].phase {
                Phase::Next => {
                    if P::GROUPS && self.stops_at_return_to_user(cpu, task) {
                        return Next::Runs;
                    }
                    if self.tasks[task].carry > MOST_CARRY {
                        self.install(cpu, task, Account::User, 0);
                        return Next::Runs;
                    }
                    if let Some(next) = self.fetch(cpu, task, ahead) {
                        return next;
                    }
                }
                Phase::Begin => {
                    let begun = self.begin(cpu, task, ahead);
                    if let Some(next) = self.note_progress(cpu, task, begun) {
                        return next;
                    }
                }
                Phase::Effect => {
                    let effect = self.effect(cpu, task);
                    if let Some(next) = self.note_progress(cpu, task, effect) {
                        return next;
                    }
                }
            }
        }
    }

    /// Set the phase that follows. Return the next state of the CPU's task, or `None` if the task continues at once.
    #[inline(always)]
    fn note_progress(&mut self, cpu: usize, task: TaskIx, progress: Progress) -> Option<Next> {
        let (phase, next) = match progress {
            Progress::Segment(segment) => {
                self.install_segment(cpu, task, segment);
                (Phase::Effect, Some(Next::Runs))
            }
            Progress::Done => (Phase::Next, None),
            Progress::Repeat => (Phase::Begin, None),
            Progress::Served => (Phase::Next, Some(Next::Waits)),
            Progress::Again => (Phase::Begin, Some(Next::Waits)),
            Progress::Asleep => (Phase::Next, Some(Next::Sleeps)),
            Progress::Later => {
                self.install(cpu, task, Account::User, 0);
                (Phase::Begin, Some(Next::Runs))
            }
            Progress::Yielded => {
                self.install(cpu, task, Account::User, 0);
                (Phase::Next, Some(Next::Yields))
            }
            Progress::Changed { target, requeued: false } => (Phase::Next, Some(Next::Changes(target))),
            Progress::Changed { target, requeued: true } => (Phase::Next, Some(Next::Requeues(target))),
            Progress::Move(target) => (Phase::Begin, Some(Next::Moves(target as u16))),
            Progress::Ended => return Some(Next::Ends),
            Progress::Failed(reason) => return Some(self.fail(cpu, task, reason)),
        };
        self.tasks[task].phase = phase;
        next
    }

    #[cold]
    fn fail(&mut self, cpu: usize, task: TaskIx, reason: String) -> Next {
        let (task, at_ns) = (self.tasks[task].name(self.world.plan), self.time.now);
        self.failure.get_or_insert(SimError::Task { task, at_ns, reason });
        self.finished = true;
        self.cpus[cpu].segment = Segment::EMPTY;
        Next::Runs
    }

    /// Give a CPU a segment of `ns` plus the task's carried work.
    #[inline]
    fn install(&mut self, cpu: usize, task: TaskIx, account: Account, ns: Ns) {
        let carry = std::mem::take(&mut self.tasks[task].carry);
        let segment = &mut self.cpus[cpu].segment;
        segment.account = account;
        segment.left = ns + u64::from(carry);
        segment.extras = [0; EXTRAS.len()];
        segment.extras[CARRY] = carry;
        segment.watched = false;
    }

    /// Give a CPU a segment, extras included, plus the task's carried work.
    fn install_segment(&mut self, cpu: usize, task: TaskIx, mut segment: Segment) {
        if self.costs.syscall_spread > 0 && segment.account == Account::Syscall {
            let work = segment.left - segment.extra();
            let half = work * u64::from(self.costs.syscall_spread) / 1000;
            segment.left = segment.left - half + self.time.random.below(2 * half + 1);
        }
        self.cpus[cpu].segment = segment;
        let carry = std::mem::take(&mut self.tasks[task].carry);
        self.cpus[cpu].segment.add(CARRY, carry.into());
    }

    /// Clock of the task: its CPU's clock plus the task's carried work.
    #[inline]
    pub(super) fn task_time(&self, cpu: usize, task: TaskIx) -> Ns {
        self.cpus[cpu].clock + u64::from(self.tasks[task].carry)
    }

    /// Fetch the task's next action.
    ///
    /// Steps that take no time, and computation and sleep, are performed without becoming the task's action. Most steps are
    /// of these kinds.
    #[inline]
    fn fetch(&mut self, cpu: usize, task: TaskIx, ahead: bool) -> Option<Next> {
        if self.tasks.scripts[task as usize] != Script::Program {
            return self.fetch_other(task);
        }
        loop {
            let step = {
                let (cursor, mut now_ns) = self.reading(cpu, task);
                cursor.frequent(&mut now_ns)
            };
            match step {
                Some(Frequent::Compute { ns }) => {
                    self.install(cpu, task, Account::User, ns);
                    return Some(Next::Runs);
                }
                Some(Frequent::Count { counter, by }) => {
                    self.count(cpu, task, counter, by);
                    return None;
                }
                Some(Frequent::Sleep { ns }) if self.too_early(cpu, task, ahead) => {
                    return self.note_action(task, Action::Step(Step::Sleep { ns }));
                }
                Some(Frequent::Sleep { ns }) if self.sleep(cpu, task, ns) => return Some(Next::Sleeps),
                Some(Frequent::Sleep { ns }) => return Some(self.fail(cpu, task, too_long(ns))),
                None if self.perform_rare(cpu, task) => return None,
                None => {}
            }
        }
    }

    /// A task's cursor, and a clock for it that adds the cost of each reading to the task's carried work.
    #[inline]
    fn reading(&mut self, cpu: usize, task: TaskIx) -> (&mut Cursor<'c>, impl FnMut() -> u64) {
        let (clock, gate, read) = (self.cpus[cpu].clock, &self.gate, self.costs.clock_read);
        let carry = &mut self.tasks.table[task as usize].carry;
        let now_ns = move || {
            *carry = carry.saturating_add(read);
            clock - gate.opened_at.unwrap_or(0).min(clock) + u64::from(*carry)
        };
        (&mut self.tasks.cursors[task as usize], now_ns)
    }

    /// The next action of a task that runs no program.
    #[cold]
    #[inline(never)]
    fn fetch_other(&mut self, task: TaskIx) -> Option<Next> {
        let action = match self.tasks.scripts[task as usize] {
            Script::Vmstat(duty) => Action::Vmstat(duty),
            _ if task == self.gate.main => self.next_of_main(),
            _ => Action::Exit,
        };
        self.note_action(task, action)
    }

    /// Perform a step that takes no time, or store another step as the task's action; return `false` without a step.
    #[inline(never)]
    fn perform_rare(&mut self, cpu: usize, task: TaskIx) -> bool {
        let step = {
            let (cursor, mut now_ns) = self.reading(cpu, task);
            cursor.rare(&mut now_ns)
        };
        let Some(step) = step else { return false };
        match step {
            Step::Stamp(slot) => {
                self.program.slots[slot as usize] = self.task_time(cpu, task);
                self.tasks[task].carry += self.costs.clock_read;
            }
            Step::Record { slot, series } => {
                self.record(cpu, task, slot, series);
            }
            Step::Lap { slot, series } => {
                self.program.slots[slot as usize] = self.record(cpu, task, slot, series);
            }
            Step::Observe { series, ns } => {
                if self.recording(self.task_time(cpu, task)) {
                    self.program.series[series as usize].record(ns);
                }
            }
            Step::Count { counter, by } => self.count(cpu, task, counter, by),
            step => {
                self.note_action(task, Action::Step(step));
            }
        }
        true
    }

    /// Store the action that the task begins next.
    fn note_action(&mut self, task: TaskIx, action: Action) -> Option<Next> {
        let actor = &mut self.tasks[task];
        actor.action = action;
        actor.phase = Phase::Begin;
        (actor.left, actor.moved) = (u64::MAX, 0);
        None
    }

    /// Whether a CPU is so far ahead that the task may not act on other tasks yet.
    #[inline]
    pub(super) fn too_early(&self, cpu: usize, task: TaskIx, ahead: bool) -> bool {
        ahead || self.task_time(cpu, task) > self.time.now + CLOSE
    }
}
