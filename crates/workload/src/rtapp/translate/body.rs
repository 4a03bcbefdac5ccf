//! Bodies of threads.

use std::collections::BTreeSet;

use super::super::document::{Access, Document, Event, Kind, MemRun, Phase, Task};
use super::super::error::RtAppError;
use super::super::measures::{Measures, PERIOD_SLOT};
use super::names::{BUFFER, Names, refuse, region_name, timer_name};
use crate::program::{
    Attributes, Expr, Op, Pattern, Repeat, at, compute, down, fork, stamp, times, up, wait_all,
};

/// The file of `iorun` events.
pub const DEVICE: &str = "io_device";

/// Part of a `runtime` event between two readings of the clock, in nanoseconds, as in rt-app.
const RUNTIME_PART_NS: u64 = 32_000;

/// Distance of the accesses of a `mem` event: an access for each cache line of 64 bytes.
const LINE: u32 = 64;

/// Most operations of a program. Forked bodies are repeated at each fork.
const MOST_OPERATIONS: usize = 1 << 17;

/// Body of a thread that starts with the run.
pub fn of_task(
    document: &Document,
    task: &Task,
    names: &mut Names,
    measures: &mut Measures,
) -> Result<Vec<Op>, RtAppError> {
    let mut writer = Writer { document, names, measures, operations: 0, ancestors: Vec::new() };
    writer.task(task)
}

struct Writer<'a> {
    document: &'a Document,
    names: &'a Names,
    measures: &'a mut Measures,
    operations: usize,
    /// Names of the thread objects whose bodies contain this body.
    ancestors: Vec<&'a str>,
}

impl<'a> Writer<'a> {
    fn forked(&self) -> bool {
        self.ancestors.len() > 1
    }

    fn task(&mut self, task: &'a Task) -> Result<Vec<Op>, RtAppError> {
        self.ancestors.push(&task.name);
        let mut body = Vec::new();
        if task.delay_ns > 0 {
            body.push(Op::Sleep { ns: task.delay_ns.into() });
        }
        body.extend(set(&task.attributes));
        body.extend(starts(task));
        let mut locked = BTreeSet::new();
        let mut phases = Vec::new();
        for phase in &task.phases {
            phases.extend(self.phase(task, phase, &mut locked)?);
        }
        body.extend(looped(task.loops, phases));
        if super::has(task, |kind| matches!(kind, Kind::Fork(_))) {
            body.push(wait_all());
        }
        self.ancestors.pop();
        Ok(body)
    }

    fn phase(
        &mut self,
        task: &'a Task,
        phase: &'a Phase,
        locked: &mut BTreeSet<String>,
    ) -> Result<Vec<Op>, RtAppError> {
        let mut ops: Vec<Op> = set(&phase.attributes).into_iter().collect();
        if !self.forked() {
            ops.push(stamp(PERIOD_SLOT));
        }
        let mut body = Vec::new();
        for event in &phase.events {
            body.extend(self.event(task, event, locked)?);
            self.operations += 1;
            if self.operations > MOST_OPERATIONS {
                return refuse(
                    event,
                    format!("forks make more than {MOST_OPERATIONS} events of the document"),
                );
            }
        }
        body.extend(self.measures.iteration(task, self.forked()));
        ops.extend(looped(phase.loops, body));
        Ok(ops)
    }

    fn event(
        &mut self,
        task: &'a Task,
        event: &'a Event,
        locked: &mut BTreeSet<String>,
    ) -> Result<Vec<Op>, RtAppError> {
        let lock = |name: &str| Op::Lock { lock: name.into() };
        let unlock = |name: &str| Op::Unlock { lock: name.into() };
        let signal = |name: &str, all| Op::Signal { condition: name.into(), all };
        let wait = |condition: &str, lock: &str| Op::Await { condition: condition.into(), lock: lock.into() };
        let forked = self.forked();
        Ok(match &event.kind {
            Kind::Run(ns) => self.measures.run(task, *ns, forked, compute(*ns)),
            Kind::Runtime(ns) => {
                let part = RUNTIME_PART_NS.min(*ns).max(1);
                let run = Op::Loop { repeat: Repeat::ForNs((*ns).into()), body: vec![compute(part)] };
                self.measures.run(task, *ns, forked, run)
            }
            Kind::Sleep(ns) => vec![Op::Sleep { ns: (*ns).into() }],
            Kind::Mem(bytes) => vec![touch(BUFFER, *bytes, LINE, Pattern::Sequential, true)],
            Kind::MemRun(run) => vec![memory(run)],
            Kind::IoRun(bytes) => self.output(*bytes),
            Kind::Lock(name) => {
                locked.insert(name.clone());
                vec![lock(name)]
            }
            Kind::Unlock(name) => {
                locked.remove(name);
                vec![unlock(name)]
            }
            Kind::Wait { condition, mutex } => {
                if !locked.contains(mutex) {
                    return refuse(event, format!("the mutex `{mutex}` has to be locked before the wait"));
                }
                vec![wait(condition, mutex)]
            }
            Kind::Sync { condition, mutex } => {
                let both = vec![signal(condition, false), wait(condition, mutex)];
                if locked.contains(mutex) {
                    both
                } else {
                    [vec![lock(mutex)], both, vec![unlock(mutex)]].concat()
                }
            }
            Kind::Signal(name) => vec![signal(name, false)],
            Kind::Broadcast(name) => vec![signal(name, true)],
            Kind::Barrier(name) => vec![Op::Barrier { barrier: name.as_str().into() }],
            Kind::Timer { reference, period_ns, .. } => {
                let timer = timer_name(task, reference);
                let mode = self.names.mode(&timer);
                let (slack, latency, missed) = self.measures.timer(task);
                vec![Op::Timer { timer, period_ns: (*period_ns).into(), mode, slack, latency, missed }]
            }
            Kind::Suspend => vec![lock(&task.name), wait(&task.name, &task.name), unlock(&task.name)],
            Kind::Resume(name) => vec![lock(name), signal(name, true), unlock(name)],
            Kind::SemPost(name) => vec![up(name.as_str(), 1u64)],
            Kind::SemWait(name) => vec![down(name.as_str())],
            Kind::Yield => vec![Op::Yield],
            Kind::Fork(name) => vec![fork(self.child(event, name)?)],
        })
    }

    /// Operations that each write at most the size of rt-app's buffer.
    fn output(&self, bytes: u64) -> Vec<Op> {
        let buffer = self.document.global.mem_buffer_bytes;
        let write = |bytes: u64| Op::Write { file: DEVICE.into(), bytes: bytes.into() };
        let mut ops = Vec::new();
        if bytes / buffer > 0 {
            ops.push(times(bytes / buffer, vec![write(buffer)]));
        }
        if !bytes.is_multiple_of(buffer) {
            ops.push(write(bytes % buffer));
        }
        ops
    }

    fn child(&mut self, event: &Event, name: &str) -> Result<Vec<Op>, RtAppError> {
        if self.ancestors.contains(&name) {
            return refuse(event, format!("endless forks: `{name}` forks itself"));
        }
        let document = self.document;
        match document.tasks.iter().find(|task| task.name == name) {
            Some(task) => self.task(task),
            None => refuse(event, format!("there is no thread `{name}` in `tasks`")),
        }
    }
}

fn set(attributes: &Attributes) -> Option<Op> {
    (!attributes.is_empty()).then(|| Op::Set { attributes: attributes.clone() })
}

/// Start all timers of a thread.
fn starts(task: &Task) -> Vec<Op> {
    let events = task.phases.iter().flat_map(|phase| &phase.events);
    let timers: BTreeSet<String> = events
        .filter_map(|event| match &event.kind {
            Kind::Timer { reference, .. } => Some(timer_name(task, reference)),
            _ => None,
        })
        .collect();
    timers.into_iter().map(|timer| Op::Start { timer }).collect()
}

/// Repeat a body `count` times, or without end.
fn looped(count: Option<u64>, body: Vec<Op>) -> Vec<Op> {
    match count {
        Some(1) => body,
        count => vec![times(count.unwrap_or(u64::MAX), body)],
    }
}

fn memory(run: &MemRun) -> Op {
    let region = region_name(run);
    match run.access {
        Access::Read => touch(&region, run.count, 1, Pattern::Sequential, false),
        Access::Write => touch(&region, run.count, 1, Pattern::Sequential, true),
        Access::Chase { stride, random } => {
            let pattern = if random { Pattern::Random } else { Pattern::Sequential };
            touch(&region, run.count.saturating_mul(stride.into()), stride, pattern, false)
        }
    }
}

fn touch(region: &str, bytes: u64, stride: u32, pattern: Pattern, write: bool) -> Op {
    Op::Touch {
        region: at(region, 0u64),
        offset: Expr::Const(0),
        bytes: bytes.into(),
        stride,
        pattern,
        write,
    }
}
