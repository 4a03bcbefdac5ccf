//! The main task, which creates all other tasks, opens the start gate when these tasks are ready, and waits for their
//! end.

use schedlab_workload::program::{GateKind, Mode, TaskGroup, Window};
use schedlab_workload::{Cursor, Step};

use crate::balance::KernelPolicy;
use crate::engine::Engine;
use crate::ledger::Account;
use crate::observe::Observer;
use crate::sched::{NOBODY, TaskIx};
use crate::tasks::exec::{Progress, Script};
use crate::tasks::{Action, Class, Segment, State, WaitQueue};
use crate::time::Ns;

/// Number of tasks that the opening of the gate wakes at a time. The first tasks start before the last are woken; in a kernel
/// they wait for the lock of the wait queue when they leave `poll()`.
const BATCH: u32 = 16;

/// The start gate and the main task's progress.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct GateState {
    pub main: TaskIx,
    stage: Stage,
    created: u32,
    /// Whether the main task has paused before it creates a disturbance.
    paused: bool,
    ready: u32,
    /// Tasks that the main task waits for and that have not ended, and ended tasks that the main task has not waited for.
    live: u32,
    unreaped: u32,
    waiters: WaitQueue,
    /// Whether the main task is blocked until a task is ready or has ended.
    main_waits: bool,
    /// When the gate was opened and when all tasks had ended.
    pub opened_at: Option<Ns>,
    pub closed_at: Option<Ns>,
    /// Begin and end of the window in ns after the opening; `None` for a program without a window.
    pub recorded: Option<(Ns, Ns)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Stage {
    #[default]
    Creating,
    Waiting,
    Opening,
    Reaping,
    Done,
}

impl GateState {
    pub fn new(window: Option<Window>) -> Self {
        Self {
            recorded: window.map(|window| (window.warmup_ns, window.end_ns())),
            main: NOBODY,
            ..Self::default()
        }
    }

    /// Whether a task is opening the gate. No other task preempts it: a single `write()` wakes all tasks that poll the gate, and
    /// holds the lock of their wait queue meanwhile (`__wake_up()`, kernel/sched/wait.c). From 4.14 to 6.6 the lock is dropped after
    /// each 64 tasks, where kernels with `CONFIG_PREEMPT` can reschedule, which is not modelled.
    pub fn is_opened_by(&self, task: TaskIx) -> bool {
        self.stage == Stage::Opening && task == self.main
    }
}

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// Start the main task on the first of its CPUs.
    pub(crate) fn boot(&mut self) {
        let main = self.new_task(NOBODY, NOBODY, (Script::Main, Cursor::of_nothing()), Action::AwaitReady);
        self.tasks[main].phase = crate::tasks::Phase::Next;
        self.gate.main = main;
        self.numa.born(main, None, self.time.now);
        self.tasks[main].mm = self.physics.tlbs.new_space();
        self.gate.live = self.world.plan.awaited_tasks();
        // Programs that a shell starts wait for no signal.
        let mut awaited = self.world.plan.program().groups.iter().filter(|group| !group.background);
        if awaited.all(TaskGroup::started_by_exec) {
            self.gate.opened_at = Some(0);
        }
        if P::TICKS_WHEN_IDLE {
            (0..self.cpus.len()).for_each(|cpu| self.rekey(cpu));
        }
        let first = self.tasks.allowed(main).lowest().unwrap_or(0);
        self.report_birth(0, first, main, None);
        self.activate_task(first, main, crate::sched::Enqueue::New);
        self.start_idle_at(first, 0);
        self.start_vmstat();
        self.start_disturbances();
    }

    /// Next action of the main task.
    pub(super) fn next_of_main(&mut self) -> Action {
        let total = self.world.plan.task_count();
        match self.gate.stage {
            Stage::Creating if self.gate.created < total => {
                let plan = self.world.plan;
                let after_ns = plan.group(plan.task(self.gate.created)).disturbs_after_ns;
                if let Some(ns) = after_ns.filter(|_| !self.gate.paused) {
                    self.gate.paused = true;
                    return Action::Step(Step::Sleep { ns });
                }
                self.gate.created += 1;
                Action::Create(self.gate.created - 1)
            }
            Stage::Creating => {
                self.gate.stage = Stage::Waiting;
                Action::AwaitReady
            }
            Stage::Waiting => {
                self.gate.stage = Stage::Opening;
                Action::Open
            }
            Stage::Opening => {
                self.gate.stage = Stage::Reaping;
                Action::Reap
            }
            Stage::Reaping | Stage::Done => {
                self.gate.stage = Stage::Done;
                Action::Exit
            }
        }
    }

    /// Cost of reading or writing one byte of the gate's signals.
    fn signal_cost(&self) -> Ns {
        let protocol = match self.world.plan.program().gate.kind {
            GateKind::Pipe => self.costs.pipe,
            GateKind::Unix => self.costs.unix,
            GateKind::Tcp => self.costs.tcp_send,
        };
        Ns::from(self.costs.syscall + protocol)
    }

    /// Segment in which a task touches the pages of its sample buffers (shared memory in `schedload`) and reports that it is
    /// ready. The report, a few hundred ns, is on the account of the pages.
    fn preparation(&mut self, task: TaskIx) -> Segment {
        let ordinal = self.tasks[task].ordinal as usize;
        let pages = self.world.buffer_pages.get(ordinal).copied().unwrap_or(0);
        self.records.counters.page_faults += u64::from(pages);
        let account = if pages > 0 { Account::Fault } else { Account::Syscall };
        Segment::new(account, Ns::from(pages) * Ns::from(self.costs.shared_fault) + self.signal_cost())
    }

    pub(super) fn begin_gate(&mut self, cpu: usize, task: TaskIx, early: bool) -> Progress {
        let total = self.world.plan.task_count();
        match self.tasks[task].action {
            Action::Start => self.begin_exec(cpu, task, early),
            Action::Launch => Progress::Segment(self.process_segment(cpu, self.costs.fork)),
            Action::Ready => Progress::Segment(self.preparation(task)),
            Action::Create(ordinal) => {
                let plan = self.world.plan;
                let thread = plan.group(plan.task(ordinal)).mode == Mode::Thread;
                let cost = if thread { self.costs.clone } else { self.costs.fork };
                Progress::Segment(Segment::new(Account::Family, cost.into()))
            }
            Action::Open => {
                if self.world.plan.program().gate.fifo {
                    self.set_class(cpu, Class::Fifo(1));
                }
                Progress::Segment(Segment::new(Account::Syscall, self.signal_cost()))
            }
            _ if early => Progress::Later,
            Action::Pass => {
                self.book(cpu, Account::Syscall, self.costs.syscall);
                if self.gate.opened_at.is_some() {
                    return Progress::Done;
                }
                self.gate.waiters.push(&mut self.tasks, task);
                Progress::Served
            }
            Action::AwaitReady if self.gate.ready < total => self.main_waits(cpu),
            Action::AwaitReady => {
                // The main task reads one byte per task.
                let cost = self.signal_cost() * Ns::from(total);
                Progress::Segment(Segment::new(Account::Syscall, cost))
            }
            Action::Reap => {
                let reaped = std::mem::take(&mut self.gate.unreaped);
                self.book(cpu, Account::Family, Ns::from(reaped) * Ns::from(self.costs.wait));
                if self.gate.live > 0 {
                    return self.main_waits(cpu);
                }
                self.gate.closed_at = Some(self.cpus[cpu].clock);
                Progress::Done
            }
            _ => unreachable!("the gate handles no other action"),
        }
    }

    fn main_waits(&mut self, cpu: usize) -> Progress {
        self.book(cpu, Account::Syscall, self.costs.syscall);
        self.gate.main_waits = true;
        Progress::Again
    }

    /// Wake the main task if it waits: `sync` if the waker will probably sleep soon.
    fn wake_main(&mut self, cpu: usize, sync: bool) {
        if self.gate.main_waits && self.tasks[self.gate.main].state == State::Blocked {
            self.gate.main_waits = false;
            self.try_to_wake_up(cpu, self.gate.main, sync);
        }
    }

    /// Whether a write to the gate wakes as a write of a message does.
    fn signals_sync(&self) -> bool {
        P::wakes_sync(self.world.plan.program().gate.kind == GateKind::Pipe, false)
    }

    pub(super) fn effect_gate(&mut self, cpu: usize, task: TaskIx) -> Progress {
        match self.tasks[task].action {
            Action::Start if self.tasks[task].is_child => self.effect_exec(task, Action::Launch),
            Action::Start => self.effect_exec(task, Action::Ready),
            Action::Launch => self.effect_launch(cpu, task),
            Action::Ready => {
                self.gate.ready += 1;
                if self.gate.ready == self.world.plan.task_count() {
                    self.wake_main(cpu, self.signals_sync());
                }
                self.tasks[task].action = Action::Pass;
                Progress::Repeat
            }
            Action::Create(ordinal) => {
                self.create(cpu, ordinal);
                Progress::Done
            }
            Action::Open => {
                self.gate.opened_at.get_or_insert(self.cpus[cpu].clock);
                let sync = self.signals_sync();
                for _ in 0..BATCH {
                    let Some(waiter) = self.gate.waiters.pop(&self.tasks) else { return Progress::Done };
                    self.try_to_wake_up(cpu, waiter, sync);
                }
                Progress::Segment(Segment::EMPTY)
            }
            _ => Progress::Done,
        }
    }

    /// Account the end of a task of the program, and wake the main task if it waits for this end.
    pub(super) fn leave_gate(&mut self, cpu: usize, thread: bool) {
        self.gate.live -= 1;
        self.gate.unreaped += u32::from(!thread);
        // The main task joins all threads together at the end.
        if self.gate.stage == Stage::Reaping && (!thread || self.gate.live == 0) {
            // The end of a thread is a wake-up by futex.
            self.wake_main(cpu, P::EXIT_WAKES_SYNC && !thread);
        }
    }
}
