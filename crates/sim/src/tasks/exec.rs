//! What tasks do: from actions to segments of CPU time and their effects.
//!
//! ```text
//!            fetch            begin                   segment has run         effect
//! Next ───────────► Begin ───────────► (segment) ───────────────────► Effect ────────► Next
//!                     │ │                                                │ │
//!                     │ └─ nothing to run: Done ─► Next                  │ └─ more of it: another segment
//!                     └─ not yet, wait                                   └─ wait, then Begin again
//! ```
//! Actions that others can see begin or take effect only when the CPU's clock has been reached by the simulation's; a
//! CPU that is ahead, because it has just booked kernel work, comes back to them by an event at its clock.

use schedlab_workload::{Cursor, Frequent, Step};

use crate::balance::KernelPolicy;
use crate::engine::{CACHE, CARRY, EXTRAS, Engine, REMOTE, Segment};
use crate::error::SimError;
use crate::ledger::Account;
use crate::observe::Observer;
use crate::sched::TaskIx;
use crate::tasks::perform::too_long;
use crate::tasks::{Action, Phase, State};
use crate::time::Ns;
use crate::vmstat::Duty;

/// Small work that is not worth an event of its own, and how far a CPU may be ahead when it acts on others, in ns: less
/// than a line's way across a large machine.
const CLOSE: Ns = 100;

/// Most small work that is carried along.
const MOST_CARRY: u32 = 10_000;

/// Where a task's actions come from. Of all tasks these fill a few cache lines, and a program's cursor is read only where
/// there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Script {
    /// A program's body, read by the task's cursor.
    Program,
    /// The main task's list of actions.
    Main,
    /// A kernel thread's single action.
    Vmstat(Duty),
    /// Nothing more: the task is ending, or its place is free.
    None,
}

/// What beginning an action led to.
#[derive(Debug)]
pub(crate) enum Begun {
    /// A segment is to be run, then the action's effect is due.
    Segment(Segment),
    /// It is done, with small work carried along.
    Done,
    /// The task waits; what it waits for will be given to it with its wake-up.
    Served,
    /// The task waits, and begins again when it is woken.
    Again,
    /// The task sleeps until a timer.
    Asleep,
    /// It must wait until the CPU's clock is reached.
    Later,
    /// It lets others run.
    Yielded,
    /// Its attributes have changed: it goes to a CPU, and to another place in the queue if `requeued`.
    Changed { target: u16, requeued: bool },
    /// The program is wrong.
    Failed(String),
}

/// What an action's effect led to.
#[derive(Debug)]
pub(crate) enum Effect {
    /// The action is done.
    Done,
    /// Another segment of the same action.
    Segment(Segment),
    /// The action begins again, perhaps to wait.
    Begin,
    /// The task waits, and begins again when it is woken.
    Wait,
    /// The action is done, and the task sleeps until a timer.
    Asleep,
    /// The task has ended.
    Ended,
    /// The task begins its action on another CPU.
    Move(usize),
    /// The program is wrong.
    Failed(String),
}

/// What a task does next on its CPU. Of a form that comes back in two registers: with a state in one variant it would be
/// packed and unpacked.
enum Next {
    Runs,
    /// It sleeps until a timer.
    Sleeps,
    /// It waits for another task.
    Waits,
    Ends,
    Yields,
    /// It goes to a CPU.
    Moves(u16),
    /// Its attributes have changed: it goes to a CPU, or stays.
    Changes(u16),
    /// As before, and to another place in the queue.
    Requeues(u16),
}

impl<'c, P: KernelPolicy, O: Observer> Engine<'c, P, O> {
    /// The current task's segment has run to its end.
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

    /// A task has just got a CPU: it goes on with its segment, or finds out what to do. Bringing its footprint back, `cache`
    /// ns and for the distance `remote` ns more, comes before.
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
        debug_assert!(matches!(next, Next::Runs), "a CPU that is ahead waits for nobody");
    }

    /// As [`Engine::advance_ahead`], when it was taken off its CPU before all that its segment contains besides work was
    /// spent.
    #[cold]
    #[inline(never)]
    fn advance_with_extras(&mut self, cpu: usize, task: TaskIx) {
        let extras = self.cpus[cpu].segment.extras;
        self.advance_ahead(cpu, task);
        let segment = &mut self.cpus[cpu].segment;
        extras.into_iter().enumerate().for_each(|(extra, ns)| segment.add(extra, ns.into()));
    }

    /// Takes a task through its actions until one takes time. `ahead`: the CPU's clock has certainly not been reached.
    fn advance(&mut self, cpu: usize, task: TaskIx, ahead: bool) -> Next {
        loop {
            match self.tasks[task].phase {
                Phase::Next => {
                    if self.tasks[task].carry > MOST_CARRY {
                        self.install(cpu, task, Account::User, 0);
                        return Next::Runs;
                    }
                    if let Some(next) = self.fetch(cpu, task, ahead) {
                        return next;
                    }
                }
                Phase::Begin => match self.begin(cpu, task, ahead) {
                    Begun::Segment(segment) => {
                        self.tasks[task].phase = Phase::Effect;
                        self.install_whole(cpu, task, segment);
                        return Next::Runs;
                    }
                    Begun::Done => self.tasks[task].phase = Phase::Next,
                    Begun::Later => {
                        self.install(cpu, task, Account::User, 0);
                        return Next::Runs;
                    }
                    Begun::Served => {
                        self.tasks[task].phase = Phase::Next;
                        return Next::Waits;
                    }
                    Begun::Asleep => {
                        self.tasks[task].phase = Phase::Next;
                        return Next::Sleeps;
                    }
                    Begun::Again => return Next::Waits,
                    Begun::Yielded => {
                        self.tasks[task].phase = Phase::Next;
                        self.install(cpu, task, Account::User, 0);
                        return Next::Yields;
                    }
                    Begun::Changed { target, requeued } => {
                        self.tasks[task].phase = Phase::Next;
                        return if requeued { Next::Requeues(target) } else { Next::Changes(target) };
                    }
                    Begun::Failed(reason) => return self.fail(cpu, task, reason),
                },
                Phase::Effect => match self.effect(cpu, task) {
                    Effect::Done => self.tasks[task].phase = Phase::Next,
                    Effect::Begin => self.tasks[task].phase = Phase::Begin,
                    Effect::Segment(segment) => {
                        self.install_whole(cpu, task, segment);
                        return Next::Runs;
                    }
                    Effect::Wait => {
                        self.tasks[task].phase = Phase::Begin;
                        return Next::Waits;
                    }
                    Effect::Asleep => {
                        self.tasks[task].phase = Phase::Next;
                        return Next::Sleeps;
                    }
                    Effect::Ended => return Next::Ends,
                    Effect::Move(target) => {
                        self.tasks[task].phase = Phase::Begin;
                        return Next::Moves(target as u16);
                    }
                    Effect::Failed(reason) => return self.fail(cpu, task, reason),
                },
            }
        }
    }

    #[cold]
    fn fail(&mut self, cpu: usize, task: TaskIx, reason: String) -> Next {
        let (task, at_ns) = (self.name(task), self.time.now);
        self.failure.get_or_insert(SimError::Task { task, at_ns, reason });
        self.finished = true;
        self.cpus[cpu].segment = Segment::EMPTY;
        Next::Runs
    }

    /// Gives a CPU a segment of `ns`, with the small work that the task carries.
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

    /// Gives a CPU a segment, with the small work that the task carries.
    fn install_whole(&mut self, cpu: usize, task: TaskIx, segment: Segment) {
        self.cpus[cpu].segment = segment;
        let carry = std::mem::take(&mut self.tasks[task].carry);
        self.cpus[cpu].segment.add(CARRY, carry.into());
    }

    /// Time as the task sees it: its CPU's clock and the small work that it has done since.
    #[inline]
    pub(super) fn task_time(&self, cpu: usize, task: TaskIx) -> Ns {
        self.cpus[cpu].clock + u64::from(self.tasks[task].carry)
    }

    /// Takes the task's next step. What is done at once, or is nothing but computation or sleep, is not even written down
    /// as the task's action: most steps are of this kind.
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

    /// A task's cursor, and the time for it: looking at the clock is small work.
    #[inline]
    fn reading(&mut self, cpu: usize, task: TaskIx) -> (&mut Cursor<'c>, impl FnMut() -> u64) {
        let (it, gate, read) = (&self.cpus[cpu], &self.gate, self.costs.clock_read);
        let carry = &mut self.tasks.table[task as usize].carry;
        let now_ns = move || {
            *carry = carry.saturating_add(read);
            it.clock - gate.opened_at.unwrap_or(0).min(it.clock) + u64::from(*carry)
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

    /// Does a step that is done at once, and notes one that is not; `false` if there was none yet.
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

    fn note_action(&mut self, task: TaskIx, action: Action) -> Option<Next> {
        let it = &mut self.tasks[task];
        it.action = action;
        it.phase = Phase::Begin;
        (it.left, it.moved) = (u64::MAX, 0);
        None
    }

    /// Whether a CPU is so far ahead that the task may not act on others yet.
    #[inline]
    pub(super) fn too_early(&self, cpu: usize, task: TaskIx, ahead: bool) -> bool {
        ahead || self.task_time(cpu, task) > self.time.now + CLOSE
    }
}
