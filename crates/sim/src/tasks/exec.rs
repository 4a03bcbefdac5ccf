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

use schedlab_workload::{Cursor, Step};

use crate::engine::{CARRY, EXTRAS, Engine, Segment};
use crate::error::SimError;
use crate::ledger::Account;
use crate::observe::Observer;
use crate::sched::{Policy, TaskIx};
use crate::tasks::{Action, Phase, State};
use crate::time::{NEVER, Ns};
use crate::vmstat::Duty;

/// Small work that is not worth an event of its own, and how far a CPU may be ahead when it acts on others, in ns: less
/// than a line's way across a large machine.
const CLOSE: Ns = 100;

/// Most small work that is carried along.
const MOST_CARRY: u32 = 10_000;

/// Where a task's actions come from.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "nearly all are programs, and one hop less to them counts")]
pub(crate) enum Script<'c> {
    /// A program's body.
    Program(Cursor<'c>),
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

/// What a task does next on its CPU.
enum Next {
    Runs,
    Blocks(State),
    Yields,
    Moves(u16),
    Changes { target: u16, requeued: bool },
}

impl<P: Policy, O: Observer> Engine<'_, P, O> {
    /// The current task's segment has run to its end.
    pub(crate) fn progress(&mut self, cpu: usize) {
        let task = self.cpus[cpu].current;
        match self.advance(cpu, task, false) {
            Next::Runs => {}
            Next::Yields => self.cpus[cpu].need_resched = true,
            Next::Blocks(state) => {
                self.block(cpu, state);
                if state == State::Dead {
                    self.bury(task);
                }
                self.schedule(cpu);
            }
            Next::Moves(target) => {
                self.move_current(cpu, target.into());
                self.schedule(cpu);
            }
            Next::Changes { target, requeued } => {
                self.change_current(cpu, target.into(), requeued);
                self.schedule(cpu);
            }
        }
    }

    /// A task has just got a CPU: it goes on with its segment, or finds out what to do.
    pub(crate) fn resume(&mut self, cpu: usize, task: TaskIx) {
        let segment = &self.cpus[cpu].segment;
        if segment.has_work() || self.tasks[task as usize].phase == Phase::Effect {
            return;
        }
        // The caches' refill, if any, comes before whatever is next.
        let refill = *segment;
        let next = self.advance(cpu, task, true);
        debug_assert!(matches!(next, Next::Runs), "a CPU that is ahead waits for nobody");
        if refill.left == 0 {
            return;
        }
        let segment = &mut self.cpus[cpu].segment;
        for (extra, ns) in refill.extras.into_iter().enumerate() {
            if ns > 0 {
                segment.add(extra, ns.into());
            }
        }
    }

    /// Takes a task through its actions until one takes time. `ahead`: the CPU's clock has certainly not been reached.
    fn advance(&mut self, cpu: usize, task: TaskIx, ahead: bool) -> Next {
        let at = task as usize;
        loop {
            match self.tasks[at].phase {
                Phase::Next => {
                    if self.tasks[at].carry > MOST_CARRY {
                        self.install(cpu, task, Account::User, 0);
                        return Next::Runs;
                    }
                    if let Some(next) = self.fetch(cpu, task, ahead) {
                        return next;
                    }
                }
                Phase::Begin => match self.begin(cpu, task, ahead) {
                    Begun::Segment(segment) => {
                        self.tasks[at].phase = Phase::Effect;
                        self.install_whole(cpu, task, segment);
                        return Next::Runs;
                    }
                    Begun::Done => self.tasks[at].phase = Phase::Next,
                    Begun::Later => {
                        self.install(cpu, task, Account::User, 0);
                        return Next::Runs;
                    }
                    Begun::Served => {
                        self.tasks[at].phase = Phase::Next;
                        return Next::Blocks(State::Blocked);
                    }
                    Begun::Asleep => {
                        self.tasks[at].phase = Phase::Next;
                        return Next::Blocks(State::Sleeping);
                    }
                    Begun::Again => return Next::Blocks(State::Blocked),
                    Begun::Yielded => {
                        self.tasks[at].phase = Phase::Next;
                        self.install(cpu, task, Account::User, 0);
                        return Next::Yields;
                    }
                    Begun::Changed { target, requeued } => {
                        self.tasks[at].phase = Phase::Next;
                        return Next::Changes { target, requeued };
                    }
                    Begun::Failed(reason) => return self.fail(cpu, task, reason),
                },
                Phase::Effect => match self.effect(cpu, task) {
                    Effect::Done => self.tasks[at].phase = Phase::Next,
                    Effect::Begin => self.tasks[at].phase = Phase::Begin,
                    Effect::Segment(segment) => {
                        self.install_whole(cpu, task, segment);
                        return Next::Runs;
                    }
                    Effect::Wait => {
                        self.tasks[at].phase = Phase::Begin;
                        return Next::Blocks(State::Blocked);
                    }
                    Effect::Asleep => {
                        self.tasks[at].phase = Phase::Next;
                        return Next::Blocks(State::Sleeping);
                    }
                    Effect::Ended => return Next::Blocks(State::Dead),
                    Effect::Move(target) => {
                        self.tasks[at].phase = Phase::Begin;
                        return Next::Moves(target as u16);
                    }
                    Effect::Failed(reason) => return self.fail(cpu, task, reason),
                },
            }
        }
    }

    #[cold]
    fn fail(&mut self, cpu: usize, task: TaskIx, reason: String) -> Next {
        let (task, at_ns) = (self.name(task), self.now);
        self.failure.get_or_insert(SimError::Task { task, at_ns, reason });
        self.cpus[cpu].segment = Segment::EMPTY;
        Next::Runs
    }

    /// Gives a CPU a segment of `ns`, with the small work that the task carries.
    #[inline]
    fn install(&mut self, cpu: usize, task: TaskIx, account: Account, ns: Ns) {
        let carry = std::mem::take(&mut self.tasks[task as usize].carry);
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
        let carry = std::mem::take(&mut self.tasks[task as usize].carry);
        self.cpus[cpu].segment.add(CARRY, carry.into());
    }

    /// Time as the task sees it: its CPU's clock and the small work that it has done since.
    #[inline]
    pub(super) fn task_time(&self, cpu: usize, task: TaskIx) -> Ns {
        self.cpus[cpu].clock + u64::from(self.tasks[task as usize].carry)
    }

    /// Takes the task's next step. What is done at once, or is nothing but computation or sleep, is not even written down
    /// as the task's action: most steps are of this kind.
    #[inline]
    fn fetch(&mut self, cpu: usize, task: TaskIx, ahead: bool) -> Option<Next> {
        let (clock, opened_at) = (self.cpus[cpu].clock, self.gate.opened_at);
        let (read, carry) = (self.costs.clock_read, &mut self.tasks[task as usize].carry);
        let Script::Program(cursor) = &mut self.scripts[task as usize] else {
            let action = match self.scripts[task as usize] {
                Script::Vmstat(duty) => Action::Vmstat(duty),
                _ if task == self.gate.main => self.next_of_main(),
                _ => Action::Exit,
            };
            return self.note_action(task, action);
        };
        let step = cursor.next(|| {
            *carry = carry.saturating_add(read);
            clock - opened_at.unwrap_or(0).min(clock) + u64::from(*carry)
        });
        match &step {
            Step::Compute { ns } => {
                self.install(cpu, task, Account::User, *ns);
                Some(Next::Runs)
            }
            Step::Count { counter, by } => {
                self.count(cpu, task, *counter, *by);
                None
            }
            Step::Stamp(slot) => {
                self.slots[*slot as usize] = self.task_time(cpu, task);
                self.tasks[task as usize].carry += self.costs.clock_read;
                None
            }
            Step::Record { slot, series } => {
                self.record(cpu, task, *slot, *series);
                None
            }
            Step::Lap { slot, series } => {
                self.slots[*slot as usize] = self.record(cpu, task, *slot, *series);
                None
            }
            Step::Observe { series, ns } => {
                if self.recording(self.task_time(cpu, task)) {
                    self.series[*series as usize].record(*ns);
                }
                None
            }
            Step::Sleep { ns } if !self.too_early(cpu, task, ahead) => match self.begin_sleep(cpu, task, *ns)
            {
                Begun::Failed(reason) => Some(self.fail(cpu, task, reason)),
                _ => Some(Next::Blocks(State::Sleeping)),
            },
            step => self.note_action(task, Action::Step(*step)),
        }
    }

    #[inline(never)]
    fn note_action(&mut self, task: TaskIx, action: Action) -> Option<Next> {
        let it = &mut self.tasks[task as usize];
        it.action = action;
        it.phase = Phase::Begin;
        (it.left, it.moved) = (u64::MAX, 0);
        None
    }

    /// Whether a CPU is so far ahead that the task may not act on others yet.
    #[inline]
    fn too_early(&self, cpu: usize, task: TaskIx, ahead: bool) -> bool {
        ahead || self.task_time(cpu, task) > self.now + CLOSE
    }

    #[inline(never)]
    fn begin(&mut self, cpu: usize, task: TaskIx, ahead: bool) -> Begun {
        let Action::Step(step) = &self.tasks[task as usize].action else {
            return self.begin_life(cpu, task, ahead);
        };
        match *step {
            Step::Send { channel, bytes, direction } => self.begin_send(task, channel, bytes, direction),
            Step::Receive { channel, bytes, direction, take, .. } => {
                let early = self.too_early(cpu, task, ahead);
                self.begin_receive(cpu, task, (channel, bytes, direction), take, early)
            }
            Step::Touch { bytes, .. } => {
                if self.tasks[task as usize].left == u64::MAX {
                    self.tasks[task as usize].left = bytes;
                }
                self.touch_part(cpu, task)
            }
            Step::Watch { ns, .. } => {
                self.tasks[task as usize].left = self.task_time(cpu, task);
                Begun::Segment(Segment { watched: true, ..Segment::new(Account::User, ns) })
            }
            Step::Fork => Begun::Segment(Segment::new(Account::Family, self.costs.fork.into())),
            Step::ExecWork(_) | Step::ExecCommand(_) => {
                Begun::Segment(Segment::new(Account::Family, self.costs.exec.into()))
            }
            Step::End => {
                self.tasks[task as usize].action = Action::Exit;
                self.begin_life(cpu, task, ahead)
            }
            _ if self.too_early(cpu, task, ahead) => Begun::Later,
            Step::Lock(lock) => self.begin_lock(cpu, task, lock),
            Step::Unlock(lock) => self.begin_unlock(cpu, task, lock),
            Step::Up { semaphore, count } => self.begin_up(cpu, task, semaphore, count),
            Step::Down(semaphore) => self.begin_down(cpu, task, semaphore),
            Step::Barrier(barrier) => self.begin_barrier(cpu, task, barrier),
            Step::Await { condition, lock } => self.begin_await(cpu, task, condition, lock),
            Step::Signal { condition, all } => self.begin_signal(cpu, task, condition, all),
            Step::Until { at_ns } => {
                let at = self.gate.opened_at.unwrap_or(0).saturating_add(at_ns);
                let ns = at.saturating_sub(self.task_time(cpu, task));
                if ns == 0 { Begun::Done } else { self.begin_sleep(cpu, task, ns) }
            }
            Step::Write { .. } => {
                self.book(cpu, Account::Syscall, self.costs.syscall);
                Begun::Done
            }
            Step::Set(number) => self.begin_set(cpu, task, number),
            Step::Finish => {
                self.gate.closed_at = Some(self.cpus[cpu].clock);
                self.finished = true;
                Begun::Asleep
            }
            Step::Sleep { ns } => self.begin_sleep(cpu, task, ns),
            Step::Yield => {
                self.book(cpu, Account::Syscall, self.costs.syscall);
                if self.stats.on {
                    self.stats_yield(cpu);
                }
                self.charge(cpu);
                if self.tasks[task as usize].class.realtime().is_some() {
                    self.cpus[cpu].turn_over = true;
                } else {
                    self.policy.yields(&mut self.queues[cpu], &mut self.entities, task, self.now);
                }
                Begun::Yielded
            }
            Step::Wait { count } => self.begin_wait(cpu, task, count),
            Step::Compute { .. }
            | Step::Stamp(_)
            | Step::Record { .. }
            | Step::Observe { .. }
            | Step::Lap { .. }
            | Step::Count { .. } => {
                unreachable!("done when they were fetched")
            }
        }
    }

    fn begin_sleep(&mut self, cpu: usize, task: TaskIx, ns: Ns) -> Begun {
        self.book(cpu, Account::Syscall, self.costs.syscall + self.costs.nanosleep);
        let carry = std::mem::take(&mut self.tasks[task as usize].carry);
        let at = self.cpus[cpu].clock.saturating_add(ns).saturating_add(carry.into());
        if at >= NEVER / 2 {
            return Begun::Failed(format!("sleeping for {ns} ns: virtual time ends before"));
        }
        self.arm(cpu, task, at);
        Begun::Asleep
    }

    #[inline(never)]
    fn effect(&mut self, cpu: usize, task: TaskIx) -> Effect {
        let Action::Step(step) = &self.tasks[task as usize].action else {
            return self.effect_life(cpu, task);
        };
        match *step {
            Step::Touch { .. } if self.tasks[task as usize].left == 0 => Effect::Done,
            Step::Touch { .. } => Effect::Begin,
            Step::Watch { longest, .. } => {
                self.end_watch(cpu, task, longest);
                Effect::Done
            }
            Step::Send { channel, direction, .. } => self.effect_send(cpu, task, channel, direction),
            Step::Receive { channel, direction, take, counter, .. } => {
                self.effect_receive(cpu, task, channel, direction, take, counter)
            }
            Step::Fork => self.effect_fork(cpu, task),
            Step::ExecWork(work) => self.effect_exec(cpu, task, work.bytes, work.ns),
            Step::ExecCommand(number) => {
                let Script::Program(cursor) = &self.scripts[task as usize] else {
                    unreachable!("only programs have commands")
                };
                let ns = cursor.command(number).1;
                self.effect_exec(cpu, task, 0, ns)
            }
            _ => Effect::Done,
        }
    }
}
