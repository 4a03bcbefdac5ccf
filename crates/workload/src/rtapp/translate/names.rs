//! Resources that events name. The first use creates a resource.

use std::collections::{BTreeMap, BTreeSet};

use super::super::document::{Access, Document, Event, Kind, MemRun, Task};
use super::super::error::RtAppError;
use crate::program::{Scope, TimerMode};

/// Regions by name: bytes and scope.
pub type Regions = BTreeMap<String, (u64, Scope)>;

/// The region of `mem` events.
pub const BUFFER: &str = "mem";

/// All names of a document.
#[derive(Debug, Default)]
pub struct Names {
    pub locks: BTreeSet<String>,
    pub conditions: BTreeSet<String>,
    pub semaphores: BTreeSet<String>,
    /// Barriers with the number of threads that meet.
    pub barriers: BTreeMap<String, u32>,
    pub timers: BTreeSet<String>,
    /// Timers that at least one event declares absolute.
    absolute: BTreeSet<String>,
    pub regions: Regions,
    pub notes: Vec<String>,
    /// Thread objects that an event forks.
    forked: BTreeSet<String>,
    /// Threads that use a timer whose name does not begin with `unique`.
    users: BTreeMap<String, BTreeMap<String, u32>>,
}

impl Names {
    pub fn of(document: &Document) -> Result<Self, RtAppError> {
        let mut names = Self::default();
        let events =
            |task: &'_ Task| task.phases.iter().flat_map(|phase| phase.events.clone()).collect::<Vec<_>>();
        for task in &document.tasks {
            for event in events(task) {
                if let Kind::Fork(name) = &event.kind {
                    names.forked.insert(name.clone());
                }
            }
        }
        for task in &document.tasks {
            for event in events(task) {
                names.event(document, task, &event)?;
            }
        }
        Ok(names)
    }

    fn event(&mut self, document: &Document, task: &Task, event: &Event) -> Result<(), RtAppError> {
        let exists = |name: &String| document.tasks.iter().any(|task| task.name == *name);
        match &event.kind {
            Kind::Lock(name) | Kind::Unlock(name) => drop(self.locks.insert(name.clone())),
            Kind::Signal(name) | Kind::Broadcast(name) => drop(self.conditions.insert(name.clone())),
            Kind::Wait { condition, mutex } | Kind::Sync { condition, mutex } => {
                self.conditions.insert(condition.clone());
                self.locks.insert(mutex.clone());
            }
            Kind::Suspend => self.suspension(&task.name),
            Kind::Fork(name) if !exists(name) => {
                return refuse(event, format!("there is no thread `{name}` in `tasks`"));
            }
            Kind::Resume(name) => {
                if !exists(name) {
                    let place = event.place;
                    self.notes.push(format!("{place}: `resume` has no effect: there is no thread `{name}`"));
                }
                self.suspension(name);
            }
            Kind::SemPost(name) | Kind::SemWait(name) => drop(self.semaphores.insert(name.clone())),
            Kind::Barrier(_) if self.forked.contains(&task.name) => {
                return refuse(
                    event,
                    "a thread that is forked cannot meet other threads at a barrier: the number of threads \
                                      is counted before the run",
                );
            }
            Kind::Barrier(name) if task.instances > 0 => {
                let parties = self.barriers.entry(name.clone()).or_default();
                *parties = parties.saturating_add(task.instances);
            }
            Kind::Timer { reference, mode, .. } => self.timer(task, event, reference, *mode)?,
            Kind::Mem(_) => {
                let bytes = document.global.mem_buffer_bytes;
                self.regions.insert(BUFFER.to_owned(), (bytes, Scope::Task));
            }
            Kind::MemRun(run) => return self.memrun(event, run),
            _ => {}
        }
        Ok(())
    }

    /// A thread object's condition and lock for `suspend` and `resume`.
    fn suspension(&mut self, task: &str) {
        self.conditions.insert(task.to_owned());
        self.locks.insert(task.to_owned());
    }

    /// A timer whose name begins with `unique` exists once for each thread. In a program every timer exists
    /// once for each thread, so any other timer must have at most one user.
    fn timer(
        &mut self,
        task: &Task,
        event: &Event,
        reference: &str,
        mode: TimerMode,
    ) -> Result<(), RtAppError> {
        let name = timer_name(task, reference);
        if mode == TimerMode::Absolute {
            self.absolute.insert(name.clone());
        }
        self.timers.insert(name);
        if reference.starts_with("unique") {
            return Ok(());
        }
        let users = self.users.entry(reference.to_owned()).or_default();
        let forked = u32::from(self.forked.contains(&task.name)) * 2;
        users.insert(task.name.clone(), task.instances.saturating_add(forked));
        if users.values().fold(0u32, |sum, count| sum.saturating_add(*count)) > 1 {
            let reason = format!(
                "the timer `{reference}` is shared by several threads, which is not supported; a name that begins \
                 with `unique` gives each thread a separate timer"
            );
            return refuse(event, reason);
        }
        Ok(())
    }

    pub fn mode(&self, timer: &str) -> TimerMode {
        if self.absolute.contains(timer) { TimerMode::Absolute } else { TimerMode::Relative }
    }

    fn memrun(&mut self, event: &Event, run: &MemRun) -> Result<(), RtAppError> {
        let scope = if run.shared.is_some() { Scope::Program } else { Scope::Task };
        let (bytes, _) = *self.regions.entry(region_name(run)).or_insert((run.bytes, scope));
        if bytes != run.bytes {
            let reason =
                format!("another event shares this buffer with a size of {bytes}, not {}", run.bytes);
            return refuse(event, reason);
        }
        Ok(())
    }
}

/// The name of a thread object's timer.
pub fn timer_name(task: &Task, reference: &str) -> String {
    format!("{}/{reference}", task.name)
}

/// Name of a `memrun` event's buffer. The access pattern distinguishes the private buffers of a thread.
pub fn region_name(run: &MemRun) -> String {
    match (&run.shared, run.access) {
        (Some(name), _) => format!("shared {name}"),
        (None, Access::Read) => format!("read {}", run.bytes),
        (None, Access::Write) => format!("write {}", run.bytes),
        (None, Access::Chase { stride, random }) => {
            format!("chase {} by {stride}{}", run.bytes, if random { " at random" } else { "" })
        }
    }
}

/// The error of an event.
pub fn refuse<T>(event: &Event, reason: impl Into<String>) -> Result<T, RtAppError> {
    Err(RtAppError::Content { place: event.place, path: event.path.clone(), reason: reason.into() })
}
