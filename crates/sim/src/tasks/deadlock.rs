//! Descriptions of waiting tasks for deadlock messages.

use schedlab_workload::check::ends::End;
use schedlab_workload::program::Resource;
use schedlab_workload::{Plan, Step};

use crate::error::Waiting;
use crate::sched::{NOBODY, TaskIx};
use crate::tasks::{Action, Phase, ProgramState, State, Task, Tasks};

/// Maximum number of awaited tasks that a message names.
const NAMED: usize = 4;

/// Tasks, and the objects of their waits.
pub(crate) struct Waits<'a> {
    pub plan: &'a Plan,
    pub tasks: &'a Tasks<'a>,
    pub program: &'a ProgramState,
}

impl Waits<'_> {
    /// Descriptions of all tasks that wait for another task.
    pub fn all(&self) -> Vec<Waiting> {
        let blocked = |task: &TaskIx| self.tasks[*task].state == State::Blocked;
        (0..self.tasks.len() as TaskIx).filter(blocked).filter_map(|task| self.wait_of(task)).collect()
    }

    /// Descriptions of the tasks in the cycle of lock owners that closes when `task` waits for `lock`; empty without a cycle.
    ///
    /// The tasks of such a cycle never go on, even while other tasks run.
    pub fn circle(&self, task: TaskIx, lock: u32) -> Vec<Waiting> {
        let holder = |lock: u32| self.program.locks[lock as usize].owner;
        let next = |owner: &TaskIx| if *owner == task { None } else { self.lock_awaited(*owner).map(holder) };
        let chain = || std::iter::successors(Some(holder(lock)), next).take(self.tasks.len());
        if chain().last() != Some(task) {
            return Vec::new();
        }
        chain().filter_map(|owner| self.wait_of(owner)).collect()
    }

    /// The lock that a task waits for.
    fn lock_awaited(&self, task: TaskIx) -> Option<u32> {
        let waiter = &self.tasks[task];
        match waiter.action {
            // A task that waits for a condition's signal is in `Phase::Begin`.
            Action::Step(Step::Lock(lock) | Step::Await { lock, .. }) => {
                (waiter.state == State::Blocked && waiter.phase == Phase::Next).then_some(lock)
            }
            _ => None,
        }
    }

    /// Description of a task's wait; `None` if the task does not wait for another task.
    fn wait_of(&self, task: TaskIx) -> Option<Waiting> {
        let plan = self.plan;
        let resources = &plan.program().resources;
        let Action::Step(step) = self.tasks[task].action else { return None };
        let (awaited, whom) = match step {
            Step::Lock(lock) => return Some(self.wait_for_lock(task, lock)),
            Step::Down(semaphore) => {
                let at = plan.semaphores().position(semaphore);
                (instance(&resources.semaphores[at], semaphore), Vec::new())
            }
            Step::Await { lock, .. } if self.lock_awaited(task).is_some() => {
                return Some(self.wait_for_lock(task, lock));
            }
            Step::Await { condition, .. } => {
                let at = plan.conditions().position(condition);
                (instance(&resources.conditions[at], condition), Vec::new())
            }
            Step::Barrier(barrier) => {
                let meeting = &self.program.meetings[barrier as usize];
                let at = plan.barriers().position(barrier);
                let arrived = format!("{} of {} tasks have arrived", meeting.arrived, meeting.parties);
                (instance(&resources.barriers[at], barrier), vec![arrived])
            }
            Step::Receive { channel, direction, .. } => {
                let definition = &resources.channels[plan.channels().position(channel)];
                let senders = self.users(channel, End::sending(direction));
                (format!("a message on {}", instance(definition, channel)), senders)
            }
            Step::Send { channel, direction, .. } => {
                let definition = &resources.channels[plan.channels().position(channel)];
                let receivers = self.users(channel, End::receiving(direction));
                (format!("room on {}", instance(definition, channel)), receivers)
            }
            Step::Wait { .. } => {
                let is_child = |other: &TaskIx| {
                    let other = &self.tasks[*other];
                    other.parent == task && other.is_child && other.state != State::Dead
                };
                let children = (0..self.tasks.len() as TaskIx).filter(is_child);
                ("its children".to_owned(), children.take(NAMED).map(|child| self.name(child)).collect())
            }
            _ => ("something".to_owned(), Vec::new()),
        };
        Some(Waiting { task: self.name(task), awaited, whom })
    }

    /// Name of a task in messages.
    pub(super) fn name(&self, task: TaskIx) -> String {
        self.tasks[task].name(self.plan)
    }

    fn wait_for_lock(&self, task: TaskIx, lock: u32) -> Waiting {
        let plan = self.plan;
        let owner = self.program.locks[lock as usize].owner;
        let holder = (owner != NOBODY).then(|| format!("owned by {}", self.name(owner)));
        let awaited = instance(&plan.program().resources.locks[plan.locks().position(lock)], lock);
        Waiting { task: self.name(task), awaited, whom: holder.into_iter().collect() }
    }

    /// Living tasks that use an end of a channel.
    fn users(&self, channel: u32, end: End) -> Vec<String> {
        let plan = self.plan;
        let lives = |task: &&Task| task.state != State::Dead && !task.is_child && task.ordinal != NOBODY;
        let uses = |ordinal: u32| {
            let ends = plan.channel_ends(plan.task(ordinal));
            ends.iter().any(|used| used.channel == channel && used.end == end)
        };
        let ordinals =
            self.tasks.table.iter().filter(lives).map(|task| task.ordinal).filter(|ordinal| uses(*ordinal));
        ordinals.take(NAMED).map(|ordinal| plan.describe(plan.task(ordinal))).collect()
    }
}

fn instance<R: Resource>(resource: &R, number: u32) -> String {
    format!("{} `{}` (instance {number})", R::KIND, resource.name())
}
