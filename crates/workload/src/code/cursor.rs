//! Reader of the code of a task.

use std::sync::LazyLock;

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::flatten::Code;
use super::instruction::{Arm, Instruction, Limit};
use super::place::{Burst, Finish, Frame};
use super::step::{Frequent, Step, Work};
use super::value::{Value, evaluate, simple, uniform};
use crate::check::MAX_LOOPS;
use crate::plan::TaskId;
use crate::program::{Attributes, TimerMode};

/// Reader of a task's code, step by step.
///
/// Times are nanoseconds since the opening of the gate. The cursor reads the time only at loops that end by time, so a
/// program without such loops has the same steps at all times.
///
/// Fields are in the order of their use: the fields that a program with one loop reads at each step share a cache line.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub struct Cursor<'c> {
    code: &'c Code,
    position: u32,
    depth: u32,
    rng: Pcg64Mcg,
    /// Remaining messages of `burst`.
    left: u64,
    loops: [Frame; MAX_LOOPS],
    burst: Burst,
    window_end_ns: u64,
    children: u64,
    ordinal: u32,
    replica: u32,
    entry: u32,
    /// For each timer, the beginning of its present period.
    timers: Box<[u64]>,
    /// End of the period that the task waits for, unless the end has passed.
    armed: Option<u64>,
}

impl<'c> Cursor<'c> {
    /// Cursor at the beginning of `code`. Window loops end at `window_end_ns` ([`crate::program::Window::end_ns`]), which a
    /// program without a window ignores.
    pub fn new(code: &'c Code, window_end_ns: u64) -> Self {
        Self::of_task(code, code.task, window_end_ns)
    }

    /// Like [`Cursor::new`], for a task whose code has the [same steps](Code::has_steps_of). Executors of many tasks keep
    /// one code for all such tasks.
    pub fn of_task(code: &'c Code, task: TaskId, window_end_ns: u64) -> Self {
        let rng = generator(code.seed, task.ordinal.into(), 0);
        Self {
            code,
            position: 0,
            depth: 0,
            rng,
            left: 0,
            loops: [Frame::EMPTY; MAX_LOOPS],
            burst: Burst::default(),
            window_end_ns,
            children: 0,
            ordinal: task.ordinal,
            replica: task.replica,
            entry: 0,
            timers: vec![0; code.timers].into_boxed_slice(),
            armed: None,
        }
    }

    /// Cursor without code, for table entries of tasks that run no program.
    pub fn of_nothing() -> Self {
        static NOTHING: LazyLock<Code> = LazyLock::new(Code::default);
        Self::new(&NOTHING, 0)
    }

    /// The next step. `now_ns` returns the time when a loop needs it. After [`Step::End`] every step is `End`.
    #[inline]
    pub fn next(&mut self, mut now_ns: impl FnMut() -> u64) -> Step {
        loop {
            if let Some(step) = self.frequent(&mut now_ns) {
                return step.into();
            }
            if let Some(step) = self.rare(&mut now_ns) {
                return step;
            }
        }
    }

    /// The next step if the step is of a frequent kind; `None` leaves the step to [`Cursor::rare`]. A
    /// simulator spends as much time on the delivery of a step as on its execution: the three kinds need no
    /// jump table and no store to memory.
    #[inline]
    pub fn frequent(&mut self, now_ns: &mut impl FnMut() -> u64) -> Option<Frequent> {
        if self.left > 0 {
            return None;
        }
        let code = self.code;
        // No loop over instructions: the compiler would load all data for the loop's end before the loop.
        if let Instruction::Again { body } = &code.instructions[self.position as usize] {
            self.position += 1;
            self.again(*body, now_ns);
        }
        let step = match &code.instructions[self.position as usize] {
            Instruction::Compute(ns) => Frequent::Compute { ns: self.value(ns) },
            Instruction::Sleep(ns) => Frequent::Sleep { ns: self.value(ns) },
            Instruction::Count { counter, by } => Frequent::Count { counter: *counter, by: self.value(by) },
            _ => return None,
        };
        self.position += 1;
        Some(step)
    }

    /// The next step after [`Cursor::frequent`] returned `None`; `None` if only the place in the code has changed.
    #[inline(never)]
    pub fn rare(&mut self, now_ns: &mut impl FnMut() -> u64) -> Option<Step> {
        if self.left > 0 {
            self.left -= 1;
            return Some(self.burst.next());
        }
        let here = self.position as usize;
        self.position += 1;
        let code = self.code;
        self.other(&code.instructions[here], here, now_ns)
    }

    /// Number of messages that directly follow the last step's message and are equal to it, and the distance of their channel
    /// numbers. The caller performs these messages without asking for steps. If the caller does not call this function,
    /// [`Cursor::next`] returns a step for each message.
    ///
    /// Executors that measure real time call this function: the native hackbench must cost as much as rt-tests' hackbench, a few
    /// instructions between two system calls, which run with the caches in the kernel's state.
    #[inline]
    pub fn more(&mut self) -> (u64, u32) {
        (std::mem::take(&mut self.left), self.burst.stride)
    }

    /// Perform any instruction except the end of a loop; `None` if the instruction yields no step.
    fn other(
        &mut self,
        instruction: &'c Instruction,
        here: usize,
        now_ns: &mut impl FnMut() -> u64,
    ) -> Option<Step> {
        Some(match instruction {
            Instruction::Enter { limit, exit } => {
                self.enter(limit, *exit, now_ns);
                return None;
            }
            Instruction::Again { body } => {
                self.again(*body, now_ns);
                return None;
            }
            Instruction::Compute(_) | Instruction::Sleep(_) | Instruction::Count { .. } => {
                unreachable!("`frequent` returns these steps")
            }
            Instruction::Run(run) => {
                let left = run.count.as_ref().map_or(u64::MAX, |count| self.value(count));
                if left == 0 {
                    return None;
                }
                self.left = left - 1;
                self.burst = Burst {
                    sends: run.sends,
                    until_closed: run.count.is_none(),
                    channel: self.number(&run.channel),
                    stride: run.stride,
                    bytes: self.value(&run.bytes),
                    direction: run.direction,
                    take: run.take,
                    counter: run.counter,
                };
                self.burst.next()
            }
            Instruction::Send { channel, bytes, direction } => {
                let (channel, bytes) = (self.number(channel), self.value(bytes));
                Step::Send { channel, bytes, direction: *direction }
            }
            Instruction::Receive(receive) => Step::Receive {
                channel: self.number(&receive.channel),
                bytes: self.value(&receive.bytes),
                direction: receive.direction,
                take: receive.take,
                counter: receive.counter,
            },
            Instruction::Jump(target) => {
                self.position = *target as u32;
                return None;
            }
            Instruction::Choose(choice) => {
                let drawn = uniform(&mut self.rng, choice.total);
                let branch = choice.branches.partition_point(|(upto, _)| *upto <= drawn);
                self.position = choice.branches[branch].1 as u32;
                return None;
            }
            Instruction::Fork { after } => {
                (self.entry, self.position) = (here as u32 + 1, *after as u32);
                self.children += 1;
                Step::Fork
            }
            Instruction::End => {
                self.position = here as u32;
                Step::End
            }
            Instruction::Yield => Step::Yield,
            Instruction::Watch(watch) => Step::Watch {
                ns: self.value(&watch.ns),
                over_ns: self.value(&watch.over_ns),
                longest: watch.longest,
                gaps: watch.gaps,
                lost: watch.lost,
            },
            Instruction::Await { condition, lock } => {
                Step::Await { condition: self.number(condition), lock: self.number(lock) }
            }
            Instruction::Signal { condition, all } => {
                Step::Signal { condition: self.number(condition), all: *all }
            }
            Instruction::Start(timer) => {
                self.timers[*timer as usize] = now_ns();
                return None;
            }
            Instruction::Arm(arm) => {
                let slack = self.arm(arm, now_ns());
                return arm.slack.map(|series| Step::Observe { series, ns: slack });
            }
            Instruction::Fire => return self.armed.map(|at_ns| Step::Until { at_ns }),
            Instruction::Late { latency, missed } => {
                return match self.armed.take() {
                    Some(end) => {
                        latency.map(|series| Step::Observe { series, ns: now_ns().saturating_sub(end) })
                    }
                    None => missed.map(|counter| Step::Count { counter, by: 1 }),
                };
            }
            Instruction::Write { file, bytes } => {
                Step::Write { file: self.number(file), bytes: self.value(bytes) }
            }
            Instruction::Set(number) => Step::Set(*number),
            Instruction::Finish => Step::Finish,
            Instruction::Lock(lock) => Step::Lock(self.number(lock)),
            Instruction::Unlock(lock) => Step::Unlock(self.number(lock)),
            Instruction::Up { semaphore, count } => {
                Step::Up { semaphore: self.number(semaphore), count: self.value(count) }
            }
            Instruction::Down(semaphore) => Step::Down(self.number(semaphore)),
            Instruction::Barrier(barrier) => Step::Barrier(self.number(barrier)),
            Instruction::Stamp(slot) => Step::Stamp(self.number(slot)),
            Instruction::Record { slot, series } => Step::Record { slot: self.number(slot), series: *series },
            Instruction::Lap { slot, series } => Step::Lap { slot: self.number(slot), series: *series },
            Instruction::Wait(count) => Step::Wait { count: count.as_ref().map(|count| self.value(count)) },
            Instruction::ExecWork(work) => {
                let [ns, bytes, files] = &**work;
                Step::ExecWork(Work {
                    ns: self.value(ns),
                    bytes: self.value(bytes),
                    files: self.value(files),
                })
            }
            Instruction::ExecCommand(number) => Step::ExecCommand(*number),
            Instruction::Touch(touch) => Step::Touch {
                region: self.number(&touch.region),
                offset: self.value(&touch.offset),
                bytes: self.value(&touch.bytes),
                stride: touch.stride,
                pattern: touch.pattern,
                write: touch.write,
                seed: self.rng.next_u64(),
            },
        })
    }

    /// Report that the last receive met the end of its stream. Return whether an enclosing loop ends as a result. If not,
    /// the end of the stream is an error.
    #[must_use]
    pub fn closed(&mut self) -> bool {
        let burst = std::mem::take(&mut self.burst);
        self.left = 0;
        if burst.until_closed {
            return true;
        }
        let running = &self.loops[..self.depth as usize];
        let Some(depth) = running.iter().rposition(|frame| frame.by == Finish::Closed) else {
            return false;
        };
        self.position = self.loops[depth].exit;
        self.depth = depth as u32;
        true
    }

    /// Cursor of the child that the last [`Step::Fork`] starts: at the child's body, with the parent's loop indices and
    /// a separate random number generator.
    pub fn child(&self) -> Self {
        let mut child = self.clone();
        child.position = self.entry;
        child.children = 0;
        // Each child's sequence differs from its parent's and from its siblings'.
        child.rng = generator(self.rng.clone().next_u64(), self.ordinal.into(), self.children);
        child
    }

    /// Arguments of the command with this number. The steps that follow [`Step::ExecCommand`] are the command's model.
    pub fn command(&self, number: u32) -> &'c [String] {
        &self.code.commands[number as usize]
    }

    /// Attributes with this number.
    pub fn attributes(&self, number: u32) -> &'c Attributes {
        &self.code.attributes[number as usize]
    }

    /// Move a timer to its next period. Return the time left until then, 0 if the period's end has passed.
    fn arm(&mut self, arm: &Arm, now_ns: u64) -> u64 {
        let end = self.timers[arm.timer as usize].saturating_add(self.value(&arm.period_ns));
        let left = end.saturating_sub(now_ns);
        self.armed = (left > 0).then_some(end);
        let begin = if left == 0 && arm.mode == TimerMode::Relative { now_ns } else { end };
        self.timers[arm.timer as usize] = begin;
        left
    }

    fn enter(&mut self, limit: &Limit, exit: usize, now_ns: &mut impl FnMut() -> u64) {
        let (index, by, end) = match limit {
            Limit::Count(count) => (0, Finish::Count, self.value(count)),
            Limit::ForNs(ns) => (0, Finish::Time, now_ns().saturating_add(self.value(ns))),
            Limit::Window => (0, Finish::Time, self.window_end_ns),
            Limit::UntilClosed => (0, Finish::Closed, 0),
            Limit::With(value) => (self.value(value), Finish::Once, 0),
        };
        let runs = match by {
            Finish::Count => end > 0,
            Finish::Time => now_ns() < end,
            Finish::Closed | Finish::Once => true,
        };
        if runs {
            self.loops[self.depth as usize] = Frame { index, end, exit: exit as u32, by };
            self.depth += 1;
        } else {
            self.position = exit as u32;
        }
    }

    #[inline]
    fn again(&mut self, body: usize, now_ns: &mut impl FnMut() -> u64) {
        let frame = &mut self.loops[self.depth as usize - 1];
        frame.index = frame.index.wrapping_add(1);
        let runs = if frame.by == Finish::Time { now_ns() < frame.end } else { frame.runs_untimed() };
        if runs {
            self.position = body as u32;
        } else {
            self.depth -= 1;
        }
    }

    #[inline]
    fn value(&mut self, value: &Value) -> u64 {
        match simple(value, &mut self.rng) {
            Some(value) => value,
            None => self.value_in_loops(value),
        }
    }

    #[inline(never)]
    fn value_in_loops(&mut self, value: &Value) -> u64 {
        let (loops, innermost) = (&self.loops, (self.depth as usize).wrapping_sub(1));
        evaluate(value, self.replica, &|depth| loops[innermost - depth].index, &mut self.rng)
    }

    #[inline]
    fn number(&mut self, value: &Value) -> u32 {
        self.value(value) as u32
    }
}

/// The generator of a task, or of a task's child: PCG XSL 128/64 MCG (O'Neill, "PCG: A Family of Simple Fast
/// Space-Efficient Statistically Good Algorithms for Random Number Generation", 2014), seeded by the program's seed
/// and the task's identity.
fn generator(seed: u64, ordinal: u64, child: u64) -> Pcg64Mcg {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes[8..].copy_from_slice(&((child << 32) | ordinal).to_le_bytes());
    let mut rng = Pcg64Mcg::from_seed(bytes);
    // Nearby seeds give nearby first outputs of a multiplicative generator; a few rounds separate them.
    for _ in 0..8 {
        rng.next_u64();
    }
    rng
}
