//! The main thread's side of a run's tasks: creates, awaits, reaps and kills them.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use schedlab_workload::TaskId;
use schedlab_workload::program::Mode;

use super::children::{self, FAILED};
use super::shared::Shared;
use super::worker::Worker;
use crate::error::LoadError;
use crate::limits;
use crate::strays;
use crate::sys::process::{self, Ended, Forked, How, Pid, Usage};
use crate::sys::thread::{self, Thread};
use crate::sys::{clock, futex, signals};

/// Stack of a task that is a thread. The deepest path, the formatting of an error, needs a few KiB; the rest is never
/// touched.
const STACK_BYTES: usize = 64 * 1024;

/// How long the main thread waits for a ready report before it checks for dead tasks.
const READY_PATIENCE_MS: i32 = 50;

/// Time after the first failure in which further failures are collected, to distinguish the cause from its consequences.
const GRACE_NS: u64 = 20_000_000;

/// All tasks that have been created and not reaped.
pub struct Crew {
    shared: Arc<Shared>,
    processes: HashMap<Pid, TaskId>,
    /// Processes that the run does not wait for, see `TaskGroup::background`.
    background: HashMap<Pid, TaskId>,
    threads: Vec<Thread>,
    background_threads: Vec<Thread>,
    /// Resources of ended processes that count in no metric, see `TaskGroup::counts()`.
    pub uncounted: Usage,
}

impl Crew {
    /// Crew without tasks.
    pub fn new(shared: Arc<Shared>) -> Self {
        let (processes, background) = (HashMap::new(), HashMap::new());
        let (threads, background_threads) = (Vec::new(), Vec::new());
        Self { shared, processes, background, threads, background_threads, uncounted: Usage::default() }
    }

    /// Create all tasks in order, opening and closing channel ends on the way.
    pub fn create(&mut self) -> Result<(), LoadError> {
        let shared = Arc::clone(&self.shared);
        let (plan, total) = (&shared.plan, shared.plan.task_count());
        for task in plan.tasks() {
            for each in shared.schedule.of(task) {
                shared.arena.holders(each.channel, each.end).fetch_add(1, Ordering::Relaxed);
            }
        }
        for task in plan.tasks() {
            let failed = |reason| LoadError::Spawn { task: task.ordinal + 1, total, reason };
            let opened = shared.table.open_for(plan, &shared.schedule, task);
            opened.map_err(|error| failed(format!("opening a channel: {error}")))?;
            match plan.group(task).mode {
                Mode::Process => self.create_process(task).map_err(failed)?,
                Mode::Thread => self.create_thread(task).map_err(failed)?,
            }
            if let Some(signal) = signals::requested() {
                return Err(LoadError::Interrupted(signal));
            }
        }
        Ok(())
    }

    fn create_process(&mut self, task: TaskId) -> Result<(), String> {
        let shared = &self.shared;
        let parent = process::own_pid();
        match process::fork().map_err(|error| limits::fork_failure(&error))? {
            Forked::Parent(pid) => {
                let background = shared.plan.group(task).background;
                let processes = if background { &mut self.background } else { &mut self.processes };
                processes.insert(pid, task);
            }
            Forked::Child => {
                children::settle(parent);
                let code = process_main(shared, task);
                process::exit_now(code);
            }
        }
        for each in shared.schedule.of(task) {
            if shared.schedule.is_last(task, *each) {
                shared.table.close(*each);
            }
        }
        Ok(())
    }

    fn create_thread(&mut self, task: TaskId) -> Result<(), String> {
        let shared = Arc::clone(&self.shared);
        let thread = thread::spawn(STACK_BYTES, Box::new(move || thread_main(&shared, task)));
        let thread = thread.map_err(|error| limits::thread_failure(&error))?;
        let background = self.shared.plan.group(task).background;
        if background { &mut self.background_threads } else { &mut self.threads }.push(thread);
        Ok(())
    }

    /// Wait until every task has reported ready.
    pub fn all_ready(&mut self) -> Result<(), LoadError> {
        let mut missing = self.shared.plan.task_count();
        while missing > 0 {
            let ready = self.shared.gate.one_ready(READY_PATIENCE_MS);
            if ready.map_err(LoadError::system("waiting for tasks to be ready"))? {
                missing -= 1;
                continue;
            }
            self.check_for_dead_tasks()?;
            while let Ok(Some(ended)) = process::wait_no_hang(-1) {
                self.ended(ended)?;
            }
        }
        Ok(())
    }

    /// Wait for the end of every task that is not in the background.
    pub fn reap(&mut self) -> Result<(), LoadError> {
        while !self.processes.is_empty() {
            if self.shared.arena.finishing() {
                self.cut_off();
                return Ok(());
            }
            match process::wait(-1) {
                Ok(ended) => self.ended(ended)?,
                Err(error) if error.kind() == ErrorKind::Interrupted => self.check_for_dead_tasks()?,
                Err(error) => return Err(LoadError::system("waiting for tasks")(error)),
            }
        }
        let finished = self.shared.arena.finished();
        loop {
            let count = finished.load(Ordering::Acquire);
            self.check_for_dead_tasks()?;
            if self.shared.arena.finishing() {
                self.cut_off();
                return Ok(());
            }
            if count as usize == self.threads.len() {
                break;
            }
            futex::wait(finished, count);
        }
        self.threads.drain(..).for_each(Thread::join);
        // Meanwhile a task in the background may have failed.
        while let Ok(Some(ended)) = process::wait_no_hang(-1) {
            self.ended(ended)?;
        }
        Ok(())
    }

    /// End the tasks in the background.
    pub fn end_background(&mut self) {
        if self.shared.plan.awaited_tasks() < self.shared.plan.task_count() {
            self.cut_off();
        }
    }

    /// Kill all processes that have not ended. Threads end with this process, which only has to print its report.
    fn cut_off(&mut self) {
        self.kill();
        strays::kill_descendants(&[]);
        self.processes.clear();
        self.background.clear();
        self.threads.clear();
        self.background_threads.clear();
    }

    /// Kill and reap all processes.
    pub fn kill(&mut self) {
        for pid in self.processes.keys().chain(self.background.keys()) {
            process::kill(*pid, libc::SIGKILL);
        }
    }

    fn check_for_dead_tasks(&self) -> Result<(), LoadError> {
        if let Some(signal) = signals::requested() {
            return Err(LoadError::Interrupted(signal));
        }
        match self.shared.arena.failure() {
            Some(reason) if !(self.threads.is_empty() && self.background_threads.is_empty()) => {
                Err(LoadError::Task(reason))
            }
            _ => Ok(()),
        }
    }

    /// Record an ended process; an error if the process was a task and failed.
    fn ended(&mut self, ended: Ended) -> Result<(), LoadError> {
        // Any other process is an orphan that this process adopted.
        let task = self.processes.remove(&ended.pid).or_else(|| self.background.remove(&ended.pid));
        let Some(task) = task else { return Ok(()) };
        if !self.shared.plan.group(task).counts() {
            self.uncounted = self.uncounted.plus(ended.usage);
        }
        match ended.how {
            How::Exited(0) => Ok(()),
            How::Killed(signal) => Err(self.killed(task, ended.pid, signal)),
            How::Exited(code) => Err(self.failed(task, code)),
        }
    }

    fn killed(&self, task: TaskId, pid: Pid, signal: i32) -> LoadError {
        let hint = match signal {
            libc::SIGKILL => {
                "; unless a user sent the signal, the kernel's out-of-memory killer sent the signal (see dmesg)"
            }
            _ => "",
        };
        LoadError::Killed { task: self.shared.plan.describe(task), pid, signal: signals::name(signal), hint }
    }

    /// A task that exits with a failure may have failed because another task died and, for example, closed a
    /// pipe; a task that was killed at the same time is the cause.
    fn failed(&self, task: TaskId, code: i32) -> LoadError {
        let deadline = clock::now_ns() + GRACE_NS;
        while clock::now_ns() < deadline {
            match process::wait_no_hang(-1) {
                Ok(Some(Ended { pid, how: How::Killed(signal), .. })) => {
                    if let Some(task) = self.processes.get(&pid).or_else(|| self.background.get(&pid)) {
                        return self.killed(*task, pid, signal);
                    }
                }
                Ok(None) => clock::sleep_ns(GRACE_NS / 10),
                Ok(Some(_)) => {}
                Err(_) => break,
            }
        }
        let name = self.shared.plan.describe(task);
        let unknown = || format!("{name} exited with status {code}");
        LoadError::Task(self.shared.arena.failure().filter(|_| code == FAILED).unwrap_or_else(unknown))
    }
}

/// Body of a task's process after the fork. Return its exit code.
fn process_main(shared: &Shared, task: TaskId) -> i32 {
    shared.table.close_others(shared.schedule.of(task));
    for descriptor in shared.gate.own() {
        let _ = nix::unistd::close(descriptor);
    }
    let code = work(shared, task, false);
    if code != 0 && shared.plan.group(task).background {
        // The main thread may be waiting for threads.
        shared.arena.finished().fetch_add(1, Ordering::AcqRel);
        futex::wake(shared.arena.finished(), 1);
    }
    code
}

/// Run a task from its preparation to its end; return its exit code.
fn work(shared: &Shared, task: TaskId, thread: bool) -> i32 {
    let mut worker = match Worker::new(shared, task) {
        Ok(worker) => worker,
        Err(error) => {
            let name = shared.plan.describe(task);
            shared.arena.fail(&format!("{name}: {error}; {}", limits::memory_limits()));
            return FAILED;
        }
    };
    let done = worker.run();
    if !thread {
        shared.main_memory.write();
    }
    worker.release(shared.schedule.of(task), thread);
    worker.report(done)
}

/// Body of a task's thread in the main process. The main thread is notified of the end, even after a panic.
fn thread_main(shared: &Shared, task: TaskId) {
    let mut end = ThreadEnd { shared, awaited: !shared.plan.group(task).background, failed: true };
    end.failed = work(shared, task, true) != 0;
}

struct ThreadEnd<'s> {
    shared: &'s Shared,
    awaited: bool,
    failed: bool,
}

impl Drop for ThreadEnd<'_> {
    fn drop(&mut self) {
        let finished = self.shared.arena.finished();
        if self.failed {
            // Every failure but a panic has recorded its message already.
            self.shared.arena.fail("a task panicked");
        }
        // A failure changes the number too, so that the main thread does not begin to wait.
        let counted = u32::from(self.awaited || self.failed);
        let count = finished.fetch_add(counted, Ordering::AcqRel) + counted;
        if self.failed {
            futex::wake(finished, 1);
            // The main thread may be waiting for a process that will never end.
            process::interrupt_main_thread();
        } else if count == self.shared.threads || self.shared.arena.finishing() {
            futex::wake(finished, 1);
        }
    }
}
