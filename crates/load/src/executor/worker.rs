//! A task: performs the steps that its cursor hands out.

use std::io;
use std::sync::atomic::Ordering;

use schedlab_workload::check::ends::End;
use schedlab_workload::code::{Code, Work};
use schedlab_workload::plan::Use;
use schedlab_workload::program::{ChannelKind, Direction, Take, Window};
use schedlab_workload::{Cursor, Step, TaskId};

use super::channels::Entry;
use super::message::{self, Received};
use super::shared::Shared;
use super::{attributes, children, gaps, image, regions::Regions, spin, sync};
use crate::limits;
use crate::sys::process::{self, Forked};
use crate::sys::wait::Sets;
use crate::sys::{clock, mark};

/// Reason why a task failed, for the user, without the task's name.
#[derive(Debug)]
pub struct Stop(pub String);

impl Stop {
    #[cold]
    fn because(action: &str, error: &io::Error) -> Self {
        Self(format!("{action}: {error}"))
    }
}

/// One task of a running program.
pub struct Worker<'r> {
    shared: &'r Shared,
    channels: &'r [Entry],
    task: TaskId,
    window: Option<Window>,
    regions: Regions<'r>,
    outgoing: Vec<u8>,
    incoming: Vec<u8>,
    /// Sets of epoll(7) with which the task waits for messages.
    sets: Sets,
    children: Vec<process::Pid>,
    released_ns: u64,
    /// CPUs of the task at its start; set when the task has changed its CPUs.
    first_cpus: Option<Vec<usize>>,
}

impl<'r> Worker<'r> {
    /// Prepare a task: its buffers and private memory, and its place in the shared records.
    pub fn new(shared: &'r Shared, task: TaskId) -> io::Result<Self> {
        let (sent, received) = shared.plan.largest_message(task);
        shared.arena.prefault(task);
        Ok(Self {
            shared,
            channels: shared.table.entries(),
            task,
            window: shared.plan.program().window,
            regions: Regions::of(&shared.plan, &shared.regions, task)?,
            outgoing: vec![b'-'; sent as usize],
            incoming: vec![0; received as usize],
            sets: Sets::default(),
            children: Vec::new(),
            released_ns: 0,
            first_cpus: None,
        })
    }

    /// Pass the gate and run the body to its end.
    pub fn run(&mut self) -> Result<(), Stop> {
        let code = Code::new(&self.shared.plan, self.task);
        let window_end = self.window.map_or(0, |window| window.end_ns());
        let mut cursor = Cursor::new(&code, window_end);
        self.enter_deadline()?;
        self.shared.gate.pass().map_err(|error| Stop::because("waiting at the start gate", &error))?;
        self.released_ns = self.shared.arena.released_ns().load(Ordering::Acquire);
        if let Some(ns) = self.shared.plan.group(self.task).disturbs_after_ns {
            clock::sleep_ns(ns);
        }
        self.body(&mut cursor)
    }

    /// Put the task under SCHED_DEADLINE if the run is under SCHED_DEADLINE and metrics count the task.
    fn enter_deadline(&self) -> Result<(), Stop> {
        let plan = &self.shared.plan;
        match &self.shared.deadline {
            Some(deadline) if plan.group(self.task).counts() => {
                attributes::enter_deadline(deadline, plan.counted_tasks()).map_err(Stop)
            }
            _ => Ok(()),
        }
    }

    /// Release the task's channel ends. Close each end that no other thread uses.
    pub fn release(&self, uses: &[Use], threads: bool) {
        for each in uses {
            let left = self.shared.arena.holders(each.channel, each.end).fetch_sub(1, Ordering::AcqRel) - 1;
            if left == 0 && threads && self.shared.closes_matter {
                self.shared.table.close(*each);
            }
        }
    }

    /// Perform steps until the end of the body.
    fn body(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Stop> {
        let released_ns = self.released_ns;
        loop {
            match cursor.next(|| clock::now_ns() - released_ns) {
                Step::Send { channel, bytes, direction } => {
                    self.send((channel, bytes, direction), cursor.more())?;
                }
                Step::Receive { channel, bytes, direction, take, counter } => {
                    let message = (channel, bytes, direction);
                    let received = self.receive(message, take, counter, cursor.more())?;
                    if received == Received::Closed && !cursor.closed() {
                        return Err(Stop("receiving: every sender has closed the channel".to_owned()));
                    }
                }
                Step::End => return Ok(()),
                other => self.other(other, cursor)?,
            }
        }
    }

    /// Perform any step except messages and the end of the body.
    #[inline(never)]
    fn other(&mut self, step: Step, cursor: &Cursor<'_>) -> Result<(), Stop> {
        let arena = &self.shared.arena;
        match step {
            Step::Send { .. } | Step::Receive { .. } | Step::End => {
                unreachable!("handled by the caller")
            }
            Step::Compute { ns } => spin::spin(self.shared.rate.rounds(ns)),
            Step::Watch { ns, over_ns, longest, gaps, lost } => {
                let observed = gaps::measure(ns, over_ns);
                if self.window.is_none() || self.recording(clock::now_ns()) {
                    arena.record(self.task.ordinal, longest, observed.longest_ns);
                    self.count(gaps, observed.count);
                    self.count(lost, observed.lost_ns);
                }
            }
            Step::Touch { region, offset, bytes, stride, pattern, write, seed } => {
                self.regions.touch(region, (offset, bytes, stride), pattern, write, seed);
            }
            Step::Lock(lock) => sync::lock(arena.lock(lock)),
            Step::Unlock(lock) => {
                if !sync::unlock(arena.lock(lock)) {
                    return Err(Stop("unlocking a lock that is not locked".to_owned()));
                }
            }
            Step::Up { semaphore, count } => {
                let waiters = arena.semaphore_waiters(semaphore);
                sync::up(arena.semaphore(semaphore), waiters, u32::try_from(count).unwrap_or(u32::MAX));
            }
            Step::Down(semaphore) => {
                sync::down(arena.semaphore(semaphore), arena.semaphore_waiters(semaphore));
            }
            Step::Barrier(barrier) => {
                let (arrived, generation) = arena.barrier(barrier);
                sync::meet(arrived, generation, self.shared.parties(barrier));
            }
            Step::Await { condition, lock } => {
                let (issued, served) = arena.condition(condition);
                if !sync::wait(issued, served, arena.lock(lock)) {
                    return Err(Stop("waiting for a condition without holding its lock".to_owned()));
                }
            }
            Step::Signal { condition, all } => {
                let (issued, served) = arena.condition(condition);
                sync::signal(issued, served, all);
            }
            Step::Sleep { ns } => clock::sleep_ns(ns),
            Step::Until { at_ns } => clock::sleep_until(self.released_ns.saturating_add(at_ns)),
            Step::Write { file, bytes } => {
                let written = self.shared.files[file as usize].write(bytes);
                written.map_err(|error| Stop::because("writing", &error))?;
            }
            Step::Set(number) => {
                attributes::set(cursor.attributes(number), &mut self.first_cpus).map_err(Stop)?
            }
            Step::Finish => arena.finish(),
            Step::Yield => std::thread::yield_now(),
            Step::Fork => self.fork(cursor)?,
            Step::Wait { count } => children::wait(&mut self.children, count).map_err(Stop)?,
            Step::ExecWork(work) => return Err(self.exec_work(work)),
            Step::ExecCommand(number) => return Err(Stop(children::exec(cursor.command(number)))),
            Step::Stamp(slot) => {
                arena.slot(slot).store(clock::now_ns(), Ordering::Release);
                mark::begin();
            }
            Step::Record { slot, series } => self.record(slot, series),
            Step::Lap { slot, series } => {
                let now = self.record_at(slot, series, clock::now_ns());
                arena.slot(slot).store(now, Ordering::Release);
                mark::next();
            }
            Step::Observe { series, ns } => {
                if self.window.is_none() || self.recording(clock::now_ns()) {
                    arena.record(self.task.ordinal, series, ns);
                }
            }
            Step::Count { counter, by } => self.count(counter, by),
        }
        Ok(())
    }

    /// Send a message and the given number of equal messages.
    fn send(
        &self,
        (mut channel, bytes, direction): (u32, u64, Direction),
        (mut more, stride): (u64, u32),
    ) -> Result<(), Stop> {
        let message = &self.outgoing[..bytes as usize];
        let end = End::sending(direction);
        loop {
            let (descriptor, kind) = self.channels[channel as usize].descriptor(end);
            let sent = if kind == ChannelKind::Udp {
                message::send_datagram(descriptor, message)
            } else {
                message::send(descriptor, message)
            };
            sent.map_err(|error| Stop::because("sending", &error))?;
            if more == 0 {
                return Ok(());
            }
            more -= 1;
            channel = channel.wrapping_add(stride);
        }
    }

    /// Receive a message and the given number of equal messages, up to the end of the stream.
    fn receive(
        &mut self,
        (mut channel, bytes, direction): (u32, u64, Direction),
        take: Take,
        counter: Option<u32>,
        (mut more, stride): (u64, u32),
    ) -> Result<Received, Stop> {
        let end = End::receiving(direction);
        loop {
            let (descriptor, kind) = self.channels[channel as usize].descriptor(end);
            let buffer = &mut self.incoming[..bytes as usize];
            let received = if kind == ChannelKind::Udp {
                let senders = self.shared.arena.holders(channel, End::sending(direction));
                message::receive_datagram(descriptor, buffer, || senders.load(Ordering::Acquire) == 0)
            } else if take == Take::Read {
                message::receive(descriptor, buffer)
            } else {
                message::receive_by(descriptor, buffer, take, &mut self.sets)
            };
            let received = received.map_err(|error| Stop::because("receiving", &error))?;
            let Received::Bytes(count) = received else { return Ok(Received::Closed) };
            if let Some(counter) = counter {
                self.count(counter, count as u64);
            }
            if more == 0 {
                return Ok(received);
            }
            more -= 1;
            channel = channel.wrapping_add(stride);
        }
    }

    fn record(&self, slot: u32, series: u32) {
        self.record_at(slot, series, clock::now_ns());
    }

    fn record_at(&self, slot: u32, series: u32, now: u64) -> u64 {
        let arena = &self.shared.arena;
        if self.recording(now) {
            let since = now.saturating_sub(arena.slot(slot).load(Ordering::Acquire));
            arena.record(self.task.ordinal, series, since);
        }
        now
    }

    fn count(&self, counter: u32, by: u64) {
        if self.window.is_none() || self.recording(clock::now_ns()) {
            self.shared.arena.counter(self.task.ordinal, counter).fetch_add(by, Ordering::Relaxed);
        }
    }

    fn recording(&self, now: u64) -> bool {
        self.window.is_none_or(|window| window.contains(now - self.released_ns))
    }

    fn exec_work(&self, work: Work) -> Stop {
        Stop(children::exec(&image::arguments(work, self.shared.rate)))
    }

    /// Start a child that runs the body after a fork step. Only the parent returns.
    fn fork(&mut self, cursor: &Cursor<'_>) -> Result<(), Stop> {
        let parent = process::own_pid();
        match process::fork().map_err(|error| Stop(limits::fork_failure(&error)))? {
            Forked::Parent(pid) => self.children.push(pid),
            Forked::Child => {
                children::settle(parent);
                self.children.clear();
                let done = self.enter_deadline().and_then(|()| self.body(&mut cursor.child()));
                process::exit_now(self.report(done));
            }
        }
        Ok(())
    }

    /// Record why the task failed; return the task's exit code.
    pub fn report(&self, done: Result<(), Stop>) -> i32 {
        let Err(Stop(reason)) = done else { return 0 };
        self.shared.arena.fail(&format!("{} failed {reason}", self.shared.plan.describe(self.task)));
        children::FAILED
    }
}
