//! From nested operations to a flat list of instructions.

use super::instruction::{Arm, Choice, Instruction, Limit, Receive, Run, Touch, Watch};
use super::value::{Base, Identity, Value, fold};
use crate::plan::{Numbering, Plan, TaskId};
use crate::program::{Attributes, Expr, Image, Op, Ref, Repeat, Resource, Take};

/// The body of one task, flattened, with all constants of the task folded.
#[derive(Debug, Clone, Default)]
pub struct Code {
    pub(super) instructions: Vec<Instruction>,
    pub(super) commands: Vec<Vec<String>>,
    pub(super) attributes: Vec<Attributes>,
    pub(super) timers: usize,
    pub(super) task: TaskId,
    pub(super) seed: u64,
}

impl Code {
    /// Flatten the body of `task`.
    pub fn new(plan: &Plan, task: TaskId) -> Self {
        Self::flattened(plan, task, false)
    }

    /// Flatten the body of `task` for the task's place in all replicas: numbers that are linear in the number of the replica,
    /// such as those of channels outside of loops, are computed at run time. Their steps are delivered a little later than those
    /// of [`Code::new`], but the replicas' code stays in the caches of a simulator.
    pub fn of_replicas(plan: &Plan, task: TaskId) -> Self {
        Self::flattened(plan, task, plan.program().replicas > 1)
    }

    fn flattened(plan: &Plan, task: TaskId, any_replica: bool) -> Self {
        let identity = Identity { task: task.index.into(), replica: task.replica.into(), any_replica };
        let mut flattener = Flattener {
            plan,
            task,
            identity,
            instructions: Vec::new(),
            commands: Vec::new(),
            attributes: Vec::new(),
        };
        flattener.body(&plan.group(task).body);
        flattener.instructions.push(Instruction::End);
        let Flattener { instructions, commands, attributes, .. } = flattener;
        let timed = instructions
            .iter()
            .any(|instruction| matches!(instruction, Instruction::Start(_) | Instruction::Arm(_)));
        let timers = if timed { plan.program().resources.timers.len() } else { 0 };
        Self { instructions, commands, attributes, timers, task, seed: plan.program().seed }
    }

    /// Whether both tasks take the same steps except for random draws and for the effect of their replicas' numbers.
    pub fn has_steps_of(&self, other: &Self) -> bool {
        self.seed == other.seed
            && self.instructions == other.instructions
            && self.commands == other.commands
            && self.attributes == other.attributes
    }
}

struct Flattener<'a> {
    plan: &'a Plan,
    task: TaskId,
    identity: Identity,
    instructions: Vec<Instruction>,
    commands: Vec<Vec<String>>,
    attributes: Vec<Attributes>,
}

impl Flattener<'_> {
    fn body(&mut self, body: &[Op]) {
        body.iter().for_each(|op| self.op(op));
    }

    fn op(&mut self, op: &Op) {
        let r = &self.plan.program().resources;
        let instruction = match op {
            Op::Loop { repeat, body } => return self.repeat(repeat, body),
            Op::Choose { branches } => return self.choose(branches),
            Op::Fork { body } => return self.fork(body),
            Op::Compute { ns } => Instruction::Compute(self.fold(ns)),
            Op::Watch { ns, over_ns, longest, gaps, lost } => Instruction::Watch(Box::new(Watch {
                ns: self.fold(ns),
                over_ns: self.fold(over_ns),
                longest: self.series(longest),
                gaps: self.counter(gaps),
                lost: self.counter(lost),
            })),
            Op::Touch { region, offset, bytes, stride, pattern, write } => {
                Instruction::Touch(Box::new(Touch {
                    region: self.number(region, &r.regions, self.plan.regions()),
                    offset: self.fold(offset),
                    bytes: self.fold(bytes),
                    stride: *stride,
                    pattern: *pattern,
                    write: *write,
                }))
            }
            Op::Send { channel, bytes, direction } => Instruction::Send {
                channel: self.number(channel, &r.channels, self.plan.channels()),
                bytes: self.fold(bytes),
                direction: *direction,
            },
            Op::Receive { channel, bytes, direction, take, counter } => {
                Instruction::Receive(Box::new(Receive {
                    channel: self.number(channel, &r.channels, self.plan.channels()),
                    bytes: self.fold(bytes),
                    direction: *direction,
                    take: *take,
                    counter: counter.as_ref().map(|name| self.counter(name)),
                }))
            }
            Op::Lock { lock } => Instruction::Lock(self.number(lock, &r.locks, self.plan.locks())),
            Op::Unlock { lock } => Instruction::Unlock(self.number(lock, &r.locks, self.plan.locks())),
            Op::Up { semaphore, count } => Instruction::Up {
                semaphore: self.number(semaphore, &r.semaphores, self.plan.semaphores()),
                count: self.fold(count),
            },
            Op::Down { semaphore } => {
                Instruction::Down(self.number(semaphore, &r.semaphores, self.plan.semaphores()))
            }
            Op::Barrier { barrier } => {
                Instruction::Barrier(self.number(barrier, &r.barriers, self.plan.barriers()))
            }
            Op::Await { condition, lock } => Instruction::Await {
                condition: self.number(condition, &r.conditions, self.plan.conditions()),
                lock: self.number(lock, &r.locks, self.plan.locks()),
            },
            Op::Signal { condition, all } => Instruction::Signal {
                condition: self.number(condition, &r.conditions, self.plan.conditions()),
                all: *all,
            },
            Op::Sleep { ns } => Instruction::Sleep(self.fold(ns)),
            Op::Start { timer } => Instruction::Start(position(&r.timers, timer)),
            Op::Timer { timer, period_ns, mode, slack, latency, missed } => {
                self.instructions.push(Instruction::Arm(Box::new(Arm {
                    timer: position(&r.timers, timer),
                    period_ns: self.fold(period_ns),
                    mode: *mode,
                    slack: slack.as_ref().map(|name| self.series(name)),
                })));
                self.instructions.push(Instruction::Fire);
                Instruction::Late {
                    latency: latency.as_ref().map(|name| self.series(name)),
                    missed: missed.as_ref().map(|name| self.counter(name)),
                }
            }
            Op::Write { file, bytes } => Instruction::Write {
                file: self.number(file, &r.files, self.plan.files()),
                bytes: self.fold(bytes),
            },
            Op::Set { attributes } => {
                self.attributes.push(attributes.clone());
                Instruction::Set(self.attributes.len() as u32 - 1)
            }
            Op::Finish => Instruction::Finish,
            Op::Yield => Instruction::Yield,
            Op::Wait { count } => Instruction::Wait(count.as_ref().map(|count| self.fold(count))),
            Op::Exec { image: Image::Work { ns, bytes, files } } => {
                Instruction::ExecWork(Box::new([self.fold(ns), self.fold(bytes), self.fold(files)]))
            }
            Op::Exec { image: Image::Command { argv, model_ns, model } } => {
                return self.command(argv, *model_ns, model);
            }
            Op::Stamp { slot } => Instruction::Stamp(self.slot(slot)),
            Op::Record { slot, series } => {
                Instruction::Record { slot: self.slot(slot), series: self.series(series) }
            }
            Op::Lap { slot, series } => {
                Instruction::Lap { slot: self.slot(slot), series: self.series(series) }
            }
            Op::Count { counter, by } => {
                Instruction::Count { counter: self.counter(counter), by: self.fold(by) }
            }
        };
        self.instructions.push(instruction);
    }

    fn repeat(&mut self, repeat: &Repeat, body: &[Op]) {
        let limit = match repeat {
            Repeat::Count(count) => Limit::Count(self.fold(count)),
            Repeat::ForNs(ns) => Limit::ForNs(self.fold(ns)),
            Repeat::Window => Limit::Window,
            Repeat::UntilClosed => Limit::UntilClosed,
            Repeat::With(value) => Limit::With(self.fold(value)),
        };
        let enter = self.instructions.len();
        self.instructions.push(Instruction::Jump(0));
        self.body(body);
        if let Some(run) = burst(&limit, &self.instructions[enter + 1..]) {
            self.instructions.truncate(enter);
            self.instructions.push(Instruction::Run(Box::new(run)));
            return;
        }
        self.instructions.push(Instruction::Again { body: enter + 1 });
        self.instructions[enter] = Instruction::Enter { limit, exit: self.instructions.len() };
    }

    fn choose(&mut self, branches: &[crate::program::Branch]) {
        let choose = self.instructions.len();
        self.instructions.push(Instruction::Jump(0));
        let (mut targets, mut jumps, mut total) = (Vec::new(), Vec::new(), 0);
        for branch in branches {
            total += u64::from(branch.weight);
            targets.push((total, self.instructions.len()));
            self.body(&branch.body);
            jumps.push(self.instructions.len());
            self.instructions.push(Instruction::Jump(0));
        }
        let after = self.instructions.len();
        for jump in jumps {
            self.instructions[jump] = Instruction::Jump(after);
        }
        self.instructions[choose] = Instruction::Choose(Box::new(Choice { total, branches: targets }));
    }

    fn fork(&mut self, body: &[Op]) {
        let fork = self.instructions.len();
        self.instructions.push(Instruction::Jump(0));
        self.body(body);
        self.instructions.push(Instruction::End);
        self.instructions[fork] = Instruction::Fork { after: self.instructions.len() };
    }

    /// A command, and its model, which only a simulator reaches.
    fn command(&mut self, argv: &[String], model_ns: u64, model: &[Op]) {
        self.commands.push(argv.to_vec());
        self.instructions.push(Instruction::ExecCommand(self.commands.len() as u32 - 1));
        self.body(model);
        if model_ns > 0 {
            self.op(&Op::Compute { ns: model_ns.into() });
        }
        self.instructions.push(Instruction::End);
    }

    fn fold(&self, expr: &Expr) -> Value {
        fold(expr, self.identity, Base::default())
    }

    fn number<R: Resource>(&self, reference: &Ref, defined: &[R], numbering: &Numbering) -> Value {
        let position = defined.iter().position(|each| each.name() == reference.name);
        let position = position.expect("a plan's references have been checked");
        let [first, second] =
            [0, 1].map(|replica| numbering.instance(position, self.plan.in_replica(self.task, replica), 0));
        let base = Base { first: first.into(), step: (second - first).into() };
        fold(&reference.index, self.identity, base)
    }

    fn slot(&self, slot: &Ref) -> Value {
        self.number(slot, &self.plan.program().resources.slots, self.plan.slots())
    }

    fn counter(&self, name: &str) -> u32 {
        position(&self.plan.program().counters, name)
    }

    fn series(&self, name: &str) -> u32 {
        position(&self.plan.program().series, name)
    }
}

/// The loop as a burst, if possible: its limit is a count or the end of a stream, its body is a single message, and only
/// the message's channel number varies, by a constant step.
fn burst(limit: &Limit, body: &[Instruction]) -> Option<Run> {
    let (sends, channel, bytes, direction, take, counter) = match body {
        [Instruction::Send { channel, bytes, direction }] => {
            (true, channel, bytes, *direction, Take::Read, None)
        }
        [Instruction::Receive(receive)] => {
            let Receive { channel, bytes, direction, take, counter } = &**receive;
            (false, channel, bytes, *direction, *take, *counter)
        }
        _ => return None,
    };
    let (channel, stride) = match channel {
        Value::Affine { depth: 0, mul, add } => (Value::Const(*add), *mul),
        other => (other.outside_loop()?, 0),
    };
    let count = match limit {
        Limit::Count(count) => Some(count.clone()),
        Limit::UntilClosed => None,
        Limit::ForNs(_) | Limit::Window | Limit::With(_) => return None,
    };
    let bytes = bytes.outside_loop()?;
    Some(Run { sends, channel, stride, bytes, direction, take, counter, count })
}

fn position(names: &[String], name: &str) -> u32 {
    names.iter().position(|each| each == name).expect("a plan's names have been checked") as u32
}
