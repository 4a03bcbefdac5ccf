//! A small executor in virtual time: one CPU, tasks in turn, a microsecond for each step. Tests use this
//! executor to check that programs end, count correctly, and have no deadlock.

use std::collections::{BTreeMap, VecDeque};

use schedlab_workload::check::ends::End;
use schedlab_workload::code::Code;
use schedlab_workload::program::{ChannelKind, Direction, Take};
use schedlab_workload::{Cursor, Plan, Program, Step, TaskId};

/// Counts and times of a run.
#[derive(Debug, Default)]
pub struct Books {
    /// Bytes sent and received, by channel and whether forward.
    pub traffic: BTreeMap<(u32, bool), (u64, u64)>,
    pub counters: Vec<u64>,
    pub samples: Vec<u64>,
    pub forks: u64,
    pub execs: u64,
    pub end_ns: u64,
}

/// Capacity of a stream (pipe(7)).
const CAPACITY: u64 = 65_536;

struct Task<'c> {
    id: TaskId,
    cursor: Cursor<'c>,
    pending: Option<Step>,
    progress: u64,
    wakes_ns: u64,
    parent: Option<usize>,
    children: u64,
    ended: u64,
    meeting: Option<u64>,
    awaiting: bool,
    done: bool,
}

struct World<'p> {
    plan: &'p Plan,
    now_ns: u64,
    streams: BTreeMap<(u32, bool), u64>,
    datagrams: BTreeMap<(u32, bool), VecDeque<u64>>,
    holders: BTreeMap<(u32, End), u32>,
    locks: BTreeMap<u32, bool>,
    conditions: BTreeMap<u32, VecDeque<usize>>,
    semaphores: BTreeMap<u32, u64>,
    meetings: BTreeMap<u32, (u32, u64)>,
    slots: BTreeMap<u32, u64>,
    finished: bool,
    books: Books,
}

/// Run a program to its end; panic if all tasks wait.
pub fn run(program: Program) -> Books {
    let plan = Plan::new(program).expect("the program is right");
    let codes: Vec<Code> = plan.tasks().map(|task| Code::new(&plan, task)).collect();
    let window_end = plan.program().window.map_or(0, |window| window.end_ns());
    let mut world = World::new(&plan);
    let mut tasks: Vec<Task<'_>> = plan
        .tasks()
        .map(|id| Task::new(id, Cursor::new(&codes[id.ordinal as usize], window_end), None))
        .collect();
    while !world.finished && tasks.iter().any(|task| !task.done) {
        let mut moved = false;
        for at in 0..tasks.len() {
            // A task runs several steps in a row, so that bursts and blocking both occur.
            for _ in 0..50 {
                if world.finished || tasks[at].done || !world.turn(&mut tasks, at) {
                    break;
                }
                moved = true;
            }
        }
        if !moved && !world.finished {
            let wakes = tasks.iter().filter(|task| !task.done).map(|task| task.wakes_ns);
            let next = wakes.filter(|ns| *ns > world.now_ns).min();
            world.now_ns = next.unwrap_or_else(|| panic!("nobody can go on: {:?}", waiting(&tasks)));
        }
    }
    assert!(world.finished || world.locks.values().all(|held| !held), "every lock has been released");
    world.books.end_ns = world.now_ns;
    world.books
}

fn waiting(tasks: &[Task<'_>]) -> Vec<(TaskId, Option<Step>)> {
    tasks.iter().filter(|task| !task.done).map(|task| (task.id, task.pending)).take(8).collect()
}

impl<'c> Task<'c> {
    fn new(id: TaskId, cursor: Cursor<'c>, parent: Option<usize>) -> Self {
        let (pending, meeting) = (None, None);
        Self {
            id,
            cursor,
            pending,
            progress: 0,
            wakes_ns: 0,
            parent,
            children: 0,
            ended: 0,
            meeting,
            awaiting: false,
            done: false,
        }
    }
}

impl<'p> World<'p> {
    fn new(plan: &'p Plan) -> Self {
        let initial = |semaphore| {
            plan.program().resources.semaphores[plan.semaphores().position(semaphore)].initial.into()
        };
        let mut holders = BTreeMap::new();
        for each in plan.tasks().flat_map(|task| plan.channel_ends(task)) {
            *holders.entry((each.channel, each.end)).or_insert(0) += 1;
        }
        Self {
            plan,
            now_ns: 0,
            streams: BTreeMap::new(),
            datagrams: BTreeMap::new(),
            holders,
            locks: BTreeMap::new(),
            conditions: BTreeMap::new(),
            semaphores: (0..plan.semaphores().total()).map(|each| (each, initial(each))).collect(),
            meetings: BTreeMap::new(),
            slots: BTreeMap::new(),
            finished: false,
            books: Books { counters: vec![0; plan.program().counters.len()], ..Books::default() },
        }
    }

    /// Perform the next step of a task if the task can run. Return whether it ran.
    fn turn<'c>(&mut self, tasks: &mut Vec<Task<'c>>, at: usize) -> bool {
        let task = &mut tasks[at];
        let now = self.now_ns;
        let step = task.pending.take().unwrap_or_else(|| task.cursor.next(|| now));
        if self.perform(tasks, at, step) {
            self.now_ns += 1000;
            tasks[at].progress = 0;
            return true;
        }
        tasks[at].pending = Some(step);
        false
    }

    fn perform<'c>(&mut self, tasks: &mut Vec<Task<'c>>, at: usize, step: Step) -> bool {
        match step {
            Step::End | Step::ExecWork(_) => self.end(tasks, at, step),
            Step::ExecCommand(_) => self.books.execs += 1,
            Step::Send { channel, bytes, direction } => {
                return self.send(&mut tasks[at], channel, bytes, direction);
            }
            Step::Receive { .. } => return self.receive(&mut tasks[at], step),
            Step::Compute { ns } => self.now_ns += ns,
            Step::Watch { ns, .. } => {
                self.now_ns += ns;
                self.books.samples.push(0);
            }
            Step::Touch { .. } | Step::Yield => {}
            Step::Lock(lock) => return !std::mem::replace(self.locks.entry(lock).or_default(), true),
            Step::Unlock(lock) => {
                assert_eq!(self.locks.insert(lock, false), Some(true), "only an acquired lock is released");
            }
            Step::Up { semaphore, count } => *self.semaphores.entry(semaphore).or_default() += count,
            Step::Down(semaphore) => {
                let value = self.semaphores.entry(semaphore).or_default();
                if *value == 0 {
                    return false;
                }
                *value -= 1;
            }
            Step::Barrier(barrier) => return self.meet(&mut tasks[at], barrier),
            Step::Await { condition, lock } => {
                let task = &mut tasks[at];
                if !task.awaiting {
                    task.awaiting = true;
                    assert_eq!(
                        self.locks.insert(lock, false),
                        Some(true),
                        "only an acquired lock is released"
                    );
                    self.conditions.entry(condition).or_default().push_back(at);
                }
                if self.conditions[&condition].contains(&at)
                    || std::mem::replace(self.locks.entry(lock).or_default(), true)
                {
                    return false;
                }
                task.awaiting = false;
            }
            Step::Signal { condition, all } => {
                let waiting = self.conditions.entry(condition).or_default();
                let woken = if all { waiting.len() } else { waiting.len().min(1) };
                waiting.drain(..woken);
            }
            Step::Until { at_ns } => {
                tasks[at].wakes_ns = if self.now_ns < at_ns { at_ns } else { 0 };
                return tasks[at].wakes_ns == 0;
            }
            Step::Write { .. } | Step::Set(_) => {}
            Step::Finish => self.finished = true,
            Step::Observe { ns, .. } => self.books.samples.push(ns),
            Step::Sleep { ns } => {
                let task = &mut tasks[at];
                if task.wakes_ns == 0 {
                    task.wakes_ns = self.now_ns + ns;
                }
                if self.now_ns < task.wakes_ns {
                    return false;
                }
                task.wakes_ns = 0;
            }
            Step::Fork => {
                let child = Task::new(tasks[at].id, tasks[at].cursor.child(), Some(at));
                tasks[at].children += 1;
                self.books.forks += 1;
                tasks.push(child);
            }
            Step::Wait { count } => {
                let task = &mut tasks[at];
                let wanted = count.unwrap_or(u64::MAX).min(task.children);
                if task.ended < wanted {
                    return false;
                }
                task.children -= wanted;
                task.ended -= wanted;
            }
            Step::Stamp(slot) => {
                self.slots.insert(slot, self.now_ns);
            }
            Step::Record { slot, .. } => self.record(slot),
            Step::Lap { slot, .. } => {
                self.record(slot);
                self.slots.insert(slot, self.now_ns);
            }
            Step::Count { counter, by } => self.count(counter, by),
        }
        true
    }

    fn end(&mut self, tasks: &mut [Task<'_>], at: usize, step: Step) {
        self.books.execs += u64::from(step != Step::End);
        self.now_ns += match step {
            Step::ExecWork(work) => work.ns,
            _ => 0,
        };
        tasks[at].done = true;
        match tasks[at].parent {
            Some(parent) => tasks[parent].ended += 1,
            None => {
                for each in self.plan.channel_ends(tasks[at].id) {
                    *self.holders.get_mut(&(each.channel, each.end)).expect("a used end") -= 1;
                }
            }
        }
    }

    fn kind(&self, channel: u32) -> ChannelKind {
        self.plan.program().resources.channels[self.plan.channels().position(channel)].kind
    }

    fn send(&mut self, task: &mut Task<'_>, channel: u32, bytes: u64, direction: Direction) -> bool {
        let way = (channel, direction == Direction::Forward);
        assert!(self.holders[&(channel, End::receiving(direction))] > 0, "somebody can still receive");
        if self.kind(channel) == ChannelKind::Udp {
            self.datagrams.entry(way).or_default().push_back(bytes);
            self.books.traffic.entry(way).or_default().0 += bytes;
            return true;
        }
        let queued = self.streams.entry(way).or_default();
        let part = (bytes - task.progress).min(CAPACITY - *queued);
        *queued += part;
        self.books.traffic.entry(way).or_default().0 += part;
        task.progress += part;
        task.progress == bytes
    }

    fn receive(&mut self, task: &mut Task<'_>, step: Step) -> bool {
        let Step::Receive { channel, bytes, direction, take, counter } = step else { unreachable!() };
        let way = (channel, direction == Direction::Forward);
        let datagram = self.kind(channel) == ChannelKind::Udp;
        let got = if datagram {
            self.datagrams.entry(way).or_default().pop_front().unwrap_or(0)
        } else {
            let queued = self.streams.entry(way).or_default();
            let part = (bytes - task.progress).min(*queued);
            *queued -= part;
            part
        };
        self.books.traffic.entry(way).or_default().1 += got;
        task.progress += got;
        if got == 0 && self.holders[&(channel, End::sending(direction))] == 0 {
            assert_eq!(task.progress, 0, "no stream ends in the middle of a message");
            assert!(task.cursor.closed(), "somebody waits for the end of the stream");
            return true;
        }
        let complete = if datagram || take == Take::Available { got > 0 } else { task.progress == bytes };
        if complete && let Some(counter) = counter {
            self.count(counter, task.progress);
        }
        complete
    }

    fn meet(&mut self, task: &mut Task<'_>, barrier: u32) -> bool {
        let barriers = &self.plan.program().resources.barriers;
        let parties = barriers[self.plan.barriers().position(barrier)].parties;
        let (arrived, generation) = self.meetings.entry(barrier).or_default();
        match task.meeting {
            None => {
                *arrived += 1;
                if *arrived == parties {
                    (*arrived, *generation) = (0, *generation + 1);
                    return true;
                }
                task.meeting = Some(*generation);
                false
            }
            Some(entered) if entered == *generation => false,
            Some(_) => {
                task.meeting = None;
                true
            }
        }
    }

    fn recording(&self) -> bool {
        self.plan.program().window.is_none_or(|window| window.contains(self.now_ns))
    }

    fn record(&mut self, slot: u32) {
        if self.recording() {
            self.books.samples.push(self.now_ns - self.slots.get(&slot).copied().unwrap_or(0));
        }
    }

    fn count(&mut self, counter: u32, by: u64) {
        if self.recording() {
            self.books.counters[counter as usize] += by;
        }
    }
}
